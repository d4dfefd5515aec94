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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray

from labkit import benchmarks, studies, testbeds
from labkit.errors import DataError, LaunchError, SpecError
from labkit.figures.parts import NOTHING
from labkit.formats import microservices as layout
from labkit.formats import otlp
from labkit.judge import traces
from labkit.point.notes import texts
from labkit.point.spec import Effort, Spec
from labkit.run import programs
from labkit.tools import _call_graph, _microservices, memcached, microservices
from tests.served import job, resolved, run
from tests.test_tools import need, reported
from tests.waiting import commandline, listens, marked, until

HDSEARCH, SOCIAL = "services.hdsearch", "services.social_network"
HEAD = struct.Struct("=IIqQQQ")  # wire.h


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
        until(lambda: listens(folder / "front"), runs=server)
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


def test_documents_are_those_that_hold_all_words(tmp_path: Path) -> None:
    documents, words = 400, 30
    w, d = np.meshgrid(np.arange(words, dtype=np.uint64), np.arange(documents, dtype=np.uint64), indexing="ij")
    holds = unit(31, w * np.uint64(1 << 32) + d) < 0.5 / (w.astype(float) + 1) + 0.002
    with served(tmp_path, tiers("set_algebra", 3, f"records={documents}", f"words={words}")):
        for query in ([2, 3], [7, 2, 5], [29, 28], [4]):
            found = np.frombuffer(asked(tmp_path / "front", np.array(query, np.uint32).tobytes()), np.uint32)
            assert found.tolist() == np.flatnonzero(holds[query].all(axis=0)).tolist()


def test_ratings_are_those_of_the_factorisation_in_numpy(tmp_path: Path) -> None:
    users, items, rank, leaves = 60, 200, 5, 2
    u, i, k = (np.arange(n, dtype=np.uint64) for n in (users, items, rank))
    place = u[:, None] * np.uint64(items) + i
    taste = unit(42, u[:, None] * np.uint64(rank) + k) @ unit(43, i[:, None] * np.uint64(rank) + k).T
    ratings = np.minimum(1 + np.floor(taste * 3.2 + 0.5 * unit(44, place)), 5) * (unit(41, place) < 0.2)
    dealt = drawn(45, place) % np.uint64(leaves)
    wanted = []
    for leaf in range(leaves):
        v, h = ratings * (dealt == leaf), unit(46, np.arange(items * rank, dtype=np.uint64)).reshape(items, rank)
        for _ in range(8):
            w = np.linalg.solve(h.T @ h + 1e-6 * np.eye(rank), h.T @ v.T).T.clip(0)
            h = np.linalg.solve(w.T @ w + 1e-6 * np.eye(rank), w.T @ v).T.clip(0)
        distance = ((w[:, None] - w[None]) ** 2).sum(axis=2) + np.diag(np.full(users, np.inf))
        wanted.append((w @ h.T)[np.argsort(distance, kind="stable")[:, :5]].mean(axis=1))
    with served(tmp_path, tiers("recommend", leaves, f"records={users}")):
        for pair in ((0, 0), (17, 150), (59, 199)):
            answer = asked(tmp_path / "front", np.array(pair, np.uint32).tobytes())
            assert struct.unpack("d", answer)[0] == pytest.approx(np.mean(wanted, axis=0)[pair], rel=1e-6)


def test_a_write_reaches_all_replicas_and_no_other_leaf(tmp_path: Path) -> None:
    key, value = struct.pack("q", 42), bytes(range(64))
    with served(tmp_path, tiers("router", 3, "records=100", "size=64", "replicas=2")):
        before = asked(tmp_path / "front", key)
        assert struct.unpack_from("qq", before) == (42, 0)
        assert asked(tmp_path / "front", key + value, 1) == key
        assert {asked(tmp_path / "front", key) for _ in range(4)} == {value}
        assert sorted(asked(tmp_path / f"{k}.front", key) for k in (1, 2, 3)) == [b"", value, value]


