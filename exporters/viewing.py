"""One self-contained HTML page of a job's records: no network, no other file. Drawn with D3, which is part of the page."""

from __future__ import annotations

import html
import json
from importlib import resources
from typing import Any

SCRIPTS = ("data.js", "tree.js", "icicle.js", "detail.js", "lanes.js", "main.js")
"""In the order they run."""


def page(graph: dict[str, Any] | None, schedule: dict[str, Any] | None, source: dict[str, str]) -> str:
    """The page. ``source``: the line of code at each anchor, where it was at hand."""
    header = graph or schedule or {}
    launch = " ".join(header.get("launch") or [header.get("build") or ""])
    parts = {
        "title": html.escape(f"{header.get('repository', 'cgx')}: {launch}".strip(": ")),
        "style": asset("page.css"),
        "records": embedded({"graph": graph, "schedule": schedule, "source": source}),
        "d3": asset("d3/d3.min.js"),
        "script": "\n".join(asset(name) for name in SCRIPTS),
    }
    pieces = asset("page.html").split("{{")
    return pieces[0] + "".join(parts[name] + rest for name, _, rest in (piece.partition("}}") for piece in pieces[1:]))


def embedded(value: Any) -> str:
    """JSON that may stand in a script element: nothing in it can end the element or open a comment."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def asset(name: str) -> str:
    """The text of a part of the page."""
    return resources.files("cgx.exporters").joinpath("page", *name.split("/")).read_text(encoding="utf-8")
