"""The fold: what becomes one entry, and what its counts are."""

from __future__ import annotations

import time

from cgx.indexer.interpreter.trace import CallNode, JobNode, OpNode, Trace
from cgx.indexer.interpreter.values import Alternatives, LoopContext, Opaque, TensorValue, Unknown
from cgx.indexer.ops.dims import Dim
from cgx.indexer.passes.fold.graph import fold
from cgx.model.anchors import Anchor

from .build import at, branch, by_path, call, folded, linear, listed, loop, module, op, summary, tensor

BOUND = LoopContext("config.n_layer", 3, at(5, "Net.__init__"))


def blocks(n: int) -> list:
    return [module("Block", loop=BOUND, fc=linear(4, 4), drop=module("Dropout", attrs={"p": 0.0})) for _ in range(n)]


def run(block, line: int = 10):
    return call(block, call(block.children["fc"], line=30), op("operator.add", 31), line=line)


def test_a_loop_over_members_is_the_fold_and_no_entry():
    layers = blocks(3)
    net = module("Net", layers=listed("ModuleList", layers))
    rows = folded(net, call(net, loop(9, *[[run(layer)] for layer in layers])))
    found = by_path(rows)
    assert [row["level"] for row in rows.modules] == ["model", "module", "module", "layer", "op", "layer"]
    block = found["layers.[0-2]"]
    assert block["repeat"] == {
        "unit": "model.Block", "count": 3, "by": "instances", "expr": "config.n_layer", "code_anchor": "model.py:Net.__init__:5",
    }  # fmt: skip
    assert found["layers.[0-2].fc"]["multiplicity"] == 3
    assert "repeat" not in found["layers.[0-2].fc"]
    assert found["layers"]["order"] is None and "runs" not in found["layers"]
    assert found["layers.[0-2].drop"]["runs"] is False and found["layers.[0-2].drop"]["order"] is None


def test_ops_beside_the_member_make_a_loop_entry_that_carries_the_repeat():
    layers = blocks(3)
    net = module("Net", layers=listed("ModuleList", layers))
    rows = folded(net, call(net, loop(9, *[[run(layer), op("operator.add", 11)] for layer in layers])))
    outer = next(row for row in rows.modules if row["level"] == "loop")
    assert (
        outer["repeat"]["count"] == 3
        and outer["repeat"]["by"] == "instances"
        and outer["repeat"]["expr"] == "config.n_layer"
    )
    inner = by_path(rows)["layers.[0-2]"]
    assert "repeat" not in inner and inner["parent"] == outer["id"] and inner["multiplicity"] == 3
    assert [row["multiplicity"] for row in rows.modules if row["type"] == "operator.add"] == [3, 3]


def test_units_that_differ_are_entries_of_their_own():
    layers = [
        module("Block", fc=linear(4, 4)) if index % 2 else module("Block", fc=linear(4, 4), gate=linear(4, 1))
        for index in range(6)
    ]
    net = module("Net", layers=listed("ModuleList", layers))
    turns = [[call(layer, *[call(child) for child in layer.children.values()])] for layer in layers]
    found = by_path(folded(net, call(net, loop(9, *turns))))
    assert found["layers.[0,2,4]"]["repeat"]["count"] == 3
    assert found["layers.[1,3,5]"]["repeat"]["count"] == 3
    assert "layers.[0,2,4].gate" in found and "layers.[1,3,5].gate" not in found


def test_units_of_one_build_that_run_differently_are_not_folded():
    layers = blocks(4)
    net = module("Net", layers=listed("ModuleList", layers))
    turns = [[run(layer)] for layer in layers[:3]] + [[call(layers[3], op("torch.relu", 33))]]
    found = by_path(folded(net, call(net, loop(9, *turns))))
    assert found["layers.[0-2]"]["repeat"]["count"] == 3
    assert "repeat" not in found["layers.3"]


def test_the_same_instance_again_repeats_by_calls():
    net = module("Net", fc=linear(4, 4))
    fc = net.children["fc"]
    rows = folded(net, call(net, loop(9, *[[call(fc)] for _ in range(4)], expr="range(4)")))
    assert by_path(rows)["fc"]["repeat"]["by"] == "calls"
    assert by_path(rows)["fc"]["multiplicity"] == 4
    again = folded(net, call(net, summary(9, 5, call(fc), op("operator.add", 12))))
    outer = next(row for row in again.modules if row["level"] == "loop")
    assert outer["repeat"]["count"] == 5 and by_path(again)["fc"]["multiplicity"] == 5


