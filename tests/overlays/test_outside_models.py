"""Models of libraries whose source is not given are modules all the same, and what is missing is said."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "schedule"))

from serving_jobs import brief, served

from cgx.indexer.job import JobRequest, read_job
from cgx.indexer.overlays.outside_models import FACTORIES, row_of
from cgx.indexer.source import open_tree

EXAMPLES = {
    "torchvision.models.detection.fasterrcnn_resnet50_fpn": "detections",
    "torchvision.models.segmentation.deeplabv3_resnet50": "outputs",
    "torchvision.models.resnet50": "tensor",
    "torchvision.models.resnet.ResNet": "tensor",
    "timm.create_model": "tensor",
    "timm.models.vision_transformer.vit_base_patch16_224": "tensor",
    "segmentation_models_pytorch.Unet": "tensor",
    "efficientnet_pytorch.EfficientNet.from_pretrained": "tensor",
    "open_clip.create_model": "",
    "open_clip.create_model_and_transforms": "",
    "open_clip.create_model_from_pretrained": "",
    "clip.load": "",
    "lpips.LPIPS": "tensor",
    "monai.networks.nets.UNet": "tensor",
    "vit_pytorch.ViT": "tensor",
    "torchaudio.models.Conformer": "",
    "torch_geometric.nn.GCNConv": "tensor",
}
NO_MODELS = (
    "torchvision.models.ResNet50_Weights", "torchvision.models.list_models", "torchvision.models.detection.FasterRCNN_ResNet50_FPN_Weights",
    "timm.list_models", "timm.data.create_transform", "segmentation_models_pytorch.losses.DiceLoss", "torch_geometric.nn.global_mean_pool",
)  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_factories(name: str) -> None:
    found = row_of(name)
    assert found is not None and found[0] == EXAMPLES[name]


def test_every_row_has_an_example() -> None:
    assert len(EXAMPLES) >= len(FACTORIES)


@pytest.mark.parametrize("name", NO_MODELS)
def test_what_makes_no_model(name: str) -> None:
    assert row_of(name) is None


LOOP = """
model.cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(10):
    images = torch.randn(4, 3, 8, 8).cuda()
    loss = model(images).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
"""


def phases(folder: Path, made: str) -> tuple[list[str], list[tuple[object, ...]], list[tuple[object, ...]]]:
    found = served(folder, f"import torch\n{made}\n{LOOP}").rows
    missing = [(one["name"], one["reason"], one["settle_with"]["name"]) for one in found["unresolved"]]
    copies = brief(found["host_device"]["copies"], "direction", "what")
    return [one["name"] for one in found["phases"]], copies, missing


def test_a_model_of_a_library_by_its_name(tmp_path: Path) -> None:
    made = "from torchvision import models\nother = models.resnet18()\nname = 'resnet50'\nmodel = models.__dict__[name](weights=None)"
    names, copies, missing = phases(tmp_path, made)
    assert "forward" in names and ("H2D", "model") in copies
    assert missing == [("torchvision.models.resnet50", "missing-module", "torchvision")]  # the other one is never called


def test_a_model_that_only_its_use_tells(tmp_path: Path) -> None:
    names, copies, missing = phases(tmp_path, "import zoo\nmodel = zoo.build('small').to('cpu')")
    assert "forward" in names and ("H2D", "model") in copies
    assert missing == [("zoo.build", "missing-module", "zoo")]


def test_what_nobody_asks_for_parameters_is_no_module(tmp_path: Path) -> None:
    source = "import torch, zoo\nscale = zoo.build('small')\nx = torch.ones(2).cuda()\nfor _ in range(3):\n    y = scale(x)\n"
    assert "forward" not in [one["name"] for one in served(tmp_path, source).rows["phases"]]


def test_what_the_code_registers_with_timm_is_built(tmp_path: Path) -> None:
    made = (
        "from torch import nn\nfrom timm.models.registry import register_model\nfrom timm.models import create_model\n"
        "@register_model\ndef tiny(pretrained=False, width=2):\n    return nn.Sequential(nn.Conv2d(3, width, 3), nn.ReLU())\n"
        "model = create_model('tiny', pretrained=False, width=4, drop=None)"
    )
    names, _, missing = phases(tmp_path, made)
    assert "forward" in names and missing == []


def test_a_loss_that_nobody_knows_is_a_number_on_the_device(tmp_path: Path) -> None:
    source = (
        "import torch\nfrom torch import nn\nfrom zoo import Loss\nfrom timm.utils import ModelEma\nnet = nn.Linear(2, 2).cuda()\naverage = ModelEma(net)\nlossy = Loss()\n"
        "opt = torch.optim.SGD(net.parameters(), 0.1)\ndata = torch.utils.data.DataLoader([torch.ones(2)] * 8)\n"
        "def evaluate(model):\n    for x in data:\n        x = x.cuda()\n        unknown(x)\n"
        "for epoch in range(3):\n    for x in data:\n        out = net(x.cuda())\n        loss = lossy(out, x.cuda())\n        print(loss.item())\n"
        "        loss.backward()\n        opt.step()\n        opt.zero_grad()\n        average.update(net)\n    evaluate(average.ema)\n"
    )
    rows = served(tmp_path, source).rows
    assert ("item", "loss.item()", "logging") in brief(rows["host_device"]["syncs"], "kind", "what", "phase")
    assert [one["phase"] for one in rows["host_device"]["copies"] if one["code_anchor"].startswith("main.py:evaluate")] == ["evaluation"]
    assert rows["compute"]["ema"]["value"] == "timm.utils.ModelEma"


def test_timms_own_registry_is_read_where_its_source_is_there(tmp_path: Path) -> None:
    (tmp_path / "timm" / "models").mkdir(parents=True)
    (tmp_path / "timm" / "__init__.py").write_text("")
    (tmp_path / "timm" / "models" / "__init__.py").write_text("")
    (tmp_path / "timm" / "models" / "_registry.py").write_text("names = []\ndef register_model(fn):\n    names.append(fn.__name__)\n    return fn\n")
    (tmp_path / "main.py").write_text(
        "import torch\nfrom torch import nn\nfrom timm.models._registry import names, register_model\n@register_model\ndef wide():\n    return nn.Linear(2, 2)\n"
        "if 'wide' in names:\n    wide()(torch.zeros(1, 2))\n"
    )
    found = read_job(open_tree(tmp_path), [], JobRequest(launch="python main.py"), [])
    assert [row["type"] for row in found.graph["modules"] if row["level"] == "model"] == ["torch.nn.Linear"]
