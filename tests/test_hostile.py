"""A campaign made to harm: what its report shows is text, nothing of it runs, nothing is loaded."""

from __future__ import annotations

import dataclasses
import functools
import http.server
import json
import shutil
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell

from labkit import report
from labkit.errors import ReportError
from labkit.report import cleaning, figures, quarto
from labkit.store import samples
from labkit.store.campaign import Campaign
from tests.test_report import HOST, point

SECRET = "labkit-secret-that-nobody-may-read"
RUN = "window.pwned=(window.pwned||0)+1;alert(1)"
TAG = f"<script>{RUN}</script><img src=x onerror='{RUN}'>"
BEACON = "http://192.0.2.1"  # for documentation: nobody is there
READ = ("aria-label", "alt", "title")  # attributes that are read out, and never followed

SVG = (
    f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" onload="{RUN}" width="9" height="9">'
    f'<script>{RUN}</script><foreignObject><body xmlns="http://www.w3.org/1999/xhtml">{SECRET}</body></foreignObject>'
    f'<image href="/etc/hostname" width="9" height="9"/><image xlink:href="{BEACON}/svg.png" width="9" height="9"/>'
    f'<rect width="9" height="9" style="fill:url({BEACON}/x)" onclick="{RUN}"/><a href="javascript:{RUN}"><text>x</text></a>'
    '<text x="1" y="5">kept</text></svg>'
)
FIGURE = {
    "data": [
        {
            "type": "scatter",
            "name": f"{TAG}<a href='javascript:{RUN}'>a</a>",
            "x": [1, 2],
            "y": [1, 2],
            "text": [TAG, TAG],
            "hovertemplate": f"<a href='{BEACON}'>x</a>",
        }
    ],
    "layout": {
        "height": f'1"><img src=x onerror="{RUN}">',
        "title": {"text": f"</script>{TAG}"},
        "images": [{"source": f"{BEACON}/plot.png", "x": 0, "y": 0}],
        "updatemenus": [{"buttons": [{"label": TAG, "method": "skip", "args": []}]}],
    },
    "config": {"plotlyServerURL": BEACON, "showSendToCloud": True, "displaylogo": False},
}
MAP = {"data": [{"type": "choropleth", "locations": ["FRA"], "z": [1]}], "layout": {}}

PROSE = [
    "[js](javascript:window.pwned=1) [js2](&#106;avascript:window.pwned=1) [js3](JAVASCRIPT&colon;window.pwned=1)",
    "[data](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==) [vb](vbscript:x) [file](file:///etc/passwd)",
    "[ref]\n\n[ref]: javascript:window.pwned=1\n\n<javascript:window.pwned=1>",
    '[attributes]{onclick="window.pwned=1" style="background:url(http://192.0.2.1/a)" typst:text:fill="read(\\"/etc/passwd\\")"}',
    '`<script>window.pwned=1</script>`{=html} `#read("/etc/passwd")`{=typst}',
    f':::: {{.callout-note title="{TAG.replace(chr(34), chr(39))} [x](javascript:window.pwned=1)"}}\ntitle\n::::',
    "---\ntitle: stolen\nbibliography: /etc/passwd\ncsl: http://192.0.2.1/a.csl\nheader-includes: <script>window.pwned=1</script>\n---",
    "text\n\n---\nexecute:\n  enabled: true\nfilters: [evil.lua]\n---\n",
    "\\input{/etc/passwd} \\newcommand{\\x}{\\x\\x}",
    "> ---\n> execute: {enabled: true}\n> ---",
]


