"""Connecting to Neo4j: address and credentials from the URL and the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import neo4j
from neo4j.exceptions import DriverError, Neo4jError

from cgx.store import neo4j_errors
from cgx.store.errors import StoreError

DATABASE = "neo4j"
CONNECT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Target:
    """Where to connect. ``shown`` is the URL without credentials; the credentials stay out of the repr."""

    url: str = field(repr=False)
    shown: str
    database: str
    auth: tuple[str, str] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, url: str, environ: Mapping[str, str] = os.environ) -> Target:
        """Read the URL and NEO4J_USERNAME, NEO4J_PASSWORD, NEO4J_DATABASE. Raises StoreError for an unusable URL."""
        parts = urlsplit(url)
        try:
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise StoreError("the store's URL has no usable port") from error
        if not host:
            raise StoreError("the store's URL has no host: neo4j://localhost:7687")
        place = f"[{host}]" if ":" in host else host
        clean = f"{parts.scheme}://{place}" + (f":{port}" if port else "")
        user = parts.username or environ.get("NEO4J_USERNAME") or environ.get("NEO4J_USER")
        password = parts.password or environ.get("NEO4J_PASSWORD")
        auth = (user or "neo4j", password) if password else None
        database = parts.path.strip("/") or environ.get("NEO4J_DATABASE") or DATABASE
        return cls(clean, clean, database, auth)


def connect(target: Target) -> neo4j.Driver:
    """A driver whose connection was tried. Raises StoreError where that fails."""
    driver = neo4j.GraphDatabase.driver(
        target.url,
        auth=target.auth,
        connection_timeout=CONNECT_SECONDS,
        notifications_min_severity="OFF",
        user_agent="cgx",
    )
    try:
        driver.verify_connectivity()
        agent = driver.get_server_info().agent or ""
    except (Neo4jError, DriverError, OSError, ValueError) as error:
        driver.close()
        raise neo4j_errors.store_error(target.shown, error) from error
    if "falkordb" in agent.lower():
        driver.close()
        raise StoreError(f"{target.shown} is FalkorDB, whose Bolt side fails on batches; use Neo4j 5.26 or later")
    return driver
