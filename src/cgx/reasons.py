"""Why a value is not known: one row for each reason, with what would settle it.

A reason is a stable word. Records, ``cgx explain`` and queries print the text beside it.
"""

from __future__ import annotations

REASONS: dict[str, str] = {
    "missing-file": "a file that the commit does not hold; it may be there at run time",
    "missing-module": "source of a module that is neither in the repository nor in an --env folder",
    "environment": "depends on the machine the job runs on",
    "data": "depends on data that is read at run time",
    "parameter": "a parameter of the entry that no caller gives",
    "loop-carried": "changes from one iteration to the next",
    "undecided-branch": "differs between branches of a condition that is not known",
    "unmodelled": "a call whose effect no table, overlay or source tells",
    "unsupported": "a construct that the interpreter does not evaluate",
    "budget": "evaluation stopped at a documented limit",
    "random": "drawn at random at run time",
    "time": "read from a clock",
    "unresolved-name": "a name that nothing binds",
    "attribute": "an attribute that nothing in the source, the standard library or a table gives its owner",
    "container": "an element of a container whose elements are not known",
    "error": "evaluating it raises",
    "internal": "an internal fault of cgx, recorded",
}
