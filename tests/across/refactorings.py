"""Scripted refactorings with a known answer: every statement line carries a marker comment that says where it went."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterator

MARK = re.compile(r"\s*#@(\w+)$")
Files = dict[str, str]  # path -> text with markers

NOUNS = ["batch", "mask", "query", "key", "value", "state", "token", "weight", "score", "layer"]
CALLS = ["project", "scale", "shift", "rotate", "gather", "merge", "clip", "drop", "fuse", "pack"]


def statement(rng: random.Random, names: list[str]) -> str:
    target, source, other = rng.choice(names), rng.choice(names), rng.choice(names)
    call = rng.choice(CALLS)
    return rng.choice(
        [
            f"{target} = self.{call}({source}, {rng.randint(1, 99)})",
            f"{target} = {source} + {other} * {rng.randint(2, 99)}",
            f"{target} = torch.{call}({source}.view(-1, {rng.randint(2, 999)}), dim={rng.randint(0, 3)})",
            f"self.{call}_{target} = {source}.{call}({other}, scale={rng.randint(1, 99)})",
        ]
    )


def function(rng: random.Random, name: str, indent: str, method: bool = True) -> list[str]:
    names = rng.sample(NOUNS, 4)
    rows = [f"{indent}def {name}({'self, ' if method else ''}{', '.join(names[:2])}):"]
    for _ in range(rng.randint(3, 7)):
        rows.append(f"{indent}    {statement(rng, names)}")
        if rng.random() < 0.2:
            rows.append(f"{indent}    if {names[0]}.sum() > {rng.randint(1, 99)}:")
            rows.append(f"{indent}        {statement(rng, names)}")
    rows.append(f"{indent}    return {names[0]}")
    return rows


def project(seed: int) -> Files:
    """Three modules with classes and functions."""
    rng = random.Random(seed)
    files: Files = {}
    number = 0
    for path in ("model.py", "layers.py", "train.py"):
        rows = ["import torch", ""]
        for c in range(2):
            rows += ["", f"class {path[0].upper()}Block{c}(Base):"]
            for m in range(rng.randint(2, 3)):
                rows += [*function(rng, f"{rng.choice(CALLS)}_{m}", "    "), ""]
        for f in range(2):
            rows += ["", *function(rng, f"{path[:-3]}_{rng.choice(CALLS)}_{f}", "", False), ""]
        marked = []
        for row in rows:
            if row.strip():
                number += 1
                row = f"{row}  #@m{number}"
            marked.append(row)
        files[path] = "\n".join(marked) + "\n"
    return files


def symbols(text: str) -> dict[int, str]:
    """Line -> symbol of the innermost definition."""
    found: dict[int, str] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                name = f"{prefix}{child.name}"
                for line in range(child.lineno, (child.end_lineno or child.lineno) + 1):
                    found[line] = name
                visit(child, f"{name}.")
            else:
                visit(child, prefix)

    visit(ast.parse(text), "")
    return found


def places(files: Files) -> dict[str, str]:
    """Marker -> anchor. A marker that stands twice (duplicated code) has the first place alone."""
    found: dict[str, str] = {}
    for path, text in files.items():
        owner = symbols(text)
        for number, row in enumerate(text.splitlines(), 1):
            mark = MARK.search(row)
            if mark:
                found.setdefault(mark[1], f"{path}:{owner.get(number, '<module>')}:{number}")
    return found


def bare(files: Files) -> Files:
    """Without the markers; line ends stay."""
    return {path: re.sub(r"[ \t]*#@\w+(?=\r?$)", "", text, flags=re.M) for path, text in files.items()}


def definitions(text: str, kind: type = ast.FunctionDef) -> list[tuple[str, int, int]]:
    """(name, first row, behind last row), 0-based, of the definitions at the top of the file."""
    return [(n.name, n.lineno - 1, n.end_lineno or n.lineno) for n in ast.parse(text).body if isinstance(n, kind)]


def methods(text: str) -> list[tuple[str, str, int, int]]:
    return [
        (c.name, n.name, n.lineno - 1, n.end_lineno or n.lineno)
        for c in ast.parse(text).body
        if isinstance(c, ast.ClassDef)
        for n in c.body
        if isinstance(n, ast.FunctionDef)
    ]


# ------------------------------------------------------------------ refactorings


def shift(files: Files, rng: random.Random) -> Files:
    path = rng.choice(sorted(files))
    rows = files[path].splitlines()
    for _ in range(rng.randint(1, 5) if rows else 0):
        at = rng.choice([i for i, row in enumerate(rows) if not row.strip() or row.startswith(("import", "class", "def"))])
        rows[at:at] = [f"NEW_{rng.randint(0, 9999)} = {rng.randint(0, 9999)}", "# a comment", ""]
    return {**files, path: "\n".join(rows) + "\n"} if parses("\n".join(rows)) else files


def reindent(files: Files, rng: random.Random) -> Files:
    path = rng.choice(sorted(files))
    rows = files[path].splitlines()
    if not definitions(files[path]):
        return files
    _, first, last = rng.choice(definitions(files[path]))
    inner = [f"    {row}" if row.strip() else row for row in rows[first + 1 : last]]
    return {**files, path: "\n".join([*rows[: first + 1], "    with torch.no_grad():", *inner, *rows[last:]]) + "\n"}


def rename_symbol(files: Files, rng: random.Random) -> Files:
    path = rng.choice(sorted(files))
    text = files[path]
    names = [name for name, _, _ in definitions(text)] + [name for name, _, _ in definitions(text, ast.ClassDef)]
    if not names:
        return files
    name = rng.choice(names)
    return {p: re.sub(rf"\b{name}\b", f"{name}_renamed", t) for p, t in files.items()}


def rename_file(files: Files, rng: random.Random) -> Files:
    path = rng.choice(sorted(files))
    return {(f"new_{p}" if p == path else p): t for p, t in files.items()}


def move_function(files: Files, rng: random.Random) -> Files:
    path, target = rng.sample(sorted(files), 2)
    rows = files[path].splitlines()
    if not definitions(files[path]):
        return files
    _, first, last = rng.choice(definitions(files[path]))
    moved = rows[first:last]
    return {**files, path: "\n".join(rows[:first] + rows[last:]) + "\n", target: files[target] + "\n\n" + "\n".join(moved) + "\n"}


def move_class(files: Files, rng: random.Random) -> Files:
    path, target = rng.sample(sorted(files), 2)
    rows = files[path].splitlines()
    if not definitions(files[path], ast.ClassDef):
        return files
    _, first, last = rng.choice(definitions(files[path], ast.ClassDef))
    moved = rows[first:last]
    return {**files, path: "\n".join(rows[:first] + rows[last:]) + "\n", target: files[target] + "\n\n" + "\n".join(moved) + "\n"}


def extract_method(files: Files, rng: random.Random) -> Files:
    path = rng.choice(sorted(files))
    rows = files[path].splitlines()
    if not methods(files[path]):
        return files
    _, name, first, last = rng.choice(methods(files[path]))
    body = [i for i in range(first + 1, last - 1) if rows[i].startswith("        ") and not rows[i].startswith("         ")]
    if len(body) < 3:
        return files
    start, stop = body[0], body[2]
    taken = rows[start:stop]
    call = f"        self.{name}_part(batch)"
    extracted = ["", f"    def {name}_part(self, batch):", *taken]
    text = "\n".join([*rows[:start], call, *rows[stop:last], *extracted, *rows[last:]]) + "\n"
    return {**files, path: text} if parses(text) else files


def inline(files: Files, rng: random.Random) -> Files:
    path = rng.choice(sorted(files))
    rows = files[path].splitlines()
    if len(definitions(files[path])) < 2:
        return files
    (_, one, one_end), (_, two, _two_end) = definitions(files[path])[:2]
    body = rows[one + 1 : one_end - 1]
    text = "\n".join([*rows[:one], *rows[one_end : two + 1], *body, *rows[two + 1 :]]) + "\n"
    return {**files, path: text} if parses(text) else files


def swap(files: Files, rng: random.Random) -> Files:
    path = rng.choice(sorted(files))
    rows = files[path].splitlines()
    if len(definitions(files[path])) < 2:
        return files
    (_, one, one_end), (_, two, two_end) = definitions(files[path])[:2]
    text = "\n".join([*rows[:one], *rows[two:two_end], *rows[one_end:two], *rows[one:one_end], *rows[two_end:]]) + "\n"
    return {**files, path: text}


def duplicate(files: Files, rng: random.Random) -> Files:
    path = rng.choice(sorted(files))
    rows = files[path].splitlines()
    if not definitions(files[path]):
        return files
    name, first, last = rng.choice(definitions(files[path]))
    copy = [MARK.sub("", row) for row in rows[first:last]]
    copy[0] = copy[0].replace(name, f"{name}_copy")
    return {**files, path: files[path] + "\n\n" + "\n".join(copy) + "\n"}


def delete(files: Files, rng: random.Random) -> Files:
    path = rng.choice(sorted(files))
    rows = files[path].splitlines()
    if rng.random() < 0.5:
        if not definitions(files[path]):
            return files
        _, first, last = rng.choice(definitions(files[path]))
        return {**files, path: "\n".join(rows[:first] + rows[last:]) + "\n"}
    simple = [i for i, row in enumerate(rows) if " = " in row and row.startswith("    ")]
    if not simple:
        return files
    del rows[rng.choice(simple)]
    text = "\n".join(rows) + "\n"
    return {**files, path: text} if parses(text) else files


def reformat(files: Files, rng: random.Random) -> Files:
    """Calls with two arguments broken over lines, quotes and blank lines changed, as a formatter would."""
    out: Files = {}
    for path, text in files.items():
        rows = []
        for row in text.splitlines():
            mark = MARK.search(row)
            plain = MARK.sub("", row)
            indent = plain[: len(plain) - len(plain.lstrip())]
            match = re.fullmatch(r"(\s*)(self\.\w+|\w+) = ([\w.]+)\((.+), ([^,]+)\)", plain)
            if match and match[4].count("(") == match[4].count(")") and rng.random() < 0.6:
                rows.append(f"{match[1]}{match[2]} = {match[3]}({'  #@' + mark[1] if mark else ''}")
                rows += [f"{indent}    {match[4]},", f"{indent}    {match[5]},", f"{indent})"]
            else:
                rows.append(row)
        candidate = "\n".join(rows) + "\n"
        out[path] = candidate if parses(candidate) else text
    return out


def edit(files: Files, rng: random.Random) -> Files:
    path = rng.choice(sorted(files))
    rows = files[path].splitlines()
    simple = [i for i, row in enumerate(rows) if " = " in row and re.search(r"\d+", MARK.sub("", row))]
    if not simple:
        return files
    at = rng.choice(simple)
    mark = MARK.search(rows[at])
    body = MARK.sub("", rows[at])
    rows[at] = re.sub(r"\d+(?!.*\d)", "1234", body) + (f"  #@{mark[1]}" if mark else "")
    return {**files, path: "\n".join(rows) + "\n"}


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


REFACTORINGS: dict[str, Callable[[Files, random.Random], Files]] = {
    "shift": shift,
    "reindent": reindent,
    "rename symbol": rename_symbol,
    "rename file": rename_file,
    "move function": move_function,
    "move class": move_class,
    "extract method": extract_method,
    "inline": inline,
    "swap": swap,
    "duplicate": duplicate,
    "delete": delete,
    "reformat": reformat,
    "edit": edit,
}


def histories(count: int, seed: int = 0) -> Iterator[tuple[str, Files, Files]]:
    """(what was done, before, after): each refactoring alone, then combinations of two and three."""
    from more_refactorings import MORE

    rng = random.Random(seed)
    all_of = {**REFACTORINGS, **MORE}
    names = sorted(all_of)
    for number in range(count):
        before = project(rng.randint(0, 10**9))
        chosen = [names[number % len(names)]] if number < len(names) * 2 else rng.sample(names, rng.choice((2, 3)))
        after = before
        for name in chosen:
            done = all_of[name](after, rng)
            after = done if all(parses(text) for text in done.values()) else after
        yield " + ".join(chosen), before, after


__all__ = ["REFACTORINGS", "bare", "histories", "places"]
