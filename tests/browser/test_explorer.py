"""The Explorer in a real browser, as a reader uses it."""

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from labkit.io.project import SHIPPED
from labkit.run.staging import packed
from labkit.store import campaign, samples
from tests import made
from tests.test_hostile import TAG
from tests.test_report import point
from tests.waiting import PATIENCE, until

playwright = pytest.importorskip("playwright.sync_api")
Axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe
pytestmark = [pytest.mark.browser, pytest.mark.mpi]

playwright.expect.set_options(timeout=PATIENCE * 1000)
PLACE = """(i) => { const g = document.querySelector('.lab-plot-A .js-plotly-plot'), f = g._fullLayout,
  r = g.getBoundingClientRect(), t = g.data[0];
  return [r.x + f._size.l + f.xaxis.d2p(t.x[i]), r.y + f._size.t + f.yaxis.d2p(t.y[i])] }"""
GAP = """() => { const g = document.querySelector('.lab-plot-A .js-plotly-plot'), l = g?.querySelector('.legend');
  if (!l) return -1;  // it is being drawn
  return g.getBoundingClientRect().top + g._fullLayout._size.t - l.getBoundingClientRect().bottom }"""
COUNT = """() => (document.querySelector('.lab-plot-A .js-plotly-plot')?.data ?? [])
  .reduce((n, t) => n + t.x.length, 0)"""

PROGRAMS = {  # what a run consists of, with words of its command lines
    "launcher": ["mpirun", "mpiexec", "prterun"],  # first: it names the workers too
    "worker": ["labkit.worker", " ".join(packed.FLAGS)],
    "command": ["labkit measure"],
    "supervisor": ["supervisor.py"],
}


def measuring(home: Path) -> dict[int, str]:
    """Processes of the runs that a server's page started, launchers and ranks with them: they inherit its variables."""
    kinds, mark = {}, f"{campaign.HOME}={home}".encode()
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (path / "cmdline").read_bytes().decode(errors="replace").split("\0")
            kind = next(
                (kind for kind, names in PROGRAMS.items() if any(one in " ".join(words[:8]) for one in names)), ""
            )
            if (
                kind
                and mark in (path / "environ").read_bytes().split(b"\0")
                and not any(word in ("voila", "explore") for word in words)
            ):
                kinds[int(path.name)] = kind
    return kinds


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Address and campaigns of the Explorer on the example."""
    folder = tmp_path_factory.mktemp("explored")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(campaign.HOME, str(folder))
        shutil.copytree(SHIPPED / "data" / "campaigns" / "examples" / "two-cores", folder / "two-cores")
        with explored("two-cores") as address:
            yield address, folder


@contextmanager
def explored(*words: str) -> Iterator[str]:
    """Run `labkit explore`; yields the address that it prints."""
    argv = [sys.executable, "-m", "labkit", "explore", "--no-browser", *words]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield next(line.strip() for line in process.stderr or () if "http://" in line)
        finally:
            process.terminate()
            said = process.communicate(timeout=PATIENCE)[1]
    assert "Traceback" not in said, said


@pytest.fixture(scope="module")
def browser(chromium: Path) -> Iterator[Any]:
    """Chromium; playwright runs once in a process."""
    with playwright.sync_playwright() as play:
        made = play.chromium.launch(executable_path=str(chromium), args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield made
        made.close()


@pytest.fixture(scope="module")
def page(here: tuple[str, Path], browser: Any) -> Iterator[Any]:
    """The Explorer's page. No error may be said in it, from first to last."""
    address, _ = here
    noise: list[str] = []
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(PATIENCE * 1000)
    page.on("console", lambda said: said.type == "error" and noise.append(said.text))
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.on("response", lambda answer: answer.status >= 400 and noise.append(f"{answer.status} {answer.url}"))
    page.goto(address)
    page.locator(".lab-plot-A .legendtext").first.wait_for()
    yield page
    page.close()
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
        page.wait_for_timeout(600)
        page.screenshot(path=Path(os.environ["LABKIT_PICTURES"]) / f"{name}.png")


