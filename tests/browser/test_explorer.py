"""The Explorer in a real JupyterLab, as a reader uses it."""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit import campaign
from labkit.batch import HOME
from labkit.explorer import server

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = [pytest.mark.browser, pytest.mark.mpi]

PATIENCE = 60.0  # s; a bound for a busy machine, not a speed
SLOW = (
    "[anywidget] Failed to initialize model."  # said where 2 s were not enough for a figure, which comes all the same
)
playwright.expect.set_options(timeout=PATIENCE * 1000)
PLACE = """(i) => { const g = document.querySelector('.lab-plot-A .js-plotly-plot'), f = g._fullLayout,
  r = g.getBoundingClientRect(), t = g.data[0];
  return [r.x + f._size.l + f.xaxis.d2p(t.x[i]), r.y + f._size.t + f.yaxis.d2p(t.y[i])] }"""
COUNT = """() => (document.querySelector('.lab-plot-A .js-plotly-plot')?.data ?? [])
  .reduce((n, t) => n + t.x.length, 0)"""


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def measuring(folder: Path) -> list[str]:
    """Processes that measure into a campaign."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if str(folder) in words and "labkit.cli" in words:
            found.append(path.parent.name)
    return found


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Path]]:
    """Address, token and campaigns of a server with the Explorer on the example."""
    folder, home = tmp_path_factory.mktemp("explored"), tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(campaign.HOME, str(folder))
        for name in (
            "JUPYTER_CONFIG_DIR",
            "JUPYTER_DATA_DIR",
            "JUPYTERLAB_SETTINGS_DIR",
            "JUPYTERLAB_WORKSPACES_DIR",
            "IPYTHONDIR",
        ):
            patch.setenv(name, str(home / name))
        shutil.copytree(HOME / "data" / "campaigns" / "examples" / "two-cores", folder / "two-cores")
        with server.served([], {"LABKIT_EXPLORE": "two-cores"}) as (_, url, token):
            yield url, token, folder


@pytest.fixture(scope="module")
def page(here: tuple[str, str, Path], chromium: Path) -> Iterator[Any]:
    """The Explorer's page. No error may be said in it, from first to last."""
    url, token, _ = here
    noise: list[str] = []
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(chromium), args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(PATIENCE * 1000)
        page.on("console", lambda said: said.type == "error" and noise.append(said.text))
        page.on("pageerror", lambda error: SLOW in str(error) or noise.append(str(error)))
        page.on("response", lambda answer: answer.status >= 400 and noise.append(f"{answer.status} {answer.url}"))
        page.goto(f"{url}doc/tree/explorer.ipynb?token={token}")
        yield page
        browser.close()
    assert not noise


def fill(page: Any, name: str, text: str) -> None:
    field = page.locator(f".lab-field-{name} input")
    field.fill(text)
    field.press("Tab")


def points(folder: Path) -> int:
    return len(list((folder / "samples").glob("*/[!.]*")))


def picture(page: Any, name: str) -> None:
    """A screenshot, where somebody asks for them."""
    if os.environ.get("LABKIT_PICTURES"):
        page.screenshot(path=Path(os.environ["LABKIT_PICTURES"]) / f"{name}.png")


def test_it_opens_with_the_campaign_drawn(page: Any) -> None:
    page.locator(".lab-plot-A .scatterlayer .point").first.wait_for()
    picture(page, "open")


def test_what_cannot_be_measured_is_refused_with_the_reason(page: Any) -> None:
    fill(page, "sizes", "many")
    playwright.expect(page.locator(".lab-reason")).to_contain_text("many")
    playwright.expect(page.locator("button.lab-run")).to_be_disabled()


def test_a_run_goes_on_over_a_reload_and_stops_when_told(page: Any, here: tuple[str, str, Path]) -> None:
    folder = here[2] / "mine"
    page.get_by_text("how long").click()
    for name, text in {"sizes": "8,512,32Ki,256Ki", "into": "mine", "launches": "40", "time-cap": "1.5"}.items():
        fill(page, name, text)
    playwright.expect(page.locator(".lab-same")).to_contain_text("--launches 40 --time-cap 1.5")
    page.locator("button.lab-run").click()
    playwright.expect(page.locator(".lab-status")).to_contain_text("running")
    until(lambda: points(folder) > 1)
    page.reload()
    page.locator(".lab-plot-A .scatterlayer .point").first.wait_for()
    playwright.expect(page.locator(".lab-status")).to_contain_text("running")
    before, shown = points(folder), page.evaluate(COUNT)
    until(lambda: points(folder) > max(before, 4))
    until(lambda: page.evaluate(COUNT) >= shown)
    picture(page, "running")
    assert measuring(folder)
    page.locator("button.lab-stop").click()
    until(lambda: not measuring(folder))
    playwright.expect(page.locator(".lab-status")).to_contain_text("kept")
    playwright.expect(page.locator("button.lab-continue")).to_be_visible()


def test_two_campaigns_are_compared_and_a_point_is_looked_into(page: Any) -> None:
    for name in ("mine", "two-cores"):
        playwright.expect(page.locator(".lab-plot-A .legendtext").filter(has_text=name).first).to_be_visible()
    page.locator(".lab-plot-A .js-plotly-plot").scroll_into_view_if_needed()
    x, y = page.evaluate(PLACE, 3)
    page.mouse.move(x - 4, y)
    page.mouse.move(x, y)
    page.locator(".lab-plot-A .hovertext").first.wait_for(state="attached")
    page.mouse.click(x, y)
    playwright.expect(page.locator(".lab-facts")).to_contain_text("labkit measure mpi.latency")
    for kind in ("histogram", "over iterations", "per rank", "distribution"):
        page.locator(".lab-views").get_by_text(kind).click()
        page.locator(".lab-point-panel .main-svg .trace").first.wait_for()
        page.wait_for_timeout(400)
        page.locator(".lab-facts").scroll_into_view_if_needed()
        picture(page, f"point-{kind.replace(' ', '-')}")
        assert not page.locator(".lab-point-panel .lab-why").inner_text().strip()
    page.locator(".lab-second input").check()
    page.locator(".lab-plot-B .scatterlayer .point").first.wait_for()
    page.locator(".lab-lock input").check()
    picture(page, "two-plots")


def test_the_plot_can_be_taken_away(page: Any, here: tuple[str, str, Path]) -> None:
    for form in ("csv", "py", "html", "svg"):
        page.locator(f"button.lab-export-{form}").click()
        playwright.expect(page.locator(".lab-exported a")).to_have_attribute("download", re.compile(rf"\.{form}$"))
    assert len(list(here[2].glob("*/exports/*"))) == 4
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.locator(".lab-measure").scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    picture(page, "wide")
