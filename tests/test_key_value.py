"""Key-value stores: draws and records are YCSB's, times are whole, wrong bytes and what waits are seen."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from labkit import studies, testbeds, tools
from labkit.errors import DataError, LaunchError, SpecError
from labkit.figures.parts import NOTHING
from labkit.formats import kv_client as layout
from labkit.formats import redis_benchmark as csv_layout
from labkit.formats import ycsb as ycsb_layout
from labkit.point.notes import texts
from labkit.point.spec import Effort
from labkit.studies import _rdma
from labkit.tools import _kv, memcached, redis, redis_benchmark, ycsb
from tests.served import between, job, resolved, run
from tests.test_tools import need, reported
from tests.waiting import listens, marked, until

YCSB = json.loads((Path(__file__).parent / "golden" / "ycsb" / "generators.json").read_text())
CLOSED, OPEN = "kv.closed_loop", "kv.open_loop"


def client() -> str:
    """The built client; where it is not built, neither this nor what labkit says may be silent."""
    if _kv.program() == _kv.ABSENT:
        pytest.skip(_kv.ABSENT)
    return _kv.program()


# ---- what YCSB draws and stores


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("scrambled", ["distribution=zipfian"]),
        ("latest", ["distribution=latest", "every=200"]),
        ("hotspot", ["distribution=hotspot"]),
        ("uniform", ["distribution=uniform"]),
    ],
)
def test_keys_are_drawn_as_ycsb_draws_them(name: str, arguments: list[str]) -> None:
    command = [client(), "draw", "records=1000", "limit=200000", *arguments]
    drawn = np.array(subprocess.run(command, capture_output=True, check=True).stdout.split(), np.int64)
    theirs = np.array(YCSB[name], np.float64)
    ours = np.bincount(drawn, minlength=len(theirs)).astype(np.float64)
    assert len(ours) <= len(theirs) + 1  # of latest, the key that is inserted last
    ours = ours[: len(theirs)]
    if name == "scrambled":
        assert theirs[1000] > 0  # YCSB draws it, and draws again as no store has it
        assert ours[1000] == 0
        theirs[1000] = 0
    few = ours + theirs < 20
    a, b = (np.append(counts[~few], counts[few].sum()) for counts in (ours, theirs))
    a, b = a[a + b > 0], b[a + b > 0]
    ratio = np.sqrt(b.sum() / a.sum())
    chi2, freedom = float(((a * ratio - b / ratio) ** 2 / (a + b)).sum()), len(a) - 1
    assert freedom > 900
    assert abs(chi2 - freedom) / np.sqrt(2 * freedom) < 5  # standard deviations


def _answer(path: str, *words: str) -> bytes:
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(path)
        one.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in words))
        one.settimeout(5)
        data = b""
        while data.count(b"\r\n") < 41:  # of ten fields with their values
            data += one.recv(65536)
    return data


@contextmanager
def _redis(folder: Path) -> Iterator[str]:
    """A server of the test's own; yields its socket."""
    path = str(folder / "r.sock")
    words = [word.replace("@socket@", path) for word in redis.server(resolved(CLOSED, "unix"))]
    server = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL)
    try:
        until(lambda: listens(path), runs=server)
        yield path
    finally:
        server.kill()
        server.wait()


def test_records_are_those_of_ycsb(tmp_path: Path) -> None:
    need(redis)
    with _redis(tmp_path) as path:
        command = [client(), "store=redis", f"address=unix:{path}", "reads=1", "records=10", "limit=20", "clients=2"]
        told = json.loads(subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout)
        assert (told["operations"], told["missing"]) == (20, 0)
        key = YCSB["value"].partition(":")[0]
        fields = _answer(path, "HGETALL", key).split(b"\r\n")[2::2]
    record = dict(zip(fields[::2], fields[1::2], strict=True))
    assert record[b"field3"].decode() == YCSB["value"]
    assert sorted(map(len, record.values())) == [100] * 10


