"""What model code does with tensors beside calling layers: iterates, chains, compares, maps, returns early, gives results on."""

from __future__ import annotations

from pathlib import Path

from interpreted import build

from cgx.indexer.interpreter.trace import BranchNode, ModuleCall, OpNode, Trace

HEAD = "import torch\nfrom torch import nn\n\n"


def model(folder: Path, body: str, *inputs: str, before: str = "") -> Trace:
    lines = "".join(f"        {line}\n" for line in body.strip("\n").split("\n"))
    text = f"{HEAD}{before}\nclass M(nn.Module):\n    def forward(self, x, n=None):\n{lines}"
    return build(folder, {"m.py": text}, "m:M()", inputs)


def seen(trace: Trace) -> list[tuple[str, int, list[object]]]:
    """Name, line within the body, and shapes of what each op gives."""
    nodes = [node for node in trace.root.walk() if isinstance(node, OpNode)]
    return [(node.qname.rpartition(".")[2], node.anchor.line, [tensor.shape for tensor in node.outputs]) for node in nodes]


def conditions(trace: Trace) -> dict[str, list[str]]:
    branches = [node for node in trace.root.walk() if isinstance(node, BranchNode)]
    return {node.text: [op.qname.rpartition(".")[2] for op in node.walk() if isinstance(op, OpNode)] for node in branches}


def test_what_follows_an_early_return_is_under_its_condition(tmp_path: Path) -> None:
    trace = model(tmp_path, "if n.all():\n    return x\nreturn x.exp()", "x=float32[2,3]", "n=int64[2]")
    assert conditions(trace)["not (n.all())"] == ["exp"]


def test_iterating_a_tensor_unbinds_it(tmp_path: Path) -> None:
    trace = model(tmp_path, "a, b = x\nfor row in a:\n    b = b + row\nreturn b", "x=float32[2,3]")
    assert [(name, shapes) for name, _, shapes in seen(trace) if name == "unbind"] == [("unbind", [(3,), (3,)]), ("unbind", [(), (), ()])]


def test_each_call_of_a_chain_stands_at_its_own_line(tmp_path: Path) -> None:
    trace = model(tmp_path, "return (x.reshape(3, 2)\n    .t()\n    .reshape(6))", "x=float32[2,3]")
    lines = [line for _, line, _ in seen(trace)]
    assert [line - lines[0] for line in lines] == [0, 1, 2]


def test_numbers_leave_a_comparison_to_the_tensor(tmp_path: Path) -> None:
    trace = model(tmp_path, "y = 3 <= x\nz = max(x.sum(), n.sum())\nreturn y", "x=float32[2]", "n=float32[2]")
    assert [name for name, _, _ in seen(trace)] == ["ge", "sum", "sum", "gt"]


def test_a_mapped_function_sees_tensors_without_the_mapped_axis(tmp_path: Path) -> None:
    body = (
        "f = lambda q, k: q >= k\nfor dims in [(None, 0), (0, None)]:\n    f = torch.vmap(f, in_dims=dims, out_dims=0)\n"
        "return f(torch.arange(4), torch.arange(5)) | x"
    )
    found = [(name, shapes) for name, _, shapes in seen(model(tmp_path, body, "x=bool[4,5]"))]
    assert found[2:] == [("ge", [()]), ("or", [(4, 5)])]


def test_sizes_among_what_is_spread_are_not_known(tmp_path: Path) -> None:
    trace = model(tmp_path, "import os\nsizes = os.environ['SIZES']\nreturn x.reshape(*sizes, -1)", "x=float32[2,3]")
    assert [shapes for name, _, shapes in seen(trace) if name == "reshape"] == [[None]]


def test_a_tensor_that_may_be_none_is_no_sure_input(tmp_path: Path) -> None:
    body = "m = None if n.all() else torch.ones(3, 3)\nreturn nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=m)"
    trace = model(tmp_path, body, "x=float32[2,3,4]", "n=int64[2]")
    op = next(node for node in trace.root.walk() if isinstance(node, OpNode) and node.qname.endswith("attention"))
    assert [tensor.shape for tensor in op.inputs] == [(2, 3, 4)] * 3


