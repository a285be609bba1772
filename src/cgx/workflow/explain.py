"""``cgx explain``: the chain of evidence behind a value of a record, or why it is not known."""

from __future__ import annotations

import json as json_module
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from cgx.errors import UserError
from cgx.indexer.source import Tree, open_tree
from cgx.model.anchors import Anchor
from cgx.reasons import REASONS
from cgx.workflow.again import load

Row = dict[str, Any]
FILES = ("computation_graph.json", "execution_schedule.json")
LISTS = ("phases", "data_path", "device_device", "overlap", "loops")


def run_explain(entry: str, *, record: Path | None, source: str, workspace: Path, store: str | None, json: bool) -> int:
    """The command. Raises UserError where no record is there, or it holds no such entry."""
    paths = (
        [record] if record is not None else [path for name in FILES if (path := workspace / "records" / name).is_file()]
    )
    if not paths:
        raise UserError(f"no record in {workspace / 'records'}; give --record FILE, or run cgx export first")
    records = [load(path) for path in paths]
    found = [evidence for data in records for evidence in find(data, entry)]
    if not found:
        raise UserError(f"the record has no entry {entry!r}{_near(records, entry)}")
    if json:
        print(json_module.dumps(found, indent=1, ensure_ascii=False))
        return 0
    tree = _tree(records[0], source)
    for index, evidence in enumerate(found):
        print(("\n" if index else "") + "\n".join(_lines(evidence, tree)))
    if tree is not None:
        tree.close()
    return 0


def find(record: Row, name: str) -> Iterator[Row]:
    """The evidence of every entry that the name means: an id, a path, a name, or an anchor."""
    if "modules" in record:
        entries = {row["id"]: row for row in record["modules"]}
        exact = [row for row in record["modules"] if name in (row["id"], row.get("path"))]
        for row in exact or [row for row in record["modules"] if name == row["name"] or _stands(row, name)]:
            yield module_evidence(row, entries, record)
    else:
        for key, row in _events(record):
            if name == key or _stands(row, name) or name in (row.get("what"), row.get("name"), row.get("unit")):
                yield {"entry": key, "values": row, "chain": _event_chain(row), "unresolved": _about(record, row, None)}
    for item in record["unresolved"]:
        if name == item["name"] or name == item.get("code_anchor"):
            yield {
                "entry": item["name"],
                "values": item,
                "chain": [_step("not known", item.get("code_anchor"), _why(item))],
                "unresolved": [],
            }


def module_evidence(row: Row, entries: dict[str, Row], record: Row) -> Row:
    """Where an entry comes from: who runs it, what built it, what bounds it, how its multiplicity is made."""
    lineage = [row]
    while lineage[-1]["parent"] is not None:
        lineage.append(entries[lineage[-1]["parent"]])
    chain = []
    for step in reversed(lineage):
        repeat = step.get("repeat")
        if repeat:
            bound = (
                f"{repeat['count'] if repeat['count'] is not None else 'not known'} {repeat['by']} of {repeat['unit']}"
            )
            chain.append(_step(f"{_shown(step)} repeats: {bound}", repeat.get("code_anchor"), repeat.get("expr", "")))
        if step.get("when"):
            chain.append(_step(f"{_shown(step)} runs only if", step["when"]["code_anchor"], step["when"]["expr"]))
    if row.get("constructed_at"):
        chain.append(_step("constructed at", row["constructed_at"]))
    called = row.get("called_from")
    chain.extend(
        _step("called from", place) for place in (called if isinstance(called, list) else [called] if called else [])
    )
    chain.append(_step("runs at", row["code_anchor"]))
    if row["level"] == "op" and (known := table_row(row["type"])):
        chain.append(_step("shape rule", None, known))
    factors = [
        str(step["repeat"]["count"] if step["repeat"]["count"] is not None else "?")
        for step in reversed(lineage)
        if step.get("repeat")
    ]
    product = (
        f"{' x '.join(factors) or '1'} = {row['multiplicity'] if row['multiplicity'] is not None else 'not known'}"
    )
    chain.append(_step("multiplicity", None, product))
    return {"entry": row["id"], "values": row, "chain": chain, "unresolved": _about(record, row, row["id"])}


