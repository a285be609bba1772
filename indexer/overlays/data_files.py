"""Calls that read data from files: pictures, sound, tables. What they give is not modelled; that they read and decode is."""

from __future__ import annotations

import re
from typing import Any

from cgx.indexer.interpreter.stdlib.files import TEXT_FILE
from cgx.indexer.interpreter.values import Opaque, Value

AUTHOR = "overlays.data_files"
READ, DECODE = ("read",), ("read", "decode")
CALLS: dict[str, tuple[str, ...]] = {
    "PIL.Image.open": DECODE, "cv2.imread": DECODE, "cv2.VideoCapture": READ,
    "torchvision.io.read_image": DECODE, "torchvision.io.read_video": DECODE, "torchvision.io.read_file": READ,
    "torchvision.io.image.read_image": DECODE, "torchvision.io.decode_image": ("decode",), "torchvision.io.decode_jpeg": ("decode",),
    "torchvision.datasets.folder.default_loader": DECODE, "torchvision.datasets.folder.pil_loader": DECODE,
    "imageio.imread": DECODE, "imageio.v2.imread": DECODE, "imageio.v3.imread": DECODE, "skimage.io.imread": DECODE,
    "tifffile.imread": DECODE, "rasterio.open": READ, "nibabel.load": READ, "pydicom.dcmread": DECODE,
    "torchaudio.load": DECODE, "soundfile.read": DECODE, "librosa.load": DECODE, "scipy.io.wavfile.read": DECODE,
    "decord.VideoReader": READ, "av.open": READ,
    "scipy.io.loadmat": READ, "h5py.File": READ, "zarr.open": READ, "lmdb.open": READ,
    "pandas.read_csv": READ, "pandas.read_parquet": READ, "pandas.read_json": READ, "pandas.read_pickle": READ, "pandas.read_hdf": READ,
    "pyarrow.parquet.read_table": READ, "pyarrow.parquet.ParquetFile": READ, "polars.read_csv": READ, "polars.read_parquet": READ,
}  # fmt: skip
DATA_WORDS = re.compile(r"data|train|valid|test|corpus|sample|token", re.IGNORECASE)
MODEL_WORDS = re.compile(r"model|ckpt|checkpoint|weight|state|resume|pretrain|optim|\bnet", re.IGNORECASE)


def read(qname: str, hops: tuple[str, ...]) -> Any:
    def note(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        in_memory = bool(args) and isinstance(args[0], Opaque) and args[0].qname == TEXT_FILE and not args[0].attrs.get("name")
        for hop in hops:
            if not (in_memory and hop == "read"):  # bytes that were read before
                hop_event(interp, site, hop, qname)
        return NotImplemented

    return note


def hop_event(interp: Any, site: Any, hop: str, by: str) -> None:
    interp.event("data", site, author=AUTHOR, hop=hop, by=by, workers=0, asynchronous=False, blocks_step=True)


def loaded_data(interp: Any, site: Any, text: str) -> None:
    """``torch.load`` of a file that by its name holds data, no model."""
    if DATA_WORDS.search(text) and not MODEL_WORDS.search(text):
        hop_event(interp, site, "read", "torch.load")


ENTRIES: dict[str, Any] = {qname: read(qname, hops) for qname, hops in CALLS.items()}
BASES: dict[str, tuple[str, ...]] = {}