def test_two_places_are_two_entries_with_one_path():
    net = module("Net", act=module("ReLU"), fc=linear(4, 4))
    act, fc = net.children["act"], net.children["fc"]
    rows = folded(net, call(net, call(act, line=20), call(fc, line=21), call(act, line=22)))
    assert [row.get("path") for row in rows.modules] == ["", "act", "fc", "act"]
    assert [row["order"] for row in rows.modules] == [0, 0, 1, 2]
    assert rows.modules[1]["called_from"] == "model.py:Net.forward:20"


def test_equal_members_called_from_two_lines_list_both():
    layers = [linear(4, 4), linear(4, 4)]
    net = module("Net", layers=listed("ModuleList", layers))
    found = by_path(folded(net, call(net, call(layers[0], line=20), call(layers[1], line=22))))
    assert found["layers.[0-1]"]["called_from"] == ["model.py:Net.forward:20", "model.py:Net.forward:22"]


def test_attributes_are_never_folded_without_a_loop_that_made_them():
    net = module("Net", q=linear(4, 4), k=linear(4, 4), v=linear(4, 4))
    rows = folded(net, call(net, *[call(child) for child in net.children.values()]))
    assert [row.get("path") for row in rows.modules] == ["", "q", "k", "v"]


def test_an_unknown_count_is_null_and_listed():
    net = module("Net", fc=linear(4, 4))
    count = Unknown("steps_left", "data", at(9))
    rows = folded(net, call(net, summary(9, count, call(net.children["fc"]), expr="steps_left")))
    entry = by_path(rows)["fc"]
    assert entry["repeat"]["count"] is None and entry["multiplicity"] is None
    item = next(item for item in rows.unresolved if item["field"] == "repeat.count")
    assert item["entry"] == entry["id"] and item["name"] == "steps_left" and item["reason"].startswith("data")
    assert item["settle_with"] == {"option": "--set", "name": "steps_left"}


def test_members_of_uncalled_members_fold_by_their_container():
    pairs = [listed("ModuleList", [module("Norm"), linear(4, 4)]) for _ in range(3)]
    net = module("Net", layers=listed("ModuleList", pairs))
    turns = [
        [call(pair.children["0"], op("torch.rsqrt", 40)), call(pair.children["1"]), op("operator.add", 12)]
        for pair in pairs
    ]
    found = by_path(folded(net, call(net, loop(9, *turns))))
    assert set(found) == {"", "layers", "layers.[0-2]", "layers.[0-2].0", "layers.[0-2].1"}
    assert found["layers.[0-2]"]["repeat"]["count"] == 3
    assert found["layers.[0-2].1"]["multiplicity"] == 3


def test_nested_loops_state_each_count_at_its_level():
    stages = [listed("ModuleList", [linear(4, 4), linear(4, 4)]) for _ in range(3)]
    net = module("Net", stages=listed("ModuleList", stages))

    def turn(stage):
        return [loop(10, *[[call(block)] for block in stage.children.values()]), op("torch.cat", 12)]

    rows = folded(net, call(net, loop(9, *map(turn, stages))))
    found = by_path(rows)
    assert found["stages.[0-2].[0-1]"]["repeat"]["count"] == 2
    assert found["stages.[0-2].[0-1]"]["multiplicity"] == 6
    assert next(row for row in rows.modules if row["type"] == "torch.cat")["multiplicity"] == 3
    assert sum(row.get("path") == "stages.[0-2]" for row in rows.modules) == 1
    pure = by_path(folded(net, call(net, loop(9, *[turn(stage)[:1] for stage in stages]))))
    assert pure["stages.[0-2].[0-1]"]["repeat"]["count"] == 6


def test_tied_weights_name_the_owner():
    weight = tensor(10, 4)
    net = module(
        "Net", wte=module("Embedding", params={"weight": weight}), head=module("Linear", params={"weight": weight})
    )
    found = by_path(folded(net, call(net, *[call(child) for child in net.children.values()])))
    assert found["head"]["shares"] == "wte" and "shares" not in found["wte"]
    assert found["head"]["parameters"] == {"weight": [10, 4]}


