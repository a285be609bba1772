"""A generated graph for the store benchmark: the schema's kinds in the proportions of a large Python code base.

Deterministic for a seed. Two commits share most files; callees are skewed (few hubs, a long tail); a job hangs on the later one.
"""

from __future__ import annotations

import random
from typing import Any

from cgx.indexer.passes.answers import tally_answers
from cgx.model.facts import Edge, GraphDelta, Node
from cgx.model.job_entries import job_delta

REPO, OLD, NEW, JOB, OLD_JOB = "generated", "0" * 40, "1" * 40, "job-new", "job-old"
PER_FILE = 15  # functions a file
CLASS_EVERY = 5  # one class for so many functions
EXTERNALS = 2_000
REASONS = ("unresolved-name", "unmodelled", "parameter", "data")
SHARED = 0.95  # part of the files that both commits hold


def generate(nodes: int, edges: int, seed: int = 7) -> GraphDelta:
    """About ``nodes`` nodes and ``edges`` edges."""
    return _Generator(nodes, edges, random.Random(seed)).run()


class _Generator:
    def __init__(self, nodes: int, edges: int, rng: random.Random) -> None:
        self.rng, self.delta, self.edges = rng, GraphDelta(), edges
        per_file = 1 + 2 * (
            1 + PER_FILE + PER_FILE // CLASS_EVERY
        )  # a file and, for all it defines, a version and a symbol
        self.files = max(4, int((nodes - EXTERNALS) / per_file / (2 - SHARED)))
        self.functions: list[str] = []
        self.classes: list[str] = []
        self.callers: list[str] = []

    def run(self) -> GraphDelta:
        self._heads()
        for number in range(self.files):
            shared = self.rng.random() < SHARED
            self._file(number, "a", (OLD, NEW) if shared else (OLD,))
            if not shared:
                self._file(number, "b", (NEW,))
        self._calls()
        self._jobs()
        tally_answers(self.delta)
        return self.delta

    def _heads(self) -> None:
        nodes, edges = self.delta.nodes, self.delta.edges
        nodes.append(Node("Repository", REPO, {"name": REPO}))
        for sha in (OLD, NEW):
            counts = {
                "files": self.files,
                "lines": self.files * 400,
                "sites": 10,
                "resolved": 5,
                "external": 3,
                "unresolved": 2,
            }
            head = {
                "name": sha[:10],
                "sha": sha,
                "repository": REPO,
                "complete": True,
                "time": int(sha[:1]) + 1,
                **counts,
            }
            nodes.append(Node("Commit", sha, head))
            edges.append(Edge("OF_REPOSITORY", sha, REPO))
            entry = f"{sha}:script:python train.py"
            nodes.append(
                Node(
                    "EntryPoint",
                    entry,
                    {"name": "train", "kind": "script", "command": "python train.py", "anchor": "m0.py:<module>:1"},
                )
            )
            edges.append(Edge("OFFERS", sha, entry, {"rank": 0}))
        for number in range(EXTERNALS):
            qname = f"torch.{'distributed' if number < 20 else 'nn'}.x{number}" if number else "torch.nn.Module"
            nodes.append(
                Node("External", qname, {"name": qname.rpartition(".")[2], "qname": qname, "package": "torch"})
            )
        for reason in REASONS:
            nodes.append(Node("Reason", f"reason:{reason}", {"name": reason, "doc": reason}))

    def _file(self, number: int, digest: str, commits: tuple[str, ...]) -> None:
        path, module = f"pkg{number % 97}/m{number}.py", f"pkg{number % 97}.m{number}"
        id_ = f"{path}@{digest}{number}"
        self.delta.nodes.append(
            Node(
                "File",
                id_,
                {
                    "name": f"m{number}.py",
                    "path": path,
                    "blob": f"{digest}{number}",
                    "module": module,
                    "repository": REPO,
                    "lines": 400,
                    "parsed": "whole",
                },
            )
        )
        self.delta.edges.extend(Edge("HAS", commit, id_) for commit in commits)
        self._define("Function", id_, path, module, "<module>", 1, "module")
        outer = ""
        for at in range(PER_FILE):
            if at % CLASS_EVERY == 0:
                outer = f"C{at}"
                self.classes.append(self._define("Class", id_, path, module, outer, at * 20 + 5, "class"))
                self._inherit(id_, outer)
            self.functions.append(
                self._define(
                    "Function",
                    id_,
                    path,
                    module,
                    f"{outer}.{'forward' if at % 5 == 1 else f'f{at}'}",
                    at * 20 + 10,
                    "method",
                )
            )
            self.delta.edges.append(Edge("CONTAINS", f"{id_}:{outer}", self.callers[-1]))
        self.delta.edges.append(Edge("IMPORTS", id_, self.rng.choice(self.functions), {"line": 2}, key="2"))

    def _define(self, label: str, file: str, path: str, module: str, symbol: str, line: int, kind: str) -> str:
        qname = f"{module}.{symbol}"
        place = {"path": path, "line": line, "end_line": line + 15, "anchor": f"{path}:{symbol}:{line}"}
        more = {} if label == "Class" else {"kind": kind, "parameters": ["self", "x"]}
        node, symbol_id = f"{file}:{symbol}", f"{REPO}:{qname}"
        self.delta.nodes.append(
            Node(
                label,
                node,
                {
                    "name": symbol.rpartition(".")[2],
                    "symbol": symbol,
                    "qname": qname,
                    **place,
                    **more,
                    "exact": f"{node}!",
                },
            )
        )
        self.delta.nodes.append(
            Node(
                "Symbol",
                symbol_id,
                {"name": symbol.rpartition(".")[2], "qname": qname, "kind": kind, "repository": REPO},
            )
        )
        self.delta.edges += [Edge("DEFINES", file, node), Edge("DEFINED_BY", symbol_id, node)]
        if label == "Function":
            self.callers.append(node)
        return symbol_id

    def _inherit(self, file: str, name: str) -> None:
        base = (
            "torch.nn.Module"
            if self.rng.random() < 0.4 or len(self.classes) < 10
            else self.classes[self._skewed(len(self.classes) - 1)]
        )
        self.delta.edges.append(
            Edge("INHERITS", f"{file}:{name}", base, {"order": 0, "text": "Base", "basis": "exact"})
        )

    def _skewed(self, size: int) -> int:
        return int(size * self.rng.random() ** 4)

    def _calls(self) -> None:
        rng = self.rng
        wanted = self.edges - len(self.delta.edges)
        for number in range(max(0, wanted)):
            caller, line = rng.choice(self.callers), rng.randrange(1, 400)
            site: dict[str, Any] = {"line": line, "col": 4, "text": "self.callee", "author": "link"}
            draw, key = rng.random(), f"{number}"
            if draw < 0.1:
                self.delta.edges.append(Edge("UNRESOLVED_CALL", caller, f"reason:{rng.choice(REASONS)}", site, key))
                continue
            site["basis"] = "exact"
            if draw < 0.4:
                self.delta.edges.append(
                    Edge("CALLS", caller, f"torch.nn.x{20 + self._skewed(EXTERNALS - 21)}", site, key)
                )
            elif draw < 0.402:
                self.delta.edges.append(Edge("CALLS", caller, f"torch.distributed.x{rng.randrange(1, 20)}", site, key))
            elif draw < 0.5:
                self.delta.edges.append(
                    Edge(
                        "CONSTRUCTS",
                        caller,
                        self.classes[self._skewed(len(self.classes))],
                        {**site, "arguments": ["config"]},
                        key,
                    )
                )
            else:
                self.delta.edges.append(
                    Edge("CALLS", caller, self.functions[self._skewed(len(self.functions))], site, key)
                )

    def _jobs(self) -> None:
        for job, commit, count in ((OLD_JOB, OLD, 12), (JOB, NEW, 24)):
            part = job_delta(
                job,
                {"job_type": "training", "launch": ["python", "train.py"]},
                _graph(count),
                _schedule(),
                commit_id=commit,
                symbol_at=lambda _: self.functions[3],
            )
            self.delta.extend(part.nodes, part.edges)


