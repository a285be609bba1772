"""Modules of the source and of the standard library's stubs, and how imports find them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cgx.indexer.names.facts import FileFacts
from cgx.indexer.names.values import Class, Function, Scope
from cgx.indexer.source.roots import module_name


class Module:
    """One file as a module. ``published`` is the name that qualified names start with."""

    __slots__ = ("_scopes", "facts", "name", "package", "path", "published", "standard", "stars")

    def __init__(
        self, name: str, path: str, facts: FileFacts, standard: bool = False, published: str | None = None
    ) -> None:
        self.name, self.path, self.facts, self.standard = name, path, facts, standard
        self.published = name if published is None else published
        self.package = path.endswith(("/__init__.py", "/__init__.pyi")) or path in ("__init__.py", "__init__.pyi")
        self._scopes: list[Scope] | None = None
        self.stars: tuple[Module | str, ...] | None = None  # modules (or external names) that are star-imported

    @property
    def scopes(self) -> list[Scope]:
        """All scopes, the module's own first; classes and functions made with them."""
        if self._scopes is None:
            made: list[Scope] = []
            for index, fact in enumerate(self.facts["scopes"]):
                parent = made[fact[4]] if fact[4] >= 0 else None
                scope = Scope(self, index, fact, parent)
                if scope.kind == "class":
                    scope.owner = Class(scope)
                elif scope.kind in ("function", "lambda"):
                    holder = parent.owner if parent is not None and parent.kind == "class" else None
                    scope.owner = Function(scope, holder if isinstance(holder, Class) else None)
                made.append(scope)
            self._scopes = made
        return self._scopes

    @property
    def top(self) -> Scope | None:
        """The module's own scope; None for a file of which nothing parsed."""
        scopes = self.scopes
        return scopes[0] if scopes else None

    def dispose(self) -> None:
        """See :meth:`Modules.dispose`."""
        for scope in self._scopes or ():
            scope.memo.clear()
            owner, scope.owner = scope.owner, None
            if isinstance(owner, Class):
                owner.members.clear()
                owner.mro = None
                del owner.instance, owner.declared
            elif isinstance(owner, Function):
                owner.result = None
        self._scopes = None

    def absolute(self, level: int, name: str) -> str:
        """The absolute name that a relative import means here."""
        if level == 0:
            return name
        parts = self.name.split(".") if self.name else []
        if not self.package and parts:
            parts = parts[:-1]
        parts = parts[: len(parts) - (level - 1)] if level > 1 else parts
        return ".".join([*parts, name]) if name else ".".join(parts)


class Modules:
    """Every module that can be imported, by name. Those of the standard library are loaded when first asked for."""

    def __init__(
        self, files: Iterable[tuple[str, FileFacts]], roots: list[str], load: Callable[[str], Module | None]
    ) -> None:
        self.files: list[Module] = []
        self._by_name: dict[str, Module] = {}
        self._by_path: dict[str, Module] = {}
        self._load = load
        self._folders: set[str] = set()
        taken: set[str] = set()
        for path, facts in files:
            name = module_name(path, roots)
            if name in taken:  # two roots hold one name: the second goes by its full path
                name = module_name(path, [""])
            taken.add(name)
            module = Module(name, path, facts)
            self.files.append(module)
            self._by_path[path] = module
        for module in self.files:
            self._by_name.setdefault(module.name, module)
        for module in self.files:  # the name from the top of the tree works too, where nothing better has it
            self._by_name.setdefault(module_name(module.path, [""]), module)
        for name in list(self._by_name):
            while "." in name:
                name = name.rpartition(".")[0]
                self._folders.add(name)

    def at(self, path: str) -> Module | None:
        return self._by_path.get(path)

    def source(self, name: str) -> Module | None:
        """A module of the source by its absolute name."""
        return self._by_name.get(name)

    def is_folder(self, name: str) -> bool:
        """A namespace package: a folder without ``__init__.py`` that holds modules of the source."""
        return name in self._folders and name not in self._by_name

    def standard(self, name: str) -> Module | None:
        """A module of the standard library."""
        return self._load(name)

    def dispose(self) -> None:
        """Break the cycles among scopes and classes, so that a program goes when it is let go of, not when garbage is
        collected. Nothing can be asked of it afterwards."""
        for module in self.files:
            module.dispose()

    def find(self, importer: Module, level: int, name: str) -> Module | None:
        """What an import in ``importer`` gets: the source first, beside a script too, then the standard library."""
        wanted = importer.absolute(level, name)
        if importer.standard:
            return self.standard(wanted)
        found = self._by_name.get(wanted)
        if found is not None or level:
            return found if found is not None else self._relative(importer, level, name)
        folder = importer.path.rpartition("/")[0]
        beside = f"{folder}/{name.replace('.', '/')}" if folder else name.replace(".", "/")
        found = self._by_path.get(beside + ".py") or self._by_path.get(beside + "/__init__.py")
        if found is not None and found is not importer:
            return found
        return self.standard(wanted)

    def _relative(self, importer: Module, level: int, name: str) -> Module | None:
        """A relative import by path: right even where the dotted name of the importer is not what it runs under."""
        parts = importer.path.split("/")[:-level]
        base = "/".join([*parts, *name.split(".")] if name else parts)
        return self._by_path.get(base + ".py") or self._by_path.get(base + "/__init__.py" if base else "__init__.py")