def test_of_two_that_tie_a_weight_the_one_with_more_shares_what_the_other_has():
    weight = tensor(10, 4)
    net = module(
        "Net", head=module("Linear", params={"weight": weight, "bias": tensor(10)}), wte=module("Embedding", params={"weight": weight})
    )
    found = by_path(folded(net, call(net, *[call(child) for child in net.children.values()])))
    assert found["head"]["shares"] == "wte" and "shares" not in found["wte"]


def test_a_shared_module_is_called_under_its_first_name():
    shared = module("Embedding", params={"weight": (10, 4)})
    net = module("Net", shared=shared, enc=module("Stack", embed=shared))
    rows = folded(net, call(net, call(net.children["enc"], call(shared))))
    assert [row["path"] for row in rows.modules] == ["", "enc", "shared"]


def test_members_whose_inside_no_source_shows_are_alike_only_where_it_is_of_one_kind():
    def wrapped(*inside):
        parts = listed("Sequential", [module("Wrapper", attrs={"fn": one}) for one in inside])
        net = module("Net", parts=parts)
        return [row["path"] for row in folded(net, call(net, *map(call, parts.children.values()))).modules][2:]

    blur, jitter = Opaque("lib.Blur"), Opaque("lib.Jitter")
    assert wrapped(blur, jitter) == ["parts.0", "parts.1"] and wrapped(blur, Opaque("lib.Blur")) == ["parts.[0-1]"]
    missing = [Unknown(name, "missing-module", at(3)) for name in ("lib.blur(3)", "lib.jitter(2)", "lib.jitter(2)")]
    assert wrapped(*missing) == ["parts.0", "parts.[1-2]"]


def test_what_members_share_keeps_its_one_name_where_their_calls_are_marked_the_same():
    act = module("SiLU")
    body = listed("ModuleList", [module("Conv", conv=linear(4, 4), act=act) for _ in range(4)])
    net = module("Net", body=body)
    units = list(body.children.values())
    first = call(units[0], call(units[0].children["conv"]), call(act))
    rows = folded(net, call(net, first, *(call(unit, same_as=first) for unit in units[1:])))
    found = [(row["path"], row["multiplicity"]) for row in rows.modules if row["type"].endswith("SiLU")]
    assert found == [("body.0.act", 1), ("body.0.act", 3)]


def test_a_copy_has_its_own_of_what_the_original_shares():
    act, fresh = module("SiLU"), module("SiLU")
    stem, head, copy = (module("Conv", conv=linear(4, 4), act=one) for one in (act, act, fresh))
    net = module("Net", stem=stem, head=head, copy=copy)
    first = call(head, call(head.children["conv"]), call(act))
    rows = folded(net, call(net, call(stem, call(stem.children["conv"]), call(act)), first, call(copy, same_as=first)))
    assert [row["path"] for row in rows.modules if row["type"].endswith("SiLU")] == ["stem.act", "stem.act", "copy.act"]


def test_an_undecided_branch_is_kept_under_its_condition():
    net = module("Net", a=linear(4, 4), b=linear(4, 4))
    a, b = net.children.values()
    rows = folded(net, call(net, branch("x.sum() > 0", 20, call(a)), branch("not (x.sum() > 0)", 20, call(b))))
    assert by_path(rows)["a"]["when"] == {"expr": "x.sum() > 0", "code_anchor": "model.py:Net.forward:20"}
    assert by_path(rows)["b"]["when"]["expr"] == "not (x.sum() > 0)"


def test_shapes_that_differ_inside_a_fold_are_null():
    layers = [linear(4, 4), linear(4, 4)]
    net = module("Net", layers=listed("ModuleList", layers))
    calls = [call(layers[0], x=tensor(2, 8, 4)), call(layers[1], x=tensor(2, 4, 4))]
    found = by_path(folded(net, call(net, *calls)))
    assert found["layers.[0-1]"]["shapes"]["in"] == [{"name": "x", "dims": [2, None, 4], "dtype": "float32"}]


