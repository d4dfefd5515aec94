"""Outputs that perftest, ucx_perftest and qperf really printed over RDMA: exact values, an error for all else."""

import contextlib
import json
import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import DataError
from labkit.formats import perftest, qperf, ucx_perftest
from tests.test_formats import GOLDEN, sound, text, value

MIB = 2**20 / 1e6


def table(name: str) -> dict[str, str]:
    """Heading → cell of the only row, by position, read apart from the parser."""
    lines = text(name).splitlines()
    head = max(number for number, line in enumerate(lines) if line.startswith(" #bytes"))
    columns = re.split(r"(?<=\])\s+|(?<=#bytes)\s+|(?<=#iterations)\s+", lines[head].strip())
    rows = [line for line in lines[head + 1 :] if re.match(r" \d", line)]
    return dict(zip(columns, rows[-1].split(), strict=True))


# ---- perftest

LATENCIES = sorted(p.stem for p in (GOLDEN / "perftest").glob("*_lat*_U.txt") if "cycles" not in p.stem)
LISTED = [name for name in LATENCIES if "dur" not in name]


@pytest.mark.parametrize("name", [*LISTED, "send_lat", "send_lat_H", "atomic_lat"])
def test_latencies_are_those_of_the_table(name: str) -> None:
    reported, row = perftest.parse(text(f"perftest/{name}.txt")), table(f"perftest/{name}.txt")
    assert [(v.name, v.statistic, v.value) for v in reported] == [
        ("latency_us", statistic, float(row[column]))
        for statistic, column in (
            ("min", "t_min[usec]"),
            ("max", "t_max[usec]"),
            ("p50", "t_typical[usec]"),
            ("mean", "t_avg[usec]"),
            ("stddev", "t_stdev[usec]"),
            ("p99", "99% percentile[usec]"),
            ("p999", "99.9% percentile[usec]"),
        )
    ]


@pytest.mark.parametrize("name", LISTED)
def test_samples_hold_what_the_table_summarises(name: str) -> None:
    times, row = perftest.samples(text(f"perftest/{name}.txt")), table(f"perftest/{name}.txt")
    assert times.dtype == np.int64
    assert len(times) == int(row["#iterations"]) - 1
    # the table leaves out the two longest: its maximum is the second longest, its mean that of the others
    in_order = np.sort(times) * 1e-3
    assert in_order[0] == pytest.approx(float(row["t_min[usec]"]), abs=6e-3)
    assert in_order[-2] == pytest.approx(float(row["t_max[usec]"]), rel=1e-4)
    assert in_order[:-2].mean() == pytest.approx(float(row["t_avg[usec]"]), rel=1e-3)
    assert np.median(in_order[:-2]) == pytest.approx(float(row["t_typical[usec]"]), rel=1e-3)
    assert (np.diff(times) < 0).any(), "in the order of the iterations, not sorted"


def test_first_samples_are_these() -> None:
    assert perftest.samples(text("perftest/send_lat_U.txt"))[:4].tolist() == [46930400, 4041800, 66049, 28585]


def test_a_run_by_time_has_mean_and_rate() -> None:
    for name, mean, rate in (("send_lat_dur", 3352.63, 149.14), ("send_lat_dur_U", 23.16, 21585.53)):
        reported = perftest.parse(text(f"perftest/{name}.txt"))
        assert value(reported, "latency_us", "mean") == mean
        assert value(reported, "transaction_rate_per_s", "mean") == rate
        assert len(reported) == 2
        # half a round trip each
        assert 2 * mean * rate == pytest.approx(1e6, rel=1e-3)


BANDWIDTHS = [
    "write_bw",
    "send_bw",
    "read_bw",
    "atomic_bw",
    "write_bw_bidir",
    "write_bw_q2",
    "write_bw_post_list",
    "write_bw_Q",
    "write_bw_rdmacm",
    "send_bw_ud",
    "send_bw_event",
]


