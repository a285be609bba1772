"""Symbolic sizes: integers in normal form.

A :class:`Dim` is a polynomial over symbols with integer coefficients. Floor divisions, remainders, minima and maxima that
cannot be worked out are *terms*: atoms of the polynomial beside the symbols. Symbols stand for sizes, so they are taken to
be at least 1. Arithmetic gives a plain ``int`` wherever the result is constant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Union

Size = Union[int, "Dim"]
Atom = Union[str, "Term"]
Monomial = tuple[tuple[Atom, int], ...]  # atoms with powers, in order of their text

MAX_TERMS = 24  # beyond this many summands a product is not worked out


class Term:
    """An operation that stays as it is: ``op`` is "//", "%", "min" or "max"; ``left`` and ``right`` are sizes."""

    __slots__ = ("_hash", "left", "op", "right", "text")

    def __init__(self, op: str, left: Size, right: Size) -> None:
        self.op, self.left, self.right = op, left, right
        self.text = f"{op}({left}, {right})" if op in ("min", "max") else f"{_group(left)}{op}{_group(right)}"
        self._hash = hash((op, left, right))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Term) and (self.op, self.left, self.right) == (other.op, other.left, other.right)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return self.text


class Dim:
    """An immutable symbolic integer; equal and hashed by value. Never constant: constants are ``int``."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        self.terms = terms
        self._hash = hash(terms)

    @staticmethod
    def symbol(name: str) -> Dim:
        """The size that ``name`` stands for, at least 1."""
        return Dim(((((name, 1),), 1),))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self._hash == other._hash and self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return _text(self)

    def __repr__(self) -> str:
        return f"Dim({_text(self)})"

    def __add__(self, other: Size) -> Size:
        return add(self, other) if isinstance(other, int | Dim) else NotImplemented

    __radd__ = __add__

    def __neg__(self) -> Size:
        return multiply(self, -1)

    def __pos__(self) -> Size:
        return self

    def __sub__(self, other: Size) -> Size:
        return add(self, multiply(other, -1)) if isinstance(other, int | Dim) else NotImplemented

    def __rsub__(self, other: Size) -> Size:
        return add(other, multiply(self, -1)) if isinstance(other, int | Dim) else NotImplemented

    def __mul__(self, other: Size) -> Size:
        return multiply(self, other) if isinstance(other, int | Dim) else NotImplemented

    __rmul__ = __mul__

    def __pow__(self, power: int) -> Size:
        if not isinstance(power, int) or not 0 <= power <= 8:
            return NotImplemented
        result: Size = 1
        for _ in range(power):
            result = multiply(result, self)
        return result

    def __floordiv__(self, other: Size) -> Size:
        return floor_divide(self, other) if isinstance(other, int | Dim) else NotImplemented

    def __rfloordiv__(self, other: Size) -> Size:
        return floor_divide(other, self) if isinstance(other, int | Dim) else NotImplemented

    def __mod__(self, other: Size) -> Size:
        return remainder(self, other) if isinstance(other, int | Dim) else NotImplemented

    def __rmod__(self, other: Size) -> Size:
        return remainder(other, self) if isinstance(other, int | Dim) else NotImplemented

    @property
    def name(self) -> str | None:
        """The symbol's name where this is a bare symbol."""
        if len(self.terms) == 1:
            monomial, factor = self.terms[0]
            if factor == 1 and len(monomial) == 1 and monomial[0][1] == 1 and isinstance(monomial[0][0], str):
                return monomial[0][0]
        return None

    def symbols(self) -> frozenset[str]:
        """Names of all symbols in it, inside terms too."""
        found: set[str] = set()
        for monomial, _ in self.terms:
            for atom, _power in monomial:
                if isinstance(atom, str):
                    found.add(atom)
                else:
                    found.update(*(side.symbols() for side in (atom.left, atom.right) if isinstance(side, Dim)))
        return frozenset(found)

    def substitute(self, values: Mapping[str, Size]) -> Size:
        """The size with symbols replaced."""
        total: Size = 0
        for monomial, factor in self.terms:
            product: Size = factor
            for atom, power in monomial:
                for _ in range(power):
                    product = multiply(product, _substitute_atom(atom, values))
            total = add(total, product)
        return total


