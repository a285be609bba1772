"""Process groups that are cut from an array of ranks, and configurations that dacite makes of plain data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from interpreted import NET, job, reasons, record

from cgx.indexer.overlays.groups import purpose

GROUPS = NET + """
import os
import torch.distributed as dist
dist.init_process_group('nccl')
class Context:
    def __init__(self):
        self.made = {}
        ranks = np.arange(0, 8).reshape((1, 4, 2))
        self.tp_pg = self.group(ranks.reshape((-1, 2)))
        self.dp_pg = self.group(ranks.transpose((0, 2, 1)).reshape((-1, 4)))
    def group(self, cut):
        mine = None
        for ranks in cut:
            key = tuple(sorted(ranks))
            if key not in self.made:
                self.made[key] = dist.new_group(ranks=ranks)
            if int(os.environ['RANK']) in key:
                mine = self.made[key]
        return mine
parallel_context = Context()
seen = [None] * 8
dist.all_gather_object(seen, dist.get_rank())
model = nn.Linear(parallel_context.dp_pg.size(), parallel_context.tp_pg.size() + len([one for one in seen if one > 5])).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(9):
    loss = model(torch.zeros(2, 4, device='cuda')).sum()
    loss.backward()
    dist.all_reduce(loss, group=parallel_context.dp_pg)
    if dist.get_rank(parallel_context.tp_pg) == 0:
        print(loss.item())
    optimizer.step()
"""


def test_groups_cut_from_an_array_of_ranks(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": GROUPS}, "torchrun --nproc-per-node 8 main.py")
    found: dict[str, Any] = record(trace)
    assert [row["parallelism"] for row in found["device_device"] if row["collective"] == "all_reduce"] == ["data"]
    assert [row["ranks"] for row in found["host_device"]["syncs"] if row["kind"] == "item"] == ["dist.get_rank(parallel_context.tp_pg) == 0"]
    assert trace.model_roots[0].parameters["weight"].shape == (4, 4)


def test_the_last_name_of_a_group_tells_what_it_is_for() -> None:
    assert purpose("self.parallel_context.tp_pg") == "tensor"
    assert purpose("parallel_context.dp_cp_pg") == "data"
    assert purpose("mpu.get_context_parallel_group()") == "sequence"
    assert purpose("parallel_state.get_data_parallel_group(with_context_parallel=True)") == "data"


DACITE = """
import enum, torch, dacite
import torch.nn as nn
from dataclasses import dataclass
from pathlib import Path
from typing import Any, List, Optional, Union
class Mode(enum.Enum):
    SUM = 'sum'
    MEAN = 'mean'
@dataclass
class Wide:
    width: int = 3
    is_wide: bool = True
@dataclass
class Deep:
    depth: int = 2
    width: int = 3
Kinds = Union[Wide, Deep, Any]
@dataclass
class Settings:
    model: Kinds
    mode: Mode
    out: Path
    dtype: Optional[torch.dtype] = None
    more: Optional[List[Deep]] = None
    def __post_init__(self):
        self.rows = len(self.more)
settings = dacite.from_dict(
    data_class=Settings,
    data={'model': {'depth': 1, 'width': 5}, 'mode': 'mean', 'out': 'x/y', 'dtype': 'bfloat16', 'more': [{'width': 7}, {'width': 9}]},
    config=dacite.Config(cast=[Path], type_hooks={torch.dtype: lambda name: getattr(torch, name), Mode: lambda name: Mode[name.upper()]}, strict=True),
)
assert settings.mode is Mode.MEAN and settings.out.parent.name == 'x' and isinstance(settings.model, Deep)
model = nn.Linear(settings.model.width, settings.more[1].width + settings.rows, dtype=settings.dtype).cuda()
for step in range(9):
    model(torch.zeros(2, 5, dtype=settings.dtype, device='cuda')).sum().backward()
"""


def test_dacite_makes_records_of_plain_data(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": DACITE})
    weight = trace.model_roots[0].parameters["weight"]
    assert (weight.shape, weight.dtype) == ((11, 5), "bfloat16")
    assert not trace.unknowns


RENAMED = """
import torch, dacite
import torch.nn as nn
from dataclasses import dataclass
from typing import Tuple
@dataclass
class Part:
    layer_width: int
@dataclass
class Settings:
    main_part: Part
    sizes: Tuple[int, ...]
def camel(name):
    head, *rest = name.split('_')
    return head + ''.join(one.capitalize() for one in rest)
