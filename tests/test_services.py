"""Microservices: answers are those of an exact computation, times count from the due moment, critical paths add up."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray

from labkit import benchmarks, tools
from labkit.benchmarks import ToolBenchmark
from labkit.errors import DataError, LaunchError, SpecError
from labkit.formats import microservices as layout
from labkit.notes import texts
from labkit.spec import Effort, Spec
from labkit.tools import _microservices, microservices
from tests.test_tools import mark, marked, reported

__all__ = ["mark"]  # a fixture
SHORT = Effort(time_cap=0.3, time_limit=20)
HDSEARCH = "services.hdsearch"
HEAD = struct.Struct("=IIqQQQ")  # wire.h


def resolved(name: str, transport: str = "auto", size: int | None = None, **options: object) -> Spec:
    size = {HDSEARCH: 512}.get(name, 0) if size is None else size
    return benchmarks.resolve(Spec(benchmark=name, size=size, transport=transport, options=options))  # type: ignore[arg-type]


def job(name: str, effort: Effort = SHORT, transport: str = "auto", **options: object) -> tools.Invocation:
    benchmark = benchmarks.get(name)
    assert isinstance(benchmark, ToolBenchmark)
    return tools.available(benchmark.tools, resolved(name, transport, **options), effort)  # type: ignore[arg-type]


def run(name: str, effort: Effort = SHORT, transport: str = "auto", **options: object) -> tools.Outcome:
    return tools.run(job(name, effort, transport, **options))


def program() -> str:
    if microservices.program() == microservices.ABSENT:
        pytest.skip(microservices.ABSENT)
    return microservices.program()


@contextmanager
def served(folder: Path, plan: Sequence[dict[str, object]]) -> Iterator[subprocess.Popen[bytes]]:
    """Services of a plan, the first on the socket `front`; yields its process."""
    (folder / "plan").write_text(json.dumps(plan))
    words = [sys.executable, "-I", "-S", _microservices.__file__, program(), "plan", "unix", "", "0", "front", "[]"]
    server = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    family = psutil.Process(server.pid)
    try:
        end = time.monotonic() + 30
        while not (folder / "front").exists() and time.monotonic() < end:
            time.sleep(0.02)
        yield server
    finally:
        for process in [family, *family.children(recursive=True)]:
            process.kill()
        server.wait()


def tiers(service: str, leaves: int, *arguments: str, leaf: Sequence[str] = ()) -> list[dict[str, object]]:
    """The plan of a mid-tier and its leaves; `leaf` has further arguments of the leaves alone."""
    data = [f"service={service}", f"leaves={leaves}", "lifetime=60", *arguments]
    front = {"arguments": [*data, "role=front"], "asks": [*range(1, leaves + 1)]}
    return [front, *({"arguments": [*data, "role=leaf", f"leaf={k}", *leaf], "asks": []} for k in range(leaves))]


def asked(path: Path, payload: bytes, operation: int = 0) -> bytes:
    """The answer of a service to one request."""
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(20)
        one.connect(str(path))
        one.sendall(HEAD.pack(len(payload), 0, operation, 7, 0, 0) + payload)
        data = b""
        while len(data) < HEAD.size or len(data) < HEAD.size + HEAD.unpack_from(data)[0]:
            data += one.recv(65536)
    assert HEAD.unpack_from(data)[3] == 7
    return data[HEAD.size :]


def loaded(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [program(), "load", "address=unix:front", "out=times", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def unit(stream: int, place: NDArray[np.uint64], seed: int = 1) -> NDArray[np.float64]:
    """`unit` of service.h."""
    return (drawn(stream, place, seed) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def drawn(stream: int, place: NDArray[np.uint64], seed: int = 1) -> NDArray[np.uint64]:
    """`drawn` of service.h."""
    whole = (1 << 64) - 1
    start = (seed * 0xD1342543DE82EF95 + stream * 0x9E3779B97F4A7C15) & whole
    z = np.uint64(start) + place * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


# ---- answers


def vectors(numbers: NDArray[np.uint64], records: int, dimensions: int) -> NDArray[np.float32]:
    chosen = np.where(numbers < records, numbers, numbers * np.uint64(31))
    centres = drawn(1, chosen) % np.uint64(64)
    d = np.arange(dimensions, dtype=np.uint64)
    centre = unit(2, centres[:, None] * np.uint64(65536) + d).astype(np.float32)
    noise = unit(3, numbers[:, None] * np.uint64(65536) + d).astype(np.float32)
    return centre + np.float32(0.5) * (noise - np.float32(0.5))


def test_the_nearest_vectors_are_those_that_numpy_finds(tmp_path: Path) -> None:
    records, dimensions = 700, 16
    data = vectors(np.arange(records, dtype=np.uint64), records, dimensions)
    queries = vectors(np.arange(records, records + 5, dtype=np.uint64), records, dimensions)
    arguments = (f"records={records}", f"size={4 * dimensions}", "search=exact")
    near = np.dtype([("distance", np.float32), ("number", np.uint32)])
    with served(tmp_path, tiers("hdsearch", 3, *arguments)):
        for query in queries:
            found = np.frombuffer(asked(tmp_path / "front", query.tobytes()), near)
            distances = ((data - query) ** 2).sum(axis=1)
            assert found["number"].tolist() == np.argsort(distances, kind="stable")[:10].tolist()
            assert np.allclose(found["distance"], np.sort(distances)[:10], rtol=1e-5)


def test_a_wrong_answer_ends_the_run_before_anything_is_timed(tmp_path: Path) -> None:
    with served(tmp_path, tiers("hdsearch", 2, "records=500", "size=64", leaf=["seed=2"])):
        done = loaded(tmp_path, "service=hdsearch", "leaves=2", "records=500", "size=64")
    assert done.returncode == 1
    assert "an answer is not what the service must answer: hdsearch" in done.stderr
    assert not (tmp_path / "times").exists()


def test_what_waits_counts_from_the_moment_when_it_was_due(tmp_path: Path) -> None:
    arguments = ["service=hdsearch", "leaves=1", "records=500", "size=64"]
    with served(tmp_path, tiers("hdsearch", 1, *arguments[2:])) as server:
        command = [program(), "load", "address=unix:front", "out=times", *arguments, "rate=200", "seconds=2"]
        client = subprocess.Popen([*command, "arrivals=constant"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        time.sleep(1)
        os.kill(server.pid, signal.SIGSTOP)
        time.sleep(0.4)
        os.kill(server.pid, signal.SIGCONT)
        told, _ = client.communicate(timeout=30)
    found = layout.parse(told, (tmp_path / "times").read_bytes())
    assert len(found.due) == 400
    assert np.ptp(np.diff(found.due)) <= 1  # due whatever became of those before
    assert ((found.end - found.due) > 150e6).sum() >= 30  # about 50 were due in the last 250 ms of the pause


# ---- runs


@pytest.mark.parametrize(
    ("name", "transport", "options"),
    [
        (HDSEARCH, "unix", {"leaves": 2, "records": 1000}),
        pytest.param(HDSEARCH, "tcp", {"search": "exact", "ip": "ipv6", "size": 256}, marks=pytest.mark.slow),
    ],
)
def test_services_run(name: str, transport: str, options: dict[str, object], mark: str) -> None:
    program()
    outcome = run(name, transport=transport, **options)
    assert outcome.origin == "measured"
    assert outcome.meta["verified"]
    assert outcome.time_ns.min() > 0
    assert (outcome.extras["service_ns"] <= outcome.time_ns).all()
    assert ("loopback" in texts(outcome.badges)) == (transport == "tcp")
    paths = np.array([values[0] for key, values in outcome.extras.items() if key.startswith("path_")])
    assert (paths >= 0).all()
    assert (paths.sum(axis=0) == outcome.time_ns[0]).all()
    assert reported(outcome, "busy_percent", "max") > 0
    assert not marked(mark)


@pytest.mark.slow
def test_services_end_with_their_owner_even_if_it_is_killed(mark: str) -> None:
    program()
    code = (
        "from labkit import benchmarks, tools; from labkit.spec import Effort, Spec; "
        f"spec = benchmarks.resolve(Spec(benchmark={HDSEARCH!r}, size=512, options={{'leaves': 3}})); "
        "tools.run(tools.available(benchmarks.get(spec.benchmark).tools, spec, Effort(time_cap=30)))"
    )
    owner = subprocess.Popen([sys.executable, "-c", code])
    end = time.monotonic() + 60
    while time.monotonic() < end and not any("load" in _words(pid) for pid in marked(mark)):
        time.sleep(0.1)
    assert sum("serve" in _words(pid) for pid in marked(mark)) == 4
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    while time.monotonic() < end and marked(mark):
        time.sleep(0.1)
    assert not marked(mark)


def _words(pid: int) -> list[str]:
    try:
        return psutil.Process(pid).cmdline()
    except psutil.Error:
        return []


def test_an_overload_is_told() -> None:
    program()
    options: dict[str, object] = {"load": 50000.0, "leaves": 1, "search": "exact", "records": 20000}
    outcome = run(HDSEARCH, Effort(time_cap=0.05, time_limit=30), "unix", **options)
    assert any(text.startswith("overload: ") for text in texts(outcome.warnings))


# ---- command lines


def test_command_lines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(microservices, "program", lambda: "/bin/true")
    one = job(HDSEARCH, Effort(iterations=100, warmup=10), load=500.0, leaves=2)
    assert one.server[4:] == ("/bin/true", "services.json", "tcp", "{address}", "{port}", "{socket}", "{hosts}")
    assert one.client[2] == "address=tcp:{address}:{port}"
    assert {"rate=500.0", "limit=110", "clients=4", "leaves=2", "size=512", "arrivals=poisson"} <= set(one.client)
    one.prepare(tmp_path)
    plan = json.loads((tmp_path / "services.json").read_text())
    assert [service["asks"] for service in plan] == [[1, 2], [], []]
    assert job(HDSEARCH, transport="unix").client[2] == "address=unix:{socket}"


@pytest.mark.parametrize(
    ("name", "options", "wrong"),
    [
        (HDSEARCH, {"size": 100}, "a vector has a multiple of 8 numbers"),
        (HDSEARCH, {"leaves": 65}, "leaves=65, but it must be 1 to 64"),
        (HDSEARCH, {"records": 3}, "each leaf needs one"),
        (HDSEARCH, {"load": 0.0}, "load=0, but it must be above 0"),
        (HDSEARCH, {"transport": "shm"}, "services listen on tcp or unix"),
    ],
)
def test_what_no_service_can_do_is_refused(name: str, options: dict[str, object], wrong: str) -> None:
    with pytest.raises(SpecError, match=wrong):
        resolved(name, **options)  # type: ignore[arg-type]


def test_a_program_that_is_not_built_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microservices, "program", lambda: microservices.ABSENT)
    with pytest.raises(LaunchError, match="make setup builds it with a C compiler"):
        job(HDSEARCH)


# ---- what the program writes


def told(**values: object) -> str:
    counts = dict.fromkeys(("requests", "unfinished", "origin_ns", "elapsed_ns", "cpu_ns", "sent_B", "received_B"), 1)
    return json.dumps({**counts, "queries": 1, "recall": 1, "candidates": 1, **values})


def test_only_whole_results_are_read() -> None:
    rows = np.array([[1, 2, 5, 0, 1]], np.int64)
    assert layout.parse(told(received_B=9), rows.tobytes()).payload_B == 9
    for text, data in (
        ("microservices: no", rows.tobytes()),
        (told(), rows.tobytes()[:-8]),
        (told(requests=0), b""),
        (told(), rows[:, [1, 0, 2, 3, 4]].tobytes()),
    ):
        with pytest.raises(DataError, match="microservices output: found"):
            layout.parse(text, data)
    with pytest.raises(DataError, match="B of spans"):
        layout.parse_spans(np.array([1, 1, 0], np.int64).tobytes())


def test_the_critical_path_follows_the_call_that_came_back_last() -> None:
    """Due 0, sent 2, back at 100; the first service has 10 to 90 and asks two at once, then one more."""
    due = np.array([0]), np.array([2]), np.array([100])
    found = layout.Result(
        due=due[0], start=due[1], end=due[2], operation=np.zeros(1, np.int64), trace=np.array([1]), unfinished=0,
        origin_ns=1000, elapsed_ns=1, cpu_ns=1, payload_B=1, queries=1, recall=1, candidates=1,
    )  # fmt: skip
    first = [[1, 11, 1, 10, 90, -1], [1, 12, 11, 20, 40, 1], [1, 13, 11, 20, 60, 2], [1, 14, 11, 65, 85, 1]]
    second, third = [[1, 21, 12, 25, 35, -1], [1, 22, 14, 70, 82, -1]], [[1, 31, 13, 22, 50, -1]]
    spans = [_spans(rows) for rows in (first, second, third)]
    shares = {name: int(v[0]) for name, v in layout.critical_paths(found, spans, ["a", "b", "c"]).items()}
    # the call of 20 to 40 is not on the path: that of 20 to 60 came back later
    assert shares == {"client": 2, "between": 8 + 10 + 2 + 10 + 5 + 3, "a": 10 + 5 + 5, "b": 12, "c": 28}
    assert sum(shares.values()) == 100
    with pytest.raises(DataError, match="no span of request 1"):
        layout.critical_paths(found, [_spans([])], ["a"])


def _spans(rows: list[list[int]]) -> layout.Spans:
    numbers = np.array(rows, np.int64).reshape(-1, 6)
    numbers[:, 3:5] += 1000
    return layout.Spans(cpu_ns=1, dropped=0, rows=numbers)