@pytest.mark.parametrize("name", BANDWIDTHS)
def test_bandwidths_are_mebibytes_made_megabytes(name: str) -> None:
    reported, row = perftest.parse(text(f"perftest/{name}.txt")), table(f"perftest/{name}.txt")
    assert len(reported) == 3
    assert value(reported, "bandwidth_MBps", "max") == pytest.approx(float(row["BW peak[MB/sec]"]) * MIB)
    mean = value(reported, "bandwidth_MBps", "mean")
    assert mean == pytest.approx(float(row["BW average[MB/sec]"]) * MIB)
    rate = value(reported, "message_rate_per_s", "mean")
    assert rate == pytest.approx(float(row["MsgRate[Mpps]"]) * 1e6)
    # which proves the unit: two decimals of MiB/s, six of 10^6 messages/s
    assert rate * int(row["#bytes"]) == pytest.approx(mean * 1e6, abs=0.006 * 2**20 + int(row["#bytes"]))


def test_gigabits_are_read_too() -> None:
    reported = perftest.parse(text("perftest/write_bw_gbits.txt"))
    assert value(reported, "bandwidth_MBps", "mean") == pytest.approx(0.14 * 125)
    assert value(reported, "message_rate_per_s", "mean") * 4096 == pytest.approx(0.14 * 125e6, rel=0.04)


def test_version_6_says_mebibytes() -> None:
    newer = text("perftest/write_bw.txt").replace("MB/sec", "MiB/sec")
    assert perftest.parse(newer) == perftest.parse(text("perftest/write_bw.txt"))


@pytest.mark.parametrize("name", ["write_bw_dur", "write_bw_nopeak"])
def test_a_peak_that_was_not_worked_out_is_left_out(name: str) -> None:
    reported = perftest.parse(text(f"perftest/{name}.txt"))
    assert [(v.name, v.statistic) for v in reported] == [("bandwidth_MBps", "mean"), ("message_rate_per_s", "mean")]


def test_a_bandwidth_too_small_for_two_decimals_is_left_out() -> None:
    tiny = text("perftest/atomic_bw.txt").replace("0.08  ", "0.00  ").replace("0.07  ", "0.00  ")
    assert [v.name for v in perftest.parse(tiny)] == ["message_rate_per_s"]


def test_every_size_of_a_sweep_is_labelled() -> None:
    sizes = [2**power for power in range(1, 24)]
    rates = perftest.parse(text("perftest/write_bw_all.txt"))
    assert [v.labels["message_size_B"] for v in rates if v.name == "message_rate_per_s"] == sizes
    assert value(rates, "bandwidth_MBps", "mean", message_size_B=65536) == pytest.approx(47.03 * MIB)
    times = perftest.parse(text("perftest/send_lat_all.txt"))
    assert [v.labels["message_size_B"] for v in times if v.statistic == "p50"] == sizes
    assert value(times, "latency_us", "min", message_size_B=8388608) == 191055.93


def test_another_size_than_asked_for_is_an_error() -> None:
    assert perftest.parse(text("perftest/send_bw_ud.txt"), 2048)
    with pytest.raises(DataError, match="a row of 8192 B"):
        perftest.parse(text("perftest/send_bw_ud.txt"), 8192)


def test_a_deviation_that_overflowed_is_left_out_alone() -> None:
    reported = perftest.parse(text("perftest/send_lat_cycles.txt"))
    assert [v.statistic for v in reported] == ["min", "max", "p50", "mean", "p99", "p999"]


def test_cycles_are_no_samples() -> None:
    with pytest.raises(DataError, match="one list in µs"):
        perftest.samples(text("perftest/send_lat_cycles_U.txt"))


def test_a_sorted_list_is_no_samples() -> None:
    with pytest.raises(DataError, match="57 iterations', wanted 59: -H sorts"):
        perftest.samples(text("perftest/send_lat_H.txt"))
    with pytest.raises(DataError, match="0 lists"):
        perftest.samples(text("perftest/send_lat.txt"))


def test_a_clock_that_was_not_calibrated_is_an_error_in_bandwidth() -> None:
    """perftest really printed this one, with exit status 0 and 'Correlation coefficient' on standard error."""
    with pytest.raises(DataError, match=r"line 36: found '16384 .*could not calibrate its clock. Run it again"):
        perftest.parse(text("perftest/send_bw_all_no_clock.txt"))


