"""IOR and mdtest as tools: command lines, what is read from their output, real runs where they are installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import labkit
from labkit import benchmarks, host, tools
from labkit.errors import DataError, LaunchError, SpecError
from labkit.formats import ior as layout
from labkit.kernels import programs
from labkit.point.spec import Effort, Spec
from labkit.read import records
from labkit.tools import _linked, ior, mdtest

LOGS = Path(__file__).parent / "golden" / "logs"
BUILD = Path(__file__).resolve().parent.parent / "templates" / "setup" / "originals" / "build.sh"
SUMMARY = LOGS / "ior" / "file_per_process.json"


def spec(name: str = "ior", size: int = 65536, ranks: int = 2, **options: object) -> Spec:
    return benchmarks.resolve(Spec(benchmark=f"storage.{name}", size=size, ranks=ranks, options=options))  # type: ignore[arg-type]


def words(*args: object, **options: object) -> str:
    return " ".join(ior.transfers(spec(**options), Effort(iterations=5, warmup=1)).client)  # type: ignore[arg-type]


def test_the_options_are_switches_of_ior() -> None:
    assert words() == "ior -a MPIIO -w -i 6 -b 1048576 -t 65536 -s 1 -o data -O summaryFormat=JSON"
    read = words(operation="read", file="file per process", api="POSIX", segments=3)
    assert read.startswith("ior -a POSIX -w -r -i 6 -b 1048576 -t 65536 -s 3 -F -C -o")
    assert " -c -Y " in words(collective=True, sync="each")
    assert " -C " not in words(operation="read", reorder=False)


def test_the_options_are_switches_of_mdtest() -> None:
    def client(**options: object) -> str:
        return " ".join(mdtest.operations(spec("mdtest", 0, **options), Effort(iterations=3)).client)  # type: ignore[arg-type]

    assert client() == "mdtest -n 1000 -i 3 -d data -F"
    assert client(operation="directory stat", unique=True, shift=1) == "mdtest -n 1000 -i 3 -d data -D -u -N 1"
    assert client(write_size=64).endswith("-F -w 64 -e 64")


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("ior", {"api": "POSIX", "collective": True}, "api=POSIX has no collective calls"),
        ("ior", {"block_size": 100_000}, "is not a whole number of transfers"),
        ("mdtest", {"items": 0}, "items=0, but it must be 1 or more"),
        ("mdtest", {"shift": -1}, "shift=-1, but it must be 0 or more"),
        ("mdtest", {"operation": "tree removal", "write_size": 5}, "directories hold no bytes"),
    ],
)
def test_wrong_options_are_one_clear_error(name: str, options: dict[str, object], text: str) -> None:
    with pytest.raises(SpecError, match=text):
        spec(name, **options)  # type: ignore[arg-type]


def test_the_time_of_a_repetition_follows_from_its_bandwidth() -> None:
    """IOR's own summary has the greatest and least bandwidth of the same repetitions."""
    tasks, times = layout.repetitions(SUMMARY.read_text(), "read", "it")
    (run,) = (one for one in layout.runs(SUMMARY.read_text(), "it") if one.options["operation"] == "read")
    moved = tasks * run.options["segments"] * run.options["block_size"] / 1e6  # type: ignore[operator]
    printed = {value.statistic: value.value for value in run.values if value.name == "bandwidth_MBps"}
    assert moved / min(times) == pytest.approx(printed["max"], rel=1e-5)
    assert moved / max(times) == pytest.approx(printed["min"], rel=1e-5)
    kept = ior.parse(SUMMARY.read_text(), spec(operation="read"), Effort(iterations=len(times) - 1, warmup=1))
    assert kept.time_ns.tolist() == [round(time * 1e9) for time in times[1:]]


def test_output_that_is_no_result_is_an_error_with_evidence() -> None:
    text = SUMMARY.read_text()
    with pytest.raises(DataError, match="ior ran on 2 ranks instead of 4: the launcher and ior use different MPI"):
        ior.parse(text, spec(ranks=4), Effort())
    with pytest.raises(DataError, match="repetitions of write"):
        layout.repetitions(text.replace('"write"', '"wrote"'), "write", "it")
    rates = (LOGS / "mdtest" / "three_iterations.txt").read_text()
    with pytest.raises(DataError, match="mdtest ran on 2 ranks instead of 1"):
        mdtest.parse(rates, spec("mdtest", 0, ranks=1))
    cut = re.sub(r"\n +File stat .*", "", rates)
    with pytest.raises(DataError, match=r"mdtest printed rates of .*file read.*, not of file stat"):
        mdtest.parse(cut, spec("mdtest", 0, operation="file stat"))