def _graph(count: int) -> dict[str, Any]:
    modules: list[dict[str, Any]] = [
        {
            "id": "r",
            "level": "model",
            "name": "model",
            "path": "",
            "type": "pkg0.m0.C0",
            "parent": None,
            "order": 0,
            "multiplicity": 1,
            "code_anchor": "pkg0/m0.py:C0.forward:30",
        }
    ]
    for at in range(300):
        repeat = {
            "unit": f"pkg0.m0.C{at}",
            "count": count,
            "by": "instances",
            "expr": "config.n_layer",
            "code_anchor": "pkg0/m0.py:C0.f0:12",
        }
        modules.append(
            {
                "id": f"m{at}",
                "level": "module",
                "name": f"h{at}",
                "path": f"h{at}.[0-{count - 1}]",
                "type": f"pkg0.m0.C{at}",
                "parent": "r",
                "order": at,
                "repeat": repeat,
                "multiplicity": count,
                "code_anchor": "pkg0/m0.py:C0.forward:31",
            }
        )
        for op in range(8):
            modules.append(
                {
                    "id": f"o{at}_{op}",
                    "level": "op",
                    "name": "linear",
                    "type": "torch.nn.functional.linear",
                    "parent": f"m{at}",
                    "order": op,
                    "multiplicity": count,
                    "code_anchor": f"pkg0/m0.py:C0.forward:{32 + op}",
                }
            )
    return {"symbols": {}, "modules": modules, "unresolved": []}


def _schedule() -> dict[str, Any]:
    each = {
        "phase": "forward",
        "frequency": {"per": "step"},
        "repeat": 1,
        "ranks": "all",
        "code_anchor": "pkg0/m0.py:C0.forward:31",
    }
    return {
        "phases": [{"name": "forward", "kind": "repeated", "ranks": "all", "code_anchor": "pkg0/m0.py:C0.forward:30"}],
        "host_device": {
            "copies": [
                {"direction": "H2D", "what": f"x{n}", "source": "pageable", "blocks_host": True, **each}
                for n in range(50)
            ],
            "syncs": [{"kind": "item", "what": f"loss{n}.item()", **each} for n in range(50)],
        },
        "device_device": [
            {"collective": "all_reduce", "issued_by": "call", "blocking": True, **each} for _ in range(50)
        ],
    }
