"""Jobs that write their own schedule of micro-batches, optimizer and state machine, as large-model trainers do."""

from __future__ import annotations

from pathlib import Path

from interpreted import job, reasons
from test_plain_loops import NET, copied, events, record

HEAD = NET + "import torch.distributed as dist\ndist.init_process_group('nccl')\nmodel = Net().cuda()\noptimizer = torch.optim.AdamW(model.parameters())\n"
TORCHRUN = "torchrun --nproc-per-node 4 main.py"


def test_a_function_applied_to_the_tensors_of_a_module_casts_those_it_does_not_leave(tmp_path: Path) -> None:
    source = (
        "import torch\nmodel = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))\nmodel[1].weight.keep = True\n"
        "same = model._apply(lambda t: t if getattr(t, 'keep', False) else t.to(torch.bfloat16))\n"
        "if same is model and model[0].weight.dtype == torch.bfloat16: torch.ones(1).cuda()\n"
        "if model[1].weight.dtype == torch.float32: torch.ones(2).cuda()\nif model[1].bias.dtype == torch.float32: torch.ones(3).cuda()\n"
    )
    assert copied(job(tmp_path, {"main.py": source})) == ["torch.ones(1)", "torch.ones(2)"]


def test_a_mark_that_a_tensor_does_not_carry_is_the_default(tmp_path: Path) -> None:
    source = (
        "import torch\nlayer = torch.nn.Linear(4, 4)\nlayer.bias.local = True\n"
        "if getattr(layer.weight, 'local', False): torch.ones(1).cuda()\nif getattr(layer.bias, 'local', False): torch.ones(2).cuda()\n"
        "if getattr(layer.weight, 'is_leaf', False): torch.ones(3).cuda()\n"
    )
    assert copied(job(tmp_path, {"main.py": source})) == ["torch.ones(2)", "torch.ones(3)"]


def test_a_module_puts_its_own_tensors_into_a_state_dict(tmp_path: Path) -> None:
    source = (
        "import torch\nmodel = torch.nn.BatchNorm1d(4)\ntable = {}\nmodel._save_to_state_dict(table, 'bn.', keep_vars=True)\n"
        "if list(table) == ['bn.weight', 'bn.bias', 'bn.running_mean', 'bn.running_var', 'bn.num_batches_tracked']: torch.ones(1).cuda()\n"
    )
    assert copied(job(tmp_path, {"main.py": source})) == ["torch.ones(1)"]


def test_flags_that_the_first_rank_sends_decide_what_follows(tmp_path: Path) -> None:
    source = (
        "import torch\nimport torch.distributed as dist\ndist.init_process_group('nccl')\n"
        "if dist.get_rank() % 2 == 0:\n    flags = torch.tensor([1, 0], device='cuda')\nelse:\n    flags = torch.tensor([0, 0], device='cuda')\n"
        "dist.broadcast(flags, 0)\nif flags[0].item(): torch.ones(1).cuda()\nif flags[1].item(): torch.ones(2).cuda()\n"
        "dist.all_reduce(flags)\nif flags[1].item(): torch.ones(3).cuda()\n"
    )
    trace = job(tmp_path, {"main.py": source}, TORCHRUN)
    assert copied(trace)[2:] == ["torch.ones(1)", "torch.ones(3)"]  # behind the sum nobody knows
    assert "data" in reasons(trace).values()


def test_elements_of_a_tensor_that_was_written_to_are_not_sent(tmp_path: Path) -> None:
    source = (
        "import torch\nimport torch.distributed as dist\ndist.init_process_group('nccl')\nflags = torch.tensor([1, 0], device='cuda')\nflags.mul_(2)\n"
        "dist.broadcast(flags, 0)\nif flags[0].item() == 1: torch.ones(1).cuda()\nelse: torch.ones(2).cuda()\n"
    )
    assert copied(job(tmp_path, {"main.py": source}, TORCHRUN))[1:] == ["torch.ones(1)", "torch.ones(2)"]


def test_a_typed_dict_is_a_dict(tmp_path: Path) -> None:
    source = (
        "import torch\nfrom typing import TypedDict\nclass Override(TypedDict, total=False):\n    wd: float\n"
        "merged = Override()\nfor key, value in Override(wd=0.0).items():\n    if key in merged: raise ValueError(key)\n    merged[key] = value\n"
        "if tuple(sorted(merged.items())) == (('wd', 0.0),): torch.ones(1).cuda()\n"
    )
    assert copied(job(tmp_path, {"main.py": source})) == ["torch.ones(1)"]


def test_random_integers_have_the_dtype_that_is_asked_for(tmp_path: Path) -> None:
    source = "import numpy, torch\nn = numpy.random.default_rng(0).integers(low=1, high=9, size=4, dtype=numpy.int32)\nif n.dtype == numpy.int32: torch.ones(1).cuda()\n"
    assert copied(job(tmp_path, {"main.py": source})) == ["torch.ones(1)"]


