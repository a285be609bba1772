"""Recurrent layers: flat parameter names, and what a call gives."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import Opaque, TensorValue, Value
from cgx.indexer.ops.layers.rows import Bound, LayerCall, LayerRow, Shapes, extent, layer, optional
from cgx.indexer.ops.tensors import like, need_shape

STACK = "input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, proj_size=0, device=None, dtype=None"
RNN = STACK.replace("num_layers=1,", "num_layers=1, nonlinearity='tanh',").replace(", proj_size=0", "")
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1, "RNN_TANH": 1, "RNN_RELU": 1}


def _times(count: int, size: Any) -> Any:
    return None if size is None else count * size


def stack_shapes(gates: int, b: Bound) -> Shapes:
    """weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_hr_l0, then ..._reverse, layer by layer."""
    hidden, layers = extent(b["hidden_size"]), b["num_layers"]
    projected = extent(b.get("proj_size", 0)) or 0
    ways = 2 if b["bidirectional"] is True else 1
    out = projected or hidden
    found: Shapes = {}
    for level in range(layers if isinstance(layers, int) else 1):
        into = extent(b["input_size"]) if level == 0 else _times(ways, out)
        for way in range(ways):
            tail = f"l{level}{'_reverse' if way else ''}"
            found[f"weight_ih_{tail}"] = (_times(gates, hidden), into)
            found[f"weight_hh_{tail}"] = (_times(gates, hidden), out)
            if b["bias"] is not False:
                found[f"bias_ih_{tail}"] = (_times(gates, hidden),)
                found[f"bias_hh_{tail}"] = (_times(gates, hidden),)
            if projected:
                found[f"weight_hr_{tail}"] = (projected, hidden)
    return found


def _stack(mode: str) -> Any:
    return lambda b: stack_shapes(GATES[mode], b)


def _mode(mode: str) -> Any:
    def stored(b: Bound) -> dict[str, Value]:
        if mode != "RNN":
            return {"mode": mode, "proj_size": b.get("proj_size", 0)}
        name = "RNN_RELU" if b.get("nonlinearity") == "relu" else "RNN_TANH"
        return {"mode": name, "proj_size": 0}

    return stored


def _run(call: LayerCall) -> Value:
    """(output, h_n) or (output, (h_n, c_n)). A packed sequence stays as it is."""
    base = call.value("input")
    hidden, layers = extent(call.value("hidden_size")), call.value("num_layers")
    ways = 2 if call.value("bidirectional") is True else 1
    out = extent(call.value("proj_size", 0)) or hidden
    states = extent(layers)
    lead = None if states is None else ways * states
    lstm = call.value("mode") == "LSTM"
    if not isinstance(base, TensorValue):  # a packed sequence
        state: Value = TensorValue((lead, None, out), "float32")
        if isinstance(base, Opaque):
            data = base.attrs.get("data")
            wide = like(data, (None, _times(ways, out))) if isinstance(data, TensorValue) else TensorValue()
            base = Opaque(base.qname, {**base.attrs, "data": wide}, base.anchor, base.name)
        return base, (state, TensorValue((lead, None, hidden), "float32")) if lstm else state
    if base.shape is None:
        return like(base, None), (like(base, None), like(base, None)) if lstm else like(base, None)
    shape = need_shape(base)
    batch = () if len(shape) == 2 else (shape[0] if call.value("batch_first") is True else shape[1],)
    output = like(base, (*shape[:-1], _times(ways, out)))
    last = like(base, (lead, *batch, out))
    return output, (last, like(base, (lead, *batch, hidden))) if lstm else last


def _stack_ops(call: LayerCall) -> tuple[str, ...]:
    """Without a state given, zeros are made first."""
    mode = call.value("mode")
    own = {"LSTM": "torch.lstm", "GRU": "torch.gru", "RNN_RELU": "torch.rnn_relu"}.get(mode, "torch.rnn_tanh")
    zeros = () if call.value("hx") is not None else ("torch.zeros",) * (2 if mode == "LSTM" else 1)
    return (*zeros, own)


def _cell_shapes(gates: int) -> Any:
    def shapes(b: Bound) -> Shapes:
        hidden = extent(b["hidden_size"])
        wide = _times(gates, hidden)
        return {
            "weight_ih": (wide, extent(b["input_size"])),
            "weight_hh": (wide, hidden),
            "bias_ih": optional(b["bias"], (wide,)),
            "bias_hh": optional(b["bias"], (wide,)),
        }

    return shapes


def _cell_run(call: LayerCall) -> Value:
    base = call.tensor()
    state = like(base, (*need_shape(base)[:-1], extent(call.value("hidden_size"))))
    return (state, like(state, state.shape)) if call.row.name.endswith("LSTMCell") else state


def _cell_ops(call: LayerCall) -> tuple[str, ...]:
    name = call.row.name.rpartition(".")[2]
    tail = "rnn_relu_cell" if call.value("nonlinearity") == "relu" else "rnn_tanh_cell"
    own = {"LSTMCell": "torch.lstm_cell", "GRUCell": "torch.gru_cell"}.get(name, f"torch.{tail}")
    return (own,) if call.value("hx") is not None else ("torch.zeros", own)


def _recurrent(name: str, op: str, signature: str, example: str) -> LayerRow:
    return layer(name, "rnn", signature, example, op=op, takes="input, hx=None", rule=_run, ops=_stack_ops, bases="RNNBase", shapes=_stack(name),
                 stored=_mode(name), dropped=("nonlinearity",) if name != "RNN" else (),
                 idle=("reset_parameters", "flatten_parameters"))  # fmt: skip


def _cell(name: str, op: str, gates: int, example: str, extra: str = "") -> LayerRow:
    return layer(name, "rnn", f"input_size, hidden_size, bias=True{extra}, device=None, dtype=None", example, op=op, takes="input, hx=None",
                 rule=_cell_run, ops=_cell_ops, bases="RNNCellBase", shapes=_cell_shapes(gates), stored=lambda b: {"bias": b["bias"]})  # fmt: skip


ROWS: list[LayerRow] = [
    _recurrent("LSTM", "torch.lstm", STACK, "(3, 4, 2, bidirectional=True) : f32[5,2,3] -> (f32[5,2,8], (f32[4,2,4], f32[4,2,4]))"),
    _recurrent("GRU", "torch.gru", STACK.replace(", proj_size=0", ""), "(3, 4, batch_first=True) : f32[5,2,3] -> (f32[5,2,4], f32[1,5,4])"),
    _recurrent("RNN", "torch.rnn_tanh", RNN, "(3, 4) : f32[5,2,3] -> (f32[5,2,4], f32[1,2,4])"),
    layer("torch.nn.modules.rnn.RNNBase", "rnn", f"mode, {STACK}", "", shapes=lambda b: stack_shapes(GATES.get(b["mode"], 1), b),
          idle=("reset_parameters", "flatten_parameters")),
    _cell("LSTMCell", "torch.lstm_cell", 4, "(3, 4) : f32[2,3] -> (f32[2,4], f32[2,4])"),
    _cell("GRUCell", "torch.gru_cell", 3, "(3, 4) : f32[2,3] -> f32[2,4]"),
    _cell("RNNCell", "torch.rnn_tanh_cell", 1, "(3, 4) : f32[2,3] -> f32[2,4]", ", nonlinearity='tanh'"),
]  # fmt: skip