def _substitute_atom(atom: Atom, values: Mapping[str, Size]) -> Size:
    if isinstance(atom, str):
        return values.get(atom, Dim.symbol(atom))
    left = atom.left.substitute(values) if isinstance(atom.left, Dim) else atom.left
    right = atom.right.substitute(values) if isinstance(atom.right, Dim) else atom.right
    return OPERATIONS[atom.op](left, right)


# ------------------------------------------------------------------ normal form


def _table(size: Size) -> dict[Monomial, int]:
    if isinstance(size, Dim):
        return dict(size.terms)
    return {(): int(size)} if size else {}


def _order(monomial: Monomial) -> tuple[int, str]:
    return (-sum(power for _, power in monomial), _monomial_text(monomial))


def _build(table: Mapping[Monomial, int]) -> Size:
    kept = {monomial: factor for monomial, factor in table.items() if factor}
    if not kept:
        return 0
    if len(kept) == 1 and () in kept:
        return kept[()]
    return Dim(tuple((monomial, kept[monomial]) for monomial in sorted(kept, key=_order)))


def _join(left: Monomial, right: Monomial) -> Monomial:
    powers: dict[Atom, int] = dict(left)
    for atom, power in right:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(((atom, power) for atom, power in powers.items() if power), key=lambda pair: str(pair[0])))


def add(left: Size, right: Size) -> Size:
    """left + right."""
    table = _table(left)
    for monomial, factor in _table(right).items():
        table[monomial] = table.get(monomial, 0) + factor
    return _build(table)


def multiply(left: Size, right: Size) -> Size:
    """left * right."""
    table: dict[Monomial, int] = {}
    for first, a in _table(left).items():
        for second, b in _table(right).items():
            key = _join(first, second)
            table[key] = table.get(key, 0) + a * b
    return _build(table)


def product(sizes: Iterable[Size]) -> Size:
    """The product of sizes; 1 of none."""
    result: Size = 1
    for size in sizes:
        result = multiply(result, size)
    return result


# ------------------------------------------------------------------ division


def exact_divide(left: Size, right: Size) -> Size | None:
    """left / right as a polynomial, or None where it does not divide without a rest."""
    if right == 0:
        return None
    if isinstance(left, int) and isinstance(right, int):
        return left // right if left % right == 0 else None
    rest, quotient, divisor = _table(left), dict[Monomial, int](), _table(right)
    lead = _leading(divisor)
    while rest:
        if len(rest) > MAX_TERMS or len(quotient) > MAX_TERMS:
            return None
        top = _leading(rest)
        step = _monomial_quotient(top, lead)
        factor, odd = divmod(rest[top], divisor[lead])
        if step is None or odd:
            return None
        quotient[step] = quotient.get(step, 0) + factor
        for monomial, value in divisor.items():
            key = _join(monomial, step)
            rest[key] = rest.get(key, 0) - value * factor
            if not rest[key]:
                del rest[key]
    return _build(quotient)


def _leading(table: Mapping[Monomial, int]) -> Monomial:
    """The leading monomial in the lexicographic order, which long division needs to end."""
    atoms = sorted({str(atom) for monomial in table for atom, _ in monomial})
    return max(table, key=lambda monomial: [{str(a): p for a, p in monomial}.get(name, 0) for name in atoms])


def _monomial_quotient(left: Monomial, right: Monomial) -> Monomial | None:
    powers = dict(left)
    for atom, power in right:
        powers[atom] = powers.get(atom, 0) - power
    if any(power < 0 for power in powers.values()):
        return None
    return tuple(sorted(((atom, power) for atom, power in powers.items() if power), key=lambda pair: str(pair[0])))


