"""The whole line on this machine: suite → ranks and tools → samples → notebooks → HTML and PDF, read back."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pypdf
import pytest

from labkit import load
from labkit.store.campaign import Campaign

pytestmark = [pytest.mark.mpi, pytest.mark.browser]
SUITE = """
title = "End to end"
[parameters]
launches = 2
time_cap = 0.03
[[notebook]]
name = "10-latency"
[notebook.parameters]
sizes = "0,8,512"
allreduce = "8"
transports = "shm,tcp"
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Campaign of a tiny suite, with its report."""
    folder = tmp_path_factory.mktemp("end-to-end")
    (folder / "tiny.toml").write_text(SUITE)
    labkit = [sys.executable, "-m", "labkit"]
    for words in (
        ["run", str(folder / "tiny.toml"), "--into", str(folder / "c")],
        ["report", str(folder / "c"), "--engine", "plain"],
    ):
        done = subprocess.run([*labkit, *words], capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert f"HTML report: {folder / 'c' / 'report' / 'html' / 'index.html'}" in done.stdout
    return folder / "c"


@pytest.fixture(scope="module")
def pages(built: Path, chromium: Path) -> dict[str, dict[str, Any]]:
    """What headless Chromium found in every page, opened from file:// without network."""
    from playwright.sync_api import sync_playwright

    seen: dict[str, dict[str, Any]] = {}
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(chromium), args=["--no-sandbox", "--disable-dev-shm-usage"])
        for path in sorted((built / "report" / "html").glob("*.html")):
            page, noise, asked = browser.new_page(), [], []
            page.set_default_timeout(240_000)  # ms; a bound for a busy machine
            page.on(
                "console", lambda message, noise=noise: noise.append(message.text) if message.type == "error" else None
            )
            page.on("pageerror", lambda error, noise=noise: noise.append(str(error)))
            page.on("requestfailed", lambda request, noise=noise: noise.append(request.url))
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.goto(path.as_uri())
            plots = page.locator(".plot").count()
            if plots:
                page.wait_for_function(f"document.querySelectorAll('.js-plotly-plot').length == {plots}")
            traces = page.evaluate(
                "[...document.querySelectorAll('.js-plotly-plot')].map(p => ({id: p.closest('[id]').id, "
                "traces: p.data.map(t => ({name: t.name || '', dash: (t.line || {}).dash || '', n: (t.x || []).length, mode: t.mode || ''}))}))"
            )
            seen[path.name] = {
                "noise": noise,
                "asked": asked,
                "plots": plots,
                "traces": traces,
                "text": page.inner_text("body"),
            }
            page.close()
        browser.close()
    return seen


def test_every_page_opens_without_error_or_missing_resource(pages: dict[str, dict[str, Any]]) -> None:
    for name, page in pages.items():
        assert page["noise"] == [], name
        assert [url for url in page["asked"] if not url.startswith(("file://", "data:", "blob:"))] == [], name


def test_every_trace_has_as_many_points_as_the_campaign_has_records(
    built: Path, pages: dict[str, dict[str, Any]]
) -> None:
    frame = load(Campaign(built))
    sizes = frame[frame["benchmark"] == "mpi.latency"].groupby("transport")["message_size_B"].nunique()
    traces = [t for plot in pages["10-latency.html"]["traces"] for t in plot["traces"] if t["name"] in sizes.index]
    assert traces
    first = pages["10-latency.html"]["traces"][0]["traces"]
    for transport, count in sizes.items():
        main = [t["n"] for t in first if t["name"].startswith(transport)]
        assert main, transport
        assert set(main) == {count + 1}, (transport, main)  # and a gap: 0 B stands apart from the line


def test_three_key_numbers_are_equal_in_html_pdf_and_records(built: Path, pages: dict[str, dict[str, Any]]) -> None:
    numbers = json.loads((built / "report" / "key-numbers.json").read_text())
    html = re.sub(r"\s+", " ", pages["index.html"]["text"])
    pdf = re.sub(
        r"\s+", " ", " ".join(page.extract_text() for page in pypdf.PdfReader(built / "report" / "report.pdf").pages)
    )
    frame = load(Campaign(built))
    matches = 0
    for one in numbers:
        same = (frame["benchmark"] == one["benchmark"]) & (frame["message_size_B"] == one["size"])
        rows = frame[same & (frame["transport"] == one["transport"]) & (frame["options"] == one["options"])]
        median = rows[f"{one['metric']}_{one['statistic']}"].median()
        assert median == pytest.approx(one["value"], rel=1e-9)
        assert one["text"] in html
        assert one["text"] in pdf
        matches += 1
    assert matches >= 3