def hostile_notebook() -> Any:
    """Everything that a report once let through, in one notebook."""
    outputs = [
        new_output(
            "display_data",
            data={
                "text/html": f"<p>page</p>{TAG}<iframe src='{BEACON}'></iframe><a href='javascript:{RUN}'>a</a>"
                f"<svg onload='{RUN}'></svg><form action='{BEACON}'><button>b</button></form>\n```\n{TAG}\n"
            },
        ),
        new_output("display_data", data={"application/javascript": RUN, "text/plain": "js"}),
        new_output("display_data", data={"image/svg+xml": SVG, "text/plain": "svg"}),
        new_output("display_data", data={figures.PLOTLY: FIGURE, figures.SVG: SVG, "text/html": TAG}),
        new_output("display_data", data={figures.PLOTLY: MAP, "text/html": TAG}),
        new_output("display_data", data={"text/markdown": "\n\n".join(PROSE)}),
        new_output("stream", name="stdout", text="\x1b]0;title\x07{{< include /etc/passwd >}}\n```\n" + TAG),
    ]
    error = new_output("error", ename=TAG, evalue=f"{TAG}\x1b[2J", traceback=[TAG, "```", TAG])
    return new_notebook(
        metadata={"kernelspec": {"name": "evil", "display_name": "e", "language": "bash"}, "title": TAG},
        cells=[
            new_markdown_cell(
                f'# A `{TAG}`{{=html}} title \\{TAG} " onmouseover="{RUN}" {{#sec-a}}',
                metadata={"raw_mimetype": "text/html"},
            ),
            new_raw_cell(f"---\nexecute:\n  enabled: true\n---\n{TAG}", metadata={"raw_mimetype": "text/html"}),
            *[new_markdown_cell(text) for text in PROSE],
            new_code_cell("open('PWNED', 'w')", outputs=outputs),
            new_code_cell("%%html\n<script>window.pwned=1</script>"),
            new_code_cell(
                '#| label: fig-a\n#| fig-cap: "`<script>window.pwned=1</script>`{=html} [x](javascript:window.pwned=1)"\nx',
                outputs=[new_output("display_data", data={figures.PLOTLY: FIGURE, figures.SVG: SVG})],
            ),
            new_code_cell("1/0", outputs=[error]),
        ],
    )


def hostile_campaign(folder: Path) -> Path:
    """Markup in every text that a report shows."""
    host = {**HOST, "hostname": TAG, TAG: TAG, "nics": [{"physical": True, "name": TAG, "kind": TAG}]}
    for launch in range(6):
        one = point("mpi.latency", 8, "shm", launch)
        meta = {**one.meta, "library": TAG, "badges": [TAG], "warnings": [f"{TAG} 5.{launch}"], "command": ["sh", TAG]}
        meta |= {"notes": {text: [TAG[:100], {TAG: TAG}] for text in (TAG, *meta["warnings"])}}
        one = dataclasses.replace(one, host=host, meta=meta)
        samples.save(one, folder / "samples" / "mpi.latency" / f"{one.meta['fingerprint']}-{launch}.parquet")
    facts = {
        "format": 1,
        "id": str(uuid.uuid4()),
        "name": TAG,
        "title": f"`{TAG}`{{=html}}",
        "author": TAG,
        "suite": TAG,
        "labkit": TAG,
        "host": host,
        "created": "2026-11-20T10:00:00+00:00",
        "notebooks": [{"name": "10-a", "error": TAG}, {"name": "../../x"}, {"name": 3}],
        "skipped": [{"point": TAG, "reason": TAG}, TAG],
        TAG: {TAG: TAG},
    }
    (folder / "campaign.json").write_text(json.dumps(facts))
    Campaign(folder).tell("failed", what=TAG, reason=f"{TAG} {{{{< include /etc/passwd >}}}}")
    (folder / "notebooks").mkdir()
    nbformat.write(hostile_notebook(), folder / "notebooks" / "10-a.ipynb")
    nbformat.write(hostile_notebook(), folder / "notebooks" / """20 b"><img src=x onerror=window.pwned=1>.ipynb""")
    (folder.parent / "secret.ipynb").write_text(json.dumps(new_notebook(cells=[new_markdown_cell(SECRET)])))
    (folder / "notebooks" / "30-link.ipynb").symlink_to(folder.parent / "secret.ipynb")
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> report.Built:
    folder = hostile_campaign(tmp_path_factory.mktemp("foreign") / "campaign")
    said: list[str] = []
    built = report.build([folder], engine="plain", progress=said.append)
    assert "executed notebooks, which labkit reads but does not run" in said[0]
    assert not list(folder.parent.rglob("PWNED"))
    return built


def everything(built: report.Built) -> str:
    staged = [
        *built.html.parent.glob("*.html"),
        *built.html.parents[1].glob("*.ipynb"),
        *built.html.parents[1].glob("*.qmd"),
    ]
    return "\n".join(path.read_text() for path in staged)


