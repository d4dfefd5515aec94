"""A report that was ended in the middle is made again; what is not a report stays; pages have a policy; nothing is loaded."""

from __future__ import annotations

import itertools
import json
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pypandoc
import pytest

from labkit import report
from labkit.errors import LabkitError, ReportError
from labkit.report import check, place
from labkit.report.stage import TEMPLATES
from tests.test_report import make_campaign


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of this test alone."""
    (folder := tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def ended(folder: Path, after: float, how: signal.Signals) -> None:
    """Begin a report in a process of its own, and end it while it makes the chapters or later."""
    command = [sys.executable, "-m", "labkit", "report", str(folder), "--engine", "plain"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "preparing" in line:
                break
        time.sleep(after)
        process.send_signal(how)
        process.communicate()


def endings(count: int, seed: int) -> list[tuple[float, signal.Signals]]:
    chance = random.Random(seed)
    signals = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
    return [(chance.choice((0.0, 0.05, 0.5, 3.0)) * chance.random(), chance.choice(signals)) for _ in range(count)]


@pytest.mark.slow
def test_a_report_that_was_ended_is_made_again(tmp_path: Path, temporary: Path) -> None:
    folder = make_campaign(tmp_path / "c")
    for after, how in endings(25, 25):
        ended(folder, after, how)
        if how != signal.SIGKILL:
            assert not list(folder.glob(".report-*"))
            assert not list(temporary.glob("labkit-report-*"))
    made = report.build([folder], engine="plain")
    assert made.html.is_file()
    assert not list(folder.glob(".report-*"))
    assert not list(temporary.glob("labkit-report-*"))


def test_a_publication_that_is_interrupted_leaves_the_old_report_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each rename and each removal, the process may be ended."""
    for moment in range(8):
        home = tmp_path / str(moment)
        for text in ("old", "new"):
            place.begin(tmp_path / f"{text}{moment}")
            (tmp_path / f"{text}{moment}" / "page.html").write_text(text)
        place.publish(tmp_path / f"old{moment}", home, "report")
        calls = itertools.count()

        def end(call: Callable[..., Any], calls: Iterator[int], last: int) -> Callable[..., Any]:
            def ended(*args: Any, **kwargs: Any) -> Any:
                if next(calls) == last:
                    raise KeyboardInterrupt
                return call(*args, **kwargs)

            return ended

        with monkeypatch.context() as patch:
            patch.setattr(Path, "rename", end(Path.rename, calls, moment))
            patch.setattr(shutil, "rmtree", end(shutil.rmtree, calls, moment))
            try:
                place.publish(tmp_path / f"new{moment}", home, "report")
            except KeyboardInterrupt:
                assert (home / "report" / "page.html").read_text() in ("old", "new")
        place.publish(tmp_path / f"new{moment}", home, "report")
        assert (home / "report" / "page.html").read_text() == "new"
        assert [path.name for path in home.iterdir()] == ["report"]


