"""Symbolic sizes: normal form, division, order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cgx.indexer.ops.dims import Dim, bounds, exact_divide, less, maximum, minimum, product

B, T, H = Dim.symbol("B"), Dim.symbol("T"), Dim.symbol("H")


def test_normal_form_is_by_value() -> None:
    assert (B + 1) * T == T * B + T
    assert hash((B + 1) * T) == hash(T * B + T)
    assert B - B == 0
    assert (B + 2) - B == 2
    assert 2 * B != B


def test_text() -> None:
    assert str(B * T) == "B*T"
    assert str(B * T + 1) == "B*T + 1"
    assert str(2 * B - 3) == "2*B - 3"
    assert str((H - 1) // 2 + 1) == "(H + 1)//2"
    assert str(3 * (H // 2)) == "3*(H//2)"
    assert str(-B) == "-B"


def test_exact_division() -> None:
    assert (B * T) // T == B
    assert (4 * B * T) // (2 * T) == 2 * B
    assert (B * B - 1) // (B - 1) == B + 1
    assert exact_divide(B * T + 1, T) is None
    assert product((B, T, 3)) // 3 == B * T


def test_floor_division_by_constant() -> None:
    assert (2 * B + 1) // 2 == B
    assert (H // 2) // 2 == H // 4
    assert (((H - 1) // 2 + 1) - 1) // 2 + 1 == (H - 1) // 4 + 1  # two strided convolutions
    assert (4 * B + H) // 4 == B + H // 4


def test_remainder() -> None:
    assert (4 * B) % 2 == 0
    assert (4 * B + 3) % 2 == 1
    assert (B * T) % T == 0
    assert str((3 * B) % 2) == "B%2"


def test_order() -> None:
    assert less(B, B + 1) is True
    assert less(B, B) is False
    assert less(0, B) is True
    assert less(B, T) is None
    assert less(B, 1) is False
    assert less(B, B * T) is None
    assert less(B * T, B) is False
    assert less(None, B) is None


def test_extremes() -> None:
    assert minimum(B, B + 2) == B
    assert maximum(B, 1) == B
    assert str(minimum(5000, T)) == "min(T, 5000)"
    assert maximum(T, minimum(5000, T)) == T
    assert minimum(T, minimum(5000, T)) == minimum(5000, T)


def test_substitute() -> None:
    size = (H - 1) // 2 + 1 + minimum(T, 7) * B
    assert size.substitute({"H": 9, "T": 20, "B": 2}) == 5 + 14
    assert size.substitute({"B": T}).symbols() == {"H", "T"}


_leaf = st.one_of(st.sampled_from([B, T, H]), st.integers(-3, 5))
_tree = st.recursive(
    _leaf,
    lambda inner: st.tuples(st.sampled_from("+-*/%<>"), inner, inner),
    max_leaves=6,
)


def _evaluate(tree: object, values: dict[str, int]) -> object:
    """Symbolically when ``values`` is empty, else with plain integers."""
    if not isinstance(tree, tuple):
        return values[tree.name] if values and isinstance(tree, Dim) else tree
    op, left, right = tree[0], _evaluate(tree[1], values), _evaluate(tree[2], values)
    if op == "+":
        return left + right
    if op == "-":
        return left - right
    if op == "*":
        return left * right
    if op == "<":
        return minimum(left, right)
    if op == ">":
        return maximum(left, right)
    return left // right if op == "/" else left % right


@settings(max_examples=300, deadline=None)
@given(_tree, st.fixed_dictionaries({"B": st.integers(1, 9), "T": st.integers(1, 9), "H": st.integers(1, 9)}))
def test_agrees_with_integers(tree: object, values: dict[str, int]) -> None:
    try:
        expected = _evaluate(tree, values)
        size = _evaluate(tree, {})
        found = size.substitute(values) if isinstance(size, Dim) else size
    except (ZeroDivisionError, TypeError):
        return
    assert found == expected
    low, high = bounds(size)
    assert low is None or low <= expected
    assert high is None or high >= expected