def test_equal_members_of_other_sizes_among_others_stay_apart():
    acts = [module("ReLU"), linear(4, 4), module("ReLU")]
    seq = listed("Sequential", acts)
    net = module("Net", seq=seq)
    inner = [call(acts[0], x=tensor(2, 8)), call(acts[1], x=tensor(2, 4)), call(acts[2], x=tensor(2, 4))]
    found = by_path(folded(net, call(net, call(seq, *inner))))
    assert {"seq.0", "seq.1", "seq.2"} <= set(found)


def test_symbolic_sizes_are_listed_as_symbols():
    b = Dim.symbol("B")
    net = module("Net")
    rows = folded(net, call(net, op("torch.cat", 12, b * 2, 4), x=tensor(b, 4)))
    assert rows.modules[0]["shapes"]["in"][0]["dims"] == ["B", 4]
    assert set(rows.symbols) == {"B", str(b * 2)}


def test_a_step_loop_round_the_model_multiplies_it():
    net = module("Net", fc=linear(4, 4))
    step = summary(
        3, 5, call(net, call(net.children["fc"])), op("operator.truediv", 8), expr="range(gradient_accumulation_steps)"
    )
    rows = folded(net, step)
    assert rows.modules[0]["level"] == "loop" and rows.modules[0]["repeat"]["by"] == "calls"
    assert by_path(rows)[""]["level"] == "model" and by_path(rows)["fc"]["multiplicity"] == 5


def test_a_method_that_runs_parts_stands_for_the_model():
    net = module("Net", enc=linear(4, 4), dec=linear(4, 4))
    enc, dec = net.children.values()
    node = CallNode(
        at(3, "train"),
        children=[call(enc), call(dec)],
        symbol="model.Net.training_step",
        target=at(50, "Net.training_step"),
    )
    rows = folded(net, node)
    assert [row["path"] for row in rows.modules] == ["", "enc", "dec"]
    assert rows.modules[0]["code_anchor"] == "model.py:Net.training_step:50" and "runs" not in rows.modules[0]
    bare = folded(net, call(enc), op("torch.cat", 4), call(dec))
    assert bare.modules[0]["runs"] is False and bare.modules[0]["order"] is None


def test_sixty_thousand_modules_fold_in_seconds():
    def expert():
        return module("Expert", up=linear(4, 8), gate=linear(4, 8), down=linear(8, 4))

    layers = [
        module("Layer", loop=BOUND, experts=listed("ModuleList", [expert() for _ in range(256)])) for _ in range(61)
    ]
    net = module("Net", layers=listed("ModuleList", layers))

    def first_layer(layer):
        experts = list(layer.children["experts"].children.values())
        first = call(experts[0], *[call(child) for child in experts[0].children.values()])
        others = [call(one, same_as=first) for one in experts[1:]]
        return call(layer, loop(40, *[[one, op("operator.add", 41)] for one in (first, *others)]))

    first = first_layer(layers[0])
    calls = [first, *(call(layer, same_as=first) for layer in layers[1:])]
    begin = time.perf_counter()
    rows = folded(net, call(net, loop(9, *[[one] for one in calls])))
    assert time.perf_counter() - begin < 8
    found = by_path(rows)
    assert found["layers.[0-60].experts.[0-255].down"]["multiplicity"] == 61 * 256
    assert len(rows.modules) < 15


def test_what_a_call_marked_the_same_does_is_read_for_its_own_module():
    left, right = (module("Side", blocks=listed("ModuleList", [linear(4, 4), linear(4, 4)])) for _ in range(2))
    net = module("Net", left=left, right=right)
    first = call(left, *[call(block) for block in left.children["blocks"].children.values()])
    rows = folded(net, call(net, first, op("torch.relu", 12), call(right, same_as=first)))
    found = by_path(rows)
    assert found["right.blocks.[0-1]"]["multiplicity"] == 2
    assert found["right.blocks.[0-1]"]["parent"] == found["right"]["id"]


def test_a_child_that_may_not_be_there_stands_under_its_condition():
    net = module("Net", fc=linear(4, 4))
    net.children["gate"] = Alternatives(
        (("config.gated", linear(4, 1)), ("not (config.gated)", None)), at(6, "Net.__init__")
    )
    found = by_path(folded(net, call(net, call(net.children["fc"]))))
    assert found["gate"]["when"] == {"expr": "config.gated", "code_anchor": "model.py:Net.__init__:6"}
    net.children["gate"] = Alternatives(
        (("config.gated", linear(4, 1)), ("not (config.gated)", linear(4, 2))), at(6, "Net.__init__")
    )
    assert "gate" not in by_path(folded(net, call(net, call(net.children["fc"]))))


