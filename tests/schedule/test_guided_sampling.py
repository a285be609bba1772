"""Samples that the gradient of a classifier guides: nothing is trained, though gradients are taken."""

from __future__ import annotations

from pathlib import Path

from serving_jobs import HEAD, brief, served

SOURCE = (
    HEAD
    + """
model, classifier = nn.Linear(4, 4).to("cuda"), nn.Linear(4, 2).to("cuda")

def guide(x, t):
    with torch.enable_grad():
        x = x.detach().requires_grad_(True)
        chosen = torch.log_softmax(classifier(x), dim=-1)[:, 0]
        return torch.autograd.grad(chosen.sum(), x)[0]

images = []
while len(images) < 8:
    x = torch.randn(2, 4, device="cuda")
    for timestep in range(250):
        with torch.no_grad():
            x = x - model(x)
        x = x + guide(x, timestep)
    images.append(x.cpu())
"""
)


def test_it_samples(tmp_path: Path) -> None:
    found = served(tmp_path, SOURCE)
    assert found.job_type == "inference serving"
    assert ("denoising step", 250) in brief(found.rows["loops"], "unit", "count")
    assert {row["phase"] for row in found.rows["compute"]["forward"]} == {"sample"}
