"""A report that would be the same stays; whatever it is made from, a change of it makes it anew."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

import labkit
from labkit import report
from labkit.figures import static
from labkit.io import file_state, folders, project, scratch
from labkit.report import build_cache, painting, sources
from labkit.report.stage import stage
from labkit.store import derived, samples
from tests.test_report import SVG, make_campaign, pages

SAID = "nothing has changed since this report was made"
opened: list[str] | None = None  # files that were opened for reading, while someone looks


def _see(event: str, arguments: tuple[object, ...]) -> None:
    """Note a file that is opened for reading."""
    if opened is not None and event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
        mode = arguments[1]
        if not (isinstance(mode, str) and set(mode) & set("wax+")):
            opened.append(str(Path(os.fsdecode(arguments[0])).resolve()))


@pytest.fixture(autouse=True)
def drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser draws the same of every figure."""
    monkeypatch.setattr(painting, "svgs", lambda specs: [SVG for _ in specs])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_campaign(tmp_path_factory.mktemp("campaigns") / "synthetic")


@pytest.fixture
def campaign(made: Path, tmp_path: Path) -> Path:
    """A campaign that a test may change."""
    return Path(shutil.copytree(made, tmp_path / "synthetic"))


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of the user with a chapter, and a copy of labkit's sources."""
    folder = project.init(tmp_path / "project").folder
    monkeypatch.setenv(project.PROJECT, str(folder))
    (folder / project.REPORT / "site.qmd").write_text("# Site {#sec-site}\n")
    package = tmp_path / "labkit"
    package.mkdir()
    (package / "__init__.py").write_text("__version__ = '1'\n")
    monkeypatch.setattr(labkit, "__file__", str(package / "__init__.py"))
    return folder


def fingerprint(campaign: Path, **options: str) -> str:
    return build_cache.fingerprint([campaign], options)


def one_sample(campaign: Path) -> Path:
    return min((campaign / "samples").rglob("*.parquet"))


def same_size_and_time(file: Path) -> None:
    """Change a byte, and set the time of the last change back."""
    state = file.stat()
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))


