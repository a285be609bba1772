"""Fixtures that every room's tests may use: ``neo4j_url`` (see tests/neo4j). Modules beside this file are there to be imported."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "neo4j")]

pytest_plugins = ["neo4j_plugin"]