def test_it_opens_with_the_campaign_drawn(page: Any) -> None:
    page.locator(".lab-plot-A .scatterlayer .point").first.wait_for()
    picture(page, "open")


def test_what_cannot_be_measured_is_refused_with_the_reason(page: Any) -> None:
    fill(page, "sizes", "many")
    playwright.expect(page.locator(".lab-beside-field")).to_contain_text("many")
    playwright.expect(page.locator("button.lab-run")).to_be_disabled()


def test_a_run_goes_on_over_a_reload_and_stops_when_told(page: Any, here: tuple[str, Path]) -> None:
    folder = here[1] / "mine"
    page.get_by_role("button", name="launches and duration").focus()
    page.keyboard.press("Enter")
    for name, text in {"sizes": "8,512,32Ki,256Ki", "into": "mine", "launches": "400", "time-cap": "0.3"}.items():
        fill(page, name, text)
    playwright.expect(page.locator(".lab-same")).to_contain_text("--launches 400 --time-cap 0.3")
    page.locator(".lab-skip").filter(has_text="Skip to Run").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    playwright.expect(page.locator(".lab-status")).to_contain_text("running")
    until(lambda: points(folder) > 1)
    page.reload()
    page.locator(".lab-plot-A .scatterlayer .point").first.wait_for()
    playwright.expect(page.locator(".lab-status")).to_contain_text("running")
    before, shown = points(folder), page.evaluate(COUNT)
    until(lambda: points(folder) > max(before, 4))
    until(lambda: page.evaluate(COUNT) >= shown)
    picture(page, "running")
    until(lambda: {"worker", "launcher"} <= set(measuring(here[1]).values()))
    page.locator("button.lab-stop").click()
    began = time.monotonic()
    until(lambda: not measuring(here[1]))
    print(f"\nafter Stop all ranks were gone in {time.monotonic() - began:.2f} s")
    playwright.expect(page.locator(".lab-status")).to_contain_text("kept")
    playwright.expect(page.locator("button.lab-continue")).to_be_visible()


def test_two_campaigns_are_compared_and_a_point_is_looked_into(page: Any) -> None:
    for name in ("mine", "two-cores"):
        playwright.expect(page.locator(".lab-plot-A .legendtext").filter(has_text=name).first).to_be_visible()
    page.locator(".lab-plot-A .js-plotly-plot").scroll_into_view_if_needed()
    x, y = page.evaluate(PLACE, 3)
    page.mouse.move(x - 4, y)
    page.mouse.move(x, y)
    playwright.expect(page.locator(".lab-plot-A .lab-hover")).to_contain_text("median")
    page.mouse.click(x, y)
    playwright.expect(page.locator(".lab-facts")).to_contain_text("labkit measure mpi.latency")
    for kind in ("histogram", "tail", "over iterations", "per rank", "distribution"):
        page.locator(".lab-views").get_by_text(kind).click()
        page.locator(".lab-point-panel .main-svg .trace").first.wait_for()
        page.locator(".lab-facts").scroll_into_view_if_needed()
        picture(page, f"point-{kind.replace(' ', '-')}")
        assert not page.locator(".lab-point-panel .lab-why").inner_text().strip()
    page.locator(".lab-second input").check()
    page.locator(".lab-plot-B .scatterlayer .point").first.wait_for()
    page.locator(".lab-lock input").check()
    picture(page, "two-plots")


BOXES = """() => Object.fromEntries(Object.entries({plot: '.lab-plot-A .js-plotly-plot', campaigns: '.lab-campaigns',
  point: '.lab-point-panel .js-plotly-plot', table: '.lab-values-box', page: '.lab-explorer'}).map(([name, select]) => {
  const r = document.querySelector(select).getBoundingClientRect();
  return [name, {left: r.left, top: r.top, right: r.right, bottom: r.bottom}] }))"""
RING = """() => { const g = document.querySelector('.lab-plot-A .js-plotly-plot'), t = g.data.at(-1);
  return [t.name, t.x.length] }"""
