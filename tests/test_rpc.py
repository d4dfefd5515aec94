"""Remote procedure calls: every byte is checked, times are whole, what waits counts, and servers end with their owner."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from labkit import studies, testbeds, tools
from labkit.benchmarks.rpc import _options
from labkit.errors import DataError, LaunchError, SpecError
from labkit.figures.parts import NOTHING
from labkit.formats import rpc_client as layout
from labkit.host import pythons
from labkit.kernels import programs
from labkit.kernels.programs import rpc_python
from labkit.point.notes import texts
from labkit.point.spec import Effort
from labkit.studies import _linked
from labkit.tools import _rpc
from tests.served import SHORT, Change, between, job, resolved, run, same
from tests.test_tools import reported
from tests.waiting import listens, marked, until

FEW = Effort(iterations=50, warmup=5, time_limit=120)
PROGRAMS = {"grpc": "rpc_grpc", "thrift": "rpc_thrift"}
LIBRARIES = {"grpc": ("grpcio", "grpc", "google.protobuf"), "thrift": ("thrift", "thrift.protocol")}


def program(system: str) -> str:
    path = programs.path(PROGRAMS[system])
    if not path.exists():
        pytest.skip(_rpc.program(PROGRAMS[system], "its libraries"))
    return str(path)


def python(system: str) -> str:
    found = pythons.having(*LIBRARIES[system])[0]
    if not found:
        pytest.skip(f"no Python has {LIBRARIES[system][0]}")
    return found


# ---- servers and clients


@contextmanager
def server(system: str, folder: Path, *words: str) -> Iterator[str]:
    """A server of the test's own on a socket; yields its path."""
    path = folder / "s.sock"
    process = subprocess.Popen([program(system), "server", f"address=unix:{path}", *words], stderr=subprocess.DEVNULL)
    try:
        until(lambda: listens(path), runs=process)
        yield str(path)
    finally:
        process.kill()
        process.wait()