def test_a_model_that_is_never_reached_claims_nothing():
    net = module("Net", fc=linear(4, 4))
    trace = Trace(JobNode(at(1, "<module>")), [net, net.children["fc"]], model_roots=[net])
    rows = fold(trace, [])
    assert [(row["path"], row["order"], "runs" in row) for row in rows.modules] == [
        ("", None, False),
        ("fc", None, False),
    ]
    assert rows.unresolved[0]["field"] == "order"


def test_what_is_not_known_is_listed_where_it_begins():
    net = module("Net", mystery=module("Mystery"))
    first = OpNode(
        at(20), text="x.nonzero()", qname="torch.Tensor.nonzero", inputs=[tensor(4, 4)], outputs=[tensor(None, 2)]
    )
    second = OpNode(at(21), text="y + 1", qname="operator.add", inputs=[tensor(None, 2)], outputs=[tensor(None, 2)])
    rows = folded(net, call(net, first, second, call(net.children["mystery"], line=22)))
    listed = {(item["field"], item["name"], item["reason"]) for item in rows.unresolved}
    assert listed == {("shapes.out", "x.nonzero()", "data"), ("children", "model.Mystery.forward", "unmodelled")}


def test_a_forward_that_was_not_read_to_its_end_claims_nothing_of_the_rest():
    net = module("Net", a=linear(4, 4), b=linear(4, 4))
    root = JobNode(at(1, "<module>"), children=[call(net, call(net.children["a"], x=tensor(1, 4)))])
    root.children[0].complete = False
    trace = Trace(root, [net, *net.children.values()], unknowns=[Unknown("forward: KeyError", "error", at(30))])
    rows = fold(trace, root.children)
    assert "runs" not in by_path(rows)["b"] and by_path(rows)["b"]["order"] is None
    assert any(item["reason"] == "error" for item in rows.unresolved)


def test_the_making_of_a_batch_is_no_computation_of_the_step():
    net = module("Net")
    net.device = "cuda"
    host, device = op("torch.stack", 3, 4, 4), op("torch.nn.functional.cross_entropy", 5)
    host.outputs[0].device = "cpu"
    device.outputs = [TensorValue((), "float32", "cuda")]
    rows = folded(net, host, call(net), device)
    assert [row["type"] for row in rows.modules] == ["model.Net", "torch.nn.functional.cross_entropy"]


def test_what_runs_only_now_and_then_stands_under_its_guard():
    net = module("Net")
    guard = branch("iter_num % log_interval == 0", 8, op("torch.Tensor.item", 9))
    guard.decided, guard.period = True, ("iter_num", 10)
    rows = folded(net, call(net), guard)
    assert rows.modules[-1]["when"]["expr"] == "iter_num % log_interval == 0"


def test_a_parameter_of_unknown_size_names_the_argument_it_comes_from():
    argument = Unknown("meta_vocab_size", "missing-file", at(6, "<module>"), settle=("--file", "meta.pkl"))
    net = module("Net", wte=module("Embedding", params={"weight": (None, 4)}, attrs={"num_embeddings": argument}))
    rows = folded(net, call(net, call(net.children["wte"])))
    item = next(item for item in rows.unresolved if item["field"] == "parameters")
    assert (item["name"], item["reason"]) == ("meta_vocab_size", "missing-file")
    assert item["settle_with"] == {"option": "--file", "name": "meta.pkl"}


def test_a_stand_in_of_ours_is_never_an_anchor():
    inner = linear(4, 4)
    inner.constructed_at = Anchor("cgx:polyfills/torch.py.txt", "Encoder.__init__", 3)
    encoder = module("Encoder", fc=inner, idle=module("Dropout"))
    encoder.children["idle"].constructed_at = inner.constructed_at
    net = module("Net", encoder=encoder)
    below = call(inner)
    below.anchor = below.called_from = Anchor("cgx:polyfills/torch.py.txt", "Encoder.forward", 9)
    rows = folded(net, call(net, call(encoder, below, line=20)))
    found = by_path(rows)
    assert found["encoder.fc"]["called_from"] == found["encoder.fc"]["code_anchor"] == "model.py:Net.forward:20"
    assert found["encoder.idle"]["code_anchor"] == "model.py:Net.__init__:1"
    assert "cgx:" not in str(rows.modules)


