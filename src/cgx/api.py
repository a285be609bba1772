"""cgx in Python and notebooks: open a store, ask it, take its graph.

import cgx
with cgx.open("path/to/repository") as graph:
    rows = graph.query("callers", symbol="train.step")
    rows.to_pandas()
    calls = graph.graph(["CALLS", "DEFINED_BY"])
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgx.ask import output
from cgx.ask.query import answer
from cgx.ask.where import Where, open_where
from cgx.store.base import Rows
from cgx.store.location import FILE
from cgx.store.opening import NEO4J_SCHEMES
from cgx.store.values import plain

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

SHOWN = 50  # rows that a notebook or a terminal shows of a result
WIDTH = 160  # columns of a result's text form


class Result:
    """The rows of an answer: a sequence of dicts by column name, with a readable form in terminals and notebooks.

    ``truncated`` is true where the row limit cut it; ``notes`` say which commit it speaks of.
    """

    def __init__(self, rows: Rows, notes: list[str]) -> None:
        self._rows, self.notes = rows, notes
        self.columns, self.truncated, self.seconds = rows.columns, rows.truncated, rows.seconds

    def __len__(self) -> int:
        return len(self._rows.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._rows.dicts())

    def __getitem__(self, index: int) -> dict[str, Any]:
        return dict(zip(self.columns, self._rows.rows[index]))

    def tuples(self) -> list[tuple[Any, ...]]:
        """The rows as tuples, in the order of ``columns``."""
        return list(self._rows.rows)

    def to_pandas(self) -> pd.DataFrame:
        """A DataFrame; nodes, relationships and paths become dicts. Needs pandas (``pip install cgx[notebook]``)."""
        import pandas as pd

        return pd.DataFrame([[plain(cell) for cell in row] for row in self._rows.rows], columns=self.columns)

    def __repr__(self) -> str:
        return "\n".join([*output.table(self._head(), WIDTH), self._footer()])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in output.texts(self._head())
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><p>{html.escape(self._footer())}</p>"

    def _head(self) -> Rows:
        return Rows(self.columns, self._rows.rows[:SHOWN])

    def _footer(self) -> str:
        more = f"; {SHOWN} shown" if len(self) > SHOWN else ""
        return "; ".join([output.summary(self._rows, None) + more, *self.notes])


class Graph:
    """An open store. Use it as a context manager, or call :meth:`close`."""

    def __init__(self, where: Where) -> None:
        self._where = where

    def query(
        self,
        statement: str,
        params: Mapping[str, Any] | None = None,
        /,
        *,
        limit: int | None = None,
        timeout: float | None = None,
        **named: Any,
    ) -> Result:
        """Ask a Cypher statement (read-only) or a shipped query by its name.

        Parameters come as a mapping, by keyword, or both; commits and jobs take an id, the start of a sha, ``latest`` or
        ``previous``, and are filled in where they are not given. Raises UserError for a wrong statement or parameter, and
        where ``timeout`` seconds pass.
        """
        self._where.notes.clear()
        rows = answer(self._where, statement, {**(params or {}), **named}, timeout=timeout, limit=limit)
        return Result(rows, list(self._where.notes))

    def graph(self, edge_kinds: str | list[str] | None = None, commit: str | None = None) -> nx.MultiDiGraph:
        """The graph, or a projection on one or more edge kinds, for networkx.

        ``commit``: ``latest``, an id, the start of a sha; without it, everything in the store.
        """
        named = self._where.commit(commit) if commit is not None else None
        kinds = [edge_kinds] if isinstance(edge_kinds, str) else edge_kinds
        return self._where.store.graph(kinds, named)

    def commits(self) -> list[str]:
        """Ids of the commits in the store, the newest first."""
        return [row[0] for row in self._where.commits()]

    @property
    def url(self) -> str:
        return self._where.store.url

    def close(self) -> None:
        self._where.store.close()

    def __enter__(self) -> Graph:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<cgx graph at {self.url}>"


def open(source: str | Path = ".", *, store: str | None = None) -> Graph:
    """Open the graph of a repository, of a store's folder, or at a Neo4j URL.

    ``source`` is what was indexed (its store in the cache folder is used), or itself a store: a folder with a graph, or a
    ``neo4j://`` or ``bolt://`` URL. ``store`` names the store apart. Raises UserError where nothing is indexed yet.
    """
    text = str(source)
    if store is None and (text.startswith(NEO4J_SCHEMES) or (Path(text) / FILE).is_file()):
        return Graph(open_where(text, "."))
    return Graph(open_where(store, text))
