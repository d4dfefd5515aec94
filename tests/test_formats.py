"""Outputs that tools really printed: exact values, and an error for everything that is not a result."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import DataError
from labkit.formats import fio, iozone, iperf3, netperf, qperf, sockperf
from labkit.point.columns import METRICS
from labkit.point.spec import Reported

GOLDEN = Path(__file__).parent / "golden" / "tools"


def text(name: str) -> str:
    return (GOLDEN / name).read_text()


def value(values: list[Reported], name: str, statistic: str, **labels: object) -> float:
    """The one value of that name over the whole run."""
    matching = [v for v in values if (v.name, v.statistic, v.t, v.rank) == (name, statistic, None, None)]
    (one,) = [v for v in matching if dict(v.labels) == labels]
    return one.value


def names(values: list[Reported]) -> set[str]:
    return {v.name for v in values}


def write_parse(output: str) -> list[Reported]:
    return fio.parse(output, "write")


def sockperf_log(output: str) -> list[Reported]:
    sockperf.log(output)
    return []


# ---- netperf


def test_netperf_counts_round_trips() -> None:
    values = netperf.parse(text("netperf/TCP_RR_k_keyval_j.txt"))
    assert value(values, "transaction_rate_per_s", "mean") == 43472.27
    expected = {"min": 4, "mean": 22.71, "p50": 5, "p90": 5, "p99": 100, "max": 134155, "stddev": 707.01}
    assert {v.statistic: v.value for v in values if v.name == "round_trip_us"} == expected
    assert value(values, "LOCAL_CPU_UTIL", "mean") == 100
    assert value(values, "LOCAL_TRANSPORT_RETRANS", "total") == 0


def test_netperf_stream_is_in_megabytes() -> None:
    values = netperf.parse(text("netperf/TCP_STREAM_k.txt"))
    assert value(values, "bandwidth_MBps", "mean") == pytest.approx(8641.61e6 / 8 / 1e6)
    assert value(values, "send_call_us", "p99") == 2083
    assert value(values, "LOCAL_TRANSPORT_RETRANS", "total") == 10
    assert "round_trip_us" not in names(values)


def test_netperf_values_that_it_did_not_measure_are_left_out() -> None:
    values = netperf.parse(text("netperf/omni_tcp_send_k.txt"))
    assert {v.statistic for v in values if v.name == "send_call_us"} == {"min", "mean", "p90", "p99", "max", "stddev"}
    assert not names(values) & {"LOCAL_CPU_UTIL", "REMOTE_CPU_UTIL"}
    assert min(v.value for v in values) >= 0


def test_netperf_values_that_are_not_finite_are_left_out() -> None:
    values = netperf.parse(text("netperf/TCP_STREAM_k.txt").replace("STDDEV_LATENCY=433.45", "STDDEV_LATENCY=-nan"))
    assert "stddev" not in {v.statistic for v in values}


# ---- iperf3


def test_iperf3_stream() -> None:
    values = iperf3.parse(text("iperf3/tcp.json"))
    assert value(values, "bandwidth_MBps", "mean") == pytest.approx(1906775692.0089562 / 8e6)
    assert value(values, "sent_MBps", "mean") == pytest.approx(1917109381.4043217 / 8e6)
    assert value(values, "retransmits", "total") == 13
    assert value(values, "cpu_remote_total", "mean") == 4.5870214453320628
    assert value(values, "tcp_rtt_us", "mean") == 1528
    assert [(v.t, round(v.value, 6)) for v in values if v.t is not None] == [
        (1.030387, round(2299894756.9339089 / 8e6, 6)),
        (2.012801, round(1515631810.1200933 / 8e6, 6)),
    ]


def test_iperf3_of_both_directions_keeps_them_apart() -> None:
    document = json.loads(text("iperf3/tcp_bidir_P2.json"))
    values = iperf3.parse(text("iperf3/tcp_bidir_P2.json"))
    there, back = (document["end"][f"sum_received{way}"]["bits_per_second"] / 8e6 for way in ("", "_bidir_reverse"))
    assert value(values, "bandwidth_MBps", "mean") == pytest.approx(there)
    assert value(values, "bandwidth_MBps", "mean", direction="reverse") == pytest.approx(back)
    streams = [v for v in values if v.rank is not None and v.name == "bandwidth_MBps"]
    assert [v.labels["direction"] for v in streams] == ["forward", "forward", "reverse", "reverse"]
    assert sum(v.value for v in streams[:2]) == pytest.approx(there, rel=0.01)


def test_iperf3_udp_tells_what_was_lost() -> None:
    values = iperf3.parse(text("iperf3/udp.json"))
    assert value(values, "bandwidth_MBps", "mean") == pytest.approx(93195139.016901642 / 8e6)
    assert value(values, "lost_percent", "mean") == 5.7370607387448072
    assert value(values, "jitter_us", "mean") == pytest.approx(2.4880744040560255)


def test_iperf3_leaves_out_intervals_of_warm_up() -> None:
    document = json.loads(text("iperf3/tcp.json"))
    document["intervals"][0]["sum"]["omitted"] = True
    assert [v.t for v in iperf3.parse(json.dumps(document)) if v.t is not None] == [2.012801]


# ---- sockperf


def test_sockperf_doubles_half_round_trips_once() -> None:
    values = sockperf.parse(text("sockperf/pingpong_tcp.txt"))
    assert value(values, "round_trip_us", "mean") == 2 * 8.890
    assert value(values, "round_trip_us", "p50") == 2 * 2.556
    assert value(values, "round_trip_us", "p999") == 2 * 1799.011
    assert value(values, "round_trip_us", "min") == 2 * 2.386
    assert value(values, "transaction_rate_per_s", "mean") == pytest.approx(30898 / 0.550)
    assert value(values, "dropped_messages", "total") == 0


def test_sockperf_with_full_rtt_is_not_doubled() -> None:
    values = sockperf.parse(text("sockperf/pingpong_full_rtt.txt"))
    assert value(values, "round_trip_us", "mean") == 3963.610
    assert value(values, "round_trip_us", "min") == 14.090


def test_sockperf_log_has_every_round_trip() -> None:
    trip, start = sockperf.log(text("sockperf/pingpong_log.csv"))
    assert trip.dtype == start.dtype == np.int64
    values = sockperf.parse(text("sockperf/pingpong_mps100.txt"))
    assert len(trip) == 54
    assert trip.min() == pytest.approx(value(values, "round_trip_us", "min") * 1e3, abs=2)
    assert trip.max() == pytest.approx(value(values, "round_trip_us", "max") * 1e3, abs=2)
    assert trip.mean() == pytest.approx(value(values, "round_trip_us", "mean") * 1e3, abs=2)
    assert trip[-1] == 2942409971 - 2940654769
    assert start[0] == 0
    assert (np.diff(start) > 0).all()


def test_sockperf_log_with_full_rtt_is_the_same_samples() -> None:
    trip, start = sockperf.log(text("sockperf/pingpong_full_rtt_log.csv"))
    assert trip[:3].tolist() == [57846, 45437, 74059]
    assert start[:3].tolist() == [0, 9811534, 19811325]


def test_sockperf_log_that_contradicts_itself_is_refused() -> None:
    log = text("sockperf/pingpong_full_rtt_log.csv")
    with pytest.raises(DataError, match=r"line 22.*1 × the time"):
        sockperf.log(log.replace("2.410098616, 57.846", "2.410098616, 28.923"))


# ---- qperf


def test_qperf_latency_becomes_a_round_trip() -> None:
    values = qperf.parse(text("qperf/tcp_lat_uu.txt"))
    assert value(values, "round_trip_us", "mean") == pytest.approx(2 * 15.681)
    assert value(values, "transaction_rate_per_s", "mean") == 63772 / 2
    # both say the same, as one transaction is two messages
    assert 1e6 / value(values, "round_trip_us", "mean") == pytest.approx(63772 / 2, rel=1e-3)
    assert value(values, "loc_send_bytes", "total") == 2040768


def test_qperf_of_several_tests_labels_them() -> None:
    values = qperf.parse(text("qperf/qperf_uu.txt"))
    assert value(values, "bandwidth_MBps", "mean", test="tcp_bw") == pytest.approx(267.881442)
    assert value(values, "round_trip_us", "mean", test="tcp_lat") == pytest.approx(2 * 173.611)
    assert value(values, "send_cost", "mean", test="tcp_bw") == 7380292462


# ---- fio


def test_fio_directions_are_kept_apart() -> None:
    output = text("fio/randrw_sync.json")
    reads, writes = fio.parse(output, "read"), fio.parse(output, "write")
    assert value(reads, "iops_per_s", "mean") == 661.904762
    assert value(reads, "bandwidth_MBps", "mean") == pytest.approx(2.711161)
    assert value(reads, "latency_us", "p50") == pytest.approx(69.12)
    assert value(writes, "latency_us", "p999") == pytest.approx(13565.952)
    assert value(writes, "latency_us", "mean") == pytest.approx(2753.289327869)  # lat: clat has 2752.991
    assert value(writes, "usr_cpu", "mean") == 4.306220


def test_fio_json_plus_is_read_too() -> None:
    values = fio.parse(text("fio/seqwrite_libaio.jsonplus"), "write")
    assert value(values, "iops_per_s", "mean") == pytest.approx(3047.619, abs=1e-3)


def test_fio_latency_begins_before_the_submission_with_every_engine() -> None:
    job = json.loads(text("fio/seqwrite_libaio.jsonplus"))["jobs"][0]["write"]
    values = fio.parse(text("fio/seqwrite_libaio.jsonplus"), "write")
    assert value(values, "latency_us", "mean") == pytest.approx(
        (job["slat_ns"]["mean"] + job["clat_ns"]["mean"]) * 1e-3
    )
    # of an asynchronous engine, percentiles of clat are not those of the latency
    assert {v.statistic for v in values if v.name == "latency_us"} == {"mean", "min", "max", "stddev"}
    assert value(values, "clat_us", "p50") == job["clat_ns"]["percentile"]["50.000000"] * 1e-3
    job = json.loads(text("fio/randread_libaio.json"))["jobs"][0]["read"]
    values = fio.parse(text("fio/randread_libaio.json"), "read")
    assert value(values, "latency_us", "p95") == job["lat_ns"]["percentile"]["95.000000"] * 1e-3
    assert not [v for v in values if v.name == "clat_us"]


def test_fio_write_with_fsync_is_the_sum_of_both() -> None:
    job = json.loads(text("fio/fsync.json"))["jobs"][0]
    values = fio.parse(text("fio/fsync.json"), "write")
    mean = job["write"]["lat_ns"]["mean"] + job["sync"]["lat_ns"]["mean"]
    assert value(values, "latency_us", "mean") == pytest.approx(mean * 1e-3)
    assert {v.statistic for v in values if v.name == "latency_us"} == {"mean"}
    assert value(values, "fsync_us", "p50") == job["sync"]["lat_ns"]["percentile"]["50.000000"] * 1e-3
    assert value(values, "write_us", "min") == job["write"]["lat_ns"]["min"] * 1e-3


@pytest.mark.parametrize("name", ["randrw_direct", "randread_libaio"])
def test_fio_log_holds_what_the_json_summarises(name: str) -> None:
    log, output = text(f"fio/{name}_lat.1.log"), text(f"fio/{name}.json")
    counts = 0
    for direction in ("read", "write") if "randrw" in name else ("read",):
        latency, end = fio.log(log, direction)  # type: ignore[arg-type]
        values = fio.parse(output, direction)  # type: ignore[arg-type]
        assert latency.dtype == np.int64
        assert latency.min() == pytest.approx(value(values, "latency_us", "min") * 1e3)
        assert latency.max() == pytest.approx(value(values, "latency_us", "max") * 1e3)
        assert latency.mean() == pytest.approx(value(values, "latency_us", "mean") * 1e3)
        assert (end % 10**6 == 0).all()
        counts += len(latency)
    assert counts == len(log.splitlines()) == 64


# ---- iozone


@pytest.mark.parametrize("name", ["auto_R_nosync", "auto_R_osync"])
def test_iozone_tables_hold_every_cell(name: str) -> None:
    output = text(f"iozone/{name}.txt")
    cells = {
        (v.labels["test"], v.labels["file_size_B"], v.labels["record_size_B"]): v.value for v in iozone.parse(output)
    }
    rows = [list(map(int, row.split())) for row in re.findall(r"^ +\d+ +\d+(?: +\d+){4} *$", output, re.MULTILINE)]
    assert len(cells) == 4 * len(rows)
    for size, record, *rates in rows:
        for test, rate in zip(("write", "rewrite", "read", "reread"), rates, strict=True):
            assert cells[test, size * 1024, record * 1024] == pytest.approx(rate * 1024 / 1e6)


def test_iozone_rates_are_in_megabytes_of_kibibytes() -> None:
    first = iozone.parse(text("iozone/auto_R_osync.txt"))[0]
    assert dict(first.labels) == {"test": "write", "file_size_B": 65536, "record_size_B": 4096}
    assert (first.name, first.unit, first.statistic) == ("bandwidth_MBps", "MB/s", "mean")
    assert first.value == pytest.approx(1445 * 1024 / 1e6)


# ---- all of them

PARSERS: dict[str, Callable[[str], list[Reported]]] = {
    "netperf": netperf.parse,
    "iperf3": iperf3.parse,
    "sockperf": sockperf.parse,
    "qperf": qperf.parse,
    "fio": write_parse,
    "iozone": iozone.parse,
}
RESULTS = [
    "netperf/TCP_RR_confidence.txt",
    "netperf/TCP_STREAM_k.txt",
    "netperf/omni_udp_rr_k.txt",
    "iperf3/tcp.json",
    "iperf3/tcp_n10M_l1K.json",
    "iperf3/udp.json",
    "sockperf/pingpong_tcp.txt",
    "qperf/tcp_lat_uu.txt",
    "qperf/qperf_uu.txt",
    "fio/fsync.json",
    "fio/randrw_sync.json",
    "iozone/auto_R_nosync.txt",
]
# qperf's text has no end that proves it whole, and these of netperf were not asked for in labkit's order
OPEN = ("qperf/", "netperf/TCP_RR", "netperf/omni")
WHOLE = [*(name for name in RESULTS if not name.startswith(OPEN)), "sockperf/pingpong_log.csv"]
FAILURES = {
    "netperf/refused.txt": "establish control",
    "netperf/unknown_test.txt": "NOSUCH",
    "netperf/zero_throughput.txt": "line 2.*above 0",
    "netperf/TCP_RR_o_csv_TESTID_CRASH.txt": "double free",
    "netperf/TCP_RR.txt": "line 2.*KEY=VALUE",
    "iperf3/refused.json": "unable to connect to server: Connection refused",
    "iperf3/sctp_refused.json": "unable to connect",
    "iperf3/server_busy.json": "the server is busy running a test",
    "sockperf/refused.txt": "line 2.*Can`t connect socket",
    "sockperf/usage.txt": "line 1.*Invalid message size: 8",
    "sockperf/throughput_tcp.txt": "avg-latency",
    "qperf/qperf_rc_lat_nodevice.txt": "line 2.*warning",
    "qperf/qperf_sctp.txt": "qperf failed",
    "qperf/qperf_tcp_lat_loop.txt": "line 2.*run qperf with -uu",
    "fio/invalid_argument.json": "error 22 .Invalid argument",
    "fio/net_rx.json": "total_ios 0 for write",
    "iozone/no_folder.txt": "Can not open temp file|No such file",
    "iozone/single_directIO.txt": "run iozone with -R",
}


def sound(values: Sequence[Reported]) -> None:
    """Metrics have their unit, all values are numbers from 0, and none comes twice."""
    assert values
    for one in values:
        assert one.name not in METRICS or one.unit == METRICS[one.name].unit
        assert np.isfinite(one.value)
        assert one.value >= 0
    places = [(v.name, v.statistic, v.rank, v.t, *v.labels.items()) for v in values]
    assert len(places) == len(set(places))


@pytest.mark.parametrize("name", RESULTS)
def test_metrics_have_their_unit_and_others_a_name_of_their_own(name: str) -> None:
    sound(PARSERS[name.split("/")[0]](text(name)))


@pytest.mark.parametrize("name", FAILURES)
def test_failures_are_errors_with_what_was_found(name: str) -> None:
    with pytest.raises(DataError, match=FAILURES[name]):
        PARSERS[name.split("/")[0]](text(name))


@pytest.mark.parametrize("tool", PARSERS)
def test_nothing_is_an_error(tool: str) -> None:
    with pytest.raises(DataError, match="wanted"):
        PARSERS[tool]("")


@pytest.mark.parametrize("name", WHOLE)
@given(part=st.floats(0, 0.97))
def test_a_cut_output_is_an_error(name: str, part: float) -> None:
    whole = text(name).rstrip()
    parse = sockperf_log if name.endswith(".csv") else PARSERS[name.split("/")[0]]
    with pytest.raises(DataError):
        parse(whole[: int(len(whole) * part)])


@pytest.mark.parametrize(
    ("parse", "name", "old", "new", "message"),
    [
        (netperf.parse, "netperf/TCP_STREAM_k.txt", "THROUGHPUT=8641.61", "THROUGHPUT=much", "line 2.*a number"),
        (netperf.parse, "netperf/TCP_STREAM_k.txt", "10^6bits/s", "GBytes/s", "GBytes/s.*10.6bits"),
        (iperf3.parse, "iperf3/tcp.json", '"sum_received"', '"sum"', "no sum_received in end"),
        (sockperf.parse, "sockperf/pingpong_tcp.txt", "<MIN>", "<LEAST>", "<MIN>"),
        (sockperf_log, "sockperf/pingpong_log.csv", "2.942409971, 877.601", "2.94240, 877.601", "line 75.*9 decimals"),
        (qperf.parse, "qperf/tcp_lat_uu.txt", "15681 ns", "15.7 us", "line 2.*-uu"),
        (write_parse, "fio/fsync.json", '"clat_ns"', '"clat"', "no clat_ns in jobs"),
        (iozone.parse, "iozone/auto_R_osync.txt", '"512"   800  6101', '"512"   800  n/a', "wanted a file size"),
        (iozone.parse, "iozone/auto_R_osync.txt", '"512"   800  6101', '"512"   800', "24 cells in the Writer report"),
    ],
)
def test_a_spoiled_line_is_named(
    parse: Callable[[str], list[Reported]], name: str, old: str, new: str, message: str
) -> None:
    assert old in text(name)
    with pytest.raises(DataError, match=message):
        parse(text(name).replace(old, new))


def test_a_log_without_the_direction_is_an_error() -> None:
    with pytest.raises(DataError, match="none a write"):
        fio.log("0, 100, 0, 4096, 0\n", "write")
    with pytest.raises(DataError, match="line 2"):
        fio.log("0, 100, 0, 4096, 0\n0, 100", "read")