def _memcached(path: Path, request: bytes, end: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(20)
        one.connect(str(path))
        one.sendall(request)
        data = b""
        while not data.endswith(end):
            data += one.recv(65536)
    return data


def test_the_router_writes_to_memcached_and_a_wrong_value_there_is_seen(tmp_path: Path) -> None:
    need(memcached)
    key, value = struct.pack("q", 42), bytes(range(64))
    plan = tiers("router", 3, "records=100", "size=64", "replicas=2")
    plan[1:] = [{"command": memcached.command([], 1, 100, 64), "arguments": [], "asks": []} for _ in plan[1:]]
    arguments = ["service=router", "leaves=3", "replicas=2", "records=100", "size=64", "seconds=0.3"]
    with served(tmp_path, plan):
        assert struct.unpack_from("qq", asked(tmp_path / "front", key)) == (42, 0)
        assert asked(tmp_path / "front", key + value, 1) == key
        assert {asked(tmp_path / "front", key) for _ in range(4)} == {value}
        kept = [_memcached(tmp_path / f"{k}.front", b"get 42\r\n", b"END\r\n") for k in (1, 2, 3)]
        assert sorted(kept) == [b"END\r\n", *[b"VALUE 42 0 64\r\n" + value + b"\r\nEND\r\n"] * 2]
        assert asked(tmp_path / "front", key + before(42), 1) == key
        done = loaded(tmp_path, *arguments)
        assert done.returncode == 0, done.stderr
        for leaf in (1, 2, 3):
            for number in range(100):
                _memcached(tmp_path / f"{leaf}.front", b"set %d 0 0 64\r\n%s\r\n" % (number, value), b"STORED\r\n")
        done = loaded(tmp_path, *arguments)
    assert done.returncode == 1
    assert "an answer is not what the service must answer: router" in done.stderr


def before(key: int) -> bytes:
    """The first value of a key of 64 B (`rt_value` of router.h)."""
    words = [key, 0, *drawn(21, np.arange(16, 64, 8, dtype=np.uint64) + np.uint64(key * 1000003)).tolist()]
    return struct.pack("=8Q", *words)


def test_a_missing_memcached_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microservices, "program", lambda: "/bin/true")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(LaunchError, match=r"leaf=memcached, but memcached is not installed.*or set leaf=table"):
        job("services.router", leaf="memcached")


def _answer(graph: _call_graph.Graph, node: int, operation: int, key: int) -> list[int]:
    """The answer of call_graph.h, in words."""

    def fold(total: int, word: int) -> int:
        total = (total ^ word) * 0x9E3779B97F4A7C15 & (1 << 64) - 1
        return total ^ total >> 29

    places = (np.uint64(key) + np.arange(graph.reads[node], dtype=np.uint64) * np.uint64(7)) % np.uint64(1 << 16)
    total = operation
    for word in drawn(61, np.uint64(node << 16) + places).tolist():
        total = fold(total, word)
    calls = sorted((call for call in graph.calls if call[:2] == (node, operation)), key=lambda call: call[2])
    for *_, callee in calls:
        for word in _answer(graph, callee, operation, key):
            total = fold(total, word)
    first = int(drawn(62, np.array([key * 4096 + node & (1 << 64) - 1], np.uint64))[0])
    return [total, *((first + k) & (1 << 64) - 1 for k in range(8, graph.answers[node], 8))]


@pytest.mark.parametrize(
    "graph",
    [
        _call_graph.published("social_network", 128),
        _call_graph.published("media", 128),
        _call_graph.generated(14, 256, 3),
    ],
)
def test_an_answer_proves_that_every_service_was_asked(tmp_path: Path, graph: _call_graph.Graph) -> None:
    (tmp_path / "graph").write_text(graph.text())
    data = ["service=call_graph", "role=front", "graph=graph", "lifetime=60"]
    plan: list[dict[str, object]] = [{"arguments": data, "asks": graph.asks(k)} for k in range(len(graph.names))]
    with served(tmp_path, plan):
        for operation in range(len(graph.operations)):
            key = 123456789 + operation
            answer = asked(tmp_path / "front", struct.pack("Q", key) + bytes(56), operation)
            assert list(struct.unpack(f"{len(answer) // 8}Q", answer)) == _answer(graph, 0, operation, key)