def client(system: str, folder: Path, path: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [program(system), "client", f"address=unix:{path}", *words, "buffers=64", "limit=20"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=240)


def _flipped(data: bytes, number: int) -> bytes:
    """A request or an answer of Thrift with a payload of 64 B, one bit of which is another."""
    return data[:-20] + bytes([data[-20] ^ 1]) + data[-19:] if len(data) > 64 else data


@pytest.mark.parametrize(
    ("there", "back", "wrong"),
    [
        (_flipped, same, "the server received other bytes than were sent"),
        (same, _flipped, "other bytes came back than were sent"),
    ],
)
def test_a_wrong_byte_ends_the_run_before_anything_is_timed(
    there: Change, back: Change, wrong: str, tmp_path: Path
) -> None:
    with server("thrift", tmp_path) as path:
        right = client("thrift", tmp_path, path, "out=right")
        with between(path, tmp_path, there, back) as front:
            done = client("thrift", tmp_path, front, "out=wrong")
    assert right.returncode == 0
    assert (tmp_path / "right").stat().st_size == 20 * 32
    assert done.returncode == 1
    assert wrong in done.stderr
    assert not (tmp_path / "wrong").exists()


def test_thrift_takes_more_than_its_limit_of_a_message_over_one_connection(tmp_path: Path) -> None:
    with server("thrift", tmp_path) as path:
        done = client("thrift", tmp_path, path, "buffers=8000000", "method=send")
    assert done.returncode == 0, done.stderr
    assert layout.parse(done.stdout, (tmp_path / "samples").read_bytes()).payload == 160_000_000


@pytest.mark.parametrize("system", PROGRAMS)
def test_what_waits_counts_in_the_open_loop(system: str, tmp_path: Path) -> None:
    late: list[int] = []

    def pause(data: bytes, number: int) -> bytes:
        if number == 60:
            late.append(number)
            time.sleep(0.3)
        return data

    words = ("seconds=1.2", "rate=200", "limit=1000", "out=times")
    with server(system, tmp_path) as path, between(path, tmp_path, back=pause) as front:
        command = [program(system), "client", f"address=unix:{front}", "buffers=64", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=240)
    found = layout.parse(done.stdout, (tmp_path / "times").read_bytes())
    gaps = np.diff(found.due)
    assert late
    assert gaps.min() == gaps.max() == 5_000_000  # a call is due whatever became of those before
    service, response = found.end - found.start, found.end - found.due
    assert (service > 150e6).sum() <= 3  # the machine may pause too
    assert (response > 150e6).sum() >= 20


# ---- runs


@pytest.mark.parametrize(
    ("name", "transport", "options"),
    [
        ("latency", "tcp", {}),
        ("latency", "unix", {"system": "thrift", "protocol": "compact", "framing": "buffered"}),
        ("parameter_server", "tcp", {"servers": 2, "workers": 2, "serialised": False, "large": 10_000}),
        ("open_loop", "unix", {"system": "thrift", "model": "nonblocking", "clients": 2, "rate": 500.0}),
        ("latency", "tcp", {"language": "python"}),
        ("throughput", "unix", {"language": "python", "system": "thrift", "clients": 2}),
        pytest.param("throughput", "unix", {"language": "python", "serialised": False}, marks=pytest.mark.slow),
        pytest.param(
            "latency",
            "tcp",
            {"language": "python", "system": "thrift", "protocol": "json", "framing": "buffered"},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "latency",
            "tcp",
            {"language": "python", "system": "thrift", "protocol": "compact", "model": "nonblocking", "ip": "ipv6"},
            marks=pytest.mark.slow,
        ),
        pytest.param("latency", "tcp", {"serialised": False, "ip": "ipv6"}, marks=pytest.mark.slow),
        pytest.param("latency", "unix", {"system": "thrift", "protocol": "json"}, marks=pytest.mark.slow),
        pytest.param("throughput", "tcp", {"server_threads": 2}, marks=pytest.mark.slow),
        pytest.param("throughput", "tcp", {"system": "thrift", "ip": "ipv6"}, marks=pytest.mark.slow),
        pytest.param("bandwidth", "tcp", {"size": 100_000, "window": 16}, marks=pytest.mark.slow),
        pytest.param("bandwidth", "unix", {"system": "thrift", "window": 8}, marks=pytest.mark.slow),
        pytest.param("mixed", "tcp", {"system": "thrift"}, marks=pytest.mark.slow),
        pytest.param("mixed", "unix", {"bulk_clients": 2}, marks=pytest.mark.slow),
        pytest.param("open_loop", "tcp", {"arrivals": "constant"}, marks=pytest.mark.slow),
        pytest.param("tensor_latency", "tcp", {"scheme": "skew"}, marks=pytest.mark.slow),
        pytest.param("tensor_bandwidth", "tcp", {"scheme": "random", "serialised": False}, marks=pytest.mark.slow),
        pytest.param("parameter_server", "unix", {"system": "thrift", "servers": 3}, marks=pytest.mark.slow),
    ],
)
def test_loops_run(name: str, transport: str, options: dict[str, object], mark: str) -> None:
    system = str(options.get("system", "grpc"))
    python(system) if options.get("language") == "python" else program(system)
    paced = name == "open_loop"
    outcome = run(f"rpc.{name}", SHORT if paced else FEW, transport, **options)
    clients = int(str(options.get("clients", options.get("workers", {"throughput": 4, "open_loop": 4}.get(name, 1)))))
    assert outcome.origin == "measured"
    assert outcome.meta["verified"]
    assert outcome.time_ns.min() > 0
    assert paced or outcome.time_ns.size == 50
    assert set(np.unique(outcome.extras["client"])) <= set(range(clients))
    calls = {"bandwidth": int(str(options.get("window", 64)))}.get(name, int(str(options.get("servers", 1))))
    start = outcome.extras["start_ns"][0]
    own = outcome.extras["service_ns"][0] if paced else outcome.time_ns[0]
    span = ((start + own).max() - start.min()) * 1e-9
    rate = reported(outcome, "transaction_rate_per_s")
    assert rate == pytest.approx(calls * outcome.time_ns.size / span, rel=0.1)
    assert (name == "mixed") == any(value.name == "bandwidth_MBps" for value in outcome.reported)
    assert ("loopback" in texts(outcome.badges)) == (transport == "tcp")
    if paced:
        assert (outcome.extras["service_ns"] <= outcome.time_ns).all()
    assert not marked(mark)


@pytest.mark.slow
def test_overload_is_told() -> None:
    program("thrift")
    outcome = run("rpc.open_loop", transport="unix", system="thrift", rate=1e6)
    assert any(text.startswith("overload: ") for text in texts(outcome.warnings))


# ---- payloads and command lines


def test_payloads_are_those_of_tf_grpc_bench() -> None:
    small, medium, large = 10, 10 * 1024, 1024 * 1024
    uniform = _rpc.buffers(resolved("rpc.tensor_latency"))
    assert [uniform.count(size) for size in (small, medium, large)] == [4, 3, 3]
    skew = _rpc.buffers(resolved("rpc.tensor_latency", scheme="skew"))
    assert [skew.count(size) for size in (small, medium, large)] == [1, 3, 6]
    drawn = _rpc.buffers(resolved("rpc.tensor_latency", scheme="random", buffers=100, large=64))
    assert min(drawn.count(size) for size in (small, medium, 64)) > 15
    assert drawn != _rpc.buffers(resolved("rpc.tensor_latency", scheme="random", buffers=100, large=64, draw=2))
    assert _options.payload(resolved("rpc.tensor_bandwidth", scheme="skew")) == small + 3 * medium + 6 * large
    assert _rpc.buffers(resolved("rpc.latency", size=77)) == [77]


def test_command_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools.Invocation, "missing", property(lambda self: []))
    one = job("rpc.open_loop", Effort(iterations=500, warmup=0), system="thrift", rate=1000.0, protocol="json")
    assert one.server[1:] == (
        "server",
        "protocol=json",
        "framing=framed",
        "model=threaded",
        "address=tcp:{address}:{port}",
    )
    assert one.client[1:] == (
        "client",
        "address=tcp:{address}:{port}",
        "buffers=1000",
        "method=echo",
        "clients=4",
        "rate=1000.0",
        "arrivals=poisson",
        "seconds=1.0",
        "limit=500",
        "seed=1",
        "protocol=json",
        "framing=framed",
        "out=samples",
    )
    two = job("rpc.mixed", transport="unix", server_threads=2)
    assert two.listens == "unix"
    assert two.server[2:] == ("serialised=1", "threads=2", "address=unix:{socket}")
    assert two.client[-2:] == ("bulk_clients=1", "bulk_buffers=131072")
    several = job("rpc.parameter_server", servers=3, workers=2)
    assert several.server[4:9] == ("3", "tcp", "{address}", "{port}", "{socket}")
    assert several.server[-1] == "address=tcp:{address}:@port@"
    assert several.client[2] == "address=@servers"


