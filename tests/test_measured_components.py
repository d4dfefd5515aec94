"""How Breaking Band measures its components: its equations with its numbers, and intervals of a PCIe trace."""

import numpy as np
import pytest

from labkit.errors import DataError
from labkit.formats import pcie_trace
from labkit.models import breaking_band
from labkit.models import measured_components as measured
from labkit.models.breakdown import Time, combine
from labkit.read import reference

PAPER = reference.load(breaking_band.PAPER)
C = breaking_band.published()
HEAD = "Sequence,Type,Length,Direction,Time Delta,Time Stamp"
# Figure 6 as an analyzer exports it: its column Time Delta, and time stamps which differ by that
FIGURE_6 = f"""\
Link Transactions of put_bw
{HEAD}
3645,MWr(64),16,downstream,264.000 ns,0001.429 405 854 2 s
3646,MWr(64),16,downstream,280.000 ns,0001.429 406 118 2 s
3647,MWr(64),16,downstream,317.000 ns,0001.429 406 398 2 s
3648,MWr(64),16,downstream,258.000 ns,0001.429 406 715 2 s
3649,MWr(64),16,downstream,264.000 ns,0001.429 406 973 2 s
3650,MWr(64),16,downstream,,0001.429 407 237 2 s
"""
# a ping-pong of am_lat, two rounds, with the components of Table 1
PING_PONG = f"""\
{HEAD}
1,MWr(64),16,downstream,,0.00 ns
100,MWr(64),16,upstream,,765.62 ns
100,Ack,,downstream,,1040.60 ns
101,MWr(64),2,upstream,,1300.00 ns
101,Ack,,downstream,,1574.98 ns
,UpdateFC-P,,downstream,,1600.00 ns
2,MWr(64),16,downstream,,2052.99 ns
102,MWr(64),16,upstream,,2818.61 ns
103,MRd(64),0,upstream,,2820.00 ns
103,Ack,,downstream,,3100.00 ns
"""


def packets(text: str) -> list[pcie_trace.Packet]:
    return pcie_trace.packets(text, "trace.csv")


# ---- the trace


def test_figure_6_gives_its_five_deltas() -> None:
    deltas = measured.injection(packets(FIGURE_6))
    assert deltas == pytest.approx([264, 280, 317, 258, 264], abs=1e-6)
    assert np.mean(deltas) == pytest.approx(276.6)


def test_a_ping_pong_gives_the_components_of_table_1() -> None:
    trace = packets(PING_PONG)
    assert measured.network_round_trips(trace) == pytest.approx([765.62, 765.62])
    assert measured.pcie_round_trips(trace) == pytest.approx([274.98, 274.98]), "that of 103 is of a read"
    assert measured.pongs_to_pings(trace) == pytest.approx([752.99])
    pcie = measured.pcie(float(np.mean(measured.pcie_round_trips(trace))))
    network = measured.network(float(np.mean(measured.network_round_trips(trace))))
    delta = float(np.mean(measured.pongs_to_pings(trace)))
    write = measured.rc_to_mem(delta, pcie, PAPER["llp_prog"].value, PAPER["llp_post"].value)
    assert (pcie, network, write) == pytest.approx((137.49, 382.81, 240.96))
    assert C.llp_post + 2 * pcie + network + write + C.llp_prog == pytest.approx(breaking_band.latency_llp(C))


def test_a_sequence_number_that_came_round_is_no_acknowledgement_of_the_old_write() -> None:
    text = f"{HEAD}\n7,MWr,16,upstream,,0 ns\n7,MRd,0,upstream,,9000 ns\n7,Ack,,downstream,,9274 ns\n"
    with pytest.raises(DataError, match="needs an upstream MWr and a downstream Ack with its Sequence"):
        measured.pcie_round_trips(packets(text))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (HEAD, "Time,What", r"trace\.csv, line 1: found 'Link Transactions of put_bw', wanted a head with the columns"),
        ("0001.429 406 118 2 s", "406118.2", r"line 4: found '406118\.2', wanted in column Time Stamp a time with its"),
        ("3646,MWr(64),16,down", "3646,MWr(64),16,side", "line 4: found 'sidestream', wanted in column Direction"),
        ("3647,MWr(64),16", "3647,MWr(64),many", "line 5: found 'many', wanted in column Length a whole number"),
        ("3647,MWr(64)", "3647,", "line 5: found '', wanted in column Type the kind of packet"),
        ("0001.429 406 715 2 s", "0001.429 405 715 2 s", "line 6: .* at or after that of the line above: sort"),
        (",16,downstream,317.000 ns,0001.429 406 398 2 s", "", "line 5: .* a cell in each of the columns Time Stamp"),
    ],
)
def test_a_bad_trace_is_refused_by_file_line_and_column(old: str, new: str, said: str) -> None:
    assert old in FIGURE_6
    with pytest.raises(DataError, match=said):
        packets(FIGURE_6.replace(old, new))


def test_a_trace_without_packets_or_without_intervals_is_refused() -> None:
    with pytest.raises(DataError, match=r"trace\.csv, line 1: .* wanted a packet below the head"):
        packets(HEAD)
    with pytest.raises(DataError, match=r"line 1: found 'an empty file', wanted a head"):
        packets("")
    with pytest.raises(DataError, match="needs two downstream MWr of 64 B"):
        measured.injection(packets(FIGURE_6)[:1])


# ---- the equations


def test_hardware_by_round_trips_and_differences() -> None:
    assert measured.pcie(274.98) == pytest.approx(PAPER["pcie"].value)
    assert measured.network(549.62) == pytest.approx(PAPER["wire"].value)
    assert measured.switch(1135.80, 1027.80) == pytest.approx(PAPER["switch"].value)


def test_software_by_timers_and_differences() -> None:
    assert measured.without_timer(225.11, PAPER["profiling"].value) == pytest.approx(C.llp_post)
    assert measured.rest_of_post(C.llp_post, 27.78, 17.33, 21.07, 94.25) == pytest.approx(PAPER["post_misc"].value)
    isend, ucp, uct = C.post, C.isend_ucp + C.llp_post, C.llp_post
    assert measured.layer_of_call(isend, ucp) == pytest.approx(PAPER["isend_mpich"].value)
    assert measured.layer_of_call(ucp, uct) == pytest.approx(PAPER["isend_ucp"].value)
    assert measured.layer_of_progress(600.0, 350.0, C.callback_mpich) == pytest.approx(297.99)
    assert measured.post_prog(64 * 59.82 + 3 * C.llp_post, C.llp_post, 3, 64) == pytest.approx(PAPER["post_prog"].value)
    assert measured.busy_posts(8.99, 16, 64) == pytest.approx(2.2475)
    printed = measured.latency_of_benchmark(PAPER["am_lat"].value, PAPER["update"].value)
    assert printed == pytest.approx(PAPER["latency_llp_observed"].value, abs=0.1)
    assert measured.injection_of_rate(1 / PAPER["injection_observed"].value) == pytest.approx(263.91)


def test_an_equation_keeps_the_launches_of_what_was_measured() -> None:
    delta = Time(value=753.0, launches=(752.0, 753.0, 754.0))
    write = combine(lambda pong: measured.rc_to_mem(pong, 137.49, 61.63, 175.42), delta)
    assert write.interval == pytest.approx((239.97, 241.97))
