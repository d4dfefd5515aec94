"""`labkit lab` in a browser: its start page, and notebooks that read as prose."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from labkit.figures import parts
from labkit.io import supervise
from labkit.io.project import SHIPPED
from labkit.report.markdown import needing
from tests.waiting import jupyter

pytestmark = [pytest.mark.browser, pytest.mark.slow]
EXAMPLE = SHIPPED / "data" / "campaigns" / "examples" / "two-cores"
NAMES = (
    "HOME",
    "JUPYTER_CONFIG_DIR",
    "JUPYTER_DATA_DIR",
    "JUPYTER_RUNTIME_DIR",
    "IPYTHONDIR",
    "JUPYTERLAB_WORKSPACES_DIR",
)


OPEN = """async path => { const app = window.jupyterapp; await app.restored;
  const panel = await app.commands.execute('docmanager:open', {path, factory: 'Notebook'});
  await panel.context.ready;
  const {model} = panel.context, read = key => model.getMetadata(key) || {};
  const known = () => read('language_info').version === VERSION && read('kernelspec').display_name.includes('ipykernel');
  while (!known() || !panel.sessionContext.session) await new Promise(done => setTimeout(done, 100));
  await panel.sessionContext.session.kernel.info;
  await new Promise(done => setTimeout(done, 1000));
  const found = [model.dirty];
  model.cells.get(0).sharedModel.setSource('changed');
  await new Promise(done => setTimeout(done, 100));
  found.push(model.dirty);
  await panel.sessionContext.shutdown();
  model.dirty = false;
  panel.dispose();
  return found }""".replace("VERSION", f"'{platform.python_version()}'")
LAB = "labs/2-layers/2-layers.ipynb"


def copy_of_another_python(notebooks: Path) -> None:
    """A lab as in git, without the version of a kernel."""
    book = nbformat.read(notebooks / LAB, as_version=4)
    book.metadata = nbformat.from_dict(
        {"kernelspec": {"display_name": "Python 3", "name": "python3"}, "language_info": {"name": "python"}}
    )
    nbformat.write(book, notebooks / "elsewhere.ipynb")


@pytest.fixture
def opened(tmp_path: Path, chromium: Path) -> Iterator[tuple[Any, str]]:
    """The page that `labkit lab` would open, in a project."""
    sync_api = pytest.importorskip("playwright.sync_api")
    project = tmp_path / "project"
    subprocess.run([sys.executable, "-m", "labkit", "init", str(project)], check=True, capture_output=True)
    cells = [
        new_markdown_cell(
            "# Times {#sec-times}\n\n"
            + needing("fig-one tbl-two", "See @fig-one, @tbl-two, @sec-times, `@fig-one` and @fig-far [@osu; @imb].")
        ),
        new_code_cell(
            '#| label: fig-one\n#| fig-cap: "All of them."\n1',
            outputs=[new_output("display_data", {"text/plain": "1"})],
        ),
        new_code_cell('#| label: tbl-two\n#| tbl-cap: "Not run yet."\n2'),
        new_code_cell("3", outputs=[new_output("display_data", parts.bundle(parts.Text(findings=("Found *it*.",))))]),
    ]
    nbformat.write(new_notebook(cells=cells), project / "notebooks" / "prose.ipynb")
    copy_of_another_python(project / "notebooks")
    homes = {name: str(tmp_path / name.lower()) for name in NAMES}
    for home in homes.values():
        Path(home).mkdir()
    env = (
        os.environ | homes | {"JUPYTER_TOKEN": "secret", "LABKIT_PROJECT": str(project), "LABKIT_EXPLORE": str(EXAMPLE)}
    )
    command = [sys.executable, "-m", "labkit", "lab", "--no-browser", "--port=0", "--expose-app-in-browser"]
    with (
        supervise.start(command, env=env, stdout=supervise.DEVNULL, grace=8.0) as tree,
        sync_api.sync_playwright() as play,
    ):
        url = jupyter(tmp_path / "jupyter_runtime_dir", tree)
        browser = play.chromium.launch(executable_path=str(chromium), args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.set_default_timeout(240_000)
        page.goto(f"{url}?token=secret")
        yield page, url
        browser.close()


def test_axe_finds_nothing_on_the_start_page(opened: tuple[Any, str]) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page, _ = opened
    page.locator(".jp-MarkdownViewer strong:text('This machine')").wait_for()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(f"document.body.dataset.jpThemeLight === '{str(scheme == 'light').lower()}'")
        page.wait_for_timeout(1000)
        found = axe.run(page, context=".jp-MarkdownViewer").response["violations"]
        assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []


def test_a_narrow_window_and_a_dark_theme_show_the_page_and_abort_no_request(opened: tuple[Any, str]) -> None:
    page, url = opened
    failed: list[str] = []
    page.on("requestfailed", lambda request: failed.append(request.url))
    page.set_viewport_size({"width": 420, "height": 800})
    page.emulate_media(color_scheme="dark")
    page.goto(f"{url}?token=secret")
    page.locator(".jp-MarkdownViewer strong:text('This machine')").wait_for()
    page.wait_for_function("document.body.dataset.jpThemeLight === 'false'")
    picture = page.locator(".jp-MarkdownViewer img").first
    page.wait_for_function("one => one.complete && one.naturalWidth > 0", arg=picture.element_handle())
    assert "invert(1)" in picture.evaluate("one => getComputedStyle(one).filter")
    assert page.locator(".jp-MarkdownViewer").evaluate("one => one.clientWidth") > 300
    assert not [one for one in failed if "svg" in one or "/files/" in one]
    page.goto(f"{url}lab/tree/00-start.ipynb?token=secret")
    page.locator(".jp-RenderedMarkdown h1:has-text('From a campaign to a figure')").wait_for()
    assert page.locator(".jp-Notebook").evaluate("one => one.clientWidth") > 250  # the file browser is folded


def run_the_first_cell(page: Any) -> None:
    """Run it; JupyterLab drops a key while it still connects to the kernel."""
    page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for()
    cell = page.locator(".jp-Notebook .jp-CodeCell").first
    for _ in range(3):
        cell.click()
        page.keyboard.press("Control+Enter")
        page.wait_for_timeout(5000)
        if cell.locator(".jp-InputPrompt").inner_text() != "[ ]:":
            break


def test_a_notebook_shows_its_parameters_as_a_form(opened: tuple[Any, str]) -> None:
    page, url = opened
    page.goto(f"{url}lab/tree/10-latency.ipynb?token=secret")
    run_the_first_cell(page)
    form = page.locator(".lab-form")
    form.locator(":text('69 points, each in 6 launches: 414 measurements, at most about ')").wait_for()
    field = form.locator("input[type=text]").first
    field.fill("8")
    field.press("Enter")
    form.locator(":text('23 points, each in 6 launches: 138 measurements, at most about ')").wait_for()


def test_the_explorer_is_in_jupyterlab_too(opened: tuple[Any, str]) -> None:
    page, url = opened
    page.goto(f"{url}doc/tree/explorer.ipynb?token=secret")
    run_the_first_cell(page)
    page.locator(".lab-plot-A .scatterlayer .point").first.wait_for()


def test_the_start_page_leads_on_and_notebooks_read_as_prose(opened: tuple[Any, str]) -> None:
    page, url = opened
    start = page.locator(".jp-MarkdownViewer")
    start.locator("strong:text('This machine')").wait_for()
    pictures = start.locator("img")
    assert pictures.count() == len(list((SHIPPED / "templates" / "start").glob("*.svg")))
    assert pictures.first.evaluate("one => one.complete && one.naturalWidth > 0")
    start.locator("a:has-text('Where the microsecond goes')").click()
    page.locator(".jp-RenderedMarkdown h1:has-text('Lab 2: where the microsecond goes')").wait_for()
    page.goto(f"{url}lab/tree/prose.ipynb?token=secret")
    page.locator(".lab-caption").wait_for()
    assert page.locator(".lab-caption").all_inner_texts() == ["Figure 1: All of them."]
    shown = page.locator(".jp-RenderedMarkdown:has(h1:has-text('Times'))")
    assert shown.locator("h1").inner_text().startswith("Times")
    assert "{#" not in shown.inner_text()
    words = "See Figure 1, Table 1, “Times”, @fig-one and far (in another notebook) [osu, imb]."
    assert shown.locator("p").inner_text() == words
    assert shown.locator("a.lab-reference").count() == 3
    part = page.locator(".jp-OutputArea-output")
    assert [one.strip() for one in part.all_inner_texts()] == ["1", "Found it."], (
        "a part shows as Markdown, not as JSON"
    )
    source = page.evaluate(
        "() => document.querySelector('.jp-Notebook') && fetch('/api/contents/prose.ipynb').then(r => r.json())"
    )
    assert "{#sec-times}" in source["content"]["cells"][0]["source"]


def test_a_notebook_that_was_only_opened_is_not_changed(opened: tuple[Any, str]) -> None:
    page, _ = opened
    page.wait_for_function("() => window.jupyterapp !== undefined")
    for path in (LAB, "10-latency.ipynb", "explorer.ipynb", "elsewhere.ipynb"):
        assert page.evaluate(OPEN, path) == [False, True], f"{path}: opened, edited"