@pytest.mark.parametrize(
    ("name", "options", "wrong"),
    [
        ("latency", {"size": 0}, "at least 1 B"),
        ("latency", {"model": "nonblocking", "framing": "buffered", "system": "thrift"}, "needs frames"),
        ("latency", {"transport": "shm"}, "a server listens on tcp or unix"),
        ("throughput", {"clients": 0}, "clients=0, but it must be 1 to 256"),
        ("open_loop", {"rate": 0.0}, "rate=0, but it must be above 0"),
        ("bandwidth", {"size": 8 * 2**20, "window": 100}, "under way at once"),
        ("tensor_latency", {"scheme": "skew", "buffers": 100, "system": "thrift"}, "a frame of Thrift"),
    ],
)
def test_what_no_system_can_do_is_refused(name: str, options: dict[str, object], wrong: str) -> None:
    with pytest.raises(SpecError, match=wrong):
        resolved(f"rpc.{name}", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"protocol": "json"}, "protocol=json, but gRPC cannot set it"),
        ({"system": "thrift", "serialised": False}, "serialised=False, but Thrift cannot set it"),
    ],
)
def test_options_of_the_other_system_are_refused(options: dict[str, object], wrong: str) -> None:
    with pytest.raises(SpecError, match=wrong):
        job("rpc.latency", **options)


@pytest.mark.parametrize("system", PROGRAMS)
def test_python_and_c_plus_plus_understand_each_other(system: str, tmp_path: Path) -> None:
    """The client in Python checks every byte that it sends to the server in C++ and gets back."""
    command = [python(system), "-I", str(programs.path("rpc_python.py")), "client", f"system={system}"]
    with server(system, tmp_path) as path:
        words = [f"address=unix:{path}", "buffers=3000", "clients=2", "seconds=5", "limit=40", "out=samples"]
        done = subprocess.run([*command, *words], cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert not done.returncode, done.stderr
    found = layout.parse(done.stdout, (tmp_path / "samples").read_bytes())
    assert (len(found.end), found.payload) == (40, 120_000)
    assert set(found.client) <= {0, 1}


@pytest.mark.parametrize("wrong", ["digest", "echo"])
def test_a_client_in_python_sees_wrong_bytes(wrong: str) -> None:
    def call(method: str, request: bytes) -> object:
        came = b"?" + request[1:] if method == wrong else request
        return came if method == "echo" else rpc_python.answer(method, came)

    connection = rpc_python.Connection(
        prepare=lambda payload: payload,
        call=call,
        content=lambda found: found,
        number=lambda found: found,
    )
    with pytest.raises(RuntimeError, match="other bytes"):
        rpc_python._check(connection, 100, 1)


def test_a_library_that_no_python_has_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pythons, "having", lambda *names: ("", ""))
    with pytest.raises(LaunchError, match=r"a python3 with grpcio \(pip install 'labkit\[rpc\]'\)"):
        job("rpc.latency", language="python")


