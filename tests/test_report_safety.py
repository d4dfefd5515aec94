"""A report that was ended in the middle is made again; what is not a report stays; pages have a policy; nothing is loaded."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pypandoc
import pytest

from labkit import report
from labkit.errors import ReportError
from labkit.report import policy
from labkit.report.stage import MARK, TEMPLATES
from tests.test_report import make_campaign


def ended(folder: Path, after: float, how: signal.Signals) -> int:
    """Begin a report in a process of its own, and end it."""
    command = [sys.executable, "-m", "labkit.cli", "report", str(folder), "--engine", "plain"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + 60
        while not (folder / "report").exists() and process.poll() is None and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(after)
        process.send_signal(how)
    return process.returncode


def endings(count: int, seed: int) -> list[tuple[float, signal.Signals]]:
    chance = random.Random(seed)
    signals = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
    return [
        (chance.choice((0.0, 0.002, 0.01, 0.05, 0.3, 1.0)) * chance.random(), chance.choice(signals))
        for _ in range(count)
    ]


@pytest.mark.parametrize("count", [1, pytest.param(25, marks=pytest.mark.slow)])
def test_a_report_that_was_ended_is_made_again(count: int, tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "c")
    for after, how in endings(count, count):
        ended(folder, after, how)
    made = report.build([folder], engine="plain")
    assert made.html.is_file()
    assert not list(folder.glob(".report-*"))


def second_time(end: Callable[..., None]) -> Callable[[Path, Path], Path]:
    """A way to rename that ends the second time."""
    real, calls = Path.rename, list[int]()

    def rename(path: Path, to: Path) -> Path:
        if calls:
            end()
        calls.append(1)
        return real(path, to)

    return rename


def test_each_moment_of_beginning_anew_can_be_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from labkit.report import stage

    folder = tmp_path / "report"
    for moment in ("rename", "rmtree", "mkdir", "write_text", "rename-back"):
        stage._empty(folder)
        (folder / "page.html").write_text("old")

        def end(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            if moment == "rmtree":
                patch.setattr(shutil, "rmtree", end)
            elif moment == "rename-back":
                patch.setattr(Path, "rename", second_time(end))
            else:
                patch.setattr(Path, moment, end)
            with pytest.raises(KeyboardInterrupt):
                stage._empty(folder)
        assert sorted(path.name for path in stage._empty(folder).iterdir()) == [MARK]
        assert not list(tmp_path.glob(".report-*"))


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


def test_a_page_of_quarto_gets_a_policy_with_its_own_scripts() -> None:
    made = policy.guarded(PAGE)
    assert made.count("Content-Security-Policy") == 1
    assert made.index("Content-Security-Policy") < made.index("<script")
    assert made.count("'sha256-") == 3
    assert policy.guarded(PAGE.replace("EVIL", EVIL)).count("'sha256-") == 3
    named = f"<meta name='author' content='{EVIL}'>"
    assert policy.guarded(PAGE.replace("<head>", f"<head>{named}")).count("'sha256-") == 3, (
        "an attribute's text is no script"
    )


@pytest.mark.browser
def test_what_stands_in_a_chapter_of_quarto_does_not_run(tmp_path: Path) -> None:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium is installed")
    from playwright.sync_api import sync_playwright

    page = tmp_path / "a.html"
    page.write_text(policy.guarded(PAGE.replace("EVIL", EVIL)))
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
