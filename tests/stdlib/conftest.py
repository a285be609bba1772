"""The names of small jobs: see tests/evaluated.py."""

from evaluated import run

__all__ = ["run"]
