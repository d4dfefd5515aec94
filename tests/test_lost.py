"""A campaign that is moved, replaced, deleted or made read-only while a run measures into it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.apps.cli import main
from labkit.errors import DataError, LostError
from labkit.store import samples
from labkit.store.campaign import HOME, Campaign, fresh
from tests.waiting import until

from . import made
from .test_store import filled

WORDS = ["measure", "micro.clock", "--launches", "400", "-i", "1000"]


def measured(folder: Path, fault: Callable[[Path], None], *words: str) -> tuple[int, str]:
    """A run that something happens to once it has saved two points: exit status, and what it said."""
    into = folder / "c"
    command = [sys.executable, "-m", "labkit", *WORDS, "--into", str(into), *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        until(lambda: len(list(into.glob("samples/*/[0-9a-f]*.parquet"))) > 1, runs=process, each=0.01)
        fault(into)
        _, said = process.communicate(timeout=240)
    finally:
        process.kill()
        process.wait()
    return process.returncode, said


def points(folder: Path) -> int:
    return len(Campaign.existing(folder).done())


@pytest.mark.slow
def test_a_campaign_that_is_renamed_stops_the_run_and_keeps_all_in_one_folder(tmp_path: Path) -> None:
    status, said = measured(tmp_path, lambda into: into.rename(tmp_path / "moved"))
    assert status == 1
    assert f"{tmp_path}/c was moved to {tmp_path}/moved during a run" in said
    assert "Go on with: --into" in said
    assert "Traceback" not in said
    assert not (tmp_path / "c").exists(), "no second folder"
    log = (tmp_path / "moved" / "log.txt").read_text()
    assert points(tmp_path / "moved") == log.count(" saved ") >= 2


def test_a_move_while_a_point_is_saved_loses_nothing_and_is_noticed_at_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign, encoded = Campaign(tmp_path / "c"), samples.encoded

    def moved(point: samples.Samples) -> bytes:
        (tmp_path / "c").rename(tmp_path / "moved")
        return encoded(point)

    with campaign.lease():
        monkeypatch.setattr(samples, "encoded", moved)
        campaign.save(made.samples("mpi.latency", [1, 2]), "0" * 16)
        with pytest.raises(LostError, match="was moved to"):
            campaign.save(made.samples("mpi.latency", [1, 2]), "1" * 16)
    assert points(tmp_path / "moved") == (tmp_path / "moved" / "log.txt").read_text().count(" saved ") == 1


@pytest.mark.slow
def test_a_campaign_that_is_replaced_stops_the_run(tmp_path: Path) -> None:
    def replace(into: Path) -> None:
        other = filled(tmp_path / "other", 1)
        into.rename(tmp_path / "moved")
        other.path.rename(into)

    status, said = measured(tmp_path, replace)
    assert status == 1
    assert "Another folder has its name now. labkit wrote nothing to it" in said
    assert "Traceback" not in said
    assert {name for name, _, _ in Campaign(tmp_path / "c").done()} == {"mpi.allreduce"}, "the stranger is as it was"
    assert points(tmp_path / "moved") >= 2


@pytest.mark.slow
def test_a_campaign_that_is_deleted_stops_the_run(tmp_path: Path) -> None:
    def delete(into: Path) -> None:
        into.rename(tmp_path / "gone")
        for _ in range(2):  # the point in flight may still come
            shutil.rmtree(tmp_path / "gone", ignore_errors=True)

    status, said = measured(tmp_path, delete)
    assert status == 1
    assert "Traceback" not in said
    assert "was deleted" in said or "was moved" in said
    assert not (tmp_path / "c").exists()


@pytest.mark.slow
def test_a_campaign_that_becomes_read_only_stops_the_run(tmp_path: Path) -> None:
    """On a file system of its own that is mounted read-only meanwhile, for root may write everywhere else."""
    script = f'mkdir {tmp_path}/fs && mount -t tmpfs labkit {tmp_path}/fs && exec "$@"'
    code = (
        "import subprocess, sys, time, pathlib\n"
        f"into = pathlib.Path({str(tmp_path)!r}) / 'fs' / 'c'\n"
        f"run = subprocess.Popen([sys.executable, '-m', 'labkit', *{WORDS!r}, '--into', str(into)])\n"
        "while len(list(into.glob('samples/*/[0-9a-f]*.parquet'))) < 2 and run.poll() is None: time.sleep(0.01)\n"
        "while subprocess.run(['mount', '-o', 'remount,ro', into.parent], stderr=subprocess.DEVNULL).returncode:\n"
        "    time.sleep(0.01)\n"
        "status = run.wait(240)\n"
        "print('points', len(list(into.glob('samples/*/[0-9a-f]*.parquet'))))\n"
        "sys.exit(status)"
    )
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    command = ["unshare", *user, "--mount", "sh", "-c", script, "sh", sys.executable, "-c", code]
    if subprocess.run(["unshare", *user, "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mount namespace can be made here")
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 1, done.stderr
    assert "c cannot be written: Read-only file system. All points saved so far are kept in it" in done.stderr
    assert "Traceback" not in done.stderr
    assert int(done.stdout.split()[-1]) >= 2


def test_a_notebook_never_begins_a_second_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from labkit.studies import Given
    from labkit.studies.latency import Study

    campaign = Campaign(tmp_path / "c")
    for name, value in Given.by(campaign).variables().items():
        monkeypatch.setenv(name, value)
    assert Study(measure=False).campaign.identity == campaign.identity
    campaign.path.rename(tmp_path / "moved")
    with pytest.raises(LostError, match="is gone: someone moved or deleted the campaign"):
        _ = Study(measure=False).campaign
    Campaign(tmp_path / "c")
    with pytest.raises(LostError, match="is now another campaign"):
        _ = Study(measure=False).campaign


def test_a_folder_that_cannot_be_written_is_named_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["measure", "micro.clock", "--launches", "1", "--into", str(tmp_path / "file" / "c")]) == 1
    said = capsys.readouterr().err
    assert "Not a directory" in said
    assert "Traceback" not in said


def test_two_folders_in_one_second_are_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME, str(tmp_path / "campaigns"))
    folders: list[Path] = []
    threads = [threading.Thread(target=lambda: folders.append(fresh("measure"))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(folders)) == 20
    assert all(path.is_dir() for path in folders)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(HOME, str(tmp_path / "file"))
    with pytest.raises(DataError, match="cannot be created"):
        fresh("measure")


def test_two_processes_that_make_a_campaign_agree_on_its_identity(tmp_path: Path) -> None:
    identities: list[str] = []
    threads = [threading.Thread(target=lambda: identities.append(Campaign(tmp_path / "c").identity)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(identities)) == 1
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["campaign.json"]
