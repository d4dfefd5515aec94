"""Records of starts: what the points of a start share is written once, and a point stays small on any number of ranks."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from labkit import benchmarks, testbeds
from labkit.errors import DataError, LostError
from labkit.io import atomic, safe_read, supervise
from labkit.point.spec import Effort, Spec
from labkit.read import records
from labkit.run import bounds, lines, measuring, ranks
from labkit.run.measuring import Point
from labkit.run.progress import Counter
from labkit.store import archive, merging, samples, saving
from labkit.store.campaign import Campaign
from labkit.store.derived import EXAMPLES
from labkit.store.events import read
from labkit.store.samples import Samples, compacted, start
from labkit.store.samples.start import Start
from labkit.worker import Frame

from . import made
from .test_store import known

MANY, HOSTS = 4096, 1024
NAMES = [f"rack{number // 32:02}-node{number:04}" for number in range(HOSTS)]
FACTS: dict[str, Any] = {
    "engine": "c",
    "library": "Open MPI 5.0.8",
    "verified": True,
    "stopped_by": "ci",
    "timing": "each",
    "cadence": "streaming",
    "badges": [],
    "warnings": [],
    "start": "2026-11-22T06:49:29.959+00:00",
    "elapsed": 0.1,
    "seed": 1,
    "load_start": {},
    "load_end": {},
}


def record(count: int = 4) -> Start:
    """The record of a start of so many ranks."""
    hosts = [NAMES[rank * HOSTS // MANY] for rank in range(count)]
    meta = {"rank_hosts": hosts, "rank_affinity": [[rank % 4] for rank in range(count)], "command": ["mpirun", "PLAN"]}
    return Start.of(
        {"hostname": "n1", "cpu_model": "Z80", "kernel": "6.1"}, meta, Spec(benchmark="mpi.bcast").as_dict()
    )


def point(launch: int = 0, shared: Start | None = None) -> Samples:
    shared = shared or record()
    meta = {**FACTS, **shared.meta, "fingerprint": f"{launch:016x}"}
    times = np.arange(10) + launch
    return made.samples("mpi.latency", times, launch=launch, host=shared.host, meta=meta, start=shared)


def filled(folder: Path, count: int = 3) -> Campaign:
    campaign = Campaign(folder)
    with campaign.saving() as group:
        for launch in range(count):
            group.add(point(launch), "0" * 16)
    return campaign


def header(path: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(samples.read(path).header)
    return values


def test_the_facts_of_a_start_are_written_once_and_read_with_every_point(tmp_path: Path) -> None:
    campaign = filled(tmp_path / "c")
    assert [path.name for path in (tmp_path / "c" / "starts").iterdir()] == [f"{record().digest}.json"]
    paths = list(campaign.files("mpi.latency").points.values())
    for path in paths:
        assert header(path)["start_record"] == record().digest
        assert header(path)["host"] == {"hostname": "n1", "cpu_model": "Z80"}, "for versions that know no records"
        assert not {"rank_hosts", "command"} & set(header(path)["meta"])
    for one in (*campaign.samples(), *(samples.load(path) for path in paths)):
        assert one.host == record().host
        assert one.meta["rank_affinity"] == [[0], [1], [2], [3]]
        assert one.meta["command"] == ["mpirun", "PLAN"]
        assert not one.warnings
    assert [known(one) for one in campaign.samples()] == [known(point(launch)) for launch in range(3)]


@pytest.mark.parametrize("way", ["compact", "export", "merge", "merge twice"])
def test_records_go_where_their_points_go(tmp_path: Path, way: str) -> None:
    campaign, before = filled(tmp_path / "c"), [known(point(launch)) for launch in range(3)]
    headers = [raw.header for _, raw in campaign.files("mpi.latency").read()]
    if way == "compact":
        campaign.compact()
        assert [raw.header for _, raw in campaign.files("mpi.latency").read()] == headers
    elif way == "export":
        archive.export(campaign.path, tmp_path / "c.zip")
        with archive.opened(tmp_path / "c.zip") as folder:
            assert [known(one) for one in Campaign(folder).samples()] == before
    else:
        contents = [samples.content(one) for one in campaign.samples()]
        merged = merging.merge([campaign.path], tmp_path / "m")
        assert merged.added == 3
        assert [samples.content(one, merging.MARKS) for one in merged.campaign.samples()] == contents
        if way == "merge twice":
            assert merging.merge([campaign.path], tmp_path / "m").same == 3
        campaign = merged.campaign
        assert [one.meta["rank_hosts"] for one in campaign.samples()] == [record().meta["rank_hosts"]] * 3
        assert not (campaign.path / "origins" / "c" / "starts").exists()
    assert archive.verify(campaign.path)[1] == []


def forged(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"Z80", b"Z81"))


def linked(path: Path) -> None:
    other = path.parent.parent.parent / "elsewhere.json"
    path.rename(other)
    path.symlink_to(other)


def folder_linked(path: Path) -> None:
    other = path.parent.parent.parent / "elsewhere"
    path.parent.rename(other)
    path.parent.symlink_to(other)


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def too_large(path: Path) -> None:
    with path.open("ab") as file:
        file.truncate(start.MOST + 1)


@pytest.mark.parametrize("harm", [Path.unlink, forged, linked, folder_linked, piped, too_large])
def test_numbers_stay_readable_without_the_record(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    campaign = filled(tmp_path / "c")
    harm(campaign.path / start.file_name(record().digest))
    for one in campaign.samples():
        assert one.time_ns.tolist() == [list(range(one.launch, one.launch + 10))]
        (warning,) = one.warnings
        assert warning.code == start.MISSING
        assert "hosts, affinities, command and machine are not known" in warning.text
    row = records.table(campaign.samples()).iloc[0]
    assert (row["cpu_model"], row["host"], row["library"]) == ("Z80", "n1", "Open MPI 5.0.8")
    problems = archive.verify(campaign.path)[1]
    assert len(problems) == 1, problems
    assert start.FOLDER in problems[0]
    with pytest.raises(DataError, match="is damaged"), archive.opened(campaign.path):
        pass


def test_a_record_that_is_missing_is_named_once_with_the_number_of_its_points(tmp_path: Path) -> None:
    campaign = filled(tmp_path / "c")
    shutil.rmtree(campaign.path / "starts")
    (problem,) = archive.verify(campaign.path)[1]
    assert problem.startswith(f"starts/{record().digest}.json: missing; needed by 3 points, the first in samples/")


def test_other_files_among_the_records_are_named(tmp_path: Path) -> None:
    campaign = filled(tmp_path / "c")
    (campaign.path / "starts" / "notes.json").write_text("{}")
    (problem,) = archive.verify(campaign.path)[1]
    assert problem == "starts/notes.json: not the name of a start's record. Move it out of starts/"


@pytest.mark.parametrize("name", ["../../../../etc/passwd", "0" * 15, "0" * 16 + "\n", 7, None, ["0" * 16]])
def test_the_name_of_a_record_is_no_path(tmp_path: Path, name: object) -> None:
    campaign = filled(tmp_path / "c", 1)
    (raw,) = (raw for _, raw in campaign.files("mpi.latency").read())
    fields = json.loads(raw.header) | {start.KEY: name}
    with pytest.raises(DataError, match="must be sixteen hex digits"):
        samples.decode(dataclasses.replace(raw, header=json.dumps(fields).encode()), "x", campaign.starts)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 2}, "has format 2"),
        ({"host": []}, "has no table host"),
        ({"spec": {"size": 8}}, "other fields of a spec"),
        ({"spec": {"hosts": "a"}}, "other fields of a spec"),
        ({"lists": {"rank_hosts": {"values": ["a"], "runs": [[0, 10**9]]}}}, "too long"),
        ({"lists": {"rank_hosts": {"values": ["a"], "runs": [[1, 1]]}}}, "runs outside of it"),
        ({"lists": {"rank_hosts": {"values": ["a"], "runs": [[0, True]]}}}, "not pairs of numbers"),
        ({"lists": {"rank_hosts": ["a"]}}, "has no list 'rank_hosts'"),
    ],
)
def test_a_record_of_another_shape_is_refused(change: dict[str, Any], said: str) -> None:
    content = json.dumps(json.loads(record().content) | change).encode()
    with pytest.raises(ValueError, match=said):
        start.parsed(content, start.digest(content))
    with pytest.raises(ValueError, match="its checksum is not the one in its name"):
        start.parsed(content, "0" * 16)


def test_a_record_of_many_ranks_is_small_and_complete() -> None:
    whole = record(MANY)
    assert len(whole.content) < 150_000
    assert start.parsed(whole.content, whole.digest) == whole


@pytest.mark.slow
def test_a_point_of_many_ranks_and_hosts_has_few_metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames as 4096 ranks on 1024 hosts send them; the parent does with them what it always does."""
    spec = Spec(
        benchmark="mpi.allreduce",
        size=8,
        ranks=MANY,
        ppn=4,
        launcher="openmpi",
        hosts=tuple(f"{name}:4" for name in NAMES),
        environment={f"OMPI_MCA_long_name_{i}": "x" * 40 for i in range(20)},
        options={"timing": "each", "binding": "c"},
    )
    names = [f"interface{i}" for i in range(40)]
    ready = {
        "engine": "c",
        "size": MANY,
        "affinity": [0],
        "timer_overhead_ns": 20.0,
        "library": "Open MPI v5.0.8",
        "rank_hosts": [NAMES[rank // 4] for rank in range(MANY)],
        "rank_affinity": [list(range(64)) for _ in range(MANY)],
    }
    facts = {
        "stopped_by": "ci",
        "warmup": 10,
        "chunks": [10] * 8,
        "timed_s": 0.123456789012345,
        "elapsed": 0.123456789012345,
        "verified": True,
        "involuntary_switches": 0,
        "interface_B": {name: 10**12 + i for i, name in enumerate(names)},
        "host_B": {host: {name: [10**12, 10**12] for name in names} for host in NAMES},
        "evidence": {f"link{i}.{way}_bytes": 10**9 + i for i in range(500) for way in ("rx", "tx")},
        "loop_ns": [[123456789] * 8 for _ in range(64)],
        "rows": list(range(64)),
    }
    one = Point(spec, 0, "0" * 16, "Open MPI 5.0.8", retried="the first start failed. " * 6)
    frames = [
        Frame({"kind": "ready"} | ready),
        Frame({"kind": "point", "index": 0}),
        Frame({"kind": "samples", "index": 0, "shape": [1, 64, 80]} | facts, np.arange(64 * 80)),
    ]
    (tmp_path / "frames").write_bytes(b"".join(frame.encode() for frame in frames))
    line = lines.Line(["cat", str(tmp_path / "frames"), *[f"--host={name}" for name in NAMES]], {})
    monkeypatch.setattr(lines, "line_for", lambda points, effort: line)
    genuine = supervise.start
    monkeypatch.setattr(supervise, "start", lambda command, **more: genuine(command[:2], **more))
    monkeypatch.setattr(ranks.Start, "_check", lambda self, header: None)
    campaign = Campaign(tmp_path / "c")
    testbed = testbeds.Testbed("local", facts={"hosts": NAMES})
    assert list(ranks.run([one], Effort(), campaign, testbed, Counter(1, None))) == []
    (raw,) = (raw for _, raw in campaign.files("mpi.allreduce").read())
    assert len(raw.header) <= 4096
    (sample,) = campaign.samples()
    assert sample.spec == spec
    assert sample.meta["rank_hosts"] == ready["rank_hosts"]
    assert sample.meta["rank_affinity"] == ready["rank_affinity"]
    assert len(sample.meta["command"]) > HOSTS
    assert sample.meta["host_B"]["hosts"] == HOSTS
    assert sample.meta["testbed"] == {"hosts": NAMES}
    assert archive.verify(campaign.path)[1] == []


def test_counters_of_few_hosts_stay_and_those_of_many_keep_totals_and_extremes() -> None:
    few = {name: {"eth0": (i, 2 * i), "lo": (0, 0)} for i, name in enumerate(NAMES[:16])}
    assert bounds.by_host(few) == {name: {k: list(v) for k, v in both.items()} for name, both in few.items()}
    many = {name: {"eth0": (i, 2 * i)} for i, name in enumerate(NAMES)}
    total = sum(range(HOSTS))
    assert bounds.by_host(many) == {
        "hosts": HOSTS,
        "total": {"eth0": [total, 2 * total]},
        "least": {"eth0": [NAMES[0], 0, 0]},
        "most": {"eth0": [NAMES[-1], HOSTS - 1, 2 * HOSTS - 2]},
    }


STUB = """
import sys
import numpy as np
from labkit.worker import INPUT, Frame, Plan
from labkit.worker.__main__ import _received
word = sys.argv[1]
plan = Plan.decode(_received(None, 1) if word.startswith(INPUT) else word)
out = sys.stdout.buffer
out.write(Frame({"kind": "ready", "engine": "c", "size": 1, "affinity": [0], "timer_overhead_ns": 1.0}).encode())
facts = {"stopped_by": "ci", "warmup": 1, "chunks": [9], "timed_s": 0.0, "interface_B": {}, "host_B": {}, "evidence": {}}
facts |= {"involuntary_switches": 0, "verified": True, "elapsed": 0.0, "rows": [0], "shape": [1, 1, 9]}
for index, spec in enumerate(plan.specs):
    out.write(Frame({"kind": "point", "index": index}).encode())
    if spec.size == 13:
        out.write(Frame({"kind": "failed", "index": index, "reason": "unlucky"}).encode())
    else:
        out.write(Frame({"kind": "samples", "index": index} | facts, np.arange(9)).encode())
out.write(Frame({"kind": "done", "peak_rss": 1 << 20}).encode())
"""


def stub(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a program in the place of ranks that sends points which took no time."""
    genuine = lines.line_for

    def of(points: Any, effort: Effort) -> lines.Line:
        line = genuine(points, effort)
        return lines.Line([sys.executable, "-c", STUB, line.command[-1]], {}, None, line.plan)

    monkeypatch.setattr(lines, "line_for", of)


def clock(count: int) -> list[Point]:
    """Points of one start."""
    (one,) = measuring.expand([Spec(benchmark="micro.clock", ranks=1)], Effort(launches=1))
    return [Point(one.spec.replace(size=size), 0, f"{size:016x}", one.library) for size in range(count)]


@pytest.mark.parametrize("word", [100, lines.WORD])
@pytest.mark.slow
def test_work_per_point_does_not_grow_with_the_points_of_a_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: int
) -> None:
    calls = {"equal": 0, "fsync": 0, "describe": 0, "encode": 0, "events": 0}

    def counted(name: str, genuine: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **more: Any) -> Any:
            calls[name] += 1
            return genuine(*given, **more)

        return call

    stub(monkeypatch)
    monkeypatch.setattr(lines, "WORD", word)
    monkeypatch.setattr(Spec, "__eq__", counted("equal", Spec.__eq__))
    monkeypatch.setattr(os, "fsync", counted("fsync", os.fsync))
    monkeypatch.setattr(ranks.host, "describe", counted("describe", ranks.host.describe))
    monkeypatch.setattr(lines.Plan, "encode", counted("encode", lines.Plan.encode))
    monkeypatch.setattr(saving, "LONGEST", 60.0)
    campaign, points = Campaign(tmp_path / "c"), clock(300)
    acknowledge = campaign.acknowledge
    monkeypatch.setattr(campaign, "acknowledge", counted("events", acknowledge))
    calls |= dict.fromkeys(calls, 0)
    (failure,) = ranks.run(points, Effort(), campaign, testbeds.Testbed("local"), Counter(300, None))
    assert failure.point is points[13]
    assert calls["equal"] == 0
    assert calls["describe"] == calls["encode"] == 1
    groups = 1 + -(-(299 - 13) // saving.MOST)
    assert calls["events"] == groups
    assert calls["fsync"] == 299 + groups + 3, "a file for each point, a folder for each group, the record"
    assert len(campaign.done()) == 299
    saved = [event["file"] for event in read(campaign.path) if event.kind == "saved"]
    assert len(set(saved)) == len(saved) == 299
    assert archive.verify(campaign.path)[1] == []


def test_a_point_is_acknowledged_only_when_its_file_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign, log = Campaign(tmp_path / "c"), list[str]()
    settle, acknowledge = atomic.settle, campaign.acknowledge

    def settled(path: Path) -> None:
        settle(path)
        log.append(f"settle {safe_read.resolved(path).name.removeprefix('.')[:18]}")

    def acknowledged(happened: Any) -> None:
        log.extend(f"told {event['file'][-26:-8]}" for event in happened)
        acknowledge(happened)

    monkeypatch.setattr(atomic, "settle", settled)
    monkeypatch.setattr(campaign, "acknowledge", acknowledged)
    with campaign.saving() as group:
        for launch in range(3):
            group.add(point(launch), "0" * 16)
            assert not list((campaign.path / "samples").glob("*/[!.]*")), "no name before the content is on the disk"
        assert log[0].startswith(f"settle {record().digest}"), "the record comes before its points"
    names = [f"{'0' * 16}-{launch}" for launch in range(3)]
    assert sorted(log[-7:-4]) == [f"settle {name}" for name in names]
    assert log[-4:] == ["settle mpi.latency", *(f"told {name}" for name in names)]
    assert not list(campaign.path.rglob(".*")), "nothing is left aside"


@pytest.mark.parametrize("error", [KeyboardInterrupt, DataError])
def test_points_that_wait_are_acknowledged_when_something_else_fails(
    tmp_path: Path, error: type[BaseException]
) -> None:
    campaign = Campaign(tmp_path / "c")

    def interrupted() -> None:
        with campaign.saving() as group:
            group.add(point(0), "0" * 16)
            raise error("stop")

    with pytest.raises(error, match="stop"):
        interrupted()
    assert len(campaign.done()) == 1
    assert [event.kind for event in read(campaign.path)] == ["saved"]


@pytest.mark.parametrize("good", [0, 1])
def test_a_full_disk_leaves_nothing_aside_and_no_point_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, good: int
) -> None:
    campaign, digest, left = Campaign(tmp_path / "c"), saving.hashlib.sha256, [good]

    def full(content: bytes) -> Any:
        if left == [0]:
            raise OSError(28, "No space left on device")
        left[0] -= 1
        return digest(content)

    def measured() -> None:
        with campaign.saving() as group:
            monkeypatch.setattr(saving, "hashlib", SimpleNamespace(sha256=full))  # asked when the file is written
            for launch in range(3):
                group.add(point(launch), "0" * 16)

    with pytest.raises(LostError, match="No space left on device"):
        measured()
    assert [launch for *_, launch in campaign.done()] == [0][:good]
    assert [event.kind for event in read(campaign.path)] == ["saved"][:good]
    assert not list(campaign.path.rglob(".*")), "nothing is left aside"


def test_points_wait_a_fifth_of_a_second_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign, now = Campaign(tmp_path / "c"), [100.0]
    monkeypatch.setattr(saving.time, "monotonic", lambda: now[0])
    with campaign.saving() as group:
        assert group.remaining is None
        group.add(point(0), "0" * 16)
        assert group.remaining == pytest.approx(saving.LONGEST)
        now[0] += 0.1
        group.add(point(1), "0" * 16)
        assert group.remaining == pytest.approx(saving.LONGEST - 0.1)
        assert campaign.done() == set()
        now[0] += 0.2
        group.add(point(2), "0" * 16)
        assert group.remaining is None
        assert len(campaign.done()) == 3


def test_a_campaign_of_before_reads_as_before(tmp_path: Path) -> None:
    plain = dataclasses.replace(point(), start=None)
    samples.save(plain, tmp_path / "c" / "samples" / "mpi.latency" / f"{'0' * 16}-0.parquet")
    (path,) = (tmp_path / "c").rglob("*.parquet")
    assert start.KEY not in header(path)
    assert known(samples.load(path)) == known(plain)
    assert samples.load(path).start is None
    assert compacted.fits(samples.read(path))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("{home}/.cache/labkit/ranks/a.pyc", "HOME/.cache/labkit/ranks/a.pyc"),
        ("{venv}/bin/python", "VENV/bin/python"),
        (
            "OMPI_MCA_plm_rsh_agent={labkit}/testbeds/_virtual_host.sh",
            "OMPI_MCA_plm_rsh_agent=LABKIT/testbeds/_virtual_host.sh",
        ),
        ("LD_LIBRARY_PATH={venv}/lib:{home}/lib", "LD_LIBRARY_PATH=VENV/lib:HOME/lib"),
        ("cd '{home}' && ls", "cd 'HOME' && ls"),
        ("{home}", "HOME"),
        ("{home}-of-somebody-else/a", "{home}-of-somebody-else/a"),
        ("/data{home}/a", "/data{home}/a"),
        ("/usr/bin/mpirun", "/usr/bin/mpirun"),
    ],
)
def test_a_command_is_kept_without_folders_of_the_machine(
    given: str, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = {"home": "/people/ada", "venv": "/people/ada/venv", "labkit": "/people/ada/labkit/labkit"}
    names = {folders["labkit"]: "LABKIT", folders["venv"]: "VENV", folders["home"]: "HOME"}
    monkeypatch.setattr(lines, "_folders", lambda: names)
    assert lines.portable([given.format(**folders)]) == [kept.format(**folders)]


def test_folders_that_commands_leave_out_are_those_of_this_process() -> None:
    lines._folders.cache_clear()
    known = {name: folder for folder, name in lines._folders().items()}
    assert known["LABKIT"] == str(Path(lines.__file__).parents[1])
    assert known["HOME"] == str(Path.home())
    assert list(map(len, lines._folders())) == sorted(map(len, lines._folders()), reverse=True)


def test_recorded_examples_name_no_folder_of_a_person() -> None:
    """Folders of system, of temporary files and of devices are the same on every machine."""
    texts = [(path, path.read_bytes()) for path in EXAMPLES.glob("*/starts/*.json")]
    texts += [
        (path, raw.header)
        for path in EXAMPLES.glob(f"*/samples/*/{compacted.PREFIX}*")
        for _, raw in compacted.read(path)
    ]
    assert len(texts) > 3000
    personal = re.compile(rb"(?<![\w.)])/(?:home|root|opt|people|Users|work|tmp/(?!labkit-))[^\s\"',]*")
    assert not {(path.parent.parent.name, *personal.findall(text)) for path, text in texts if personal.search(text)}


def test_ranks_may_be_silent_for_an_iteration_that_takes_long_by_definition() -> None:
    effort = Effort(time_limit=60)
    assert ranks.patience(benchmarks.resolve(Spec(benchmark="mpi.latency")), effort) == 60
    assert ranks.patience(benchmarks.resolve(Spec(benchmark="mpi.init", size=0)), effort) == 60
    like = benchmarks.resolve(Spec(benchmark="storage.io500_like", options={"stonewall": 300.0}))
    assert ranks.patience(like, effort) == 60 + ranks.LONGEST * 4 * 300
