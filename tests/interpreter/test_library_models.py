"""Idioms of model libraries: rows for library functions, imports on demand, versions, mappings, contents of small tensors."""

from __future__ import annotations

from pathlib import Path

from interpreted import build, job, reasons

LAZY = "from typing import TYPE_CHECKING\nfrom lazy_loader import attach\n_x = 1\n"




def shown(folder: Path, text: str, **files: str) -> list[object]:
    """Names of the modules that ``main.py`` builds, as a way to see which branch it took."""
    trace = job(folder, {"main.py": "import torch.nn as nn\n" + text, **{name.replace("__", "/") + ".py": body for name, body in files.items()}})
    return [module.attrs.get("out_features") for module in trace.modules]


def test_comparing_versions(tmp_path: Path) -> None:
    text = "import torch\nfrom packaging import version\nif version.parse(torch.__version__) >= version.parse('2.0'):\n    m = nn.Linear(1, 2)\nelse:\n    m = nn.Linear(1, 3)\n"
    assert shown(tmp_path, text) == [2]


def test_an_optional_package_that_nothing_provides_is_absent_and_named(tmp_path: Path) -> None:
    text = "import importlib.util\nimport torch.nn as nn\nm = nn.Linear(1, 2 if importlib.util.find_spec('odd_kernels') is None else 3)\n"
    trace = job(tmp_path, {"main.py": text})
    assert [module.attrs["out_features"] for module in trace.modules] == [2]
    assert reasons(trace)["import odd_kernels"] == "missing-module"


def test_the_version_of_an_installed_distribution(tmp_path: Path) -> None:
    (tmp_path / "thing-3.1.dist-info").mkdir()
    (tmp_path / "thing-3.1.dist-info" / "METADATA").write_text("Requires-Dist: needed>=1\nRequires-Dist: other; extra == 'x'\n\nText\n")
    text = (
        "import importlib.metadata, importlib.util\nm = nn.Linear(1, 2 if importlib.metadata.version('thing') == '3.1' else 3)\n"
        "n = nn.Linear(1, 4 if importlib.util.find_spec('needed') and not importlib.util.find_spec('other') else 5)\n"
    )
    assert shown(tmp_path, text) == [2, 4]


def test_names_of_a_lazy_package_are_imported_on_first_use(tmp_path: Path) -> None:
    files = {
        "lib/__init__.py": LAZY,
        "lib/a.py": "from .b import Width, unused\nfrom .broken import nothing\nclass A:\n    width = Width\n",
        "lib/b.py": "Width = 7\nunused = 1\n",
        "lib/broken.py": "raise ValueError('never read')\n",
        "main.py": "import torch.nn as nn\nfrom lib.a import A\nm = nn.Linear(1, A.width)\n",
    }
    trace = job(tmp_path, files)
    assert [module.attrs["out_features"] for module in trace.modules] == [7]
    assert not any("broken" in unknown.name for unknown in trace.unknowns)


def test_rows_answer_for_functions_of_a_library_that_is_read(tmp_path: Path) -> None:
    files = {
        "transformers/__init__.py": "",
        "transformers/utils/__init__.py": "",
        "transformers/utils/auto_docstring.py": "def auto_docstring(f=None, **kwargs):\n    raise RuntimeError('not evaluated')\n",
        "main.py": "import torch.nn as nn\nfrom transformers.utils.auto_docstring import auto_docstring\n@auto_docstring\ndef f():\n    return 3\n"
        "@auto_docstring(checkpoint='x')\ndef g():\n    return 4\nm = nn.Linear(f(), g())\n",
    }
    trace = job(tmp_path, files)
    assert [(module.attrs["in_features"], module.attrs["out_features"]) for module in trace.modules] == [(3, 4)]


def test_mixin_methods_of_mappings_and_ordered_dicts(tmp_path: Path) -> None:
    text = (
        "from collections import OrderedDict, UserDict\nfrom collections.abc import MutableMapping\n"
        "class M(MutableMapping):\n    def __init__(self):\n        self.d = {'a': 1}\n    def __getitem__(self, k):\n        return self.d[k]\n"
        "    def __setitem__(self, k, v):\n        self.d[k] = v\n    def __delitem__(self, k):\n        del self.d[k]\n"
        "    def __iter__(self):\n        return iter({**self.d})\n    def __len__(self):\n        return len(self.d)\n"
        "class O(OrderedDict):\n    def __getitem__(self, k):\n        return super().__getitem__(k) + 1\n"
        "    def __setattr__(self, k, v):\n        super().__setattr__(k, v)\n"
        "m = M()\nm.update(b=2)\no = O({'x': 4})\no.y = 6\n"
        "a = nn.Linear(1, len(list(m.keys())))\nb = nn.Linear(1, m.get('b', 9))\nc = nn.Linear(1, o['x'])\nd = nn.Linear(1, 8 if 'x' in o else 9)\ne = nn.Linear(1, o.y)\n"
        "f = nn.Linear(1, UserDict({'q': 11})['q'])\n"
    )
    assert shown(tmp_path, text) == [2, 2, 5, 8, 6, 11]


