"""Launch scripts: the shell that people write round a job, read and never run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cgx.indexer.interpreter.values import Unknown
from cgx.indexer.launch import parse_launch
from cgx.indexer.launch.shell.run import read_script
from cgx.indexer.launch.shell.state import State, is_known

MakeTree = Callable[..., Any]  # the fixture of conftest.py

MEGATRON = r"""
    #!/bin/bash
    # Runs the "175B" model
    export CUDA_DEVICE_MAX_CONNECTIONS=1
    GPUS_PER_NODE=8
    MASTER_ADDR=${MASTER_ADDR:-"localhost"}
    NUM_NODES=2
    WORLD_SIZE=$(($GPUS_PER_NODE*$NUM_NODES))
    CHECKPOINT_PATH=$1 #<Specify path>
    DISTRIBUTED_ARGS=(
        --nproc_per_node $GPUS_PER_NODE
        --nnodes $NUM_NODES   # two
        --master_addr $MASTER_ADDR
    )
    GPT_MODEL_ARGS=(
        --num-layers 96
        --hidden-size "$((128 * 96))"
    )
    if [ -n "${EXTRA}" ]; then GPT_MODEL_ARGS+=(--extra "$EXTRA"); fi
    torchrun ${DISTRIBUTED_ARGS[@]} train.py \
        "${GPT_MODEL_ARGS[@]}" \
        --save $CHECKPOINT_PATH --data "$DATA_PATH" "${@:2}"
