"""Options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Source = Annotated[
    str, typer.Argument(metavar="SOURCE", help="A git repository, a folder inside one, or a plain folder.")
]
SourceOption = Annotated[
    str, typer.Option("--source", metavar="SOURCE", help="The repository or folder that is meant.")
]
Rev = Annotated[str | None, typer.Option("--rev", metavar="REV", help="Revision to read (default HEAD).")]
Worktree = Annotated[bool, typer.Option("--worktree", help="Read the files as they are, not a commit.")]
Launch = Annotated[
    str | None,
    typer.Option(
        "--launch", metavar="LINE", help="The line that starts the job, in quotes: torchrun, bash script.sh, ..."
    ),
]
Build = Annotated[
    str | None,
    typer.Option("--build", metavar="EXPR", help="No job, only a model: `package.module:EXPR` or `path/file.py:EXPR`."),
]
Input = Annotated[
    list[str] | None,
    typer.Option(
        "--input", metavar="SPEC", help="An argument of forward: `x=float32[2,3,224,224]`, `use_cache=False`."
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A value that the code takes from outside, as `unresolved` names it."
    ),
]
File = Annotated[
    list[str] | None,
    typer.Option("--file", metavar="NAME=PATH", help="Stands in for a file that SOURCE does not hold."),
]
Env = Annotated[
    list[Path] | None,
    typer.Option("--env", metavar="DIR", help="A folder of third-party source; read, never imported."),
]
Store = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="URL", help="A folder, or neo4j:// or bolt:// (default: a store in your cache folder)."
    ),
]
Mode = Annotated[
    str | None, typer.Option("--mode", metavar="train|eval", help="Mode of the model (default: what the job does).")
]
Workspace = Annotated[Path, typer.Option("--workspace", metavar="DIR", help="Where `records/` is written.")]
Jobs = Annotated[int, typer.Option("--jobs", metavar="N", min=0, help="Processes (0: as many as there are cores).")]
Deep = Annotated[
    float, typer.Option("--deep", metavar="SECONDS", min=0, help="Seconds for Jedi on open call sites (0: none).")
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit 1 if something stays unresolved or a fault was recorded.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that cgx did not write.")]
