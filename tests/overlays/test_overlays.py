"""Handlers of the overlays, against a stand-in for the interpreter."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from overlay_fake import Interp, site

from cgx.indexer import overlays
from cgx.indexer.interpreter.trace import ScopeNode
from cgx.indexer.interpreter.values import (
    ByRank,
    ClassValue,
    DictValue,
    DType,
    FunctionValue,
    ListValue,
    ModuleInstance,
    Opaque,
    Sequence,
    TensorValue,
)
from cgx.indexer.overlays import OVERLAYS, moving_average
from cgx.indexer.overlays.groups import purpose
from cgx.indexer.overlays.transfer import blocks, copy, sync

CUDA, HOST = "cuda", "cpu"


def module(**tensors: TensorValue) -> ModuleInstance:
    cls = ClassValue("Net", "job.Net", "Net", "job.py", None, [], [], {})
    return ModuleInstance(cls, parameters=dict(tensors))


def test_every_table_is_listed() -> None:
    folder = Path(overlays.__file__).parent
    holders = {path.stem for path in folder.glob("*.py") if "\nENTRIES" in path.read_text()}
    assert holders == {table.__name__.rpartition(".")[2] for table in OVERLAYS}


def test_optimizer_says_what_torch_picks() -> None:
    interp = Interp()
    params = ListValue([TensorValue((2, 2), "float32", CUDA, parameter=True)])
    interp.run("torch.optim.AdamW", "torch.optim.AdamW(p, lr=1e-3, fused=True)", params, lr=1e-3, fused=True)
    interp.run("torch.optim.SGD", "torch.optim.SGD(p, 0.1)", params, 0.1)
    first, second = interp.events("compute")
    assert first.data["value"] == "torch.optim.AdamW(fused)"
    assert (second.data["value"], second.data["implementation"]) == ("torch.optim.SGD", "foreach")


def test_parameter_groups_are_kept() -> None:
    interp = Interp()
    groups = ListValue(
        [DictValue({"params": ListValue([TensorValue()]), "lr": 1.0}), DictValue({"params": ListValue([])})]
    )
    optimizer = interp.run("torch.optim.SGD", "SGD(g, 0.1)", groups, 0.1)
    held = optimizer.attrs["param_groups"].items
    assert [group.items["lr"] for group in held] == [1.0, 0.1]


@pytest.mark.parametrize(("enabled", "fused", "syncs"), [(True, False, 1), (False, False, 0), (True, True, 0)])
def test_scaler_reads_found_inf_only_where_enabled_and_not_fused(enabled: bool, fused: bool, syncs: int) -> None:
    interp = Interp()
    scaler = interp.run("torch.cuda.amp.GradScaler", "GradScaler(enabled=e)", enabled=enabled)
    optimizer = interp.run("torch.optim.AdamW", "AdamW(p)", ListValue([TensorValue(device=CUDA)]), fused=fused)
    interp.send(scaler, "step", "scaler.step(optimizer)", optimizer)
    assert len(interp.events("sync")) == syncs
    assert any(event.data["key"] == "optimizer_step" for event in interp.events("compute"))


def test_disabled_scaler_is_the_identity() -> None:
    interp = Interp()
    scaler = interp.run("torch.amp.GradScaler", "GradScaler('cuda', enabled=False)", "cuda", enabled=False)
    loss = TensorValue((), "float32", CUDA)
    assert interp.send(scaler, "scale", "scaler.scale(loss)", loss) is loss


@pytest.mark.parametrize(
    ("direction", "pinned", "non_blocking", "waits"),
    [("H2D", True, True, False), ("H2D", True, False, True), ("H2D", False, True, True), ("H2D", None, True, None),
     ("D2H", None, False, True), ("D2H", None, True, False), ("H2D", True, None, None)],
)  # fmt: skip
def test_when_a_copy_blocks_the_host(
    direction: str, pinned: bool | None, non_blocking: bool | None, waits: bool | None
) -> None:
    assert blocks(direction, pinned, non_blocking) is waits


def test_pin_then_copy() -> None:
    interp = Interp()
    host = TensorValue((12, 1024), "int64", HOST, pinned=False)
    pinned = interp.run("torch.Tensor.pin_memory", "x.pin_memory()", host)
    moved = interp.run(
        "torch.Tensor.to", "x.pin_memory().to(device, non_blocking=True)", pinned, "cuda:0", non_blocking=True
    )
    (event,) = interp.events("copy")
    assert event.data["direction"] == "H2D" and event.data["source"] == "pinned" and event.data["blocks_host"] is False
    assert event.data["bytes"] == 12 * 1024 * 8 and moved.device == CUDA
    assert interp.events("data")[0].data["hop"] == "pin"


def test_no_copy_on_the_same_side_or_unknown() -> None:
    interp = Interp()
    copy(interp, TensorValue(device=CUDA), "cuda:1", False, site("x.to(d)"))
    copy(interp, TensorValue(device=None), "cuda", False, site("x.to(d)"))
    copy(interp, TensorValue(device=HOST), None, False, site("x.to(d)"))
    interp.run("torch.Tensor.to", "x.to(torch.float16)", TensorValue((1,), "float32", CUDA), DType("float16"))
    assert not interp.events("copy")


def test_sync_only_for_device_tensors() -> None:
    interp = Interp()
    sync(interp, "item", TensorValue((), "float32", HOST), site("loss.item()"))
    sync(interp, "item", TensorValue((), "float64", CUDA, library="numpy"), site("a.item()"))
    sync(interp, "item", TensorValue((), "float32", CUDA), site("loss.item()"))
    assert [event.data["sync"] for event in interp.events("sync")] == ["item"]


def test_module_without_tensors_copies_nothing() -> None:
    interp = Interp()
    interp.run("torch.nn.Module.to", "criterion.to(device)", module(), "cuda")
    assert not interp.events("copy")
    net = module(weight=TensorValue((2, 3), "float32", HOST))
    interp.run("torch.nn.Module.to", "net.to(device)", net, "cuda")
    interp.run("torch.nn.Module.to", "net.to(device)", net, "cuda")
    (event,) = interp.events("copy")
    assert event.data["what"] == "net" and event.data["bytes"] == 24 and net.parameters["weight"].device == CUDA


def test_tensor_of_device_scalars() -> None:
    interp = Interp()
    data = ListValue([TensorValue((), "float32", CUDA), 3])
    interp.run("torch.tensor", "torch.tensor([self.sum, self.count], device=device)", data, device="cuda")
    assert [event.data["sync"] for event in interp.events("sync")] == ["conversion"]
    assert interp.events("copy")[0].data["source"] == "pageable"


def test_ddp_constructor_and_switch() -> None:
    interp = Interp(8)
    net = module(weight=TensorValue((2, 3), "float32", CUDA))
    proxy = interp.run("torch.nn.parallel.DistributedDataParallel", "DDP(model, device_ids=[0])", net)
    assert [event.data["collective"] for event in interp.events("collective")] == ["all_gather", "broadcast"]
    (wrap,) = interp.events("wrap")
    assert wrap.data["broadcast_buffers"] is False and proxy.attrs["module"] is net
    interp.send(
        proxy,
        "__setattr__",
        "model.require_backward_grad_sync = (micro == steps - 1)",
        "require_backward_grad_sync",
        Opaque("x"),
    )
    assert interp.events("compute")[0].data["guard"] == "micro == steps - 1"


def test_async_collective_is_waited_for() -> None:
    interp = Interp(2)
    work = interp.run(
        "torch.distributed.all_reduce",
        "dist.all_reduce(t, async_op=True)",
        TensorValue((4,), "float32", CUDA),
        async_op=True,
    )
    interp.send(work, "wait", "work.wait()", line=9)
    (event,) = interp.events("collective")
    assert event.data["async_op"] is True and event.data["waited_at"].line == 9 and event.data["bytes"] == 16


def test_group_tells_parallelism() -> None:
    interp = Interp(8)
    mesh = interp.run("torch.distributed.device_mesh.init_device_mesh", "init_device_mesh('cuda', (2, 4), mesh_dim_names=('dp', 'tp'))",
                      "cuda", (2, 4), mesh_dim_names=("dp", "tp"))  # fmt: skip
    part = interp.send(mesh, "__getitem__", "mesh['tp']", "tp")
    group = interp.send(part, "get_group", "tp_mesh.get_group()")
    interp.run("torch.distributed.all_reduce", "dist.all_reduce(x, group=g)", TensorValue(), group=group)
    assert interp.events("collective")[0].data["parallelism"] == "tensor"
    assert part.attrs["shape"] == (4,)


@pytest.mark.parametrize(
    ("name", "known"),
    [("get_tensor_model_parallel_group()", "tensor"), ("dp_shard", "data"), ("self.device_group", None), ("pp_group", "pipeline"),
     ("ep", "expert"), ("cp", "sequence"), ("group", None)],
)  # fmt: skip
def test_purpose_of_names(name: str, known: str | None) -> None:
    assert purpose(name) == known


def test_scope_sets_and_restores_flags() -> None:
    interp = Interp()
    ctx = interp.run(
        "torch.amp.autocast", "autocast('cuda', dtype=torch.bfloat16)", device_type="cuda", dtype=DType("bfloat16")
    )
    interp.send(ctx, "__enter__", "ctx")
    assert interp.flags["autocast"] == "bfloat16" and isinstance(interp.stack[-1], ScopeNode)
    interp.send(ctx, "__exit__", "ctx")
    assert interp.flags["autocast"] is None and interp.stack == [interp.root]


def test_loader_batches_and_hops() -> None:
    interp = Interp(8)
    data = interp.run(
        "torch.utils.data.TensorDataset", "TensorDataset(x)", TensorValue((100, 3), "float32", HOST), line=3
    )
    sampler = interp.run("torch.utils.data.distributed.DistributedSampler", "DistributedSampler(d)", data, line=4)
    loader = interp.run("torch.utils.data.DataLoader", "DataLoader(d, batch_size=4)", data, batch_size=4, sampler=sampler, num_workers=2,
                        pin_memory=True, line=5)  # fmt: skip
    batches = interp.send(loader, "__iter__", "loader", line=7)
    assert isinstance(batches, Sequence) and batches.length == 4  # 13 samples for each rank
    assert batches.element.items[0].shape == (4, 3) and batches.element.items[0].pinned is True
    rows = interp.events("fetch")[0].data["hops"]
    assert [(row["hop"], row["workers"], row["anchor"].line) for row in rows] == [
        ("sample", 0, 4), ("read", 2, 3), ("collate", 2, 5), ("worker queue", 2, 5), ("prefetch", 2, 5), ("pin", 1, 5)]  # fmt: skip
    assert all(row["blocks_step"] is False for row in rows)


def test_loader_in_the_main_process_blocks() -> None:
    interp = Interp()
    data = interp.run("torch.utils.data.TensorDataset", "TensorDataset(x)", TensorValue((10, 3), "float32", HOST))
    loader = interp.run("torch.utils.data.DataLoader", "DataLoader(d)", data, batch_size=4, drop_last=True)
    batches = interp.send(loader, "__iter__", "loader")
    rows = interp.events("fetch")[0].data["hops"]
    assert [row["hop"] for row in rows] == ["sample", "read", "collate"] and all(row["blocks_step"] for row in rows)
    assert batches.length == 2


def test_image_folder_with_transforms() -> None:
    interp = Interp()
    interp.call = lambda func, args, kwargs, at: interp.method(func.qname, "__call__")(
        interp, at, [func, *args], kwargs
    )  # type: ignore[method-assign]
    crop = interp.run("torchvision.transforms.RandomResizedCrop", "RandomResizedCrop(224)", 224)
    chain = interp.run("torchvision.transforms.Compose", "Compose([...])",
                       ListValue([crop, interp.run("torchvision.transforms.ToTensor", "ToTensor()")]), line=8)  # fmt: skip
    data = interp.run("torchvision.datasets.ImageFolder", "ImageFolder(root, t)", "/data", chain, line=6)
    loader = interp.run("torch.utils.data.DataLoader", "DataLoader(d)", data, batch_size=32)
    batches = interp.send(loader, "__iter__", "loader")
    assert batches.element.items[0].shape == (32, 3, 224, 224) and batches.element.items[1].dtype == "int64"
    assert [row["hop"] for row in interp.events("fetch")[0].data["hops"]] == [
        "sample",
        "read",
        "decode",
        "transform",
        "collate",
    ]


def test_spawn_makes_ranks() -> None:
    interp = Interp()
    seen: list[object] = []
    interp.run(
        "torch.multiprocessing.spawn",
        "mp.spawn(worker, nprocs=8, args=(1,))",
        lambda *args: seen.extend(args),
        nprocs=8,
        args=(1,),
    )
    assert isinstance(seen[0], ByRank) and len(seen[0].values) == 8 and seen[1] == 1 and interp.world.size == 8


def test_save_copies_device_tensors() -> None:
    interp = Interp()
    state = DictValue({"model": DictValue({"w": TensorValue((2,), "float32", CUDA)}), "epoch": 1})
    interp.run("torch.save", "torch.save(state, path)", state, "x.pt")
    interp.run("torch.save", "torch.save({}, path)", DictValue({"epoch": 1}), "x.pt")
    assert [event.data["what"] for event in interp.events("copy")] == ["state"]
    assert len(interp.events("checkpoint")) == 2


def test_row_wise_layer_reduces_its_output() -> None:
    interp = Interp(8)
    root = module()
    root.children["out"] = module(weight=TensorValue((4, 4), "float32", CUDA))
    plan = DictValue({"out": interp.run("torch.distributed.tensor.parallel.RowwiseParallel", "RowwiseParallel()")})
    interp.run(
        "torch.distributed.tensor.parallel.parallelize_module", "parallelize_module(m, mesh, plan)", root, None, plan
    )
    assert interp.events("wrap")[0].data["sends"] == (("forward", "all_reduce", ""),)


@pytest.mark.parametrize(
    ("name", "moves"),
    [("update_ema", True), ("ema_update", True), ("update_moving_average", True), ("step_ema", True), ("get_ema", False), ("schema_update", False), ("update", False)],
)
def test_functions_named_for_a_moving_average(name: str, moves: bool) -> None:
    func = FunctionValue(ast.parse("lambda: 0").body[0].value, name, f"train.{name}", name, "train.py", None, None)  # type: ignore[arg-type,attr-defined]
    assert moving_average.updates(func) is moves