def table_row(qname: str) -> str:
    """What the op table says of an op; nothing where no row has the name."""
    from cgx.indexer.ops.registry import find as find_row

    row = find_row(qname)
    return "" if row is None else f"table row {row.name}({row.signature}), {row.kind}"


def _event_chain(row: Row) -> list[Row]:
    called = row.get("called_from")
    chain = [
        _step("called from", place) for place in (called if isinstance(called, list) else [called] if called else [])
    ]
    chain.append(_step("stands at", row.get("code_anchor"), "" if row.get("code_anchor") else "the launch line"))
    frequency = row.get("frequency") or {}
    if frequency:
        chain.append(_step("frequency", None, ", ".join(f"{key} {value}" for key, value in frequency.items())))
    return chain


def _events(record: Row) -> Iterator[tuple[str, Row]]:
    for section in LISTS:
        yield from ((f"{section}/{index}", row) for index, row in enumerate(record.get(section, ())))
    for section in ("copies", "syncs"):
        yield from ((f"{section}/{index}", row) for index, row in enumerate(record["host_device"][section]))
    for key, value in record["compute"].items():
        yield from ((f"compute/{key}", row) for row in (value if isinstance(value, list) else [value]))


def _stands(row: Row, name: str) -> bool:
    places = [row.get(key) for key in ("code_anchor", "constructed_at")]
    called = row.get("called_from")
    return name in [*places, *(called if isinstance(called, list) else [called])] and ":" in name


def _about(record: Row, row: Row, entry: str | None) -> list[Row]:
    anchors = {
        row.get("code_anchor"),
        (row.get("repeat") or {}).get("code_anchor") if isinstance(row.get("repeat"), dict) else None,
    }
    mine = [item for item in record["unresolved"] if entry is not None and item.get("entry") == entry]
    return mine or [item for item in record["unresolved"] if item.get("code_anchor") in anchors - {None}]


def _step(what: str, anchor: str | None, text: str = "") -> Row:
    return {"what": what, **({"code_anchor": anchor} if anchor else {}), **({"text": text} if text else {})}


def _shown(row: Row) -> str:
    return str(row.get("path") or row["name"])


def _why(item: Row) -> str:
    settle = item.get("settle_with") or {}
    hint = f"; settle with {settle['option']} {settle['name']}=..." if settle else ""
    return f"{item['reason']}: {REASONS.get(item['reason'], '')}{hint}"


def _lines(evidence: Row, tree: Tree | None) -> Iterator[str]:
    row = evidence["values"]
    yield f"{evidence['entry']}  {row.get('level', '')} {row.get('path') or row.get('name') or row.get('what') or ''}  {row.get('type', '')}".rstrip()
    for step in evidence["chain"]:
        yield f"  {step['what']}{': ' + step['text'] if 'text' in step else ''}" + (
            f"  {step['code_anchor']}" if "code_anchor" in step else ""
        )
        source = _source(step.get("code_anchor"), tree)
        if source:
            yield f"      {source}"
    for item in evidence["unresolved"]:
        yield f"  not known: {item['field']} of {item['name']} ({_why(item)})"


def _source(anchor: str | None, tree: Tree | None) -> str:
    if anchor is None or tree is None:
        return ""
    place = Anchor.parse(anchor)
    data = tree.read(place.path)
    lines = data.decode("utf-8", "replace").splitlines() if data is not None else []
    return lines[place.line - 1].strip() if place.line <= len(lines) else ""


def _tree(record: Row, source: str) -> Tree | None:
    """The source at the record's commit; None where it is not at hand (the evidence still is)."""
    try:
        return open_tree(source, rev=record.get("commit"))
    except UserError:
        return None


def _near(records: Sequence[Row], name: str) -> str:
    names = [str(row.get("path") or row["name"]) for record in records for row in record.get("modules", ())]
    close = get_close_matches(name, names, 3)
    return f"; near are {', '.join(dict.fromkeys(close))}" if close else ""
