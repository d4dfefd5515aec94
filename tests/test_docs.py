"""The documentation: every link leads somewhere, in the repository and on the site, which needs no network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

import labkit
from labkit.errors import known_failures

ROOT = Path(__file__).resolve().parents[1]
TOP = ("README.md", "CONTRIBUTING.md", "RELEASING.md", "SECURITY.md", "CHANGELOG.md")
PAGES = [*(ROOT / name for name in TOP), *sorted((ROOT / "docs").glob("*.md"))]
ENVIRONMENT = ROOT / ".venv-docs"
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}  # without a click


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    numbers: dict[str, int] = {}
    for heading in re.findall(r"^#+ +(.*?)\s*$", text, re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).lower()).replace(" ", "-")
        numbers[plain] = numbers.get(plain, -1) + 1
    return {f"{name}-{n}" if n else name for name, last in numbers.items() for n in range(last + 1)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```|^    .*?$|`[^`\n]*`", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(file), f"{page.name}: {target}"


def test_each_message_of_the_page_on_failures_is_one_that_labkit_prints_or_knows() -> None:
    page = (ROOT / "docs/troubleshooting.md").read_text()
    table = page.partition("## Frequent reasons")[2].partition("##")[0]
    messages = [
        one for row in re.findall(r"^\| (`.*?`) \| ", table, re.MULTILINE) for one in re.findall(r"`(.*?)`", row)
    ]
    assert len(messages) >= 12
    source = "".join(path.read_text() for path in (ROOT / "labkit").rglob("*.py"))
    source = re.sub(r'"\n\s*f?"', "", source)  # a message over two lines
    for message in messages:
        parts = [part.strip() for part in message.split("…") if len(part.strip()) > 5]
        assert known_failures.known(message) or all(part in source for part in parts), message


def test_each_version_in_the_changelog_is_a_page_at_most() -> None:
    title, *versions = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert title.startswith("# Changelog")
    assert [one.partition("\n")[0] for one in versions if len(one.splitlines()) > 120 or not one.startswith("[")] == []
    begins = Counter(line[:40] for one in versions for line in one.splitlines() if line.startswith("- "))
    assert [begin for begin, count in begins.items() if count > 1] == [], "a merge keeps both versions of a line"


class Links(HTMLParser):
    """Identifiers of a page, its links, and what it loads."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        self.ids |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if (where := LOADED.get(tag)) and where in values and not values[where].startswith("data:"):
            self.loaded.append(values[where])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site that `make docs` builds; its own warnings, such as an unknown reference, are errors."""
    if not (ENVIRONMENT / "bin" / "sphinx-build").exists():
        words = ["packages", ENVIRONMENT.name, "requirements.lock", "templates/setup/docs.lock"]
        subprocess.run(["templates/setup/python.sh", *words], cwd=ROOT, check=True, capture_output=True)
    folder = tmp_path_factory.mktemp("site") / "docs"
    command = [ENVIRONMENT / "bin" / "python", "templates/setup/docs/build.py", folder]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | {
        "PYTHONPATH": str(ROOT)
    }
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.mark.slow
def test_the_site_has_every_page_and_public_name_and_no_broken_link(site: Path) -> None:
    pages = {path.resolve(): Links(path) for path in site.glob("*.html")}
    wanted = {page.stem for page in PAGES if page.name != "README.md"} | {"index", "api", "search"}
    assert wanted <= {path.stem for path in pages}
    for path, page in pages.items():
        assert not [one for one in page.loaded if "://" in one or one.startswith("//")], f"{path.name} asks a server"
        for target in [*page.links, *page.loaded]:
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = unquote(target).partition("#")
            file = (path.parent / name.partition("?")[0]).resolve() if name else path
            assert file.exists(), f"{path.name}: {target}"
            if anchor and file in pages and file.stem not in ("search", "genindex"):
                assert anchor in pages[file].ids, f"{path.name}: {target}"
    ids = pages[(site / "api.html").resolve()].ids
    for name in labkit.__all__:
        assert any(one.startswith("labkit.") and one.endswith(f".{name}") for one in ids), name


@pytest.mark.slow
@pytest.mark.browser
def test_the_site_can_be_searched_without_a_server(site: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{(site / 'search.html').as_uri()}?q=incast")
        page.wait_for_selector("#search-results li a", timeout=240_000)
        assert "Congestion" in page.inner_text("#search-results")
        assert asked
        assert all(url.startswith("file:") for url in asked)
        browser.close()
