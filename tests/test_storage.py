"""Storage: what every point says of its files, scratch files, full disks, and each tool on tiny sizes for real."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from labkit import figures, studies, tools
from labkit.errors import DataError, SpecError
from labkit.figures import parts
from labkit.figures.parts import NOTHING
from labkit.formats import fio as fio_layout
from labkit.formats import iozone as iozone_layout
from labkit.io import project
from labkit.point import storage
from labkit.point.notes import texts
from labkit.point.spec import Effort, Reported, Spec, sweep
from labkit.read import records
from labkit.run import measuring
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import CACHEABLE, FILESYSTEM
from labkit.tools import _erasure_codes, _own_json, erasure_codes, fio, iozone, nbdkit
from tests.waiting import until

from . import made
from .test_tools import need, reported, resolved, run

GOLDEN = Path(__file__).parent / "golden" / "tools"
DISK = storage.Access(page_cache="", cached=True)
TIMES = Effort(iterations=20, warmup=2, time_limit=240)


# ---- what a point says of its files


def test_a_point_says_where_its_files_lie_and_whether_memory_could_answer(tmp_path: Path) -> None:
    facts = DISK.facts(tmp_path, 4096)
    assert {"filesystem", "mount_options", "device", "memory_B", "file_B", "drop_caches"} <= set(facts)
    assert facts["drop_caches"] == os.access("/proc/sys/vm/drop_caches", os.W_OK)
    if facts["filesystem"] in storage.MEMORY:
        pytest.skip("temporary files are in memory here")
    assert "relatime" in str(facts["mount_options"]) or "rw" in str(facts["mount_options"])
    assert facts["cacheable"] == "all"
    assert texts(storage.badges(facts)) == ("page cache",)
    assert DISK.facts(tmp_path, int(facts["memory_B"]) + 1)["cacheable"] == "part"
    past = storage.Access(page_cache="", cached=False, o_direct=True).facts(tmp_path, 4096)
    assert (past["cacheable"], past["o_direct"], past["o_sync"], storage.badges(past)) == ("none", True, False, [])


def test_files_in_memory_are_always_answered_by_it() -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir():
        pytest.skip("there is no /dev/shm here")
    facts = storage.Access(page_cache="", cached=False, o_sync=True).facts(memory, 4096)
    assert (facts["filesystem"], facts["cacheable"]) == ("tmpfs", "all")
    assert texts(storage.badges(facts)) == ("memory file system",)
    assert "O_DIRECT has nothing to bypass" in storage.unfit(memory, needs=0, direct=True)


@pytest.mark.slow
@pytest.mark.mpi
def test_a_point_of_mpi_io_says_it_too(tmp_path: Path) -> None:
    specs = sweep("mpi.file_write", sizes=4096, ranks=2, sync=[False, True], directory=str(tmp_path))
    specs += sweep("mpi.file_read", sizes=4096, ranks=2, directory=str(tmp_path))
    made_ = measuring.measure(specs, Effort(launches=1, iterations=5), into=Campaign(tmp_path / "c"))
    points = {(one.spec.benchmark, one.spec.values.get("sync")): one for one in made_.samples()}
    assert {key: CACHEABLE.of(one.meta) for key, one in points.items()} == {
        ("mpi.file_write", False): "all",
        ("mpi.file_write", True): "all" if FILESYSTEM.of(next(iter(points.values())).meta) == "tmpfs" else "none",
        ("mpi.file_read", None): "all",
    }
    assert all(one.meta["file_B"] == 8192 and one.meta["memory_B"] > 0 for one in points.values())
    assert not list(tmp_path.glob("labkit-mpi-io-*"))


# ---- full disks and kills

FULL = """
import subprocess, sys
from pathlib import Path
small = Path(sys.argv[1]) / "small"
small.mkdir()
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(small)], check=True)
from labkit.run import measuring; from labkit.point import storage
from labkit.store.campaign import Campaign
from labkit.errors import LabkitError
from labkit.point.spec import Effort, sweep
into, effort = Campaign(Path(sys.argv[1]) / "c"), Effort(launches=1, iterations=5, time_limit=20)
common = {"sizes": 4096, "ranks": 1, "directory": str(small)}
print("refused:", storage.unfit(small, needs=2**20))
storage.SPARE = -(2**30)  # as if the room had gone after the check
specs = sweep("storage.write", file_size="64Ki", **common)
specs += sweep("storage.read", file_size="8Mi", **common)  # fio writes the file first
try:
    measuring.measure(specs, effort, into=into)
