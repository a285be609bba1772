"""What is known of values that are not: device indexes, spread arguments, tuples with an unknown part."""

from __future__ import annotations

from interpreted import called
from interpreted import job as run

from cgx.indexer.interpreter.trace import Event


def events(trace, kind):
    return [node for node in trace.root.walk() if isinstance(node, Event) and node.kind == kind]


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
