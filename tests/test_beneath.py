"""Links in a campaign: no command writes or deletes through one; each refuses with one sentence."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from labkit.apps.cli import main
from labkit.errors import DataError, LostError, ReportError
from labkit.io import atomic, beneath, supervise
from labkit.point.spec import Spec
from labkit.store import archive
from labkit.store.campaign import Campaign
from labkit.suites import notebooks
from labkit.tuning import files, osu
from tests.test_samples import small_samples
from tests.test_store import filled
from tests.waiting import answers, jupyter, until

OSU = "# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n8   1.50\n"
FILES = (
    "campaign.json",
    "log.txt",
    "events.jsonl",
    "lease.json",
    "progress.json",
    "explorer.json",
    "records.parquet",
)
FOLDERS = ("samples", "samples/mpi.allreduce", "starts", "jobs", "notebooks", "records")
VERBS = ("measure", "import", "compact", "merge", "run")


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign, another one, an archive to merge, and files to import and run."""
    top = tmp_path_factory.mktemp("master")
    for name in ("c", "victim"):
        campaign = filled(top / name, 3)
        for folder in FOLDERS:
            (campaign.path / folder).mkdir(exist_ok=True)
        (campaign.path / "jobs" / "left-out.txt").write_text("n1\tslow\n")
    archive.export(filled(top / "source", 2).path, top / "source.zip")
    (top / "osu.txt").write_text(OSU)
    (top / "one.toml").write_text('[[notebook]]\nname = "10-latency"\n')
    return top


def words(verb: str, top: Path) -> list[str]:
    into = ["--into", str(top / "c")]
    return {
        "measure": ["measure", "micro.clock", "-i", "3", "--launches", "1", *into],
        "import": ["import", str(top / "osu.txt"), *into],
        "compact": ["compact", str(top / "c")],
        "merge": ["merge", str(top / "source.zip"), *into],
        "run": ["run", str(top / "one.toml"), *into],
    }[verb]


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def planted(campaign: Path, name: str, kind: str) -> None:
    """Replace a file or folder of a campaign by a link to the victim's, or to a missing file."""
    path, target = campaign / name, campaign.parent / "victim" / name
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if not target.exists() and kind != "dangling":
        target.write_text("{}\n")
    if kind == "hard link":
        path.hardlink_to(target)
    else:
        path.symlink_to(campaign.parent / "nowhere" if kind == "dangling" else target)