except LabkitError as error:
    print("failed:", error, *(one.error for one in error.failures))
print("kept:", [one.spec.benchmark for one in into.samples()], "left:", list(small.iterdir()))
"""


@pytest.mark.netns
@pytest.mark.slow
def test_a_full_disk_is_named_and_loses_no_point(tmp_path: Path) -> None:
    need(fio)
    command = ["unshare", "--user", "--map-root-user", "--mount", sys.executable, "-c", FULL, str(tmp_path)]
    if subprocess.run([*command[:4], "true"], check=False, capture_output=True).returncode:
        pytest.skip("this kernel allows no mount namespace")
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert "3 MiB free, but the files need 1 MiB, and 64 MiB must be left" in done.stdout, done.stderr
    assert "/small (tmpfs) is full" in done.stdout
    assert "Free space there, make the files smaller, or name another directory" in done.stdout
    assert done.stdout.splitlines()[-1] == "kept: ['storage.write'] left: []"


# as FULL, but the room goes while ranks write: a thread takes all there is as soon as 8 MiB are written, and frees it
# when their files are gone
FILLED = """
import contextlib, os, subprocess, sys, threading, time
from pathlib import Path
small = Path(sys.argv[1]) / "small"
small.mkdir()
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200m", "tmpfs", str(small)], check=True)
from labkit.run import measuring
from labkit.store.campaign import Campaign
from labkit.errors import LabkitError
from labkit.point.spec import Effort, sweep
done, other = threading.Event(), small / "other"
def written():
    total = 0
    for path in small.glob("labkit-*/*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_blocks * 512
    return total
def take():
    while not done.wait(0.001):
        if written() < 2**23:
            continue
        size = 0
        with other.open("wb") as file:
            while not done.is_set() and list(small.glob("labkit-*")):
                for step in (2**26, 2**20, 2**12):
                    with contextlib.suppress(OSError):
                        os.posix_fallocate(file.fileno(), size, step)
                        size += step
        other.unlink()
thread = threading.Thread(target=take)
thread.start()
into = Campaign(Path(sys.argv[1]) / "c")
specs = sweep("mpi.latency", sizes=8, transport="shm")
for way in ("write", "read"):
    specs += sweep(f"storage.parallel_{way}", sizes=65536, ranks=2, block_size="50Mi", directory=str(small))
try:
    measuring.measure(specs, Effort(launches=1, time_cap=0.2, time_limit=60), into=into)
except LabkitError as error:
    print(*(" ".join(str(one.error).split()) for one in error.failures), sep="\\n")
done.set()
thread.join()
print("kept:", [one.spec.benchmark for one in into.samples()], "left:", list(small.iterdir()))
"""


@pytest.mark.slow
@pytest.mark.netns
@pytest.mark.mpi
def test_a_disk_that_fills_while_ranks_write_is_named_at_once(tmp_path: Path) -> None:
    command = ["unshare", "--user", "--map-root-user", "--mount", sys.executable, "-c", FILLED, str(tmp_path)]
    if subprocess.run([*command[:4], "true"], check=False, capture_output=True).returncode:
        pytest.skip("this kernel allows no mount namespace")
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    *errors, last = done.stdout.splitlines()
    assert len(errors) == 2, done.stdout + done.stderr
    for error in errors:
        assert "/small (tmpfs) is full" in error  # before it stands what the MPI says, each in its own words
        assert "Free space there, make the files smaller, or name another directory." in error
        assert "time limit" not in error
    assert last == "kept: ['mpi.latency'] left: []"


def test_files_of_a_killed_run_are_removed(tmp_path: Path) -> None:
    need(fio)
    program = (
        "from labkit import benchmarks, tools; from labkit.point.spec import Effort, Spec\n"
        f"spec = Spec(benchmark='storage.write', size=4096, ranks=1, options={{'directory': {str(tmp_path)!r}}})\n"
        "spec = benchmarks.resolve(spec)\n"
        "tools.run(tools.available(benchmarks.tools_of(spec.benchmark), spec, Effort(time_cap=60)))\n"
    )
    with subprocess.Popen([sys.executable, "-c", program]) as lab:
        until(lambda: list(tmp_path.glob("labkit-run-*/data")), runs=lab)
        lab.kill()
    until(lambda: not list(tmp_path.iterdir()))


# ---- fio


@pytest.mark.parametrize("engine", ["psync", "libaio", "io_uring"])
def test_fio_reads_with_every_engine(engine: str, tmp_path: Path) -> None:
    need(fio)
    if storage.unfit(tmp_path, needs=0, direct=True):
        pytest.skip("temporary files are in memory here")
    options = {"cache": "direct", "pattern": "random", "engine": engine, "depth": 1 if engine == "psync" else 4}
    outcome = run("storage.read", 4096, TIMES, file_size="256Ki", directory=str(tmp_path), **options)
    assert outcome.time_ns.shape == (1, 20)
    assert f"--ioengine={engine}" in outcome.command
    assert texts(outcome.badges) == ()


def test_fio_mixes_reads_and_writes_at_an_offered_rate(tmp_path: Path) -> None:
    need(fio)
    outcome = run("storage.mixed", 4096, TIMES, file_size="256Ki", offered=2000, directory=str(tmp_path))
    assert set(outcome.extras["write"].ravel()) == {0, 1}
    assert outcome.extras["write"].shape == outcome.time_ns.shape == (1, 20)
    assert "--rate_iops=1400,600 --rate_process=poisson" in outcome.command
    ways = {value.labels["direction"] for value in outcome.reported if value.name == "iops_per_s"}
    assert ways == {"read", "write"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": 2, "engine": "psync"}, "psync does one I/O at a time"),
        ({"depth": 2}, "or set engine=io_uring"),
        ({"offered": -1}, "rate above 0"),
        ({"depth": 0}, "at least 1 must be under way"),
    ],
)
def test_fio_refuses_queues_that_cannot_be(options: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        fio.read(resolved("storage.read", **options), TIMES)


def test_a_log_of_both_directions_is_read_in_its_order() -> None:
    latency, end, write = fio_layout.mixed_log("1, 700, 0, 4096, 0, 0\n2, 900, 1, 4096, 4096, 0\n")
    assert (latency.tolist(), end.tolist(), write.tolist()) == ([700, 900], [10**6, 2 * 10**6], [0, 1])
    with pytest.raises(DataError, match="no line"):
        fio_layout.mixed_log("")


# ---- iozone


def test_iozone_runs_every_test(tmp_path: Path) -> None:
    need(iozone)
    outcome = run(
        "storage.iozone",
        0,
        tests="stride,random,backward,read",
        max_file_size="64Ki",
        min_record_size="64Ki",
        directory=str(tmp_path),
    )
    assert {value.labels["test"] for value in outcome.reported} == set(iozone_layout.TESTS.values()) - {
        "record rewrite"
    }
    with pytest.raises(SpecError, match="strided"):
        iozone.table(resolved("storage.iozone", 0, tests="strided"), Effort())


@pytest.mark.slow
def test_iozone_runs_several_processes(tmp_path: Path) -> None:
    need(iozone)
    options = {"test": "random readers", "processes": 2, "file_size": "128Ki", "directory": str(tmp_path)}
    outcome = run("storage.iozone_throughput", 65536, **options)
    assert outcome.command.endswith("-t 2 -s 128k -r 64k -i 0 -i 2 -F data0 data1")
    assert reported(outcome, "bandwidth_MBps") > 0
    assert outcome.meta["file_B"] == 2 * 128 * 1024
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SpecError, match="processes=0"):
        iozone.processes(resolved("storage.iozone_throughput", 65536, processes=0), Effort())


def test_saved_tables_of_every_test_hold_what_was_printed() -> None:
    text = (GOLDEN / "iozone" / "auto_R_all_tests.txt").read_text()
    cells = {
        (value.labels["test"], value.labels["file_size_B"], value.labels["record_size_B"]): value.value
        for value in iozone_layout.parse(text)
    }
    assert len(cells) == 8 * 15
    read = iozone.table(resolved("storage.iozone", 0), Effort()).parse(text, Path())
    assert [(one.code, one.value("below_KiB")) for one in read.warnings] == [("coarse-clock", 64)]
    assert cells["stride read", 262144, 32768] == pytest.approx(43286099 * 1024e-6)
    assert cells["backward read", 65536, 4096] == pytest.approx(4018152 * 1024e-6)
    assert cells["random write", 131072, 65536] == pytest.approx(18012359 * 1024e-6)


def test_saved_throughput_is_that_of_the_test() -> None:
    text = (GOLDEN / "iozone" / "throughput_t2_all.txt").read_text()
    values = {value.name: value.value for value in iozone_layout.throughput(text, "stride readers")}
    assert values == {
        "bandwidth_MBps": pytest.approx(6398721 * 1024e-6),
        "parent_bandwidth_MBps": pytest.approx(110628.82 * 1024e-6),
    }
    with pytest.raises(DataError, match="0 results of mixed workload"):
        iozone_layout.throughput(text, "mixed workload")
    with pytest.raises(DataError, match="iozone test complete"):
        iozone_layout.throughput(text.replace("iozone test complete", ""), "readers")


# ---- over the network


@pytest.mark.parametrize(("way", "backing"), [("read", "file"), ("write", "memory")])
def test_fio_reads_and_writes_what_nbdkit_serves(way: str, backing: str, tmp_path: Path) -> None:
    need(nbdkit)
    options = {"backing": backing, "depth": 2, "file_size": "256Ki", "directory": str(tmp_path)}
    outcome = run(f"storage.network_{way}", 4096, TIMES, **options)
    assert outcome.time_ns.shape == (1, 20)
    assert outcome.version == tools.version("nbdkit") != "unknown"
    assert (outcome.meta["filesystem"] == "memory of nbdkit") == (backing == "memory")
    assert outcome.meta["payload_B"] == 20 * 4096
    assert texts(outcome.badges)[0] == "loopback"
    assert list(tmp_path.iterdir()) == []


def test_a_device_that_cannot_be_is_refused() -> None:
    for options, message in (({"file_size": "2Ki"}, "up to the device's 2048 B"), ({"depth": 0}, "at least 1")):
        with pytest.raises(SpecError, match=message):
            resolved("storage.network_read", 4096, **options)


# ---- erasure codes


def codes() -> None:
    """Skip, naming the packages, unless all codes can be loaded."""
    for name in _erasure_codes.CODES:
        try:
            _erasure_codes.Code(name, 4, 2)
        except RuntimeError as error:
            pytest.skip(str(error))


@pytest.mark.parametrize("code", _erasure_codes.CODES)
def test_erasure_codes_give_the_data_back(code: str) -> None:
    codes()
    outcome = run("storage.decode", 10_000, TIMES, code=code, k=5, m=3, erasures=3)
    assert outcome.time_ns.shape == (1, 20)
    assert outcome.meta["verified"]
    assert outcome.version == tools.version("erasure_codes") != "unknown"


def test_encoding_counts_the_cpu() -> None:
    codes()
    outcome = run("storage.encode", 65536, TIMES)
    assert 0 < reported(outcome, "cpu") <= 101


def test_data_that_come_back_wrong_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    codes()
    good = _erasure_codes.Code.decoded

    def bad(self: _erasure_codes.Code, *, read: bool) -> bytes:
        return good(self, read=read)[:-1] + b"?"

    monkeypatch.setattr(_erasure_codes.Code, "decoded", bad)
    plan = {"operation": "encode", "code": "isa_l_rs_vand", "k": 4, "m": 2, "erasures": 0, "size": 4096, "seed": 1}
    with pytest.raises(RuntimeError, match="are not those encoded"):
        _erasure_codes.run(plan)


def test_absent_codes_name_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_erasure_codes, "library", lambda: None)
    job = erasure_codes.encode(resolved("storage.encode"), TIMES)
    assert job.missing == ["liberasurecode.so.1"]
    assert "liberasurecode1" in job.tool.package
    with pytest.raises(RuntimeError, match="Install Debian package liberasurecode1"):
        _erasure_codes.Code("isa_l_rs_vand", 4, 2)
    with pytest.raises(SpecError, match="1 to 2 of k=4"):
        resolved("storage.decode", erasures=3)
    with pytest.raises(DataError, match="wanted one JSON object"):
        _own_json.parsed("nonsense", Path())


# ---- heat maps


def _cells(spec: Spec, factor: float) -> Samples:
    values = tuple(
        Reported(
            "bandwidth_MBps",
            "MB/s",
            "mean",
            factor * file / record,
            labels={"test": "read", "file_size_B": file, "record_size_B": record},
        )
        for file in (65536, 131072)
        for record in (4096, 16384)
    )
    return made.samples(spec, origin="reported", reported=values, meta={"engine": "iozone"})


def test_heat_maps_share_axes_and_colours() -> None:
    points = [_cells(Spec(benchmark="storage.iozone", size=0, ranks=1), factor) for factor in (1.0, 100.0)]
    panels = {name: records.reported([point]) for name, point in zip(("disk", "tmpfs"), points, strict=True)}
    figure = figures.heat_maps(panels, "file_size_B", "record_size_B", "bandwidth_MBps")
    slow, fast = (one for one in figure.data if one.type == "heatmap")  # texts stand apart
    assert slow.coloraxis == fast.coloraxis == "coloraxis"
    assert np.allclose(np.array(fast.z, float) - np.array(slow.z, float), 2)  # decades
    assert list(slow.x) == list(fast.x) == [12.0, 14.0]
    assert [one.text for one in figure.layout.annotations] == ["disk", "tmpfs"]
    assert "1k" in figure.layout.coloraxis.colorbar.ticktext
    assert fast.text[1][0] == "3.2k"
    none = records.reported([_cells(Spec(benchmark="storage.iozone", size=0, ranks=1), 0.0)])
    with pytest.raises(DataError, match="above 0"):
        figures.heat_maps({"disk": none}, "file_size_B", "record_size_B", "bandwidth_MBps")


@pytest.mark.slow
@pytest.mark.netns
@pytest.mark.parametrize("name", ["storage", "iozone", "erasure_coding", "storage_over_the_network"])
def test_a_notebook_of_storage_measures_and_draws(name: str, tmp_path: Path) -> None:
    need(fio, iozone, nbdkit)
    codes()
    tiny: dict[str, dict[str, object]] = {
        "storage": {"sizes": "4Ki", "depths": "1,4", "loads": "500", "iozone": False},
        "iozone": {"files": "64Ki:128Ki", "processes": "1,2", "process_tests": "readers"},
        "erasure_coding": {"sizes": "4Ki,64Ki", "shapes": "4+2,6+3", "codes": "isa_l_rs_vand,jerasure_rs_vand"},
        "storage_over_the_network": {"sizes": "4Ki,16Ki", "depths": "1,4", "loads": "500", "device": "256Ki"},
    }
    study = studies.get(name)(campaign=str(tmp_path / "c"), launches=1, time_cap=0.02, **tiny[name])
    study.run()
    assert len(study.records) == len(study.points)
    calls = {
        "storage": ("read_figure", "write_figure", "queue_figure", "load_figure", "iometer", "where", "findings"),
        "iozone": ("processes_figure", "findings"),
        "erasure_coding": ("erasures_figure", "processors", "findings"),
        "storage_over_the_network": ("read_figure", "write_figure", "depth_figure", "load_figure", "findings"),
    }
    shown = [getattr(study, call)() for call in calls[name]]
    shown += [study.maps(test) for test in ("read", "write", "stride read")] if name == "iozone" else []
    assert NOTHING not in shown


def test_the_table_of_rates_says_how_many_requests_they_count() -> None:
    study = studies.get("storage")(measure=False, campaign=str(project.CAMPAIGNS / "examples" / "two-cores"))
    table = study.iometer()
    assert isinstance(table, parts.Table)
    place = [column.title for column in table.columns].index("requests in a launch")
    counts = {row[0]: row[place] for row in table.rows}
    assert counts["read, 4 KiB, random, direct, 500 offered in a second"] == "5"