def test_the_version_is_read_from_the_file_of_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ior.TOOL.read_version is not None
    assert ior.TOOL.read_version() == "unknown"
    (tmp_path / "ior").write_bytes(b"\x7fELF\0IOR-4.1.0+dev: MPI Coordinated Test of Parallel I/O\n\0")
    (tmp_path / "ior").chmod(0o755)
    assert ior.TOOL.read_version() == "4.1.0+dev"
    assert _linked.written("ior", rb"NOR-(.)") == ""


def test_a_program_that_set_up_built_serves_where_the_path_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "_FOLDER", tmp_path / "built")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ior.transfers(spec(), Effort()).missing == ["ior"]
    with pytest.raises(LaunchError, match=r"storage\.ior needs ior, which is not installed.*ior SOURCE=~/ior-4"):
        tools.available((ior.transfers,), spec(), Effort())
    for name in ("ior", "mdtest"):
        program = programs.path("ior") / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_bytes(b"\x7fELF\0IOR-4.0.0: MPI Coordinated Test of Parallel I/O\n\0")
        program.chmod(0o755)
    assert ior.transfers(spec(), Effort()).client[0] == str(programs.path("ior") / "ior")
    assert mdtest.operations(spec("mdtest", 0), Effort()).programs == (str(programs.path("ior") / "mdtest"),)
    found = host.find(mdtest.TOOL)
    assert found == {"path": str(programs.path("ior") / "mdtest"), "version": "4.0.0"}
    shutil.copy(programs.path("ior") / "ior", tmp_path / "ior")
    assert ior.transfers(spec(), Effort()).client[0] == "ior"


@pytest.mark.parametrize(
    ("name", "mark", "made"),
    [
        ("ior", "src/ior.c", ("src/ior", "src/mdtest")),
        ("hpl", "testing/ptest/HPL_pddriver.c", ("testing/xhpl",)),
    ],
)
def test_make_builds_the_originals_from_a_source_and_leaves_it_alone(
    tmp_path: Path, name: str, mark: str, made: tuple[str, ...]
) -> None:
    """A tree in the layout of the original, whose configure script writes a makefile that writes the programs."""
    if shutil.which("make") is None:
        pytest.skip("no make")
    tree = tmp_path / "my source"
    (tree / mark).parent.mkdir(parents=True)
    (tree / mark).touch()
    recipe = "".join(f"\n\techo '$(CC) $(CFLAGS) $(LIBS)' >{program}" for program in made)
    (tree / "configure").write_text(
        f"#!/bin/sh\nprintf '%s\\n' \"$@\" >Makefile\ncat >>Makefile <<'E'\nall:{recipe}\nE\n"
    )
    (tree / "configure").chmod(0o755)
    before = sorted(str(path) for path in tree.rglob("*"))
    environment = {**os.environ, "MPICC": "my-cc", "FLAGS": "-g", "BLAS": "-lblis"}
    command = ["bash", str(BUILD), name, str(tree), str(tmp_path / "built")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    built = {path.name: path.read_text().strip() for path in (tmp_path / "built").iterdir()}
    assert sorted(built) == sorted(Path(program).name for program in made)
    assert all(re.fullmatch(r"my-cc -O\d -g -lblis", text) for text in built.values())
    assert sorted(str(path) for path in tree.rglob("*")) == before
    (tree / "configure").write_text(
        "#!/bin/sh\necho 'checking for mpi.h... no'\necho 'configure: error: MPI not found' >&2\nexit 1\n"
    )
    failed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert failed.returncode == 1
    assert re.search(
        r"was not built, because '\./configure .*' failed: configure: error: MPI not found\. Pack", failed.stderr
    )
    (tree / mark).unlink()
    refused = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert f"holds no {mark} of {name.upper()}. Set SOURCE to the unpacked folder" in refused.stderr


# ---- runs without a summary, as IO500 makes them

WITHOUT_SUMMARY = (LOGS / "ior" / "io500_hard_write.txt").read_text()


def test_repetitions_are_read_where_there_is_no_summary() -> None:
    rows = WITHOUT_SUMMARY.replace("repetitions         : 1", "repetitions         : 2")
    rows = rows.replace("xfersize            : 47008 bytes", "xfersize            : 2 MiB")
    rows = rows.replace("45.91      45.91 ", "45.91      2048.00 ")
    write = rows.splitlines(keepends=True)[-1]
    rows += write.replace("1182.14", "1000.00").replace("1.14       0   ", "1.36       1   ")
    rows += "remove    -          -          -           -          -          -          -          -          0.1        0\n"
    rows += "".join(write.replace("write", "read ").replace("0   \n", f"{number}   \n") for number in range(2))
    write_run, read_run = layout.runs(rows, "x")
    assert (write_run.options["operation"], read_run.options["operation"]) == ("write", "read")
    assert (write_run.size, write_run.ranks, write_run.options["block_size"]) == (2**21, 2, 47008)
    values = {f"{value.name} {value.statistic}": value.value for value in write_run.values}
    assert values["bandwidth_MBps max"] == pytest.approx(1182.14 * 2**20 / 1e6)
    assert values["bandwidth_MBps min"] == pytest.approx(1000 * 2**20 / 1e6)
    assert values["bandwidth_MBps mean"] == pytest.approx(1091.07 * 2**20 / 1e6)
    assert values["bandwidth_MBps stddev"] == pytest.approx(91.07 * 2**20 / 1e6)
    assert values["run_time_s mean"] == pytest.approx(1.25)
    assert "iops_per_s max" not in values, "IOPS of a row leave opening and closing out, those of a summary do not"
    assert write_run.parameters["stonewallingTime"] == "1"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("repetitions         : 1", "repetitions         : 3", "3 repetitions of each operation, but 1 of write"),
        ("\nwrite  ", "\n# write", "1 repetitions of each operation, but none"),
        ("tasks               : 2\n", "", "the option tasks above the results"),
        ("1.14       0   ", "1.14", "11 columns, as the head has"),
        ("1182.14", "-", "number"),
    ],
)
def test_a_run_without_a_summary_must_be_whole(old: str, new: str, words: str) -> None:
    assert old in WITHOUT_SUMMARY
    with pytest.raises(DataError, match=words):
        layout.runs(WITHOUT_SUMMARY.replace(old, new), "x")


