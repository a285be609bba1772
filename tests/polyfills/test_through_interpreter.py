"""Stand-ins and layers as the interpreter runs them: modules, parameters, order of calls and ops."""

from __future__ import annotations

from pathlib import Path

from cgx.indexer.interpreter.interp import Options
from cgx.indexer.interpreter.run import run_build
from cgx.indexer.interpreter.trace import ModuleCall, OpNode, Trace
from cgx.indexer.source import open_tree


def build(folder: Path, text: str, inputs: list[str]) -> Trace:
    (folder / "net.py").write_text("import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n" + text)
    trace = run_build(open_tree(str(folder)), [], "net:Net()", inputs, Options())
    assert trace.faults == []
    return trace


def called(trace: Trace) -> list[str]:
    return [node.module.cls.name for node in trace.root.walk() if isinstance(node, ModuleCall)]


def ops(trace: Trace) -> list[str]:
    return [node.qname.rpartition(".")[2] for call in trace.root.children for node in call.walk() if isinstance(node, OpNode)]


def parameters(trace: Trace, name: str) -> dict[str, object]:
    return {key: value and value.shape for module in trace.modules if module.cls.name == name for key, value in module.parameters.items()}


def test_weight_norm_is_a_module_of_its_own(tmp_path: Path) -> None:
    trace = build(
        tmp_path,
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.conv = nn.utils.parametrizations.weight_norm(nn.Conv1d(8, 16, 3, padding=1), dim=2)\n"
        "    def forward(self, x):\n"
        "        return self.conv(x)\n",
        ["x=float32[2,8,10]"],
    )
    assert called(trace) == ["Net", "ParametrizedConv1d", "ParametrizationList", "_WeightNorm"]
    assert ops(trace)[-2:] == ["_weight_norm", "conv1d"]
    assert parameters(trace, "ParametrizationList") == {"original0": (1, 1, 3), "original1": (16, 8, 3)}
    assert parameters(trace, "ParametrizedConv1d") == {"bias": (16,)}


def test_old_weight_norm_keeps_the_class(tmp_path: Path) -> None:
    trace = build(
        tmp_path,
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.conv = nn.utils.weight_norm(nn.Conv1d(8, 16, 3))\n"
        "    def forward(self, x):\n"
        "        return self.conv(x)\n",
        ["x=float32[2,8,10]"],
    )
    assert called(trace) == ["Net", "Conv1d"]
    assert parameters(trace, "Conv1d") == {"bias": (16,), "weight_g": (16, 1, 1), "weight_v": (16, 8, 3)}
    assert [node.outputs[0][1].shape for node in trace.root.walk() if isinstance(node, ModuleCall)] == [(2, 16, 8), (2, 16, 8)]


def test_encoder_layer_runs_its_children_but_not_out_proj(tmp_path: Path) -> None:
    trace = build(
        tmp_path,
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)\n"
        "    def forward(self, x):\n"
        "        return self.encoder(x)\n",
        ["x=float32[5,3,8]"],
    )
    layer = ["TransformerEncoderLayer", "MultiheadAttention", "Dropout", "LayerNorm", "Linear", "Dropout", "Linear", "Dropout", "LayerNorm"]
    assert called(trace) == ["Net", "TransformerEncoder", *layer, *layer]
    assert "NonDynamicallyQuantizableLinear" in [module.cls.name for module in trace.modules]
    assert ops(trace).count("multi_head_attention_forward") == 2


def test_recurrent_layer(tmp_path: Path) -> None:
    trace = build(
        tmp_path,
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.rnn = nn.LSTM(8, 4, num_layers=2, batch_first=True, bidirectional=True)\n"
        "    def forward(self, x):\n"
        "        self.rnn.flatten_parameters()\n"
        "        y, (h, c) = self.rnn(x)\n"
        "        return y, h\n",
        ["x=float32[3,5,8]"],
    )
    assert ops(trace) == ["zeros", "zeros", "lstm"]
    assert len(parameters(trace, "LSTM")) == 16
    net = next(node for node in trace.root.walk() if isinstance(node, ModuleCall))
    assert [value.shape for _, value in net.outputs] == [(3, 5, 8), (4, 3, 4)]


def test_members_by_name(tmp_path: Path) -> None:
    trace = build(
        tmp_path,
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        for i in range(2):\n"
        "            self.add_module(f'conv_{i}', nn.Conv2d(4, 4, 1))\n"
        "    def forward(self, x):\n"
        "        for i in range(2):\n"
        "            x = self.__getattr__(f'conv_{i}')(x)\n"
        "        return x\n",
        ["x=float32[2,4,8,8]"],
    )
    assert called(trace) == ["Net", "Conv2d", "Conv2d"]