OVER = """() => { const g = document.querySelector('.lab-plot-A .js-plotly-plot'), h = g.querySelector('.lab-hover'),
  b = h.getBoundingClientRect(), r = g.getBoundingClientRect(), {xaxis, yaxis} = g._fullLayout;
  return g.data.some(t => t.name !== 'marks' && [...t.x.keys()].some(n => { if (!Number.isFinite(t.y[n])) return false;
  const x = r.x + xaxis._offset + xaxis.d2p(t.x[n]), y = r.y + yaxis._offset + yaxis.d2p(t.y[n]);
  return x > b.left && x < b.right && y > b.top && y < b.bottom })) }"""

TITLED = """() => { const g = document.querySelector('.lab-point-panel .js-plotly-plot'),
  b = g.querySelector('.lab-hover').getBoundingClientRect();
  return [...g.querySelectorAll('.g-xtitle, .g-ytitle')].map(t => t.getBoundingClientRect()).some(t =>
    t.width && b.left < t.right && t.left < b.right && b.top < t.bottom && t.top < b.bottom) }"""


def test_plot_campaigns_and_point_are_seen_together_and_wrap(page: Any) -> None:
    page.set_viewport_size({"width": 1400, "height": 900})
    if page.locator(".lab-plot-B").count():
        page.locator(".lab-second input").uncheck()
    plot = page.locator(".lab-plot-A .js-plotly-plot")
    until(lambda: plot.bounding_box()["width"] > 500)

    def seen() -> bool:  # what is above a plot may still grow, and it moves then
        plot.evaluate("one => one.scrollIntoView({block: 'end', behavior: 'instant'})")
        box = page.evaluate(BOXES)
        return all(box[part]["bottom"] > 0 and box[part]["top"] < 900 for part in ("campaigns", "plot", "point")) and (
            max(box["plot"]["bottom"], box["point"]["bottom"]) <= 901
        )

    until(seen)
    box = page.evaluate(BOXES)
    assert box["page"]["top"] < 20, "nothing of the notebook is above the page"
    assert box["campaigns"]["right"] <= box["plot"]["left"] < box["plot"]["right"] <= box["point"]["left"]
    assert page.evaluate(RING) == ["marks", 1]
    picture(page, "layout-1400")
    for width, height in ((900, 700), (400, 800)):
        page.set_viewport_size({"width": width, "height": height})
        until(lambda width=width: plot.bounding_box()["width"] < width)
        box = page.evaluate(BOXES)
        assert box["point"]["top"] > box["plot"]["bottom"], "the point is below the plot"
        assert box["page"]["right"] <= width
        picture(page, f"layout-{width}")
    page.set_viewport_size({"width": 1400, "height": 900})


@pytest.mark.slow
def test_points_are_reached_by_keys_and_a_link_brings_a_view_back(page: Any) -> None:
    plot = page.locator(".lab-plot-A .js-plotly-plot")
    plot.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
    said = page.locator(".lab-plot-A .lab-said")
    playwright.expect(said).to_contain_text("median")
    assert not page.evaluate(OVER), "the text of a point covers no point"
    before = page.locator(".lab-facts").inner_text()
    page.keyboard.press("Enter")
    until(lambda: page.locator(".lab-facts").inner_text() != before)
    inner = page.locator(".lab-point-panel .js-plotly-plot")
    inner.focus()
    page.keyboard.press("ArrowRight")
    playwright.expect(inner.locator(".lab-said")).to_contain_text("share of iterations at or below: ")
    page.locator(".lab-views").get_by_text("per rank").click()
    until(lambda: page.evaluate("document.querySelector('.lab-point-panel .js-plotly-plot').data[0]?.type") == "box")
    inner.focus()
    for launch, key in enumerate(("ArrowRight", "ArrowDown")):
        page.keyboard.press(key)
        box = re.compile(rf"launch {launch}\nrank: 0\n.*\nmedian: .*\nquartiles: .* to .*\nwhiskers: ")
        playwright.expect(inner.locator(".lab-said")).to_contain_text(box)
    assert not page.evaluate(TITLED), "the text of a point covers no title of an axis"
    picture(page, "boxes-by-keys")
    page.locator(".lab-views").get_by_text("distribution").click()
    page.keyboard.press("x")
    page.keyboard.press("d")
    page.keyboard.press("d")
    assert page.locator(".lab-explorer").count() == 1, "no key cut the page"
    link = page.evaluate("location.hash")
    page.locator(".lab-unit-A select").select_option("ns")
    until(lambda: page.evaluate("location.hash") != link)
    page.evaluate("(link) => { location.hash = link }", link)
    playwright.expect(page.locator(".lab-unit-A select option:checked")).to_have_text("µs")
    page.locator(".lab-search").fill("tcp")
    playwright.expect(page.locator(".lab-count")).to_contain_text(re.compile(r"^8 of \d+ points"))
    page.locator(".lab-search").fill("")


