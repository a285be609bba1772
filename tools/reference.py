"""Writes docs/schema.md and docs/queries.md from the schema's rows and the queries' headers.

python tools/reference.py            writes them
python tools/reference.py --check    exits 1 where they are not as they would be written
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from cgx import queries
from cgx.model import schema
from cgx.model.schema_rows import Property
from cgx.queries import Query

DOCS = Path(__file__).resolve().parents[1] / "docs"
NOTE = "<!-- Written by tools/reference.py: change the rows it is made from, not this file. -->"


def schema_page() -> Iterator[str]:
    yield "# The graph: node and edge kinds"
    yield f"\n{NOTE}\n"
    yield "Every node has an `id`, unique in a store. A property that is not known is absent. A commit is one pattern:"
    yield "`(:Commit {id: $commit})-[:HAS]->(:File)-[:DEFINES]->(f:Function)`; its versions are shared with other commits."
    for group, title in (("static", "Of the code"), ("job", "Of a job")):
        yield f"\n## {title}"
        for node in schema.NODES:
            if node.group == group:
                yield f"\n### (:{node.label})\n\n{node.doc} Its id: {node.identity}.\n"
                yield from _table(node.properties, node.indexes)
    yield "\n## Relationships"
    for edge in schema.EDGES:
        yield f"\n### [:{edge.name}]\n\n{edge.doc}\n"
        yield f"From {_either(edge.sources)} to {_either(edge.targets)}.\n"
        if edge.properties:
            yield from _table(edge.properties, ())


def _either(labels: tuple[str, ...]) -> str:
    return ", ".join(f"`{label}`" for label in labels)


def _table(rows: tuple[Property, ...], indexes: tuple[str, ...]) -> Iterator[str]:
    yield "| property | type | |\n|---|---|---|"
    for row in rows:
        marks = [mark for mark, holds in (("always there", row.required), ("indexed", row.name in indexes)) if holds]
        doc = row.doc.replace("|", "\\|").replace("<", "&lt;")
        yield f"| `{row.name}` | {row.kind} | {doc}{f' ({chr(44).join(marks)})' if marks else ''} |"


def queries_page() -> Iterator[str]:
    yield "# The shipped queries"
    yield f"\n{NOTE}\n"
    yield "`cgx query NAME --param k=v` runs one, `cgx queries NAME` shows its text. Parameters of type commit and job stand for"
    yield "the latest ones where they are not given."
    for group in queries.GROUPS:
        inside = [query for query in queries.catalog().values() if query.group == group]
        yield f"\n## {group}\n"
        yield "| query | answers | parameters |\n|---|---|---|"
        for query in inside:
            yield f"| [`{query.name}`](../queries/{query.name}.cypher) | {_question(query)} | {_parameters(query)} |"


def _question(query: Query) -> str:
    return f"{query.title}. {query.note}".rstrip() if query.note else query.title


def _parameters(query: Query) -> str:
    return ", ".join(f"`{p.name}`" if p.default is None else f"{p.name}" for p in query.params)


PAGES = {"schema.md": schema_page, "queries.md": queries_page}


def main() -> int:
    stale = []
    for name, page in PAGES.items():
        path, text = DOCS / name, "\n".join(page()) + "\n"
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
    if stale:
        print(f"not as written by tools/reference.py: {', '.join(stale)}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