def test_a_size_that_is_not_known_does_not_keep_equal_members_apart():
    layers = [linear(4, 4), module("ReLU"), linear(4, 4), linear(4, 4)]
    net = module("Net", seq=listed("Sequential", layers))
    sizes = [tensor(2, 4), tensor(2, 4), tensor(None, 4), tensor(2, 4)]
    inner = [call(layer, x=size) for layer, size in zip(layers, sizes)]
    found = by_path(folded(net, call(net, call(net.children["seq"], *inner))))
    assert found["seq.[0,2,3]"]["repeat"]["count"] == 3
    assert found["seq.[0,2,3]"]["shapes"]["in"][0]["dims"] == [None, 4]


def test_a_part_that_runs_beside_its_models_own_call_stands_under_that_call():
    net = module("Net", fc=linear(4, 4), loss=module("MSELoss"))
    rows = folded(net, call(net, call(net.children["fc"], line=30), line=10), call(net.children["loss"], line=12))
    assert [row["level"] for row in rows.modules] == ["model", "layer", "layer"]
    loss = by_path(rows)["loss"]
    assert loss["parent"] == rows.modules[0]["id"] and loss.get("runs") is None and loss["order"] == 1


def test_a_call_that_is_the_same_as_one_outside_the_step_is_read_all_the_same():
    net = module("Net", fc=linear(4, 4), idle=linear(4, 2))
    before = call(net, call(net.children["fc"]))
    rows = folded(net, call(net, same_as=before))
    assert by_path(rows)["fc"]["order"] == 0 and "runs" not in by_path(rows)["fc"]
    assert by_path(rows)["idle"]["runs"] is False


def test_a_model_that_is_called_again_is_an_entry_again():
    net = module("Net", fc=linear(4, 4))
    fc = net.children["fc"]
    rows = folded(net, call(net, call(fc), line=40), op("torch.relu", 41), call(net, call(fc), line=42))
    assert [(row["level"], row["parent"]) for row in rows.modules] == [
        ("model", None), ("layer", "e1"), ("op", None), ("model", None), ("layer", "e4"),
    ]  # fmt: skip


def test_parts_that_run_beside_the_model_stand_under_it():
    net = module("Net", fc=linear(4, 4), loss=linear(4, 1))
    rows = folded(net, call(net, call(net.children["fc"])), call(net.children["loss"], line=43))
    assert [(row.get("path"), row["parent"]) for row in rows.modules] == [("", None), ("fc", "e1"), ("loss", "e1")]


def test_parts_that_were_reached_before_the_run_broke_off_claim_nothing_of_the_others():
    net = module("Net", a=linear(4, 4), b=linear(4, 4))
    root = JobNode(at(1, "<module>"), children=[call(net.children["a"], x=tensor(1, 4))])
    trace = Trace(root, [net, *net.children.values()], unknowns=[Unknown("the job: KeyError", "error", at(30, "main"))])
    assert "runs" not in by_path(fold(trace, root.children))["b"]
    trace.unknowns.clear()
    assert by_path(fold(trace, root.children))["b"]["runs"] is False


def test_a_call_that_shows_nothing_claims_nothing_of_its_modules():
    net = module("Net", wrapped=module("Wrapper", inner=linear(4, 4)))
    found = by_path(folded(net, call(net, call(net.children["wrapped"]))))
    assert "runs" not in found["wrapped.inner"]


def test_members_of_one_class_fold_over_turns_that_differ():
    first, second, third = (module("Res", conv=linear(n, 4)) for n in (8, 4, 4))
    nets = {
        "resnets": listed("ModuleList", [first, second, third]),
        "attentions": listed("ModuleList", [linear(4, 4) for _ in range(3)]),
    }
    net = module("Net", **nets)

    def turn(res, attention):
        return [op("torch.cat", 50), call(res, call(res.children["conv"])), call(attention)]

    pairs = zip((first, second, third), nets["attentions"].children.values())
    rows = folded(net, call(net, loop(9, *[turn(*pair) for pair in pairs], expr="zip(self.resnets, self.attentions)")))
    found = by_path(rows)
    assert found["attentions.[0-2]"]["repeat"]["count"] == 3 and found["resnets.[1-2]"]["repeat"]["count"] == 2
    assert sum(row["multiplicity"] for row in rows.modules if row["type"] == "torch.cat") == 3


