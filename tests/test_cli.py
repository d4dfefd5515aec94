"""The command line: every verb has an example, errors are clear, exit codes mean what they say."""

from __future__ import annotations

import argparse
import dataclasses
import io
import json
import math
import re
import sys
import time
from pathlib import Path

import pytest

from labkit.apps import cli
from labkit.apps.cli import console, fields, measure
from labkit.io.project import SHIPPED
from labkit.point.spec import Effort, Spec
from labkit.run.measuring import Progress
from labkit.studies import Parameters

from . import made

EXAMPLE = str(SHIPPED / "data" / "campaigns" / "examples" / "two-cores")
GOLDEN = Path(__file__).parent / "golden"
WORDS = [verb[0] for verb in cli.VERBS]


@pytest.mark.parametrize("word", WORDS)
def test_every_verb_has_help_with_an_example(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([word, "--help"])
    text = capsys.readouterr().out
    assert ended.value.code == 0
    assert f"labkit {word}" in text[text.index("example:") :]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["measure", "mpi.latncy"], "There is no benchmark 'mpi.latncy'. Did you mean mpi.latency or "),
        (["measure", "mpi.latency", "-m", "4Q"], "-m '4Q' is not a size"),
        (["measure", "mpi.latency", "--ranks", "3"], "--ranks 3, but mpi.latency needs exactly 2. Set --ranks 2."),
        (["measure", "mpi.latency", "-o", "tming=each"], "mpi.latency has no 'tming'. Did you mean timing? It has: "),
        (["measure", "mpi.latency", "-o", "window"], "not of the form key=value"),
        (["measure", "mpi.latency", "--testbed", "mars"], "There is no testbed 'mars'. There are: file-system, local"),
        (
            ["measure", "mpi.latency", "--bind", "numa"],
            "--bind 'numa', but it must be one of auto, core, socket, none.",
        ),
        (["measure", "mpi.latency", "--hosts", "a,b,a"], "--hosts a,b,a, but a is given twice."),
        (
            ["measure", "mpi.latency", "--hosts", "/nosuch"],
            "--hosts /nosuch cannot be read: No such file or directory.",
        ),
        (["measure", "mpi.latency", "--factor", "transport"], "--factor 'transport' is not of the form key=a,b."),
        (["measure", "mpi.latency", "--factor", "hosts=a,b"], "hosts cannot be a factor."),
        (["measure", "mpi.latency", "--factor", "windw=1,2"], "mpi.latency has no 'windw'. It has: "),
        (["measure", "mpi.latency", "--launcher", "/nosuch"], "There is no launcher at /nosuch."),
        (
            ["measure", "sockets.tcp_rr", "--device", "nodevice0"],
            "--device nodevice0, but sockets.tcp_rr over IP has no choice of device. Leave --device out.",
        ),
        (
            ["measure", "sockets.tcp_rr", "--transport", "tcp"],
            "--transport tcp, but sockets.tcp_rr uses the transport of its tool",
        ),
        (["measure", "sockets.udp_rr", "--launcher", "mpich"], "--launcher mpich, but sockets.udp_rr has no MPI ranks"),
        (["measure", "sockets.tcp_rr", "--ppn", "2"], "--ppn 2, but sockets.tcp_rr has no MPI ranks"),
        (["measure", "sockets.tcp_rr", "--bind", "core"], "--bind core, but sockets.tcp_rr has no MPI ranks"),
        (["measure", "sockets.tcp_rr", "--ranks", "4"], "--ranks 4, but sockets.tcp_rr runs without MPI ranks."),
        (
            ["measure", "sockets.tcp_rr", "--factor", "env.A=1,2"],
            "--factor env.A=1, but sockets.tcp_rr has no MPI ranks",
        ),
        (["measure", "storage.read", "--hosts", "a,b"], "--hosts a,b, but storage.read measures the storage of this"),
        (["measure", "storage.write", "--device", "sda"], "--device sda, but storage.write over a file system has no"),
        (["measure", "micro.clock", "--hosts", "a"], "--hosts a, but micro.clock has no MPI ranks and uses no hosts."),
        (["measure", "micro.clock", "--transport", "shm,tcp"], "--transport shm, but micro.clock has no MPI ranks"),
        (["measure", "micro.clock", "-m", "8"], "-m 8, but micro.clock sends no messages. Leave -m out."),
        (
            ["measure", "verbs.send_latency", "--transport", "tcp"],
            "--transport tcp, but verbs.send_latency uses the transport of its tool",
        ),
        (
            ["measure", "verbs.ucx_latency", "--transport", "shm", "--device", "x"],
            "--device x, but verbs.ucx_latency over",
        ),
        (
            ["measure", "mpi.latency", "--device", "lo"],
            "--device lo, but ranks use a device with --transport tcp, rc or ud only",
        ),
        (
            ["measure", "mpi.latency", "--device", "nodevice0", "--transport", "shm,tcp"],
            "--device nodevice0, but this machine has no network device 'nodevice0'. There are: ",
        ),
        (["run", "quik"], "There is no suite 'quik'. Did you mean quick? There are: applications, "),
        (
            ["run", "quick", "-p", "lunches=3"],
            "-p lunches: no notebook of quick has this parameter. Did you mean launches or launcher? They have: ",
        ),
        (["show", "nosuch"], "There is no campaign 'nosuch'."),
        (["report", "nosuch"], "There is no campaign 'nosuch'."),
        (["describe", "mpi"], "There is no benchmark 'mpi'."),
        (
            ["measure", "micro.clock", "--format", "omb"],
            "--format omb, but micro.clock is not a test of OMB. Its tests: mpi",
        ),
        (
            ["show", EXAMPLE, "--benchmark", "sockets.*", "--format", "imb"],
            "sockets.fabric_pingpong is not a test of IMB",
        ),
        (["import", "/nosuch/osu.txt"], "/nosuch/osu.txt cannot be read: No such file or directory"),
        (["import", str(Path(__file__).with_name("conftest.py"))], "conftest.py, line 1: found "),
    ],
)
def test_a_wrong_request_is_one_clear_error_and_exit_code_1(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = ["--dry-run"] if words[0] == "measure" and "--format" not in words else []
    assert cli.main([*words, *plan]) == 1
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""


@pytest.mark.mpi
@pytest.mark.parametrize("device", ["lo", "127.0.0.0/8"])
def test_a_device_beside_several_paths_is_for_those_that_use_it(
    device: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["measure", "mpi.latency", "-m", "8", "--transport", "shm,tcp", "--device", device, "--dry-run"]
    assert cli.main(words) == 0
    assert device in capsys.readouterr().out


def test_a_wrong_command_line_is_exit_code_1_for_2_means_a_failed_gate(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["measure"])
    assert ended.value.code == 1
    assert "See labkit measure --help." in capsys.readouterr().err


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_list_and_describe(whole: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", "--format", "json"]) == 0
    names = [one["name"] for one in json.loads(capsys.readouterr().out)]
    assert {"mpi.latency", "sockets.tcp_rr", "storage.iozone", "micro.clock"} <= set(names)
    for name in names[:: 1 if whole else 10]:
        assert cli.main(["describe", name]) == 0
        assert capsys.readouterr().out.startswith(name)


def test_doctor_tells_state_and_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["doctor", "--format", "json"])
    checks = json.loads(capsys.readouterr().out)
    assert {check["state"] for check in checks} <= {"ok", "warn", "bad"}
    assert all(check["remedy"] for check in checks if check["state"] != "ok")


SHOWN = {
    "mpi.latency": ("mpi.latency · Open MPI", "latency (µs)"),
    "storage.iozone": ("storage.iozone", "read bandwidth (MB/s)"),
}


@pytest.mark.slow
def test_show_prints_a_whole_campaign(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", EXAMPLE]) == 0
    table = capsys.readouterr().out
    for texts in SHOWN.values():
        assert all(text in table for text in texts)


def test_show_names_the_benchmarks_of_a_campaign_that_lacks_the_requested_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["show", "examples/two-cores-limits", "--benchmark", "mpi.bandwi"]) == 1
    said = capsys.readouterr().err
    assert "no benchmark in two-cores-limits called 'mpi.bandwi'. Did you mean mpi.bandwidth" in said
    assert "mpi.latency" in said.partition("There are: ")[2]


def test_show_prints_the_recorded_campaign_in_every_form(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for benchmark, texts in SHOWN.items():
        assert cli.main(["show", EXAMPLE, "--benchmark", benchmark]) == 0
        table = capsys.readouterr().out
        assert all(text in table for text in (*texts, "badges: "))
    latency = ["show", EXAMPLE, "--benchmark", "mpi.latency"]
    assert cli.main([*latency, "--format", "json"]) == 0
    records = json.loads(capsys.readouterr().out)["records"]
    assert {record["benchmark"] for record in records} == {"mpi.latency"}
    assert cli.main([*latency, "--format", "parquet", "--output", str(tmp_path / "r.parquet")]) == 0
    assert (tmp_path / "r.parquet").stat().st_size > 0
    assert cli.main([*latency, "--format", "csv", "--output", str(tmp_path / "r.csv")]) == 0
    assert (tmp_path / "r.csv").read_text().startswith("benchmark,")


def test_points_that_failed_are_named_until_a_later_run_measures_them(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    one = made.samples("micro.clock", [[20, 21, 22]], meta={"fingerprint": "a" * 16})
    campaign = made.campaign(tmp_path / "c", [one])
    for name, fingerprint in (("micro.clock", "a" * 16), ("mpi.latency 8 B", "b" * 16), ("mpi.latency 8 B", "b" * 16)):
        facts = {"benchmark": name.partition(" ")[0], "fingerprint": fingerprint, "launch": 0}
        campaign.tell("failed", what=f"{name} launch 0", reason="no cable", **facts)
    line = "not measured: mpi.latency 8 B launch 0: no cable"
    assert cli.main(["show", str(campaign.path)]) == 0
    shown = capsys.readouterr().out
    assert line in shown.splitlines()
    assert "micro.clock launch 0" not in shown
    assert f"{campaign.path / 'log.txt'}" in shown
    assert cli.main(["show", str(campaign.path), "--benchmark", "micro.*"]) == 0
    assert "not measured" not in capsys.readouterr().out
    cli.main(["lint", str(campaign.path)])
    linted = capsys.readouterr().out
    assert "mpi.latency 8 B launch 0: skipped or failed: no cable" in linted
    assert "micro.clock launch 0" not in linted


def test_plan_counts_points_and_starts_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["measure", "micro.clock", "--launches", "2", "--dry-run"]) == 0
    assert "1 point in 2 launches, at most about" in capsys.readouterr().out


def test_import_show_and_write_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    campaign, source = str(tmp_path / "c"), GOLDEN / "imb" / "MPI1.txt"
    assert cli.main(["import", str(source), "--into", campaign]) == 0
    said = capsys.readouterr()
    assert f"points imported\nsamples: {campaign}" in said.out
    assert all(line.startswith("labkit: warning: ") for line in said.err.splitlines())
    assert cli.main(["import", str(source), "--into", campaign]) == 0
    assert capsys.readouterr().out.startswith("0 points imported, ")
    assert cli.main(["show", campaign]) == 0
    table = capsys.readouterr().out
    assert "mpi.latency · IMB 2021.11 · MPI1.txt · 2 ranks · engine IMB" in table
    assert "latency: mean over ranks" in table
    assert cli.main(["show", campaign, "--benchmark", "mpi.latency", "--format", "imb"]) == 0
    block = source.read_text().split("# Benchmarking PingPong")[1].split("# Benchmarking")[0]
    assert block.splitlines()[3:12] == capsys.readouterr().out.split("# Benchmarking PingPong")[1].splitlines()[3:12]


def test_flags_of_measure_are_the_fields_of_their_classes(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(measure.EFFORT) == {field.name for field in dataclasses.fields(Effort)}
    assert set(measure.PLACE) == {f.name for f in dataclasses.fields(Spec)} - {
        "benchmark",
        "size",
        "options",
        "environment",
    }
    with pytest.raises(SystemExit):
        cli.main(["measure", "--help"])
    output = " ".join(capsys.readouterr().out.split())
    for name in measure.EFFORT:
        usual = getattr(Effort, name)
        assert f"--{name.replace('_', '-')} " in output
        assert usual in (None, "") or f"(default: {usual})" in output.partition(f"--{name.replace('_', '-')} ")[2]


def test_what_no_flag_says_has_the_default_of_its_class(capsys: pytest.CaptureFixture[str]) -> None:
    verb = argparse.ArgumentParser()
    measure.options(verb)
    nothing = verb.parse_args(["mpi.latency", "-m", "8"])
    assert Effort(**fields.given(nothing, measure.EFFORT)) == Effort()
    assert measure._specs(nothing) == [Spec(benchmark="mpi.latency", size=8)]
    every = verb.parse_args(
        [
            "mpi.latency",
            "-i",
            "9",
            "-x",
            "0",
            "--launches",
            "2",
            "--ci",
            "0.5",
            "--time-cap",
            "3",
            "--time-limit",
            "4",
            "--seed",
            "5",
        ]
    )
    assert Effort(**fields.given(every, measure.EFFORT)) == Effort(
        iterations=9, warmup=0, launches=2, ci=0.5, time_cap=3.0, time_limit=4.0, seed=5
    )
    assert cli.main(["measure", "micro.clock", "--dry-run"]) == 0
    assert f"1 point in {Effort.launches} launches" in capsys.readouterr().out


def test_six_launches_are_measured_unless_another_number_is_asked_for() -> None:
    assert Effort.launches == 6  # the least that has a 95 % interval, see docs/statistics.md
    assert Parameters.launches == Effort.launches


class Terminal(io.StringIO):
    """A screen that keeps all that was ever on it."""

    def isatty(self) -> bool:
        return True


def test_the_bar_shows_each_point_while_it_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with console.Bar() as bar:
        for done in range(4):
            time.sleep(0.11)  # longer than a redrawing lasts
            bar(Progress(done=done, total=4, label=f"point {done}", elapsed=done, remaining=float(4 - done)))
    for done in range(1, 4):
        assert f"{done}/4 {4 - done} s left · point {done}" in screen.getvalue()


def test_a_file_gets_a_line_of_progress_every_30_s(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    with console.Bar() as bar:
        for done in [*range(0, 81, 10), 80]:
            bar(Progress(done=done, total=80, label=f"point {done}", elapsed=float(done), remaining=80.0 - done))
    assert file.getvalue().splitlines() == [
        "labkit: 30 of 80, 50 s left · point 30",
        "labkit: 60 of 80, 20 s left · point 60",
        "labkit: 80 of 80, 0 s left · point 80",
    ]


def test_a_file_gets_lines_of_progress_from_each_notebook_of_a_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time elapsed is that of the notebook."""
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    with console.Bar() as bar:
        for done, elapsed in enumerate([30, 60, 90, 0, 29, 31, 61]):
            bar(Progress(done=done, total=80, label="", elapsed=float(elapsed), remaining=math.nan))
    assert [line.split()[1] for line in file.getvalue().splitlines()] == ["0", "1", "2", "5", "6"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mezure mpi.latency", "There is no command 'mezure'. Did you mean measure or merge? List all"),
        ("show x --format jsn", "There is no choice for --format 'jsn'. Did you mean json? There are: csv,"),
        ("measure mpi.latency --lanuches 3", "Did you mean --launches or"),
    ],
)
def test_a_word_that_is_nearly_right_is_found(line: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(line.split())
    assert words in capsys.readouterr().err


def test_values_over_one_label_are_a_table_without_gaps(capsys: pytest.CaptureFixture[str]) -> None:
    """NetPIPE's ladder is printed with one line per size, and without NaN or internal columns."""
    assert cli.main(["show", "examples/two-cores", "--benchmark", "sockets.netpipe"]) == 0
    out = capsys.readouterr().out
    assert re.search(
        r"^block size +latency, value \(µs\) +round-trip time, value \(µs\) +bandwidth, value \(MB/s\)$", out, re.M
    )
    assert re.search(r"^ *1 B +\S+ +\S+ +\S+$", out, re.M)
    assert "NaN" not in out
    assert "fingerprint" not in out


def test_values_without_a_label_are_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """netperf's sender does not know what arrived, so its log lacks the benchmark's main value but has others."""
    log = tmp_path / "send.txt"
    log.write_text(
        """\
OMNI Send TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 127.0.0.1 () port 0 AF_INET : demo
THROUGHPUT=753.93
THROUGHPUT_UNITS=10^6bits/s
ELAPSED_TIME=1.00
REQUEST_SIZE=-1
RESPONSE_SIZE=-1
MIN_LATENCY=0
MEAN_LATENCY=5.02
P50_LATENCY=1
P90_LATENCY=3
P99_LATENCY=4
MAX_LATENCY=48825
STDDEV_LATENCY=174.21
RT_LATENCY=-1.000
LOCAL_CPU_UTIL=-1.00
REMOTE_CPU_UTIL=-1.00
LOCAL_CPU_METHOD=U
CONFIDENCE_LEVEL=0
CONFIDENCE_ITERATION=1
PROTOCOL=UDP
LOCAL_SEND_SIZE=1024
LOCAL_TRANSPORT_RETRANS=-1
"""
    )
    assert cli.main(["import", str(log), "--into", str(tmp_path / "campaign")]) == 0
    assert cli.main(["show", str(tmp_path / "campaign")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(re.match(r"^sent, mean \(MB/s\) +send call us, minimum", line) for line in lines)
    assert any(re.match(r"^ *94\.24 +≤ 0 +≤ 5\.02 ", line) for line in lines)


def test_a_measurement_begins_with_how_many_and_how_long(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["measure", "micro.clock", "--launches", "2", "-i", "10", "--into", str(tmp_path / "c")]
    assert cli.main(command) == 0
    assert "1 point in 2 launches, at most about" in capsys.readouterr().err
    assert cli.main(command) == 0  # nothing is missing
    assert "at most about" not in capsys.readouterr().err
