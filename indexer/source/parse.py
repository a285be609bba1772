"""Bytes of a Python file to a syntax tree. Never fails: what does not parse is cut out, and the result says so."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from dataclasses import dataclass, field

from cgx.indexer.source.deep import run_deep

HUGE_BYTES = 1_000_000
HUGE_LINES = 20_000
_NEWLINE = re.compile("\r\n|\r|\n")


@dataclass(slots=True)
class Parsed:
    """A parsed file.

    ``partial`` means that ``tree`` does not hold all of the file; ``error`` says why, and is also set where the encoding
    had to be assumed. Columns in ``tree`` count UTF-8 bytes of ``text``. ``tree`` is None only where nothing was parsed.
    """

    tree: ast.Module | None
    partial: bool = False
    error: str = ""
    text: str = ""
    _lines: list[str] | None = field(default=None, repr=False)

    @property
    def lines(self) -> list[str]:
        """The text's lines as Python counts them (not as ``str.splitlines`` does)."""
        if self._lines is None:
            self._lines = _NEWLINE.split(self.text)
        return self._lines


def parse(data: bytes, path: str = "") -> Parsed:
    """Parse a file's bytes. ``path`` only tells notebooks from modules."""
    if path.endswith(".ipynb"):
        from cgx.indexer.source.notebook import notebook_source

        data, trouble = notebook_source(data)
        parsed = parse(data)
        parsed.error = parsed.error or trouble
        return parsed
    text, trouble = decode(data)
    if len(data) > HUGE_BYTES or text.count("\n") > HUGE_LINES:
        from cgx.indexer.source.tolerant import definitions_only

        return Parsed(definitions_only(text), True, "huge file: top-level definitions only", text)
    tree, error = _strict(text)
    if tree is not None:
        return Parsed(tree, "NUL" in trouble, trouble, text)
    from cgx.indexer.source.tolerant import tolerant

    return Parsed(tolerant(text), True, error if not trouble else f"{trouble}; {error}", text)


def decode(data: bytes) -> tuple[str, str]:
    """Text of a source file, and what had to be assumed to get it (empty where nothing)."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text, trouble = data.decode("utf-16", "replace"), "encoding is UTF-16, which Python does not read"
    else:
        text, trouble = _decode_python(data)
    if "\0" in text:
        text, trouble = text.replace("\0", " "), "NUL bytes, read as spaces"
    return text, trouble


def _decode_python(data: bytes) -> tuple[str, str]:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding), ""
    except (SyntaxError, UnicodeDecodeError, LookupError):
        pass
    try:
        return data.decode("utf-8-sig"), "encoding is not the declared one, read as UTF-8"
    except UnicodeDecodeError:
        return data.decode("latin-1"), "encoding is not UTF-8 and not declared, read as Latin-1"


def _strict(text: str) -> tuple[ast.Module | None, str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run_deep(lambda: ast.parse(text)), ""
    except SyntaxError as error:
        return None, f"{type(error).__name__} at line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return None, f"{type(error).__name__}: {error}"
