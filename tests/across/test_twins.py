"""Equal statements, copied branches and files, calls that say other things: nothing is given as sure that could be the copy."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from test_follow import Memory

from cgx.indexer.across.follow import Answer, Follower, follow_all
from cgx.indexer.across.renames import git_renames
from cgx.indexer.source import open_tree


def line_of(text: str, mark: str) -> int:
    return next(number for number, row in enumerate(text.splitlines(), 1) if mark in row)


def after(old: str, new: str, symbol: str, mark: str = "#old") -> Answer:
    return follow_all(Memory({"a.py": old}), Memory({"a.py": new}), [f"a.py:{symbol}:{line_of(old, mark)}"])[0]


CHAIN = """
def check(device):
    if on_mlu():
        device = "mlu"
        with autocast(device):
            layer = conv(1, 1, 1)
            out = layer(rand(1, 1))  #old
            same(out.dtype, half)
    elif not on_cuda():
        with autocast(device):
            pass
"""
BRANCH = """        device = "{0}"
        with autocast(device):
            layer = conv(1, 1, 1)
            out = layer(rand(1, 1))  #{0}
            same(out.dtype, half)
"""


def test_a_copied_branch_keeps_the_one_under_its_condition() -> None:
    new = CHAIN.partition("    if on_mlu")[0] + "    if on_npu():\n" + BRANCH.format("npu") + "    elif on_mlu():\n" + BRANCH.format("mlu")
    new += "    elif on_musa():\n" + BRANCH.format("musa") + CHAIN[CHAIN.index("    elif not") :]
    answer = after(CHAIN, new, "check")
    assert answer.to == f"a.py:check:{line_of(new, '#mlu')}"


def test_a_statement_that_now_stands_in_two_branches_is_ambiguous() -> None:
    old = "def main(model):\n    schedule = make(model)\n    load_into(model, strict=False)  #old\n    begin = now()\n"
    new = (
        "def main(model):\n    if resume:\n        try:\n            again(model)\n        except ValueError:\n            load_into(model, strict=False)\n"
        "    else:\n        load_into(model, strict=False)\n    mark(model)\n"
    )
    answer = after(old, new, "main")
    assert (answer.status, answer.candidates) == ("ambiguous", ["a.py:main:6", "a.py:main:8"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if pretrained:  #old\n        load()", "if other:\n        fail()\n    x = 3"),
        ("scores = {}  #old\n    fill(scores, 7)", "results = {}\n    tell(3)"),
        ('parser.add_argument("--hf-path", type=str, default=None, help="where")  #old', 'parser.add_argument("--tag", type=str, default=None, help="which")'),
        ("for x in y(2):\n        if x % 3:\n            continue  #old", "for z in w(9):\n        if z is None:\n            continue"),
    ],
)
def test_what_has_nothing_in_common_is_gone(old: str, new: str) -> None:
    answer = after(f"def f(parser):\n    a = 1\n    {old}\n    b = 2\n", f"def f(parser):\n    a = 4\n    {new}\n    c = 3\n", "f")
    assert (answer.status, answer.to) == ("gone", None)


def test_a_place_that_another_statement_held_before_is_not_taken() -> None:
    line = "report(tokens * ranks, total // world)"
    old = {"one.py": f"a = 1\n{line}\nb = 2\n", "two.py": f"x = 1\n{line}\ny = 2\n"}
    new = {"one.py": f"a = 3\n{line}\nb = 2\n", "three.py": f"{line}\nother(1)\n"}
    answer = follow_all(Memory(old), Memory(new), ["two.py:<module>:2"])[0]
    assert answer.to != "one.py:<module>:2"


def test_what_the_source_lost_is_not_in_its_tests() -> None:
    body = "(left, right):\n    truth = arange(len(left)).view(-1, 1)\n    for name, logit in pairs(left, right):\n        ranks = sort(logit, down=True)\n    return ranks\n"
    answer = follow_all(Memory({"job/m.py": f"x = 1\n\ndef metrics{body}"}), Memory({"job/m.py": "x = 2\n", "tests/test_m.py": f"def expected{body}"}), ["job/m.py:metrics:4"])[0]
    assert answer.status == "gone"


def test_a_class_of_fields_whose_name_another_took() -> None:
    fields = "    tokens: list[int] = field(default_factory=list)\n    mask: list[bool] = field(default_factory=list)\n    scores: list[float]\n"
    old = f"@dataclass\nclass Batch:\n{fields}"
    new = f"@dataclass\nclass Micro:\n{fields}    extra: int\n\n\n@dataclass\nclass Batch:\n    parts: tuple[Micro, ...]\n    count: int = sum_of(3)\n"
    assert follow_all(Memory({"a.py": old}), Memory({"a.py": new}), ["a.py:Batch:3"])[0].to == "a.py:Micro:3"


# ------------------------------------------------------------------ files, with git's history


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words], cwd=folder, capture_output=True, check=True)


def commit(folder: Path, files: dict[str, str], message: str) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)


TRAIN = "".join(f"def part_{n}(model, args):\n    a = first(model, {n})\n    b = second(a, args.x{n})\n    return join(a, b, {n})\n\n\n" for n in range(6))


@pytest.mark.parametrize("backward", [False, True])
def test_a_renamed_file_that_was_rewritten_beside_its_legacy_copy(tmp_path: Path, backward: bool) -> None:
    git(tmp_path, "init", "-q", ".")
    commit(tmp_path, {"training/train.py": TRAIN}, "one")
    git(tmp_path, "tag", "old")
    git(tmp_path, "mv", "training", "package")
    git(tmp_path, "commit", "-qm", "two")
    rewritten = TRAIN.replace("second(a", "third(a, model").replace("first(model", "begin(model, args") + "".join(f"x{n} = make({n})\n" for n in range(60))
    commit(tmp_path, {"package/legacy.py": TRAIN, "package/train.py": rewritten}, "three")
    ends = ("HEAD", "old") if backward else ("old", "HEAD")
    with open_tree(tmp_path, ends[0]) as old, open_tree(tmp_path, ends[1]) as new:
        follower = Follower(old, new, git_renames(old, new))
        start, end = ("package/train.py", "training/train.py") if backward else ("training/train.py", "package/train.py")
        assert follower.follow(f"{start}:part_2:13").to == f"{end}:part_2:13"


def test_an_exact_copy_beside_an_edited_rename_is_ambiguous_without_history() -> None:
    new = {"new.py": TRAIN.replace("    a = first", "    with grad():\n        a = first"), "copy.py": TRAIN}
    answer = follow_all(Memory({"old.py": TRAIN}), Memory(new), ["old.py:part_1:9"])[0]
    assert answer.status == "ambiguous" and len(answer.candidates) == 2
