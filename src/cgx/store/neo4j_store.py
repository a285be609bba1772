"""The Neo4j store: a server reached by the official driver. Many repositories and commits share one database.

Credentials come from NEO4J_USERNAME, NEO4J_PASSWORD and NEO4J_DATABASE, and stand in no message, file or repr.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, LiteralString

import neo4j
from neo4j.exceptions import ClientError, DriverError, Neo4jError

from cgx.model import schema
from cgx.model.facts import GraphDelta
from cgx.store import ddl, neo4j_errors, scopes
from cgx.store.base import Rows
from cgx.store.errors import QueryError, StoreError
from cgx.store.neo4j_connection import Target, connect
from cgx.store.neo4j_values import value
from cgx.store.plan import chunks, plan_write, statements
from cgx.store.projection import project

if TYPE_CHECKING:
    import networkx as nx

BATCH = 10_000  # rows a statement: the driver's own advice; one transaction each, retried on transient errors
DEFAULT_TIMEOUT = 60.0  # seconds a user's statement may take
INDEX_WAIT = 300  # seconds to wait for indexes to come online
_READS_FILES = "LoadCSV"  # the operator of LOAD CSV in a plan
_READ = "r"  # the planner's word for a statement that only reads


class Neo4jStore:
    """A graph in a Neo4j database. See :class:`cgx.store.base.Store` for the methods."""

    def __init__(self, driver: neo4j.Driver, target: Target, read_only: bool) -> None:
        self.url = target.shown
        self._driver, self._database, self._read_only = driver, target.database, read_only

    @classmethod
    def open(cls, url: str, read_only: bool = False) -> Neo4jStore:
        """Connect, and (for writing) make the constraints and indexes that are missing.

        Raises StoreError where the server is down, refuses the credentials, or is none that cgx supports.
        """
        target = Target.of(url)
        store = cls(connect(target), target, read_only)
        if not read_only:
            try:
                store._prepare()
            except (Neo4jError, DriverError) as error:
                store.close()
                raise neo4j_errors.store_error(target.shown, error) from error
        return store

    # -- writing ---------------------------------------------------------------------------------------------------

    def write(self, delta: GraphDelta) -> None:
        self._writable()
        with neo4j_errors.as_store_error(self.url):
            for statement, rows in statements(plan_write(delta, self._existing), BATCH):
                self.execute(statement, {"rows": rows})

    def replace(self, scope_id: str, delta: GraphDelta) -> None:
        with neo4j_errors.as_store_error(self.url):
            plan_write(delta, self._existing)  # refuse a bad delta before anything is deleted
        self.delete_scope(scope_id)
        self.write(delta)

    def delete_scope(self, scope_id: str) -> int:
        self._writable()
        with neo4j_errors.as_store_error(self.url):
            return scopes.delete_scope(scope_id, self.read, self.execute)

    def sweep(self) -> dict[str, int]:
        self._writable()
        with neo4j_errors.as_store_error(self.url):
            return scopes.sweep(self.read, self.execute)

    def checkpoint(self) -> None:
        """Every batch is committed when it is written: nothing is left to do."""

    def close(self) -> None:
        self._driver.close()

    # -- reading ---------------------------------------------------------------------------------------------------

    def run(
        self,
        cypher: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        limit: int | None = None,
    ) -> Rows:
        seconds = DEFAULT_TIMEOUT if timeout is None else timeout
        start = time.perf_counter()
        try:
            with self._reading(seconds) as transaction:
                self._refuse(transaction, cypher, params)
                result = transaction.run(_literal(cypher), dict(params or {}))
                rows = _rows(result, limit)
        except (Neo4jError, DriverError) as error:
            raise neo4j_errors.query_error(self.url, error, seconds) from error
        rows.seconds = time.perf_counter() - start
        return rows

    def explain(self, cypher: str, params: Mapping[str, Any] | None = None) -> list[str]:
        try:
            with self._reading(DEFAULT_TIMEOUT) as transaction:
                plan = transaction.run(_literal(f"EXPLAIN {cypher}"), dict(params or {})).consume().plan
        except (Neo4jError, DriverError) as error:
            raise neo4j_errors.query_error(self.url, error, DEFAULT_TIMEOUT) from error
        return _steps(plan, 0) if plan is not None else []

    def has(self, label: str, id: str) -> bool:
        return bool(self._existing(label, [id]))

    def ids(self, label: str) -> set[str]:
        return {row[0] for row in self.read(f"MATCH (n:{_known(label)}) RETURN n.id AS id", {})}

    def missing(self, label: str, ids: Iterable[str]) -> set[str]:
        wanted = list(ids)
        return set(wanted) - self._existing(label, wanted)

    def graph(self, edge_kinds: Iterable[str] | None = None, commit: str | None = None) -> nx.MultiDiGraph:
        with neo4j_errors.as_store_error(self.url):
            return project(self.read, edge_kinds, commit)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        have = {row[0] for row in self.read("SHOW CONSTRAINTS YIELD name RETURN name", {})}
        have |= {row[0] for row in self.read("SHOW INDEXES YIELD name RETURN name", {})}
        wanted = [text for text in ddl.statements() if text.split()[2] not in have]
        for statement in wanted:
            self.execute(statement, {})
        if wanted:
            with contextlib.suppress(ClientError):  # a server without it makes them at once
                self.execute(f"CALL db.awaitIndexes({INDEX_WAIT})", {})

    def _existing(self, label: str, ids: list[str]) -> set[str]:
        statement = f"UNWIND $ids AS i MATCH (n:{_known(label)} {{id: i}}) RETURN n.id AS id"
        return {row[0] for part in chunks(ids, BATCH) for row in self.read(statement, {"ids": part})}

    def read(self, statement: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        records, _, _ = self._driver.execute_query(
            _literal(statement),
            parameters_=dict(params),
            database_=self._database,
            routing_=neo4j.RoutingControl.READ,
        )
        return [tuple(record.values()) for record in records]

    def execute(self, statement: str, params: Mapping[str, Any]) -> None:
        self._driver.execute_query(_literal(statement), parameters_=dict(params), database_=self._database)

    @contextlib.contextmanager
    def _reading(self, seconds: float) -> Iterator[neo4j.Transaction]:
        """An explicit read transaction with a timeout that is always rolled back."""
        tag = uuid.uuid4().hex
        session = self._driver.session(database=self._database, default_access_mode=neo4j.READ_ACCESS)
        transaction = session.begin_transaction(timeout=seconds, metadata={"cgx": tag})
        try:
            yield transaction
        except KeyboardInterrupt:
            self._terminate(tag)  # else closing would wait for the answer
            raise
        finally:
            with contextlib.suppress(Neo4jError, DriverError):
                transaction.close()
            with contextlib.suppress(Neo4jError, DriverError):
                session.close()

    def _terminate(self, tag: str) -> None:
        """Stop the transaction with this tag from another connection."""
        with contextlib.suppress(Neo4jError, DriverError):
            running = self.read("SHOW TRANSACTIONS YIELD transactionId, metaData RETURN transactionId, metaData", {})
            for id_, data in running:
                if data.get("cgx") == tag:
                    self.execute("TERMINATE TRANSACTIONS $id", {"id": id_})

    def _refuse(self, transaction: neo4j.Transaction, cypher: str, params: Mapping[str, Any] | None) -> None:
        """Refuse what the server's planner says is more than reading the graph."""
        head, _, rest = cypher.strip().partition(" ")
        body = rest if head.upper() in ("EXPLAIN", "PROFILE") else cypher
        summary = transaction.run(_literal(f"EXPLAIN {body}"), dict(params or {})).consume()
        if summary.query_type not in (_READ, None):
            raise QueryError("the statement writes; statements given to cgx are read-only")
        if summary.plan is not None and _READS_FILES in str(summary.plan):
            raise QueryError("the statement reads a file; statements given to cgx read the graph only")

    def _writable(self) -> None:
        if self._read_only:
            raise StoreError(f"the store {self.url} was opened for reading only")

    def __enter__(self) -> Neo4jStore:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _known(label: str) -> str:
    if label not in schema.NODE_KINDS:
        raise schema.SchemaError(f"no node kind {label!r} in the schema")
    return label


def _literal(statement: str) -> LiteralString:
    """The driver asks for literals against injection; values are always parameters here, and labels come from the schema."""
    return statement


def _steps(plan: Mapping[str, Any], depth: int) -> list[str]:
    details = plan.get("args", {}).get("Details", "")
    own = "  " * depth + str(plan["operatorType"]).partition("@")[0] + (f"  {details}" if details else "")
    return [own, *(line for child in plan.get("children", ()) for line in _steps(child, depth + 1))]


def _rows(result: neo4j.Result, limit: int | None) -> Rows:
    columns = list(result.keys())
    rows: list[tuple[Any, ...]] = []
    for record in result:
        if limit is not None and len(rows) >= limit:
            return Rows(columns, rows, truncated=True)
        rows.append(tuple(value(item) for item in record.values()))
    return Rows(columns, rows)
