"""What is known of values that are not: device indexes, spread arguments, tuples with an unknown part."""

from __future__ import annotations

from interpreted import called, events
from interpreted import job as run

from cgx.indexer.interpreter.trace import BranchNode, LoopNode


def test_an_unknown_index_is_a_cuda_device(tmp_path):
    trace = run(tmp_path, {"main.py": """
import torch
device = 3 % torch.cuda.device_count()
x = torch.zeros(4).to(device)
y = x.sum().item()
"""})
    assert [event.data["direction"] for event in events(trace, "copy")][:1] == ["H2D"]
    assert [event.data["sync"] for event in events(trace, "sync")] == ["item"]


def test_spread_of_an_unknown_is_unknown_and_raises_nothing(tmp_path):
    trace = run(tmp_path, {"main.py": """
import os
size = os.environ["SIZE"].split(",")
smallest = min(*size)
assert (1, 2) == (1, *size)
"""})
    assert not [unknown for unknown in trace.unknowns if unknown.reason == "error"]


def test_a_loop_over_an_enumerated_generator_runs_its_body(tmp_path):
    trace = run(tmp_path, {"main.py": """
import torch
def batches():
    while True:
        yield torch.zeros(2, 3)
model = torch.nn.Linear(3, 4)
for index, batch in enumerate(batches()):
    model(batch)
    if index > 5:
        break
pairs = list(enumerate(x for x in (7, 8)))
assert pairs[1] == (1, 8)
"""})
    assert called(trace) == ["Linear"]


def test_a_key_that_a_branch_may_add_is_counted_neither_way(tmp_path):
    source = (
        "import torch, zoo\ndef columns(extra):\n    table = {'a': torch.ones(2), 'b': torch.ones(2)}\n    if extra is not None:\n"
        "        table['c'] = torch.ones(2)\n    return table\n"
        "one, two = columns(zoo.found()), columns(None)\nsizes = len(one), len(two)\nfor value in one.values():\n    value.cuda()\n"
        "for value in two.values():\n    value.cuda()\n"
    )
    loops = [node.count for node in run(tmp_path, {"main.py": source}).root.walk() if isinstance(node, LoopNode)]
    assert not isinstance(loops[0], int) and loops[1:] in ([2], [])


def test_a_loop_over_one_of_several_open_tables_knows_what_its_elements_are(tmp_path):
    source = (
        "import torch, zoo, random\ndef columns(extra, shape):\n    table = {'a': torch.ones(shape), 'b': torch.ones(shape)}\n    if extra is not None:\n"
        "        table['c'] = torch.ones(2)\n    return table\n"
        "table = columns(zoo.found(), 2) if random.random() < 0.5 else columns(zoo.other(), 3)\nfor key, value in table.items():\n    value.cuda()\n"
    )
    assert [event.data["direction"] for event in events(run(tmp_path, {"main.py": source}), "copy")] == ["H2D"]


def test_a_function_does_not_count_the_arguments_that_an_unknown_spread_gives(tmp_path):
    trace = run(tmp_path, {"main.py": """
import os
import torch
def total(*parts):
    if len(parts) > 2:
        print("many")
    return torch.stack([part.cuda() for part in parts])
total(*torch.zeros(8).split(int(os.environ["SIZE"])))
"""})
    assert [event.data["direction"] for event in events(trace, "copy")] == ["H2D"]
    assert [node.text for node in trace.root.walk() if isinstance(node, BranchNode)] == ["len(parts) > 2"]
