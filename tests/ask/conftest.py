"""A folder store that holds the sample, made once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "store"))

import sample

from cgx.ask.where import Place, Where
from cgx.store import open_store


@pytest.fixture(scope="session")
def store_folder(tmp_path_factory) -> str:
    folder = str(tmp_path_factory.mktemp("graph"))
    with open_store(folder, sample.REPO) as store:
        store.write(sample.full_delta())
        store.checkpoint()
    return folder


@pytest.fixture
def where(store_folder: str) -> Where:
    return Where(open_store(store_folder, sample.REPO, read_only=True), Place(sample.REPO, sample.REPO, sample.NEW))
