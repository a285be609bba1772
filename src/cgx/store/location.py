"""Where the embedded stores live: the user's cache folder, one folder a repository, or a folder that was named."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import platformdirs

FILE = "graph.kgl"


def stores_folder() -> Path:
    """The folder that holds the embedded stores of all repositories."""
    return Path(platformdirs.user_cache_dir("cgx", appauthor=False)) / "stores"


def store_folder(url: str | None, repository_key: str) -> Path:
    """The folder of one embedded store. A key that is no safe file name is shortened and told apart by its digest."""
    if url is not None:
        return Path(url.removeprefix("file://")).expanduser().absolute()
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", repository_key).strip("-.")[:60] or "store"
    if name != repository_key:
        name = f"{name}-{hashlib.sha256(repository_key.encode()).hexdigest()[:10]}"
    return stores_folder() / name
