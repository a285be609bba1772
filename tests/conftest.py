"""Fixtures that every room's tests may use: ``neo4j_url`` (see tests/neo4j)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "neo4j"))

pytest_plugins = ["neo4j_plugin"]