def test_nothing_that_runs_is_in_the_pages(made: report.Built) -> None:
    for page in made.html.parent.glob("*.html"):
        parser = Elements(page.read_text())
        assert parser.scripts <= {"assets/plotly.min.js", "assets/report.js", "application/json"}, page
        assert not parser.acting, (page, parser.acting)
        assert not {"iframe", "object", "embed", "form", "base", "foreignObject"} & parser.tags


def test_texts_read_as_they_are(made: report.Built) -> None:
    index = made.html.read_text()
    assert "&lt;script&gt;window.pwned" in index
    assert SECRET not in everything(made)


def test_nothing_of_this_machine_comes_into_the_report(made: report.Built) -> None:
    import pypdf

    assert made.pdf is not None
    text = "\n".join(page.extract_text() for page in pypdf.PdfReader(made.pdf).pages)
    for shown in (text, everything(made)):
        assert "root:x:0" not in shown
        assert SECRET not in shown


def test_staged_notebooks_cannot_be_made_to_run(made: report.Built) -> None:
    folder = made.html.parents[1]
    notebooks = sorted(folder.glob("*.ipynb"))
    assert len(notebooks) == 2
    for path in notebooks:
        book = nbformat.read(path, as_version=4)
        assert book.metadata.kernelspec.name == "python3"
        assert {cell.cell_type for cell in book.cells} == {"markdown", "code"}
        for cell in book.cells:
            assert "\n---\n" not in f"\n{cell.source}\n"
            assert "{{<" not in cell.source
            assert set(cell.metadata) <= {"tags"}
            kinds = {kind for out in cell.get("outputs", []) for kind in out.get("data", {})}
            assert kinds <= {"text/html", "text/plain", "text/markdown", "image/svg+xml", "image/png", "image/jpeg"}


@pytest.mark.slow
def test_shortcodes_of_others_are_refused_or_shown(tmp_path: Path) -> None:
    folder = hostile_campaign(tmp_path / "c")
    book = new_notebook(
        cells=[new_markdown_cell("# A {#sec-x}\n\n{{< include /etc/passwd >}} {{<\ninclude /etc/passwd\n>}}")]
    )
    nbformat.write(book, folder / "notebooks" / "10-a.ipynb")
    page = (report.build([folder], engine="plain").html.parent / "10-a.html").read_text()
    assert "root:x:0" not in page
    assert "include /etc/passwd" in page