def test_a_member_outside_the_loop_and_those_inside_are_one_fold():
    members = [linear(4, 4) for _ in range(3)]
    net = module("Net", resnets=listed("ModuleList", members))
    rows = folded(net, call(net, call(members[0], line=20), loop(21, *[[call(one, line=22)] for one in members[1:]])))
    entry = by_path(rows)["resnets.[0-2]"]
    assert entry["repeat"]["count"] == 3
    assert entry["called_from"] == ["model.py:Net.forward:20", "model.py:Net.forward:22"]


def test_modules_that_all_turns_share_run_again_beside_the_members():
    net = module("Net", layers=listed("ModuleList", [linear(4, 4) for _ in range(3)]), act=module("Act"))
    act = net.children["act"]
    members = list(net.children["layers"].children.values())
    found = by_path(folded(net, call(net, loop(9, *[[call(one), call(act, line=31)] for one in members]))))
    assert found["layers.[0-2]"]["repeat"]["by"] == "instances" and found["layers.[0-2]"]["repeat"]["count"] == 3
    assert found["act"]["repeat"]["by"] == "calls" and found["act"]["multiplicity"] == 3
    rows = folded(net, call(net, loop(9, *[[call(one), op("torch.add", 30), call(act, line=31)] for one in members])))
    levels = {row["id"]: row["level"] for row in rows.modules}
    assert levels[by_path(rows)["layers.[0-2]"]["parent"]] == "loop" and levels[by_path(rows)["act"]["parent"]] == "model"
    assert [row["multiplicity"] for row in rows.modules if row["type"] == "torch.add"] == [3]


def test_turns_of_a_short_loop_over_tensors_of_other_sizes_are_written_out():
    turns = {size: [op("torch.arange", 10, size)] for size in (4, 8)}
    net = module("Net")
    rows = folded(net, call(net, loop(9, turns[4], turns[8]), loop(19, turns[4], turns[4])))
    found = [(row["level"], row["multiplicity"], [one["dims"] for one in row["shapes"]["out"]]) for row in rows.modules if row["type"] == "torch.arange"]
    assert found == [("op", 1, [[4]]), ("op", 1, [[8]]), ("op", 2, [[4]])]


def test_units_are_read_alike_where_the_turns_of_some_differ_in_size():
    layers = blocks(2)
    net = module("Net", layers=listed("ModuleList", layers))
    turns = [[loop(19, *[[op("torch.arange", 20, size)] for size in sizes])] for sizes in ((4, 4), (4, 8))]
    rows = folded(net, call(net, loop(9, *[[call(layer, *turn)] for layer, turn in zip(layers, turns)])))
    found = [(row["multiplicity"], [one["dims"] for one in row["shapes"]["out"]]) for row in rows.modules if row["type"] == "torch.arange"]
    assert found == [(4, [[None]])]


def test_an_argument_that_some_units_get_none_for_is_no_input_of_the_fold():
    layers = blocks(2)
    net = module("Net", layers=listed("ModuleList", layers))
    first, second = (run(layer) for layer in layers)
    shared = [("x", tensor(2, 4)), ("tables", tensor(4)), ("tables", tensor(4))]
    first.inputs, second.inputs = [*shared, ("mask", tensor(4, 4))], shared
    block = by_path(folded(net, call(net, loop(9, [first], [second]))))["layers.[0-1]"]
    assert [(one["name"], one["dims"]) for one in block["shapes"]["in"]] == [("x", [2, 4]), ("tables", [4]), ("tables", [4])]


def test_what_a_call_that_only_hands_on_its_input_does_not_reach_never_runs():
    skipped, silent = (module("Block", fc=linear(4, 4)) for _ in range(2))
    net = module("Net", a=skipped, b=silent)
    found = by_path(folded(net, call(net, call(skipped, x=tensor(2, 4)), call(silent))))
    assert found["a.fc"]["runs"] is False and "runs" not in found["b.fc"]