@pytest.mark.parametrize("printed", ["inf", "-nan", "nan"])
def test_a_clock_that_was_not_calibrated_is_an_error_in_latency(printed: str) -> None:
    """Made from a real output with the words that printf has for a division by 0 MHz."""
    real = text("perftest/send_lat_U.txt")
    row = re.sub(r"(\d+\.\d\d)(?=\s)", printed, real)
    with pytest.raises(DataError, match="could not calibrate its clock"):
        perftest.parse(row)
    with pytest.raises(DataError, match="could not calibrate its clock"):
        perftest.samples(re.sub(r"^(\d+), .*$", rf"\1, {printed}", real, flags=re.MULTILINE))


@pytest.mark.parametrize("name", ["send_lat", "send_bw", "write_bw_dur", "send_lat_dur"])
def test_json_of_version_4_5_is_read_though_it_is_none(name: str) -> None:
    loose = text(f"perftest/{name}.json")
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(loose)
    reported = perftest.parse_json(loose)
    key = "t_avg" if "lat" in name else "BW_average"
    printed = float(re.findall(rf"{key}: (\S+),", loose)[0])
    metric, factor = ("latency_us", 1.0) if "lat" in name else ("bandwidth_MBps", MIB)
    assert value(reported, metric, "mean") == pytest.approx(printed * factor)


@pytest.mark.parametrize("name", ["send_lat", "send_bw", "write_bw_dur", "send_lat_dur"])
def test_json_of_later_versions_is_the_same(name: str) -> None:
    """Derived: a file of 4.5 put into the form that the source of later versions prints (REPORT_FMT_…_JSON)."""
    loose = text(f"perftest/{name}.json")
    strict = re.sub(r"^ *([\w*.]+) ?: ([^{\n]*?),?$", r'"\1": \2,', loose, flags=re.MULTILINE)
    strict = re.sub(r'": ([A-Z]\w*),', r'": "\1",', strict).replace("test_info:", '"test_info":')
    strict = re.sub(r",\s*\}", "\n}", strict.replace("results:", '"results":')).replace("},\n}", "}\n}")
    assert json.loads(strict)["results"]["n_iterations"] > 0
    assert perftest.parse_json(strict) == perftest.parse_json(loose)


def test_json_with_gigabits_must_be_told() -> None:
    mean = value(perftest.parse_json(text("perftest/send_bw.json"), unit="Gb/sec"), "bandwidth_MBps", "mean")
    assert mean == pytest.approx(6.51 * 125)


# ---- ucx_perftest


@pytest.mark.parametrize(
    ("name", "median", "mean"),
    [
        ("rc_tag_lat", 24.0, 27.418),
        ("rc_put_lat", 25.0, 29.233),
        ("rc_get", 42.0, 46.721),
        ("rc_tag_lat_csv", 23.5, 26.625),
        ("ud_tag_lat", 37.0, 130.925),
        ("tcp_tag_lat", 3.418, 787.295),
    ],
)
def test_ucx_latency_is_the_median_and_the_mean_of_all(name: str, median: float, mean: float) -> None:
    reported = ucx_perftest.parse(text(f"ucx_perftest/{name}.txt"))
    assert value(reported, "latency_us", "p50") == median
    assert value(reported, "latency_us", "mean") == mean
    assert value(reported, "message_rate_per_s", "mean") == pytest.approx(1e6 / mean, rel=1e-2)


@pytest.mark.parametrize(
    ("name", "size"), [("rc_tag_bw", 65536), ("rc_put_bw", 65536), ("ud_tag_bw", 4096), ("shm_tag_bw", 65536)]
)
def test_ucx_megabytes_are_mebibytes(name: str, size: int) -> None:
    reported = ucx_perftest.parse(text(f"ucx_perftest/{name}.txt"))
    assert {v.name for v in reported} == {"overhead", "bandwidth_MBps", "message_rate_per_s"}
    rate = value(reported, "message_rate_per_s", "mean")
    assert rate * size == pytest.approx(value(reported, "bandwidth_MBps", "mean") * 1e6, rel=5e-3)


@pytest.mark.parametrize(
    "error", ["tcp/lo does not support operation put short", "Message size (4096) is larger than max supported (100)"]
)
def test_a_layout_that_a_transport_of_ucx_lacks_names_the_remedy(error: str) -> None:
    line = f"[1795756613.646291] [vm:28439:0]         libperf.c:519  UCX  ERROR {error}"
    with pytest.raises(DataError, match=r"UCX failed\. Set another layout or size: ucx_info -d lists"):
        ucx_perftest.parse(f"{line}\n")