def test_graphs_reach_every_service_and_have_no_circle() -> None:
    for graph in (
        _call_graph.published("social_network", 64),
        _call_graph.published("media", 64),
        *(_call_graph.generated(n, 64, n) for n in (12, 30, 48)),
    ):
        reached = {0}
        for caller, _, _, callee in sorted(graph.calls):
            assert caller < callee
            reached |= {callee} if caller in reached else set()
        assert reached == set(range(len(graph.names)))
        assert len(graph.names) >= 12
    assert _call_graph.generated(20, 64, 5) == _call_graph.generated(20, 64, 5) != _call_graph.generated(20, 64, 6)


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
        told, _ = client.communicate(timeout=240)
    found = layout.parse(told, (tmp_path / "times").read_bytes())
    assert len(found.due) == 400
    assert np.ptp(np.diff(found.due)) <= 1  # due whatever became of those before
    assert ((found.end - found.due) > 150e6).sum() >= 30  # about 50 were due in the last 250 ms of the pause


# ---- runs


@pytest.mark.parametrize(
    ("name", "transport", "options"),
    [
        (HDSEARCH, "unix", {"leaves": 2, "records": 1000}),
        (SOCIAL, "tcp", {"load": 100.0}),
        pytest.param(SOCIAL, "unix", {"topology": "random", "services": 24}, marks=pytest.mark.slow),
        ("services.router", "unix", {"replicas": 2, "leaf": "memcached", "records": 500}),
        pytest.param("services.router", "tcp", {"replicas": 3}, marks=pytest.mark.slow),
        pytest.param("services.router", "tcp", {"leaf": "memcached", "ip": "ipv6"}, marks=pytest.mark.slow),
        pytest.param("services.set_algebra", "unix", {"leaves": 1}, marks=pytest.mark.slow),
        pytest.param("services.recommend", "tcp", {"users": 200}, marks=pytest.mark.slow),
        pytest.param(HDSEARCH, "tcp", {"search": "exact", "ip": "ipv6", "size": 256}, marks=pytest.mark.slow),
    ],
)
def test_services_run(name: str, transport: str, options: dict[str, object], mark: str) -> None:
    program()
    if options.get("leaf") == "memcached":
        need(memcached)
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
    spans = otlp.loads(outcome.source)
    known = {(one.trace, one.span): one for one in spans}
    assert len(known) == len(spans)
    for one in spans:
        if one.parent:
            above = known[one.trace, one.parent]
            assert above.start_ns <= one.start_ns <= one.end_ns <= above.end_ns
        else:
            assert (one.service, one.kind) == ("client", otlp.CLIENT)
    assert otlp.loads(otlp.dumps(spans)) == sorted(spans, key=_by_service(spans))
    assert not marked(mark)


def _by_service(spans: Sequence[otlp.Span]) -> Callable[[otlp.Span], int]:
    """Key that puts the spans of a service side by side, as OTLP has them."""
    order = list(dict.fromkeys(one.service for one in spans))
    return lambda one: order.index(one.service)


@pytest.mark.slow
def test_services_end_with_their_owner_even_if_it_is_killed(mark: str) -> None:
    program()
    code = (
        "from labkit import benchmarks, tools; from labkit.point.spec import Effort, Spec; "
        f"spec = benchmarks.resolve(Spec(benchmark={HDSEARCH!r}, size=512, options={{'leaves': 3}})); "
        "tools.run(tools.available(benchmarks.get(spec.benchmark).tools, spec, Effort(time_cap=30)))"
    )
    owner = subprocess.Popen([sys.executable, "-c", code])
    until(lambda: any(" load " in commandline(pid) for pid in marked(mark)), runs=owner)
    assert sum(" serve " in commandline(pid) for pid in marked(mark)) == 4
    owner.kill()
    owner.wait()
    until(lambda: not marked(mark))


