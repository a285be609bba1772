"""`cgx view`: one page, no network, usable by keyboard, without an error in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from cgx.errors import UserError
from cgx.exporters.viewing import page
from cgx.workflow.view import run_view

from .test_checking import RECORD, toy  # noqa: F401 - a fixture
from .test_records import schedule

BROWSER = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="NO BROWSER: the page was not opened; install chromium")


def large(layers: int) -> dict:
    """A record with some twenty thousand entries."""
    rows = [RECORD["modules"][0]]
    for layer in range(layers):
        name = f"m{layer}"
        rows.append({"id": name, "level": "module", "name": f"block{layer}", "path": f"block{layer}", "type": "model.Block", "parent": "e1",
                     "order": layer, "code_anchor": "model.py:Net.forward:9", "multiplicity": 1, "parameters": {"weight": [layer + 1, 64]}})  # fmt: skip
        rows += [
            {"id": f"{name}o{op}", "level": "op", "name": "torch.relu", "type": "torch.relu", "parent": name, "order": op,
             "code_anchor": "model.py:Net.forward:10", "multiplicity": 1}
            for op in range(20)
        ]  # fmt: skip
    return {**RECORD, "modules": rows}


def opened(tmp_path, text: str, script: str = "", query: str = "") -> tuple[str, str]:
    """(document after it was drawn, what the console said). ``script`` runs at the end and may set data-test."""
    file = tmp_path / "page.html"
    file.write_text(text.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--window-size=1400,900",
               f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=3000", "--dump-dom", f"file://{file}{query}"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


def test_the_page_asks_nothing_of_a_network():
    text = page(RECORD, schedule(), {})
    outside = [link for link in re.findall(r"""(?:src|href)\s*=\s*["']([^"']*)""", text) if not link.startswith("#")]
    assert outside == [] and "default-src 'none'" in text and "{{" not in text.split("<script", 1)[0]


def test_nothing_in_a_record_can_end_the_script():
    record = json.loads(json.dumps(RECORD))
    record["modules"][2]["name"] = "</script><script>alert(1)</script>"
    assert "</script><script>alert" not in page(record, None, {})


def test_the_command_needs_records_of_one_job(tmp_path, toy, capsys):  # noqa: F811
    for name, record in (("a.json", RECORD), ("b.json", RECORD)):
        (tmp_path / name).write_text(json.dumps(record))
    out = tmp_path / "out.html"
    assert run_view([tmp_path / "a.json"], output=out, source=str(toy), workspace=tmp_path) == 0
    assert "return self.fc(x)" in out.read_text()  # the line of code comes along
    with pytest.raises(UserError, match="second record"):
        run_view([tmp_path / "a.json", tmp_path / "b.json"], output=out, source=str(toy), workspace=tmp_path)
    with pytest.raises(UserError, match="no record"):
        run_view([], output=out, source=str(toy), workspace=tmp_path)


@needs_browser
def test_a_small_page_is_drawn_without_an_error(tmp_path):
    dom, console = opened(tmp_path, page(RECORD, schedule(), {}))
    assert console == "" and 'data-ready="yes"' in dom
    assert dom.count('class="row') == 3 and "fc.[0-1]" in dom


@needs_browser
def test_the_keyboard_moves_folds_and_searches(tmp_path):
    script = """
      const press = (target, key) => target.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
      const log = [];
      press(tree, "Home"); press(tree, "ArrowDown"); log.push(state.chosen);
      press(tree, "ArrowLeft"); log.push(state.visible.length);
      press(tree, "ArrowRight"); log.push(state.visible.length);
      press(document.body, "/"); log.push(document.activeElement.id);
      search.value = "functional.linear"; search.dispatchEvent(new Event("input")); log.push(state.hits.size);
      press(search, "Escape"); log.push(state.query === "" && document.activeElement.id);
      press(document.body, "2"); log.push(document.getElementById("view-schedule").hidden);
      theme("dark"); log.push(document.documentElement.dataset.theme);
      document.documentElement.dataset.test = log.join(" ");
    """
    dom, console = opened(tmp_path, page(RECORD, schedule(), {}), script)
    assert console == ""
    assert re.search(r'data-test="([^"]*)"', dom)[1] == "e2 2 3 search 1 tree false dark"


@needs_browser
def test_a_very_large_page_draws_only_what_is_in_sight(tmp_path):
    script = "unfoldTo(Infinity); relist(); tree.scrollTop = 1e6; draw(); document.documentElement.dataset.test = state.visible.length;"
    record = large(1000)
    dom, console = opened(tmp_path, page(record, None, {}), script)
    assert console == "" and f'data-test="{len(record["modules"])}"' in dom
    assert 10 < dom.count('class="row') < 200
