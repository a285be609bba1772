"""``open`` and file objects: text of the source is a constant, anything else is not known until the run."""

from __future__ import annotations

import re
from typing import Any

from cgx.indexer.interpreter.stdlib.files_in_tree import missing, read_bytes
from cgx.indexer.interpreter.stdlib.support import Args, Handler, Kwargs, bind, constant, first, lift, nothing, text_of
from cgx.indexer.interpreter.values import ListValue, Opaque, Sequence, Unknown, Value

DATA_FILE = re.compile(r"\.(txt|csv|tsv|jsonl|ndjson|bin|dat|parquet|arrow|h5|hdf5|npy|npz|wav|raw)(\.gz|\.bz2|\.xz|\.zst)?$", re.IGNORECASE)
WORDS_FILE = re.compile(r"vocab|merges|bpe|label|class|categor|names|readme|version|require|licen[cs]e|config|prompt|log", re.IGNORECASE)
WORKER = "torch.utils.data.worker"  # the scope in which an element of a data set is made
TEXT_FILE = "io.TextIOWrapper"
MAX_LINES = 2000  # longer files are data: they are iterated as a whole, not line by line


def open_path(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``open(path, mode)``: a file object that holds the content where it is known."""
    bound = bind("file mode buffering encoding", args, kwargs)
    mode = bound.get("mode", "r")
    if not isinstance(mode, str) or not any(char in mode for char in "wax+"):
        note_read(interp, site, bound.get("file"))

    def once(path: Value) -> Value:
        content: Value = None
        if not isinstance(mode, str) or not any(char in mode for char in "wax"):
            data = read_bytes(interp, path)
            if data is None:
                content = missing(site, path, "str")
            else:
                content = data if isinstance(mode, str) and "b" in mode else data.decode("utf-8", "replace")
        return Opaque(TEXT_FILE, {"name": path, "mode": mode, "__content__": content}, site.anchor)

    return lift(once, [bound.get("file")])


def _packed(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``gzip.open``: what is packed is not read."""
    found = open_path(interp, site, args, kwargs)
    if isinstance(found, Opaque) and isinstance(found.attrs.get("__content__"), str | bytes):
        found.attrs["__content__"] = Unknown(site.text, "data", site.anchor, "bytes")
    return found


def note_read(interp: Any, site: Any, path: Value) -> None:
    """A file of data that is opened, or any file that a sample is made of, is the first hop of the data path."""
    text = text_of(path) or ""
    in_worker = any(getattr(node, "qname", "") == WORKER for node in interp.stack)
    if in_worker or (DATA_FILE.search(text) and not WORDS_FILE.search(text.rpartition("/")[2])):
        interp.event("data", site, author="stdlib.files", hop="read", by="open", workers=0, asynchronous=False, blocks_step=True)


def note_bytes(interp: Any, site: Any, file: Opaque) -> None:
    """Raw bytes of a file whose name only the run tells, such as a shard: they stand where the file is opened."""
    mode = file.attrs.get("mode")
    if isinstance(mode, str) and "b" in mode and text_of(file.attrs.get("name")) is None and file.anchor is not None:
        event = interp.event("data", site, author="stdlib.files", hop="read", by="open", workers=0, asynchronous=False, blocks_step=True)
        event.anchor = file.anchor


def content_of(value: Value) -> Value:
    """What reading an open file, a text buffer, a string or bytes gives; None where it is none of them."""
    if isinstance(value, Opaque) and "__content__" in value.attrs:
        return value.attrs["__content__"]
    return value if isinstance(value, str | bytes | Unknown) else None


def _read(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    content = content_of(args[0])
    if isinstance(content, Unknown) and isinstance(args[0], Opaque) and args[0].qname == TEXT_FILE:
        note_bytes(interp, site, args[0])
    if isinstance(content, str | bytes) and len(args) == 1:
        return content
    if isinstance(content, str | bytes) and isinstance(args[1], int):
        return content[: args[1]] if args[1] >= 0 else content
    return content if isinstance(content, Unknown) else Unknown(site.text, "missing-file", site.anchor, "str")


def _lines(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    content = content_of(args[0])
    if isinstance(content, str | bytes):
        lines = content.splitlines(keepends=True)
        if len(lines) <= MAX_LINES:
            return ListValue(list(lines))
        name = text_of(args[0].attrs.get("name")) or site.text
        return Sequence(Unknown(f"line of {name}", "data", site.anchor, "str"), len(lines), "lines", site.anchor)
    settle = content.settle if isinstance(content, Unknown) else None
    name = content.name if isinstance(content, Unknown) else site.text
    length = Unknown(f"lines of {name}", "missing-file", site.anchor, "int", settle)
    return Sequence(
        Unknown(f"line of {name}", "missing-file", site.anchor, "str", settle), length, "lines", site.anchor
    )


def _line(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return Unknown(site.text, "missing-file", site.anchor, "str")


def _read_into(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``f.readinto(buffer)``: numbers of a file land in memory of the job's own."""
    interp.event("data", site, author="stdlib.files", hop="read", by="readinto", workers=0, asynchronous=False, blocks_step=True)
    return Unknown(site.text, "missing-file", site.anchor, "int")


def _buffer(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    content = args[0] if args else ""
    return Opaque(TEXT_FILE, {"name": "", "mode": "r", "__content__": content}, site.anchor)


def _archive(begins: tuple[bytes, ...], suffixes: tuple[str, ...]) -> Handler:
    """``is_zipfile(path)``: by the content where the source holds it, else by a suffix that is no archive's."""

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        path = args[0] if args else kwargs.get("filename", kwargs.get("name"))
        data, text = read_bytes(interp, path), text_of(path)
        if data is not None:
            return data.startswith(begins)
        if text is not None and not text.lower().endswith(suffixes) and "." in text.rpartition("/")[2]:
            return False
        return Unknown(site.text, "missing-file", site.anchor, "bool")

    return call


ENTRIES: dict[str, Handler] = {
    "zipfile.is_zipfile": _archive((b"PK",), (".zip", ".whl", ".npz", ".pt", ".pth", ".jar")),
    "tarfile.is_tarfile": _archive((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"ustar"), (".tar", ".tgz", ".gz", ".bz2", ".xz")),
    "open": open_path,
    "builtins.open": open_path,
    "io.open": open_path,
    "codecs.open": open_path,
    "gzip.open": _packed,
    "fsspec.open": open_path,
    "io.StringIO": _buffer,
    "io.BytesIO": _buffer,
    f"{TEXT_FILE}.read": _read,
    f"{TEXT_FILE}.readinto": _read_into,
    f"{TEXT_FILE}.readlines": _lines,
    f"{TEXT_FILE}.readline": _line,
    f"{TEXT_FILE}.__iter__": _lines,
    f"{TEXT_FILE}.__next__": _line,
    f"{TEXT_FILE}.getvalue": _read,
    f"{TEXT_FILE}.__enter__": first,
    f"{TEXT_FILE}.__exit__": nothing,
    f"{TEXT_FILE}.write": nothing,
    f"{TEXT_FILE}.writelines": nothing,
    f"{TEXT_FILE}.flush": nothing,
    f"{TEXT_FILE}.close": nothing,
    f"{TEXT_FILE}.seek": constant(0),
    f"{TEXT_FILE}.reconfigure": nothing,
    f"{TEXT_FILE}.isatty": constant(False),
    f"{TEXT_FILE}.fileno": lambda interp, site, args, kwargs: Unknown(site.text, "environment", site.anchor, "int"),
    f"{TEXT_FILE}.truncate": nothing,
    f"{TEXT_FILE}.readable": constant(True),
    f"{TEXT_FILE}.writable": constant(True),
}
BASES: dict[str, tuple[str, ...]] = {TEXT_FILE: ("io.IOBase",)}
