"""A reading of broken source by its indentation alone, for what brackets that never close do to a grammar."""

from __future__ import annotations

import ast
import re

from cgx.indexer.source.pieces import shifted

# Lines that go on with the statement before them although they stand at its indentation.
_CONTINUES = re.compile(rb"[)\]}]|(?:else|elif|except|finally)\b")
_HEADER = re.compile(rb"[ \t]*(?:@|class\b|def\b|async\b)")
_BLOCK = re.compile(rb"[ \t]*(?:class|def|async|if|for|while|with|try|else|elif|except|finally)\b.*:[ \t]*(?:#.*)?$")


def by_indentation(data: bytes) -> ast.Module:
    """A module of what parses, statement by statement, where a statement ends at the next line indented as it is."""
    lines = re.split(rb"\r\n|\r|\n", data)
    return ast.Module(body=_block(lines, 0, len(lines), 0), type_ignores=[])


def _block(lines: list[bytes], start: int, end: int, depth: int) -> list[ast.stmt]:
    body: list[ast.stmt] = []
    for first, last in _statements(lines, start, end):
        column = _indent(lines[first])
        source = b"\n".join([lines[first].lstrip(), *lines[first + 1 : last]])
        good = shifted(source, first, column)
        body.extend(good if good or depth > 20 else _inside(lines, first, last, column, depth))
    return body


def _inside(lines: list[bytes], first: int, last: int, column: int, depth: int) -> list[ast.stmt]:
    """What parses in the body of a statement that does not; a class or function keeps its header."""
    head = first
    while head < last and not _BLOCK.match(lines[head]):
        head += 1
    if head + 1 >= last:
        return []
    body = _block(lines, head + 1, last, depth + 1)
    if not _HEADER.match(lines[first]):
        return body
    source = b"\n".join([lines[first].lstrip(), *lines[first + 1 : head + 1]]) + b" ..."
    for item in shifted(source, first, column):
        if isinstance(item, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            item.body = body or item.body
            item.end_lineno = last
            return [item]
    return body


def _statements(lines: list[bytes], start: int, end: int) -> list[tuple[int, int]]:
    """(first line, line after) of each statement at the indentation of the first one."""
    numbered = [
        index for index in range(start, end) if lines[index].strip() and not lines[index].lstrip().startswith(b"#")
    ]
    if not numbered:
        return []
    column = _indent(lines[numbered[0]])
    starts: list[int] = []
    decorated = False
    for index in numbered:
        code = lines[index].lstrip()
        if _indent(lines[index]) > column or _CONTINUES.match(code):
            continue
        if not decorated:
            starts.append(index)
        decorated = code.startswith(b"@")
    return list(zip(starts, [*starts[1:], end]))


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip())
