"""Programs that start other programs once for each process: what they take, and what they set for each rank.

Each function reads the words after its name from a :class:`Draft` and leaves there what it starts.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from cgx.indexer.interpreter.values import Unknown, Value
from cgx.indexer.launch.draft import Draft, last, take_options
from cgx.indexer.launch.plan import Size, by_rank

SAY_HOW_MANY = "the number of processes is not known: say it with --set {}=N"
TORCHRUN_FLAGS = frozenset(
    {"standalone", "m", "module", "no_python", "run_path", "use_env", "virtual_local_rank", "h", "help"}
)
DEEPSPEED_FLAGS = frozenset(
    {"module", "no_python", "no_local_rank", "force_multi", "save_pid", "bind_cores_to_rank", "no_ssh"}
)
FABRIC_OPTIONS = frozenset({"accelerator", "strategy", "devices", "num_nodes", "node_rank", "main_address", "main_port", "precision"})
COMPOSER_FLAGS = frozenset({"m", "module_mode", "c", "command_mode", "v", "verbose"})
SRUN_FLAGS = frozenset({"exclusive", "l", "label", "u", "unbuffered", "pty", "overlap", "v", "verbose", "Q", "quiet", "k", "no_kill", "K", "kill_on_bad_exit", "O", "overcommit", "s", "oversubscribe", "H", "hold"})  # fmt: skip
MPI_FLAGS = frozenset({"allow_run_as_root", "oversubscribe", "tag_output", "v", "verbose", "q", "quiet", "bind_to_none", "report_bindings", "display_map", "merge_stderr_to_stdout", "l"})  # fmt: skip


def torchrun(draft: Draft) -> None:
    """``torchrun`` and ``python -m torch.distributed.run``: the elastic launcher's variables for each rank."""
    options, draft.words = take_options(draft.words, TORCHRUN_FLAGS)
    torch_ranks(draft, options)


def torch_launch(draft: Draft) -> None:
    """``python -m torch.distributed.launch``: as torchrun, and ``--local-rank`` for the script unless ``--use_env``."""
    options, draft.words = take_options(draft.words, TORCHRUN_FLAGS)
    torch_ranks(draft, options)
    if "use_env" not in options:
        local = _local(draft)
        draft.extra.append(by_rank(draft.plan.ranks, lambda rank: f"--local-rank={local(rank)}"))


def torch_ranks(draft: Draft, options: dict[str, list[str]]) -> None:
    """The elastic launcher's sizes and variables from its options."""
    plan = draft.plan
    plan.nproc_per_node = draft.size(last(options, "nproc_per_node"), "nproc_per_node")
    plan.nnodes = draft.size(last(options, "nnodes"), "nnodes")
    draft.module |= "m" in options or "module" in options
    draft.direct = "no_python" in options
    set_ranks(draft, last(options, "master_addr"), last(options, "master_port"))
    count = plan.nproc_per_node
    if isinstance(count, int) and count > 1 and "OMP_NUM_THREADS" not in draft.env:
        plan.env["OMP_NUM_THREADS"] = "1"
    plan.env.update(
        {"TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": last(options, "max_restarts") or "0"}
    )
    run_id = last(options, "rdzv_id")
    plan.env["TORCHELASTIC_RUN_ID"] = run_id or Unknown("TORCHELASTIC_RUN_ID", "environment", hint="str")


def deepspeed(draft: Draft) -> None:
    """``deepspeed``: its variables for each rank, and ``--local_rank`` for the script unless ``--no_local_rank``."""
    options, draft.words = take_options(draft.words, DEEPSPEED_FLAGS)
    plan = draft.plan
    hosts = None if last(options, "hostfile", "H") else 1  # without one, this machine
    included = _included(last(options, "include", "i") or _visible(draft, hosts))
    plan.nproc_per_node = draft.size(last(options, "num_gpus") or included, "num_gpus", None)
    plan.nnodes = draft.size(last(options, "num_nodes"), "num_nodes", hosts)
    if isinstance(plan.nproc_per_node, Unknown):
        plan.problems.append(f"deepspeed starts a process for every GPU of the machine; {SAY_HOW_MANY.format('num_gpus')}")
    draft.module |= "module" in options
    draft.direct = "no_python" in options
    set_ranks(draft, last(options, "master_addr"), last(options, "master_port") or "29500")
    local = _local(draft)
    plan.env["LOCAL_SIZE"] = str(plan.nproc_per_node)
    if "no_local_rank" not in options:
        draft.extra.append(by_rank(plan.ranks, lambda rank: f"--local_rank={local(rank)}"))


