"""Messages of this machine broken down: calls, layers by difference, what was not measured, and their notebooks."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from labkit.errors import SpecError
from labkit.figures.parts import NOTHING
from labkit.io import project
from labkit.judge import layers
from labkit.models.breakdown import REST
from labkit.studies import breakdown, waterfall
from tests.made import samples

EXAMPLES = project.SHIPPED / "data" / "campaigns" / "examples"
WHERE = {"message_size_B": 8, "transport": "tcp", "testbed": "local"}


def table(*rows: dict[str, Any]) -> pd.DataFrame:
    """Records of one launch for each value: a row is a benchmark, its columns, and metrics with a list of values."""
    made = []
    for n, row in enumerate(rows):
        lists = {name: values for name, values in row.items() if isinstance(values, list)}
        plain = {name: value for name, value in row.items() if name not in lists}
        for launch, values in enumerate(zip(*lists.values(), strict=True)):
            made.append({"fingerprint": str(n), "launch": launch, **plain, **dict(zip(lists, values, strict=True))})
    return pd.DataFrame(made)


CALLS = {"benchmark": "mpi.call_times", "post_us_p50": 2 * [1.0, 1.2, 1.1], "find_us_p50": 2 * [2.0, 2.0, 2.3]}
CLOCK = {"benchmark": "micro.clock", "clock_read_ns_p50": [100.0] * 6}


class Calls(breakdown.Study):
    """The study on records that were made by hand."""

    samples: Any = (object(),)
    rows: tuple[dict[str, Any], ...] = ()
    apart: Any = {}  # noqa: RUF012 (of one campaign)
    records: Any = property(lambda self: table(*self.rows))


def study(*rows: dict[str, Any]) -> Calls:
    one = Calls(measure=False, campaign="unused", transports="tcp")
    one.rows = rows
    return one


def test_calls_clock_and_rest_sum_to_the_message() -> None:
    whole = 2 * [5.0, 5.2, 5.1]
    one = study(CALLS | WHERE | {"latency_us_p50": whole, "poll_us_p50": whole}, CLOCK).message("tcp")
    assert one is not None
    assert one.names == ["post", "find", "clock", REST]
    assert [part.time.value for part in one.parts] == pytest.approx([1.0, 1.9, 0.2, 2.0])
    assert one.whole.launches == pytest.approx(whole)
    assert one.named([REST])[0].time.launches == pytest.approx(2 * [2.0, 2.0, 1.7])
    assert all(low <= part.time.value <= high for part in one.parts for low, high in [part.time.interval])


def test_calls_that_take_longer_than_the_message_overlap() -> None:
    row = CALLS | WHERE | {"latency_us_p50": 2 * [2.0, 2.2, 2.1], "poll_us_p50": [1.0] * 6}
    text = str(study(row, CLOCK).findings())
    assert "more than the whole: calls of the two ranks overlap for 1 µs" in text
    assert "Not measured here: cache line from core to core" in text


def test_of_a_stream_the_answer_is_not_attributed() -> None:
    row = WHERE | {"benchmark": "mpi.injection", "injection_us_p50": [1.0, 1.1], "post_us_p50": [0.7, 0.7]}
    one = study(row | {"complete_us_p50": [0.1, 0.1]}).stream("tcp")
    assert one is not None
    assert one.named([REST])[0].time.launches == pytest.approx([0.2, 0.3])


def rung(name: str, *values: float, **where: Any) -> dict[str, Any]:
    metric = "round_trip_us_p50" if name.startswith("sockets") else "latency_us_p50"
    return {"benchmark": name, "message_size_B": 64, "testbed": "local", metric: 3 * list(values), **where}


LADDER = (
    rung("verbs.ucx_latency", 6.0, 6.2, transport="tcp", option_operation="tag"),
    rung("mpi.latency", 5.0, 5.1, transport="tcp", option_binding="c"),
    rung("mpi.latency", 6.0, 6.5, transport="tcp", option_binding="buffers"),
    rung("sockets.tcp_rr", 20.0, 22.0, option_tool="sockperf"),
    rung("verbs.uct_latency", 4.0, 4.2, transport="tcp", option_operation="am"),
)


class Ladder(waterfall.Study):
    """The study on records that were made by hand."""

    samples: Any = ()
    rows: tuple[dict[str, Any], ...] = ()
    apart: Any = {}  # noqa: RUF012 (of one campaign)
    records: Any = property(lambda self: table(*self.rows))


def ladder(*rows: dict[str, Any]) -> Ladder:
    one = Ladder(measure=False, campaign="unused")
    one.rows, one.samples = rows, [samples("mpi.latency", [1])]
    return one


def test_each_layer_begins_where_the_one_below_ends() -> None:
    one = ladder(*LADDER)
    own = one.breakdown
    assert own is not None
    assert own.names == ["uct", "ucp", "c", "buffers"]
    assert [part.time.value for part in own.parts] == pytest.approx([4.1, 2.0, -1.05, 1.2])
    assert own.whole.value == pytest.approx(6.25)
    figure = one.figure()
    assert not isinstance(figure, str)
    bases = {x: base for trace in figure.data if trace.name for x, base in zip(trace.x, trace.base, strict=True)}
    assert sorted(bases.values()) == pytest.approx(sorted([0.0, 0.0, 4.1, 5.05, 6.1]))


def test_a_layer_that_avoids_the_one_below_and_one_without_samples_are_named() -> None:
    text = str(ladder(*LADDER).findings())
    assert "MPI, C kernel is faster than the layer below it: it does not send through it, or in another way." in text
    assert "Not measured: wire: stated delay and rate, verbs (perftest), mpi4py, pickle." in text
    assert "A blocking TCP socket takes 2.08 times as long as MPI from C" in text
    states = dict(zip(*(ladder(*LADDER).table()[name] for name in ("layer", "latency")), strict=True))
    assert states["verbs (perftest)"] == "not measured"
    assert ladder(*LADDER[:1]).breakdown is not None
    assert "UCT (active message)" in str(ladder(*LADDER[:4]).findings()), "not measured, and named"
    assert waterfall.Study(measure=False, campaign=str(EXAMPLES / "virtual-cluster")).figure() == NOTHING


def test_launches_that_lie_far_apart_name_no_largest_layer() -> None:
    """Differences whose intervals contain 0, and a ratio whose interval contains 1, are not stated as findings."""
    noisy = {"latency_us_p50": [5.0, 40000.0, 7.0, 30000.0, 6.0, 6.5]}
    even = [{k: [16.1, 16.2, 16.0, 16.1, 16.3, 16.1] for k, v in row.items() if isinstance(v, list)} for row in LADDER]
    rows = [row | (noisy if n == 1 else even[n]) for n, row in enumerate(LADDER)]
    text = str(ladder(*rows).findings())
    assert "Which layer adds most is not known" in text
    assert "the launches do not decide (6 launches, 1 comparison)" in text
    assert "times as long as MPI" not in text


def test_a_point_with_more_launches_stands_for_a_path() -> None:
    paths = layers.ladder(64, "tcp")
    rows = table(LADDER[1], LADDER[1] | {"latency_us_p50": [float(n) for n in range(7)]})
    time = layers.time_of(rows, paths[3])
    assert time is not None
    assert list(time.launches) == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert layers.time_of(rows, paths[0]) is None


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"transport": "udp"}, "transport='udp', but it must be one of tcp, shm, rc, ud"),
        ({"environment": "UCX_TLS"}, "environment='UCX_TLS', but it must be NAME=VALUE"),
    ],
)
def test_wrong_parameters_are_one_clear_error(values: dict[str, Any], error: str) -> None:
    with pytest.raises(SpecError, match=error):
        waterfall.Study(**values).specs()


@pytest.mark.parametrize(("testbed", "tool"), [("local", "sockperf"), ("soft-roce,delay=1ms", "netperf")])
def test_a_guest_which_keeps_its_files_has_the_socket_measured_by_a_tool_that_prints_all(
    testbed: str, tool: str
) -> None:
    study = waterfall.Study(measure=False, campaign=str(EXAMPLES / "virtual-cluster"), transport="tcp", testbed=testbed)
    (socket,) = [spec for spec in study.specs() if spec.benchmark == "sockets.tcp_rr"]
    assert socket.values["tool"] == tool
    assert layers.tcp(64, testbed).where["option_tool"] == tool


def test_durations_of_system_calls_are_read_from_perf() -> None:
    spec = importlib.util.spec_from_file_location("attribution", Path(__file__).parents[1] / "bench" / "attribution.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    lines = [
        " 7  1.000001000: syscalls:sys_enter_writev: fd: 0x00000014, vec: 0x1, vlen: 0x1",
        " 8  1.000002000: syscalls:sys_enter_poll: ufds: 0x1, nfds: 0x3, timeout_msecs: 0x0",
        " 7  1.000004500: syscalls:sys_exit_writev: 0x34",
        " 8  1.000003000: syscalls:sys_exit_poll: 0x1",
        " 8  1.000003100: syscalls:sys_enter_readv: fd: 0x00000014, vec: 0x1, vlen: 0x1",
        " 8  1.000005100: syscalls:sys_exit_readv: 0x34",
        " 8  1.000006000: syscalls:sys_enter_readv: fd: 0x00000014, vec: 0x1, vlen: 0x1",
        " 8  1.000007000: syscalls:sys_exit_readv: 0xfffffffffffffff5",
        "something else",
    ]
    taken = module.durations(lines)
    assert taken == {(7, "writev"): [3.5], (8, "poll"): [1.0], (8, "readv"): [2.0], (8, module.FOUND): [3.0]}
