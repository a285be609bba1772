"""pytest: the ``neo4j_url`` fixture, and a loud count of what was left out for want of a server."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from neo4j_server import NoServer, run_container, run_server

_left_out: dict[str, int] = {}


@pytest.fixture(scope="session")
def neo4j_server_url() -> Iterator[str | NoServer]:
    """The URL of a server for the session, or why there is none."""
    if os.environ.get("NEO4J_URI"):
        yield os.environ["NEO4J_URI"]
        return
    reasons = []
    for start in (run_server, run_container):
        manager = start()
        try:
            url = manager.__enter__()
        except NoServer as error:
            reasons.append(str(error))
            continue
        try:
            yield url
        finally:
            manager.__exit__(None, None, None)
        return
    yield NoServer("; ".join(reasons))


@pytest.fixture
def neo4j_url(neo4j_server_url: str | NoServer) -> str:
    """The Bolt URL of a real Neo4j. Skips, and is counted, where there is none; fails if CGX_REQUIRE_NEO4J=1."""
    if isinstance(neo4j_server_url, str):
        return neo4j_server_url
    reason = str(neo4j_server_url)
    if os.environ.get("CGX_REQUIRE_NEO4J") == "1":
        pytest.fail(f"CGX_REQUIRE_NEO4J=1, but there is no Neo4j: {reason}", pytrace=False)
    _left_out[reason] = _left_out.get(reason, 0) + 1
    pytest.skip(f"no Neo4j: {reason}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for reason, count in _left_out.items():
        terminalreporter.section("Neo4j", yellow=True)
        terminalreporter.line(f"{count} tests were LEFT OUT for want of a Neo4j server: {reason}", yellow=True)
        terminalreporter.line(
            "Install a JDK 17 and Maven, or Docker, or set NEO4J_URI; CGX_REQUIRE_NEO4J=1 makes this a failure."
        )
