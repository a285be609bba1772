"""The layout of facts: what one file says, without its path, as plain tuples that ``marshal`` can store.

``FileFacts`` is a dict::

    lines, parsed ("whole", "partial", "definitions"), error
    scopes   list of scope tuples; the module's own is first
    sites    list of call sites: (scope, line, token line, token column, callee, text, bound to, argument texts)
    stars    [(level, module, line)] of ``from m import *`` at module level
    imports  [(level, module, name or "", alias or "", line)], wherever they stand
    exports  ``__all__`` as a list of names, or None

A scope tuple is ``(kind, name, line, end line, parent, bindings, more)``: ``bindings`` maps a name to expressions, ``more``
is a dict whose keys depend on the kind (below).

Expressions are small tuples whose first item is a tag:

    ("n", id)                 a name, looked up where it stands
    ("a", base, name)         an attribute
    ("c", callee, args, kw)   a call; kw is a tuple of (name, expression), with "**" for a spread
    ("i", base, key)          a subscript
    ("s", text)  ("int", n)   constants whose value matters
    ("k", type)               a value of a built-in type
    ("L", kind, items)        a list or set display   ("T", items) a tuple   ("D", pairs) a dict display
    ("*", e)                  a starred element
    ("o", items)              one of several: conditional expressions, and/or
    ("b", op, left, right)    an operator   ("cmp", op, left, right) a comparison
    ("lc", kind, item)        a list, set or generator comprehension   ("dc", key, value)
    ("@", scope, e)           e, evaluated in another scope of the file
    ("f", scope)              a lambda      ("aw", e) await
    ("?",)                    nothing is known

Only in bindings:

    ("im", level, module, name)  an import        ("def", scope)  ("cls", scope)
    ("el", e)   an element of e                   ("en", e)   what ``with e as x`` binds
    ("ti", e, n) item n of e                      ("st", e)   a starred rest of e
    ("ann", a)  an instance of annotation a       ("exc", e)  a caught exception
    ("par", n)  parameter n of the scope          ("nar", e)  passed an isinstance check against e
"""

from __future__ import annotations

from typing import Any

EXTRACTOR_VERSION = 1
"""Part of every cache key and file id: raise it when extraction gives anything else for the same bytes."""

Expr = tuple[Any, ...]
FileFacts = dict[str, Any]

UNKNOWN: Expr = ("?",)

# Places in a scope tuple.
KIND, NAME, LINE, END_LINE, PARENT, BINDINGS, MORE = range(7)

# Places in a site tuple.
SCOPE, SITE_LINE, TOKEN_LINE, TOKEN_COL, CALLEE, TEXT, BOUND_TO, ARGUMENTS = range(8)

# Kinds of parameters, as in ``inspect``.
POSITIONAL, KEYWORD, VAR_POSITIONAL, VAR_KEYWORD = range(4)
