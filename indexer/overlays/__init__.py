"""Framework knowledge, as handler tables. The interpreter asks them in this order for names outside the source.

A table is a module with ``ENTRIES`` (qualified name -> handler) and ``BASES`` (class -> bases). A handler is
``handler(interp, site, args, kwargs) -> Value``, ``NotImplemented`` where it is not its call.

What the tables ask of the interpreter beyond plain calls, each under ``<class qname>.<name>`` and looked up through BASES:

- ``__call__``, ``__getitem__``, ``__len__``, ``__iter__`` (gives a Sequence or list) of an ``Opaque``: args[0] is the object;
- ``__enter__``/``__exit__`` of an ``Opaque`` in a ``with``; they use ``interp.push(node)`` and ``interp.pop()``;
- ``__getattr__`` (args: object, name), asked where ``attrs`` has no such name and no method row fits;
- ``__setattr__`` (args: object, name, value), asked before ``attrs`` is set;
- ``FunctionValue.attrs["cgx.scopes"]``: scopes (Opaque) to enter round each call of the function, outermost first;
- ``torch.autograd.Function.apply`` with the user's class as args[0];
- methods of ``torch.nn.Module`` listed here (``to``, ``cuda``, ``compile``, ...) win over the built-in ones;
- ``__hasattr__`` of an ``Opaque`` (args: object, name), asked by ``hasattr``;
- ``NAMES`` of a table: single qualified names of the same kind;
- ``AFTER`` of a table: method of a library's class -> ``handler(interp, site, owner, nodes)``, called behind a user's own method
  of that name in a class derived from it, with what it left in the trace;
- ``FAMILIES`` of a table: (package, handler with the name as second argument), asked where no row has a name of the package;
- ``MEMBERS`` of a table: class -> all names that its instances have, so that any other is known not to be there;
- ``PACKAGES`` of a table: packages (by dotted name) whose names it answers for even where ``--env`` has their source;
- :func:`cgx.indexer.overlays.transfer.sync` for ``if``/``while``/``assert`` on a tensor ("branch"), ``int``/``float``/``bool``
  ("conversion"), f-strings, ``str``, ``format`` ("print"), op rows with a ``sync``; host tensors give no event.
"""

from __future__ import annotations

from types import ModuleType

from cgx.indexer.overlays import (
    accelerate,
    amp,
    autograd,
    autograd_functions,
    collectives,
    compile,
    config_absl,
    config_attribute_dicts,
    config_click,
    config_dataclass_parsers,
    config_fire,
    config_hydra,
    config_hyperpyyaml,
    config_jsonargparse,
    config_lightning_cli,
    config_mmengine,
    config_omegaconf,
    config_records,
    config_registries,
    config_typer,
    config_tyro,
    config_yacs,
    cuda,
    data_loader,
    ddp,
    deepspeed,
    deepspeed_pipe,
    deepspeed_runtime,
    diffusers_models,
    distributions,
    downloads,
    environments,
    factories,
    fsdp,
    generated_code,
    grain,
    graphs,
    groups,
    hf_arguments,
    hf_collators,
    hf_datasets,
    hf_models,
    hf_outside_models,
    hf_pretrained,
    hf_trainer,
    hub,
    lightning,
    lightning_fabric,
    lightning_hparams,
    lightning_logging,
    lightning_members,
    lightning_strategies,
    logs,
    media,
    meshes,
    mmengine_runner,
    moving_average,
    optimizers,
    pipelining,
    processes,
    profiler,
    samplers,
    schedulers,
    scopes,
    serialization,
    spmd_types,
    sync_batchnorm,
    tensor_mappings,
    tensor_parallel,
    transfer,
    vision_data,
    zero_redundancy,
)

OVERLAYS: tuple[ModuleType, ...] = (
    graphs,  # before scopes: capture adds to entering the scope
    scopes,
    amp,
    optimizers,
    zero_redundancy,
    schedulers,
    autograd,
    autograd_functions,
    compile,
    ddp,
    sync_batchnorm,
    downloads,
    fsdp,
    tensor_mappings,
    generated_code,
    tensor_parallel,
    spmd_types,
    groups,
    meshes,
    collectives,
    cuda,
    transfer,
    factories,
    data_loader,
    samplers,
    vision_data,
    serialization,
    logs,
    media,
    moving_average,
    pipelining,
    processes,
    profiler,
    distributions,
    environments,
    accelerate,
    deepspeed,
    diffusers_models,
    deepspeed_pipe,
    deepspeed_runtime,
    lightning,
    lightning_logging,
    lightning_members,
    lightning_strategies,
    lightning_hparams,
    lightning_fabric,
    hf_arguments,
    hf_collators,
    hf_outside_models,
    hf_pretrained,
    mmengine_runner,
    hf_trainer,
    hf_datasets,
    hub,
    spmd_types,
    grain,
    config_absl,
    hf_models,
    config_attribute_dicts,
    config_click,
    config_dataclass_parsers,
    config_fire,
    config_hydra,
    config_hyperpyyaml,
    config_jsonargparse,
    config_lightning_cli,
    config_mmengine,
    config_omegaconf,
    config_records,
    config_registries,
    config_typer,
    config_tyro,
    config_yacs,
)
