"""More scripted refactorings: formatters, documentation, annotations, and moves between classes, files and packages."""

from __future__ import annotations

import ast
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

from refactorings import MARK, Files, definitions, methods, parses

RUFF = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")


def text_of(rows: list[str]) -> str:
    return "\n".join(rows) + "\n"


def plain(text: str) -> str:
    return text_of([MARK.sub("", row) for row in text.splitlines()])


def statements(text: str) -> list[int]:
    """First lines of all statements, in the order of the syntax tree, which a formatter keeps."""
    return [node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt) and not documents(node)]


def documents(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def marked_again(old: str, new: str) -> str:
    """Marks of the old text on the statements of the new one, which differs in its form only."""
    rows, before, fresh = old.splitlines(), statements(old), new.splitlines()
    after = statements(new)
    assert len(before) == len(after)
    for here, there in zip(before, after):
        mark = MARK.search(rows[here - 1])
        if mark and not MARK.search(fresh[there - 1]):
            fresh[there - 1] += f"  #@{mark[1]}"
    return text_of(fresh)


def ruff(files: Files, rng: random.Random) -> Files:
    """As ruff (black) writes it, with short lines so that much is broken. Without ruff: as the syntax tree is written out."""
    length = rng.choice((36, 48, 60))
    out: Files = {}
    for path, text in files.items():
        if RUFF:
            words = [RUFF, "format", "--isolated", "--line-length", str(length), "-"]
            new = subprocess.run(words, input=plain(text), capture_output=True, text=True, check=True).stdout
        else:
            new = ast.unparse(ast.parse(plain(text))) + "\n"
        out[path] = marked_again(text, new)
    return out


def tabs(files: Files, rng: random.Random) -> Files:
    path = rng.choice(sorted(files))
    rows = [re.sub(r"^(    )+", lambda m: "\t" * (len(m[0]) // 4), row) for row in files[path].splitlines()]
    return {**files, path: text_of(rows)} if parses(text_of(rows)) else files


def crlf(files: Files, rng: random.Random) -> Files:
    path = rng.choice(sorted(files))
    return {**files, path: files[path].replace("\r\n", "\n").replace("\n", "\r\n")}


def comments(files: Files, rng: random.Random) -> Files:
    path = rng.choice(sorted(files))
    rows: list[str] = []
    for row in files[path].splitlines():
        indent = row[: len(row) - len(row.lstrip())]
        if row.strip() and rng.random() < 0.3:
            rows.append(f"{indent}# note {rng.randint(0, 99)}")
        rows.append(row)
    return {**files, path: text_of(rows)} if parses(text_of(rows)) else files


def docstrings(files: Files, rng: random.Random) -> Files:
    path = rng.choice(sorted(files))
    rows: list[str] = []
    for row in files[path].splitlines():
        rows.append(row)
        if MARK.sub("", row).rstrip().endswith(":") and re.match(r"\s*(def|class) ", row) and rng.random() < 0.7:
            indent = row[: len(row) - len(row.lstrip())] + "    "
            rows += [f'{indent}"""What it does {rng.randint(0, 99)}.', "", f'{indent}And how."""']
    return {**files, path: text_of(rows)} if parses(text_of(rows)) else files


def annotations(files: Files, rng: random.Random) -> Files:
    path = rng.choice(sorted(files))
    rows: list[str] = []
    for row in files[path].splitlines():
        if re.match(r"\s*def \w+\(.*\):", row):
            head, _, rest = row.partition("(")
            inner, _, tail = rest.rpartition("):")
            names = [name.strip() for name in inner.split(",")]
            typed = [name if name == "self" or ":" in name else f"{name}: torch.Tensor" for name in names]
            row = f"{head}({', '.join(typed)}) -> torch.Tensor:{tail}"
        elif rng.random() < 0.2:
            row = re.sub(r"^(\s+)(\w+) = ", r"\1\2: torch.Tensor = ", row)
        rows.append(row)
    return {**files, path: text_of(rows)} if parses(text_of(rows)) else files


def decorators(files: Files, rng: random.Random) -> Files:
    path = rng.choice(sorted(files))
    rows: list[str] = []
    for row in files[path].splitlines():
        if re.match(r"\s*def ", row) and rng.random() < 0.5:
            rows.append(f"{row[: len(row) - len(row.lstrip())]}@torch.no_grad()")
        rows.append(row)
    return {**files, path: text_of(rows)}


def class_to_functions(files: Files, rng: random.Random) -> Files:
    """The methods of a class become functions; the class is gone."""
    path = rng.choice(sorted(files))
    rows = files[path].splitlines()
    classes = definitions(files[path], ast.ClassDef)
    if not classes:
        return files
    _, first, last = rng.choice(classes)
    inner = [row.removeprefix("    ") for row in rows[first + 1 : last]]
    text = text_of([*rows[:first], *inner, *rows[last:]])
    return {**files, path: text} if parses(text) and unique(text) else files


def unique(text: str) -> bool:
    names = [name for kind in (ast.FunctionDef, ast.ClassDef) for name, _, _ in definitions(text, kind)]
    return len(names) == len(set(names))


def pull_up(files: Files, rng: random.Random) -> Files:
    """A method goes to a new class that its class now inherits from."""
    path = rng.choice(sorted(files))
    rows = files[path].splitlines()
    found = methods(files[path])
    if not found:
        return files
    cls, _, first, last = rng.choice(found)
    if sum(1 for other, *_ in found if other == cls) < 2:
        return files
    head = next(i for i, row in enumerate(rows) if row.startswith(f"class {cls}("))
    taken, base = rows[first:last], f"{cls}Shared"
    rows[first:last] = []
    rows[head] = rows[head].replace(f"class {cls}(Base)", f"class {cls}({base})")
    rows[head:head] = [f"class {base}(Base):", *taken, "", ""]
    text = text_of(rows)
    return {**files, path: text} if parses(text) else files


def to_package(files: Files, rng: random.Random) -> Files:
    """A file becomes a package: classes in one module, functions in another, both given on by ``__init__``."""
    path = rng.choice(sorted(files))
    if "/" in path:
        return files
    rows, name = files[path].splitlines(), path.removesuffix(".py")
    classes, functions = definitions(files[path], ast.ClassDef), definitions(files[path])
    if not classes or not functions:
        return files
    parts = {"blocks": classes, "functions": functions}
    out = {other: text for other, text in files.items() if other != path}
    kept = set(range(len(rows)))
    for part, found in parts.items():
        inner: list[str] = []
        for _, first, last in found:
            inner += ["", "", *rows[first:last]]
            kept -= set(range(first, last))
        out[f"{name}/{part}.py"] = text_of(["import torch", *inner])
    exports = [f"from .{part} import {', '.join(item[0] for item in found)}" for part, found in parts.items()]
    out[f"{name}/__init__.py"] = text_of([*(rows[i] for i in sorted(kept)), *exports])
    return out if all(parses(text) for text in out.values()) else files


def extract_to_file(files: Files, rng: random.Random) -> Files:
    """Three statements of a function go to a new function in a new file."""
    path = rng.choice(sorted(files))
    rows = files[path].splitlines()
    if not definitions(files[path]) or "helpers.py" in files:
        return files
    name, first, last = rng.choice(definitions(files[path]))
    body = [i for i in range(first + 1, last - 1) if re.match(r"    \S", rows[i])]
    if len(body) < 3:
        return files
    start, stop = body[0], body[2]
    helper = text_of(["import torch", "", "", f"def {name}_helper(batch):", *rows[start:stop], "    return batch"])
    text = text_of([*rows[:start], f"    batch = {name}_helper(batch)", *rows[stop:]])
    return {**files, path: text, "helpers.py": helper} if parses(text) and parses(helper) else files


def copy_file(files: Files, rng: random.Random) -> Files:
    path = rng.choice(sorted(files))
    return {**files, f"copy_of_{path.replace('/', '_')}": plain(files[path])}


def rename_local(files: Files, rng: random.Random) -> Files:
    path = rng.choice(sorted(files))
    rows = files[path].splitlines()
    found = [(first, last) for _, first, last in definitions(files[path])] + [(first, last) for *_, first, last in methods(files[path])]
    if not found:
        return files
    first, last = rng.choice(found)
    name = rng.choice(["batch", "mask", "query", "key", "value", "state", "token", "weight"])
    changed = [re.sub(rf"(?<![.\w]){name}\b", f"{name}_new", row) for row in rows[first:last]]
    return {**files, path: text_of([*rows[:first], *changed, *rows[last:]])}


def guard(files: Files, rng: random.Random) -> Files:
    """Part of a body goes under a condition."""
    path = rng.choice(sorted(files))
    rows = files[path].splitlines()
    if not methods(files[path]):
        return files
    *_, first, last = rng.choice(methods(files[path]))
    inner = [f"    {row}" if row.strip() else row for row in rows[first + 1 : last - 1]]
    text = text_of([*rows[: first + 1], "        if self.training:", *inner, *rows[last - 1 :]])
    return {**files, path: text} if parses(text) else files


MORE = {
    "ruff": ruff,
    "tabs": tabs,
    "crlf": crlf,
    "comments": comments,
    "docstrings": docstrings,
    "annotations": annotations,
    "decorators": decorators,
    "class to functions": class_to_functions,
    "pull up": pull_up,
    "to package": to_package,
    "extract to file": extract_to_file,
    "copy file": copy_file,
    "rename local": rename_local,
    "guard": guard,
}
