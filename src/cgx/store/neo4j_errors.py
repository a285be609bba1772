"""The driver's exceptions as one-line errors of ours, without anything secret in them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from neo4j.exceptions import AuthError, DriverError, Neo4jError, ServiceUnavailable

from cgx.store.errors import QueryError, StoreError


def store_error(shown: str, error: Exception) -> StoreError:
    """Why the store cannot be opened or written."""
    if isinstance(error, AuthError):
        return StoreError(f"{shown} refuses the credentials; set NEO4J_USERNAME and NEO4J_PASSWORD")
    if isinstance(error, ServiceUnavailable | OSError):
        return StoreError(f"no Neo4j answers at {shown}; start it (docker compose up -d neo4j) or give another --store")
    return StoreError(f"{shown}: {_line(error)}")


def query_error(shown: str, error: Exception, seconds: float) -> QueryError | StoreError:
    """Why a statement has no answer."""
    code = getattr(error, "code", None) or ""
    if "TransactionTimedOut" in code or "Terminated" in code:
        return QueryError(f"stopped after {seconds:g} s without an answer; narrow the statement or raise --timeout")
    if "AccessMode" in code:
        return QueryError("the statement writes; statements given to cgx are read-only")
    if isinstance(error, ServiceUnavailable | AuthError):
        return store_error(shown, error)
    return QueryError(_line(error))


@contextlib.contextmanager
def as_store_error(shown: str) -> Iterator[None]:
    try:
        yield
    except (Neo4jError, DriverError) as error:
        raise store_error(shown, error) from error


def _line(error: Exception) -> str:
    message = getattr(error, "message", None) or str(error) or type(error).__name__
    return str(message).strip().removeprefix("{").strip()
