"""records/computation_graph.json: models, and the projection of a job's rows."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from cgx.exporters.records import Anchors, AnchorText, Count, Dim, Header, Model, Unresolved, record

SCHEMA = "cgx/computation_graph/1"
FILE = "computation_graph.json"


class Symbol(Model):
    """A symbolic dim; a derived one has the expression over the others."""

    value: int | None = None
    expr: str | None = None
    code_anchor: AnchorText | None = None


class Repeat(Model):
    """How often a unit repeats. ``count`` is null where the bound is not known."""

    unit: str = Field(description="type of what repeats")
    count: Count | None
    by: Literal["instances", "calls"]
    expr: str | None = Field(None, description="source text of the bound; absent where the units are listed one by one")
    code_anchor: AnchorText | None = Field(None, description="where the bound stands")


class Tensor(Model):
    """One tensor on a boundary. ``dims`` is null where not even the rank is known; so is a dim that is not known."""

    name: str | None = None
    dims: list[Dim] | None
    dtype: str | None = None


class Shapes(Model):
    """Tensors in and out."""

    in_: list[Tensor] = Field(alias="in")
    out: list[Tensor]


class When(Model):
    """The undecided condition an entry runs under."""

    expr: str
    code_anchor: AnchorText | None


class Entry(Model):
    """One node of the tree model -> modules -> layers -> ops."""

    id: str
    level: Literal["model", "module", "layer", "op", "loop"]
    name: str
    path: str | None = Field(None, description="named_modules() name, folded; for modules only")
    type: str = Field(description="qualified name of the class or op; for a loop its keyword")
    parent: str | None
    order: Count | None = Field(description="null for what is built but not run, and for containers that are never run")
    runs: Literal[False] | None = Field(None, description="false: its own forward is never called by the step")
    code_anchor: AnchorText | None
    changed: list[str] | None = Field(
        None, description="in a record that `cgx moved --rewrite` wrote: the fields whose values differ"
    )
    end_line: int | None = None
    constructed_at: AnchorText | None = None
    called_from: Anchors | None = None
    repeat: Repeat | None = None
    multiplicity: Count | None = Field(description="runs (or, for what does not run, instances) per step")
    recomputed: Count | None = Field(None, description="how often each run of it is run again by checkpointing")
    shapes: Shapes | None = None
    parameters: dict[str, list[Dim]] | None = None
    shares: str | None = None
    wrapped_by: list[str] | None = None
    phase: str | None = None
    when: When | None = None


class ComputationGraph(Header):
    """records/computation_graph.json."""

    schema_: Literal["cgx/computation_graph/1"] = Field(alias="schema")
    symbols: dict[str, Symbol]
    modules: list[Entry]
    unresolved: list[Unresolved]


def computation_graph(
    header: dict[str, Any], sections: dict[str, list[dict[str, Any]]], symbols: dict[str, Any]
) -> dict[str, Any]:
    """The record, from a job's header, its entries by section, and its symbols."""
    data = {
        "schema": SCHEMA,
        **header,
        "symbols": symbols,
        "modules": sections.get("modules", []),
        "unresolved": sections.get("unresolved_graph", []),
    }
    made = record(ComputationGraph, data)
    return {"schema": made.pop("schema"), **made}
