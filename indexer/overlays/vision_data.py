"""torchvision data sets and transforms: sizes, decoding, and the shape that a chain of transforms leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cgx.indexer.interpreter.recorder import made_at
from cgx.indexer.interpreter.stdlib.files import WORKER
from cgx.indexer.interpreter.trace import CallNode
from cgx.indexer.interpreter.values import Opaque, TensorValue, Value
from cgx.indexer.overlays.arguments import bind, flag, items_of

AUTHOR = "overlays.vision_data"
_T = "torchvision.transforms"
PACKAGES = (
    "torchvision.datasets",
    "torchvision.transforms",
    "torchvision.io",
)  # reading them finds only files that are not there
DATASET = "torch.utils.data.Dataset"


@dataclass(frozen=True)
class DatasetRow:
    """``channels``, ``size``: of its images where fixed; ``train``, ``test``: number of samples; ``decoded``: files are decoded."""

    name: str
    signature: str
    channels: int | None = None
    size: int | None = None
    train: int | None = None
    test: int | None = None
    decoded: bool = False
    module: str = ""


_MNIST = "root train transform target_transform download"
ROWS: tuple[DatasetRow, ...] = (
    DatasetRow("MNIST", _MNIST, 1, 28, 60000, 10000, module="mnist"),
    DatasetRow("FashionMNIST", _MNIST, 1, 28, 60000, 10000, module="mnist"),
    DatasetRow("KMNIST", _MNIST, 1, 28, 60000, 10000, module="mnist"),
    DatasetRow("CIFAR10", _MNIST, 3, 32, 50000, 10000, module="cifar"),
    DatasetRow("CIFAR100", _MNIST, 3, 32, 50000, 10000, module="cifar"),
    DatasetRow("ImageFolder", "root transform target_transform loader is_valid_file", 3, decoded=True, module="folder"),
    DatasetRow("DatasetFolder", "root loader extensions transform target_transform", 3, decoded=True, module="folder"),
    DatasetRow("ImageNet", "root split", 3, decoded=True, module="imagenet"),
    DatasetRow("SVHN", "root split transform target_transform download", 3, 32, module="svhn"),
    DatasetRow("STL10", "root split folds transform target_transform download", 3, 96, module="stl10"),
    DatasetRow(
        "CelebA", "root split target_type transform target_transform download", 3, decoded=True, module="celeba"
    ),
    DatasetRow("LSUN", "root classes transform target_transform", 3, decoded=True, module="lsun"),
    DatasetRow("Food101", "root split transform target_transform download", 3, decoded=True, module="food101"),
    DatasetRow("CocoDetection", "root annFile transform target_transform transforms", 3, decoded=True, module="coco"),
    DatasetRow(
        "VOCDetection",
        "root year image_set download transform target_transform transforms",
        3,
        decoded=True,
        module="voc",
    ),
    DatasetRow(
        "OxfordIIITPet",
        "root split target_types transforms transform target_transform download",
        3,
        decoded=True,
        module="oxford_iiit_pet",
    ),
)


def image(channels: int | None, height: int | None, width: int | None) -> TensorValue:
    """A decoded image before ``ToTensor``: its size, as (channels, height, width)."""
    return TensorValue((channels, height, width), "uint8", "cpu", library="pil")


def dataset(row: DatasetRow) -> Any:
    def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        bound = bind(row.signature, args, kwargs)
        train = flag(bound.get("train"), True)
        count = row.train if train else row.test
        qname = f"torchvision.datasets.{row.name}"
        hops = [{"hop": "read", "by": qname}]
        if row.decoded:
            hops.append({"hop": "decode", "by": "torchvision default_loader (PIL)"})
        transform = bound.get("transform")

        def element(interp: Any, site: Any) -> Value:
            whole = image(row.channels, row.size, row.size)
            done = interp.call(transform, [whole], {}, site) if transform is not None else whole
            return (done, interp.unknown("target", "data", site, hint="int"))

        return Opaque(
            qname,
            {**bound, **held(row, count), "cgx.length": count, "cgx.element": element, "cgx.hops": hops, "cgx.base": DATASET},
            made_at(interp, site),
        )

    return construct


def held(row: DatasetRow, count: int | None) -> dict[str, Value]:
    """What the small data sets hold as a whole: ``data`` and ``targets``."""
    if count is None or row.module not in ("mnist", "cifar"):
        return {}
    if row.module == "mnist":
        return {"data": TensorValue((count, row.size, row.size), "uint8", "cpu", pinned=False), "targets": TensorValue((count,), "int64", "cpu", pinned=False)}
    return {"data": TensorValue((count, row.size, row.size, 3), "uint8", "cpu", library="numpy")}


def fake_data(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``FakeData``: random images made on the host."""
    bound = bind("size image_size num_classes transform target_transform random_offset", args, kwargs)
    shape = items_of(bound.get("image_size")) or [3, 224, 224]
    transform = bound.get("transform")

    def element(interp: Any, site: Any) -> Value:
        whole = image(*shape) if len(shape) == 3 else image(None, None, None)
        done = interp.call(transform, [whole], {}, site) if transform is not None else whole
        return (done, interp.unknown("target", "data", site, hint="int"))

    size = bound.get("size", 1000)
    hops = [{"hop": "read", "by": "torchvision.datasets.FakeData"}]
    return Opaque(
        "torchvision.datasets.FakeData",
        {**bound, "cgx.length": size, "cgx.element": element, "cgx.hops": hops},
        made_at(interp, site),
    )