def test_results_hold_what_parts_gave(tmp_path: Path) -> None:
    before = (
        "from dataclasses import dataclass\n@dataclass\nclass Part:\n    last: object = None\n    all: object = None\n"
        "class Whole(Part):\n    pass\n"
    )
    trace = model(tmp_path, "return Whole(x.sum(), Part(x, [x]))", "x=float32[2,3]", before=before)
    call = next(node for node in trace.root.walk() if isinstance(node, ModuleCall))
    assert [tensor.shape for _, tensor in call.outputs] == [(), (2, 3), (2, 3)]
    assert not trace.faults


def test_joining_the_keys_of_a_table(tmp_path: Path) -> None:
    before = "import re\nTABLE = {'ForOne': len, 'ForTwo': max}\nkind = re.findall(f\"({'|'.join(TABLE)})\", 'NetForTwo')[0]\n"
    trace = model(tmp_path, "return x.exp() if kind == 'ForTwo' else x.sin()", "x=float32[2]", before=before)
    assert [name for name, _, _ in seen(trace)] == ["exp"]


def test_a_cached_function_runs_once_for_equal_arguments(tmp_path: Path) -> None:
    before = "from functools import lru_cache\n@lru_cache(maxsize=4)\ndef steps(n):\n    return torch.arange(n)\n"
    trace = model(tmp_path, "return x + steps(3) + steps(2).sum() + steps(3)", "x=float32[2,3]", before=before)
    assert [name for name, _, _ in seen(trace)] == ["arange", "add", "arange", "sum", "add", "add"]


def test_layers_that_find_a_cached_result_do_not_work_it_out(tmp_path: Path) -> None:
    text = (
        HEAD + "from functools import lru_cache\n\nclass B(nn.Module):\n    @staticmethod\n    @lru_cache\n    def steps(n):\n        return torch.arange(n)\n"
        "    def forward(self, x):\n        return x + self.steps(3)\n\nclass M(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.b = nn.ModuleList(B() for _ in range(3))\n    def forward(self, x):\n        for b in self.b:\n            x = b(x)\n        return x\n"
    )
    trace = build(tmp_path, {"m.py": text}, "m:M()", ["x=float32[2,3]"])
    assert [name for name, _, _ in seen(trace)] == ["arange", "add", "add", "add"]


def test_inputs_are_listed_as_they_were_given(tmp_path: Path) -> None:
    trace = model(tmp_path, "return x + n", "n=float32[3]", "x=float32[2,3]")
    call = next(node for node in trace.root.walk() if isinstance(node, ModuleCall))
    assert [name for name, _ in call.inputs] == ["n", "x"]


def test_the_old_constructor_takes_sizes_or_data(tmp_path: Path) -> None:
    body = "return [torch.Tensor(3, 4), torch.Tensor(5), torch.Tensor([0.5]), torch.Tensor([2, 3]), torch.Tensor([[2, 5]]), torch.Tensor()]"
    trace = model(tmp_path, body, "x=float32[1]")
    call = next(node for node in trace.root.walk() if isinstance(node, ModuleCall))
    assert [tensor.shape for _, tensor in call.outputs] == [(3, 4), (5,), (1,), (2,), (1, 2), (0,)]


def test_a_layer_takes_its_own_weights_not_those_a_subclass_adds(tmp_path: Path) -> None:
    text = (
        HEAD + "class M(nn.Linear):\n    def __init__(self):\n        super().__init__(4, 3, bias=False)\n        self.extra = nn.Parameter(torch.zeros(7))\n"
        "    def forward(self, x):\n        return super().forward(x)\n"
    )
    trace = build(tmp_path, {"m.py": text}, "m:M()", ["x=float32[2,4]"])
    op = next(node for node in trace.root.walk() if isinstance(node, OpNode) and node.qname.endswith("linear"))
    assert [tensor.shape for tensor in op.inputs] == [(2, 4), (3, 4)]


def test_a_convolution_that_pads_by_itself_convolves_what_it_padded(tmp_path: Path) -> None:
    before = "conv = nn.Conv2d(3, 8, 3, padding=1, padding_mode='reflect')\n"
    trace = model(tmp_path, "return conv(x)", "x=float32[2,3,8,8]", before=before)
    nodes = [node for node in trace.root.walk() if isinstance(node, OpNode)]
    assert [(node.qname.rpartition(".")[2], [one.shape for one in node.inputs][:2], [one.shape for one in node.outputs]) for node in nodes] == [
        ("pad", [(2, 3, 8, 8)], [(2, 3, 10, 10)]),
        ("conv2d", [(2, 3, 10, 10), (8, 3, 3, 3)], [(2, 8, 8, 8)]),
    ]
