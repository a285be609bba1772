"""What a store is: the one interface behind which the embedded engine and Neo4j stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from cgx.model.facts import GraphDelta

if TYPE_CHECKING:
    import networkx as nx

Row = Sequence[Any]


@dataclass(slots=True)
class Rows:
    """The answer to a query: column names and rows in order.

    ``truncated`` is true where the row limit cut the answer. ``seconds`` is the time the store took. Nodes, relationships
    and paths come as :class:`cgx.store.values.NodeValue`, ``EdgeValue`` and ``PathValue`` on both stores.
    """

    columns: list[str]
    rows: list[tuple[Any, ...]]
    truncated: bool = False
    seconds: float = 0.0
    warnings: list[str] = field(default_factory=list)

    def dicts(self) -> list[dict[str, Any]]:
        """One dict a row, by column name."""
        return [dict(zip(self.columns, row)) for row in self.rows]


@runtime_checkable
class Store(Protocol):
    """A graph of one or more repositories. Not safe for several threads at once; safe for several processes."""

    url: str

    def write(self, delta: GraphDelta) -> None:
        """Add nodes and edges. Nodes that are there keep their id and take the new properties; an edge that is there (same
        kind, ends and key) is not doubled. Raises SchemaError for what the schema does not know and for an edge whose ends
        are neither in the delta nor in the store. All or nothing within one process; durable at :meth:`checkpoint`."""
        ...

    def replace(self, scope_id: str, delta: GraphDelta) -> None:
        """Rewrite a scope: :meth:`delete_scope`, then :meth:`write`."""
        ...

    def delete_scope(self, scope_id: str) -> int:
        """Delete a Job with its entries, or a Commit with its jobs, entry points and the versions that no other commit
        holds. Returns the number of nodes deleted; 0 where there is no such scope."""
        ...

    def run(
        self,
        cypher: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        limit: int | None = None,
    ) -> Rows:
        """Run one read-only statement. ``timeout`` in seconds, ``limit`` in rows.

        Raises cgx.store.errors.QueryError (a UserError) for a bad statement, a write, or a timeout."""
        ...

    def read(self, statement: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Rows of a statement of our own: no time or row limit, values as the engine gives them. Never for a user's text."""
        ...

    def execute(self, statement: str, params: Mapping[str, Any]) -> None:
        """A statement of our own that may write. Never for a user's text."""
        ...

    def sweep(self) -> dict[str, int]:
        """Delete what nothing holds any more, and commits whose writing was cut off. Returns the nodes deleted by label."""
        ...

    def explain(self, cypher: str, params: Mapping[str, Any] | None = None) -> list[str]:
        """The plan of a statement, one step a line, without running it. Raises QueryError for a bad statement."""
        ...

    def has(self, label: str, id: str) -> bool:
        """Whether the node is there."""
        ...

    def ids(self, label: str) -> set[str]:
        """The ids of all nodes of a label."""
        ...

    def missing(self, label: str, ids: Iterable[str]) -> set[str]:
        """Those of the ids that the store has no node for."""
        ...

    def graph(self, edge_kinds: Iterable[str] | None = None, commit: str | None = None) -> nx.MultiDiGraph:
        """The graph, or a projection, for networkx: nodes by id with ``label`` and properties, edges with ``kind``.

        ``edge_kinds`` keeps only those kinds and the nodes at their ends; ``commit`` keeps what that commit holds (its
        files, classes, functions, jobs and entries, and the identities they point to)."""
        ...

    def checkpoint(self) -> None:
        """Make everything written so far durable and visible to readers, atomically."""
        ...

    def close(self) -> None:
        """Let go of the store. What was not checkpointed is lost (embedded) or was committed as it was written (Neo4j)."""
        ...

    def __enter__(self) -> Store: ...

    def __exit__(self, *exc: object) -> None: ...
