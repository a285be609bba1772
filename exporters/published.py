"""The published JSON Schemas: ``python -m cgx.exporters.published`` writes them anew."""

from __future__ import annotations

import json
from pathlib import Path

from cgx.exporters.computation_graph import ComputationGraph
from cgx.exporters.execution_schedule import ExecutionSchedule
from cgx.exporters.records import Model, json_schema

FOLDER = Path(__file__).parent / "schemas"
MODELS: dict[str, type[Model]] = {"computation_graph": ComputationGraph, "execution_schedule": ExecutionSchedule}


def schema_texts() -> dict[str, str]:
    """File name -> text of every published schema."""
    return {
        f"{name}.schema.json": json.dumps(json_schema(model, f"cgx/{name}/1"), indent=1, ensure_ascii=False) + "\n"
        for name, model in MODELS.items()
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, text in schema_texts().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