def _visible(draft: Draft, hosts: int | None) -> str | None:
    """``CUDA_VISIBLE_DEVICES`` counts where neither a host file nor an option does."""
    devices = draft.env.get("CUDA_VISIBLE_DEVICES", "")
    return f"localhost:{devices}" if hosts and re.fullmatch(r"\d+(,\d+)*", devices) else None


def _included(text: str | None) -> str | None:
    """How many devices ``--include localhost:0,1`` names, where it names them."""
    if not text or ":" not in text or "@" in text:
        return None
    return str(len(text.partition(":")[2].split(",")))


def composer(draft: Draft) -> None:
    """``composer`` (llm-foundry): as torchrun, with ``-n`` processes."""
    options, draft.words = take_options(draft.words, COMPOSER_FLAGS)
    plan = draft.plan
    plan.nproc_per_node = draft.size(last(options, "n", "nproc"), "nproc")
    world = last(options, "world_size")
    if world and world.isdigit() and isinstance(plan.nproc_per_node, int) and plan.nproc_per_node:
        plan.nnodes = max(1, int(world) // plan.nproc_per_node)
    draft.module |= "m" in options or "module_mode" in options
    set_ranks(draft, last(options, "master_addr"), last(options, "master_port"))


def colossalai(draft: Draft) -> None:
    """``colossalai run``: torchrun under another name."""
    if draft.words[:1] == ["run"]:
        draft.words.pop(0)
    options, draft.words = take_options(draft.words, frozenset({"m"}))
    draft.plan.nproc_per_node = draft.size(last(options, "nproc_per_node"), "nproc_per_node")
    draft.module |= "m" in options
    set_ranks(draft, last(options, "master_addr"), last(options, "master_port"))


def fabric(draft: Draft) -> None:
    """``fabric run``, ``lightning run model``: torchrun, with options that ``Fabric()`` takes from the environment."""
    while draft.words[:1] in (["run"], ["model"]):
        draft.words.pop(0)
    options, words = take_options(draft.words, frozenset())
    behind, draft.words = _behind(words, FABRIC_OPTIONS)
    options |= behind
    devices = last(options, "devices") or "1"
    count = str(len([one for one in devices.split(",") if one.strip()])) if "," in devices else devices
    draft.plan.nproc_per_node = draft.size(count, "devices")
    draft.plan.nnodes = draft.size(last(options, "num_nodes"), "num_nodes")
    set_ranks(draft, last(options, "main_address"), last(options, "main_port"))
    given = {name: last(options, name) for name in ("accelerator", "strategy", "precision")}
    draft.plan.env.update({"LT_CLI_USED": "1", "LT_DEVICES": devices, "LT_NUM_NODES": last(options, "num_nodes") or "1"})
    draft.plan.env.update({f"LT_{name.upper()}": value for name, value in given.items() if value})


def _behind(words: list[str], names: frozenset[str]) -> tuple[dict[str, list[str]], list[str]]:
    """The launcher's own options that stand behind the script, and the other words: click takes options wherever they stand."""
    found: dict[str, list[str]] = {}
    rest = list(words)
    kept: list[str] = []
    while rest and rest[0] != "--":
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        name = name.removeprefix("--").replace("-", "_")
        if not kept or not word.startswith("--") or name not in names or not (equals or rest):
            kept.append(word)
        else:
            found[name] = [value if equals else rest.pop(0)]
    return found, kept + rest[1:]


def srun(draft: Draft) -> None:
    """``srun``: Slurm's variables for each task; under another launcher, one task a node."""
    options, draft.words = take_options(draft.words, SRUN_FLAGS)
    plan, env = draft.plan, draft.env
    nodes = draft.size(last(options, "nodes", "N") or env.get("SLURM_NNODES"), "nodes")
    per_node_text = last(options, "ntasks_per_node") or env.get("SLURM_NTASKS_PER_NODE")
    total_text = last(options, "ntasks", "n") or (None if per_node_text else env.get("SLURM_NTASKS"))
    per_node = draft.size(per_node_text, "ntasks_per_node")
    if total_text is not None:
        total = draft.size(total_text, "ntasks")
        per_node = total // nodes if isinstance(total, int) and isinstance(nodes, int) and nodes else total
    plan.nnodes, plan.nproc_per_node = nodes, per_node
    if draft.words and _starts_more(draft.words):
        return
    names = {
        "SLURM_PROCID": "rank", "SLURM_LOCALID": "local", "SLURM_NODEID": "node", "SLURM_NTASKS": "world", "SLURM_NPROCS": "world",
        "SLURM_NNODES": "nodes", "SLURM_JOB_NUM_NODES": "nodes",
    }  # fmt: skip
    _set_named(draft, names)


def mpirun(draft: Draft) -> None:
    """``mpirun``, ``mpiexec``: Open MPI's variables for each process."""
    options, draft.words = take_options(draft.words, MPI_FLAGS, frozenset({"mca", "gmca", "genv", "env"}))
    plan = draft.plan
    total = draft.size(last(options, "np", "n", "c"), "np")
    per_node = last(options, "npernode", "N", "ppn", "perhost")
    plan.nproc_per_node = draft.size(per_node, "npernode", total)
    if per_node and isinstance(total, int) and isinstance(plan.nproc_per_node, int) and plan.nproc_per_node:
        plan.nnodes = max(1, total // plan.nproc_per_node)
    for setting in options.get("x", []) + options.get("genv", []):
        name, equals, value = setting.partition("=")
        if equals:
            plan.env[name] = value
    names = {
        "OMPI_COMM_WORLD_RANK": "rank", "OMPI_COMM_WORLD_SIZE": "world", "OMPI_COMM_WORLD_LOCAL_RANK": "local",
        "OMPI_COMM_WORLD_LOCAL_SIZE": "local_size", "PMI_RANK": "rank", "PMI_SIZE": "world",
    }  # fmt: skip
    _set_named(draft, names)


def horovodrun(draft: Draft) -> None:
    """``horovodrun``: Horovod's variables for each process."""
    options, draft.words = take_options(draft.words, frozenset({"verbose", "disable_cache", "gloo", "mpi"}))
    draft.plan.nproc_per_node = draft.size(last(options, "np", "num_proc"), "np")
    names = {
        "HOROVOD_RANK": "rank", "HOROVOD_SIZE": "world", "HOROVOD_LOCAL_RANK": "local", "HOROVOD_LOCAL_SIZE": "local_size",
    }  # fmt: skip
    _set_named(draft, names)


def _starts_more(words: list[str]) -> bool:
    program = words[0].rpartition("/")[2]
    return program in LAUNCHERS or (program.startswith("python") and "torch.distributed" in " ".join(words[1:4]))


def set_ranks(draft: Draft, address: str | None, port: str | None) -> None:
    """RANK, LOCAL_RANK, WORLD_SIZE and their kind, for each modelled rank."""
    names = {
        "RANK": "rank", "LOCAL_RANK": "local", "WORLD_SIZE": "world", "LOCAL_WORLD_SIZE": "local_size", "GROUP_RANK": "node",
        "NODE_RANK": "node", "GROUP_WORLD_SIZE": "nodes", "ROLE_RANK": "rank", "ROLE_WORLD_SIZE": "world",
    }  # fmt: skip
    _set_named(draft, names)
    draft.plan.env["MASTER_ADDR"] = address or Unknown("MASTER_ADDR", "environment", hint="str")
    draft.plan.env["MASTER_PORT"] = port or Unknown("MASTER_PORT", "environment", hint="str")


def _set_named(draft: Draft, names: dict[str, str]) -> None:
    plan = draft.plan
    world, local = plan.world_size, _local(draft)

    def size(value: Size) -> Value:
        return value if isinstance(value, Unknown) else str(value)

    per_node = plan.nproc_per_node
    values: dict[str, Value] = {
        "world": size(world),
        "local_size": size(per_node),
        "nodes": size(plan.nnodes),
        "rank": by_rank(plan.ranks, str),
        "local": by_rank(plan.ranks, lambda rank: str(local(rank))),
        "node": by_rank(
            plan.ranks, lambda rank: str(rank // per_node if isinstance(per_node, int) and per_node else 0)
        ),
    }
    for name, kind in names.items():
        value = values[kind]
        plan.env[name] = Unknown(name, "environment", hint="str") if isinstance(value, Unknown) else value


def _local(draft: Draft) -> Callable[[int], int]:
    per_node = draft.plan.nproc_per_node
    return lambda rank: rank % per_node if isinstance(per_node, int) and per_node else rank


LAUNCHERS: dict[str, Callable[[Draft], None]] = {
    "torchrun": torchrun,
    "deepspeed": deepspeed,
    "composer": composer,
    "colossalai": colossalai,
    "fabric": fabric,
    "lightning": fabric,
    "srun": srun,
    "mpirun": mpirun,
    "mpiexec": mpirun,
    "horovodrun": horovodrun,
}
MODULE_LAUNCHERS: dict[str, Callable[[Draft], None]] = {
    "torch.distributed.run": torchrun,
    "torch.distributed.launch": torch_launch,
    "deepspeed.launcher.runner": deepspeed,
}
