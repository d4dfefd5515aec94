"""labkit record: any command, several launches, its output kept and imported."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from labkit import load
from labkit.apps import cli
from labkit.errors import DataError, LaunchError, SpecError
from labkit.read import records
from labkit.run import recording
from labkit.store import archive
from labkit.store.campaign import Campaign

# prints the table of osu_latency; the number of earlier runs decides the values, and whether it fails
OSU = """
import os, pathlib, sys
count = pathlib.Path(sys.argv[1])
number = len(count.read_text()) if count.exists() else 0
count.write_text("x" * (number + 1))
if str(number) in sys.argv[2:]:
    print("MPI_Init failed", file=sys.stderr)
    sys.exit(7)
print("# OSU MPI Latency Test v7.4\\n# Size          Latency (us)")
print(f"8 {2 + number % 2 / 10:.2f}\\n1024 3.10")
"""


def osu(folder: Path, *fails: int) -> list[str]:
    return [sys.executable, "-c", OSU, str(folder / "count"), *map(str, fails)]


def test_each_run_is_a_launch_of_the_same_points(tmp_path: Path) -> None:
    outcome = recording.record(osu(tmp_path), into=tmp_path / "c", testbed="vm")
    assert (outcome.added, dict(outcome.files)) == (12, {"OMB": 6})
    table = records.summary(load(tmp_path / "c")).set_index("message_size_B")
    assert table["launches"].tolist() == [6, 6]
    assert set(table["origin"]) == {"imported"}
    row = table.loc[8]
    assert (row["latency_us_low"], row["latency_us_high"]) == (2.0, 2.1)
    assert table.loc[1024, "latency_us_low"] == 3.1, "equal outputs are launches too"
    for one in Campaign(tmp_path / "c").samples():
        assert one.host["cpus_usable"] > 0
        assert one.meta["elapsed"] > 0
        assert one.meta["load_end"]["monotonic_s"] > one.meta["load_start"]["monotonic_s"]


def test_further_launches_are_added_to_a_campaign(tmp_path: Path) -> None:
    for launches in (2, 3):
        recording.record(osu(tmp_path), launches=launches, into=tmp_path / "c")
    assert sorted(path.name for path in (tmp_path / "c" / "recorded").iterdir()) == [f"000{n}" for n in range(1, 6)]
    assert set(records.summary(load(tmp_path / "c"))["launches"]) == {5}


def test_output_command_status_and_variables_that_matter_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UCX_TLS", "tcp")
    monkeypatch.setenv("MY_TOKEN", "secret")
    pieces: list[bytes] = []
    recording.record(osu(tmp_path), launches=1, into=tmp_path / "c", shown=pieces.append)
    (folder,) = (tmp_path / "c" / "recorded").iterdir()
    assert (folder / "output.txt").read_bytes() == b"".join(pieces)
    facts = json.loads((folder / "launch.json").read_text())
    assert facts["exit_status"] == 0
    assert facts["environment"]["UCX_TLS"] == "tcp"
    assert "secret" not in (folder / "launch.json").read_text()
    assert facts["commands"][0][1] == "-c"
    packed = tmp_path / "c.zip"
    archive.export(tmp_path / "c", packed)
    assert archive.verify(packed)[1] == []


def test_a_failed_launch_ends_the_recording_and_keeps_the_earlier_ones(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match=r"failed in launch 3\. Its output is in .*0003") as caught:
        recording.record(osu(tmp_path, 2), into=tmp_path / "c")
    assert (caught.value.exit_status, "MPI_Init failed" in str(caught.value)) == (7, True)
    assert set(records.summary(load(tmp_path / "c"))["launches"]) == {2}


def test_output_that_no_format_fits_is_kept_and_nothing_more_is_run(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"found 'hello'.*The output was kept in .*0001"):
        recording.record(["sh", "-c", "echo hello"], into=tmp_path / "c")
    assert [path.name for path in (tmp_path / "c" / "recorded").iterdir()] == ["0001"]


def test_a_command_that_does_not_end_is_ended(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match=r"did not end within 0\.5 s in launch 1"):
        recording.record(["sleep", "600"], launches=1, into=tmp_path / "c", time_limit=0.5)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"command": []}, "no command to record"),
        ({"launches": 0}, "--launches 0, but it must be"),
        ({"time_limit": -1.0}, "--time-limit -1"),
        ({"ranks": -4}, "--ranks -4"),
    ],
)
def test_what_is_not_allowed_is_refused_before_anything_starts(
    how: dict[str, object], said: str, tmp_path: Path
) -> None:
    with pytest.raises(SpecError, match=said):
        recording.record(**{"command": osu(tmp_path), "into": tmp_path / "c"} | how)  # type: ignore[arg-type]
    assert not (tmp_path / "c").exists()
    assert not (tmp_path / "count").exists()


def test_a_program_of_the_working_folder_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "mine.sh"
    program.write_text(f"#!/bin/sh\nexec {shlex.join(osu(tmp_path))}\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert recording.record(["./mine.sh"], launches=1, into=tmp_path / "kept").added


def test_a_missing_program_leaves_no_campaign(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="no program 'nosuch' on the PATH"):
        recording.record(["nosuch"], into=tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_arguments_after_two_dashes_belong_to_the_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["record", "--launches", "2", "--into", str(tmp_path / "c"), "--", *osu(tmp_path), "--launches", "9"]
    assert cli.main(words) == 0
    out, err = capfd.readouterr()
    assert "4 points imported" in out
    assert "launch 2 of 2" in err
    assert "OSU MPI Latency Test" in err
    assert cli.main(["record"]) == 1


@pytest.mark.skipif(not shutil.which("fio"), reason="needs fio")
def test_a_real_tool_is_recorded(tmp_path: Path) -> None:
    words = ["--name=a", f"--directory={tmp_path}", "--size=1m", "--rw=read", "--bs=64k", "--output-format=json"]
    outcome = recording.record(["fio", *words], launches=2, into=tmp_path / "c")
    assert dict(outcome.files) == {"fio": 2}
    (row,) = records.summary(load(tmp_path / "c")).to_dict("records")
    assert (row["benchmark"], row["launches"]) == ("storage.read", 2)
    assert row["bandwidth_MBps_mean"] > 0