def floor_divide(left: Size, right: Size) -> Size:
    """left // right: exact where it divides, else split into a whole part and a term.

    Raises ZeroDivisionError for a constant zero divisor.
    """
    if isinstance(right, int) and right < 0:
        left, right = multiply(left, -1), -right
    if isinstance(left, int) and isinstance(right, int):
        return left // right
    if right == 0:
        raise ZeroDivisionError("integer division by zero")
    exact = exact_divide(left, right)
    if exact is not None:
        return exact
    if isinstance(right, int):
        return _divide_by_constant(left, right)
    if less(left, right) is True and less(-1, left) is True:
        return 0
    return _atom("//", left, right)


def _divide_by_constant(left: Size, right: int) -> Size:
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, factor in _table(left).items():
        whole[monomial], rest[monomial] = divmod(factor, right)
    part = _build(rest)
    if isinstance(part, int):  # below the divisor, by divmod
        return _build(whole)
    nested = _nested_division(part)
    if nested is not None:  # floor((floor(x / a) + c) / b) == floor((x + a c) / (a b))
        inner, by = nested
        return add(_build(whole), floor_divide(inner, by * right))
    return add(_build(whole), _atom("//", part, right))


def _nested_division(part: Size) -> tuple[Size, int] | None:
    table = _table(part)
    constant = table.pop((), 0)
    if len(table) != 1:
        return None
    (monomial, factor) = next(iter(table.items()))
    if factor != 1 or len(monomial) != 1 or monomial[0][1] != 1:
        return None
    atom = monomial[0][0]
    if isinstance(atom, Term) and atom.op == "//" and isinstance(atom.right, int):
        return add(atom.left, constant * atom.right), atom.right
    return None


def remainder(left: Size, right: Size) -> Size:
    """left % right, reduced by what divides. Raises ZeroDivisionError for a constant zero divisor."""
    if isinstance(left, int) and isinstance(right, int):
        return left % right
    if right == 0:
        raise ZeroDivisionError("integer modulo by zero")
    if isinstance(right, int):
        if right < 0:
            return _atom("%", left, right)
        left = _build({monomial: factor % right for monomial, factor in _table(left).items()})
        return left % right if isinstance(left, int) else _atom("%", left, right)
    if exact_divide(left, right) is not None:
        return 0
    if less(left, right) is True and less(-1, left) is True:
        return left
    return _atom("%", left, right)


# ------------------------------------------------------------------ order


def minimum(left: Size, right: Size) -> Size:
    """The smaller of the two, a term where it is not known."""
    return _extreme("min", left, right)


def maximum(left: Size, right: Size) -> Size:
    """The larger of the two, a term where it is not known."""
    return _extreme("max", left, right)


def _extreme(op: str, left: Size, right: Size) -> Size:
    if left == right:
        return left
    if (smaller := less(left, right)) is not None:
        return left if smaller == (op == "min") else right
    if (smaller := less(right, left)) is not None:
        return right if smaller == (op == "min") else left
    first, second = sorted((left, right), key=lambda size: (isinstance(size, int), str(size)))
    return _atom(op, first, second)


def less(left: Size | None, right: Size | None) -> bool | None:
    """left < right where that holds (or fails) for all symbols of at least 1, else None."""
    if left is None or right is None:
        return None
    low, high = bounds(add(right, multiply(left, -1)))
    if low is not None and low > 0:
        return True
    if high is not None and high <= 0:
        return False
    return _less_than_extreme(left, right)


def _less_than_extreme(left: Size, right: Size) -> bool | None:
    """min(a, b) is never above a; max(a, b) never below it."""
    for op, side, other in (("min", right, left), ("max", left, right)):
        term = sole_term(side)
        if term is not None and term.op == op and other in (term.left, term.right):
            return False
    return None


def sole_term(size: Size) -> Term | None:
    """The term that the size consists of, alone, where so."""
    if isinstance(size, Dim) and len(size.terms) == 1:
        monomial, factor = size.terms[0]
        if factor == 1 and len(monomial) == 1 and monomial[0][1] == 1 and isinstance(monomial[0][0], Term):
            return monomial[0][0]
    return None


