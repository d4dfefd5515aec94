"""Campaign folders: made, found, logged, leased."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from labkit.errors import DataError, LaunchError
from labkit.io import project
from labkit.report import sources
from labkit.run.measuring import Progress
from labkit.store import lease, places
from labkit.store.campaign import HOME, Campaign, find
from labkit.suites.following import news
from tests.waiting import until

from .test_samples import small_samples


def test_a_saved_point_is_found_by_its_name_and_acknowledged(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "c")
    campaign.save(small_samples(), "0123456789abcdef")
    assert campaign.done() == {("mpi.allreduce", "0123456789abcdef", 1)}
    assert "saved samples/mpi.allreduce/0123456789abcdef-1.parquet" in (tmp_path / "c" / "log.txt").read_text()
    assert [s.launch for s in campaign.samples("mpi.allreduce")] == [1]
    assert list(campaign.samples("mpi.latency")) == []


def test_half_files_and_strangers_are_not_points(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path)
    folder = tmp_path / "samples" / "mpi.latency"
    folder.mkdir(parents=True)
    for name in (".0123456789abcdef-0.parquet.99", "notes.txt", "0123-0.parquet"):
        (folder / name).write_text("")
    assert campaign.done() == set()


def test_a_moved_campaign_is_the_same(tmp_path: Path) -> None:
    Campaign(tmp_path / "a", {"suite": "quick"}).save(small_samples(), "0" * 16)
    (tmp_path / "a").rename(tmp_path / "b")
    campaign = Campaign(tmp_path / "b")
    assert campaign.facts["suite"] == "quick"
    assert len(list(campaign.samples())) == 1


def test_campaigns_are_found_by_path_or_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME, str(tmp_path))
    Campaign(tmp_path / "one")
    assert find("one") == tmp_path / "one"
    assert find(tmp_path / "one") == tmp_path / "one"
    with pytest.raises(DataError, match=r"There is no campaign 'two'. There are: one"):
        find("two")
    with pytest.raises(DataError, match=r"no campaign 'two-cores'. Did you mean examples/two-cores\? There are"):
        find("two-cores")
    with pytest.raises(DataError, match=r"no campaign 'onne'. Did you mean one\? There are"):
        find("onne")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "out.txt").write_text("8 1.0")
    with pytest.raises(DataError, match=r"is a folder without a campaign.*labkit import "):
        find(tmp_path / "logs")


def test_a_command_names_a_campaign_by_what_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME, str(tmp_path / "all"))
    inside, below, apart = (tmp_path / name for name in ("all/one", "work/history/2026-11-28", "other/one"))
    for path in (inside, below, apart):
        Campaign(path)
    (tmp_path / "work").mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path / "work")
    example = project.CAMPAIGNS / "examples/two-cores"
    words = [places.word(path) for path in (inside, below, apart, example)]
    assert words == ["one", "history/2026-11-28", str(apart), "examples/two-cores"]
    assert [find(word).resolve() for word in words] == [path.resolve() for path in (inside, below, apart, example)]
    assert sources.read(below).view.argument == "history/2026-11-28"
    assert sources.read(apart).view.argument == "one", "no report shows where a machine keeps its files"
    Campaign(tmp_path / "work/one")
    assert places.word(inside) == str(inside), "its name alone means the one in the working folder"


def test_a_broken_campaign_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "campaign.json").write_text("{")
    with pytest.raises(DataError, match=r"campaign\.json cannot be read"):
        Campaign(tmp_path)
    (tmp_path / "campaign.json").write_text('{"format": 9}')
    with pytest.raises(DataError, match="has format 9, but this version of labkit reads 1"):
        Campaign(tmp_path)


def test_a_second_process_is_told_to_stop(tmp_path: Path) -> None:
    script = f"from labkit.store.campaign import Campaign\nwith Campaign({str(tmp_path)!r}).lease(): pass"
    with Campaign(tmp_path).lease():
        other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert "is in use: process" in other.stderr
        sharing = os.environ | lease.shared()
        child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=sharing, check=False)
        assert child.returncode == 0, "a process that was given the lease shares it"
        assert (tmp_path / "lease.json").exists()
    assert not (tmp_path / "lease.json").exists()
    assert lease.shared() == {lease.OWNER: ""}


def test_a_second_thread_is_told_to_stop_and_a_call_within_shares_the_lease(tmp_path: Path) -> None:
    refused: list[str] = []

    def measure() -> None:
        try:
            with Campaign(tmp_path).lease():
                pass
        except LaunchError as error:
            refused.append(str(error))

    with Campaign(tmp_path).lease(), Campaign(tmp_path).lease():
        thread = threading.Thread(target=measure)
        thread.start()
        thread.join()
        assert lease.holder(tmp_path), "the inner one has not ended"
    assert [text.partition(":")[0] for text in refused] == [f"{tmp_path} is in use"]
    assert not (tmp_path / "lease.json").exists()


@pytest.mark.parametrize(
    ("host", "age", "stale"),
    [("elsewhere", 0.0, False), ("elsewhere", 31.0, True), ("here", 0.0, True)],
    ids=["alive elsewhere", "three heartbeats missed", "dead on this host"],
)
def test_a_stale_lease_is_recognised(tmp_path: Path, host: str, age: float, stale: bool) -> None:
    campaign = Campaign(tmp_path)
    gone = subprocess.Popen(["true"])
    gone.wait()
    name = os.uname().nodename if host == "here" else host
    said = {"token": "x", "pid": gone.pid, "host": name, "start": "then", "heartbeat": time.time() - age}
    (tmp_path / "lease.json").write_text(json.dumps(said))
    os.utime(tmp_path / "lease.json", (time.time() - age,) * 2)
    if stale:
        with campaign.lease():
            assert json.loads((tmp_path / "lease.json").read_text())["pid"] == str(os.getpid())
    else:
        with pytest.raises(LaunchError, match="Wait, end that process, or choose another campaign"), campaign.lease():
            pass


def test_a_lease_is_ours_although_the_answer_was_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked_twice(source: Path, target: Path) -> None:
        link(source, target)
        link(source, target)

    link = os.link
    monkeypatch.setattr(lease.os, "link", asked_twice)
    with Campaign(tmp_path).lease():
        assert lease.holder(tmp_path)


def test_a_lease_that_was_put_away_is_taken_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "HEARTBEAT", 0.02)
    with Campaign(tmp_path).lease():
        (tmp_path / "lease.json").unlink()
        until(lambda: lease.holder(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["campaign.json"]


def test_following_tells_results_as_they_come_until_the_run_ends(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path)
    campaign.save(small_samples(), "0" * 16)
    with campaign.lease():
        messages = news(campaign, poll=0.01)
        assert "mpi.allreduce 4 B" in str(next(messages))
        progress = Progress(1, 3, "mpi.allreduce 8 B", 1.0, 2.0)
        (tmp_path / "progress.json").write_text(json.dumps(dataclasses.asdict(progress)))
        assert next(messages) == progress
        campaign.tell("failed", what="mpi.allreduce 8 B launch 0", reason="wrong bytes")
        assert next(messages) == "failed mpi.allreduce 8 B launch 0: wrong bytes"
    campaign.save(small_samples(launch=2), "0" * 16)
    assert [str(one).split(":")[0] for one in messages] == ["mpi.allreduce 4 B, launch 3"]


def test_the_root_is_no_folder_for_a_campaign(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/")
    for path in (Path("/"), tmp_path / "link", Path("/tmp/..")):
        with pytest.raises(DataError, match=r"is the root of the file system.*Name another folder"):
            Campaign(path)
    assert not Path("/campaign.json").exists()
