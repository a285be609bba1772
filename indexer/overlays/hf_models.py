"""The model libraries of Hugging Face, read as source: what of them only writes help texts, checks the environment or fills weights.

These rows answer for functions of the source by their qualified name, before their code is looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.values import BoundMethod, ClassValue, FunctionValue, Native, Value

Handler = Callable[[Any, Any, list[Value], dict[str, Value]], Value]


def same(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A decorator that adds documentation: used bare or with arguments, what it decorates stays as it is."""
    if len(args) == 1 and isinstance(args[0], FunctionValue | ClassValue):
        return args[0]
    return Native("documentation", lambda i, s, a, k: a[0])


def first(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A copy of a function under another name or text; of a method, of its plain function."""
    return args[0].func if isinstance(args[0], BoundMethod) else args[0]


DOCUMENTATION = (
    "transformers.utils.auto_docstring.auto_docstring",
    "transformers.utils.doc.add_start_docstrings",
    "transformers.utils.doc.add_start_docstrings_to_model_forward",
    "transformers.utils.doc.add_end_docstrings",
    "transformers.utils.doc.add_code_sample_docstrings",
    "transformers.utils.doc.replace_return_docstrings",
    "diffusers.utils.doc_utils.replace_example_docstring",
)
COPIES = ("transformers.utils.doc.copy_func",)
VALIDATORS = ("huggingface_hub.dataclasses._create_type_validator",)  # gives a function that only raises
NO_EFFECT = (
    "transformers.utils.versions.require_version",
    "transformers.utils.versions.require_version_core",
    "transformers.utils.import_utils.requires_backends",
    "transformers.modeling_utils.PreTrainedModel.initialize_weights",
    "transformers.modeling_utils.PreTrainedModel._initialize_weights",
)


def no_check(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A check of a field's type: code that runs passes it."""
    return Native("validator", nothing)


ENTRIES: dict[str, Handler] = {
    **dict.fromkeys(VALIDATORS, no_check),
    **dict.fromkeys(DOCUMENTATION, same),
    **dict.fromkeys(COPIES, first),
    **dict.fromkeys(NO_EFFECT, nothing),
}

BASES: dict[str, tuple[str, ...]] = {}
