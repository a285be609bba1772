"""Published wheels that tests read: cached in the user's cache folder, fetched from PyPI where that is allowed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import platformdirs
import pytest


def wheel(name: str) -> Path:
    """Folder of an unzipped wheel, named ``<distribution>-<version>``.

    Fetched if ``CGX_FETCH_CORPUS`` or ``CGX_REQUIRE_CORPUS`` is set; else, where it is not there, the test is skipped
    (failed under ``CGX_REQUIRE_CORPUS``).
    """
    given = os.environ.get("CGX_CORPUS")
    folder = (Path(given) if given else platformdirs.user_cache_path("cgx") / "corpus") / name
    if folder.is_dir():
        return folder
    required = os.environ.get("CGX_REQUIRE_CORPUS")
    if required or os.environ.get("CGX_FETCH_CORPUS"):
        trouble = _fetch(name, folder)
        if not trouble:
            return folder
        if required:
            pytest.fail(f"{name} cannot be fetched: {trouble}")
        pytest.skip(f"{name} cannot be fetched: {trouble}")
    pytest.skip(f"needs the wheel {name}: set CGX_FETCH_CORPUS=1 to fetch it from PyPI")


def _fetch(name: str, folder: Path) -> str:
    distribution, _, version = name.rpartition("-")
    with tempfile.TemporaryDirectory() as work:
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--dest",
            work,
        ]
        done = subprocess.run([*command, f"{distribution}=={version}"], capture_output=True, text=True)
        wheels = list(Path(work).glob("*.whl"))
        if done.returncode or not wheels:
            return (done.stderr.strip().splitlines() or ["no wheel"])[-1]
        partial = folder.with_name(folder.name + ".partial")
        with zipfile.ZipFile(wheels[0]) as archive:
            archive.extractall(partial, [item for item in archive.namelist() if item.endswith(".py")])
        partial.rename(folder)
    return ""
