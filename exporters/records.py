"""What both records share, as pydantic models: the one source of the published JSON Schemas.

Keys stand in the order of the fields. An optional key that is not known is absent; where the contract asks for ``null``
the field is required and nullable. ``exclude_unset`` keeps exactly what was given.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

AnchorText = Annotated[
    str, Field(pattern=r"^[^:\\]+:(<module>|[^\W\d]\w*(\.[^\W\d]\w*)*):[1-9]\d*$", description="path:Symbol.name:line")
]
Anchors = AnchorText | list[AnchorText]
Count = Annotated[int, Field(ge=0)]
Dim = int | str | None
JobType = Literal["training", "inference serving", "batch"]


class Model(BaseModel):
    """A part of a record. Unknown keys are an error: the contract names them all."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, json_schema_extra=None)


class Generator(Model):
    """What wrote the record."""

    name: str
    version: str


class OutsideFile(Model):
    """Something read from outside the repository."""

    name: str
    digest: str


class SettleWith(Model):
    """The option, and the name to give it, that would settle an unknown."""

    option: str
    name: str


class Unresolved(Model):
    """Something that could not be derived."""

    name: str = Field(description="source text of what is not known; the name that --set and --file take")
    field: str = Field(description="the field that lacks it")
    entry: str | None = Field(None, description="id of the entry that lacks it, where there is one")
    code_anchor: AnchorText | None = Field(description="where it stands")
    from_: Literal["launch"] | None = Field(None, alias="from", description="the launch line leaves it open: no code says it")
    changed: list[str] | None = Field(
        None, description="in a record that `cgx moved --rewrite` wrote: the fields whose values differ"
    )
    reason: str = Field(description="a row of the table of reasons")
    settle_with: SettleWith | None = Field(None, description="what would settle it")


class Header(Model):
    """The head of both records: enough to make the record again (`cgx export --again RECORD`)."""

    generator: Generator
    job_type: JobType | None = Field(None, description="absent for a model built without a job")
    repository: str = Field(description="last part of the remote's URL, else of the folder")
    commit: str | None = Field(None, description="full sha that every anchor was read at; absent for a plain folder")
    tree: str | None = Field(None, description="digest of what was read from a plain folder")
    worktree: Literal["modified"] | None = Field(None, description="uncommitted changes were read on request")
    launch: list[str] | None = Field(None, description="the launch line as words")
    build: str | None = Field(None, description="the build expression")
    inputs: list[str] | None = Field(None, description="inputs given with --input")
    mode: Literal["train", "eval"] | None = Field(None, description="mode asked for")
    files: list[OutsideFile] = Field(description="files read through --file")
    env: list[OutsideFile] = Field(description="folders of third-party source")
    assumed: dict[str, Any] = Field(description="values supplied with --set")
    entrypoint: AnchorText | None = Field(None, description="the function or loop body that is one step")


def record(model: type[Model], data: dict[str, Any]) -> dict[str, Any]:
    """The data checked against the model, with keys in the model's order and only those that were given.

    Raises pydantic.ValidationError where the data does not fit: our own fault.
    """
    return model.model_validate(data).model_dump(mode="json", by_alias=True, exclude_unset=True)


def json_schema(model: type[Model], identifier: str) -> dict[str, Any]:
    """The JSON Schema of a record, without the titles that pydantic makes from names."""
    schema = model.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": identifier, **_untitled(schema)}


def _untitled(node: Any, inside_properties: bool = False) -> Any:
    if isinstance(node, dict):
        return {
            key: _untitled(value, key == "properties")
            for key, value in node.items()
            if inside_properties or key != "title" or not isinstance(value, str)
        }
    return [_untitled(item) for item in node] if isinstance(node, list) else node