def test_ucx_heading_can_be_overruled() -> None:
    get = ucx_perftest.parse(text("ucx_perftest/rc_get_O.txt"), latency=False)
    assert value(get, "overhead", "mean") == 1232.82
    csv = ucx_perftest.parse(text("ucx_perftest/rc_tag_bw_csv.txt"), latency=False)
    assert value(csv, "bandwidth_MBps", "mean") == pytest.approx(35.17 * MIB)
    assert "latency_us" not in {v.name for v in csv}


def test_ucx_without_progress_and_with_another_percentile() -> None:
    short = ucx_perftest.parse(text("ucx_perftest/tcp_tag_lat_f.txt"))
    assert {v.statistic for v in short if v.name == "latency_us"} == {"p50", "mean"}
    tail = ucx_perftest.parse(text("ucx_perftest/tcp_tag_lat_p999.txt"))
    assert {v.statistic for v in tail if v.name == "latency_us"} == {"p999", "mean"}


# ---- qperf over RDMA


@pytest.mark.parametrize(
    ("name", "latency"),
    [
        ("rc_lat", 2181.425),
        ("rc_rdma_read_lat", 55.336),
    ],
)
def test_qperf_latency_over_rdma_is_one_way(name: str, latency: float) -> None:
    reported = qperf.parse(text(f"qperf/{name}.txt"))
    assert value(reported, "latency_us", "mean") == pytest.approx(latency)
    assert value(reported, "message_rate_per_s", "mean") == pytest.approx(1e6 / latency, rel=0.02)
    assert "round_trip_us" not in {v.name for v in reported}


def test_qperf_rates_over_rdma() -> None:
    reported = qperf.parse(text("qperf/rc_rdma_write_bw.txt"))
    assert value(reported, "bandwidth_MBps", "mean") == pytest.approx(24.969216)
    assert value(reported, "message_rate_per_s", "mean") == 381
    assert value(qperf.parse(text("qperf/rc_compare_swap_mr.txt")), "message_rate_per_s", "mean") == 25600


def test_qperf_received_counts_in_ud() -> None:
    """Derived from the layout of udp_bw, which is the same code: UD does not work without a GID."""
    reported = qperf.parse("ud_bw:\n    send_bw   =  3000000 bytes/sec\n    recv_bw   =  2000000 bytes/sec\n")
    assert value(reported, "bandwidth_MBps", "mean") == 2
    assert value(reported, "send_bw", "mean") == 3000000


# ---- all of them

PARSERS: dict[str, Callable[[str], object]] = {
    "perftest": perftest.parse,
    "perftest samples": perftest.samples,
    "perftest JSON": perftest.parse_json,
    "ucx_perftest": ucx_perftest.parse,
    "qperf": qperf.parse,
}
FAILURES = {
    "perftest/refused.txt": "heading '#bytes",
    "perftest/nodevice.txt": "Unable to find the Infiniband",
    "perftest/write_ud.txt": "UD connection only possible in SEND verb",
    "ucx_perftest/no_test.txt": "line 1.*missing test name",
    "ucx_perftest/refused.txt": "line 1.*Connection refused",
    "ucx_perftest/aborted.txt": "one final line",
    "qperf/rc_lat_no_cm.txt": "line 2.*failed to modify QP to RTR",
    "qperf/ud_lat_no_gid.txt": "line 2.*set but not used in test ud_lat",
    "qperf/rc_unused_option.txt": "line 2.*warning: -mt set but not used|line 4.*-mt set but not used",
}
RESULTS = sorted(
    f"{folder}/{path.name}"
    for folder in ("perftest", "ucx_perftest")
    for path in (GOLDEN / folder).glob("*.txt")
    if f"{folder}/{path.name}" not in FAILURES and "no_clock" not in path.name
) + sorted(f"qperf/{path.name}" for path in (GOLDEN / "qperf").glob("rc_*.txt") if f"qperf/{path.name}" not in FAILURES)
# one rule closes them, not two
WHOLE = [f"perftest/{name}.txt" for name in ("send_lat", "send_lat_U", "atomic_lat_U", "send_lat_all", "send_lat_H")]


