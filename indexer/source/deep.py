"""Run a recursive function on a stack that deep code does not exhaust."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

STACK_BYTES = 512 * 1024 * 1024  # reserved, not used up: pages are only touched where the recursion goes
RECURSION_LIMIT = 200_000

Result = TypeVar("Result")


def run_deep(function: Callable[[], Result]) -> Result:
    """Call ``function`` as it is; if it recurses too deep, again in a thread with a large stack.

    Raises what ``function`` raises, RecursionError included where even that does not do.
    """
    try:
        return function()
    except RecursionError:
        pass
    box: list[Result] = []
    failures: list[BaseException] = []

    def body() -> None:
        try:
            box.append(function())
        except BaseException as error:  # handed to the caller below
            failures.append(error)

    size, limit = threading.stack_size(STACK_BYTES), sys.getrecursionlimit()
    sys.setrecursionlimit(RECURSION_LIMIT)
    try:
        thread = threading.Thread(target=body, name="cgx-deep")
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    if failures:
        raise failures[0]
    return box[0]
