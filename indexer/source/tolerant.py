"""What can be kept of a file that Python itself does not parse.

Tree-sitter finds the statements; the smallest ones that are wrong are blanked out (lines keep their numbers) until Python
parses the rest. Where that does not converge, each statement is parsed alone. A bracket that is never closed swallows what
follows it in any grammar, so a reading by indentation is tried too; the reading that keeps most is taken.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from cgx.indexer.source.indented import by_indentation
from cgx.indexer.source.pieces import parse_bytes, shifted

MAX_ROUNDS = 40  # statements blanked one after the other before each is parsed alone

_DEFINITION = re.compile(rb"^(?:class|def|async[ \t]+def)[ \t]+\w+[^\r\n]*|^(?:import|from)[ \t][^\r\n]*", re.M)


def tolerant(text: str) -> ast.Module:
    """A module of the statements that are good; empty where none is."""
    data = text.encode("utf-8", "surrogatepass")
    root = _tree(data)
    data = _without_type_parameters(root, data)
    read = _blanking(root, data) or _each_alone(root, data)
    other = by_indentation(data)
    return other if _kept(other) > _kept(read) else read


def _kept(tree: ast.Module) -> tuple[int, int]:
    nodes = list(ast.walk(tree))
    return sum(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for node in nodes), len(nodes)


def _blanking(root: Any, data: bytes) -> ast.Module | None:
    blanked = bytearray(data)
    for node in _bad_statements(root):
        _blank(blanked, node)
    for _ in range(MAX_ROUNDS):
        try:
            return parse_bytes(bytes(blanked))
        except SyntaxError as error:
            node = _statement_at(root, (error.lineno or 1) - 1, blanked)
            if node is None:
                break
            _blank(blanked, node)
        except (ValueError, RecursionError, MemoryError):
            break
    return None


def _without_type_parameters(root: Any, data: bytes) -> bytes:
    """PEP 695's ``[T]`` after a name, which Python 3.11 does not read, as spaces."""
    plain = bytearray(data)
    for node in _walk(root):
        if node.type == "type_parameter" and node.parent.type in ("function_definition", "class_definition"):
            plain[node.start_byte : node.end_byte] = re.sub(rb"[^\r\n]", b" ", data[node.start_byte : node.end_byte])
    return bytes(plain)


def definitions_only(text: str) -> ast.Module:
    """Imports, and headers of classes and functions, at the top level of a file too large to read in full."""
    data = text.encode("utf-8", "surrogatepass")
    body: list[ast.stmt] = []
    line, position = 1, 0
    for match in _DEFINITION.finditer(data):
        line += data.count(b"\n", position, match.start())
        position = match.start()
        source = match.group().rstrip()
        if not source.startswith((b"import", b"from")):
            source = source.partition(b"#")[0].rstrip()
            source = source + b" ..." if source.endswith(b":") else re.split(rb"[(:]", source)[0]
            if not source.endswith(b"..."):
                source += b": ..." if source.startswith(b"class") else b"(*args, **kwargs): ..."
        body.extend(shifted(source, line - 1))
    return ast.Module(body=body, type_ignores=[])


def _tree(data: bytes) -> Any:
    import tree_sitter
    import tree_sitter_python

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_python.language())).parse(data).root_node


def _is_statement(node: Any) -> bool:
    return node.parent is not None and (
        node.parent.type in ("module", "block") or (node.parent.type == "ERROR" and _looks_like_one(node))
    )


def _looks_like_one(node: Any) -> bool:
    return str(node.type).endswith(("_statement", "_definition"))


def _walk(node: Any) -> Iterator[Any]:
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def _bad_statements(root: Any) -> list[Any]:
    """The smallest statement round each error."""
    found: dict[tuple[int, int], Any] = {}
    for node in _walk(root):
        if not (node.is_error or node.is_missing):
            continue
        place = node
        while place.parent is not None and not _is_statement(place):
            place = place.parent
        if place.parent is None:
            place = node
        found[(place.start_byte, place.end_byte)] = place
    spans = sorted(found)
    return [found[span] for span in spans if not any(_holds(span, other) for other in spans)]


def _holds(outer: tuple[int, int], inner: tuple[int, int]) -> bool:
    return outer != inner and outer[0] <= inner[0] and inner[1] <= outer[1]


def _statement_at(root: Any, row: int, blanked: bytearray) -> Any:
    """The smallest statement on a line that was not blanked yet."""
    best = None
    for node in _walk(root):
        if node.start_point[0] <= row <= node.end_point[0] and _is_statement(node):
            left = blanked[node.start_byte : node.end_byte].strip()
            if left and left != b"pass" and (best is None or _size(node) <= _size(best)):
                best = node
    return best


def _size(node: Any) -> int:
    return int(node.end_byte - node.start_byte)


def _blank(data: bytearray, node: Any) -> None:
    """Overwrite a statement by ``pass`` and spaces; line ends stay."""
    start, end = node.start_byte, node.end_byte
    for index in range(start, end):
        if data[index] not in b"\r\n":
            data[index] = 0x20
    line_end = start
    while line_end < end and data[line_end] not in b"\r\n":
        line_end += 1
    if line_end - start >= 4:
        data[start : start + 4] = b"pass"
    elif line_end - start >= 1:
        data[start : start + 1] = b"0"  # a short statement: any expression will do


def _each_alone(root: Any, data: bytes) -> ast.Module:
    body: list[ast.stmt] = []
    pending = list(reversed(root.children))
    while pending:
        node = pending.pop()
        good = shifted(data[node.start_byte : node.end_byte], node.start_point[0], node.start_point[1])
        if good:
            body.extend(good)
        else:
            pending.extend(reversed([child for child in node.children if child.child_count or _looks_like_one(child)]))
    return ast.Module(body=body, type_ignores=[])
