"""``--again RECORD``: the question that a record's header holds."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from cgx.errors import UserError
from cgx.workflow.request import Request, digest_of, env_digest


def repeat(record: Path, request: Request) -> Request:
    """The request that made the record, at the request's revision if it names one, with what the user adds.

    Raises UserError where the record cannot be read, or where a file or folder from outside is not given again.
    """
    header = load(record)
    _outside(
        "--file",
        header.get("files", []),
        {name: digest_of(path) for name, path in request.files.items() if path.is_file()},
    )
    _outside(
        "--env", header.get("env", []), {path.resolve().name: env_digest(path) for path in request.env if path.is_dir()}
    )
    launch = header.get("launch")
    return replace(
        request,
        rev=request.rev or (header.get("commit") if not request.worktree else None),
        launch=request.launch or (shlex.join(launch) if launch else None),
        build=request.build or header.get("build"),
        inputs=request.inputs or list(header.get("inputs", [])),
        mode=request.mode or (header.get("mode") if "launch" in header or "build" in header else None),
        sets={**header.get("assumed", {}), **request.sets},
    )


def load(record: Path) -> dict[str, Any]:
    """A record as JSON. Raises UserError where it is none."""
    try:
        data = json.loads(record.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{record}: {error.strerror}") from None
    except ValueError as error:
        raise UserError(f"{record}: not JSON ({error})") from None
    if not isinstance(data, dict) or not str(data.get("schema", "")).startswith("cgx/"):
        raise UserError(f"{record}: not a record of cgx")
    return data


def _outside(option: str, wanted: list[dict[str, str]], given: dict[str, str]) -> None:
    for item in wanted:
        if item["name"] not in given:
            form = f"{item['name']}=PATH" if option == "--file" else f"DIR (a folder named {item['name']})"
            raise UserError(
                f"the record was made with {item['name']} from outside the repository; give {option} {form} again"
            )