@pytest.mark.slow
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
        ("services.router", {"replicas": 5}, "replicas=5, but there are 4 leaves"),
        ("services.router", {"reads": 1.5}, "it is a share"),
        ("services.set_algebra", {"words": 5}, "words=5, but it must be 8"),
        ("services.recommend", {"users": 5}, "takes five others"),
        (SOCIAL, {"services": 20}, "social_network has a fixed list of services"),
        (SOCIAL, {"services": 38, "topology": "media"}, "media has a fixed list of services"),
        (SOCIAL, {"services": 5, "topology": "random"}, "services=5, but it must be 12 to 48"),
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
    with pytest.raises(DataError, match="OTLP JSON: found"):
        otlp.loads(otlp.BEGINS + "1}")
    with pytest.raises(DataError, match="B of spans"):
        layout.parse_spans(np.array([1, 1, 0], np.int64).tobytes())


def test_only_services_have_traces() -> None:
    traces.check(SOCIAL)
    with pytest.raises(SpecError, match="which keeps no traces"):
        traces.check("mpi.latency")
    with pytest.raises(DataError, match="No point has traces"):
        traces.text([])


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
    # a service that keeps no spans has all of the time of its calls
    shares = {
        name: int(v[0])
        for name, v in layout.critical_paths(
            found, [spans[0], layout.NO_SPANS, layout.NO_SPANS], ["a", "b", "c"], {1, 2}
        ).items()
    }
    assert shares == {"client": 2, "between": 8 + 10, "a": 10 + 5 + 5, "b": 20, "c": 40}
    with pytest.raises(DataError, match="no span of request 1"):
        layout.critical_paths(found, [_spans([])], ["a"])


def _spans(rows: list[list[int]]) -> layout.Spans:
    numbers = np.array(rows, np.int64).reshape(-1, 6)
    numbers[:, 3:5] += 1000
    return layout.Spans(cpu_ns=1, dropped=0, rows=numbers)


@pytest.mark.slow
@pytest.mark.netns
def test_the_notebook_measures_and_draws(tmp_path: Path) -> None:
    program()
    few = {"services": "hdsearch", "loads": "100,200", "leaves": "1,2", "social_loads": "100", "transports": "tcp"}
    study = studies.get("microservices")(
        campaign=str(tmp_path / "c"),
        launches=1,
        time_cap=0.7,
        rates="50mbit",
        delays="",
        losses="",
        testbed="virtual-cluster:3",
        **few,
    )
    study.run()
    assert len(study.records) == len(study.points)
    shown = [study.load_figure(), study.quantile_figure(), study.fan_out_figure(), study.social_figure()]
    shown += [study.path_figure(name) for name in ("services.social_network", HDSEARCH)]
    shown += [study.link_figure("rate"), study.findings()]
    assert NOTHING not in shown
    assert study.link_figure("delay") == NOTHING
    assert {one.trace for one in otlp.loads(traces.text(study.samples))}
    [linked] = [one for one in study.samples if one.spec.testbed != "local"]
    crossed = linked.meta["evidence"]
    requests = linked.time_ns.size
    assert crossed["vc0.eth0.tx_bytes"] > 512 * requests  # the client's queries, on its link
    assert crossed["vc2.eth0.tx_bytes"] > 80 * requests  # answers of leaves on the third host


def test_services_run_on_every_testbed_but_in_a_guest() -> None:
    spec = benchmarks.resolve(Spec(benchmark="services.router", size=1000, testbed="virtual-cluster,rate=200mbit"))
    programs.refuse_place(spec, testbeds.outline(spec.testbed))
    with pytest.raises(SpecError, match=r"services\.router: testbed=soft-roce, but services run here or on a virtual"):
        programs.refuse_place(spec.replace(testbed="soft-roce"), testbeds.outline("soft-roce"))


@pytest.mark.parametrize("name", ["services.router", "kv.closed_loop", "kv.redis_benchmark", "rpc.latency"])
def test_a_unix_socket_stays_on_one_host(name: str) -> None:
    spec = benchmarks.resolve(Spec(benchmark=name, size=1000, transport="unix"))
    programs.refuse_place(spec, testbeds.outline("local"))
    for testbed in ("virtual-cluster:2", "soft-roce"):
        with pytest.raises(SpecError, match="transport=unix stays inside one host"):
            programs.refuse_place(spec.replace(testbed=testbed), testbeds.outline(testbed))
