"""Writing a record: whole or not at all, and never over a file that is not ours."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from cgx.errors import UserError


def text_of(record: dict[str, Any]) -> str:
    """The record as JSON: two spaces, one line for a short list or object, the same bytes for the same record."""
    return "\n".join(_lines(record, "")) + "\n"


def _lines(value: Any, indent: str) -> list[str]:
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or (len(flat) + len(indent) <= 118 and _shallow(value)) or not value:
        return [flat]
    inner = indent + "  "
    lines = ["{" if isinstance(value, dict) else "["]
    items = list(value.items()) if isinstance(value, dict) else [(None, item) for item in value]
    for index, (key, item) in enumerate(items):
        head = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
        body = _lines(item, inner)
        body[0] = inner + head + body[0]
        body[-1] += "," if index < len(items) - 1 else ""
        lines.extend(body)
    lines.append(indent + ("}" if isinstance(value, dict) else "]"))
    return lines


def _shallow(value: Any) -> bool:
    """Nothing in it holds more than one further level."""
    inner = value.values() if isinstance(value, dict) else value
    return all(
        not isinstance(item, dict | list) or not any(isinstance(deep, dict) for deep in _parts(item)) for item in inner
    )


def _parts(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else list(value)


def is_ours(path: Path) -> bool:
    """Whether the file may be replaced: a record of cgx, an empty file, or a scaffold of comments alone."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return True
    except (OSError, UnicodeDecodeError):
        return False
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if all(line.startswith(("//", "#", "/*", "*")) for line in lines):
        return True
    try:
        data = json.loads(text)
    except ValueError:
        return False
    return data in ({}, [], None) or (isinstance(data, dict) and str(data.get("schema", "")).startswith("cgx/"))


def check_writable(paths: list[Path], force: bool) -> None:
    """Raise UserError where a file would be lost that cgx did not write."""
    for path in paths:
        if path.is_dir():
            raise UserError(f"{path} is a folder; give another --workspace")
        if not force and not is_ours(path):
            raise UserError(f"{path} was not written by cgx; give --force to replace it, or another --workspace")


def write_atomically(path: Path, text: str) -> None:
    """Replace the file in one step. Raises UserError where the disk or the permissions do not allow it."""
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
        raise UserError(f"{path} cannot be written: {error.strerror}; what was there before is untouched") from None