settings = dacite.from_dict(Settings, {'mainPart': 5, 'sizes': [2, 3]}, dacite.Config(type_hooks={Part: lambda width: {'layerWidth': width}}, cast=[tuple], convert_key=camel))
nn.Linear(settings.main_part.layer_width, sum(settings.sizes + (1,)))(torch.zeros(1, 5))
"""


def test_what_a_hook_of_dacite_gives_is_read_on_and_keys_and_lists_are_converted(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": RENAMED})
    assert trace.model_roots[0].parameters["weight"].shape == (6, 5) and not trace.unknowns


REGISTERED = """
import dataclasses, enum, sys, torch
import torch.nn as nn
from dataclasses import dataclass, field
from typing import Dict, List, Optional
from dataclass_extensions import Registrable, decode
from torch.distributed.checkpoint.stateful import Stateful
class Name(str, enum.Enum):
    WIDE = 'wide'
@dataclass
class Hook(Stateful):
    every: int = 1
@dataclass
class Layer(Registrable):
    width: int = 3
@Layer.register('deep')
@dataclass
class Deep(Layer):
    depth: int = 1
    name: Optional[str] = None
@dataclass
class Settings:
    layer: Layer
    mode: Name
    rate: float = 1e-3
    hooks: Dict[str, Hook] = field(default_factory=dict)
    rows: Optional[List[int]] = None
    def plain(self):
        def to(d):
            if dataclasses.is_dataclass(d):
                return {f.name: to(getattr(d, f.name)) for f in dataclasses.fields(d)}
            if isinstance(d, dict):
                return {k: to(v) for k, v in d.items()}
            if isinstance(d, (list, tuple)):
                return d.__class__((to(x) for x in d))
            return d
        return to(self)
first = Settings(layer=Deep(depth=2, name=Name.WIDE), mode=Name.WIDE, hooks={'a': Hook(every=5)}, rows=[4, 5])
data = first.plain()
assert 'type' not in data['layer'] and getattr(Hook, 'IGNORED', None) is None
data['layer']['type'] = 'deep'
data['rate'] = '6e-3'
settings = decode(Settings, data)
assert isinstance(settings.layer, Deep) and settings.layer.get_registered_name() == 'deep' and settings.mode is Name.WIDE
assert settings.hooks['a'].every == 5 and settings.rate == 0.006
model = nn.Linear(settings.rows[1], settings.layer.width + settings.layer.depth).cuda()
for step in range(9):
    model(torch.zeros(2, 5, device='cuda')).sum().backward()
"""


def test_dataclass_extensions_makes_registered_records(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": REGISTERED})
    assert trace.model_roots[0].parameters["weight"].shape == (5, 5)
    assert not trace.unknowns


NAMED_MESH = NET + """
import enum
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel
class Dim(str, enum.Enum):
    dp = 'dp'
    tp = 'tp'
dist.init_process_group('cpu:gloo,cuda:nccl')
assert 'gloo' in dist.get_backend()
mesh = init_device_mesh('cuda', (4, 2), mesh_dim_names=(Dim.dp, Dim.tp))
part = mesh[tuple(name for name in mesh.mesh_dim_names if name.startswith('dp'))]
assert len(part.shape) == 1 and part.size() == 4 and mesh[Dim.tp].size() == 2
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(9):
    loss = model(torch.randn(8, 4).cuda()).sum()
    loss.backward()
    dist.all_reduce(loss, group=mesh.get_group(Dim.tp))
    optimizer.step()
"""


def test_dims_of_a_mesh_may_be_members_of_a_string_enum(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": NAMED_MESH}, "torchrun --nproc-per-node 8 main.py")
    assert not trace.unknowns
    [row] = record(trace)["device_device"]
    assert row["parallelism"] == "tensor"


def test_a_ranks_place_in_the_group_that_holds_it(tmp_path: Path) -> None:
    """``ranks.index(rank)`` is asked where the rank is one of them: of no rank that is in another group."""
    text = """
import torch, torch.distributed as dist
dist.init_process_group("nccl")
rank = dist.get_rank()
for ranks in [[0, 1], [2, 3], [4, 5], [6, 7]]:
    group = dist.new_group(ranks)
    if rank in ranks:
        place, mine = ranks.index(rank), group
dist.all_reduce(torch.zeros(4, device="cuda"), group=mine)
"""
    assert "error" not in reasons(job(tmp_path, {"main.py": text}, "torchrun --nproc_per_node 8 main.py")).values()
