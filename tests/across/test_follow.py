"""Anchors through scripted refactorings: nearly all right, no wrong place given as sure."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest
from refactorings import bare, histories, places

from cgx.indexer.across.follow import STATUSES, Answer, follow_all


class Memory:
    """Files in memory as a tree."""

    def __init__(self, files: dict[str, str]) -> None:
        self.files = {path: text.encode() for path, text in files.items()}

    def paths(self) -> list[str]:
        return sorted(self.files)

    def blob(self, path: str) -> str:
        return hashlib.sha1(self.files[path]).hexdigest()

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def exists(self, path: str) -> bool:
        return path in self.files


def judge(answer: Answer, truth: str | None) -> str:
    if answer.status == "ambiguous":
        return "right" if truth in answer.candidates or truth is None else "open"
    if answer.to is None:
        return "right" if truth is None else "missed"
    return "right" if answer.to == truth else "wrong"


def test_scripted_refactorings() -> None:
    total: Counter[str] = Counter()
    wrong: list[str] = []
    for done, before, after in histories(110):
        old_places, new_places = places(before), places(after)
        marks = sorted(old_places)
        answers = follow_all(Memory(bare(before)), Memory(bare(after)), [old_places[mark] for mark in marks])
        for mark, answer in zip(marks, answers):
            verdict = judge(answer, new_places.get(mark))
            total[verdict] += 1
            if verdict != "right":
                wrong.append(f"{verdict} {done}: {answer.row()} truth {new_places.get(mark)}")
    count = sum(total.values())
    assert total["wrong"] == 0, "\n".join(item for item in wrong if item.startswith("wrong"))[:4000]
    assert total["right"] / count >= 0.99, f"{total}\n" + "\n".join(wrong[:40])


CODE = """
class Block:
    def forward(self, batch, mask):
        batch = self.attend(batch, mask, heads=8)
        batch = self.merge(batch, scale=3)
        return batch


def train(model, loader):
    for batch in loader:
        loss = model(batch).sum()
        loss.backward()
"""
FORWARD, LOSS = "a.py:Block.forward:4", "a.py:train:11"


def one(new: dict[str, str], anchor: str) -> Answer:
    return follow_all(Memory({"a.py": CODE}), Memory(new), [anchor])[0]


@pytest.mark.parametrize(
    ("status", "new", "anchor", "to"),
    [
        ("unchanged", {"a.py": CODE}, FORWARD, FORWARD),
        ("unchanged", {"a.py": CODE + "\nprint(1)\n"}, FORWARD, FORWARD),
        ("shifted", {"a.py": "import torch\n" + CODE}, FORWARD, "a.py:Block.forward:5"),
        ("edited", {"a.py": CODE.replace("heads=8", "heads=16")}, FORWARD, FORWARD),
        ("moved", {"b.py": CODE}, FORWARD, "b.py:Block.forward:4"),
        ("renamed", {"a.py": CODE.replace("Block", "Layer")}, FORWARD, "a.py:Layer.forward:4"),
        ("renamed", {"a.py": CODE.replace("def train", "def fit")}, LOSS, "a.py:fit:11"),
        ("gone", {"a.py": CODE.partition("def train")[0]}, LOSS, None),
        ("gone", {"other.py": "x = 1\n"}, FORWARD, None),
    ],
)
def test_statuses(status: str, new: dict[str, str], anchor: str, to: str | None) -> None:
    answer = one(new, anchor)
    assert (answer.status, answer.to) == (status, to)
    assert answer.status in STATUSES
    assert answer.evidence


def test_split() -> None:
    body = "        loss = model(batch).sum()\n"
    new = CODE.replace(body, "        loss = loss_of(model, batch)\n") + "\n\ndef loss_of(model, batch):\n    loss = model(batch).sum()\n    return loss\n"
    answer = one({"a.py": new}, LOSS)
    assert (answer.status, answer.to) == ("split", "a.py:loss_of:16")


def test_two_copies_and_no_original_is_ambiguous() -> None:
    function = CODE.partition("def train")[2]
    new = CODE.partition("def train")[0] + f"def one{function}\n\ndef two{function}"
    answer = one({"a.py": new}, LOSS)
    assert answer.status == "ambiguous"
    assert len(answer.candidates) == 2


def test_text_files_follow_their_lines() -> None:
    old, new = {"c.yaml": "a: 1\nb: 2\n"}, {"c.yaml": "z: 0\na: 1\nb: 2\n"}
    answer = follow_all(Memory(old), Memory(new), ["c.yaml:<module>:2"])[0]
    assert (answer.status, answer.to) == ("shifted", "c.yaml:<module>:3")


@pytest.mark.parametrize("anchor", ["nonsense", "no.py:f:1", "a.py:f:999"])
def test_an_anchor_that_does_not_hold(anchor: str) -> None:
    answer = one({"a.py": CODE + "x = 1\n"}, anchor)
    assert (answer.status, answer.to) == ("gone", None)