@pytest.mark.parametrize("name", RESULTS)
def test_metrics_have_their_unit_and_values_are_finite(name: str) -> None:
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
@given(part=st.floats(0, 0.99))
def test_a_cut_output_is_an_error(name: str, part: float) -> None:
    whole = text(name).rstrip().rstrip("-")  # excerpts hold any part of the rule that closes it
    for parse in (perftest.parse, perftest.samples):
        with pytest.raises(DataError):
            parse(whole[: int(len(whole) * part)])


@given(part=st.floats(0, 0.99))
def test_a_cut_json_is_an_error(part: float) -> None:
    whole = text("perftest/send_lat.json").rstrip()
    with pytest.raises(DataError):
        perftest.parse_json(whole[: int(len(whole) * part)])


@pytest.mark.parametrize("tool", PARSERS)
@given(data=st.data())
def test_no_text_makes_a_parser_fail_in_another_way(tool: str, data: st.DataObject) -> None:
    """Lines of real outputs in any order, and with anything in place of a number."""
    kind = tool.split()[0]
    lines = [
        line for name in sorted(n for n in RESULTS if n.startswith(kind + "/"))[:6] for line in text(name).splitlines()
    ]
    lines += text("perftest/send_lat.json").splitlines()
    chosen = data.draw(st.lists(st.sampled_from(sorted(set(lines))) | st.text(max_size=30), max_size=25))
    joined = "\n".join(chosen)
    spoiled = data.draw(st.sampled_from(["inf", "-nan", "1e999", "-3", "x", "", "9" * 400, "1.2.3", "٣", "…"]))
    for candidate in (joined, re.sub(r"\d+(\.\d+)?", spoiled, joined, count=data.draw(st.integers(1, 40)))):
        with contextlib.suppress(DataError):
            PARSERS[tool](candidate)


@pytest.mark.parametrize("tool", PARSERS)
@given(garbage=st.text())
def test_garbage_is_an_error(tool: str, garbage: str) -> None:
    with pytest.raises(DataError):
        PARSERS[tool](garbage)


@pytest.mark.parametrize(
    ("parse", "name", "old", "new", "message"),
    [
        (perftest.parse, "perftest/send_lat.txt", "t_min[usec]", "t_min[cycles]", "columns of a latency or bandwidth"),
        (perftest.parse, "perftest/write_bw.txt", "MsgRate", "MsgRate Port9", "columns of a latency or bandwidth"),
        (perftest.parse, "perftest/write_bw.txt", "  0.000768", "", "a number for every column"),
        (perftest.parse, "perftest/write_bw.txt", "0.000768", "much", "wanted numbers"),
        (perftest.samples, "perftest/send_lat_U.txt", "\n17, ", "\n18, ", "wanted '17, time in µs'"),
        (perftest.samples, "perftest/send_lat_U.txt", "\n#, usec", "\n#, usec\n#, usec", "2 lists"),
        (ucx_perftest.parse, "ucx_perftest/rc_tag_lat.txt", "27.418", "-nan", "above 0"),
        (ucx_perftest.parse, "ucx_perftest/rc_tag_lat.txt", "27.418", "much", "wanted numbers"),
        (
            ucx_perftest.parse,
            "ucx_perftest/rc_tag_lat.txt",
            "Final:",
            "      ",
            "one final line, which begins with 'Final:'",
        ),
        (ucx_perftest.parse, "ucx_perftest/tcp_tag_lat_f.txt", "\n      ", "\nFinal:", "one final line"),
        (ucx_perftest.parse, "ucx_perftest/rc_tag_lat.txt", "|    Stage     ", "", "older than UCX 1.9"),
        (ucx_perftest.parse, "ucx_perftest/rc_tag_lat_csv.txt", ",37559,", ",", "3 times, 2 bandwidths"),
        (qperf.parse, "qperf/rc_lat.txt", "2181425 ns", "2181 us", "run qperf with -uu"),
    ],
)
def test_a_spoiled_line_is_named(parse: Callable[[str], object], name: str, old: str, new: str, message: str) -> None:
    assert old in text(name)
    with pytest.raises(DataError, match=message):
        parse(text(name).replace(old, new))
