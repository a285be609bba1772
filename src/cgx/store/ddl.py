"""Constraints and indexes, from the schema rows. The same statements run on both stores."""

from __future__ import annotations

from cgx.model import schema


def constraint_name(label: str) -> str:
    return f"cgx_{label.lower()}_id"


def index_name(label: str, name: str) -> str:
    return f"cgx_{label.lower()}_{name}"


def statements() -> list[str]:
    """One uniqueness constraint a label, then one index for each property that queries join on."""
    constraints = [
        f"CREATE CONSTRAINT {constraint_name(kind.label)} IF NOT EXISTS FOR (n:{kind.label}) REQUIRE n.id IS UNIQUE"
        for kind in schema.NODES
    ]
    indexes = [
        f"CREATE INDEX {index_name(kind.label, name)} IF NOT EXISTS FOR (n:{kind.label}) ON (n.{name})"
        for kind in schema.NODES
        for name in kind.indexes
    ]
    return constraints + indexes
