"""The report's pages in a browser: tools of the figures, search, links, copies, themes, a phone, the keyboard, and paper."""

from __future__ import annotations

import importlib.resources
import json
import re
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
    folded = '::: {.callout-note title="More" collapse="true"}\nThe folded text.\n\n| a |\n|:--|\n| b |\n\n: Folded. {#tbl-folded}\n:::'
    commands = "- `labkit run quick`\n- `ls`\n\n```bash\nlabkit report quick\n# and more\n```"
    cells = [
        *[new_markdown_cell("# Latency {#sec-latency}"), _figure("fig-a"), _figure("fig-b"), table],
        *[new_markdown_cell(f"## Part {n} {{#sec-part-{n}}}\n\n" + "Some text.\n\n" * 40) for n in range(3)],
        *[new_markdown_cell(one) for one in (folded, commands, "The sentinel of mpi.burst.")],
    ]
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

    def at(name: str, width: int = 1400, scheme: str = "light", *, policy: bool = True, scripts: bool = True) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            offline=True,
            bypass_csp=not policy,
            java_script_enabled=scripts,
        )
        opened.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        file, _, label = name.partition("#")
        page.goto((site / file).as_uri() + f"#{label}" * bool(label))
        if scripts:
            page.wait_for_selector("body[data-plots]", state="attached")
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
    rules = "{resultTypes: ['violations'], rules: {'target-size': {enabled: true}}}"  # 24 px, or room around
    run = f"axe.run({rules}).then(r => r.violations.map(v => [v.id, v.nodes[0].html]))"
    for file in sorted(site.glob("*.html")):
        page = opened(file.name, width, scheme, policy=False)
        page.keyboard.press("/")
        page.keyboard.type("latency")
        page.locator("#found li").first.wait_for()
        page.evaluate(f"{axe};0")
        assert page.evaluate(run) == [], file.name
        page.context.close()


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 1400])
def test_search_finds_text_of_other_pages_by_keyboard_and_asks_nobody(opened: Any, width: int) -> None:
    page = opened("index.html", width)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.keyboard.press("/")
    page.keyboard.type("mpi.burst sentinel")
    page.locator("#found li").first.wait_for()
    assert page.locator("#found mark").all_inner_texts()[:1] == ["sentinel"]
    assert page.locator("[role=status]").inner_text() == "1 found"
    assert [url.rpartition("/")[2] for url in asked] == ["search.js"]
    assert all(url.startswith("file:") for url in asked)
    page.keyboard.press("ArrowDown")
    assert page.locator("[aria-selected=true]").get_attribute("id") == "found-0"
    assert page.evaluate("document.activeElement.getAttribute('aria-activedescendant')") == "found-0"
    page.keyboard.press("Enter")
    page.wait_for_url("**/10-latency.html#sec-*")


@pytest.mark.browser
@pytest.mark.slow
def test_search_puts_titles_first_and_ends_with_escape(opened: Any) -> None:
    page = opened("10-latency.html")
    box = page.get_by_role("combobox", name="Search the report")
    box.fill("part 2")
    page.locator("#found li").first.wait_for()
    assert page.locator("#found strong").first.inner_text().endswith("Part 2")
    box.fill("latency fig-a")
    page.locator("#found li strong", has_text="Figure").first.wait_for()
    box.fill("xyzzy")
    page.locator("#found li", has_text="Nothing has these words.").wait_for()
    box.press("Escape")
    assert page.locator("#found").is_hidden()
    assert box.input_value() == ""


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_without_scripts_every_figure_is_a_picture(opened: Any, site: Path, scheme: str) -> None:
    seen = 0
    for file in sorted(site.glob("*.html")):
        page = opened(file.name, scheme=scheme, scripts=False)
        wide = page.evaluate(
            "[...document.querySelectorAll('noscript > img')].map(one => one.naturalWidth > 99 && one.offsetHeight > 99)"
        )
        assert len(wide) == page.locator(".plot").count()
        assert all(wide), file.name
        assert page.locator(".plot:visible").count() == 0
        seen += len(wide)
    assert seen >= 3, "two of the chapter, and Figure 1"
    assert not [one for one in site.glob("*.html") if "<svg" in one.read_text()], "no picture is in a page"


@pytest.mark.browser
@pytest.mark.slow
def test_the_first_figure_is_live_and_described_whole(opened: Any) -> None:
    page = opened("index.html")
    assert page.locator("#fig-front .main-svg").count() > 0
    words = page.locator("#fig-front .plot").get_attribute("aria-label")
    assert "latency (µs) against message size (B): " in words
    assert "shm from " in words
    assert "tcp from " in words
    assert "Lower is better. Largest difference at " in words
    assert page.locator("#fig-front img:visible").count() == 0