def pair(value: Value) -> tuple[int | None, int | None]:
    if isinstance(value, int):
        return value, value
    listed = items_of(value) or []
    known = [one if isinstance(one, int) else None for one in listed]
    return (known[0], known[0]) if len(known) == 1 else (known[0], known[1]) if len(known) == 2 else (None, None)


def transform(name: str, signature: str = "size") -> Any:
    def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return Opaque(f"{_T}.{name}", dict(bind(signature, args, kwargs)), made_at(interp, site))

    return construct


def apply(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """One transform on one image or tensor: shape and kind. What a data set calls itself is a hop of its samples."""
    chosen, value = args[0], args[1] if len(args) > 1 else None
    scopes = [place for place, node in enumerate(interp.stack) if getattr(node, "qname", "") == WORKER]
    if scopes and any(isinstance(node, CallNode) for node in interp.stack[scopes[-1] :]):
        interp.event("data", site, author=AUTHOR, hop="transform", by=chosen.qname)
    return applied(interp, site, chosen, value)


def applied(interp: Any, site: Any, chosen: Opaque, value: Value) -> Value:
    if chosen.qname == f"{_T}.Compose":
        for one in items_of(chosen.attrs.get("transforms")) or []:
            own = isinstance(one, Opaque) and one.qname.startswith(_T)
            value = applied(interp, site, one, value) if own else interp.call(one, [value], {}, site)
        return value
    if chosen.qname == f"{_T}.Lambda":
        return interp.call(chosen.attrs.get("lambd"), [value], {}, site)
    if not isinstance(value, TensorValue):
        if chosen.qname.rpartition(".")[2] in ("ToTensor", "ToImage", "PILToTensor"):
            value = image(None, None, None)  # an image that the job's own code made: rank and place are known
        else:
            return value
    return reshaped(chosen, value)


def reshaped(chosen: Opaque, value: TensorValue) -> TensorValue:
    name = chosen.qname.rpartition(".")[2]
    shape = value.shape
    if name in ("ToTensor", "ToImage", "PILToTensor"):
        return TensorValue(shape, "float32" if name == "ToTensor" else "uint8", "cpu", pinned=False)
    if name in ("ToDtype", "ConvertImageDtype"):
        return TensorValue(shape, "float32", "cpu", pinned=False, library=value.library)
    if name in SIZED and shape is not None and len(shape) == 3:
        height, width = pair(chosen.attrs.get("size"))
        if name == "Resize" and isinstance(chosen.attrs.get("size"), int) and shape[1] != shape[2]:
            height = width = None  # only the shorter side is fixed
        if name == "Resize" and isinstance(chosen.attrs.get("size"), int) and shape[1] is None:
            height = width = None
        return TensorValue((shape[0], height, width), value.dtype, "cpu", library=value.library, pinned=False)
    if name == "Grayscale" and shape is not None and len(shape) == 3:
        return TensorValue((1, *shape[1:]), value.dtype, "cpu", library=value.library, pinned=False)
    return value


SIZED = frozenset({"Resize", "CenterCrop", "RandomCrop", "RandomResizedCrop"})
TRANSFORMS: dict[str, str] = {
    "Compose": "transforms", "ToTensor": "", "PILToTensor": "", "ToImage": "", "ToDtype": "dtype", "ConvertImageDtype": "dtype",
    "Normalize": "mean std inplace", "Resize": "size interpolation max_size antialias", "CenterCrop": "size",
    "RandomCrop": "size padding", "RandomResizedCrop": "size scale ratio interpolation", "RandomHorizontalFlip": "p",
    "RandomVerticalFlip": "p", "RandomRotation": "degrees", "ColorJitter": "brightness contrast saturation hue",
    "RandomErasing": "p", "Grayscale": "num_output_channels", "RandomGrayscale": "p", "Lambda": "lambd", "AutoAugment": "policy",
    "RandAugment": "num_ops magnitude", "TrivialAugmentWide": "", "GaussianBlur": "kernel_size sigma", "RandomApply": "transforms p",
    "RandomAffine": "degrees translate scale shear", "Pad": "padding",
}  # fmt: skip

ENTRIES: dict[str, Any] = {}
BASES: dict[str, tuple[str, ...]] = {}
for _row in ROWS:
    for _qname in (f"torchvision.datasets.{_row.name}", f"torchvision.datasets.{_row.module}.{_row.name}"):
        ENTRIES[_qname] = dataset(_row)
    BASES[f"torchvision.datasets.{_row.name}"] = (DATASET,)
ENTRIES["torchvision.datasets.FakeData"] = ENTRIES["torchvision.datasets.fakedata.FakeData"] = fake_data
BASES["torchvision.datasets.FakeData"] = (DATASET,)
for _name, _signature in TRANSFORMS.items():
    for _prefix in (_T, f"{_T}.transforms", f"{_T}.v2", f"{_T}.autoaugment"):
        ENTRIES[f"{_prefix}.{_name}"] = transform(_name, _signature)
    ENTRIES[f"{_T}.{_name}.__call__"] = apply

NAMES = ("torchvision.extension._assert_has_ops", "torchvision.extension._has_ops")
"""Of these the table says the last word: the compiled ops are there in a job, though no source of them can be read."""
ENTRIES["torchvision.extension._assert_has_ops"] = lambda interp, site, args, kwargs: None
ENTRIES["torchvision.extension._has_ops"] = lambda interp, site, args, kwargs: True
