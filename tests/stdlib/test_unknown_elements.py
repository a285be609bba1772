"""Lists and sets that lose an element which the code alone does not tell."""

from evaluated import Run

CODE = """
import sys, torch
label = torch.randint(10, (1,)).item()
rest = list(range(10))
rest.remove(label)
count = len(rest)
first = rest[0]
fixed = [1, 2, 3]
fixed.remove(2)
bag = {1, 2, 3}
bag.discard(label)
some = bag == {1, 2, 3}
"""


def test_what_is_left_is_as_long_as_it_must_be(run: Run) -> None:
    names = run(CODE)
    assert names["count"] == 9
    assert names["first"] != 0 and str(names["first"]).startswith("?")
    assert names["fixed"] == [1, 3]
    assert names["some"] is not True