def append(name: str) -> Callable[[Path, Path], None]:
    def changed(campaign: Path, mine: Path) -> None:
        file = {"campaign": campaign, "project": mine, "labkit": mine.parent / "labkit"}[name.partition("/")[0]]
        path = file / name.partition("/")[2]
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as stream:
            stream.write("\n")

    return changed


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda c, _: same_size_and_time(one_sample(c)), id="a sample, with size and time as before"),
        pytest.param(lambda c, _: one_sample(c).unlink(), id="a sample that is gone"),
        pytest.param(lambda c, _: shutil.copy(one_sample(c), one_sample(c).with_name("z.parquet")), id="one more"),
        pytest.param(append("campaign/campaign.json"), id="facts of the campaign"),
        pytest.param(append("campaign/log.txt"), id="the log"),
        pytest.param(append("campaign/notebooks/10-latency.ipynb"), id="an executed notebook"),
        pytest.param(append("project/report/site.qmd"), id="a chapter of the user"),
        pytest.param(append("project/report/book.yml"), id="the settings"),
        pytest.param(append("project/notebooks/10-latency.ipynb"), id="a notebook of the project"),
        pytest.param(append("project/data/reference/own-2026.toml"), id="published numbers of the project"),
        pytest.param(append("project/data/peers/own.toml"), id="values of other systems"),
        pytest.param(append("labkit/__init__.py"), id="the version of labkit"),
        pytest.param(lambda *_: None, id="the browser"),
    ],
)
def test_whatever_changes_shows(
    campaign: Path,
    mine: Path,
    change: Callable[[Path, Path], None],
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = fingerprint(campaign)
    assert fingerprint(campaign) == before
    change(campaign, mine)
    if "browser" in request.node.callspec.id:
        monkeypatch.setattr(static, "browser_identity", lambda: "another browser")
    assert fingerprint(campaign) != before


def test_options_count_and_results_do_not(campaign: Path) -> None:
    before = fingerprint(campaign, style="report")
    assert fingerprint(campaign, style="letter") != before
    for name in ("report", "records", "exports"):
        (campaign / name).mkdir()
        (campaign / name / "file").write_text("")
    (campaign / "lease.json").write_text("{}")
    assert fingerprint(campaign, style="report") == before


def test_other_environments_and_the_start_page_do_not_count(campaign: Path, mine: Path, tmp_path: Path) -> None:
    before = fingerprint(campaign)
    os.link(mine.parent / "labkit" / "__init__.py", tmp_path / "linked.py")  # as uv does for the next environment
    (mine / "notebooks" / "_start").mkdir()
    (mine / "notebooks" / "_start" / "start.md").write_text("# labkit\n")
    assert fingerprint(campaign) == before


def test_a_link_to_a_folder_is_never_the_same(campaign: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (campaign / "notebooks" / "more").symlink_to(tmp_path / "elsewhere")
    (campaign / "notebooks" / "nowhere").symlink_to(tmp_path / "nowhere")
    assert fingerprint(campaign) != fingerprint(campaign)


@pytest.mark.slow
def test_an_unchanged_report_stays_and_a_changed_sample_makes_it_anew(campaign: Path) -> None:
    said: list[str] = []
    first = report.build([campaign], engine="plain", progress=said.append)
    assert SAID not in said
    state = first.html.stat()
    again = report.build([campaign], engine="plain", progress=said.append)
    assert said.pop() == SAID
    assert again == first
    assert again.html.stat() == state
    facts = json.loads((campaign / "campaign.json").read_text()) | {"title": "Another title"}
    (campaign / "campaign.json").write_text(json.dumps(facts))
    file = one_sample(campaign)
    one = samples.load(file)
    samples.save(dataclasses.replace(one, time_ns=one.time_ns * 50), file)
    numbers = (campaign / "report" / "key-numbers.json").read_text()
    anew = report.build([campaign], engine="plain", progress=said.append)
    assert SAID not in said
    assert "Another title" in pages(anew)["index.html"].text
    assert (campaign / "report" / "key-numbers.json").read_text() != numbers


@pytest.mark.slow
def test_a_report_of_several_campaigns_has_a_folder_of_its_own(campaign: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(campaign, tmp_path / "after"))
    both = [sources.read(campaign), sources.read(other)]
    names = [derived.report("supplement"), derived.report("supplement", [other])]
    assert names == ["report-supplement", "report-supplement+after"]
    alone, shared = (campaign / name for name in names)
    stage(both[:1], style="supplement", engine="plain", folder=alone)
    before = list(file_state.states_of(alone))
    stage(both, style="supplement", engine="plain", folder=shared)
    named = "report-supplement+after/data/"
    assert any(named in path.read_text() for path in shared.glob("*.qmd")), "the command to check sums names the folder"
    assert list(file_state.states_of(alone)) == before, "the report of one campaign stays as it is"
    assert not (other / "report").exists()
    state = fingerprint(campaign)
    (shared / "key-numbers.json").write_text("[]")
    assert fingerprint(campaign) == state, "reports are not inputs of a report"


@pytest.mark.slow
def test_a_notebook_that_comes_while_a_report_is_made_is_in_the_next_one(
    campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebooks = sorted((campaign / "notebooks").glob("*.ipynb"))

    def slow(specs: list[object]) -> list[str]:
        shutil.copy(notebooks[0], campaign / "notebooks" / "99-late.ipynb")
        return [SVG for _ in specs]

    monkeypatch.setattr(painting, "svgs", slow)
    state = fingerprint(campaign)
    made, _ = stage([sources.read(campaign)], style="report", engine="plain", folder=tmp_path / "one")
    assert not (made.folder / "99-late.ipynb").exists()
    assert fingerprint(campaign) != state
    made, _ = stage([sources.read(campaign)], style="report", engine="plain", folder=tmp_path / "two")
    assert (made.folder / "99-late.ipynb").exists()


@pytest.mark.slow
def test_a_report_that_was_touched_is_made_anew(campaign: Path) -> None:
    built = report.build([campaign], engine="plain")
    text = built.html.read_text()
    assert built.pdf

    def changed() -> None:
        built.html.write_text("changed")

    def broken() -> None:
        (campaign / "report" / build_cache.FILE).write_text("[")

    def emptied() -> None:
        shutil.rmtree(campaign / "report" / "html")

    for damage in (changed, broken, emptied, built.pdf.unlink, lambda: shutil.rmtree(campaign / "report")):
        damage()
        said: list[str] = []
        assert report.build([campaign], engine="plain", progress=said.append).html.read_text() == text
        assert SAID not in said
        assert built.pdf.is_file()


@pytest.mark.slow
@pytest.mark.parametrize("style", ["report", "survey", "slides"])
def test_a_report_reads_only_what_its_fingerprint_covers(campaign: Path, style: str) -> None:
    global opened
    built = report.build([campaign], engine="plain", style=style)  # imports what it needs
    (built.html.parents[1] / build_cache.FILE).unlink()
    sys.addaudithook(_see)
    opened = []
    try:
        report.build([campaign], engine="plain", style=style)
        read = {Path(name) for name in opened}
    finally:
        opened = None
    sources = [Path(labkit.__file__).parent, *build_cache._sources()]
    covered = {Path(state[0]) for folder in sources for state in file_state.states_of(folder)}
    covered |= {Path(state[0]) for state in file_state.states_of(campaign, build_cache._is_input(campaign))}
    assert one_sample(campaign) in read & covered
    system = (*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix, "/usr", "/etc", "/proc", "/sys", "/dev")
    own = [
        *campaign.glob("report*"),
        campaign / "records",
    ]  # a paper has a supplement; records are kept between reports
    known = [folders.cache(), folders.state(), *own, *map(Path, system)]
    beyond = [one for one in read - covered if one.is_file() and not any(map(one.is_relative_to, known))]
    beyond = [one for one in beyond if one.name != scratch.OWNER]  # of other processes, which may have been killed
    assert not beyond