CASES = [
    *((name, kind) for name in FILES if name != "campaign.json" for kind in ("link", "dangling")),
    ("campaign.json", "link"),
    ("log.txt", "hard link"),
    ("events.jsonl", "hard link"),
    *((name, kind) for name in FOLDERS for kind in ("link", "dangling")),
    ("samples/mpi.allreduce/FIRST", "link"),
]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("name", "kind"),
    [pytest.param(*case, marks=pytest.mark.slow if number % 5 else ()) for number, case in enumerate(CASES)],
    ids=lambda value: str(value).replace("/", "-"),
)
def test_a_command_refuses_a_link_and_leaves_its_target_alone(
    verb: str, name: str, kind: str, master: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(master, top := tmp_path / "top")
    if name.endswith("FIRST"):
        name = min(
            path.relative_to(top / "c").as_posix() for path in (top / "c").glob("samples/mpi.allreduce/*.parquet")
        )
    planted(top / "c", name, kind)
    before = content(top / "victim")
    assert main(words(verb, top)) == 1
    said = capsys.readouterr().err
    assert f"{name} is a {'hard link' if kind == 'hard link' else 'link'}, so labkit would write outside" in said
    assert content(top / "victim") == before
    assert not (top / "nowhere").exists()


SWAPS: dict[str, Callable[[Campaign], object]] = {
    "log.txt": lambda campaign: campaign.log("line"),
    "events.jsonl": lambda campaign: campaign.tell("heartbeat", done=1, total=2, label=""),
    "progress.json": lambda campaign: campaign.put("progress.json", "{}"),
    "campaign.json": lambda campaign: campaign.update({"title": "t"}),
    "samples": lambda campaign: campaign.save(small_samples(), "0" * 16),
    "samples/mpi.allreduce": lambda campaign: campaign.compact(),
    "jobs": lambda campaign: campaign.put("jobs/1.json", "{}"),
}


@pytest.mark.parametrize("name", SWAPS)
def test_a_link_that_appears_during_a_run_is_refused(name: str, master: Path, tmp_path: Path) -> None:
    shutil.copytree(master, top := tmp_path / "top")
    campaign = Campaign(top / "c")
    with campaign.lease():
        planted(top / "c", name, "link")
        before = content(top / "victim")
        with pytest.raises(DataError, match=r"is a link, so labkit would write outside of its folder\."):
            SWAPS[name](campaign)
    assert content(top / "victim") == before


def test_folders_that_are_swapped_all_the_time_lead_nowhere_else(tmp_path: Path) -> None:
    campaign, victim = Campaign(tmp_path / "c"), tmp_path / "victim"
    victim.mkdir()
    real, kept = campaign.path / "notebooks", tmp_path / "kept"
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            shutil.rmtree(kept, ignore_errors=True)
            with suppress(OSError):
                real.rename(kept)
            with suppress(OSError):  # the other thread was faster
                real.symlink_to(victim)
                real.unlink()

    thread = threading.Thread(target=swap)
    thread.start()
    outcomes = set()
    try:
        for number in range(2000):
            try:
                campaign.put(f"notebooks/{number % 7}.txt", "text")
                beneath.append(campaign.path, "notebooks/lines", b"line\n")
                campaign.drop(f"notebooks/{number % 7}.txt")
                outcomes.add("written")
            except (DataError, LostError, OSError):  # a link, or a folder that was deleted
                outcomes.add("refused")
    finally:
        ended.set()
        thread.join()
    assert "written" in outcomes
    assert list(victim.iterdir()) == []


def test_a_campaign_that_is_reached_through_a_link_is_written(master: Path, tmp_path: Path) -> None:
    shutil.copytree(master, top := tmp_path / "top")
    (top / "c").rename(top / "real")
    (top / "c").symlink_to(top / "real")
    assert main(words("compact", top)) == main(words("import", top)) == 0
    assert (top / "real" / "samples" / "mpi.latency").is_dir()


@pytest.mark.parametrize("kind", ["link", "dangling"])
def test_a_submission_writes_through_no_link(
    kind: str, master: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(master, top := tmp_path / "top")
    planted(top / "c", "jobs", kind)
    before = content(top / "victim")
    (top / "bin").mkdir()
    for name in ("sbatch", "sinfo", "scontrol", "squeue"):
        (top / "bin" / name).write_text("#!/bin/sh\necho 7\n")
        (top / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{top / 'bin'}:{os.environ['PATH']}")
    assert main(["submit", str(top / "one.toml"), "--into", str(top / "c"), "--nodes", "1"]) == 1
    assert content(top / "victim") == before
    assert not (top / "nowhere").exists()


def test_figures_are_added_to_no_notebook_behind_a_link(master: Path, tmp_path: Path) -> None:
    shutil.copytree(master, top := tmp_path / "top")
    path = top / "victim" / "notebooks" / "a.ipynb"
    path.write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    planted(top / "c", "notebooks", "link")
    before = content(top / "victim")
    with pytest.raises(DataError, match="is a link"):
        notebooks.add_static_figures([top / "c" / "notebooks" / "a.ipynb"])
    assert content(top / "victim") == before


ELSEWHERE = (
    *FILES[1:],
    *FOLDERS,
    "exports",
    "report",
    "tune",
    "proof",
    "nightly.jsonl",
    "out.zip",
    "out.csv",
)
CLAUSE = '[[clause]]\nname = "a"\nbenchmark = "*"\nstatistic = "latency_us_p50"\nrelation = "<="\nbound = 1\n'
# verbs that read a campaign, or write beside its samples
OTHERS = {
    "verify": ["verify", "CAMPAIGN"],
    "show": ["show", "CAMPAIGN", "--output", "CAMPAIGN/out.csv", "--format", "csv"],
    "compare": ["compare", "CAMPAIGN", "VICTIM"],
    "explain": ["explain", "CAMPAIGN"],
    "lint": ["lint", "CAMPAIGN"],
    "gate": ["gate", "CAMPAIGN", "--contract", "terms.toml", "--log", "CAMPAIGN/nightly.jsonl"],
    "plan": ["gate", "CAMPAIGN", "--contract", "terms.toml", "--plan"],
    "export": ["export", "CAMPAIGN", "--output", "CAMPAIGN/out.zip"],
    "status": ["status", "CAMPAIGN"],
    "attach": ["attach", "CAMPAIGN"],
    "cancel": ["cancel", "CAMPAIGN"],
    "report": ["report", "CAMPAIGN", "--engine", "plain", "--no-execute"],
    "acceptance": ["report", "CAMPAIGN", "--style", "acceptance", "--contract", "terms.toml", "--engine", "plain"],
}


_LONG = ("acceptance", "plan")


@pytest.mark.parametrize(
    "verb", [pytest.param(verb, marks=pytest.mark.slow) if verb in _LONG else verb for verb in OTHERS]
)
def test_other_commands_leave_alone_what_every_link_leads_to(
    verb: str, master: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every name in the folder is a link; then a few are dangling links, for an earlier one may stop the command."""

    def refused(book: object) -> None:
        raise ReportError("enough")

    monkeypatch.setattr("labkit.report.check.check", refused)  # the rest makes no new kinds of files
    monkeypatch.setenv("LABKIT_CAMPAIGNS", str(tmp_path / "campaigns"))
    (tmp_path / "terms.toml").write_text(CLAUSE)
    monkeypatch.chdir(tmp_path)
    few = ("records", "exports", "nightly.jsonl", "out.zip", "out.csv")
    for names, kind in ((ELSEWHERE, "link"), (few, "dangling")):
        shutil.copytree(master, top := tmp_path / kind)
        for name in names:
            if (top / "c" / name).parent.is_dir() and not (top / "c" / name).parent.is_symlink():
                planted(top / "c", name, kind)
        before = content(top / "victim")
        places = {"CAMPAIGN": str(top / "c"), "VICTIM": str(top / "victim")}
        given = [
            word.replace("CAMPAIGN", places["CAMPAIGN"]).replace("VICTIM", places["VICTIM"]) for word in OTHERS[verb]
        ]
        assert main(given) in (0, 1, 2, 3)
        assert content(top / "victim") == before
        assert not (top / "nowhere").exists()


def test_tune_writes_through_no_link(master: Path, tmp_path: Path) -> None:
    shutil.copytree(master, top := tmp_path / "top")
    (top / "victim" / "tune").mkdir()
    (top / "victim" / "tune" / files.RULES).write_text("theirs\n")
    folder, base = top / "c" / "tune", Spec(benchmark="mpi.allreduce")
    files.check(folder, base, within=top / "c")
    files._put(folder, top / "c", {files.RULES: "one\n"})
    (folder / files.RULES).unlink()
    (folder / files.RULES).symlink_to(top / "victim" / "tune" / files.RULES)
    for write in (
        lambda: files.check(folder, base, within=top / "c"),
        lambda: files._put(folder, top / "c", {files.RULES: "two\n"}),
    ):
        with pytest.raises(DataError, match=f"{files.RULES} is a link"):
            write()
    shutil.rmtree(folder)
    folder.symlink_to(top / "victim" / "tune")
    for write in (
        lambda: files.check(folder, base, within=top / "c"),
        lambda: files._put(folder, top / "c", {}),
        lambda: files._put(folder, top / "c", {files.PARAMETERS: "two\n"}),
    ):
        with pytest.raises(DataError, match="tune is a link"):
            write()
    (top / "c" / osu.FOLDER).symlink_to(top / "victim")
    with pytest.raises(DataError, match="proof is a link"):
        Campaign(top / "c").put(f"{osu.FOLDER}/0/a.txt", "text")
    assert content(top / "victim" / "tune") == {files.RULES: b"theirs\n"}


def test_an_output_that_the_user_links_elsewhere_is_followed(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to(tmp_path / "target")
    atomic.text(tmp_path / "out", "text")
    assert (tmp_path / "target").read_text() == "text"


@pytest.mark.parametrize("name", ["..", "a/../../b", "/etc"])
def test_a_name_never_leads_up(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="leads out of its folder"):
        beneath.put(tmp_path, f"{name}/file", "text")


def _linked(top: Path, name: str) -> tuple[Path, dict[str, bytes]]:
    """Return a campaign in which almost everything is a link to another one's, and the content of that one."""
    for one in (*FILES[1:], "samples", "starts", "jobs", "notebooks", "records"):
        planted(top / name, one, "link")
    return top / name, content(top / "victim")


def _got(address: str) -> str:
    """What a server answers, which may write its address before it listens."""
    until(lambda: answers(address))
    with urllib.request.urlopen(address, timeout=60) as answer:
        return str(answer.read().decode())


@pytest.mark.slow
def test_the_explorer_leaves_targets_of_links_alone(master: Path, tmp_path: Path) -> None:
    """It reads a campaign, may keep what it worked out, and serves a page."""
    shutil.copytree(master, top := tmp_path / "top")
    folder, before = _linked(top, "c")
    words = [sys.executable, "-m", "labkit", "explore", str(folder), "--no-browser"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as server:
        lines = iter(server.stderr or ())
        address = next(line.strip() for line in lines if "http://" in line)
        assert any("ready after" in line for line in lines)
        assert "labkit" in _got(address)
        server.terminate()
        server.communicate(timeout=60)
    assert content(top / "victim") == before


@pytest.mark.slow
def test_the_lab_leaves_targets_of_links_alone(master: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its start page lists campaigns, and its server shows their files."""
    pytest.importorskip("jupyterlab")
    project = tmp_path / "project"
    assert main(["init", str(project)]) == 0
    campaigns = project / "data" / "campaigns"
    shutil.copytree(master, campaigns, dirs_exist_ok=True)
    _, before = _linked(campaigns, "c")
    for name in ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("LABKIT_PROJECT", str(project))
    monkeypatch.setenv("JUPYTER_TOKEN", "secret")
    words = [sys.executable, "-m", "labkit", "lab", "--no-browser", "--port=0"]
    with supervise.start(words, stdout=supervise.DEVNULL, grace=8.0) as server:
        url = jupyter(tmp_path / "jupyter_runtime_dir", server)
        assert "jupyter" in _got(f"{url}lab?token=secret")
        assert "start" in _got(f"{url}api/contents?token=secret")
    assert content(campaigns / "victim") == before
