"""Pieces of source parsed by themselves, at the lines they have in their file."""

from __future__ import annotations

import ast
import warnings

from cgx.indexer.source.deep import run_deep


def parse_bytes(data: bytes) -> ast.Module:
    """Strict parse, warnings unheard. Raises what ``ast.parse`` raises."""
    text = data.decode("utf-8", "replace")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run_deep(lambda: ast.parse(text))


def shifted(source: bytes, row: int, column: int = 0) -> list[ast.stmt]:
    """Statements of a piece of text, at the lines it has in its file; empty where it does not parse."""
    if not source.strip():
        return []
    header = b"if 1:\n" + b" " * column if column else b""
    try:
        parsed = parse_bytes(header + source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    body = parsed.body[0].body if column and isinstance(parsed.body[0], ast.If) else parsed.body
    ast.increment_lineno(ast.Module(body=body, type_ignores=[]), row - 1 if column else row)
    return body