def test_a_client_in_python_without_a_server_fails(tmp_path: Path) -> None:
    command = [python("thrift"), "-I", str(programs.path("rpc_python.py")), "client", "system=thrift", "buffers=8"]
    words = [f"address=unix:{tmp_path}/none", "clients=2", "seconds=1", "limit=4", "out=samples"]
    done = subprocess.run([*command, *words], cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.returncode == 1
    assert "rpc client" in done.stderr
    assert not (tmp_path / "samples").exists()


def test_a_program_that_is_not_built_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(programs, "path", lambda name: tmp_path / name)
    with pytest.raises(LaunchError, match=r"make setup-all builds it with libgrpc\+\+-dev"):
        job("rpc.latency")
    assert _rpc.version("rpc_grpc") == "unknown"


# ---- the notebook


@pytest.mark.slow
@pytest.mark.netns
def test_the_notebook_measures_and_draws(tmp_path: Path) -> None:
    for system in PROGRAMS:
        program(system)
    tiny = {
        "sizes": "64",
        "rate": "100mbit,1gbit",
        "clients": "1,2",
        "loads": "500,1000",
        "servers": "1",
        "large": 9000,
    }
    for system in LIBRARIES:
        python(system)
    study = studies.get("rpc")(campaign=str(tmp_path / "c"), launches=1, time_cap=0.3, mpi=False, **tiny)
    study.run()
    assert len(study.records) == len(study.points)
    figures = [study.link_figure("rate"), study.bandwidth_figure("rate")]
    figures += [study.sizes_figure(), study.clients_figure(), study.load_figure(), study.servers_figure()]
    assert NOTHING not in figures
    names = {trace.name for trace in figures[2].data}
    assert names == {
        "TCP",
        "Unix socket",
        *(f"{s}, {t}" for s in ("gRPC", "Thrift") for t in ("TCP", "Unix socket")),
    } | {"gRPC, raw, TCP", "gRPC in Python, TCP", "Thrift in Python, TCP"}
    found = str(study.findings())
    assert "gRPC, TCP" in found
    assert "in C++" in found
    rate = study._means("rpc.throughput").set_index(["path", "option_clients"])["transaction_rate_per_s_mean"]
    for path, system in (("gRPC, TCP", "grpc"), ("Thrift, TCP", "thrift")):
        told = [
            one
            for one in study.samples
            if one.spec.benchmark == "rpc.throughput" and one.spec.values["system"] == system
        ]
        for one in told:
            (value,) = (v.value for v in one.reported if v.name == "transaction_rate_per_s")
            assert rate[path, one.spec.values["clients"]] == pytest.approx(value, rel=0.3)  # Little's law


# ---- outputs


def test_only_whole_results_of_the_client_are_read() -> None:
    told = '{"operations": 2, "unfinished": 1, "payload_B": 20, "bulk_operations": 3, "bulk_ns": 500000000}'
    rows = np.array([[9, 10, 12, 1], [1, 2, 5, 0]], np.int64)
    found = layout.parse(told, rows.tobytes())
    assert (found.due.tolist(), found.end.tolist(), found.payload, found.unfinished) == ([1, 9], [5, 12], 20, 1)
    assert (found.bulk, found.bulk_s) == (3, 0.5)
    for text, data in (
        ("rpc_grpc: no", rows.tobytes()),
        (told, rows.tobytes()[:-8]),
        (told.replace("2", "0", 1), b""),
        (told, rows[:, [1, 0, 2, 3]].tobytes()),
    ):
        with pytest.raises(DataError, match="RPC client output: found"):
            layout.parse(text, data)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rpc", "key_value", "microservices", "training_step", "openshmem"])
def test_links_that_cannot_be_delayed_are_measured_without_and_the_findings_say_why(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_linked, "refusal", lambda testbed: "This kernel lacks sch_netem.")
    study = studies.get(name)(campaign=str(tmp_path / "c"))
    assert study.specs()
    assert not [spec.testbed for spec in study.specs() if "delay=" in spec.testbed or "loss=" in spec.testbed]
    sentence = "Delay and loss of the links were not measured: This kernel lacks sch_netem."
    assert sentence in str(study.findings())
    monkeypatch.setattr(_linked, "refusal", lambda testbed: "")
    study = studies.get(name)(campaign=str(tmp_path / "c"))
    assert {"delay", "loss"} <= {key for spec in study.specs() for key in testbeds.parse(spec.testbed)[2]}
    assert sentence not in str(study.findings())