@pytest.mark.slow
def test_a_link_that_appears_while_a_report_is_made_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, elsewhere = make_campaign(tmp_path / "c"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.txt").write_text("mine")
    real = check.check

    def swapped(book: Any) -> None:
        (folder / "report").symlink_to(elsewhere)
        real(book)

    monkeypatch.setattr(check, "check", swapped)
    with pytest.raises(LabkitError, match="report"):
        report.build([folder], engine="plain")
    assert [path.name for path in elsewhere.iterdir()] == ["mine.txt"]


def test_a_report_that_cannot_be_made_names_files_that_are_there(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_campaign(tmp_path / "c")

    def failed(book: Any) -> None:
        raise ReportError(f"The report in {book.folder} has errors")

    monkeypatch.setattr(check, "check", failed)
    with pytest.raises(ReportError, match=str(folder / "report")):
        report.build([folder], engine="plain")
    assert (folder / "report" / "index.qmd").is_file()
    assert not list(temporary.glob("labkit-report-*"))


def test_what_is_not_a_report_of_labkit_is_kept(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "c")
    book = folder / "report"
    book.mkdir()
    (book / "_quarto.yml").write_text("project: {type: book}")  # a book of the user's own
    (book / "thesis.qmd").write_text("mine")
    with pytest.raises(ReportError, match="not a labkit report"):
        report.build([folder], engine="plain")
    assert (book / "thesis.qmd").read_text() == "mine"
    shutil.rmtree(book)
    book.write_text("a file")
    with pytest.raises(ReportError, match="not a labkit report"):
        report.build([folder], engine="plain")


PAGE = """<!DOCTYPE html><html><head>
<meta charset="utf-8"><script src="site_libs/quarto.js" defer></script>
<script id="a" type="application/json">{"not": "run"}</script>
<script>document.documentElement.dataset.head = 1</script></head>
<body><a id="t" href="" onclick="document.body.dataset.toggled = &quot;1&quot;; return false;">dark</a>
<main class="content"><p>text</p>EVIL</main>
<script type="application/javascript">document.body.dataset.after = 1</script></body></html>"""
EVIL = '<script>window.pwned = 1</script><a id="e" href="#" onclick="window.pwned = 1">x</a><img src=x onerror="window.pwned=1">'


def guarded(page: Path, text: str) -> str:
    """A page of Quarto after the script that Quarto runs when it has rendered."""
    page.write_text(text)
    command = [pypandoc.get_pandoc_path(), "lua", str(TEMPLATES / "filters" / "offline.lua")]
    subprocess.run(command, env={"QUARTO_PROJECT_OUTPUT_FILES": str(page)}, cwd=page.parent, check=True)
    return page.read_text()


def test_a_page_of_quarto_gets_the_policy_and_its_scripts_in_files(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    made = guarded(page, PAGE)
    policy = (TEMPLATES / "filters" / "policy.html").read_text()
    assert made.count(policy) == made.count("Content-Security-Policy") == 1
    assert made.index("Content-Security-Policy") < made.index("<script")
    assert " onclick=" not in made
    sources = re.findall(r'src="(inline/\w+\.js)"', made)
    assert len(sources) == len({*sources}) == 3
    texts = [(tmp_path / name).read_text() for name in sources]
    assert texts[:2] == ["document.documentElement.dataset.head = 1", "document.body.dataset.after = 1"]
    assert 'document.body.dataset.toggled = "1"; return false;' in texts[2]
    assert '<script id="a" type="application/json">{"not": "run"}</script>' in made
    assert guarded(page, PAGE.replace("EVIL", EVIL)) == made.replace("EVIL", EVIL), "nothing inside the text counts"
    named = f"<meta name='author' content='{EVIL}'><!-- {EVIL} -->"
    made = guarded(page, PAGE.replace("<head>", f"<head>{named}"))
    assert made.count('src="inline/') == 3, "an attribute's text is not a script"
    assert named in made


def index(folder: Path) -> Any:
    """What the script with the index of the search box holds."""
    return json.loads((folder / "search.js").read_text().removeprefix("globalThis.labkitIndex = ").rstrip(";\n"))


def test_the_pages_of_quarto_have_an_index_that_a_page_from_disk_can_load(tmp_path: Path) -> None:
    text = """<section id="sec-a" class="level2"><h2><span class="header-section-number">1.1</span> Ring</h2><p>Of&nbsp;ranks.</p>
      <div id="fig-a" class="quarto-float"><figure><div><script type="application/json">{"x": "secret"}</script></div>
      <figcaption id="fig-a-caption">Figure 1: Latency.</figcaption></figure></div>
      <div id="tbl-a"><figure><figcaption>Table 1: Rates.</figcaption><table><tr><td>mpi.latency</td><td>2</td></tr></table></figure></div>
      </section>"""
    whole = PAGE.replace("EVIL", text).replace("</head>", '<script src="site_libs/report.js"></script></head>')
    (tmp_path / "site_libs/quarto-html").mkdir(parents=True)
    command = [pypandoc.get_pandoc_path(), "lua", str(TEMPLATES / "filters" / "offline.lua")]
    (page := tmp_path / "a.html").write_text(whole)
    given = {"QUARTO_PROJECT_OUTPUT_FILES": str(page), "QUARTO_PROJECT_OUTPUT_DIR": str(tmp_path)}
    subprocess.run(command, env=given, cwd=tmp_path, check=True)
    assert not (tmp_path / "search.js").exists(), "a single page that is rendered anew replaces no index of all"
    page.write_text(whole)
    subprocess.run(command, env=given | {"QUARTO_PROJECT_RENDER_ALL": "1"}, cwd=tmp_path, check=True)
    made = index(tmp_path)
    assert [url for url, _ in made["pages"]] == ["a.html"]
    assert made["rows"][0] == [0, "", "", "text"]
    assert made["rows"][1:] == [
        [0, "sec-a", "1.1 Ring", "Of ranks."],
        [0, "fig-a", "Figure 1", "Latency."],
        [0, "tbl-a", "Table 1", "Rates. mpi.latency 2"],
    ]


@pytest.mark.browser
@pytest.mark.slow
def test_what_stands_in_a_chapter_of_quarto_does_not_run(tmp_path: Path) -> None:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium is installed")
    from playwright.sync_api import sync_playwright

    page = tmp_path / "a.html"
    guarded(page, PAGE.replace("EVIL", EVIL))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page()
        tab.goto(page.as_uri())
        tab.click("#t")
        tab.click("#e")
        results = tab.evaluate(
            "[document.documentElement.dataset.head, document.body.dataset.after, document.body.dataset.toggled, window.pwned ?? null]"
        )
        browser.close()
    assert results == ["1", "1", "1", None]


def test_style_sheets_of_quarto_ask_nobody_for_fonts(tmp_path: Path) -> None:
    font = "https://fonts.googleapis.com/css2?family=Lato:ital,wght@0,400;0,700&display=swap"
    sheet = tmp_path / "site_libs" / "bootstrap.min.css"
    sheet.parent.mkdir()
    forms = [
        f'@import"{font}";',
        f"@import url({font});",
        f"@import url('{font}');",
        f'@import url("{font}") screen;',
        f"@import '{font}';",
    ]
    page = tmp_path / "index.html"
    for form in forms:
        sheet.write_text(f"a{{b:c}}{form}d{{e:url(data:x)}}")
        page.write_text('<link href="site_libs/bootstrap.min.css" rel="stylesheet">')
        subprocess.run(
            [pypandoc.get_pandoc_path(), "lua", str(TEMPLATES / "filters" / "offline.lua")],
            env={"QUARTO_PROJECT_OUTPUT_FILES": str(page)},
            check=True,
        )
        assert sheet.read_text() == "a{b:c}d{e:url(data:x)}", form
