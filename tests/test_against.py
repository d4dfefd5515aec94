"""A published number stands beside a measured one only where both are of the same thing."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from labkit import benchmarks
from labkit.point.columns import METRICS, STATISTICS, statistic_column
from labkit.point.notes import FUNCTIONAL, badge, joined
from labkit.point.spec import Spec
from labkit.read import records, reference
from labkit.read.reference import comparing
from labkit.report import against, beside, literature
from labkit.report.blocks import repeated
from labkit.report.campaigns import Member
from labkit.report.content import Content

from . import made

ETHERNET = reference.load("ethernet-scientific-2020")
EXPERIMENTS = [(paper, one) for paper in literature.papers() for one in paper.experiments]


def member(*rows: dict[str, Any], benchmark: str) -> Member:
    """A campaign with points of one benchmark, all options at their defaults but those given."""
    options = {f"option_{one.name}": one.default for one in dataclasses.fields(benchmarks.get(benchmark).options)}
    usual = {"benchmark": benchmark, "message_size_B": 8, "transport": "tcp", "testbed": "local", "ranks": 8}
    usual |= {"fingerprint": "", "headline": "", "launches": 6, **options}
    table = pd.DataFrame([usual | {"fingerprint": str(n)} | row for n, row in enumerate(rows)])
    return Member("c", {}, table, table)


def cell(name: str, campaign: Member, paper: reference.Paper = ETHERNET) -> str:
    return against.cell(paper.measurable(paper[name]), [campaign]).replace("\u00a0", " ")


@pytest.mark.parametrize(("paper", "one"), EXPERIMENTS, ids=lambda one: getattr(one, "title", None))
def test_every_number_that_is_compared_has_a_benchmark_a_unit_and_a_statistic_of_it(paper: Any, one: Any) -> None:
    for number in paper.numbers_of(one):
        assert number.metric, f"{number.name} fits no metric"
        assert set(number.benchmarks) & set(literature.matching(list(benchmarks.find()), one.labkit)), number.name
        assert number.measures == reference.UNITS[METRICS[number.metric].unit][0], number.name
        assert number.statistic in STATISTICS or paper.paper.key == "liu2003", number.name
    assert not [number.name for number in paper.numbers_of(one, further=True) if number.metric]
    possible = {metric for name in literature.matching(list(benchmarks.find()), one.labkit) for metric in every(name)}
    assert not one.metric or not possible or one.metric in possible


def every(name: str) -> list[str]:
    benchmark = benchmarks.get(name)
    return [*benchmark.metrics, *benchmark.phases.values(), *benchmark.derived]


def test_every_shipped_number_of_a_benchmark_names_its_statistic_if_the_paper_states_one() -> None:
    without = [one for one in reference.entries() if one.number.metric and not one.number.statistic]
    assert {one.paper.key for one in without} == {"liu2003", "kenny2020"}
    stated = {one.number.note for one in without if one.paper.key == "kenny2020"}
    assert all(note.startswith(("Where the times cluster", "Of the overwhelming majority")) for note in stated)


def test_halo3d_with_other_arguments_than_the_papers_is_not_shown() -> None:
    times = {"latency_us_p50": 67.5, "latency_us_mean": 70.0, "latency_us_osu_mean": 67_500.0}
    missing = (
        "not measured: latency (mean over ranks) of `apps.halo3d26` with the paper's arguments (preset=ethernet2020, "
        "over TCP)"
    )
    for other in ({}, {"option_preset": "ethernet2020", "option_nx": 5.0}, {"option_neighbours": "26"}):
        assert cell("halo_tcp", member(times | other, benchmark="apps.halo3d26")) == missing
    same = member(times | {"option_preset": "ethernet2020"}, benchmark="apps.halo3d26")
    assert cell("halo_tcp", same) == "`apps.halo3d26` (TCP, 8 ranks, the paper 48): **67.5** ms, mean over ranks"


def test_the_fft_is_compared_at_the_papers_size_in_its_unit() -> None:
    small = {"option_preset": "chatterbug", "message_size_B": 512, "latency_us_osu_mean": 36.0}
    paper = {"option_preset": "ethernet2020", "message_size_B": 10_000, "latency_us_osu_mean": 370.0}
    both = member(small, paper, benchmark="apps.fft_subcom3d")
    assert cell("fft_tcp", both).endswith("**0.37** ms, mean over ranks")
    assert cell("fft_tcp", member(small, benchmark="apps.fft_subcom3d")).startswith("not measured")


def test_the_fft_beside_halo3d_is_never_a_latency_beside_incast() -> None:
    value = {
        "message_size_B": 10_000,
        "impact_mean_times_value": 22.0,
        "latency_us_osu_mean": 4909.0,
        "transport": "rc",
    }
    rows = [{"option_victim": "latency", "option_aggressor": "incast"}, {"option_aggressor": "udp"}]
    assert cell("qos_roce", member(*(value | row for row in rows), benchmark="congestion.interference")) == (
        "not measured: congestion impact, mean of `congestion.interference` with the paper's arguments (10000 B, "
        "victim=fft, aggressor=halo3d26, over RDMA)"
    )
    fft = value | {"impact_mean_times_value": 8.0, "option_lead": 1.0}
    text = cell("qos_roce", member(fft, *(value | row for row in rows), benchmark="congestion.interference"))
    assert text == "`congestion.interference` (rc, 8 ranks, the paper 48): **8** times"


def test_shares_are_compared_with_shares() -> None:
    hpl = member({"performance_GFLOPS_mean": 7.065, "peak_percent_value": 4.25, "ranks": 2}, benchmark="compute.hpl")
    assert "**4.25** %" in cell("hpl_tcp", hpl)
    share = {"bandwidth_MBps_mean": 1020.0, "io_percent_value": 62.0}
    simple = share | {"option_problem": "E", "option_subtype": "simple"}
    ibisco = reference.load("ibisco-cluster-2025")
    assert "**62** %" in cell("bt_io_share", member(simple, benchmark="storage.bt_io"), ibisco)
    assert cell("bt_io_share", member(share, benchmark="storage.bt_io"), ibisco).startswith("not measured")


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ({"message_size_B": 0, "latency_us_mean": 7.0}, "`mpi.latency` (TCP): **7** µs, mean"),
        ({"message_size_B": 8, "latency_us_mean": 7.0}, ""),
        ({"message_size_B": 0, "latency_us_p50": 7.0}, ""),
        ({"message_size_B": 0, "latency_us_mean": 7.0, "option_binding": "pickle"}, ""),
    ],
    ids=["same", "other size", "other statistic", "other option"],
)
def test_size_statistic_and_options_are_the_same(row: dict[str, Any], shown: str) -> None:
    text = cell("tcp_latency", member(row | {"ranks": 2}, benchmark="mpi.latency"))
    assert text == shown if shown else text.startswith("not measured: latency (mean) of `mpi")


def test_a_number_without_a_statistic_is_not_compared() -> None:
    number = dataclasses.replace(ETHERNET["tcp_latency"], statistic="")
    row = {"message_size_B": 0, "latency_us_mean": 7.0}
    text = against.cell(number, [member(row, benchmark="mpi.latency")])
    assert text == "not compared with `mpi.latency`: the paper does not say which statistic it is"


def test_no_setting_is_dropped_without_a_word() -> None:
    rows = [{"message_size_B": 0, "latency_us_mean": 1.0 + n, "library": f"L {n}", "ranks": 2} for n in range(5)]
    text = cell("tcp_latency", member(*rows, benchmark="mpi.latency"))
    assert text.count("library=L") == 3
    assert text.endswith("`mpi.latency`: 2 more settings (library L 3, L 4)")


def test_an_experiment_without_numbers_names_paths_settings_and_benchmarks_that_it_does_not_show() -> None:
    where = [{"testbed": "local"}, {"testbed": "a"}, {"testbed": "b"}, {"testbed": "c"}, {"timing": "total"}]
    rows = [{"latency_us_p50": 1.0 + n, "transport": "rc", "timing": "each"} | one for n, one in enumerate(where)]
    rows[-1] |= {"latency_us_p50": float("nan"), "latency_us_mean": 9.0}
    several = [member(*rows, benchmark=f"verbs.{name}_latency") for name in ("send", "write", "read")]
    both = pd.concat([one.summary for one in several], ignore_index=True)
    [one] = [one for _, one in EXPERIMENTS if one.title == "Latency of verbs and of sockets"]
    text = joined(repeated._values(one, Member("c", {}, both, both)))
    assert "`verbs.write_latency` has further settings" in text
    assert text.endswith("not shown: `verbs.read_latency`")


def test_a_range_of_sizes_is_compared_with_the_range_of_values() -> None:
    options = {"option_senders": 4.0, "option_streams": 10.0, "option_duration": 5.0}
    rows = [
        options | {"message_size_B": size, "bandwidth_MBps_mean": rate}
        for size, rate in ((1024, 100.0), (10_240, 1000.0), (1 << 20, 1250.0))
    ]
    text = cell("incast_tcp_many", member(*rows, benchmark="congestion.incast"))
    assert text == "`congestion.incast` (TCP): **8 to 10** Gb/s from 10 KiB to 1 MiB, mean"


def test_only_experiments_with_the_papers_arguments_count_as_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    content = Content([], {})
    times = {"latency_us_osu_mean": 67_500.0}
    for row, count in ((times, 0), (times | {"option_preset": "ethernet2020"}, 2)):
        campaign = member(row, benchmark="apps.halo3d26")
        for module in (repeated, beside):
            monkeypatch.setattr(module, "members" if module is beside else "all_members", lambda *_, c=campaign: [c])
        monkeypatch.setattr(repeated, "names", lambda _: {"apps.halo3d26"})
        assert len(repeated.beside(content)) == count
        assert f"repeats 0 at the scale at hand and {1 if count else 0} in part" in repeated.counts(content)  # no RDMA
        text = repeated.repeated(content)
        table = next(line for line in text.splitlines() if line.startswith("| **Halo exchange"))
        assert ("**67.5**\xa0ms" in table) is bool(count)
        assert "labkit measure apps.halo3d26 -m 8 -o preset=ethernet2020" in text


def test_published_numbers_beside_points_have_their_arguments() -> None:
    for options, count in (({}, 0), ({"preset": "ethernet2020"}, 3)):
        spec = benchmarks.resolve(Spec(benchmark="apps.halo3d26", size=8, ranks=2, options=options))
        rows = records.table([made.samples(spec, np.full((2, 50), 2000))])
        assert len(comparing.beside(rows, "latency_us")) == count


def test_units_of_both_sides_are_equal_in_every_cell() -> None:
    for paper, one in EXPERIMENTS:
        for number in paper.numbers_of(one):
            if not number.statistic:
                assert "does not say which statistic" in against.cell(number, [])
                continue
            name = number.benchmarks[0]
            row = {f"option_{key}": value for key, value in number.options.items() if value != reference.ANY}
            row |= {
                "message_size_B": 10_240 if number.size_B is None else number.size_B,
                statistic_column(number.metric, number.statistic): 1.0,
                "transport": comparing.points(number)[0].transport,
            }
            text = against.cell(number, [member(row, benchmark=name)]).replace("\u00a0", " ")
            assert re.search(rf"\*\* {re.escape(number.unit)}\b|\*\* {re.escape(number.unit)}(,|$)", text), text


def test_a_number_that_no_benchmark_measures_says_why_in_the_report() -> None:
    """In the words of its code, and never as a measurement that is missing."""
    for paper, one in EXPERIMENTS:
        cells = [row[2] for row in repeated._rows(one, paper, Content([], {}))]
        for number in paper.numbers_of(one, further=True):
            assert f"not compared: {reference.UNMEASURED[number.unmeasured]}" in cells, number.name


def test_the_command_for_a_number_has_options_of_its_benchmark_only() -> None:
    for number in (one.number for one in reference.entries() if one.number.benchmarks):
        _, _, name, *words = against.command(number).split()
        given = dict(words[n + 1].split("=") for n, word in enumerate(words) if word == "-o")
        assert set(given) <= {one.name for one in dataclasses.fields(benchmarks.get(name).options)}, number.name


def compared(name: str, row: dict[str, Any], paper: reference.Paper = ETHERNET) -> comparing.Comparison:
    """A number beside one point."""
    number = paper.measurable(paper[name])
    options = {f"option_{key}": value for key, value in number.options.items() if value != reference.ANY}
    usual = {"message_size_B": number.size_B or 0, "transport": comparing.points(number)[0].transport, "ranks": 2}
    found = comparing.first(number, [member(usual | options | row, benchmark=number.benchmarks[0]).summary])
    assert found is not None
    return found


TIME = {"latency_us_mean": 7.0, "latency_us_mean_low": 6.5, "latency_us_mean_high": 7.8}
RATE = {"bandwidth_MBps_mean": 2500.0, "bandwidth_MBps_mean_low": 2400.0, "bandwidth_MBps_mean_high": 2600.0}


def test_a_ratio_is_measured_over_published_with_the_interval_of_the_measured_value() -> None:
    am_lat = reference.load("breaking-band-2019")
    one = compared("am_lat", TIME | {"latency_us_mean": 2.43, "latency_us_mean_low": 2.3}, am_lat)
    assert (one.measured, one.launches) == ("2,430 [2,300 to 7,800]", 6)
    assert one.ratio == "2.0 [1.9 to 6.4]"


def test_a_ratio_to_a_printed_range_has_both_ends_and_one_to_a_bound_is_a_bound() -> None:
    assert compared("tcp_latency", TIME).ratio == "0.467 to 0.54 [0.43 to 0.60]"
    assert compared("tcp_bandwidth", RATE).ratio == "< 0.667 [0.640 to 0.693]"
    below = dataclasses.replace(ETHERNET["tcp_bandwidth"], relation="below")
    rows = member({"message_size_B": 4 << 20, "ranks": 2} | RATE, benchmark="mpi.bandwidth").summary
    assert str(comparing.compare(below, rows)[0].ratio).startswith("> ")


@pytest.mark.parametrize(
    ("name", "row", "why"),
    [
        ("halo_tcp", {"message_size_B": 8, "latency_us_osu_mean": 9.0, "ranks": 8}, "8 ranks, the paper 48"),
        ("tcp_bandwidth", RATE | {"badges": (badge("emulated link"),)}, "the rate of an emulated link was chosen"),
        ("tcp_latency", TIME | {"badges": (badge(f"soft-RoCE: {FUNCTIONAL}"),)}, f"soft-RoCE: {FUNCTIONAL}"),
        ("tcp_latency", TIME | {"badges": (badge("oversubscription"),)}, "there are more ranks than processors"),
    ],
)
def test_a_value_without_a_ratio_says_why(name: str, row: dict[str, Any], why: str) -> None:
    one = compared(name, row)
    assert one.ratio == f"– ({why})"
    assert one.measured


@pytest.mark.parametrize(
    ("name", "row", "why"),
    [
        ("qos_tcp", {"impact_mean_times_value": 8.43}, "2 ranks, the paper 48"),
        ("hpl_tcp", {"peak_percent_value": 32.0}, "2 ranks, the paper 3072"),
        ("fft_tcp", {"latency_us_osu_mean": 1700.0}, "2 ranks, the paper 48"),
        ("fft_tcp", {"latency_us_osu_mean": 1700.0, "ranks": 48}, ""),
        ("qos_tcp", {"impact_mean_times_value": 8.43, "ranks": 48}, ""),
        ("tcp_latency", TIME, ""),
    ],
)
def test_no_quantity_has_a_ratio_at_another_number_of_ranks_than_in_the_paper(
    name: str, row: dict[str, Any], why: str
) -> None:
    """Shares and quotients depend on it, too."""
    assert compared(name, row).why == why


def test_a_share_of_many_ranks_has_no_ratio_if_the_paper_does_not_say_how_many() -> None:
    ibisco = reference.load("ibisco-cluster-2025")
    one = compared("bt_io_share", {"io_percent_value": 62.0, "ranks": 1}, ibisco)
    assert one.ratio == "– (1 rank, the paper does not say how many)"


@pytest.mark.parametrize("inside", ["loopback", "shared memory", "path unknown"])
def test_one_host_has_no_ratio_to_a_network(inside: str) -> None:
    one = compared("tcp_latency", TIME | {"badges": (badge(inside),)})
    assert one.ratio == "– (one host, without a network)"
    ibisco = reference.load("ibisco-cluster-2025")
    assert compared("nvlink_bandwidth", RATE | {"badges": (badge(inside),)}, ibisco).why == ""
    assert compared("nvlink_bandwidth", RATE, ibisco).why == "not known to be on one host, as in the paper"


def test_a_point_over_a_network_is_chosen_before_one_inside_a_host_and_one_with_a_ratio_before_both() -> None:
    rows = [
        TIME | {"message_size_B": 0, "ranks": 2, "badges": (badge(name),)} for name in ("loopback", "emulated link")
    ]
    number = ETHERNET["tcp_latency"]
    first, second, third = (
        member(row | {"library": str(n)}, benchmark="mpi.latency")
        for n, row in enumerate([*rows, rows[0] | {"badges": ()}])
    )
    for members, chosen in (([first, second], second), ([first, second, third], third), ([first], first)):
        found = against.pair(number, members)
        assert found is not None
        assert found[1] is chosen


def test_a_point_that_names_no_path_takes_that_of_its_kind_or_none() -> None:
    inside, here = {"badges": (badge("shared memory"),)}, {"badges": (badge("loopback"),)}
    virtual = {"testbed": "virtual-cluster:4,rate=200mbit", "badges": (badge("emulated link"),)}
    for name, row, taken in (
        ("roce_latency", {}, False),
        ("roce_latency", {"transport": "not stated"}, False),
        ("roce_latency", {"transport": "rc"}, True),
        ("roce_latency", inside, False),
        ("roce_latency", virtual, False),
        ("tcp_latency", {}, False),
        ("tcp_latency", {"transport": "not stated"}, False),
        ("tcp_latency", inside, False),
        ("tcp_latency", here, True),
        ("tcp_latency", virtual, True),
        ("incast_tcp_one", {"message_size_B": 10_240}, True),
        ("incast_roce", {"message_size_B": 10_240}, False),
        ("vapi_send", {}, True),
    ):
        paper = ETHERNET if name in ETHERNET.numbers else reference.load("cluster-interconnects-2003")
        number = dataclasses.replace(paper.measurable(paper[name]), statistic="mean")
        options = {f"option_{key}": value for key, value in number.options.items() if value != reference.ANY}
        row = {"message_size_B": 0, "transport": "auto"} | TIME | RATE | options | row
        summary = member(row, benchmark=number.benchmarks[0]).summary
        assert bool(comparing.compare(number, summary)) is taken, name
        others = comparing.compare(number, summary, other_path=True)
        assert bool(others) is not taken, name
        assert not [one for one in others if not one.why.startswith(("other path: ", "path unknown"))], name


def experiment(title: str) -> tuple[literature.Literature, literature.Experiment]:
    [found] = [each for each in EXPERIMENTS if each[1].title == title]
    return found


VIRTUAL = {"testbed": "virtual-cluster:4,rate=200mbit", "transport": "auto", "badges": (badge("emulated link"),)}


def test_tcp_is_set_beside_tcp_where_the_paper_prints_both_paths() -> None:
    """The virtual cluster names no path; its hosts have no adapter."""
    row = VIRTUAL | {"option_preset": "ethernet2020", "latency_us_osu_mean": 150_000.0}
    paper, one = experiment("Halo exchange in 3-D (Halo3D-26)")
    found = against.pairs(one, paper, [member(row, benchmark="apps.halo3d26")])
    assert [(each.number.stated, each.why) for each, _ in found] == [
        ("4.7 ms", "8 ranks, the paper 48"),
        ("2.8 ms", "8 ranks, the paper 48"),
    ]
    options = {"option_victim": "fft", "option_aggressor": "halo3d26", "message_size_B": 10_000, "ranks": 2}
    paper, one = experiment("FFT beside Halo3D, with and without ETS")
    beside_halo = VIRTUAL | options | {"impact_mean_times_value": 8.43}
    [(each, _)] = against.pairs(one, paper, [member(beside_halo, benchmark="congestion.interference")])
    assert (each.number.stated, each.why) == ("1.10 times", "2 ranks, the paper 48")


def test_a_value_of_another_path_is_listed_without_a_ratio_where_the_paper_prints_no_other() -> None:
    band = next(paper for paper in literature.papers() if paper.paper.key == "zambre2019")
    [one] = [one for one in band.experiments if "latency_observed" in one.values]
    row = VIRTUAL | TIME | {"ranks": 2}
    found = against.pairs(one, band, [member(row, benchmark="mpi.latency")])
    assert {each.ratio for each, _ in found} == {"– (other path: TCP, the paper RDMA)"}
    assert "latency_observed" in {each.number.name for each, _ in found}
    unknown = row | {"testbed": "local", "badges": ()}
    found = against.pairs(one, band, [member(unknown, benchmark="mpi.latency")])
    assert {each.why for each, _ in found} == {"path unknown, the paper RDMA"}
    same = row | {"transport": "rc", "testbed": "local", "badges": ()}
    assert {each.why for each, _ in against.pairs(one, band, [member(same, benchmark="mpi.latency")])} == {""}


@pytest.mark.parametrize("path", ["tcp", "auto"])
def test_a_simulated_value_is_not_listed_as_measured(path: str) -> None:
    paper, one = experiment("MPI latency of empty messages")
    row = TIME | {"message_size_B": 0, "ranks": 2, "transport": path}
    assert against.pairs(one, paper, [member(row | {"origin": "measured"}, benchmark="mpi.latency")])
    assert not against.pairs(one, paper, [member(row | {"origin": "simulated"}, benchmark="mpi.latency")])


def test_a_sentence_counts_values_with_a_ratio_only(monkeypatch: pytest.MonkeyPatch) -> None:
    content, usual = Content([], {}), TIME | {"message_size_B": 0, "ranks": 2}
    for rows, said in (
        ([], ""),
        ([usual | {"badges": (badge("loopback"),)}], "No published value is comparable"),
        ([usual], "1 value published by papers is compared with values measured here."),
        ([usual, RATE | {"message_size_B": 4 << 20, "ranks": 2}], "1 value published by papers is"),
    ):
        campaign = (
            member(*rows, benchmark="mpi.latency")
            if rows
            else Member("c", {}, *[member(usual, benchmark="mpi.latency").summary[:0]] * 2)
        )
        monkeypatch.setattr(repeated, "all_members", lambda _, c=campaign: [c])
        text = repeated.compared(content)
        assert text.startswith(said), text
        assert bool(text) is bool(said)


def test_a_number_over_another_and_a_share_of_one_are_the_quantities_that_labkit_measures() -> None:
    slower, alone = ETHERNET["qos_roce"], ETHERNET["qos_roce_alone"]
    assert ETHERNET.measurable(slower).value == pytest.approx(slower.value / alone.value)
    assert ETHERNET.measurable(slower).unit == "times"
    one = ETHERNET.measurable(ETHERNET["incast_tcp_one"])
    assert (one.stated, one.measures) == ("about 20 Gb/s", "B/s")
    assert ETHERNET.measurable(alone) is alone
