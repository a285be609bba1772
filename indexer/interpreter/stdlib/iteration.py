"""``itertools``, ``heapq``, ``queue``: over elements that are known one by one; endless ones stay sequences."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from cgx.indexer.interpreter.stdlib.support import MAX_ITEMS, Args, Handler, Kwargs, derived, items_of
from cgx.indexer.interpreter.values import ListValue, Sequence, Unknown, Value


def over(function: Callable[..., Any], keywords: tuple[str, ...] = ()) -> Handler:
    """A function of ``itertools`` whose positional arguments are all iterables."""

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        lists = [items_of(interp, arg, site) for arg in args]
        if any(items is None for items in lists) or any(not isinstance(value, int) for value in kwargs.values()):
            return _element(site, args, "itertools")
        made = function(*lists, **{key: kwargs[key] for key in keywords if key in kwargs})
        items = list(itertools.islice(made, MAX_ITEMS + 1))
        if len(items) > MAX_ITEMS:
            return Unknown(site.text, "budget", site.anchor, "list")
        return ListValue(items)

    return call


def _element(site: Any, args: Args, name: str) -> Value:
    """A sequence of what is not known one by one; its element is that of the first open argument."""
    for arg in args:
        if isinstance(arg, Sequence):
            return Sequence(arg.element, Unknown(f"len of {site.text}", "data", site.anchor, "int"), name, site.anchor)
    return derived(site, args, "list")


def _count(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    length = Unknown(f"len of {site.text}", "loop-carried", site.anchor, "int")
    return Sequence(
        Unknown(f"element of {site.text}", "loop-carried", site.anchor, "int"), length, "itertools.count", site.anchor
    )


def _cycle(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    source = args[0]
    element = source.element if isinstance(source, Sequence) else None
    if element is None:
        items = items_of(interp, source, site)
        element = (
            items[0] if items and len(items) == 1 else Unknown(f"element of {site.text}", "loop-carried", site.anchor)
        )
    length = Unknown(f"len of {site.text}", "loop-carried", site.anchor, "int")
    kept = dict(source.attrs) if isinstance(source, Sequence) else {}
    return Sequence(element, length, "itertools.cycle", site.anchor, kept)


def _repeat(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    times = args[1] if len(args) > 1 else kwargs.get("times")
    if isinstance(times, int) and times <= MAX_ITEMS:
        return ListValue([args[0]] * times)
    length = times if times is not None else Unknown(f"len of {site.text}", "loop-carried", site.anchor, "int")
    return Sequence(args[0], length, "itertools.repeat", site.anchor)


def _islice(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    source, bounds = args[0], args[1:]
    if isinstance(source, Sequence) and len(bounds) == 1:
        return Sequence(source.element, bounds[0], source.qname, source.anchor, dict(source.attrs))
    if not all(bound is None or isinstance(bound, int) for bound in bounds):
        return _element(site, [*bounds, source], "itertools.islice")
    items = items_of(interp, source, site)
    return (
        _element(site, args, "itertools.islice") if items is None else ListValue(list(itertools.islice(items, *bounds)))
    )


def _sized(function: Callable[..., Any]) -> Handler:
    """``combinations`` and its kind: an iterable and a size."""

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        items = items_of(interp, args[0], site)
        size = args[1] if len(args) > 1 else kwargs.get("r")
        if items is None or not (size is None or isinstance(size, int)):
            return _element(site, args, "itertools")
        made = list(itertools.islice(function(items, len(items) if size is None else size), MAX_ITEMS + 1))
        return Unknown(site.text, "budget", site.anchor, "list") if len(made) > MAX_ITEMS else ListValue(made)

    return call


def _accumulate(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    items = items_of(interp, args[0], site)
    function = args[1] if len(args) > 1 else kwargs.get("func")
    if items is None:
        return _element(site, args, "itertools.accumulate")
    initial = kwargs.get("initial")
    made: list[Value] = [] if initial is None else [initial]
    for item in items:
        if not made:
            made.append(item)
        elif function is not None:
            made.append(interp.call(function, [made[-1], item], {}, site))
        else:
            try:
                made.append(made[-1] + item)
            except TypeError:
                made.append(derived(site, [made[-1], item]))
    return ListValue(made)


def _chosen(keep: bool) -> Handler:
    """``takewhile``, ``dropwhile`` and ``filterfalse`` over decided predicates."""

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        items = items_of(interp, args[1], site)
        if items is None:
            return _element(site, args[1:], "itertools")
        made: list[Value] = []
        for place, item in enumerate(items):
            verdict = interp.truth(item if args[0] is None else interp.call(args[0], [item], {}, site))
            if verdict is None:
                return ListValue(made, open=True)
            if not verdict:
                return ListValue(made) if keep else ListValue(items[place:])
            if keep:
                made.append(item)
        return ListValue(made)

    return call


def _filterfalse(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    items = items_of(interp, args[1], site)
    if items is None:
        return _element(site, args[1:], "itertools")
    verdicts = [interp.truth(item if args[0] is None else interp.call(args[0], [item], {}, site)) for item in items]
    return ListValue([item for item, verdict in zip(items, verdicts) if verdict is False], open=None in verdicts)


def _starmap(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    items = items_of(interp, args[1], site)
    if items is None:
        return _element(site, args[1:], "itertools")
    return ListValue([interp.call(args[0], items_of(interp, item, site) or [], {}, site) for item in items])


def _groupby(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    items = items_of(interp, args[0], site)
    function = args[1] if len(args) > 1 else kwargs.get("key")
    if items is None:
        return _element(site, args, "itertools.groupby")
    groups: list[tuple[Value, ListValue]] = []
    for item in items:
        key = item if function is None else interp.call(function, [item], {}, site)
        if isinstance(key, Unknown):
            return Unknown(site.text, key.reason, key.anchor, "list")
        if not groups or groups[-1][0] != key:
            groups.append((key, ListValue()))
        groups[-1][1].items.append(item)
    return ListValue([(key, group) for key, group in groups])


def _tee(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    count = args[1] if len(args) > 1 and isinstance(args[1], int) else 2
    items = items_of(interp, args[0], site)
    return tuple(args[0] if items is None else ListValue(list(items)) for _ in range(count))


def _chain_from(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    outer = items_of(interp, args[0], site)
    return _element(site, args, "itertools.chain") if outer is None else _CHAIN(interp, site, outer, {})


_CHAIN = over(itertools.chain)


def _longest(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    fill = kwargs.pop("fillvalue", None)
    return over(lambda *lists: itertools.zip_longest(*lists, fillvalue=fill))(interp, site, args, {})


ENTRIES: dict[str, Handler] = {
    "itertools.chain": _CHAIN,
    "itertools.chain.from_iterable": _chain_from,
    "itertools.product": over(itertools.product, ("repeat",)),
    "itertools.zip_longest": _longest,
    "itertools.pairwise": over(itertools.pairwise),
    "itertools.compress": over(itertools.compress),
    "itertools.batched": _sized(lambda items, size: (tuple(items[i : i + size]) for i in range(0, len(items), size))),
    "itertools.permutations": _sized(itertools.permutations),
    "itertools.combinations": _sized(itertools.combinations),
    "itertools.combinations_with_replacement": _sized(itertools.combinations_with_replacement),
    "itertools.count": _count,
    "itertools.cycle": _cycle,
    "itertools.repeat": _repeat,
    "itertools.islice": _islice,
    "itertools.accumulate": _accumulate,
    "itertools.takewhile": _chosen(True),
    "itertools.dropwhile": _chosen(False),
    "itertools.filterfalse": _filterfalse,
    "itertools.starmap": _starmap,
    "itertools.groupby": _groupby,
    "itertools.tee": _tee,
}
