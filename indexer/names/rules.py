"""Idioms of frameworks that no general rule of names gives: one small function each."""

from __future__ import annotations

from cgx.indexer.names.values import ANY, Class, Function, Instance, Values


def built_by_config(function: Function, receiver: object) -> Values:
    """``class Block: class Config(Base.Config)``: the inherited ``config.build()`` makes the class round the ``Config``.

    Only where the method itself gives nothing known (it calls an owner that a base class wires up); so it is marked as
    not certain.
    """
    if function.scope.name != "build" or type(receiver) is not Instance or receiver.cls.scope.name != "Config":
        return ()
    outer = receiver.cls.scope.parent
    if outer is None or not isinstance(outer.owner, Class):
        return ()
    return (outer.owner.instance, ANY)
