"""Functions of libraries that fetch files, and their own progress bars: nothing of the job comes from how they do it."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import Args, Handler, Kwargs, nothing, unknown
from cgx.indexer.interpreter.stdlib.talk import BAR, make_bar
from cgx.indexer.interpreter.values import Value


def _target(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """The file that is asked for stands for the one that comes."""
    return args[0] if args else kwargs.get("file", kwargs.get("url"))


ENTRIES: dict[str, Handler] = {
    "torch.hub.download_url_to_file": nothing,
    "torchvision.datasets.utils.download_url": nothing,
    "torchvision.datasets.utils.download_and_extract_archive": nothing,
    "torchvision.datasets.utils.extract_archive": nothing,
    "gdown.download": unknown("missing-file", "str"),
    "wget.download": unknown("missing-file", "str"),
    "ultralytics.utils.downloads.safe_download": unknown("missing-file", "str"),
    "ultralytics.utils.downloads.attempt_download_asset": _target,
    "ultralytics.utils.checks.check_font": nothing,
    "ultralytics.utils.checks.check_requirements": unknown("environment", "bool"),
    "ultralytics.utils.tqdm.TQDM": make_bar,
    "ultralytics.utils.TQDM": make_bar,
}
NAMES = ("ultralytics.utils.tqdm.TQDM", "ultralytics.utils.TQDM")
BASES: dict[str, tuple[str, ...]] = dict.fromkeys(NAMES, (BAR,))