@lru_cache(maxsize=4096)
def bounds(size: Size) -> tuple[int | None, int | None]:
    """Lowest and highest value that the size can take, None where unbounded or not known."""
    if isinstance(size, int):
        return size, size
    low: int | None = 0
    high: int | None = 0
    for (_monomial, factor), (least, most) in ((item, _monomial_bounds(item[0])) for item in size.terms):
        ends = (least, most) if factor > 0 else (most, least)
        low = None if low is None or ends[0] is None else low + factor * ends[0]
        high = None if high is None or ends[1] is None else high + factor * ends[1]
    if low is None:
        low = _paired_low(size)
    if high is None and (paired := _paired_low(multiply(size, -1))) is not None:
        high = -paired
    return low, high


def _paired_low(size: Size) -> int | None:
    """A lower bound of ``x*y - x`` kinds: shift each symbol by one, then all factors must be positive."""
    if not isinstance(size, Dim) or any(not isinstance(a, str) for monomial, _ in size.terms for a, _ in monomial):
        return None
    shifted = size.substitute({name: add(Dim.symbol(name), 1) for name in size.symbols()})
    table = _table(shifted)
    constant = table.pop((), 0)
    return constant if all(factor > 0 for factor in table.values()) else None


def _monomial_bounds(monomial: Monomial) -> tuple[int | None, int | None]:
    low, high = 1, 1
    for atom, power in monomial:
        least, most = (1, None) if isinstance(atom, str) else _term_bounds(atom)
        if least is None or least < 0:
            return None, None
        low *= least**power
        high = None if high is None or most is None else high * most**power  # type: ignore[assignment]
    return low, high


def _term_bounds(term: Term) -> tuple[int | None, int | None]:
    left, right = bounds(term.left), bounds(term.right)
    if term.op == "%":
        return (0, None if right[1] is None else right[1] - 1) if right[0] is not None and right[0] > 0 else (None, None)
    if term.op == "//":
        if right[0] is None or right[0] <= 0 or left[0] is None or left[0] < 0:
            return None, None
        low = 0 if right[1] is None else left[0] // right[1]
        return low, None if left[1] is None else left[1] // right[0]
    lows = [end for end in (left[0], right[0]) if end is not None]
    highs = [end for end in (left[1], right[1]) if end is not None]
    if term.op == "min":
        return (min(lows) if len(lows) == 2 else None), (min(highs) if highs else None)
    return (max(lows) if lows else None), (max(highs) if len(highs) == 2 else None)


# ------------------------------------------------------------------ text


def _atom(op: str, left: Size, right: Size) -> Dim:
    return Dim(((((Term(op, left, right), 1),), 1),))


def _group(size: Size) -> str:
    text = str(size)
    plain = isinstance(size, int) or size.name or (text.startswith(("min(", "max(")) and sole_term(size))
    return text if plain else f"({text})"


def _monomial_text(monomial: Monomial) -> str:
    parts = []
    for atom, power in monomial:
        text = f"({atom})" if isinstance(atom, Term) and atom.op in ("//", "%") and len(monomial) > 1 else str(atom)
        parts.append(text if power == 1 else f"{text}**{power}")
    return "*".join(parts)


def _text(size: Dim) -> str:
    text = ""
    for monomial, factor in size.terms:
        sign, value = ("-", -factor) if factor < 0 else ("+", factor)
        body = _monomial_text(monomial)
        if not body:
            body = str(value)
        elif value != 1:
            lone = len(monomial) == 1 and isinstance(monomial[0][0], Term) and monomial[0][0].op in ("//", "%")
            body = f"{value}*({body})" if lone else f"{value}*{body}"
        text = f"{text} {sign} {body}" if text else (body if sign == "+" else f"-{body}")
    return text


OPERATIONS = {"//": floor_divide, "%": remainder, "min": minimum, "max": maximum}