COLOURS = """() => [['.lab-panel, .lab-explorer select', 'backgroundColor'], ['.lab-plot-A .legendtext', 'fill']].map(
  ([select, name]) => [...document.querySelectorAll(select)].map(one =>
    Math.max(...getComputedStyle(one)[name].match(/[0-9]+/g).slice(0, 3).map(Number))))"""


@pytest.mark.slow
def test_the_page_follows_the_dark_mode_of_the_system_and_axe_finds_nothing(page: Any) -> None:
    def dark() -> bool:
        grounds, texts = page.evaluate(COLOURS)
        return max(grounds) < 90 and min(texts) > 180

    page.emulate_media(color_scheme="dark")
    until(dark)
    picture(page, "dark")
    assert violations(page) == []
    page.emulate_media(color_scheme="light")
    until(lambda: not dark())
    assert violations(page) == []


def violations(page: Any, place: str = ".lab-explorer") -> list[str]:
    """What axe-core finds wrong in the Explorer's own elements."""
    found = Axe().run(page, context=place).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]


@pytest.mark.slow
def test_the_plot_can_be_taken_away(page: Any, here: tuple[str, Path]) -> None:
    for form in ("csv", "py", "html", "png"):
        page.locator(f"button.lab-export-{form}").click()
        playwright.expect(page.locator(".lab-exported a")).to_have_attribute("download", re.compile(rf"\.{form}$"))
    assert len(list((here[1] / "exports").iterdir())) == 4
    (png,) = here[1].glob("exports/*.png")
    assert png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_a_wide_page_has_its_legend_beside_the_axes(page: Any) -> None:
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.locator(".lab-measure").scroll_into_view_if_needed()
    plot = page.locator(".lab-plot-A .js-plotly-plot")
    until(lambda: plot.bounding_box()["width"] > 900)
    until(lambda: page.evaluate(GAP) >= 0)
    picture(page, "wide")


EVIL = '<img src=x onerror="window.pwned=1;alert(1)">'  # a name that a folder can have


def hostile(folder: Path) -> None:
    """A campaign with markup in every text that the page shows; in one line that, in the other a plain path."""
    for launch in range(6):
        for transport in (TAG, "shm"):
            one = point("mpi.latency", 8, transport, launch)
            spec = dataclasses.replace(one.spec, testbed=TAG, options={"binding": TAG})
            meta = {**one.meta, "library": TAG, "badges": [TAG], "warnings": [f"{TAG} 5.{launch}"], "engine": TAG}
            meta |= {"notes": {text: [TAG[:100], {TAG: TAG}] for text in (TAG, *meta["warnings"])}}
            meta |= {"fingerprint": f"{'0' if transport == 'shm' else '1'}{one.meta['fingerprint'][1:]}"}
            evil = dataclasses.replace(one, spec=spec, host={"hostname": TAG, "cpu_model": TAG}, meta=meta)
            samples.save(evil, folder / "samples" / "mpi.latency" / f"{meta['fingerprint']}-{launch}.parquet")
    facts = {"format": 1, "id": made.ID, "name": TAG, "title": TAG, "suite": TAG, "notebooks": [], "skipped": [TAG]}
    (folder / "campaign.json").write_text(json.dumps(facts))