@pytest.mark.browser
@pytest.mark.slow
def test_two_panels_stand_one_above_the_other_on_a_phone_and_legends_are_whole(site: Path, opened: Any) -> None:
    spec = {
        "data": [
            {"name": "a long name of a line that is drawn to compare with what was measured", "x": [1, 2], "y": [1, 2]},
            {"name": "b", "x": [1, 2], "y": [3, 4], "xaxis": "x2", "yaxis": "y2"},
        ],
        "layout": {
            "height": 240,
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
            "showlegend": True,
            "xaxis": {"domain": [0, 0.43], "anchor": "y"},
            "xaxis2": {"domain": [0.57, 1], "anchor": "y2"},
            "yaxis": {"title": {"text": "latency (µs)"}},
            "yaxis2": {"title": {"text": "bandwidth (GB/s)"}, "anchor": "x2"},
        },
    }
    (copy := site / "panels.html").write_text(
        re.sub(
            r'(<script type="application/json">).*?(</script>)',
            lambda match: match[1] + json.dumps(spec) + match[2],
            (site / "index.html").read_text(),
            count=1,
            flags=re.S,
        )
    )
    page = opened(copy.name, 420)
    copy.unlink()
    drawn = page.locator("#fig-front .plot")
    titles = [drawn.locator(f".y{n}title").bounding_box() for n in ("", "2")]
    assert titles[0]["y"] + titles[0]["height"] < titles[1]["y"], "one above the other"
    assert drawn.locator(".annotation-text").all_text_contents() == ["Left", "Right"]
    for box in (one.bounding_box() for one in drawn.locator(".legendtext").all()):
        assert box["x"] + box["width"] <= 420


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("name", ["index.html", "10-latency.html"])
def test_the_data_of_a_figure_are_saved_with_units(opened: Any, name: str) -> None:
    page = opened(name)
    for link in page.locator("figure:has(.plot) p.data a").all():
        with page.expect_download() as download:
            link.click()
        head, *rows = Path(download.value.path()).read_text().splitlines()
        assert "(µs)" in head
        assert len(rows) >= 4
        assert download.value.suggested_filename.startswith("fig-")


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("width", [400, 1400])
def test_a_link_to_a_part_opens_what_is_folded_and_scrolls_there(opened: Any, width: int) -> None:
    for label in ("sec-part-2", "fig-b", "tbl-wide", "tbl-folded"):
        page = opened(f"10-latency.html#{label}", width)
        top = page.locator(f"#{label}").bounding_box()["y"]
        end = page.evaluate("scrollY + innerHeight >= document.documentElement.scrollHeight - 2")
        assert -1 < top < 80 or end, label
        assert page.evaluate(f"!document.getElementById('{label}').closest('details:not([open])')"), label
        page.context.close()


@pytest.mark.browser
@pytest.mark.slow
def test_each_heading_figure_and_table_has_a_link_that_is_copied(opened: Any) -> None:
    page = opened("10-latency.html")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    hrefs = page.locator("main .anchor").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert {"#sec-latency", "#sec-part-1", "#fig-a", "#fig-b", "#tbl-wide"} <= {*hrefs}
    assert len(hrefs) == len({*hrefs})
    link = page.get_by_role("link", name="Copy the link to Figure 1.1", exact=True)
    shown = "one => getComputedStyle(one).opacity"
    assert link.evaluate(shown) == "0"
    page.locator("#fig-a figcaption").hover()
    assert link.evaluate(shown) == "1"
    page.locator("h1").hover()
    page.keyboard.press("Tab")
    link.focus()
    assert link.evaluate(shown) == "1"
    page.keyboard.press("Enter")
    page.locator("[role=status]", has_text="Link copied").wait_for(state="attached")
    assert page.evaluate("navigator.clipboard.readText()").endswith("/10-latency.html#fig-a")


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("clipboard", [True, False])
def test_commands_are_copied_with_and_without_a_clipboard(opened: Any, clipboard: bool) -> None:
    page = opened("10-latency.html")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("globalThis.read = navigator.clipboard.readText.bind(navigator.clipboard)")
    if not clipboard:
        page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.get_by_role("button", name="Copy labkit run quick").click()
    page.locator("[role=status]", has_text="Command copied").wait_for(state="attached")
    assert page.evaluate("read()") == "labkit run quick"
    assert page.get_by_role("button", name="Copy ls").count() == 0
    block = page.locator(".copied", has_text="labkit report quick")
    block.hover()
    block.get_by_role("button").click()
    page.locator("[role=status]", has_text="Code copied").wait_for(state="attached")
    assert page.evaluate("read()") == "labkit report quick\n# and more"


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize(("width", "contents"), [(1400, "aside"), (1000, "nav.chapters")])
def test_the_contents_stay_and_mark_the_section_that_is_read(opened: Any, width: int, contents: str) -> None:
    page = opened("10-latency.html", width)
    for label in ("sec-part-1", "sec-part-0"):
        page.evaluate(f"document.getElementById('{label}').scrollIntoView()")
        marked = page.locator(f"{contents} a[aria-current=location]")
        page.locator(f"{contents} a[aria-current=location][href='#{label}']").wait_for()
        assert marked.count() == 1
        box = marked.bounding_box()
        assert 0 <= box["y"] < 900, "it is seen beside the text"


@pytest.mark.browser
@pytest.mark.slow
def test_on_a_phone_the_folded_contents_stay_at_the_top_and_wide_tables_say_that_they_scroll(opened: Any) -> None:
    page = opened("10-latency.html#tbl-wide", 420)
    assert page.locator(".menu summary").bounding_box()["y"] < 20
    assert page.locator("#tbl-wide").evaluate("one => one.scrollWidth > one.clientWidth")
    assert "↔" in page.locator("#tbl-wide caption").evaluate("one => getComputedStyle(one, '::after').content")
    page.locator(".menu summary").click()
    page.locator(".menu a[href='#sec-part-1']").click()
    page.locator(".menu a[href='#sec-part-1']").wait_for(state="hidden")
    assert 0 < page.locator("#sec-part-1").bounding_box()["y"] < 80
