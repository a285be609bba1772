"""Constraints and indexes, from the schema rows. The same statements run on both stores."""

from __future__ import annotations

from cgx.model import schema


def constraint_name(label: str) -> str:
    return f"cgx_{label.lower()}_id"


def index_name(label: str, name: str) -> str:
    return f"cgx_{label.lower()}_{name}"


def constraints() -> list[str]:
    """One uniqueness constraint a label. (The embedded engine has the identity built in and needs none.)"""
    return [
        f"CREATE CONSTRAINT {constraint_name(kind.label)} IF NOT EXISTS FOR (n:{kind.label}) REQUIRE n.id IS UNIQUE"
        for kind in schema.NODES
    ]


def indexes() -> list[str]:
    """One index for each property that queries join on."""
    return [
        f"CREATE INDEX {index_name(kind.label, name)} IF NOT EXISTS FOR (n:{kind.label}) ON (n.{name})"
        for kind in schema.NODES
        for name in kind.indexes
    ]


def statements() -> list[str]:
    """Everything a server needs, constraints first."""
    return constraints() + indexes()
