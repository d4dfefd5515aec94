"""labkit fieldkit: parts in turn, a limit that holds, one archive and nothing else."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
import zipfile
from functools import partial
from pathlib import Path

import pytest

from labkit import load
from labkit.apps import cli, fieldkit
from labkit.apps.fieldkit import Place, parts, rounds
from labkit.apps.fieldkit.parts import Part
from labkit.errors import DataError, LaunchError
from labkit.host import counters
from labkit.run import recording
from labkit.store import archive
from labkit.store.campaign import Campaign

# a ping-pong between two real ranks, printed as osu_latency prints it
OSU = """#!{python}
import time
from mpi4py import MPI
world = MPI.COMM_WORLD
other = 1 - world.rank
if not world.rank:
    print("# OSU MPI Latency Test v7.4\\n# Size          Latency (us)")
for size in (8, 1024):
    data = bytearray(size)
    for number in range(60):
        if number == 10:
            begin = time.perf_counter()
        for sends in (world.rank == 0, world.rank == 1):
            world.Send(data, other) if sends else world.Recv(data, other)
    if not world.rank:
        print(f"{{size:<10}} {{(time.perf_counter() - begin) / 100 * 1e6:18.2f}}", flush=True)
"""
# a clock instead of ranks, which needs no MPI
CLOCK = "print('# OSU MPI Latency Test v7.4\\n# Size          Latency (us)\\n8 2.00')"


def program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(stat.S_IRWXU)


def on_path(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def recorded(name: str, command: list[str]) -> Part:
    def run(campaign: Campaign, number: int, seconds: float) -> None:
        recording.record(command, launches=1, into=campaign, ranks=2, time_limit=seconds)

    return Part(name, " ".join(command), run)


def clock(name: str = "clock") -> Part:
    return recorded(name, [sys.executable, "-c", CLOCK])


def only(monkeypatch: pytest.MonkeyPatch, *some: Part) -> None:
    monkeypatch.setattr(parts, "chosen", lambda place: (list(some), {"osu_bw": "not on the PATH"}))


def read(path: Path, name: str) -> dict[str, object]:
    with zipfile.ZipFile(path) as file:
        found: dict[str, object] = json.loads(file.read(f"fieldkit/{name}"))
    return found


@pytest.mark.slow
@pytest.mark.mpi
def test_one_archive_holds_labkits_points_those_of_the_site_and_what_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    program(tmp_path / "bin", "osu_latency", OSU.format(python=sys.executable))
    on_path(monkeypatch, tmp_path / "bin")
    monkeypatch.setattr(parts, "MPI", {"mpi.latency": ("8,1Ki", parts.PAIR), "mpi.barrier": ("", parts.ALL)})
    monkeypatch.setattr(parts, "MACHINE", {"micro.wake_up": ""})
    monkeypatch.setattr(rounds, "MOST", 2)
    output = tmp_path / "out"
    assert cli.main(["fieldkit", "--minutes", "10", "--output", str(output)]) == 0
    out, err = capfd.readouterr()
    (made,) = output.iterdir()
    assert made.suffix == ".zip"
    assert archive.verify(made)[1] == []
    assert f"archive: {made}" in out
    assert "osu_latency 2×" in out
    assert "left out: osu_bw, osu_bibw" in out
    assert "round 2: osu_latency" in err
    assert cli.main(["merge", str(made), "--into", str(tmp_path / "c")]) == 0
    records = load(tmp_path / "c")
    latency = records[records["benchmark"] == "mpi.latency"]
    assert set(latency["origin"]) == {"measured", "imported"}
    assert set(latency.groupby(["origin", "message_size_B"]).size()) == {2}
    assert (latency["latency_us_p50"].dropna() > 0).all()
    capfd.readouterr()
    assert cli.main(["compare", str(tmp_path / "c"), "--by", "origin=measured,imported"]) == 0
    assert "2 comparisons of imported against measured" in capfd.readouterr().out
    ran = read(made, "runs.json")
    assert [one["round"] for one in ran["runs"]].count(2) == len(ran["parts"])  # type: ignore[attr-defined, arg-type]
    assert "mpirun" in str(ran["parts"]) or "mpiexec" in str(ran["parts"])
    assert read(made, "answer.json")["findings"]
    assert read(made, "counters.json")["hosts"]


def test_no_part_outlasts_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, clock(), Part("slow", "sleep", lambda campaign, number, seconds: time.sleep(600)))
    monkeypatch.setattr(rounds, "ENOUGH", 0.5)
    monkeypatch.setattr(rounds, "MOST", 1)
    begin = time.monotonic()
    kit = fieldkit.run(Place({}), minutes=0.3, output=tmp_path)
    assert time.monotonic() - begin < 300
    assert kit.stopped is None
    assert kit.log.done["clock"] >= 1
    assert kit.log.failures("slow")[0].problem == "did not end within 3 s"
    assert [path.name for path in tmp_path.iterdir()] == [kit.archive.name]
    assert archive.verify(kit.archive)[1] == []


def test_a_part_that_begins_too_late_is_not_begun(tmp_path: Path) -> None:
    log = rounds.Log([rounds.Ran("clock", 1, 0.0, 100.0)])
    rounds.run([clock()], Campaign(tmp_path / "c"), 60.0, log, lambda text: None)
    assert (len(log.runs), log.ended) == (1, "the time was over")


def test_a_part_that_fails_twice_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, clock(), recorded("broken", [sys.executable, "-c", "raise SystemExit(3)"]))
    monkeypatch.setattr(rounds, "MOST", 3)
    kit = fieldkit.run(Place({}), output=tmp_path)
    assert (kit.log.done["clock"], len(kit.log.failures("broken"))) == (3, 2)
    assert "without a result: broken: The command failed" in kit.text()
    assert [row["part"] for row in read(kit.archive, "runs.json")["runs"]].count("broken") == 2  # type: ignore[attr-defined]


def test_parts_of_a_round_are_in_another_order_each_time(tmp_path: Path) -> None:
    log, seen = rounds.Log(), list[str]()
    some = [Part(name, name, partial(lambda name, *_: seen.append(name), name)) for name in "abcd"]
    rounds.run(some, Campaign(tmp_path / "c"), 60.0, log, lambda text: None)
    orders = {tuple(seen[at : at + 4]) for at in range(0, len(seen), 4)}
    assert all(sorted(one) == list("abcd") for one in orders)
    assert len(orders) > 3
    assert log.ended == f"{rounds.MOST} rounds are done"


def stopped(folder: Path, number: int) -> tuple[int, str]:
    """Run a field kit, send it a signal in its second round, and return its status and what it said then."""
    code = (
        "import sys\n"
        "from tests import test_fieldkit as own\n"
        "own.parts.chosen = lambda place: ([own.clock(f'clock {n}') for n in range(3)], {})\n"
        "own.rounds.MOST = 1000\n"
        "sys.exit(own.cli.main(['fieldkit', '--output', sys.argv[1]]))"
    )
    home = Path(__file__).resolve().parents[1]
    with subprocess.Popen([sys.executable, "-c", code, str(folder)], cwd=home, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if b"round 2" in line:
                break
        process.send_signal(number)
        rest = process.stderr.read().decode()
        return process.wait(300), rest


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_signal_leaves_a_valid_archive_of_what_was_measured(tmp_path: Path, number: int) -> None:
    status, said = stopped(tmp_path, number)
    assert (status, "stopped; packing what was measured" in said) == (128 + number, True), said
    (made,) = tmp_path.iterdir()
    assert archive.verify(made)[1] == []
    assert read(made, "runs.json")["ended"] == "interrupted"


@pytest.mark.slow
def test_what_a_killed_field_kit_measured_can_be_packed(tmp_path: Path) -> None:
    stopped(tmp_path, signal.SIGKILL)
    (left,) = tmp_path.glob("*.unfinished/fieldkit-*")
    assert cli.main(["export", str(left), "--output", str(tmp_path / "kit.zip")]) == 0
    assert archive.verify(tmp_path / "kit.zip")[1] == []
    assert len(load(left)) >= 3


def test_names_are_replaced_also_in_what_programs_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = f"print('running on storks17, of /home/ada/osu'); {CLOCK}"
    only(monkeypatch, recorded("osu_latency", [sys.executable, "-c", printed]))
    monkeypatch.setattr(rounds, "MOST", 1)
    monkeypatch.setattr(counters, "read", lambda *_: {"storks17.birds.example": {"eth0.rx_errors": 1}})
    kit = fieldkit.run(Place({}), output=tmp_path / "storks17", redact=True, hide=["birds"])
    assert archive.verify(kit.archive)[1] == []
    with zipfile.ZipFile(kit.archive) as file:
        texts = [(name, file.read(name)) for name in file.namelist()]
    assert any(name.startswith("recorded/") for name, _ in texts)
    for name, text in texts:
        assert not any(word in text for word in (b"storks17", b"/home/ada", b"birds")), name


def test_nothing_measured_is_an_error_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, recorded("broken", [sys.executable, "-c", "raise SystemExit(3)"]))
    with pytest.raises(LaunchError, match=r"Nothing was measured\. broken: The command failed.* osu_bw: not on the"):
        fieldkit.run(Place({}), output=tmp_path)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(parts, "chosen", lambda place: ([], {"osu_bw": "not on the PATH"}))
    with pytest.raises(LaunchError, match=r"Nothing can be measured here\. osu_bw: not on the PATH"):
        fieldkit.run(Place({}), output=tmp_path)
    (tmp_path / "file").touch()
    only(monkeypatch, clock())
    with pytest.raises(DataError, match=r"--output .*file cannot be written"):
        fieldkit.run(Place({}), output=tmp_path / "file")


def test_measured_points_stay_if_they_cannot_be_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, clock())
    monkeypatch.setattr(rounds, "MOST", 1)

    def full(*_: object) -> None:
        raise DataError("the disk is full")

    monkeypatch.setattr(archive, "export", full)
    said = list[str]()
    with pytest.raises(DataError, match="the disk is full"):
        fieldkit.run(Place({}), output=tmp_path, say=said.append)
    (left,) = tmp_path.glob("*.unfinished/fieldkit-*")
    assert load(left)["benchmark"].tolist() == ["mpi.latency"]
    assert said[-1] == f"the measured points are in {left}; labkit export packs them"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--minutes", "0"], "--minutes 0.0, but it must be a number above 0"),
        (["--hide", "birds"], "without --redact nothing is replaced"),
        (["--transport", "pigeon"], "--transport"),
        (["--hosts", "a,b,a"], "--hosts a,b,a, but a is given twice"),
    ],
)
def test_wrong_options_are_refused(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["fieldkit", "--output", str(tmp_path / "out"), *words]) == 1
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.mpi
def test_what_would_run_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program(tmp_path, "osu_allreduce", "#!/bin/sh\n")
    program(tmp_path, "all_reduce_perf", "#!/bin/sh\n")
    on_path(monkeypatch, tmp_path)
    monkeypatch.setattr("labkit.host.gpus", lambda: ["one", "two"])
    assert cli.main(["fieldkit", "--dry-run", "--hosts", "n1,n2,n3", "--ppn", "2"]) == 0
    out = capsys.readouterr().out
    (line,) = [line for line in out.splitlines() if line.startswith("osu_allreduce: ")]
    assert all(host in line for host in ("n1", "n2", "n3"))
    assert " 6 " in line
    assert "all_reduce_perf: all_reduce_perf -b 8 -e 128M -f 4 -g 2" in out
    assert "left out: osu_latency, osu_bw" in out


def test_counters_of_this_host_are_read() -> None:
    (found,) = counters.read().values()
    assert found["lo.rx_bytes"] >= 0
    with pytest.raises(LaunchError, match="Reading the counters of the hosts failed"):
        counters.read(["sh", "-c", "exit 3"])


def test_a_limit_in_another_thread_interrupts_nobody() -> None:
    def inside() -> None:
        with rounds._ended_after(0.01) as over:
            time.sleep(0.1)
            assert not over.is_set()

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
