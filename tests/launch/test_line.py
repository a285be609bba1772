"""Launch lines: launchers, sizes, variables, console scripts, and what is wrong with a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cgx.errors import UserError
from cgx.indexer.interpreter.values import ByRank, Unknown
from cgx.indexer.launch import parse_launch

MakeTree = Callable[..., Any]  # the fixture of conftest.py

FILES = {
    "train.py": "",
    "pkg/__init__.py": "",
    "pkg/job.py": "",
    "tools/train.py": "",
    "src/deep/__init__.py": "",
    "src/deep/run.py": "",
}


def test_torchrun_sets_each_rank(make_tree: MakeTree) -> None:
    plan = parse_launch(
        "OMP_NUM_THREADS=4 torchrun --nnodes 2 --nproc-per-node=4 train.py cfg.py --lr 1", make_tree(FILES)
    )
    assert (plan.script, plan.argv, plan.world_size, plan.launcher) == (
        "train.py",
        ["train.py", "cfg.py", "--lr", "1"],
        8,
        "torchrun",
    )
    rank, local, node = plan.env["RANK"], plan.env["LOCAL_RANK"], plan.env["GROUP_RANK"]
    assert isinstance(rank, ByRank) and rank.values == tuple(str(i) for i in range(8))
    assert isinstance(local, ByRank) and local.values == tuple("01230123")
    assert isinstance(node, ByRank) and node.values == tuple("00001111")
    assert plan.env["WORLD_SIZE"] == "8" and plan.env["OMP_NUM_THREADS"] == "4"
    assert isinstance(plan.env["MASTER_ADDR"], Unknown)


def test_one_process_has_plain_values(make_tree: MakeTree) -> None:
    plan = parse_launch("torchrun --standalone train.py", make_tree(FILES))
    assert plan.env["RANK"] == "0" and plan.world_size == 1
    assert "RANK" not in parse_launch("python train.py", make_tree(FILES, "b")).env


@pytest.mark.parametrize("text", ["gpu", "auto", "1:4"])
def test_sizes_left_to_the_machine_are_not_guessed(make_tree: MakeTree, text: str) -> None:
    tree = make_tree(FILES)
    plan = parse_launch(f"torchrun --nproc_per_node={text} train.py", tree)
    assert isinstance(plan.world_size, Unknown) and isinstance(plan.env["WORLD_SIZE"], Unknown)
    assert plan.env["RANK"].values == ("0", "1")  # the first and another, however many there are
    assert plan.world_size.settle == ("--set", "nproc_per_node")
    known = parse_launch(f"torchrun --nproc_per_node={text} train.py", tree, assume={"nproc_per_node": 2})
    assert known.world_size == 2 and known.assumed == {"nproc_per_node": 2}


def test_two_dashes_behind_the_program_are_the_launchers(make_tree: MakeTree) -> None:
    tree = make_tree(FILES)
    assert parse_launch("torchrun -m pkg.job -- --depth=2", tree).argv == ["pkg/job.py", "--depth=2"]
    assert parse_launch("python -m pkg.job -- x", tree).argv == ["pkg/job.py", "--", "x"]


def test_torchtune_recipes_by_name(make_tree: MakeTree) -> None:
    registry = "X = [Recipe(name='full', file_path='full.py', configs=[Config(name='a/8B', file_path='a/8B_full.yaml')], supports_distributed=True)]\n"
    files = {"torchtune/_recipe_registry.py": registry, "recipes/full.py": "", "recipes/configs/a/8B_full.yaml": ""}
    plan = parse_launch("tune run --nproc_per_node 2 full --config a/8B batch_size=4", make_tree(files))
    assert plan.argv == ["recipes/full.py", "--config", "recipes/configs/a/8B_full.yaml", "batch_size=4"]
    assert plan.script == "recipes/full.py" and plan.world_size == 2 and plan.env["RANK"].values == ("0", "1")
    assert "RANK" not in parse_launch("tune run full --config a/8B", make_tree(files, "b")).env


def test_dora(make_tree: MakeTree) -> None:
    tree = make_tree({"job/__init__.py": "", "job/train.py": "from dora import hydra_main\n", "other/train.py": ""})
    plan = parse_launch("dora run solver=x lr=1", tree)
    assert (plan.module, plan.argv[1:], plan.world_size) == ("job.train", ["solver=x", "lr=1"], 1)
    assert isinstance(parse_launch("dora -P job run -d solver=x", tree).world_size, Unknown)


def test_at_most_64_ranks_are_modelled(make_tree: MakeTree) -> None:
    plan = parse_launch("torchrun --nnodes=32 --nproc_per_node=8 train.py", make_tree(FILES))
    assert plan.world_size == 256 and len(plan.env["RANK"].values) == 64


@pytest.mark.parametrize(
    ("line", "script", "module"),
    [
        ("python -u -W ignore train.py", "train.py", None),
        ("python3.11 -m pkg.job --x", "pkg/job.py", "pkg.job"),
        ("torchrun -m pkg.job --x", "pkg/job.py", "pkg.job"),
        ("python -m deep.run", "src/deep/run.py", "deep.run"),
        ("uv run --with torch python train.py", "train.py", None),
        ("uv run -m pkg.job", "pkg/job.py", "pkg.job"),
        ("env A=1 nohup python train.py &", "train.py", None),
        ("CUDA_VISIBLE_DEVICES=0 nsys profile -o out --stats=true python train.py > log 2>&1", "train.py", None),
        ("cd tools && python train.py", "tools/train.py", None),
        ("python -m cProfile -o prof train.py", "train.py", None),
        ("$PYTHON train.py", "train.py", None),
        ("pip install -r requirements.txt && python train.py", "train.py", None),
        ('bash -c "python tools/train.py"', "tools/train.py", None),
        ("numactl --cpunodebind=0 timeout 100 python train.py", "train.py", None),
    ],
)
def test_forms_of_one_process(make_tree: MakeTree, line: str, script: str, module: str | None) -> None:
    plan = parse_launch(line, make_tree(FILES))
    assert (plan.script, plan.module, plan.world_size) == (script, module, 1)


def test_local_rank_arguments(make_tree: MakeTree) -> None:
    tree = make_tree(FILES)
    plan = parse_launch("deepspeed --num_gpus 2 train.py --deepspeed ds.json", tree)
    assert plan.argv[0] == "train.py" and plan.argv[1].values == ("--local_rank=0", "--local_rank=1")
    assert parse_launch("deepspeed --include localhost:1,3 train.py", tree).world_size == 2
    old = parse_launch("python -m torch.distributed.launch --nproc_per_node 2 train.py", tree)
    assert old.argv[1].values == ("--local-rank=0", "--local-rank=1")
    assert parse_launch("python -m torch.distributed.launch --use_env train.py", tree).argv == ["train.py"]


def test_accelerate_flags_win_over_its_file(make_tree: MakeTree) -> None:
    yaml = """
        distributed_type: FSDP
        mixed_precision: fp16
        num_processes: 8
        num_machines: 2
        fsdp_config: {fsdp_version: 2, fsdp_reshard_after_forward: true}
    """
    tree = make_tree({**FILES, "acc.yaml": yaml})
    plan = parse_launch("accelerate launch --config_file acc.yaml --mixed_precision bf16 train.py --a", tree)
    assert (plan.world_size, plan.nnodes) == (8, 2)
    assert plan.env["ACCELERATE_MIXED_PRECISION"] == "bf16" and plan.env["ACCELERATE_USE_FSDP"] == "true"
    assert plan.env["FSDP_VERSION"] == "2" and plan.env["RANK"].values[-1] == "7"
    bare = parse_launch("accelerate launch train.py", tree)
    assert isinstance(bare.world_size, Unknown) and "num_processes" in bare.problems[0]
    assert parse_launch("accelerate launch train.py", tree, assume={"num_processes": 4}).world_size == 4
    assert parse_launch("accelerate launch --cpu train.py", tree).world_size == 1


def test_deepspeed_takes_what_the_machine_has(make_tree: MakeTree) -> None:
    tree = make_tree(FILES)
    assert isinstance(parse_launch("deepspeed train.py", tree).world_size, Unknown)
    assert parse_launch("CUDA_VISIBLE_DEVICES=0,2 deepspeed train.py", tree).world_size == 2
    assert isinstance(parse_launch("deepspeed --hostfile hosts --num_gpus 8 train.py", tree).world_size, Unknown)
    assert parse_launch("deepspeed train.py", tree, assume={"num_gpus": 4}).world_size == 4


def test_slurm_and_mpi(make_tree: MakeTree) -> None:
    tree = make_tree(FILES)
    plan = parse_launch("srun -N 2 --ntasks-per-node=2 --gres=gpu:2 python train.py", tree)
    assert plan.env["SLURM_PROCID"].values == tuple("0123") and plan.env["SLURM_LOCALID"].values == tuple("0101")
    nested = parse_launch("srun -N 2 torchrun --nnodes=2 --nproc_per_node=8 train.py", tree)
    assert nested.world_size == 16 and "SLURM_PROCID" not in nested.env
    mpi = parse_launch("mpirun -np 4 -npernode 2 -mca btl tcp -x A=1 python train.py", tree)
    assert mpi.env["OMPI_COMM_WORLD_RANK"].values == tuple("0123") and mpi.env["A"] == "1" and mpi.nnodes == 2


def test_world_size_by_hand(make_tree: MakeTree) -> None:
    plan = parse_launch("WORLD_SIZE=2 RANK=0 python train.py", make_tree(FILES))
    assert plan.world_size == 2 and plan.env["RANK"].values == ("0", "1") and "MASTER_ADDR" not in plan.env


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pyproject.toml", '[project.scripts]\nfit = "pkg.job:main"\n'),
        ("pyproject.toml", '[tool.poetry.scripts]\nfit = "pkg.job:main"\n'),
        ("setup.cfg", "[options.entry_points]\nconsole_scripts =\n    other = a:b\n    fit = pkg.job:main\n"),
        (
            "setup.py",
            'from setuptools import setup\nEP = {"console_scripts": ["fit = pkg.job:main"]}\nsetup(entry_points=EP)\n',
        ),
        ("pkg-1.0.dist-info/entry_points.txt", "[console_scripts]\nfit = pkg.job:main [extra]\n"),
    ],
)
def test_console_scripts(make_tree: MakeTree, path: str, text: str) -> None:
    plan = parse_launch("poetry run fit a=1", make_tree({**FILES, path: text}))
    assert (plan.function, plan.argv, plan.launcher) == ("pkg.job:main", ["fit", "a=1"], "console script")


def test_console_script_of_an_environment(make_tree: MakeTree) -> None:
    env = make_tree({"tool-1.dist-info/entry_points.txt": "[console_scripts]\nfit = tool.cli:main\n"}, "env")
    assert parse_launch("fit x", make_tree(FILES), [env]).function == "tool.cli:main"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("python trian.py", "trian.py; nearest: train.py"),
        ("torchrun -m pkg.jobs", "pkg.jobs; nearest: pkg.job"),
        ("./run.sh", "script not found: ./run.sh"),
        ("ls -l", "starts no Python program"),
        ("", "empty"),
        ('python "train.py', "a quote is not closed"),
        ("python -c 'import x'", "starts no Python program"),
    ],
)
def test_what_is_wrong_is_one_line(make_tree: MakeTree, line: str, says: str) -> None:
    with pytest.raises(UserError) as error:
        parse_launch(line, make_tree(FILES))
    assert says in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("program", ["fabric run", "lightning run model"])
def test_fabric_starts_each_rank_and_says_the_options(make_tree: MakeTree, program: str) -> None:
    plan = parse_launch(f"{program} --accelerator=cuda --devices 4 --strategy=ddp --precision bf16-mixed train.py --lr 1", make_tree(FILES))
    assert (plan.script, plan.argv, plan.world_size) == ("train.py", ["train.py", "--lr", "1"], 4)
    assert (plan.env["WORLD_SIZE"], plan.env["LT_STRATEGY"], plan.env["LT_PRECISION"]) == ("4", "ddp", "bf16-mixed")


def test_fabric_takes_its_options_behind_the_script_too(make_tree: MakeTree) -> None:
    plan = parse_launch("fabric run train.py --accelerator=cuda --lr 1 --devices 2 --num-nodes=2", make_tree(FILES))
    assert (plan.argv, plan.world_size, plan.env["LT_ACCELERATOR"]) == (["train.py", "--lr", "1"], 4, "cuda")
