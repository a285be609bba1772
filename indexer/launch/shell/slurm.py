"""``#SBATCH`` directives as the variables that Slurm sets from them."""

from __future__ import annotations

import re

_DIRECTIVE = re.compile(r"^#SBATCH\s+(-{1,2}[\w-]+)(?:[=\s]+(\S+))?", re.M)
_NAMES = {
    "--nodes": "nodes", "-N": "nodes", "--ntasks": "ntasks", "-n": "ntasks", "--ntasks-per-node": "per_node",
    "--gpus-per-node": "gpus", "--cpus-per-task": "cpus", "-c": "cpus",
}  # fmt: skip


def slurm_variables(text: str) -> dict[str, str]:
    """SLURM_NNODES, SLURM_NTASKS and their kind, as far as the directives give numbers. Empty for other scripts."""
    found = {}
    for name, value in _DIRECTIVE.findall(text):
        number = re.fullmatch(r"(?:\w+:)*(\d+)", value or "")
        if name in _NAMES and number is not None:
            found[_NAMES[name]] = int(number.group(1))
    if not _DIRECTIVE.search(text):
        return {}
    nodes = found.get("nodes", 1)
    total = found.get("ntasks", nodes * found.get("per_node", 1))
    variables = {"SLURM_NNODES": nodes, "SLURM_JOB_NUM_NODES": nodes, "SLURM_NTASKS": total, "SLURM_NPROCS": total}
    for key, name in (
        ("per_node", "SLURM_NTASKS_PER_NODE"),
        ("gpus", "SLURM_GPUS_ON_NODE"),
        ("cpus", "SLURM_CPUS_PER_TASK"),
    ):
        if key in found:
            variables[name] = found[key]
    return {name: str(value) for name, value in sorted(variables.items())}
