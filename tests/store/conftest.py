"""One empty store and one filled store, each on both engines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sample
from wiped import neo4j_store

from cgx.store import Store, open_store


@pytest.fixture(params=["embedded", pytest.param("neo4j", marks=pytest.mark.neo4j)])
def store(request: pytest.FixtureRequest, tmp_path) -> Iterator[Store]:
    """An empty store that can be written."""
    opened = (
        open_store(str(tmp_path / "store"), sample.REPO)
        if request.param == "embedded"
        else neo4j_store(request.getfixturevalue("neo4j_url"))
    )
    with opened:
        yield opened


@pytest.fixture
def filled(store: Store) -> Store:
    """A store that holds the sample."""
    store.write(sample.full_delta())
    store.checkpoint()
    return store
