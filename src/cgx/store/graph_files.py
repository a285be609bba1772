"""The whole graph as a file: GraphML, a Cypher script, or JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from cgx.model import schema
from cgx.model.facts import GraphDelta
from cgx.model.schema_rows import Kind
from cgx.store import ddl

_GRAPHML_TYPES: dict[Kind, str] = {"int": "long", "float": "double", "bool": "boolean"}
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'


def jsonl(parts: Iterable[GraphDelta]) -> Iterator[str]:
    """One object a line: nodes with ``label``, ``id``, ``properties``; edges with ``kind``, ``source``, ``target``, ``key``."""
    for part in parts:
        for node in part.nodes:
            yield _json({"label": node.label, "id": node.id, "properties": dict(node.properties)})
        for edge in part.edges:
            ends = {"kind": edge.kind, "source": edge.source, "target": edge.target}
            yield _json({**ends, **({"key": edge.key} if edge.key else {}), "properties": dict(edge.properties)})


def cypher(parts: Iterable[GraphDelta]) -> Iterator[str]:
    """Statements that build the graph in an empty Neo4j: constraints and indexes, nodes, edges. One statement a line."""
    yield from (f"{statement};" for statement in ddl.statements())
    labels: dict[str, str] = {}
    for part in parts:
        for node in part.nodes:
            labels[node.id] = node.label
            yield f"CREATE (:{node.label} {_map({'id': node.id, **node.properties})});"
        for edge in part.edges:
            ends = f"MATCH (a:{labels[edge.source]} {{id: {_literal(edge.source)}}}), (b:{labels[edge.target]} {{id: {_literal(edge.target)}}})"
            properties = {**({"key": edge.key} if edge.key else {}), **edge.properties}
            yield f"{ends} CREATE (a)-[:{edge.kind}{f' {_map(properties)}' if properties else ''}]->(b);"


def graphml(parts: Iterable[GraphDelta]) -> Iterator[str]:
    """GraphML with typed keys; lists are JSON texts, since GraphML has none."""
    yield _HEAD
    yield '  <key id="label" for="node" attr.name="label" attr.type="string"/>'
    yield '  <key id="kind" for="edge" attr.name="kind" attr.type="string"/>'
    for domain, kinds in (("node", schema.NODES), ("edge", schema.EDGES)):
        rows = {row.name: row for kind in kinds for row in kind.properties}
        for name, row in sorted(rows.items()):
            mixed = len({p.kind for kind in kinds for p in kind.properties if p.name == name}) > 1
            type_ = "string" if mixed else _GRAPHML_TYPES.get(row.kind, "string")
            yield f'  <key id="{domain[0]}_{name}" for="{domain}" attr.name="{name}" attr.type="{type_}"/>'
    yield '  <graph edgedefault="directed">'
    for part in parts:
        for node in part.nodes:
            yield f"    <node id={quoteattr(node.id)}>{_data('label', node.label)}{_datas('n', node.properties)}</node>"
        for edge in part.edges:
            ends = f"source={quoteattr(edge.source)} target={quoteattr(edge.target)}"
            yield f"    <edge {ends}>{_data('kind', edge.kind)}{_datas('e', edge.properties)}</edge>"
    yield "  </graph>\n</graphml>"


FORMATS: dict[str, Callable[[Iterable[GraphDelta]], Iterator[str]]] = {
    "graphml": graphml,
    "cypher": cypher,
    "jsonl": jsonl,
}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _literal(value: Any) -> str:
    """A Cypher literal. JSON's strings are Cypher's, but for the characters that JSON may leave raw and a script may not."""
    if isinstance(value, list):
        return "[" + ", ".join(_literal(item) for item in value) + "]"
    return json.dumps(value)


def _map(properties: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{name}: {_literal(value)}" for name, value in properties.items()) + "}"


def _datas(prefix: str, properties: Any) -> str:
    return "".join(_data(f"{prefix}_{name}", value) for name, value in properties.items())


def _data(key: str, value: Any) -> str:
    if isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, list):
        text = _json(value)
    else:
        text = str(value)
    clean = "".join(char if char in "\t\n\r" or char >= " " else "\ufffd" for char in text)  # XML 1.0 has no others
    return f'<data key="{key}">{escape(clean)}</data>'