def test_a_job_has_data(tmp_path: Path) -> None:
    source = (
        "import torch, zoo\nclass Data(torch.utils.data.Dataset):\n    def __len__(self):\n        return zoo.count()\n    def __getitem__(self, i):\n        return torch.zeros(4)\n"
        "def loader(data):\n    if len(data) == 0:\n        return None\n    return torch.utils.data.DataLoader(data)\nif loader(Data()) is not None: torch.ones(1).cuda()\n"
    )
    trace = job(tmp_path, {"main.py": source})
    assert copied(trace) == ["torch.ones(1)"]
    assert not [name for name in reasons(trace) if "==" in name]


def test_a_group_says_what_it_is_for_where_a_helper_makes_it(tmp_path: Path) -> None:
    source = (
        "import torch\nimport torch.distributed as dist\ndist.init_process_group('nccl')\ndef make(ranks, what):\n    return dist.new_group(ranks=ranks, group_desc=what)\n"
        "group = make([0, 1], 'TENSOR_MODEL_PARALLEL_GROUP')\ndist.all_reduce(torch.zeros(2).cuda(), group=group)\n"
    )
    assert [event.data["parallelism"] for event in events(job(tmp_path, {"main.py": source}, TORCHRUN), "collective")] == ["tensor"]


def test_an_exception_in_a_periodic_branch_leaves_out_its_statement_alone(tmp_path: Path) -> None:
    source = HEAD + (
        "for step in range(100):\n    model(torch.zeros(2, 4, device='cuda')).sum().backward()\n    optimizer.step()\n"
        "    if step % 10 == 0:\n        model.no_such_thing()\n        torch.ones(1).cuda()\n"
    )
    trace = job(tmp_path, {"main.py": source}, TORCHRUN)
    assert copied(trace)[-1] == "torch.ones(1)"
    assert "error" in reasons(trace).values()


SCHEDULE = """
from torch.autograd.variable import Variable
def forward_step():
    return model(torch.zeros(2, 4, device='cuda'))
def backward_step(output):
    Variable._execution_engine.run_backward(tensors=(output,), grad_tensors=(torch.ones_like(output),), keep_graph=False)
def schedule(batches):
    outputs = [forward_step() for _ in range(1)]
    for i in range(batches - 1):
        outputs.append(forward_step())
        backward_step(outputs.pop(0))
    for i in range(1):
        backward_step(outputs.pop(0))
"""


def test_micro_batches_of_a_pipeline_are_those_of_all_its_loops(tmp_path: Path) -> None:
    found = record(job(tmp_path, {"main.py": HEAD + SCHEDULE + "for step in range(9):\n    schedule(4)\n    optimizer.step()\n"}, TORCHRUN))
    assert found["compute"]["gradient_accumulation"]["value"] == 4
    assert {row["name"]: row["repeat"] for row in found["phases"] if row["name"] in ("forward", "backward")} == {"forward": 4, "backward": 4}


STATES = """
class States:
    running = False
    def any(self, flag):
        seen = torch.tensor([flag], device='cuda')
        dist.all_reduce(seen)
        return seen.item() > 0
    def again(self):
        if not self.running:
            self.running = True
            return True
        if not self.any(False):
            self.running = False
            return False
        return True
states = States()
step = 0
while step < 9:
    while states.again():
        BODY
    optimizer.step()
    step += 1
"""


def test_a_loop_that_only_a_failure_repeats_runs_once_and_asks_at_its_end(tmp_path: Path) -> None:
    found = record(job(tmp_path, {"main.py": HEAD + SCHEDULE + STATES.replace("BODY", "schedule(4)")}, TORCHRUN))
    assert found["compute"]["gradient_accumulation"]["value"] == 4
    assert [(row["frequency"]["per"], row["repeat"]) for row in found["device_device"] if row["collective"] == "all_reduce"] == [("step", 1)]
    assert [row["name"] for row in found["unresolved"] if row["field"] == "count"] == ["states.again()"]


def test_equal_frozen_records_are_one_key(tmp_path: Path) -> None:
    source = (
        "import torch\nfrom dataclasses import dataclass\n@dataclass(frozen=True)\nclass Key:\n    dtype: torch.dtype\n    expert: bool = False\n"
        "model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4).to(torch.bfloat16))\ngroups = {}\n"
        "for p in model.parameters():\n    groups[Key(p.dtype)] = [*groups.get(Key(p.dtype), []), p]\n"
        "if [len(group) for group in groups.values()] == [2, 2]: torch.ones(1).cuda()\nif [key.dtype for key in groups] == [torch.float32, torch.bfloat16]: torch.ones(2).cuda()\n"
    )
    assert copied(job(tmp_path, {"main.py": source})) == ["torch.ones(1)", "torch.ones(2)"]


def test_what_a_function_of_the_job_gives_requires_gradients_where_its_input_does(tmp_path: Path) -> None:
    source = (
        "import torch\nclass Same(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        out = torch.empty((1,), device=x.device)\n        out.data = x.data\n        return out\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return g\n"
        "x = torch.zeros(4, requires_grad=True)\nif Same.apply(x).requires_grad: torch.ones(1).cuda()\nif Same.apply(torch.zeros(4)).requires_grad: torch.ones(2).cuda()\n"
    )
    assert copied(job(tmp_path, {"main.py": source})) == ["torch.ones(1)"]
