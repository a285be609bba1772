"""Fold a trace into the entries of the computation graph: model, modules, layers, ops and loops.

The order of work: find the module trees that the step runs (:mod:`.tree`), give every call and module a structural
signature (:mod:`.signature`, :mod:`.structure`), sort the children of each container into classes of equal members
(:mod:`.classes`), write one entry for each class (:mod:`.emit`), add what is built but never run (:mod:`.idle`), and number
the result (:mod:`.rows`). What the interpreter marks as the same call is never walked twice.
"""