class Elements:
    """Elements of a page and what acts in them."""

    def __init__(self, text: str) -> None:
        from html.parser import HTMLParser

        outer = self
        self.tags: set[str] = set()
        self.scripts: set[str] = set()
        self.acting: list[str] = []

        class Reader(HTMLParser):
            def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
                values = {name: value or "" for name, value in attrs}
                outer.tags.add(tag)
                if tag == "script":
                    outer.scripts.add(values.get("src") or values.get("type") or "inline")
                for name, value in values.items():
                    if (
                        name.startswith("on")
                        or ("javascript:" in value.lower().replace("\t", "") and name not in READ)
                        or value.startswith(BEACON)
                    ):
                        outer.acting.append(f"{tag} {name}={value}")

        Reader().feed(text)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium is installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder and its address on a server of this test's own."""
    handler = functools.partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield tmp_path, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves without a word."""

    def log_message(self, *_: Any) -> None:
        pass


def look(browser: Any, address: str) -> dict[str, Any]:
    """What happens while a page is open, and everything in it that can be clicked is clicked."""
    page = browser.new_page()
    page.set_default_timeout(240_000)  # ms; a bound for a busy machine
    seen: dict[str, Any] = {"dialogs": [], "requests": [], "refused": [], "answered": []}
    page.on("dialog", lambda dialog: (seen["dialogs"].append(dialog.message), dialog.dismiss()))
    page.on("response", lambda response: seen["answered"].append(response.url))
    page.on("request", lambda request: seen["requests"].append(request.url))
    page.add_init_script(
        "window.refused=[];addEventListener('securitypolicyviolation',e=>refused.push(e.violatedDirective+' '+e.blockedURI))"
    )
    page.goto(address)
    drawn = "document.readyState=='complete' && (!document.querySelector('.plot') || !!document.body.dataset.plots)"
    until = time.monotonic() + 240  # asked from here: the page's policy forbids what waits inside it
    while not page.evaluate(drawn) and time.monotonic() < until:
        page.wait_for_timeout(50)
    page.evaluate("document.querySelectorAll('summary,[onclick],a[href^=\"java\" i]').forEach(e => e.click())")
    page.wait_for_timeout(200)
    seen |= {
        "pwned": page.evaluate("window.pwned"),
        "refused": page.evaluate("window.refused"),
        "plots": page.evaluate("document.querySelectorAll('.main-svg').length"),
    }
    page.close()
    return seen


@pytest.mark.browser
@pytest.mark.slow
def test_a_hostile_campaign_is_harmless_in_a_browser(made: report.Built, browser: Any) -> None:
    pages = sorted(made.html.parent.glob("*.html"))
    assert len(pages) == 6
    plots = 0
    for path in pages:
        seen = look(browser, path.as_uri())
        assert not seen["dialogs"], path
        assert seen["pwned"] is None, path
        assert seen["refused"] == [], path
        assert all(url.startswith(("file://", "data:", "blob:")) for url in seen["requests"]), seen["requests"]
        plots += seen["plots"]
    assert plots


@pytest.mark.browser
@pytest.mark.slow
def test_the_policy_of_the_pages_stops_what_might_get_into_them(
    made: report.Built, browser: Any, served: tuple[Path, str]
) -> None:
    folder, address = served
    shutil.copytree(made.html.parent, folder, dirs_exist_ok=True)
    (folder / "evil.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    there = look(browser, f"{address}/index.html")
    assert there["refused"] == []
    assert all(url.startswith((address, "data:", "blob:")) for url in there["requests"])
    other = address.replace("127.0.0.1", "localhost")
    injected = (
        f"{TAG}<a href=\"javascript:{RUN}\">x</a><img src='{other}/evil.svg'><script src='{other}/e.js'></script>"
    )
    page = (folder / "index.html").read_text().replace('<main id="text">', f"<main>{injected}")
    (folder / "index.html").write_text(page)
    seen = look(browser, f"{address}/index.html")
    assert seen["pwned"] is None
    assert not seen["dialogs"]
    assert len(seen["refused"]) >= 4
    assert not [url for url in seen["answered"] if url.startswith(other)]


def test_a_picture_keeps_shapes_alone() -> None:
    clean = cleaning.svg(SVG)
    assert "kept" in clean
    for word in ("script", "foreignObject", "onload", "onclick", "192.0.2.1", "/etc/", "javascript", SECRET):
        assert word not in clean
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><svg xmlns="http://www.w3.org/2000/svg"><text>&b;</text></svg>'
    assert cleaning.svg(bomb) == ""
    assert cleaning.svg("<html/>") == cleaning.svg("no picture") == ""


def test_a_figure_keeps_data_alone() -> None:
    clean = cleaning.figure(FIGURE)
    assert clean is not None
    text = json.dumps(clean)
    for word in ("plot.png", "<script", "<img", "<a ", "plotlyServerURL"):
        assert word not in text
    assert cleaning.figure(MAP) is None
    assert cleaning.figure({"data": 3}) is None
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    assert cleaning.figure({"data": [{"x": deep}], "layout": {}}) is None


def test_the_plain_word_for_a_file_that_is_no_notebook(tmp_path: Path) -> None:
    folder = hostile_campaign(tmp_path / "c")
    for text in (
        "",
        "[",
        "[1]",
        "{}",
        "[" * 100_000,
        '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": 3}',
    ):
        (folder / "notebooks" / "10-a.ipynb").write_text(text)
        with pytest.raises(ReportError, match=r"10-a\.ipynb cannot be read as a notebook"):
            report.build([folder], engine="plain")


@pytest.mark.slow
def test_quarto_reads_the_hostile_campaign_alike(tmp_path: Path, browser: Any) -> None:
    if obstacle := quarto.usable():
        pytest.skip(obstacle)
    built = report.build([hostile_campaign(tmp_path / "c")], engine="quarto")
    for path in sorted(built.html.parent.glob("*.html")):
        seen = look(browser, path.as_uri())
        assert not seen["dialogs"]
        assert seen["pwned"] is None
        assert all(url.startswith(("file://", "data:", "blob:")) for url in seen["requests"])
