"""What an engineer does in the Explorer, with the number of actions that each task takes from its opening."""

from __future__ import annotations

import dataclasses
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit.apps.cli import main
from labkit.apps.explorer import server
from labkit.store import campaign
from tests import made
from tests.browser.test_explorer import BOXES, browser, explored, picture, playwright, violations
from tests.test_report import point
from tests.waiting import PATIENCE, until

pytestmark = [pytest.mark.browser, pytest.mark.mpi]
__all__ = ["browser"]
NAMES = """() => (document.querySelector('.lab-plot-A .js-plotly-plot')?.data ?? []).map((t) => t.name)"""
ROOM = """() => { const [plot, legend, buttons] = ['.js-plotly-plot', '.legend', '.modebar']
    .map((one) => document.querySelector('.lab-plot-A ' + one).getBoundingClientRect());
  return [legend.top - plot.top, buttons.left - legend.right] }"""
SMALL = """() => [...document.querySelectorAll('.lab-explorer :is(button, select, summary, input:not([type=checkbox]), label:has(input))')]
  .map((one) => [one.outerHTML.slice(0, 90), one.getBoundingClientRect()])
  .filter(([, r]) => r.width && (r.width < 24 || r.height < 24)).map(([html]) => html)"""


def measured(folder: Path, library: str, launches: int) -> None:
    """A campaign of this machine."""
    some = [point("mpi.latency", size, path, n) for size in (8, 512, 32768) for path in ("shm", "tcp")
            for n in range(launches)]  # fmt: skip
    facts = {"format": 1, "id": made.ID, "name": folder.name, "host": {"hostname": socket.gethostname()}}
    folder.mkdir(parents=True)
    (folder / "campaign.json").write_text(json.dumps(facts))
    made.campaign(folder, [dataclasses.replace(one, meta=one.meta | {"library": library}) for one in some])


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Address and campaigns of an Explorer on one campaign, beside another."""
    folder = tmp_path_factory.mktemp("tasks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(campaign.HOME, str(folder))
        measured(folder / "before", "Open MPI 4.1.4", 6)
        measured(folder / "after", "MPICH 4.0", 3)
        with explored("before") as address:
            yield address, folder


@pytest.fixture
def page(home: tuple[str, Path], browser: Any) -> Iterator[Any]:
    """The page as it opens, with its answer. No error may be said in it."""
    noise: list[str] = []
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(PATIENCE * 1000)
    page.on("console", lambda said: said.type == "error" and noise.append(said.text))
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.goto(home[0])
    page.locator(".lab-plot-A .scatterlayer .point").first.wait_for()
    page.locator(".lab-chip").first.wait_for()
    yield page
    page.close()
    assert not noise


def seen(page: Any, select: str) -> bool:
    """Whether an element is on the first screen."""
    box, size = page.locator(select).first.bounding_box(), page.viewport_size
    return bool(box and box["y"] >= 0 and box["y"] + box["height"] <= size["height"])


def test_whether_it_is_good_is_seen_without_an_action(page: Any) -> None:
    lead = page.locator(".lab-lead")
    playwright.expect(lead).to_contain_text(re.compile(r"8 B, median: .* µs \(.* to .*\) over shared memory"))
    playwright.expect(lead).to_contain_text("MPI latency: no reference")
    for select in (".lab-lead", ".lab-chip", ".lab-run", ".lab-stop", ".lab-status", ".lab-plot-A .js-plotly-plot"):
        until(lambda select=select: seen(page, select))  # type: ignore[misc]
    assert page.locator("h1").all_inner_texts() == ["labkit Explorer"]
    page.locator(".lab-field-sizes input").fill("many")
    page.locator(".lab-field-sizes input").press("Tab")
    playwright.expect(page.locator(".lab-beside-field")).to_contain_text("many")
    playwright.expect(page.locator(".lab-field-sizes input")).to_have_attribute("aria-invalid", "true")
    for select in (".lab-reason", ".lab-beside-field"):  # the page may still be placing them
        until(lambda select=select: seen(page, select))  # type: ignore[misc]
    picture(page, "first-screen")
    above, beside = page.evaluate(ROOM)
    assert 0 <= above < 10, "the legend begins where the plot does"
    assert beside >= 0, "the buttons of the plot lie beside the legend"
    page.locator(".lab-field-sizes input").fill("")
    page.locator(".lab-field-sizes input").press("Tab")
    playwright.expect(page.locator(".lab-beside-field")).to_have_count(0)
    for width in (1000, 400):
        page.set_viewport_size({"width": width, "height": 800})
        until(lambda width=width: page.evaluate(BOXES)["page"]["right"] <= width)  # type: ignore[misc]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    playwright.expect(page.locator(".lab-plot-A .legend")).to_have_count(0)  # lines have their names beside them
    playwright.expect(page.locator(".lab-plot-A .annotation-text").filter(has_text="tcp")).to_be_visible()
    inside = "document.querySelector('.lab-plot-A .js-plotly-plot')._fullLayout._size.h"
    until(lambda: page.evaluate(inside) > 250)  # the legend gave its room back
    assert page.evaluate(SMALL) == []
    assert violations(page) == []


def test_the_keyboard_skips_to_plot_and_run_and_a_verdict_selects_points(page: Any) -> None:
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    playwright.expect(page.locator(".lab-plot-A .js-plotly-plot")).to_be_focused()
    playwright.expect(page.locator("button.lab-run")).to_be_enabled()  # it is known what can run here
    page.evaluate("document.querySelectorAll('.lab-skip')[1].focus()")
    page.keyboard.press("Enter")
    playwright.expect(page.locator("button.lab-run")).to_be_focused()
    page.locator(".lab-chip").filter(has_text="MPI latency").click()
    playwright.expect(page.locator(".lab-facts")).to_contain_text("before (measured)")
    page.locator(".lab-views").get_by_text("tail").click()
    axes = "() => document.querySelector('.lab-point-panel .js-plotly-plot')._fullLayout"
    until(lambda: page.evaluate(f"{axes[6:]}.yaxis.type") == "log")
    assert page.evaluate(f"{axes[6:]}.yaxis.title.text") == "share of iterations above"


def test_two_campaigns_are_compared_in_two_actions_and_missing_launches_are_added(page: Any) -> None:
    page.locator(".lab-campaigns label").filter(has_text=re.compile("^after$")).locator("input").check()
    box = page.locator(".lab-verdict-allow label")
    playwright.expect(box).to_contain_text("library differs (Open MPI 4.1.4, MPICH 4.0): compare nevertheless")
    box.locator("input").check()
    playwright.expect(page.locator(".lab-lead")).to_contain_text("6 comparisons of after against before")
    playwright.expect(page.locator(".lab-verdict-result")).to_contain_text("6 comparisons of after against before")
    picture(page, "compared")
    page.locator(".lab-campaigns label").filter(has_text=re.compile("^before$")).locator("input").uncheck()
    playwright.expect(page.locator(".lab-facts")).to_contain_text("after (measured)")
    refused = "measured with MPICH 4.0, and here is .*: new launches would belong to another point"
    playwright.expect(page.locator(".lab-more-launches")).to_contain_text(re.compile(refused))


def test_launches_that_a_point_lacks_are_added_where_they_are_asked_for(page: Any, home: tuple[str, Path]) -> None:
    assert main(["measure", "mpi.latency", "-m", "8", "--launches", "3", "--into", str(home[1] / "own")]) == 0
    page.locator("button").filter(has_text="Refresh").click()
    for name, wanted in (("own", True), ("before", False)):
        page.locator(".lab-campaigns label").filter(has_text=re.compile(f"^{name}$")).locator("input").set_checked(
            wanted
        )
    more = page.locator(".lab-more-launches")
    playwright.expect(more).to_contain_text("1 point in 3 launches, ")
    more.locator("button.lab-offer").click()
    playwright.expect(more.locator("button").filter(has_text="Stop")).to_be_visible()
    playwright.expect(page.locator(".lab-facts")).to_contain_text("in 6 launches")
    decide = page.locator(".lab-decide button.lab-offer").first
    page.locator("button.lab-fold").filter(has_text="why, and what to do next").click()
    decide.click()
    playwright.expect(page.locator(".lab-decide").first).to_contain_text(re.compile("running|done"))
    playwright.expect(page.locator(".lab-lead")).not_to_contain_text("no reference")


def test_a_point_is_measured_again_in_one_action(page: Any, home: tuple[str, Path]) -> None:
    again = page.locator("button.lab-offer").filter(has_text="Measure again")
    playwright.expect(page.locator(".lab-again")).to_contain_text("1 point in 6 launches, ")
    until(lambda: seen(page, ".lab-again button"))
    again.click()
    playwright.expect(page.locator(".lab-again")).to_contain_text(re.compile("running|done"))
    playwright.expect(page.locator(".lab-again")).to_contain_text("done: 6 of 6 measurements")
    (new,) = home[1].glob("*-again")
    until(lambda: any(new.name in name for name in page.evaluate(NAMES)))
    picture(page, "again")


def test_a_box_in_the_plot_gives_its_points_and_the_command_that_measures_them(page: Any) -> None:
    page.locator(".lab-plot-A .js-plotly-plot").hover()
    page.locator(".lab-plot-A .modebar-btn[data-title='Box Select']").click()
    box = page.locator(".lab-plot-A .nsewdrag").bounding_box()
    page.mouse.move(box["x"] + 1, box["y"] + 1)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] - 1, steps=5)
    page.mouse.up()
    playwright.expect(page.locator(".lab-count")).to_have_text("4 points inside the box")
    playwright.expect(page.locator(".lab-boxed")).to_have_text(
        "labkit measure mpi.latency -m 8,512 --transport shm\nlabkit measure mpi.latency -m 8,512 --transport tcp"
    )
    names = page.locator(".lab-values-box tbody button").evaluate_all("all => all.map((one) => one.ariaLabel)")
    assert names == ["shm, 8 B", "tcp, 8 B", "shm, 512 B", "tcp, 512 B"]
    picture(page, "box")
    page.locator("button.lab-all").click()
    playwright.expect(page.locator(".lab-count")).to_have_text("6 points")
    playwright.expect(page.locator(".lab-boxed")).to_be_hidden()


def test_a_figure_is_taken_away_in_one_action(page: Any) -> None:
    page.locator("button.lab-export-svg").click()
    playwright.expect(page.locator(".lab-exported a")).to_have_attribute("download", re.compile(r"\.svg$"))


def test_the_whole_page_is_never_wider_than_the_window(page: Any, home: tuple[str, Path], browser: Any) -> None:
    page.locator("button.lab-export-whole").click()
    playwright.expect(page.locator(".lab-exported a")).to_have_attribute("download", re.compile(r"^page-.*\.html$"))
    (path,) = (home[1] / "exports").glob("page-*.html")
    sent = browser.new_page(viewport={"width": 400, "height": 800})
    sent.goto(path.as_uri())
    sent.locator(".scatterlayer .point").first.wait_for()
    playwright.expect(sent.locator(".gtitle").first).to_contain_text(
        re.compile(r"mpi.latency · .* · 2026-11-20 · labkit ")
    )
    for width in (400, 1400):
        sent.set_viewport_size({"width": width, "height": 800})
        until(lambda width=width: sent.evaluate("document.documentElement.scrollWidth") <= width)  # type: ignore[misc]
    picture(sent, "whole-page")
    assert violations(sent, "main") == []
    sent.close()


def test_tabs_have_views_of_their_own_and_back_goes_back(page: Any, home: tuple[str, Path], browser: Any) -> None:
    other = browser.new_page()
    other.set_default_timeout(PATIENCE * 1000)
    other.goto(page.url)
    unit = ".lab-unit-A select"
    checked = f"{unit} option:checked"
    other.locator(".lab-plot-A .scatterlayer .point").first.wait_for()
    begun = page.evaluate("location.href")
    page.locator(unit).select_option("ns")
    until(lambda: page.evaluate("location.href") != begun)
    changed = page.evaluate("location.href")
    other.locator(".lab-statistic-A select").select_option("99th percentile")
    until(lambda: "#view" in other.evaluate("location.href"))
    playwright.expect(other.locator(checked)).to_have_text("µs")
    playwright.expect(page.locator(".lab-statistic-A select option:checked")).to_have_text("median")
    page.go_back()
    playwright.expect(page.locator(checked)).to_have_text("µs")
    page.go_forward()
    playwright.expect(page.locator(checked)).to_have_text("ns")
    page.reload()
    playwright.expect(page.locator(checked)).to_have_text("ns")
    other.goto(changed)
    other.reload()
    playwright.expect(other.locator(checked)).to_have_text("ns")
    other.close()


def test_a_link_for_reading_measures_and_writes_nothing(home: tuple[str, Path], browser: Any) -> None:
    bare, _, token = home[0].partition("?token=")
    port = bare.rstrip("/").rpartition(":")[2]
    reads = server._token(int(port), " to read")
    assert reads != token
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    page.goto(f"{bare}?token={reads}")
    page.locator(".lab-plot-A .scatterlayer .point").first.wait_for()
    before = {path.name for path in home[1].iterdir()}
    page.locator("button.lab-offer").filter(has_text="Measure again").click()
    playwright.expect(page.locator(".lab-again")).to_contain_text("This link is for reading only")
    page.locator("button.lab-export-csv").click()
    playwright.expect(page.locator(".lab-exported")).to_contain_text("This link is for reading only")
    page.locator(".lab-unit-A select").select_option("ns")
    playwright.expect(page.locator(".lab-plot-A .ytitle")).to_contain_text("(ns)")
    assert {path.name for path in home[1].iterdir()} == before
    context.close()


def test_a_page_and_its_link_outlive_the_process(home: tuple[str, Path], browser: Any) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    unit, checked = ".lab-unit-A select", ".lab-unit-A select option:checked"
    with explored("before") as address:
        page.goto(address)
        page.locator(".lab-plot-A .scatterlayer .point").first.wait_for()
        begun = page.evaluate("location.hash")
        page.locator(unit).select_option("ns")
        until(lambda: page.evaluate("location.hash") != begun)
        view = page.evaluate("location.hash")
    playwright.expect(page.locator(".lab-notice")).to_contain_text("Every measured point is kept")
    playwright.expect(page.locator(checked)).to_have_text("ns")
    port = address.partition("?")[0].rstrip("/").rpartition(":")[2]
    with explored("before", "--port", port) as again:
        assert again == address
        playwright.expect(page.locator(".lab-notice")).to_be_hidden()
        playwright.expect(page.locator(checked)).to_have_text("ns")
        other = browser.new_context().new_page()
        other.set_default_timeout(PATIENCE * 1000)
        other.goto(f"{again}{view}")
        playwright.expect(other.locator(checked)).to_have_text("ns")
        other.context.close()
    context.close()
