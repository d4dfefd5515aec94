"""Real verbs between two soft-RoCE devices in a guest that is booted once; and guests that end as they must."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import labkit
from labkit import Effort, Spec, testbeds
from labkit.errors import LaunchError
from labkit.host.pyverbs import interpreter
from labkit.run import launch
from labkit.testbeds import Kept, _guest, soft_roce
from tests.waiting import commandline, until

pytestmark = pytest.mark.verbs
VERBS = Path(labkit.__file__).parent / "kernels" / "verbs"
SIZES = (1, 8, 4096, 65536)


@pytest.fixture(scope="session")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the testbeds of these tests are noted."""
    return tmp_path_factory.mktemp("run")


@pytest.fixture(autouse=True)
def noted(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No testbed of anybody else is used."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(notes))


@pytest.fixture(scope="session")
def kept(notes: Path) -> Iterator[Kept]:
    """The testbed, kept up for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(notes))
        one = testbeds.bring_up("soft-roce", lifetime=600)
    yield one
    testbeds.take_down(one)
    assert not Path(one.handle["folder"]).exists()


@pytest.fixture(scope="session")
def guest(kept: Kept) -> testbeds.Testbed:
    """What commands it takes."""
    return soft_roce.attach(kept.handle)


def inside(guest: testbeds.Testbed, *command: str, limit: float = 240) -> subprocess.CompletedProcess[str]:
    """A command in the guest."""
    return subprocess.run(guest.wrap(command), capture_output=True, text=True, timeout=limit)


def gone(folder: str) -> None:
    """Wait until a guest has left no process and no file."""
    until(lambda: not processes(folder) and not Path(folder).exists())


def processes(folder: str) -> list[str]:
    """Every process that has something to do with a guest."""
    running = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            line = commandline(int(entry.name))
            running += [line] if folder in line else []
    return running


@pytest.mark.slow
def test_every_operation_brings_its_bytes_over_the_link(guest: testbeds.Testbed) -> None:
    before = guest.evidence()
    done = inside(guest, interpreter(), "-I", str(VERBS / "selftest.py"), "rxe0", "rxe1", *map(str, SIZES), limit=600)
    after = guest.evidence()
    outcome = json.loads(done.stdout)
    assert set(outcome.values()) == {"ok"}
    operations = {" ".join(name.split()[:2]) for name in outcome}
    assert {
        "send RC",
        "send UC",
        "send UD",
        "write RC",
        "write UC",
        "read RC",
        "write_with_immediate RC",
        "fetch_and_add",
        "compare_and_swap",
    } <= operations
    assert {"send RC with events", "send RC inline", "send UD into shared receives"} <= set(outcome)
    assert {"write RC from buffers in turn", "send RC from a buffer used again"} <= set(outcome)
    crossed = {name: after[name] - before[name] for name in after}
    payload = sum(int(name.split()[-1]) for name in outcome if name.split()[-1].isdigit())
    assert payload > 400_000
    assert crossed["v0.tx_bytes"] + crossed["v1.tx_bytes"] >= payload  # nothing went by loopback
    assert crossed["rxe0.sent_pkts"] > 0
    assert crossed["rxe1.rcvd_pkts"] == crossed["rxe0.sent_pkts"]


@pytest.mark.slow
def test_a_wrong_byte_is_found(guest: testbeds.Testbed) -> None:
    program = f"""
import sys; sys.path.insert(0, {str(VERBS.parents[2])!r})
from labkit.kernels.verbs import ends, selftest
from labkit.kernels.verbs.plan import Plan
sent = ends.End.request
def request(end, *a, **k):
    end.memory.view[end.plan.size - 1] ^= 1
    return sent(end, *a, **k)
ends.End.request = request
print(selftest._verified(['rxe0', 'rxe1'], Plan(program='latency', operation='send', size=100)))
"""
    done = inside(guest, interpreter(), "-I", "-c", program)
    assert "brought a wrong byte at 99" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("program_name", ["hotspot_receive", "hotspot_send"])
def test_a_wrong_byte_at_a_hot_spot_is_found(guest: testbeds.Testbed, program_name: str) -> None:
    program = f"""
import os, sys; sys.path.insert(0, {str(VERBS.parents[2])!r})
from labkit.kernels.verbs import crowd
from labkit.kernels.verbs.plan import Plan
plan = Plan(program={program_name!r}, size=100, peers=2, window=2, srq={program_name == "hotspot_receive"})
message = crowd._message
if not os.fork():
    crowd._message = lambda plan, name, k: message(plan, name, k)[:-1] + (b'!' if (name, k) == (1, 1) else message(plan, name, k)[-1:])
    crowd.around('rxe1', -1, 18515, plan)
    os._exit(0)
crowd.hub('rxe0', -1, 18515, '127.0.0.1', plan)
"""
    done = inside(guest, interpreter(), "-I", "-c", program)
    assert done.stderr.count("VerbsError: send of 100 B brought a wrong byte at 99") == 1


EVENT = ("send_latency", 64, {"tool": "pyverbs", "completion": "event"})
OTHERS = [
    EVENT,
    ("send_latency", 64, {"tool": "perftest", "connection": "UD"}),
    ("atomic_latency", 8, {"tool": "perftest", "operation": "compare_and_swap"}),
    ("read_bandwidth", 4096, {"tool": "pyverbs", "post_list": 4, "qps": 2}),
    ("send_bandwidth", 4096, {"tool": "perftest"}),
    ("registration", 65536, {}),
    ("setup", 0, {}),
    ("setup", 0, {"rdma_cm": True}),
    ("sequencer", 8, {"clients": 4}),
    ("key_value", 64, {}),
    ("echo", 64, {"request": "write", "connection": "UC"}),
    ("host_overhead", 64, {"connection": "UD"}),
    ("pingping", 64, {}),
    ("availability", 4096, {"tx_depth": 16, "cq_moderation": 4, "compute_us": 3000}),
    ("write_bandwidth", 4096, {"tool": "pyverbs", "buffers_in_turn": 7, "reuse": 50}),
    ("send_bandwidth", 1024, {"tool": "perftest", "srq": True}),
    ("send_bandwidth", 2048, {"tool": "perftest", "connection": "UD", "multicast": True}),
    ("send_latency", 32, {"tool": "perftest", "rdma_cm": True, "inline": 0}),
    ("hotspot_receive", 64, {"peers": 2, "window": 4, "srq": True}),
    ("hotspot_send", 64, {"peers": 3, "completion": "event", "inline": 64}),
]
TRANSPORTS = [
    ("uct_latency", "rc", "am", "short"),
    ("uct_latency", "ud", "am", "short"),
    ("uct_bandwidth", "rc", "put", "zcopy"),
]


@pytest.mark.parametrize(
    ("sizes", "others"), [((4096,), []), pytest.param(SIZES, OTHERS, marks=pytest.mark.slow)], ids=["few", "all"]
)
def test_tools_and_loops_measure_in_the_guest(
    kept: Kept, tmp_path: Path, sizes: tuple[int, ...], others: list[tuple[str, int, dict[str, Any]]]
) -> None:
    sweep = [Spec(benchmark="verbs.write_latency", size=size, testbed="soft-roce") for size in sizes]
    specs = sweep + [
        Spec(benchmark=f"verbs.{name}", size=size, testbed="soft-roce", options=options)
        for name, size, options in others
    ]
    specs += [
        Spec(
            benchmark=f"verbs.{name}",
            size=8 if connection == "rc" else 16,
            testbed="soft-roce",
            transport=connection,
            options={"operation": operation, "layout": layout},
        )
        for name, connection, operation, layout in TRANSPORTS[: len(others)]
    ]
    campaign = labkit.measure(specs, Effort(launches=1, iterations=128, warmup=2), into=tmp_path / "campaign")
    kinds = {}
    for one in campaign.samples():
        kinds[one.spec.benchmark, one.spec.size] = one
        if one.spec.benchmark == "verbs.setup":
            steps = {name for name in one.extras if name.startswith(("connect", "resolve", "disconnect"))}
            assert len(steps) == 4 * one.spec.values["rdma_cm"]
            assert (one.time_ns > sum(one.extras.values())).all(), "each step is part of the whole"
        assert soft_roce.GUEST in one.meta["badges"]
        assert one.meta["testbed"]["kernel"]
        assert one.time_ns.size or one.reported
        assert "path mismatch" not in one.meta["badges"], (one.spec, one.meta["evidence"], one.time_ns.size)
        assert (one.time_ns > 0).all()
        if one.meta["engine"] == "pyverbs" and "latency" in one.spec.benchmark:
            assert one.meta["verified"]
            assert one.meta["pyverbs_empty_poll_ns"] > 0
        if one.spec.values.get("multicast"):
            assert one.meta["evidence"]["rxe0.rcvd_pkts"] >= 128, "each datagram reached the member of the group"
        if one.spec.benchmark == "verbs.host_overhead":
            assert one.extras["overhead_ns"].shape == one.time_ns.shape
            assert (one.extras["overhead_ns"] <= 2 * one.time_ns + 1).all(), "of the round trip"
        if one.spec.benchmark == "verbs.availability":
            assert (one.extras["compute_ns"] < one.time_ns).all()
            assert (one.extras["compute_ns"] >= 1_000_000).all(), "calibrated by the shortest run: 3 ms, or more"
        if one.spec.benchmark in ("verbs.hotspot_receive", "verbs.hotspot_send"):
            assert one.meta["verified"]
    assert set(kinds) == {(spec.benchmark, spec.size) for spec in specs}
    for size in sizes:
        one = kinds["verbs.write_latency", size]
        assert one.meta["engine"] == "perftest"
        assert one.time_ns.size == 128
        assert one.meta["evidence"]["v0.tx_bytes"] >= 128 * size
    table = labkit.load(campaign)
    assert (table.loc[table["benchmark"] == "verbs.write_latency", "latency_us_p50"] > 0).all()


@pytest.mark.slow
@pytest.mark.mpi
@pytest.mark.parametrize("launcher", ["openmpi", "mpich"])
@pytest.mark.parametrize("transport", ["rc", "ud"])
def test_mpi_over_rdma_crosses_the_cable(kept: Kept, tmp_path: Path, launcher: str, transport: str) -> None:
    if launcher not in launch.installed():
        pytest.skip(f"{launcher} is not installed")
    spec = Spec(benchmark="mpi.latency", size=4096, testbed="soft-roce", launcher=launcher, transport=transport)
    (one,) = labkit.measure(spec, Effort(launches=1, iterations=50), into=tmp_path / "campaign").samples()
    assert min(one.meta["interface_B"][name] for name in ("v0", "v1")) >= 50 * 4096
    assert one.meta["interface_B"]["lo"] < 50 * 4096
    assert not {"path mismatch", "shared memory", "loopback"} & {str(badge) for badge in one.meta["badges"]}


@pytest.mark.slow
def test_the_link_has_the_delay_and_the_rate_that_were_asked_for(kept: Kept, tmp_path: Path) -> None:
    specs = [
        Spec(benchmark="verbs.read_latency", size=8, testbed="soft-roce,delay=5ms"),
        Spec(benchmark="verbs.read_latency", size=8, testbed="soft-roce"),
        Spec(benchmark="verbs.write_bandwidth", size=16384, testbed="soft-roce,rate=24mbit"),
    ]
    campaign = labkit.measure(specs, Effort(launches=1, iterations=64, warmup=0), into=tmp_path / "campaign")
    by = {one.spec.testbed: one for one in campaign.samples()}
    assert by["soft-roce,delay=5ms"].time_ns.min() >= 10e6  # there and back
    assert by["soft-roce,delay=5ms"].meta["testbed"]["delay"] == "5ms"
    assert by["soft-roce"].time_ns.min() < 10e6
    means = [v.value for v in by["soft-roce,rate=24mbit"].reported if v.name == "bandwidth_MBps"]
    assert means
    assert min(means) <= 24 / 8 * 1.05


@pytest.mark.slow
def test_a_command_in_the_guest_gives_its_status_and_ends_with_its_owner(guest: testbeds.Testbed) -> None:
    done = inside(guest, "sh", "-c", "echo out; echo err >&2; exit 3")
    assert (done.stdout, done.stderr, done.returncode) == ("out\n", "err\n", 3)
    assert inside(guest, "no-such-program").returncode == 127
    long = subprocess.Popen(guest.wrap(["sleep", "987"]))
    until(lambda: "sleep 987" in inside(guest, "ps", "ax", "-o", "args").stdout, each=0.2)
    long.kill()
    long.wait()
    until(lambda: "sleep 987" not in inside(guest, "ps", "ax", "-o", "args").stdout, each=0.2)


@pytest.mark.slow
def test_a_failed_run_says_why_and_the_next_one_works(kept: Kept, tmp_path: Path) -> None:
    bad = Spec(benchmark="verbs.send_latency", size=8, testbed="soft-roce", options={"tool": "pyverbs", "gid": 77})
    with pytest.raises(LaunchError, match=r"1 of 1 point × launch failed.*\n?"):
        labkit.measure(bad, Effort(launches=1, iterations=5, time_limit=20), into=tmp_path / "bad")
    good = Spec(benchmark="verbs.send_latency", size=8, testbed="soft-roce", options={"tool": "pyverbs"})
    assert len(labkit.measure(good, Effort(launches=1, iterations=5), into=tmp_path / "good").done()) == 1


BOOT = """
import sys, time
from labkit.testbeds import _guest, soft_roce
told = _guest._qemu
def qemu(folder, *rest, **options):
    print(folder, flush=True)
    return told(folder, *rest, **options)
_guest._qemu = qemu
with _guest.boot(required=soft_roce._MODULES, cpus=1, memory="256M") as guest:
    print("up", guest.run(["uname", "-r"]), flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)], ids=["kill -9", "terminate"]
)
def test_a_guest_killed_half_way_leaves_nothing(how: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", BOOT], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        folder = owner.stdout.readline().strip()
        console = Path(folder) / "console"
        until(console.exists)
        assert any("qemu-system" in line for line in processes(folder))
        owner.send_signal(how)
    gone(folder)


@pytest.mark.slow
def test_two_guests_run_side_by_side(kept: Kept) -> None:
    with _guest.boot(required=soft_roce._MODULES, cpus=1, memory="256M") as other:
        assert other.folder != kept.handle["folder"]
        assert other.run(["hostname"]) == "guest\n"
    gone(other.folder)


@pytest.mark.slow
def test_a_guest_that_does_not_come_up_is_tried_again_and_says_what_its_console_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The error shows the end of the console instead of the command line; the second attempt logs more."""
    monkeypatch.setattr(_guest.Guest, "run", lambda *_, **__: (_ for _ in ()).throw(LaunchError("no answer")))
    boot = _guest.boot(required=soft_roce._MODULES, cpus=1, memory="256M", limit=4)
    with (
        pytest.raises(LaunchError, match=r"within 4 s of processor time\. It ran kernel .* tried 2 times") as caught,
        boot,
    ):
        pass
    text = str(caught.value)
    assert "The last lines of its console:" in text or "Its console is empty." in text  # on a slow machine
    assert "command:" not in text
    assert len(text.splitlines()) < 20