"""


def test_megatron_style_script(make_tree: MakeTree) -> None:
    tree = make_tree({"train.py": "", "run.sh": MEGATRON})
    plan = parse_launch("EXTRA='a b' bash run.sh ckpt --more 1", tree)
    shown = [word.name if isinstance(word, Unknown) else word for word in plan.argv]
    assert shown == [
        "train.py", "--num-layers", "96", "--hidden-size", "12288", "--extra", "a b", "--save", "ckpt", "--data", "$DATA_PATH", "--more", "1",
    ]  # fmt: skip
    assert plan.world_size == 16 and plan.env["CUDA_DEVICE_MAX_CONNECTIONS"] == "1"
    assert str(plan.anchor) == "run.sh:<module>:20"
    assert "--extra" not in parse_launch("bash run.sh ckpt", tree).argv


def started(tree: object, text: str) -> list[list[str]]:
    state = State(tree)
    read_script(state, text)
    return [list(item.words) for item in state.started]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A=x; p ${A:-y} ${B:-y} ${B:-'y z'} \"${B:-y z}\"", ["p", "x", "y", "y z", "y z"]),
        ("A='1 2'; p $A \"$A\" '$A'", ["p", "1", "2", "1 2", "$A"]),
        ('A=(1 "2 3"); A+=(4); p "${A[@]}" ${#A[@]} ${A[1]}', ["p", "1", "2 3", "4", "3", "2", "3"]),
        ("set -- a b c; shift; p $# $1 \"$@\"", ["p", "2", "b", "b", "c"]),
        ('p "$@" end', ["p", "end"]),
        ("F=dir/model.tar.gz; p ${F##*/} ${F%.gz} ${F%%.*} ${F#*/} ${F/model/x}", ["p", "model.tar.gz", "dir/model.tar", "dir/model", "model.tar.gz", "dir/x.tar.gz"]),
        ("A=abc; p ${#A} ${A:1:1} ${A^^}", ["p", "3", "b", "ABC"]),
        ("for i in {1..2} x; do N=$i; done; p $N", ["p", "x"]),
        ("i=0; while [ $i -lt 3 ]; do i=$((i+1)); done; p $i", ["p", "3"]),
        ("for ((i=0;i<3;i++)); do S=\"$S$i\"; done; p $S", ["p", "$S012"]),
        ("f() { local x=$1; p $x; }; f 5", ["p", "5"]),
        ("case fast in slow) p 1;; f*|g) p 2;; esac", ["p", "2"]),
        ('if [[ "a.yaml" == *.yaml && 3 -gt 2 ]]; then p yes; else p no; fi', ["p", "yes"]),
        ("[ -z \"$UNSET\" ] && A=1 || A=2; p $A", ["p", "1"]),
        ("false || p run", ["p", "run"]),
        ("D=$(dirname a/b.sh); p $D/$(basename a/c.py .py)", ["p", "a/c"]),
        ("CMD='p -a'; CMD+=\" -b 'x'\"; eval $CMD", ["p", "-a", "-b", "x"]),
        ("A=1 \\\n B=2 p \\\n  x # comment\n", ["p", "x"]),
        ("p <<EOF\n$HOME text\nEOF\n", ["p"]),
        ("( cd x; A=2 ); A=${A:-1}; p $A", ["p", "1"]),
        ("while [[ $# -gt 0 ]]; do case $1 in -n) N=$2; shift 2;; *) shift;; esac; done; p ${N:-none}", ["p", "none"]),
        ("p a{b,c}d", ["p", "abd", "acd"]),
        ("exec p x", ["p", "x"]),
    ],
)  # fmt: skip
def test_shell(make_tree: MakeTree, text: str, words: list[str]) -> None:
    found = [
        [word.replace("\ue000", "").replace("\ue001", "") for word in item] for item in started(make_tree({}), text)
    ]
    assert found == [words]


def test_what_is_not_known_stays_marked(make_tree: MakeTree) -> None:
    [_check, [_p, date, both]] = started(make_tree({}), "A=1; if some_check; then A=2; fi; p $(date +%s) $A")
    assert not is_known(date) and not is_known(both)


def test_a_branch_that_leaves_is_not_taken(make_tree: MakeTree) -> None:
    assert started(make_tree({}), "A=1; if ! command -v torchrun; then exit 1; fi; p $A") == [["p", "1"]]


def test_files_that_a_script_writes(make_tree: MakeTree) -> None:
    script = 'D=1\ncat <<EOT > ds.json\n{"stage": $D}\nEOT\npython train.py --config ds.json\n'
    plan = parse_launch("bash run.sh", make_tree({"train.py": "", "run.sh": script}))
    assert plan.files == {"ds.json": '{"stage": 1}\n'}


def test_slurm_directives(make_tree: MakeTree) -> None:
    script = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\nsrun python train.py --n $SLURM_NNODES\n"
    plan = parse_launch("sbatch job.sh", make_tree({"train.py": "", "job.sh": script}))
    assert plan.world_size == 8 and plan.argv == ["train.py", "--n", "2"]


def test_endless_scripts_end(make_tree: MakeTree) -> None:
    tree = make_tree({"train.py": "", "a.sh": "bash a.sh; while true; do x=1; done; python train.py"})
    assert parse_launch("bash a.sh", tree).script == "train.py"


def test_several_programs_are_said(make_tree: MakeTree) -> None:
    tree = make_tree(
        {
            "train.py": "",
            "prep.py": "",
            "a.sh": "python prep.py\ntorchrun --nproc_per_node=2 train.py\npython prep.py\n",
        }
    )
    plan = parse_launch("./a.sh", tree)
    assert plan.script == "train.py" and "starts 3 programs" in plan.problems[0]


@pytest.mark.parametrize("text", ["A=(one; two)", "A=(a | b)", "A=(<in)", "A=(x & y)", "A=((1))"])
def test_an_operator_in_an_array_is_refused(make_tree: MakeTree, text: str) -> None:
    state = State(make_tree({"train.py": ""}))
    read_script(state, f"{text}\npython train.py\n")
    assert state.started == [] and state.problems


@pytest.mark.parametrize("name", ["basename", "dirname", "realpath", "readlink"])
def test_a_command_whose_word_is_an_empty_variable(make_tree: MakeTree, name: str) -> None:
    state = State(make_tree({"train.py": ""}))
    read_script(state, f"EMPTY=\nX=$({name} $EMPTY)\npython train.py --x $X\n")
    assert not is_known(state.started[0].words[-1])


BROKEN = {
    "a quote in a default": "A=${B:-'x}\npython train.py $A\n",
    "a backslash at the end of a quote": 'python train.py "a\\',
    "a case that ends": "case $1 in\n  (a",
    "a function without a body": "function f",
    "a bracket in arithmetic": "for ((;;",
    "a redirection to nothing": "python train.py >",
    "deep groups": "(" * 3000,
    "deep conditions": "if true; then " * 2000,
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_broken_script_is_a_problem_and_no_fault(make_tree: MakeTree, text: str) -> None:
    state = State(make_tree({"train.py": ""}))
    read_script(state, text)
    assert state.problems


def test_subshells_count_on_one_budget(make_tree: MakeTree) -> None:
    state = State(make_tree({}))
    read_script(state, "while true; do ( while true; do ( while true; do ( while true; do x=1; done ); done ); done ); done")
    assert "stopped after" in state.problems[0]


@pytest.mark.parametrize(
    "text",
    [
        "p {" + "a," * 60 + "{x",  # no brace that closes: JSON without quotes looks so
        "p {1..2000000000}",
        "p {1..900}{1..900}{1..900}",
        "A=x; while true; do A=$A$A; done; p $A",
        "A=(x); while true; do A+=(${A[@]} ${A[@]}); done; p ${A[@]}",
        'set -- a b; while true; do set -- "$@" "$@"; done; p',
        'f() { f "$@" "$@"; }; f a; p',
        "p $((9 ** 64 ** 64))",
        "A=9; while true; do A=$((A*A)); done; p $A",
    ],
)
def test_values_that_grow_without_end(make_tree: MakeTree, text: str) -> None:
    state = State(make_tree({}))
    read_script(state, text)
    assert "p" in [item.words[0] for item in state.started] or "stopped after" in state.problems[0]
