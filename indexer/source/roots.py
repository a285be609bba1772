"""Import roots: which folders of a tree Python would import from, and where a dotted name stands."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from cgx.indexer.source.base import Tree
from cgx.indexer.source.folder_tree import EnvironmentTree
from cgx.indexer.source.watched import Watched

CUSTOMARY = ("src", "lib", "python")
PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")

_known: WeakKeyDictionary[Tree, list[str]] = WeakKeyDictionary()  # trees do not change; a cache, not state


def source_roots(tree: Tree) -> list[str]:
    """Folders that are import roots, the tree's own first (``""``).

    A root is the folder round a top-level package, if it looks like one: named ``src``, ``lib`` or ``python``, with a
    project file, or with scripts beside the package. A folder inside a package is never one.
    """
    if isinstance(tree, EnvironmentTree):
        return [""]
    if isinstance(tree, Watched):
        return tree.ask(source_roots)
    if tree not in _known:
        _known[tree] = _find_roots(tree)
    return _known[tree]


def _find_roots(tree: Tree) -> list[str]:
    paths = tree.paths()
    packages = {path.rpartition("/")[0] for path in paths if path.rpartition("/")[2] == "__init__.py"}
    scripts = {
        path.rpartition("/")[0]
        for path in paths
        if path.endswith(".py") and path.rpartition("/")[2] not in ("__init__.py", "setup.py", "conftest.py")
    }
    found = set()
    for package in packages:
        parent = package.rpartition("/")[0]
        if not parent or _inside(parent, packages):
            continue
        if (
            parent.rpartition("/")[2] in CUSTOMARY
            or parent in scripts
            or any(tree.exists(f"{parent}/{name}") for name in PROJECT_FILES)
        ):
            found.add(parent)
    for name in CUSTOMARY:
        if name not in packages and (name in scripts or any(folder.startswith(f"{name}/") for folder in packages | scripts)):
            found.add(name)  # the packages in it may be without an __init__.py
    return [
        "",
        *sorted(found, key=lambda root: (root.count("/"), CUSTOMARY.index(root) if root in CUSTOMARY else 9, root)),
    ]


def installed_roots(tree: Tree) -> list[str]:
    """The roots that an installed project is imported from: named as such, or beside a project file."""
    return [
        root
        for root in source_roots(tree)
        if root.rpartition("/")[2] in CUSTOMARY or any(tree.exists(f"{root}/{name}" if root else name) for name in PROJECT_FILES)
    ]


def _inside(folder: str, packages: set[str]) -> bool:
    while folder:
        if folder in packages:
            return True
        folder = folder.rpartition("/")[0]
    return False


def find_module(tree: Tree, dotted: str, roots: list[str] | None = None) -> str | None:
    """The file a dotted name is imported from, or None. ``roots`` overrides the order (a script's own folder first)."""
    inner = dotted.replace(".", "/")
    for root in source_roots(tree) if roots is None else roots:
        base = f"{root}/{inner}" if root else inner
        for path in (base + "/__init__.py", base + ".py"):
            if tree.exists(path):
                return path
    return None


def module_name(path: str, roots: list[str]) -> str:
    """The dotted name of a file: relative to the deepest root that holds it."""
    best = max((root for root in roots if not root or path.startswith(root + "/")), key=len, default="")
    inner = path[len(best) + 1 :] if best else path
    inner = inner.removesuffix(".py").removesuffix(".pyi")
    inner = inner.removesuffix("/__init__") if inner != "__init__" else ""
    return inner.replace("/", ".")
