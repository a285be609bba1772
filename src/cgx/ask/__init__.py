"""Asking the graph: from a statement or a query's name to printed rows. Used by ``cgx query`` and ``cgx shell``."""
