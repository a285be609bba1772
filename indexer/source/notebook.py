"""A notebook's code cells as one Python source."""

from __future__ import annotations

import json


def notebook_source(data: bytes) -> tuple[bytes, str]:
    """The code of all cells joined, and what was wrong (empty where nothing). Magics and shell lines become ``pass``.

    Lines are counted in the joined code, since a notebook's own lines are those of its JSON.
    """
    try:
        cells = json.loads(data.decode("utf-8", "replace")).get("cells", [])
        sources = [cell.get("source", "") for cell in cells if cell.get("cell_type") == "code"]
    except (ValueError, AttributeError, RecursionError):
        return b"", "not a notebook: its JSON does not read"
    lines: list[str] = []
    for source in sources:
        text = "".join(source) if isinstance(source, list) else str(source)
        if text.lstrip().startswith("%%"):
            continue  # a cell in another language, or timed by a magic that takes the whole cell
        lines.extend(_plain(line) for line in text.split("\n"))
    return "\n".join(lines).encode(), ""


def _plain(line: str) -> str:
    code = line.lstrip()
    return line[: len(line) - len(code)] + "pass" if code.startswith(("%", "!", "?")) else line