# ---- real runs


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.parametrize("operation", ["write", "read"])
def test_ior_measures_what_labkit_measures(tmp_path: Path, operation: str) -> None:
    if shutil.which("ior") is None:
        pytest.skip("no ior on the PATH: build it from its source")
    shared = {"block_size": 262144, "directory": str(tmp_path)}
    specs = [
        Spec(benchmark="storage.ior", size=65536, ranks=2, options={**shared, "operation": operation}),
        Spec(benchmark=f"storage.parallel_{operation}", size=65536, ranks=2, options=shared),
    ]
    campaign = labkit.measure(specs, Effort(launches=1, iterations=4, warmup=1), into=tmp_path / "c")
    theirs, ours = (next(campaign.samples(one.benchmark)) for one in specs)
    assert theirs.origin == ours.origin == "measured"
    assert theirs.time_ns.shape == (1, 4)
    assert theirs.meta["tool_version" if "tool_version" in theirs.meta else "library"]
    rows = records.table([theirs, ours])
    assert (rows["bandwidth_MBps_p50"] > 0).all()
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


@pytest.mark.mpi
@pytest.mark.slow
def test_mdtest_measures_what_labkit_measures(tmp_path: Path) -> None:
    if shutil.which("mdtest") is None:
        pytest.skip("no mdtest on the PATH: build it from IOR's source")
    operations = ("file creation", "file stat", "directory removal")
    specs = [
        Spec(benchmark=f"storage.{name}", ranks=2, options={"items": 30, "operation": operation, "directory": str(tmp_path)})
        for name in ("mdtest", "metadata")
        for operation in operations
    ]  # fmt: skip
    campaign = labkit.measure(specs, Effort(launches=1, iterations=3), into=tmp_path / "c")
    points = list(campaign.samples())
    assert len(points) == 6
    assert {one.origin for one in points if one.spec.benchmark == "storage.mdtest"} == {"reported"}
    assert all(value.value > 0 for one in points for value in one.reported)
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
