"""The report's pages in a browser: tools of the figures, themes, a phone, the keyboard, and paper."""

from __future__ import annotations

import importlib.resources
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from labkit import report
from labkit.report import figures
from tests.test_report import SVG, make_campaign

PATIENCE = 120_000  # ms; a bound for a busy machine, not a speed
PLOT = "document.querySelectorAll('.plot')[{}]"
WIDE = "| a | b | c | d | e | f |\n|:--|:--|:--|:--|:--|:--|\n|" + " a_long_word_in_a_cell |" * 6


def _figure(label: str) -> Any:
    series = [
        {
            "type": "scatter",
            "name": name,
            "x": [8, 64],
            "y": [2.0 * factor, 4.0 * factor],
            "error_y": {"array": [0.5, 0.5], "arrayminus": [0.5, 0.5]},
            "line": {"color": "#000000"},
            "customdata": [["2 µs", "3.5 µs"], ["4 µs", "1,000 µs (few)"]],
            "hovertemplate": "<b>%{customdata[0]}</b> median<br>p99: %{customdata[1]}<extra></extra>",
        }
        for name, factor in (("shm", 1), ("tcp", 10))
    ]
    small = 'size (B)<br><span style="font-size:11px">bars: range of 3 &lt; 6 launches</span>'
    layout = {
        "height": 220,
        "width": 720,
        "xaxis": {"title": {"text": small}},
        "yaxis": {"title": {"text": "latency, median (µs)"}, "type": "log"},
    }
    data = {figures.PLOTLY: {"data": series, "layout": layout}, figures.SVG: SVG, "text/plain": "Figure"}
    source = f'#| label: {label}\n#| fig-cap: "Latency {label}."\nshow()'
    return new_code_cell(source, outputs=[new_output("display_data", data=data)])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_campaign(tmp_path_factory.mktemp("campaigns") / "synthetic")
    (folder / "notebooks" / "20-bandwidth.ipynb").unlink()
    table = new_code_cell(
        '#| label: tbl-wide\n#| tbl-cap: "Wide."\nshow()',
        outputs=[new_output("display_data", data={"text/markdown": WIDE})],
    )
    cells = [new_markdown_cell("# Latency {#sec-latency}"), _figure("fig-a"), _figure("fig-b"), table]
    nbformat.write(new_notebook(cells=cells), folder / "notebooks" / "10-latency.ipynb")
    return report.build([folder], engine="plain").html.parent


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium for all pages."""
    sync = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium is installed")
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(site: Path, browser: Any) -> Iterator[Any]:
    """Open a page of the site offline; what it says to the console is an error."""
    said: list[str] = []
    opened: list[Any] = []

    def at(name: str, width: int = 1400, scheme: str = "light", *, policy: bool = True) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True, bypass_csp=not policy
        )
        opened.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.goto((site / name).as_uri())
        page.wait_for_function("document.body.dataset.plots !== undefined")
        return page

    yield at
    for context in opened:
        context.close()
    assert not [text for text in said if "CORS" not in text and "ERR_FAILED" not in text]  # axe reads the style sheets


@pytest.mark.browser
@pytest.mark.slow
def test_the_tools_of_a_figure_work_on_its_data(opened: Any) -> None:
    page = opened("10-latency.html")
    plot = PLOT.format(0)
    page.locator(".tools summary").first.click()
    tools = page.locator(".tools").first
    tools.get_by_label("axis").select_option("linear")
    assert page.evaluate(f"{plot}.layout.yaxis.type") == "linear"
    tools.get_by_label("unit").select_option("ns")
    assert page.evaluate(f"{plot}.data[0].y") == [2000, 4000]
    assert page.evaluate(f"{plot}.data[0].error_y.array") == [500, 500]
    assert "(ns)" in page.evaluate(f"{plot}.layout.yaxis.title.text")
    tools.get_by_label("statistic").select_option("p99")
    assert page.evaluate(f"{plot}.data[1].y") == [3500, 1000000]
    assert "p99" in page.evaluate(f"{plot}.layout.yaxis.title.text")
    tools.get_by_label("series").fill("TCP")
    assert page.evaluate(f"{plot}.data.map(one => one.visible !== false)") == [False, True]
    tools.get_by_role("button", name="reset").click()
    assert page.evaluate(f"{plot}.data[0].y") == [2, 4]
    assert page.evaluate(f"{plot}.data.map(one => one.visible !== false)") == [True, True]
    page.evaluate(
        f"(p => p.emit('plotly_click', {{points: [{{x: 8, y: 20, xaxis: p._fullLayout.xaxis, yaxis: p._fullLayout.yaxis,"
        f" fullData: {{name: 'tcp'}}, customdata: ['2 µs']}}]}}))({plot})"
    )
    (note,) = page.evaluate(f"{plot}.layout.annotations")
    assert (note["text"], round(note["y"], 3)) == ("tcp: 2 µs", 1.301)  # the place on a logarithmic axis


@pytest.mark.browser
@pytest.mark.slow
def test_two_figures_are_compared_side_by_side(opened: Any) -> None:
    page = opened("10-latency.html")
    for number in (0, 1):
        page.locator(".tools summary").nth(number).click()
        page.get_by_role("button", name="compare").nth(0 if number == 0 else -1).click()
    page.wait_for_selector("dialog .main-svg")
    assert page.locator("dialog .plot").count() == 2
    page.get_by_role("button", name="close").click()
    page.locator("dialog").wait_for(state="detached")  # the event that removes it comes after the click returns


@pytest.mark.browser
@pytest.mark.slow
def test_figures_follow_the_theme_and_their_notes_are_text(opened: Any) -> None:
    page = opened("10-latency.html", scheme="dark")
    assert page.evaluate(f"{PLOT.format(0)}.data[0].line.color") == "#e8e8e8"
    assert page.locator("p.small").first.inner_text() == "bars: range of 3 < 6 launches"
    page.emulate_media(color_scheme="light")
    for _ in range(PATIENCE // 100):  # the page's policy forbids wait_for_function once it has loaded
        if page.evaluate(f"{PLOT.format(0)}.data[0].line.color") == "#000000":
            break
        page.wait_for_timeout(100)
    assert page.evaluate(f"{PLOT.format(0)}.data[0].line.color") == "#000000"
    assert page.locator(".modebar-btn").count() == 0  # nothing lies on the legend


@pytest.mark.browser
@pytest.mark.parametrize("width", [400, pytest.param(1400, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_no_page_is_wider_than_the_screen_and_all_is_reached_by_keyboard(opened: Any, site: Path, width: int) -> None:
    for file in sorted(site.glob("*.html")):
        page = opened(file.name, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, file.name
        beyond = "[...document.querySelectorAll('table, pre, .table')].filter(e => e.scrollWidth > e.clientWidth)"
        assert page.evaluate(f"{beyond}.every(e => e.tabIndex === 0)"), file.name
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.hash") == "#text"
        page.context.close()


@pytest.mark.browser
@pytest.mark.slow
def test_a_small_screen_folds_the_chapters_and_shows_the_page_s_contents_among_them(opened: Any) -> None:
    page = opened("10-latency.html", 400)
    here = page.locator("nav.chapters .here")
    assert here.is_hidden()
    page.locator(".menu summary").click()
    here.wait_for()
    assert page.locator("nav.chapters li > ul a[href^='#']").count() > 0
    assert page.locator("aside a").count() == 0
    page.set_viewport_size({"width": 1400, "height": 900})
    here.wait_for()
    page.locator("aside a[href^='#']").first.wait_for(state="attached")  # the page hears of its width a little later


@pytest.mark.browser
@pytest.mark.slow
def test_a_figure_on_a_small_screen_is_higher_rather_than_flat(opened: Any) -> None:
    panel = f"{PLOT.format(0)}._fullLayout.yaxis._length"
    assert opened("10-latency.html", 400).evaluate(panel) >= 160


@pytest.mark.browser
@pytest.mark.slow
def test_paper_shows_whole_light_figures_without_tools(opened: Any, tmp_path: Path) -> None:
    page = opened("10-latency.html", scheme="dark")
    page.pdf(path=str(tmp_path / "page.pdf"), format="A4")
    import pypdf

    text = " ".join(one.extract_text() for one in pypdf.PdfReader(tmp_path / "page.pdf").pages)
    assert "Adjust" not in text
    assert "latency, median (µs)" in text
    page.emulate_media(media="print")
    assert page.locator(".tools").first.is_hidden()
    assert page.locator("nav.chapters").is_hidden()


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("light", 400),
        pytest.param("dark", 1400, marks=pytest.mark.slow),
        pytest.param("light", 1400, marks=pytest.mark.slow),
        pytest.param("dark", 400, marks=pytest.mark.slow),
    ],
)
def test_axe_finds_no_violation(opened: Any, site: Path, scheme: str, width: int) -> None:
    axe = (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text()
    run = "axe.run({resultTypes: ['violations']}).then(r => r.violations.map(v => [v.id, v.nodes[0].html]))"
    for file in sorted(site.glob("*.html")):
        page = opened(file.name, width, scheme, policy=False)
        page.evaluate(f"{axe};0")
        assert page.evaluate(run) == [], file.name
        page.context.close()
