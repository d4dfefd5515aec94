"""The Explorer under Voilà, where Voilà is installed beside labkit: a kernel for each view of the page."""

import importlib.util
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit.io import supervise
from labkit.io.project import NOTEBOOKS, SHIPPED
from labkit.store import campaign
from tests.waiting import answers, until

from .test_explorer import COUNT, PLACE, fill, measuring, picture, playwright, points

pytestmark = pytest.mark.slow  # not browser: that one must not be skipped, and Voilà is not part of the environment
PORT = 18866


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, chromium: Path) -> Iterator[tuple[Any, Path]]:
    """The Explorer's page after the log-in, and the folder of its campaigns."""
    if importlib.util.find_spec("voila") is None:
        pytest.skip("Voilà is not installed")
    folder, home = tmp_path_factory.mktemp("explored"), tmp_path_factory.mktemp("home")
    shutil.copytree(SHIPPED / "data" / "campaigns" / "examples" / "two-cores", folder / "two-cores")
    variables = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    env = os.environ | {campaign.HOME: str(folder)} | {name: str(home / name) for name in variables}
    command = [
        sys.executable,
        "-m",
        "voila",
        str(NOTEBOOKS / "explorer.ipynb"),
        "--no-browser",
        "--Voila.ip=127.0.0.1",
        f"--port={PORT}",
    ]
    url = f"http://127.0.0.1:{PORT}/"

    with (
        supervise.start([*command, "--token=secret"], env=env, stdout=supervise.DEVNULL, grace=4.0) as tree,
        playwright.sync_playwright() as play,
    ):
        until(lambda: answers(f"{url}login"), runs=tree)
        browser = play.chromium.launch(executable_path=str(chromium), args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(240_000)
        page.goto(f"{url}login?next=%2F")
        page.locator("#password_input").fill("secret")
        page.locator("#login_submit").click(no_wait_after=True)
        yield page, folder
        browser.close()


def test_a_run_grows_ends_with_a_reload_and_is_gone_on_with(page: tuple[Any, Path]) -> None:
    shown, folder = page
    shown.locator(".lab-campaigns").get_by_text("two-cores").wait_for()
    picture(shown, "voila-open")
    fill(shown, "into", "mine")
    fill(shown, "sizes", "8,512,32Ki")
    shown.get_by_text("how long").click()
    fill(shown, "launches", "400")
    fill(shown, "time-cap", "0.3")
    shown.locator("button.lab-run").click()
    playwright.expect(shown.locator(".lab-status")).to_contain_text("running")
    until(lambda: shown.evaluate(COUNT) >= 3)
    picture(shown, "voila-running")
    shown.reload(wait_until="commit")
    until(lambda: not measuring(folder))
    assert json.loads((folder / "mine" / "explorer.json").read_text())["state"] == "running"
    kept = points(folder / "mine")
    assert kept >= 3
    shown.locator("button.lab-continue").click()
    playwright.expect(shown.locator(".lab-status")).to_contain_text("running")
    until(lambda: points(folder / "mine") > kept)
    until(lambda: shown.evaluate(COUNT) >= 3)
    shown.locator("button.lab-stop").click()
    until(lambda: not measuring(folder))
    playwright.expect(shown.locator(".lab-status")).to_contain_text("kept")


def test_a_click_shows_the_point(page: tuple[Any, Path]) -> None:
    shown, _ = page
    shown.locator(".lab-plot-A .js-plotly-plot").scroll_into_view_if_needed()
    x, y = shown.evaluate(PLACE, 1)
    shown.mouse.move(x - 4, y)
    shown.mouse.move(x, y)
    shown.locator(".lab-plot-A .lab-hover").wait_for(state="visible")
    shown.mouse.click(x, y)
    playwright.expect(shown.locator(".lab-facts")).to_contain_text("labkit measure mpi.latency")
    shown.locator(".lab-point-panel .main-svg .trace").first.wait_for()
    picture(shown, "voila-point")
