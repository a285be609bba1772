"""Models of the standard library and of NumPy, as handler tables.

A table is a module with some of:

- ``ENTRIES``: qualified name -> ``handler(interp, site, args, kwargs) -> Value``; the receiver of a method is ``args[0]``;
- ``BASES``: class -> its modelled bases;
- ``CONSTANTS``: qualified name -> value, for names that are read and not called;
- ``MAKERS``: qualified name -> ``maker(interp) -> Value``, for those that belong to one run (``sys.argv``).

Functions without effect call Python's own where every argument is a constant; what only the run knows is an Unknown.
"""

from types import ModuleType

from cgx.indexer.interpreter.stdlib import (
    arguments,
    arithmetic,
    arrays,
    chance,
    context_variables,
    environ,
    files,
    formats,
    imports,
    iteration,
    package_listing,
    path_objects,
    paths,
    process,
    reflection,
    talk,
    texts,
    versions,
)

TABLES: tuple[ModuleType, ...] = (
    arguments,
    arithmetic,
    arrays,
    chance,
    environ,
    context_variables,
    files,
    formats,
    imports,
    iteration,
    package_listing,
    path_objects,
    paths,
    process,
    reflection,
    talk,
    texts,
    versions,
)
