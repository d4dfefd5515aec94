"""Events of a campaign: one writer, one reader, bounded."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit import suites
from labkit.apps.jobs.summary import summary
from labkit.errors import DataError, LaunchError
from labkit.point.spec import Spec
from labkit.store import archive, events, merging
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples

from . import made


def point(launch: int = 0) -> Samples:
    """A launch of a point."""
    spec = Spec(benchmark="mpi.latency", size=8, ranks=2)
    return made.samples(spec, np.full(20, 2000), launch=launch, meta={"fingerprint": "a" * 16})


def kinds(campaign: Campaign) -> list[str]:
    """Kinds of all events."""
    return [one.kind for one in events.read(campaign.path)]


def test_what_is_told_is_read_and_stands_in_the_log_for_people(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "c")
    campaign.save(point(), "a" * 16)
    error = LaunchError("the ranks ended", command=["mpirun", "x"], exit_status=7, stderr="far\n" * 9999 + "end")
    campaign.tell("failed", what="mpi.latency 8 B launch 1", **error.facts())
    campaign.tell("heartbeat", done=1, total=2, label="mpi.latency 8 B")
    saved, failed, beat = events.read(campaign.path)
    assert (saved.kind, saved["file"]) == ("saved", f"samples/mpi.latency/{'a' * 16}-0.parquet")
    assert (failed["reason"], failed["command"], failed["exit_status"]) == (error.brief, ["mpirun", "x"], 7)
    assert failed["stderr"].endswith("end")
    assert (beat["done"], beat["total"]) == (1, 2)
    log = (campaign.path / "log.txt").read_text().splitlines()
    assert [line.split(" ", 1)[1] for line in log] == [saved.text, failed.text]


def test_events_of_some_kinds_are_those_of_all(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "c")
    campaign.tell("run", suite='of "failed" points')
    campaign.tell("failed", what="a", reason="skipped")
    campaign.tell("skipped", what="b", reason="")
    every = events.read(campaign.path)
    assert [one for one in every if one.kind in ("failed", "skipped")] == events.read(
        campaign.path, "failed", "skipped"
    )
    assert len(every) == 3


def test_a_reader_gives_each_event_once(tmp_path: Path) -> None:
    campaign, reader = Campaign(tmp_path / "c"), events.Reader(tmp_path / "c")
    assert reader.new() == []
    campaign.tell("run", suite="quick")
    assert [one.kind for one in reader.new()] == ["run"]
    with (campaign.path / events.NAME).open("ab") as file:
        file.write(b'{"kind": "run", "suite": "half')
    assert reader.new() == []
    with (campaign.path / events.NAME).open("ab") as file:
        file.write(b'", "time": "T"}\n')
    assert [one["suite"] for one in reader.new()] == ["half"]


WRONG = (
    b"x",
    b"[]",
    b'{"kind": "saved", "time": "T"}',
    b'{"kind": "of others", "time": "T"}',
    b'{"kind": ["run"]}',
    b'{"kind": "run", "suite": 3, "time": "T"}',
    b'{"kind": "run", "suite": "s", "time": 3}',
    b"[" * 9999,
    b'{"kind": "heartbeat", "done": true, "total": 1, "label": "", "time": "T"}',
    b"\xff\xfe\0",
    b" " * (1 << 17),
)


@pytest.mark.parametrize("line", WRONG, ids=range(len(WRONG)))
def test_a_line_of_others_that_is_no_event_is_passed_over(line: bytes, tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "c")
    campaign.save(point(), "a" * 16)
    with (campaign.path / events.NAME).open("ab") as file:
        file.write(line + b"\n")
    campaign.tell("run", suite="quick")
    assert kinds(campaign) == ["saved", "run"]
    reader = events.Reader(campaign.path)
    assert len(reader.new()) == 2
    assert reader.damaged == [2]
    assert archive.verify(campaign.path)[1] == []
    merging.merge([campaign.path], tmp_path / "d")
    assert kinds(Campaign(tmp_path / "d")) == ["saved"]


@settings(max_examples=50)
@given(st.lists(st.binary(max_size=60)))
def test_no_content_of_the_file_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    folder = tmp_path_factory.mktemp("c")
    (folder / events.NAME).write_bytes(b"\n".join(lines))
    (folder / events.LOG).write_bytes(b"\n".join(lines))
    assert events.read(folder) == []
    (folder / events.NAME).unlink()
    events.read(folder)


@given(st.text(max_size=200), st.text(max_size=200))
def test_an_event_survives_its_line(what: str, reason: str) -> None:
    one = events.Event("failed", {"what": what, "reason": reason, "command": ["a", what]}, "T")
    assert events.parsed(one.line().rstrip(b"\n")) == one


def test_a_line_that_was_cut_off_costs_no_other(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "c")
    campaign.tell("run", suite="one")
    with (campaign.path / events.NAME).open("r+b") as file:
        file.truncate(file.seek(0, os.SEEK_END) - 3)
    Campaign(tmp_path / "c").tell("run", suite="two")
    assert [one["suite"] for one in events.read(campaign.path)] == ["two"]


def test_a_long_event_is_cut_not_lost() -> None:
    one = events.parsed(events.Event("failed", {"what": "w", "reason": "é" * (1 << 20)}).line().rstrip(b"\n"))
    assert one["reason"].startswith("ééé")
    assert len(one["reason"]) < events.LINE


def test_a_run_names_what_the_machine_lacks_once_for_all_points(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "c")
    why = "not on this machine: there is no NVIDIA driver."
    campaign.tell("run", suite="s")
    for label in ("gpu.copy 8 B", "gpu.copy 64 B", "gpu.launch"):
        campaign.tell("failed", what=f"{label} launch 0", reason=f"{label}: {why}", error="AbsentError")
    campaign.tell("failed", what="mpi.latency launch 1", reason="the switch is down", error="LaunchError")
    assert suites._absent(campaign) == (f"gpu.copy, gpu.launch: {why}",)
    assert suites._failures(campaign) == (("mpi.latency launch 1: the switch is down",), 0)


def test_the_log_is_for_people_and_no_program_reads_it(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "c")
    campaign.save(point(), "a" * 16)
    (campaign.path / events.NAME).rename(tmp_path / "kept")
    assert events.read(campaign.path) == []
    campaign.save(point(1), "a" * 16)
    assert [one["file"][-9:] for one in events.read(campaign.path)] == ["1.parquet"], "nothing is taken from the log"
    (tmp_path / "kept").replace(campaign.path / events.NAME)
    campaign.file("mpi.latency", "a" * 16, 0).unlink()
    assert "missing; events.jsonl lists it as saved" in archive.verify(campaign.path)[1][0]


def test_a_pipe_or_a_huge_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = Campaign(tmp_path / "c")
    os.mkfifo(campaign.path / events.NAME)
    with pytest.raises(DataError, match="not a regular file"):
        events.read(campaign.path)
    (campaign.path / events.NAME).unlink()
    campaign.tell("run", suite="quick")
    monkeypatch.setattr("labkit.store.reading.EVENTS", 10)
    with pytest.raises(DataError, match="longer than 10 B"):
        events.read(campaign.path)


def test_an_archive_holds_the_events(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "c")
    campaign.save(point(), "a" * 16)
    archive.export(campaign.path, tmp_path / "c.zip")
    assert archive.verify(tmp_path / "c.zip")[1] == []
    merging.merge([tmp_path / "c.zip"], tmp_path / "d")
    assert kinds(Campaign(tmp_path / "d")) == ["saved"]
    assert (tmp_path / "d" / "origins" / "c" / events.NAME).exists()


def test_every_kind_has_words_or_is_a_sign_of_life() -> None:
    made = {
        "saved": "s",
        "file": "f",
        "sha256": "0",
        "what": "w",
        "reason": "r",
        "host": "h",
        "suite": "q",
        "benchmark": "b",
        "points": 1,
        "total": 2,
        "seed": 3,
        "name": "n",
        "state": "begins",
        "done": 1,
        "label": "l",
        "number": 1,
        "sessions": 2,
        "start": "T",
        "text": "t",
        "until": "T",
    }
    for kind, wanted in events.KINDS.items():
        one = events.Event(kind, {name: made[name] for name in wanted}, "T")
        assert events.parsed(one.line().rstrip(b"\n")) == one
        assert bool(one.text) == (kind != "heartbeat")
    assert json.loads(dataclasses.replace(one, time="").line())["time"]


def test_a_job_that_did_not_finish_was_last_heard_of(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "c")
    (campaign.path / "jobs").mkdir()
    note = {"allocation": {"name": "7", "job": "7", "hosts": ["n1"]}, "start": 1.0, "before": 0}
    (campaign.path / "jobs" / "1-7.json").write_text(json.dumps(note))
    assert "job 7: did not finish\n" in summary(campaign)
    campaign.tell("heartbeat", done=3, total=9, label="mpi.latency 8 B")
    assert "did not finish; last sign of life 20" in summary(campaign)
    assert "at 3 of 9 points" in summary(campaign)
    (campaign.path / "jobs" / "1-7.json").write_text(json.dumps(note | {"start": 1e300}))
    assert "job 7: did not finish\n" in summary(campaign)