def test_context_variables_hold_what_was_set(tmp_path: Path) -> None:
    text = (
        "from contextvars import ContextVar\nv = ContextVar('v', default=3)\na = nn.Linear(1, v.get())\nt = v.set(5)\nb = nn.Linear(1, v.get())\n"
        "v.reset(t)\nc = nn.Linear(1, v.get())\n"
    )
    assert shown(tmp_path, text) == [3, 5, 3]


def test_reflection(tmp_path: Path) -> None:
    text = (
        "import inspect\nclass Config:\n    width: int = 4\nclass Wide(Config):\n    pass\nclass Model:\n    config: Wide\n"
        "def f(a, b):\n    c = 1\n    return c\n"
        "kind = inspect.get_annotations(Model)['config']\na = nn.Linear(1, kind.width)\nb = nn.Linear(1, 3 if 'c' in f.__code__.co_varnames else 2)\n"
        "d = nn.Linear(1, 5 if 'c = 1' in inspect.getsource(f) else 6)\ne = nn.Linear(1, 7 if 'Config' in str(Wide.__bases__) else 8)\n"
        "class cp(property):\n    def __get__(self, o, c):\n        return self.fget(c)\nclass H:\n    @cp\n    def size(cls):\n        return 9\ng = nn.Linear(1, H.size)\n"
    )
    assert shown(tmp_path, text) == [4, 3, 5, 7, 9]


def test_small_contents_decide_a_branch(tmp_path: Path) -> None:
    """Positions that the model makes itself are consecutive: no mask for packed sequences is made."""
    text = (
        "import torch, torch.nn as nn\nclass M(nn.Module):\n    def forward(self, x):\n        p = torch.arange(x.shape[1]).unsqueeze(0).expand(x.shape[0], -1)\n"
        "        first = p[:, :1] - 1\n        packed = (torch.diff(p, prepend=first, dim=-1) != 1).cumsum(-1)\n"
        "        if (packed[:, -1] == 0).all():\n            return x.relu()\n        return x.tanh()\n"
    )
    trace = build(tmp_path, {"m.py": text}, "m.py:M()", ["x=float32[2,5]"])
    found = [node.qname for node in trace.root.walk() if hasattr(node, "qname")]
    assert "torch.Tensor.relu" in found and "torch.Tensor.tanh" not in found


def test_parameters_under_every_name(tmp_path: Path) -> None:
    text = (
        "a = nn.Linear(2, 2)\nb = nn.Linear(2, 2)\nb.weight = a.weight\nm = nn.Sequential(a, b)\n"
        "c = nn.Linear(1, len(list(m.named_parameters())))\nd = nn.Linear(1, len([n for n, _ in m.named_parameters(remove_duplicate=False)]))\n"
    )
    assert shown(tmp_path, text)[3:] == [3, 4]


def test_results_by_field_and_mappings_spread(tmp_path: Path) -> None:
    text = (
        "import torch, torch.nn as nn\nfrom collections import OrderedDict\nclass Out(OrderedDict):\n    pass\ndef take(a, b):\n    return b\n"
        "class M(nn.Module):\n    def forward(self, x):\n        top = x.max(dim=-1, keepdim=True).values\n        out = Out()\n        out['a'] = x\n        out['b'] = top\n"
        "        if hasattr(out, 'other'):\n            return x.tanh()\n        return take(**out).relu()\n"
    )
    trace = build(tmp_path, {"m.py": text}, "m.py:M()", ["x=float32[2,5]"])
    outputs = [node.outputs[0].shape for node in trace.root.walk() if getattr(node, "qname", "") == "torch.Tensor.relu"]
    assert outputs == [(2, 1)] and not any(getattr(node, "qname", "") == "torch.Tensor.tanh" for node in trace.root.walk())
