"""Stores of the graph: embedded (default) and Neo4j, behind :class:`cgx.store.base.Store`."""

from __future__ import annotations

from cgx.store.base import Rows, Store
from cgx.store.opening import open_store

__all__ = ["Rows", "Store", "open_store"]
