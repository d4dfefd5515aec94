"""Outputs that the tools of sockets really printed beside those of test_formats: exact values, an error for all else."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import DataError
from labkit.formats import fi_pingpong, fio, iperf, iperf3, netperf, netpipe, qperf, sockperf
from labkit.point.spec import Reported
from tests.test_formats import names, sound, text, value

Parse = Callable[[str], list[Reported]]


def unix(output: str) -> list[Reported]:
    return fio.answered(output, "labkit")


def without_ends(output: str) -> list[Reported]:
    return iperf3.beside_others(output, 0.2)


def two(output: str) -> list[Reported]:
    return iperf.stream(output, 2)


def two_ways(output: str) -> list[Reported]:
    return iperf.both(output, 2)


# ---- netperf and qperf over UDP


def test_netperf_udp_tells_what_left_and_what_arrived() -> None:
    values = netperf.parse(text("netperf/UDP_STREAM_k.txt"))
    assert value(values, "bandwidth_MBps", "mean") == pytest.approx(594.72 / 8)
    assert value(values, "sent_MBps", "mean") == pytest.approx(960.63 / 8)
    assert value(values, "lost_percent", "mean") == pytest.approx(100 * (1 - 53125 / 85811))
    assert value(values, "send_call_us", "p99") == 19
    trips = netperf.parse(text("netperf/UDP_RR_k.txt"))
    assert value(trips, "round_trip_us", "p50") == 11
    assert not names(trips) & {"sent_MBps", "lost_percent", "LOCAL_TRANSPORT_RETRANS"}


def test_netperf_with_another_congestion_control_is_an_error() -> None:
    output = text("netperf/TCP_STREAM_k.txt").replace(
        "PROTOCOL=", "LOCAL_CONG_CONTROL=bbr\nREMOTE_CONG_CONTROL=bbr\nPROTOCOL="
    )
    assert netperf.parse(output, "bbr") == netperf.parse(output)
    with pytest.raises(DataError, match=r"LOCAL_CONG_CONTROL=bbr.*wanted reno"):
        netperf.parse(output, "reno")
    with pytest.raises(DataError, match="LOCAL_CONG_CONTROL=none"):
        netperf.parse(text("netperf/TCP_STREAM_k.txt"), "reno")


def test_qperf_udp_bandwidth_is_what_arrived() -> None:
    values = qperf.parse(text("qperf/udp_bw_uu.txt"))
    assert value(values, "bandwidth_MBps", "mean") == pytest.approx(54.4572)
    assert value(values, "sent_MBps", "mean") == pytest.approx(111.4204)
    assert value(values, "lost_percent", "mean") == pytest.approx(100 * (1 - 38898 / 79586))
    assert value(qperf.parse(text("qperf/udp_lat_uu.txt")), "round_trip_us", "mean") == pytest.approx(2 * 13.244)
    assert value(qperf.parse(text("qperf/tcp_bw_uu.txt")), "bandwidth_MBps", "mean") == pytest.approx(1110.114304)


# ---- iperf3


@pytest.mark.parametrize("name", ["tcp_bidir", "tcp_bidir_P2"])
def test_iperf3_sums_both_directions(name: str) -> None:
    values = iperf3.both(text(f"iperf3/{name}.json"))
    ways = [value(values, "bandwidth_MBps", "mean", direction=way) for way in ("forward", "reverse")]
    assert value(values, "bandwidth_MBps", "mean") == pytest.approx(sum(ways))
    assert value(values, "retransmits", "total", direction="forward") > 0
    with pytest.raises(DataError, match=r"1 directions.*--bidir"):
        iperf3.both(text("iperf3/tcp.json"))


def test_iperf3_beside_others_counts_what_arrived_in_the_middle() -> None:
    output = text("iperf3/beside_others.json")
    values = without_ends(output)
    whole, first, second = (one.value for one in values if one.name == "bandwidth_MBps" and one.t is None)
    assert whole == pytest.approx(5898240 / 0.6 / 1e6, rel=1e-3)
    assert (first, second) == pytest.approx((whole / 2, whole / 2), rel=1e-3)
    assert whole < value(iperf3.parse(output), "bandwidth_MBps", "mean")  # the first and the last intervals had more
    assert [round(one.t, 1) for one in values if one.t is not None] == [k / 10 for k in range(1, 11)]
    assert {one.name for one in values} == {one.name for one in iperf3.parse(output)}


def test_iperf3_several_udp_streams_are_one_offer() -> None:
    values = iperf3.parse(text("iperf3/udp_P2.json"))
    assert value(values, "sent_MBps", "mean") == pytest.approx(99908016.92488582 / 8e6)
    assert value(values, "bandwidth_MBps", "mean") == pytest.approx(85876037.14843853 / 8e6)
    assert value(values, "lost_percent", "mean") == 11.970410221923336


# ---- iperf 2


def test_iperf_streams() -> None:
    values = iperf.stream(text("iperf/tcp.txt"))
    assert value(values, "bandwidth_MBps", "mean") == pytest.approx(16127969 / 8e3)
    assert value(values, "retransmits", "total") == 0
    values = two(text("iperf/tcp_P2.txt"))
    assert value(values, "bandwidth_MBps", "mean") == pytest.approx((13923326 + 12941671) / 8e3)
    assert [(v.rank, v.value) for v in values if v.rank is not None] == [(0, 12941671 / 8e3), (1, 13923326 / 8e3)]
    assert iperf.stream(text("iperf/tcp_P2.txt"), 2, "bbr") == values
    with pytest.raises(DataError, match="congestion control set to reno"):
        iperf.stream(text("iperf/tcp_P2.txt"), 2, "reno")
    with pytest.raises(DataError, match="3 streams"):
        iperf.stream(text("iperf/tcp_P2.txt"), 3)


def test_iperf_both_directions() -> None:
    values = two_ways(text("iperf/full_duplex_P2.txt"))
    there, back = 5806876 + 7876549, 5986030 + 7641646
    assert value(values, "bandwidth_MBps", "mean", direction="forward") == pytest.approx(there / 8e3)
    assert value(values, "bandwidth_MBps", "mean", direction="reverse") == pytest.approx(back / 8e3)
    assert value(values, "bandwidth_MBps", "mean") == pytest.approx((there + back) / 8e3)


def test_iperf_datagrams_need_the_report_of_the_server() -> None:
    values = iperf.datagrams(text("iperf/udp.txt"))
    assert value(values, "sent_MBps", "mean") == pytest.approx(50018 / 8e3)
    assert value(values, "bandwidth_MBps", "mean") == pytest.approx(49986 / 8e3)
    assert value(values, "lost_percent", "mean") == pytest.approx(100 * 3 / 4468)
    assert value(values, "jitter_us", "mean") == 0
    with pytest.raises(DataError, match="Server Report"):
        iperf.datagrams(text("iperf/udp_P2.txt"))


def test_iperf_bounces_are_round_trips() -> None:
    values = iperf.bounces(text("iperf/bounceback.txt"))
    assert {v.statistic: v.value for v in values if v.name == "round_trip_us"} == pytest.approx(
        {"mean": 24, "min": 16, "max": 78579, "stddev": 432}
    )
    assert value(values, "transaction_rate_per_s", "mean") == 40904
    assert value(values, "round_trips", "total") == 39468
    with pytest.raises(DataError, match="congestion control set to reno"):
        iperf.bounces(text("iperf/bounceback.txt"), "reno")


# ---- sockperf under load


def test_sockperf_under_load_has_a_sample_for_every_message() -> None:
    trip, start = sockperf.log(text("sockperf/under_load_log.csv"))
    values = sockperf.parse(text("sockperf/under_load_udp.txt"))
    assert len(trip) == 549
    assert trip.max() == pytest.approx(value(values, "round_trip_us", "max") * 1e3, abs=2)
    late = sockperf.late(start, 1000)
    assert late.dtype == np.int64
    assert late.min() == 0
    assert late.max() < 1_000_000, "each left before the turn of the next one"


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=50))
def test_lateness_is_against_the_earliest_message(delays: list[int]) -> None:
    start = np.arange(len(delays)) * 10**6 + np.array(delays, np.int64)
    assert sockperf.late(start, 1000).tolist() == (np.array(delays) - min(delays)).tolist()


# ---- NetPIPE


def test_netpipe_ladder_is_in_decimal_megabytes() -> None:
    values = netpipe.ladder(text("netpipe/ladder.out"))
    sizes = [v.labels["block_size_B"] for v in values if v.name == "latency_us"]
    assert (sizes[0], sizes[-1], len(sizes)) == (1, 4099, 58)
    assert value(values, "latency_us", "value", block_size_B=1) == pytest.approx(3.02, abs=0.01)
    assert value(values, "round_trip_us", "value", block_size_B=1024) == pytest.approx(6.4, abs=0.02)
    assert value(values, "bandwidth_MBps", "value", block_size_B=4096) == pytest.approx(11299.310345 * 2**20 / 8e6)


def test_netpipe_of_one_size_is_a_round_trip() -> None:
    values = netpipe.round_trip(text("netpipe/one.out"))
    assert value(values, "round_trip_us", "value") == pytest.approx(2 * 9.81, abs=0.01)
    with pytest.raises(DataError, match="58 sizes"):
        netpipe.round_trip(text("netpipe/ladder.out"))


def test_netpipe_both_ways_prints_twice_the_size() -> None:
    values = netpipe.ladder("     128 51.760759   0.00001887\n", "both")
    assert [(v.name, v.labels["block_size_B"]) for v in values] == [("bandwidth_MBps", 64)]
    assert values[0].value == pytest.approx(51.760759 * 2**20 / 8e6)


# ---- fi_pingpong and fio


def test_fi_pingpong_half_round_trips_are_doubled() -> None:
    values = fi_pingpong.parse(text("fi_pingpong/tcp_64.client.txt"))
    assert value(values, "round_trip_us", "mean") == pytest.approx(2 * 1181.18)
    assert value(values, "transaction_rate_per_s", "mean") == pytest.approx(1e6 / 2 / 1181.18)
    assert value(fi_pingpong.parse(text("fi_pingpong/udp.client.txt")), "round_trip_us", "mean") == 2 * 960.38


def test_fio_over_a_unix_socket() -> None:
    values = unix(text("fio/unix_pingpong.json"))
    assert value(values, "round_trip_us", "p50") == pytest.approx(10.688)
    assert value(values, "transaction_rate_per_s", "mean") > 0
    assert not names(values) & {"latency_us", "iops_per_s", "bandwidth_MBps"}
    with pytest.raises(DataError, match=r"error 32 .Broken pipe"):
        unix(text("fio/unix_pingpong.json").replace('"error" : 106', '"error" : 32'))
    with pytest.raises(DataError, match="0 jobs of the name other"):
        fio.answered(text("fio/unix_pingpong.json"), "other")


# ---- all of them

RESULTS: list[tuple[Parse, str]] = [
    (netperf.parse, "netperf/UDP_STREAM_k.txt"),
    (netperf.parse, "netperf/UDP_RR_k.txt"),
    (qperf.parse, "qperf/udp_bw_uu.txt"),
    (qperf.parse, "qperf/udp_lat_uu.txt"),
    (iperf3.both, "iperf3/tcp_bidir.json"),
    (iperf3.parse, "iperf3/udp_P2.json"),
    (without_ends, "iperf3/beside_others.json"),
    (iperf.stream, "iperf/tcp.txt"),
    (two, "iperf/tcp_P2.txt"),
    (iperf.both, "iperf/full_duplex.txt"),
    (two_ways, "iperf/full_duplex_P2.txt"),
    (iperf.datagrams, "iperf/udp.txt"),
    (iperf.bounces, "iperf/bounceback.txt"),
    (netpipe.ladder, "netpipe/ladder.out"),
    (netpipe.round_trip, "netpipe/one.out"),
    (fi_pingpong.parse, "fi_pingpong/tcp_64.client.txt"),
    (unix, "fio/unix_pingpong.json"),
    (sockperf.parse, "sockperf/under_load_udp.txt"),
]
# without an end that proves them whole: qperf's text, a ladder, of which each line is a result, and iperf with several
# streams, where more follows what counts
OPEN = ("qperf/", "netpipe/ladder", "iperf/tcp_P2", "iperf/full_duplex_P2")
FAILURES: list[tuple[Parse, str, str]] = [
    (iperf.stream, "iperf/refused.txt", "port 25301.*wanted the lines of 1 stream"),
    (iperf.both, "iperf/tcp.txt", "1 lines of the way reverse, but there are 0"),
    (iperf.datagrams, "iperf/tcp.txt", "Server Report"),
    (iperf.datagrams, "iperf/udp_P2.txt", "Server Report"),
    (iperf.bounces, "iperf/tcp.txt", "BB cnt"),
    (iperf.stream, "iperf/bounceback_default.txt", "Write/Err"),
    (without_ends, "iperf3/tcp.json", "server_output_json"),
    (iperf3.both, "iperf3/no_such_congestion.json", "unable to set TCP_CONGESTION"),
    (fi_pingpong.parse, "fi_pingpong/tcp_all.client.txt", "line 3.*the line of one size"),
    (fi_pingpong.parse, "netpipe/one.out", "line 1.*#sent"),
    (netpipe.ladder, "fi_pingpong/udp.client.txt", "line 1.*bytes, Mbps"),
]


@pytest.mark.parametrize(("parse", "name"), RESULTS, ids=[name for _, name in RESULTS])
def test_metrics_have_their_unit_and_no_value_comes_twice(parse: Parse, name: str) -> None:
    sound(parse(text(name)))


@pytest.mark.parametrize(("parse", "name", "message"), FAILURES, ids=[name for _, name, _ in FAILURES])
def test_what_is_no_result_is_an_error(parse: Parse, name: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse(text(name))


@pytest.mark.parametrize(("parse", "name"), RESULTS, ids=[name for _, name in RESULTS])
def test_nothing_is_an_error(parse: Parse, name: str) -> None:
    with pytest.raises(DataError, match="wanted"):
        parse("")


@pytest.mark.parametrize(
    ("parse", "name"),
    [r for r in RESULTS if not r[1].startswith(OPEN)],
    ids=lambda part: part if isinstance(part, str) else "",
)
@given(part=st.floats(0, 0.97))
def test_a_cut_output_is_an_error(parse: Parse, name: str, part: float) -> None:
    whole = text(name).rstrip()
    with pytest.raises(DataError):
        parse(whole[: int(len(whole) * part)])


@pytest.mark.parametrize(("parse", "name"), RESULTS, ids=[name for _, name in RESULTS])
@given(data=st.data())
def test_a_spoiled_output_is_a_result_or_an_error(parse: Parse, name: str, data: st.DataObject) -> None:
    whole = text(name)
    at = data.draw(st.integers(0, len(whole) - 1))
    spoiled = whole[:at] + data.draw(st.sampled_from([*"09.-,:%/=[]{}\n\x00", "nan", "1e999", ""])) + whole[at + 1 :]
    try:
        values = parse(spoiled)
    except DataError:
        return
    assert all(np.isfinite(v.value) for v in values)


@pytest.mark.parametrize(
    ("parse", "name", "old", "new", "message"),
    [
        (
            netperf.parse,
            "netperf/UDP_STREAM_k.txt",
            "REMOTE_RECV_CALLS=53125",
            "REMOTE_RECV_CALLS=99999",
            "99999 of 85811",
        ),
        (
            qperf.parse,
            "qperf/udp_bw_uu.txt",
            "recv_msgs   =      38898",
            "recv_msgs   =      99999",
            "no more than were",
        ),
        (iperf.datagrams, "iperf/udp.txt", "3/4468", "5000/4468", "lost of those sent"),
        (iperf.both, "iperf/full_duplex.txt", "[FD1]", "[FD2]", r"a line \[FD1\]"),
        (iperf.stream, "iperf/tcp.txt", "16127969 Kbits", "0 Kbits", "above 0"),
        (netpipe.ladder, "netpipe/ladder.out", "10532.850824", "9532.850824", "line 56.*follows from size and rate"),
        (fi_pingpong.parse, "fi_pingpong/tcp_64.client.txt", "=1k", "=999", "as many answers"),
        (fi_pingpong.parse, "fi_pingpong/tcp_64.client.txt", "1181.18", "0.00", "above 0"),
    ],
)
def test_a_contradiction_is_named(parse: Parse, name: str, old: str, new: str, message: str) -> None:
    assert old in text(name)
    with pytest.raises(DataError, match=message):
        parse(text(name).replace(old, new))