def test_a_wrong_byte_ends_the_run_before_anything_is_timed(tmp_path: Path) -> None:
    need(redis)
    with (
        _redis(tmp_path) as path,
        between(path, tmp_path, back=lambda data, _: data.replace(b"field3:3", b"field3:4")) as front,
    ):
        command = [client(), "store=redis", f"address=unix:{front}", "reads=1", "records=10", "limit=20", "out=times"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "a record that was read is not the one that was written" in done.stderr
    assert not (tmp_path / "times").exists()


def test_what_waits_counts_in_the_open_loop(tmp_path: Path) -> None:
    need(redis)
    late: list[int] = []

    def pause(data: bytes, number: int) -> bytes:
        if b"field" in data and len(data) < 2000 and number > 60 and not late:
            late.append(number)
            time.sleep(0.3)
        return data

    with _redis(tmp_path) as path, between(path, tmp_path, back=pause) as front:
        command = [client(), "store=redis", f"address=unix:{front}", "reads=1", "records=10", "seconds=1.5", "rate=200"]
        told = subprocess.run([*command, "out=times"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    found = layout.parse(told, (tmp_path / "times").read_bytes())
    gaps = np.diff(found.due)
    assert late
    assert gaps.min() == gaps.max() == 5_000_000  # an operation is due whatever became of those before
    service, response = found.end - found.start, found.end - found.due
    assert (service > 150e6).sum() <= 3  # the machine may pause too
    assert (response > 150e6).sum() >= 20


# ---- runs


@pytest.mark.parametrize(
    ("name", "transport", "options"),
    [
        (CLOSED, "tcp", {"clients": 4, "workload": "F"}),
        (OPEN, "unix", {"store": "memcached", "rate": 500.0, "arrivals": "poisson", "clients": 2}),
        pytest.param(CLOSED, "tcp", {"workload": "E", "ip": "ipv6"}, marks=pytest.mark.slow),
        pytest.param(CLOSED, "unix", {"workload": "D", "servers": 3, "clients": 2}, marks=pytest.mark.slow),
        pytest.param(CLOSED, "tcp", {"store": "memcached", "servers": 2, "workload": "B"}, marks=pytest.mark.slow),
        pytest.param(OPEN, "tcp", {"server_threads": 2, "distribution": "hotspot"}, marks=pytest.mark.slow),
        pytest.param(
            CLOSED, "tcp", {"store": "memcached", "server_threads": 2, "size": 100_000}, marks=pytest.mark.slow
        ),
    ],
)
def test_loops_run(name: str, transport: str, options: dict[str, object], mark: str) -> None:
    need(memcached if options.get("store") == "memcached" else redis)
    client()
    outcome = run(name, transport=transport, **options)
    assert outcome.origin == "measured"
    assert outcome.meta["verified"]
    assert outcome.time_ns.shape[0] == 1
    assert outcome.time_ns.min() > 0
    kinds = {layout.OPERATIONS[k] for k in np.unique(outcome.extras["operation"])}
    allowed = {
        "A": {"READ", "UPDATE"},
        "B": {"READ", "UPDATE"},
        "D": {"READ", "INSERT"},
        "E": {"SCAN", "INSERT"},
        "F": {"READ", "READ-MODIFY-WRITE"},
    }
    assert kinds <= allowed[str(options.get("workload", "A"))]
    assert set(np.unique(outcome.extras["client"])) <= set(range(int(str(options.get("clients", 1)))))
    start = outcome.extras["start_ns"][0]
    own = outcome.extras["service_ns"][0] if name == OPEN else outcome.time_ns[0]
    span = ((start + own).max() - start.min()) * 1e-9
    assert reported(outcome, "transaction_rate_per_s") == pytest.approx(outcome.time_ns.size / span, rel=0.1)
    assert ("loopback" in texts(outcome.badges)) == (transport == "tcp")
    if name == OPEN:
        assert (outcome.extras["service_ns"] <= outcome.time_ns).all()
    assert not marked(mark)


def test_proportions_and_counts_are_exact() -> None:
    need(redis)
    client()
    outcome = run(CLOSED, Effort(iterations=2000, warmup=10, time_limit=120), "unix", workload="B", clients=3)
    assert outcome.time_ns.size == 2000
    updates = int((outcome.extras["operation"] == layout.OPERATIONS.index("UPDATE")).sum())
    assert abs(updates - 100) < 5 * np.sqrt(2000 * 0.05 * 0.95)


@pytest.mark.parametrize("seconds", [0.05, 1.0])
@pytest.mark.slow
def test_overload_is_told_whether_or_not_what_waited_was_done_in_the_end(seconds: float) -> None:
    need(redis)
    client()
    effort = Effort(time_cap=seconds, time_limit=120)
    outcome = run(OPEN, effort, "unix", rate=1e6, workload="C")
    assert any(text.startswith("overload: ") for text in texts(outcome.warnings))


def test_redis_benchmark_runs() -> None:
    need(redis_benchmark)
    outcome = run("kv.redis_benchmark", Effort(iterations=500), clients=2)
    rate, mean = reported(outcome, "transaction_rate_per_s"), reported(outcome, "round_trip_us")
    assert outcome.origin == "reported"
    assert 0 < reported(outcome, "round_trip_us", "p50") <= reported(outcome, "round_trip_us", "p99")
    assert rate * mean * 1e-6 < 2.5  # Little: no more than the clients were under way


@pytest.mark.slow
@pytest.mark.parametrize("target", [0, 300])
def test_ycsb_itself_runs(target: int, mark: str) -> None:
    need(redis)
    if ycsb.program() == ycsb.ABSENT:
        pytest.skip(ycsb.ABSENT)
    outcome = run("kv.ycsb", Effort(iterations=900, time_limit=240), workload="F", threads=2, target=target)
    assert (outcome.origin, outcome.version) == ("reported", ycsb.TOOL.read_version and ycsb.TOOL.read_version())
    own = {(one.name, one.statistic): one.value for one in outcome.reported if not one.labels}
    assert own["round_trip_us", "min"] <= own["round_trip_us", "p50"] <= own["round_trip_us", "p99"]
    assert (("response_us", "p50") in own) == (target > 0)
    if target:
        assert own["transaction_rate_per_s", "mean"] < 1.1 * target
        assert own["response_us", "mean"] >= own["round_trip_us", "mean"]
    labels = {dict(one.labels).get("operation") for one in outcome.reported}
    assert labels == {None, "UPDATE", "READ-MODIFY-WRITE"}
    counts = {str(dict(one.labels).get("operation")): one.value for one in outcome.reported if one.name == "operations"}
    assert counts["None"] == 900  # every operation of workload F reads
    assert not any(text.startswith("operation-missing") for text in texts(outcome.warnings))
    assert not marked(mark)


# ---- command lines


def test_the_command_line_of_ycsb(monkeypatch: pytest.MonkeyPatch) -> None:
    need(redis)
    monkeypatch.setattr(ycsb, "program", lambda: "java")
    monkeypatch.setattr(tools.Invocation, "missing", property(lambda self: []))
    one = job("kv.ycsb", Effort(iterations=500), workload="B", target=100, threads=3)
    assert one.client[4:9] == ("100", "6", "-db", "YcsbRedis", "-threads")
    given = {word for word in one.client if "=" in word}
    assert {"readproportion=0.95", "updateproportion=0.05", "scanproportion=0.0", "operationcount=500"} <= given
    assert {"fieldlength=100", "measurement.interval=both", "redis.port={port}"} <= given
    with pytest.raises(SpecError, match="warmup=5, but YCSB has none"):
        job("kv.ycsb", Effort(warmup=5))


def test_the_command_that_brings_ycsb_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    need(redis)
    monkeypatch.setattr(ycsb, "program", lambda: ycsb.ABSENT)
    with pytest.raises(LaunchError, match="make ycsb brings them from Maven Central"):
        job("kv.ycsb")


def test_operations_that_failed_are_told() -> None:
    text = (Path(__file__).parent / "golden" / "logs" / "ycsb" / "redis_workloada_run.txt").read_text()
    changed = text.replace("[READ], Return=OK, ", "[READ], Return=NOT_FOUND, 3\n[READ], Return=OK, ")
    assert changed != text
    [doubt] = [doubt for one in ycsb_layout.runs(changed, "x") for doubt in one.doubts]
    assert doubt.text == "3 of READ: Return=NOT_FOUND"


def test_command_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools.Invocation, "missing", property(lambda self: []))
    one = job(OPEN, Effort(iterations=500, warmup=0), rate=1000.0, workload="D", clients=4)
    assert " ".join(one.server).startswith("redis-server --bind {address} --port {port} --protected-mode no --save  ")
    assert one.client[1:] == (
        "store=redis",
        "address=tcp:{address}:{port}",
        "rate=1000.0",
        "arrivals=constant",
        "reads=0.95",
        "inserts=0.05",
        "distribution=latest",
        "records=1000",
        "operations=500",
        "fields=10",
        "field_size=100",
        "clients=4",
        "seconds=0.5",
        "limit=500",
        "seed=1",
        "out=samples",
    )
    two = job(CLOSED, transport="unix", store="memcached", server_threads=4)
    assert " ".join(two.server).endswith("-s {socket} -t 4 -m 67 -c 4096")
    assert (two.listens, two.client[2]) == ("unix", "address=unix:{socket}")
    several = job(CLOSED, servers=3)
    assert several.server[4:9] == ("3", "tcp", "{address}", "{port}", "{socket}")
    assert several.client[2] == "address=@servers"
    tool = job("kv.redis_benchmark", transport="unix", command="set", pipeline=4)
    assert " ".join(tool.client) == "redis-benchmark -s {socket} -t set -n 3000 -c 1 -d 1000 -r 1000 -P 4 --csv"


@pytest.mark.parametrize(
    ("name", "options", "wrong"),
    [
        (CLOSED, {"workload": "E", "store": "memcached"}, "memcached has no scan"),
        (CLOSED, {"workload": "E", "servers": 2}, "scans the keys of one server"),
        (CLOSED, {"size": 1001}, "a multiple of 10"),
        (CLOSED, {"clients": 0}, "clients=0, but it must be 1 to 1000"),
        (CLOSED, {"transport": "shm"}, "a store listens on tcp or unix"),
        (OPEN, {"rate": 0.0}, "rate=0, but it must be above 0"),
        ("kv.redis_benchmark", {"pipeline": 0}, "pipeline=0"),
        ("kv.ycsb", {"workload": "unknown"}, "are for imported logs"),
        ("kv.ycsb", {"threads": 0}, "threads=0, but it must be 1 to 1000"),
    ],
)
def test_what_no_store_can_do_is_refused(name: str, options: dict[str, object], wrong: str) -> None:
    with pytest.raises(SpecError, match=wrong):
        resolved(name, **options)  # type: ignore[arg-type]


def test_a_client_that_is_not_built_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kv, "program", lambda: _kv.ABSENT)
    with pytest.raises(LaunchError, match="make setup builds it with a C compiler"):
        job(CLOSED)


# ---- outputs


def test_only_whole_results_of_the_client_are_read() -> None:
    told = '{"operations": 2, "missing": 0, "unfinished": 1, "sent_B": 10, "received_B": 20}'
    rows = np.array([[9, 10, 12, 0, 1], [1, 2, 5, 4, 0]], np.int64)
    found = layout.parse(told, rows.tobytes())
    assert (found.due.tolist(), found.end.tolist(), found.payload, found.unfinished) == ([1, 9], [5, 12], 20, 1)
    for text, data in (
        ("kv_client: no", rows.tobytes()),
        (told, rows.tobytes()[:-8]),
        (told.replace("2", "0", 1), b""),
        (told, rows[:, [1, 0, 2, 3, 4]].tobytes()),
        (told, (rows + np.array([0, 0, 0, 5, 0])).tobytes()),
    ):
        with pytest.raises(DataError, match="kv_client output: found"):
            layout.parse(text, data)


HEAD = (
    '"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"'
)


def test_redis_benchmark_output() -> None:
    text = f'{HEAD}\n"SET","25000.00","0.129","0.040","0.087","0.183","1.591","4.343"\n'  # of 7.0.15
    values = {(v.name, v.statistic): v.value for v in csv_layout.parse(text)}
    assert values["transaction_rate_per_s", "mean"] == 25000
    assert values["round_trip_us", "p99"] == pytest.approx(1591)
    assert values["round_trip_us", "mean"] == pytest.approx(129)
    for wrong in (
        "",
        "Could not connect to Redis",
        HEAD,
        text + text.splitlines()[1],
        text.replace("25000.00", "-nan"),
    ):
        with pytest.raises(DataError, match="redis-benchmark output"):
            csv_layout.parse(wrong)


@pytest.mark.slow
@pytest.mark.netns
def test_the_notebook_measures_and_draws(tmp_path: Path) -> None:
    need(redis, memcached)
    client()
    few = {"sizes": "100,1000", "workloads": "A,E", "clients": "1,2", "servers": "1,2", "loads": "200,400"}
    study = studies.get("key_value")(
        campaign=str(tmp_path / "c"),
        launches=1,
        time_cap=0.5,
        rates="10mbit",
        delays="",
        losses="",
        load=300,
        stores="redis",
        **few,
    )
    study.run()
    assert len(study.records) == len(study.points)
    shown = [study.size_figure(), study.workload_figure(), study.clients_figure(), study.servers_figure()]
    shown += [study.loops_figure(), study.link_figure("rate"), study.findings()]
    assert NOTHING not in shown
    assert study.link_figure("delay") == NOTHING
    rated = study._rated(study.of(CLOSED))["transaction_rate_per_s_mean"]
    assert (rated > 0).all()


def test_the_store_over_verbs_is_measured_where_rdma_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def where(**parameters: object) -> set[str]:
        study = studies.get("key_value")(campaign=str(tmp_path / "c"), **parameters)
        return {spec.testbed for spec in study.specs() if spec.benchmark == "verbs.key_value"}

    def up(*names: str) -> None:
        kept = [testbeds.Kept(name, 1, 0, 0.0, {}) for name in names]
        monkeypatch.setattr(testbeds, "up", lambda: kept)

    monkeypatch.setattr(_rdma, "rdma_devices", list)
    up("virtual-cluster:2")
    assert where() == set()
    assert where(verbs_testbed="local") == {"local"}
    assert where(measure=False) == {"local", "soft-roce"}
    up("soft-roce,delay=1ms")
    assert where() == {"soft-roce"}
    assert where(verbs_testbed="") == set()
    up()
    monkeypatch.setattr(_rdma, "rdma_devices", lambda: [{"name": "mlx5_0"}])
    monkeypatch.setattr(tools, "version", lambda name: "46.0")
    assert where() == {"local"}