@pytest.mark.slow
def test_markup_of_others_is_text(page: Any, here: tuple[str, Path]) -> None:
    said: list[str] = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.set_viewport_size({"width": 1280, "height": 800})
    hostile(here[1] / EVIL)
    page.locator(".lab-plot-A .scatterlayer .point").first.wait_for()
    page.get_by_role("button", name="Refresh").click()
    for name in (EVIL, *(name for name in ("two-cores", "mine") if (here[1] / name).is_dir())):
        box = page.locator(".lab-campaigns label").filter(has_text=re.compile(f"^{re.escape(name)}$")).locator("input")
        box.set_checked(name == EVIL)
    playwright.expect(page.locator(".lab-plot-A .legendtext").filter(has_text=TAG).first).to_be_visible()
    page.locator(".lab-plot-A .js-plotly-plot").scroll_into_view_if_needed()
    names = page.locator(".lab-plot-A .legendtext")
    until(lambda: not any(re.match("two-cores|mine", text) for text in names.all_text_contents()))
    hover = page.locator(".lab-plot-A .lab-hover")
    place = PLACE.replace("g.data[0]", "g.data.find(t => t.name.includes('script'))")

    def hovered() -> bool:
        """Whether the text of a point is shown; the plot may still move."""
        x, y = page.evaluate(place, 0)
        page.mouse.move(x - 4, y)
        page.mouse.move(x, y)
        page.wait_for_timeout(300)
        return any("<script>" in text for text in hover.all_text_contents())

    until(hovered)
    page.mouse.click(*page.evaluate(place, 0))
    for text in (TAG, EVIL):
        playwright.expect(page.locator(".lab-facts")).to_contain_text(text)
    for kind in ("histogram", "tail", "over iterations", "per rank", "distribution"):
        page.locator(".lab-views").get_by_text(kind).click()
        page.locator(".lab-point-panel .main-svg .trace").first.wait_for()
    page.get_by_role("button", name="the Python code that draws it").click()
    playwright.expect(page.locator(".lab-python")).to_contain_text(EVIL)
    page.locator("button.lab-export-csv").click()
    playwright.expect(page.locator(".lab-exported")).to_contain_text("_img_src=x_onerror")  # a plain name
    page.locator(".lab-add-place textarea").fill(EVIL[:-1])
    page.locator("button.lab-add").click()
    playwright.expect(page.locator(".lab-campaigns")).to_contain_text(f"There is no campaign '{EVIL[:-1]}'")
    picture(page, "hostile")
    assert page.evaluate("window.pwned ?? null") is None
    assert not page.locator("img[src='x']").count()
    assert not said


@pytest.mark.slow
def test_marks_stay_where_they_are_however_often_a_page_is_loaded_again(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Select two points one after the other, then reload the page ten times: the figure stays the same."""
    values = """() => [...document.querySelectorAll('.js-plotly-plot')].slice(1).map(
      (g) => (g.data ?? []).map((t) => [t.name, [...(t.x ?? [])].length, [...(t.y ?? [])].slice(0, 3)]))"""
    at = """(i) => { const g = document.querySelector('.lab-plot-A .js-plotly-plot'), f = g._fullLayout,
      r = g.getBoundingClientRect(), t = g.data.find((t) => t.name.includes('tcp'));
      return [r.x + f._size.l + f.xaxis.d2p(t.x[i]), r.y + f._size.t + f.yaxis.d2p(t.y[i])] }"""
    monkeypatch.setenv(campaign.HOME, str(tmp_path))
    shutil.copytree(SHIPPED / "data" / "campaigns" / "examples" / "two-cores", tmp_path / "two-cores")
    with explored("two-cores") as address:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(PATIENCE * 1000)
        page.goto(address)
        until(lambda: page.evaluate(COUNT) > 10)
        page.get_by_text("why, and what to do next").wait_for()  # the answer moves the plot down when it arrives
        for point_number in (2, 3):
            before = page.evaluate(values)
            page.mouse.click(*page.evaluate(at, point_number))
            until(lambda before=before: page.evaluate(values) not in (before, []))  # type: ignore[misc]
        page.wait_for_timeout(2000)  # the page's report on its figures arrives later
        shown = page.evaluate(values)
        assert any(length == 3 and y == [0.5, 0.95, 0.99] for figure in shown for _, length, y in figure), shown
        for _ in range(10):
            page.reload()
            until(lambda: page.evaluate(values) == shown)
        page.close()
