"""The first page: comparisons, sentences that follow from records, what is left out, and caveats in groups."""

from __future__ import annotations

import json
import math
import re
import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import labkit
from labkit import benchmarks
from labkit.figures import parts
from labkit.figures.parts import NOTHING
from labkit.figures.plotly import go
from labkit.io import project
from labkit.judge import answer, checking, sentences
from labkit.judge.effects import needed
from labkit.judge.finding import EMULATED, Count, Decided, Finding, Subject, Value
from labkit.judge.rules import slow_pairs, storage_of_device
from labkit.judge.rules._contrasts import contrast
from labkit.judge.rules.setting_matters import RULE
from labkit.judge.sentences import Detail
from labkit.judge.view import View
from labkit.point.notes import badge, note
from labkit.point.spec import Spec
from labkit.read import records
from labkit.read.columnar import of_samples
from labkit.report import (
    abstract,
    answered,
    beside,
    campaigns,
    caveats,
    front,
    judged,
    markdown,
    methods,
    notebook,
    oddities,
    options,
    paper,
    prune,
    sources,
    summary,
    topics,
    variables,
)
from labkit.report.blocks import conclusion, discussion, overview, same_path, threats
from labkit.report.blocks import paper as blocks_paper
from labkit.report.campaigns import Member
from labkit.report.content import Content
from labkit.report.markdown import needing
from labkit.stats.decision import OPEN
from labkit.store.samples import Samples

from . import made

HOST = {"hostname": "vm", "cpu_model": "made up", "cpu_cores": 2}


def point(size: int, path: str, launch: int, ns: float, **changes: Any) -> Samples:
    """A ping-pong whose round trips take twice as long as given, with a spread of 1 %."""
    times = 2 * ns * np.linspace(0.995, 1.005, 101) * (1 + 0.002 * launch)
    spec = Spec(benchmark=changes.pop("benchmark", "mpi.latency"), size=size, transport=path)
    spec = spec.replace(options=changes.pop("options", {}))
    meta = {"fingerprint": spec.fingerprint({}), "badges": changes.pop("badges", []), **changes}
    return made.samples(spec, times, launch=launch, host=HOST, meta=meta)


def rows(points: list[Samples]) -> Any:
    return records.summary(records.table(points))


def found(points: list[Samples], *benchmarks: str, focus: tuple[tuple[str, str], ...] = ()) -> Finding:
    """What matters most of a topic, by default of mpi.latency, with its cause."""
    one = topics.of_topic(rows(points), benchmarks or ("mpi.latency",), focus)
    assert one is not None
    (explained,) = checking.explained(view(points), [one])
    return explained


def view(points: list[Samples]) -> View:
    launches = of_samples(points)
    return View("made", launches.records, launches.summary, launches)


def text(one: Finding, detail: Detail = "whole") -> str:
    """A finding as the report tells it, whether or not it supports a claim."""
    return f"{judged.place(one)}: {sentences.told(one, detail)}"


def soft(points: list[Samples]) -> list[Samples]:
    """The same points over an emulated device."""
    badges = ["soft-RoCE: functional, not performance"]
    return [replace(one, meta=made.noted({**one.meta, "badges": badges})) for one in points]


def per_message(launches: int = 6) -> list[Samples]:
    cost = {("shm", 8): 100, ("tcp", 8): 4000, ("shm", 65536): 10000, ("tcp", 65536): 14000}
    return [point(size, path, n, ns) for (path, size), ns in cost.items() for n in range(launches)]


def test_levels_are_compared_at_the_ends_of_the_sizes_they_share() -> None:
    one = contrast(rows([*per_message(), point(1, "shm", 0, 90)]), "latency_us", ("transport",))
    assert one is not None
    assert one.other is not None
    assert (one.main.size, one.main.best, one.main.worst, one.other.size) == (8, "shm", "tcp", 65536)
    assert one.main.ratio == pytest.approx(40, rel=0.01)
    assert one.main.effect.claimed
    assert one.growth == "constant"
    assert contrast(rows([point(8, "shm", 0, 90)]), "latency_us") is None


@pytest.mark.parametrize(
    ("large", "growth"),
    [((100, 140), "constant"), ((10, 1600), "growing"), ((20, 31), "shrinking"), ((900, 30), "")],
)
@pytest.mark.parametrize("benchmark", ["mpi.latency", "mpi.bandwidth"])
def test_growth_compares_the_times_at_both_ends(large: tuple[int, int], growth: str, benchmark: str) -> None:
    cost = {("shm", 8): 100, ("tcp", 8): 4000, ("shm", 64): large[0] * 100, ("tcp", 64): large[1] * 100}
    options = benchmarks.resolve(Spec(benchmark=benchmark)).options
    more = {"benchmark": benchmark, "options": options}
    points = [point(s, p, n, ns, **more) for (p, s), ns in cost.items() for n in range(6)]
    one = contrast(rows(points), "latency_us" if benchmark == "mpi.latency" else "bandwidth_MBps")
    assert one is not None
    assert one.growth == growth
    assert one.reversed == (not growth)
    told = text(found(points, benchmark))
    assert ("in time per message" in told) == (benchmark == "mpi.bandwidth" and growth != "")
    assert "larger messages" not in told


def hpcc(test: str, system: str, gflops: float) -> Samples:
    """A result of HPC Challenge that was imported."""
    spec = Spec(benchmark="compute.hpcc", ranks=2, testbed=system, options={"test": test})
    reported = made.values("performance_GFLOPS", value=gflops)
    meta = {"fingerprint": spec.fingerprint({}), "badges": []}
    return made.samples(spec, reported=reported, origin="imported", meta=meta)


def test_a_figure_shows_what_a_chapter_found_if_its_data_have_both_values() -> None:
    one = found(per_message())
    good, bad = (one.values[name].value for name in ("good", "bad"))  # type: ignore[union-attr]
    head = "series,size,latency (µs)\n"
    data = {
        "fig-both.csv": f"{head}a,8,{good}\nb,8,{bad}\n",
        "fig-one.csv": f"{head}a,8,{good}\nb,8,{bad * 1.1}\n",
        "fig-milli.csv": f"{head}a,8,{good / 1000}\nb,8,{bad / 1000}",
    }
    chapter = notebook.Chapter(None, csv=data)
    cells = [new_code_cell(f"#| label: {file.removesuffix('.csv')}\nshow()") for file in (*data, "fig-absent.csv")]
    assert [paper.shown_of(one, chapter, cell) for cell in cells] == [2, 1, 2, 0]
    assert paper.shown_of(None, chapter, cells[0]) == 0
    many = "".join(f"c,{n},{n}\n" for n in range(1, 200))
    chapter.csv["fig-both.csv"] += many
    assert paper.shown_of(one, chapter, cells[0]) == 0, "among many values, any is found by chance"
    table = parts.Table.of(["side", "latency (µs)"], [["a", f"{good:.3g}"], ["b", f"{bad:.3g}"]])
    cell = new_code_cell('#| label: tbl-a\n#| tbl-cap: "T."\nshow()', outputs=[notebook.laid_out(table)])
    assert paper.shown_of(one, chapter, cell) == 2


def test_a_paper_cites_what_has_both_values_and_says_what_another_figure_shows() -> None:
    cell = new_code_cell('#| label: fig-a\n#| fig-cap: "Time of a request (µs). Lower is better."\nshow()')
    assert paper._introduced(cell, cell) == "@fig-a has both values."
    assert paper._introduced(cell, None) == "See also @fig-a: time of a request (µs)."


def test_a_verdict_without_a_number_is_a_sentence_in_the_table_of_verdicts() -> None:
    pairs = slow_pairs.RULE.found(Subject(), "good", form="none", pairs=Count(6, "pair"), few=Count(0, "pair"), path="")
    assert blocks_paper._measured(pairs) == (
        "none of 6 pairs was slower than the others in both measurements",
        "the other pairs",
    )
    assert blocks_paper._measured(replace(pairs, values={**pairs.values, "measured": Value(value=2.0, unit="µs")})) == (
        "2 µs",
        "none",
    )
    delay = {"measured": Value(value=9672.0, unit="µs"), "limit": Value(value=8002.0, unit="µs")}
    what = "cable and its ends, delay set to 4,000 µs, and up to 0.25 µs for the library"
    set_one = replace(pairs, values={**pairs.values, **delay, "what": what})
    assert blocks_paper._measured(set_one)[1] == "8,002 µs (delay set to 4,000 µs)"


def test_a_difference_between_times_is_stated_with_its_reservation() -> None:
    """The layers of Python were measured after C: the ratio is large, and the machine may have changed."""
    starts = {"shm": "2026-01-01T00:{:02}:00+00:00", "tcp": "2026-01-01T01:{:02}:00+00:00"}
    late = found([point(8, path, n, ns, start=starts[path].format(n)) for path, ns in COSTS for n in range(8)])
    said = text(late)
    assert "TCP takes 9.00 times [8.95 to 9.05] as long as shared memory" in said
    assert "but both were measured at different times, so the machine may have changed" in said
    assert math.isnan(late.cost), "no claim follows from it"
    told = conclusion._paragraph([("latency", late)], {"latency"})
    assert "No difference is claimed in *latency* (the settings were measured at different times)." in told


COSTS = (("shm", 1000.0), ("tcp", 9000.0))


def test_no_cause_is_named_that_the_data_do_not_separate_from_another() -> None:
    """Reads in order are quick by read-ahead or by pages in memory; the badge comes with both."""

    def reads(setting: str, *levels: str) -> list[Samples]:
        return [
            point(4096, "auto", n, ns, benchmark="storage.read", options={setting: level}, badges=badges)
            for level, ns, badges in zip(levels, (1000, 70000), (["page cache"], []), strict=True)
            for n in range(8)
        ]

    order = found(reads("pattern", "sequential", "random"), "storage.read")
    past = found(reads("cache", "drop", "direct"), "storage.read")
    assert "pattern=random takes 70.00 times [69.58 to 70.42] as long" in text(order)
    assert not order.causes
    assert [one.code for one in past.causes if one.supported] == ["page-cache"]


def test_different_quantities_are_never_compared() -> None:
    alone = [hpcc("HPL", "a.txt", 3.5), hpcc("StarDGEMM", "a.txt", 19), hpcc("SingleFFT", "a.txt", 10)]
    assert contrast(rows(alone), "performance_GFLOPS") is None
    assert text(found(alone, "compute.hpcc")).startswith("HPC Challenge, test=HPL: 3.5 Gflop/s")
    both = [*alone, hpcc("HPL", "b.txt", 3.5), hpcc("StarDGEMM", "b.txt", 38), hpcc("SingleFFT", "b.txt", 11)]
    assert text(found(both, "compute.hpcc")).startswith("HPC Challenge, test=StarDGEMM: b.txt and a.txt: no")
    equal = found([hpcc("HPL", "a.txt", 3.5), hpcc("HPL", "b.txt", 3.5)], "compute.hpcc")
    assert f"a.txt and b.txt: no difference is claimed, because {needed(1)}; 3.5 Gflop/s against 3.5" in text(equal)


def test_a_campaign_of_imported_numbers_was_not_measured(tmp_path: Path) -> None:
    table = records.table([hpcc("HPL", "a.txt", 3.5)])
    member = Member("c", {"created": "2026-01-02"}, table, records.summary(table))
    said = abstract.machine(member)
    assert said == "labkit imported the numbers of this campaign on 2026-01-02; it did not measure them."
    assert "what its benchmarks cost here" in abstract.asked(member)
    (tmp_path / "campaign.json").write_text(json.dumps({"format": 1, "id": made.ID}))
    said = campaigns.campaigns(
        Content([replace(source([hpcc("HPL", "a.txt", 3.5)], tmp_path), facts={"name": "c"})], {})
    )
    assert "which did not measure its 1 point." in said


def test_each_chapter_speaks_of_its_own_points() -> None:
    points = [point(8, "shm", 0, 100), point(8, "tcp", 0, 4000)]
    facts = {"parameters": {"10-latency": {"transports": "shm"}, "34-binding-layers": {"transport": "tcp"}}}
    member = Member("c", facts, records.table(points), rows(points), points)
    shown = {
        name: sorted(topics.own(member, name)["transport"]) for name in ("10-latency", "10-other", "34-binding-layers")
    }
    assert shown == {"10-latency": ["shm"], "10-other": ["shm", "tcp"], "34-binding-layers": ["tcp"]}
    chapter = notebook.Chapter(None, path=Path("10-latency.ipynb"))
    one = topics.finding(chapter, member)
    assert one is not None
    assert "TCP" not in text(one)
    assert topics.finding(notebook.Chapter(None, path=Path("my-own.ipynb")), member) is None


@pytest.mark.parametrize(
    ("large", "said"),
    [
        ((200_000, 320_000), r"the difference grows from 4\.2\d* µs to 12\d(\.\d+)? µs"),
        ((200_000, 204_200), "the difference is nearly the same at both sizes"),
        ((20_000, 21_000), r"the difference shrinks from 4\.2\d* µs to 1\.\d+ µs"),
    ],
)
def test_a_sentence_on_growth_follows_from_differences_and_not_from_ratios(large: tuple[int, int], said: str) -> None:
    cost = {("shm", 1): 100, ("tcp", 1): 4300, ("shm", 4 << 20): large[0], ("tcp", 4 << 20): large[1]}
    told = text(found([point(s, p, n, t) for (p, s), t in cost.items() for n in range(6)]))
    assert re.search(said, told), told
    assert "per byte" not in told
    assert "per message" not in told


def test_the_abstract_takes_no_comparison_of_one_launch_and_of_no_emulated_device() -> None:
    assert topics.chosen([found(per_message(1)), found(soft(per_message()))], 4, 3) == []


def test_conclusion_and_table_claim_nothing_that_the_abstract_leaves_out() -> None:
    once, emulated, sound = found(per_message(1)), found(soft(per_message())), found(per_message())
    told = conclusion._paragraph([("Once", once), ("Guest", emulated)], {"Once", "Guest"})
    assert told.startswith("0 of 2 chapters show a difference between settings.")
    assert "largest" not in told
    assert "*Once* (there is one launch)" in told
    assert "*Guest* (the device shows function and not performance)" in told
    assert "1 other chapter, which is left out here" in conclusion._paragraph(
        [("Once", once), ("Guest", emulated)], {"Once"}
    )
    assert "The largest: Latency" in conclusion._paragraph([("Guest", emulated), ("Sound", sound)], set())
    assert judged.told(emulated) == "No claim, because the device shows function and not performance."
    assert judged.told(sound).replace("\xa0", " ").replace("\\", "") == text(sound)
    assert "4.020\xa0µs\xa0\\[4.000 to 4.040\\]" in judged.told(sound)


@pytest.mark.parametrize("code", ["functional", "gpu-stand-in"])
def test_a_badge_that_denies_performance_denies_the_claim(code: str) -> None:
    marked = rows(per_message())
    marked["badges"] = [(note(code, "other words"),)] * len(marked)
    one = topics.of_topic(marked, ("mpi.latency",))
    assert one is not None
    assert one.functional
    assert not one.claims


def test_a_conclusion_does_not_call_a_curve_without_comparison_a_lack_of_launches() -> None:
    one = found([point(size, "shm", n, 100 + size) for size in (8, 65536) for n in range(6)])
    told = conclusion._paragraph([("Curve", one)], {"Curve"})
    assert "*Curve* (no two settings are tested)" in told
    assert "too few launches" not in told


def test_a_topic_takes_a_comparison_that_supports_a_claim_before_another() -> None:
    other = [point(s, p, n, t, benchmark="mpi.bcast") for (s, p, t) in SPIKE[2:] for n in range(6)]
    focus = (("mpi.latency", "transport"),)
    one = found([*soft(per_message()), *other], "mpi.latency", "mpi.bcast", focus=focus)
    assert one.claims
    assert one.subject.benchmark == "mpi.bcast"


def test_caveats_stand_by_the_share_of_launches_they_cover(tmp_path: Path) -> None:
    every = ["time cap", "emulated link", "shared memory", "loopback"]
    points = [point(8 << n, "tcp", 0, 4000, badges=every[: 4 - n]) for n in range(4)]
    text = abstract.abstract(Content([source(points, tmp_path)], {}))
    shares = re.search(r"Caveats: .*", text)
    assert shares is not None
    assert [int(one) for one in re.findall(r"\((\d+)\s%", shares[0])] == [100, 75, 50]


def test_no_headline_is_taken_from_a_point_that_a_rule_doubts() -> None:
    summary_rows = rows([point(s, p, n, t) for (s, p, t) in SPIKE for n in range(6)])
    spike = summary_rows[(summary_rows["message_size_B"] == 8) & (summary_rows["transport"] == "tcp")]
    member = campaigns.Member("made", {}, summary_rows, summary_rows)
    member.__dict__["doubted"] = frozenset(spike["fingerprint"])
    one = topics._finding(member, "10-latency", ("mpi.latency",), ())
    assert one is not None
    assert "16 B" in one.subject.setting


def test_the_highest_bandwidth_and_key_numbers_take_all_settings_but_no_doubted_point(tmp_path: Path) -> None:
    def stream(benchmark: str, ns: float, **options: Any) -> list[Samples]:
        spec = benchmarks.resolve(Spec(benchmark=benchmark, size=1 << 20, transport="tcp", options=options))
        meta = {"fingerprint": spec.fingerprint({}), "badges": []}
        return [made.samples(spec, ns * np.linspace(0.99, 1.01, 101), launch=n, host=HOST, meta=meta) for n in range(3)]

    points = [*stream("mpi.bandwidth", 6.4e7), *stream("mpi.bandwidth", 4e7, window=32), *stream("mpi.pingping", 1e5)]
    one = source(points, tmp_path)
    rate = {str(row["fingerprint"]): float(row["bandwidth_MBps_p50"]) for row in one.summary.to_dict("records")}
    best = max(rate, key=lambda name: rate[name])
    assert f"{rate[best] * 8 / 1000:.4g}" in overview.measured(Content([one], {}))
    one = source(points, tmp_path)
    one.__dict__["doubted"] = frozenset([best])
    second = max(value for name, value in rate.items() if name != best)
    shown = overview.measured(Content([one], {}))
    assert f"{second * 8 / 1000:.4g}" in shown
    assert f"{rate[best] * 8 / 1000:.4g}" not in shown
    assert rate[best] not in [number.value for number in variables.key_numbers(one)]


SPIKE = [(8, "shm", 100), (8, "tcp", 90_000), (16, "shm", 100), (16, "tcp", 4000), (64, "shm", 200), (64, "tcp", 5000)]


def test_a_sentence_compares_interprets_and_says_how_sure() -> None:
    one = found(per_message())
    told = text(one)
    assert told.startswith(
        "Latency, 8 B: TCP takes 40.10 times [39.84 to 40.32] as long as shared memory (4.020 µs [4.000 to 4.040] against"
    )
    assert told.endswith(
        "]); at 64 KiB 1.4 times; the difference is nearly the same at both sizes; 6 launches, n ≥ 606."
    )
    assert text(one, "brief") == f"{told.removesuffix('; 6 launches, n ≥ 606.')}."
    short = re.sub(r" \[[^]]*\]", "", told.partition(";")[0]).replace("40.10 times", "40 times")
    assert text(one, "short") == f"{short}."
    assert one.certain
    assert one.cost == pytest.approx(40, rel=0.01)
    assert (one.kind, one.level, one.form, one.decided.how) == ("observation", "note", "cost", "tested")
    good, bad = (one.values[name] for name in ("good", "bad"))
    assert isinstance(good, Value)
    assert isinstance(bad, Value)
    assert (good.of, good.unit, good.launches, good.n) == ("shared memory", "µs", 6, 606)
    assert one.subject.points == (bad.fingerprint, good.fingerprint)
    assert good.bounded


def test_nearly_equal_values_differ_by_a_share() -> None:
    cost = {"shm": 100_000, "tcp": 103_000}
    one = found([point(8, path, n, ns + n) for path, ns in cost.items() for n in range(6)])
    assert "TCP takes 3 % more time than shared memory" in text(one)


def test_wide_intervals_say_how_many_times_at_least() -> None:
    slow = (1_000, 2_000, 40_000, 40_000, 90_000, 100_000)
    one = found([point(8, "shm", n, 100) for n in range(6)] + [point(8, "tcp", n, ns) for n, ns in enumerate(slow)])
    assert "TCP takes at least 10 times as long as shared memory" in text(one)
    assert one.cost == pytest.approx(10, rel=0.02)


@pytest.mark.parametrize(("quiet", "busy", "sure"), [(0, 90_000, True), (50_000, 90_000, False), (0, 500, False)])
def test_a_reason_needs_counters_that_speak_for_it(quiet: int, busy: int, sure: bool) -> None:
    cost = {("shm", 8): (100, quiet), ("tcp", 8): (4000, busy)}
    points = [
        point(size, path, n, ns, interface_B={"lo": carried})
        for (path, size), (ns, carried) in cost.items()
        for n in range(6)
    ]
    one = found(points)
    counted = "(the network interfaces, loopback included, counted 56 times the bytes"
    why = f"Reason: each message passes the network stack of the kernel {counted}"
    assert (why in text(one)) is sure
    assert ("eason:" in text(one)) is sure
    assert one.explained is sure
    assert "eason" not in text(one, "brief")
    assert "eason" not in text(topics.of_topic(rows(points), ("mpi.latency",)))


def test_the_reason_of_a_merged_campaign_counts_its_own_launches(tmp_path: Path) -> None:
    cost = {"shm": (100, 0), "tcp": (4000, 90_000)}
    points = [
        point(8, path, n + 10 * later, ns, interface_B={"lo": carried}, campaign=day)
        for later, day in enumerate(("monday", "tuesday"))
        for path, (ns, carried) in cost.items()
        for n in range(6)
    ]
    merged = replace(source(points, tmp_path), facts={"name": "both", "origins": {"monday": {}, "tuesday": {}}})
    days = campaigns.members(merged)
    assert len(days) == 2
    for member in days:
        one = topics._finding(member, "10-latency", ("mpi.latency",), ())
        assert one is not None
        assert "counted 56 times the bytes of the timed messages" in text(one)
    (together,) = [one for one in answer.answer(merged.view).others if one.code == RULE.code]
    assert not together.causes, "the launches of both days are behind these counters, but not behind its values"


def test_a_time_that_includes_the_stated_delay_or_computation_is_compared_with_it_or_not_at_all() -> None:
    def waited(testbed: str, us: float, **options: Any) -> list[Samples]:
        spec = Spec(benchmark="mpi.iallreduce", size=8, testbed=testbed).replace(options=options)
        meta = {"fingerprint": spec.fingerprint({}), "badges": []}
        return [made.samples(spec, np.full((2, 100), 1000 * us + n), launch=n, meta=meta) for n in range(3)]

    late = [*waited("virtual-cluster:4", 32), *waited("virtual-cluster:4,delay=4ms", 8100)]
    one = found(late, "mpi.iallreduce")
    assert "8,100 µs [all 8,100] with 4 ms of delay" in text(one)
    assert ", 2.03 times the link's delay" in text(one)
    assert "times" not in text(one).replace("2.03 times the link's delay", "")
    assert not math.isfinite(one.cost)
    busy = [*waited("local", 10, overlap=False), *waited("local", 18, overlap=True)]
    assert contrast(rows(busy), "latency_us") is None
    assert contrast(rows(busy), "latency_us", ("option_overlap",)) is None


def test_one_launch_on_a_busy_machine_makes_no_claim() -> None:
    points = [point(8, path, 0, ns, badges=["busy-machine"]) for path, ns in (("shm", 100), ("tcp", 4000))]
    one = found(points)
    assert f"no difference is claimed, because {needed(1)}" in text(one)
    assert "times" not in text(one)


def test_full_links_are_compared_with_their_rate_and_badges_are_a_likely_reason() -> None:
    def stream(testbed: str, mbps: float) -> Any:
        spec = Spec(benchmark="sockets.tcp_stream", size=131072, ranks=1, testbed=testbed)
        return [
            made.samples(
                spec,
                reported=made.values("bandwidth_MBps", p50=mbps * (1 + 0.001 * n)),
                launch=n,
                meta={"fingerprint": spec.fingerprint({}), "badges": []},
            )
            for n in range(3)
        ]

    full = [*stream("virtual-cluster:4,rate=200mbit", 24), *stream("virtual-cluster:4,rate=50mbit", 6)]
    told = text(found(full, "sockets.tcp_stream"))
    assert "times" not in told
    assert "24" in told.partition(" with links of 200 Mbit/s, 96 % of the link's rate")[0]
    assert told.count("96 % of the link's rate") == 2
    alone = [point(8, "shm", n, 100) for n in range(6)]
    shared = [point(8, "tcp", n, 4000, badges=["oversubscription"]) for n in range(6)]
    likely = found([*alone, *shared])
    assert "Likely reason: too few cores for the ranks (only one of the two has the badge oversubscription)." in text(
        likely
    )
    assert not found([*shared, *(point(8, "shm", n, 100, badges=["oversubscription"]) for n in range(6))]).causes


@pytest.mark.parametrize(
    ("step", "launches", "why", "how"),
    [
        (100, 3, f": no difference is claimed, because {needed(1)}", "few launches"),
        (100, 6, f": no difference is claimed, because {OPEN}", "tested"),
        (0, 8, " do not differ by 2 % or more", "tested"),
    ],
)
def test_values_that_launches_do_not_tell_apart_do_not_differ(step: int, launches: int, why: str, how: str) -> None:
    cost = {"shm": 10_000, "tcp": 10_000 + step}
    points = [
        point(8, path, n, ns + 10 * step * n, badges=["oversubscription"] * (path == "tcp"))
        for path, ns in cost.items()
        for n in range(launches)
    ]
    one = found(points)
    assert why in text(one)
    assert not one.causes
    assert (math.isnan(one.cost), one.decided.how) == (True, how)


def test_one_launch_has_no_interval_and_no_weight() -> None:
    one = found(per_message(1))
    assert "[" not in text(one)
    assert (math.isnan(one.cost), one.decided.how, one.launches) == (True, "one launch", 1)


def test_one_curve_says_how_it_runs_and_nothing_measured_says_nothing() -> None:
    points = [point(size, "shm", n, 100 + size) for size in (8, 65536) for n in range(4)]
    assert "times for 8,192 times the size; 4 launches, n ≥ 404." in text(found(points))
    assert topics.of_topic(rows(points), ("mpi.bandwidth",)) is None
    lab = points[0].spec.replace(testbed="lab", size=8 << 20)
    meta = points[0].meta | {"fingerprint": lab.fingerprint({})}
    two = text(found([*points, replace(points[0], spec=lab, meta=meta)]))
    assert two.startswith("Latency, local: 0.1")  # the point of another testbed is not an end of this curve
    assert "times for 8,192 times the size" in two
    busy = [point(size, "shm", 0, 100 + size, badges=["busy-machine"]) for size in (8, 65536)]
    assert "times" not in text(found(busy))


def test_the_focus_of_a_topic_comes_first() -> None:
    both = [*per_message(3), *(point(8, "shm", n, 100, benchmark="mpi.allreduce") for n in range(3))]
    assert "TCP" in text(found(both, "mpi.allreduce", focus=(("mpi.latency", "transport"),)))


@pytest.mark.parametrize("column", ["cadence", "timing", "option_cadence", "option_timing"])
def test_how_it_was_measured_is_no_setting_that_matters(column: str) -> None:
    table = rows(per_message())
    table = table.assign(**{column: table["transport"], "transport": "shm"})
    assert contrast(table, "latency_us") is None
    assert contrast(table, "latency_us", (column,)) is not None, "who asks for it, gets it"
    one = topics.of_topic(table, ("mpi.latency",))
    assert one is not None
    assert one.code == "run-over-sizes"


def test_explain_names_the_setting_that_matters_once_and_asks_for_nothing_because_of_it() -> None:
    """A benchmark has at most one; none without a difference, and none from a point that another rule doubts."""
    shared = [point(8, "tcp", n, 4000, badges=["oversubscription"]) for n in range(6)]
    judged_by = answer.answer(view([*(point(8, "shm", n, 100) for n in range(6)), *shared]))
    (one,) = [one for one in judged_by.others if one.code == RULE.code]
    assert one.explained
    assert not [step for step in judged_by.steps if one in step.why]
    for points in (
        per_message(1),
        soft(per_message()),
        [point(8, p, n, 100 + n) for p in ("shm", "tcp") for n in range(6)],
    ):
        assert not [one for one in answer.answer(view(points)).others if one.code == RULE.code]
    rates = {"shm": (100, 110, 120), "tcp": (4000, 4100, 900_000)}
    options = benchmarks.resolve(Spec(benchmark="mpi.bandwidth")).options
    points = [
        point(size, path, n, ns, benchmark="mpi.bandwidth", options=options)
        for path, times in rates.items()
        for size, ns in zip((8, 16, 32), times, strict=True)
        for n in range(6)
    ]
    assert found(points, "mpi.bandwidth").claims
    codes = {one.code for one in answer.answer(view(points)).others}
    assert "size-jump" in codes
    assert RULE.code not in codes


def test_the_abstract_takes_the_first_topic_and_the_certain_ones() -> None:
    def finding(name: str, cost: float = math.nan) -> Finding:
        value = Value(value=1.0, unit="µs", n=100, launches=3)
        given = {"best": "a", "worst": "b", "good": value, "bad": value, "doubt": "it is open"}
        return RULE.found(Subject(benchmark=name), form="open", cost=cost, **given)

    every = [finding("first"), finding("t0"), *(finding(f"t{n}", 2.0**n) for n in range(1, 6)), finding("t5", 32.0)]
    for some, most, least, names in (
        (every, 4, 3, ["first", "t3", "t4", "t5"]),
        (every[:2], 4, 3, ["first", "t0"]),
        (every, 2, 2, ["first", "t5"]),
    ):
        assert [one.subject.benchmark for one in topics.chosen(some, most, least)] == names


def test_the_abstract_of_a_paper_names_messages_before_files_and_great_differences_first() -> None:
    def one(name: str, cost: float) -> Finding:
        value = Value(value=1.0, unit="µs", n=100, launches=6)
        given = {"best": "a", "worst": "b", "good": value, "bad": value, "doubt": name}
        return RULE.found(Subject(benchmark=name), form="open", cost=cost, **given)

    found = [one("storage.read", 90.0), one("mpi.file_write", 80.0), one("mpi.latency", 3.0), one("mpi.bcast", 7.0)]
    names = [each.subject.benchmark for each in blocks_paper._worth_saying(found)]
    assert names == ["mpi.bcast", "mpi.latency", "storage.read"]
    once = Value(value=1.0, unit="µs", n=6, launches=6, origin="measured")
    thin = replace(found[3], values={**found[3].values, "good": once, "bad": once})
    names = [each.subject.benchmark for each in blocks_paper._worth_saying([found[2], thin])]
    assert names == ["mpi.latency", "mpi.bcast"], "one iteration in each launch says less"


def test_the_abstract_of_several_campaigns_says_machine_question_and_doubts_once(tmp_path: Path) -> None:
    points = [point(8, "tcp", n, 4000, badges=["busy machine"]) for n in range(3)]
    two = [source(points, tmp_path / name) for name in ("a", "b")]
    for one, name in zip(two, ("first", "second"), strict=True):
        one.facts["name"] = name
    text = abstract.abstract(Content(two, {}))
    assert "\n\n" not in text
    for words in (
        "labkit measured",
        "(made up, 2 processors)",
        "The question was",
        "Brackets are ranges of launches",
        "Caveats:",
    ):
        assert text.count(words) == 1, words
    for words in ("**first** (1 point in 3 launches)", "**second** (1 point in 3 launches)"):
        assert words in text


def test_facts_and_caveats_that_campaigns_share_stand_once(tmp_path: Path) -> None:
    points = [point(8, "tcp", n, 4000, badges=["busy machine"]) for n in range(3)]
    two = [source(points, tmp_path / name) for name in ("a", "b")]
    for one, name in zip(two, ("first", "second"), strict=True):
        one.facts["name"] = name
    assert "campaign" not in summary.hosts(Content(two, {})).partition("\n")[0]
    two[1] = replace(two[1], facts={**two[1].facts, "host": {**HOST, "kernel": "9.9"}})
    shown = summary.hosts(Content(two, {}))
    assert shown.count("made up") == 1
    assert "| all " in shown
    assert re.search(r"\| second +\|.*9\.9", shown)
    assert "first 3 of 3, second 3 of 3" in caveats.caveats(Content(two, {}))


def test_caveats_do_not_hide_results_that_the_report_calls_odd(tmp_path: Path) -> None:
    points = [
        made.samples(
            Spec(benchmark="mpi.latency", size=size),
            [ns] * 101,
            launch=n,
            host=HOST,
            meta={"fingerprint": f"{size:016x}"},
        )
        for size, ns in ((8, 1000), (16, 126_000), (32, 1010))
        for n in range(3)
    ]
    one = source(points, tmp_path)
    assert one.odd
    vars(one)["odd"] = tuple(replace(one.odd[0], decided=Decided(how=how)) for how in ("tested", "few launches"))
    made_of = Content((one,), {})
    words = sentences.odd(one.odd)
    assert "1 result contradicts" in words
    assert "1 may do so" in words
    assert sentences.odd(vars(one)["odd"][1:]) == (
        "1 result may contradict what is expected, but launches are too few to decide it."
    )
    assert words in caveats.caveats(made_of)
    assert words in oddities.count(made_of), "the first page has the same numbers"


def source(points: list[Samples], folder: Path) -> sources.Source:
    facts = {"name": "made", "created": "2026-11-20", "host": HOST}
    campaign = made.campaign(Path(tempfile.mkdtemp(dir=folder.parent)), points)
    return replace(sources.read(campaign.path), facts=facts)


def test_the_abstract_says_first_that_no_network_was_measured(tmp_path: Path) -> None:
    inside = [point(8, path, n, 4000, badges=[badge]) for path, badge in (("tcp", "loopback"), ("shm", "shared memory"))
              for n in range(3)]  # fmt: skip
    said = "**No network was measured:** every message stayed on its host."
    text = abstract.abstract(Content([source(inside, tmp_path)], {}))
    assert said in text
    assert "one host, without" not in text, "it is said once"
    emulated = [*inside, *(point(8, "tcp", n, 9000, badges=["emulated link"], testbed={"nodes": 16}) for n in range(3))]
    text = abstract.abstract(Content([source(emulated, tmp_path)], {}))
    assert "**No real network was measured:** the links are emulated on one machine" in text
    assert "an emulated link" not in text, "it is said once"
    assert text.startswith("labkit measured 16 emulated hosts on vm")
    rates = [point(8, "tcp", n, 9000, badges=["emulated link"], testbed={"nodes": 4, "rate_bps": rate})
             for n, rate in enumerate((2e8, 2e8, 5e7))]  # fmt: skip
    text = blocks_paper.machines(Content([source(rates, tmp_path)], {}))
    assert "4 emulated hosts with links of 200 Mbit/s (50 Mbit/s in 1 launch) on " in text
    assert "A token bucket of 3,028 B shapes each link." in text
    assert "token bucket" not in blocks_paper.machines(Content([source(inside, tmp_path)], {}))
    across = [*inside, point(64, "tcp", 0, 9000)]
    text = abstract.abstract(Content([source(across, tmp_path)], {}))
    assert said not in text
    assert "one host, without" in text


def test_the_abstract_names_machine_question_certainty_and_caveats(tmp_path: Path) -> None:
    points = [point(8, "tcp", n, 4000, badges=["busy machine"]) for n in range(3)] + [point(64, "tcp", 0, 4000)]
    text = abstract.abstract(Content([source(points, tmp_path)], {})).replace("\xa0", " ")
    for words in (
        "labkit measured vm (made up, 2 processors) on 2026-11-20.",
        "what MPI costs here",
        "2 points in 4 launches",
        "Brackets are ranges of launches: 95 % intervals need 6",
        "1 point (50 %) has a single launch",
        "**other tasks took processor time in 75 % of launches, so times are too long",
    ):
        assert words in text


def spread(apart_s: int) -> list[Samples]:
    """Six launches of a point at two sizes, so many seconds apart."""
    begin = datetime(2026, 11, 20, tzinfo=UTC)
    starts = [(begin + timedelta(seconds=apart_s * n)).isoformat() for n in range(6)]
    return [point(size, "tcp", n, 4000 + size, start=starts[n]) for size in (8, 64) for n in range(6)]


@pytest.mark.parametrize(
    ("apart_s", "basis", "brackets", "doubted"),
    [
        (
            8,
            "6 launches within 40 s",
            "the median over launches",
            "2 points of 2 whose launches show one moment",
        ),
        (1440, "6 launches in 6 sessions over 2 h", "the median over launches, or over 6 sessions and more", ""),
    ],
)
def test_a_report_states_what_its_numbers_rest_on(
    apart_s: int, basis: str, brackets: str, doubted: str, tmp_path: Path
) -> None:
    read = source(spread(apart_s), tmp_path)
    content = Content([read], {})
    assert f"The values are based on {basis}." in summary.key_table(content)
    assert f"Points had 6 launches each ({basis})" in methods.effort(content)
    assert {number.basis for number in variables.key_numbers(read)} == {basis}
    assert f"Brackets are 95 % intervals of {brackets}" in abstract.abstract(content).replace("\xa0", " ")
    (member,) = campaigns.members(read)
    assert threats._one_moment(member) == doubted
    assert f"against message size, {basis}" in front._caption([(read.summary.assign(not_drawn=""), "latency_us")])


def test_experiments_stand_beside_the_values_of_their_papers(tmp_path: Path) -> None:
    sizes = ((0, "tcp"), (8, "tcp"), (65536, "tcp"), (8, "rc"), (65536, "rc"))
    points = [point(size, path, n, 4000 + size) for size, path in sizes for n in range(3)]
    made_of = beside.drawn([source(points, tmp_path)])
    assert [one.paper for one in made_of] == ["kenny2020", "zambre2019"], "the latter measured InfiniBand"
    assert [one.paper for one in beside.drawn([source(points[:9], tmp_path)])] == ["kenny2020"]
    others = beside.drawn([source(points[3:], tmp_path)])
    assert [one.paper for one in others] == ["zambre2019"], "an empty message beside none"
    first = made_of[0]
    names = [str(trace["name"]) for trace in first.picture.spec["data"]]
    assert any("published" in name and "Kenny" in name for name in names)
    assert any("published" not in name for name in names)
    assert "3 launches, and the values that the paper states [@kenny2020]" in first.picture.caption
    content = Content([source(points, tmp_path)], {})
    content.add(made_of, ["<svg/>", None])
    assert [one.paper for one in content.beside] == ["kenny2020"], "one could not be drawn"
    assert "(figures/paper-kenny2020-1.svg){#fig-paper-kenny2020-1 " in content.show(content.beside[0].picture)
    assert content.pictures["paper-kenny2020-1"].svg == "<svg/>"
    one_size = [point(8, "tcp", n, 4000) for n in range(3)]
    assert not beside.drawn([source(one_size, tmp_path)]), "no figure has a single size"


def drawn(each: list[sources.Source]) -> tuple[Any, str]:
    """The traces and the caption of the first figure."""
    shown = front.picture(each)
    assert shown is not None
    return shown.spec, shown.caption


def test_both_panels_name_a_series_alike(tmp_path: Path) -> None:
    cost = [point(size, path, 0, 100) for size in (8, 64) for path in ("shm", "tcp")]
    rate = [
        made.samples(
            benchmarks.resolve(one.spec.replace(benchmark="mpi.bandwidth")),
            one.time_ns,
            meta={**one.meta, "fingerprint": f"{0xB0 + n:016x}"},
        )
        for n, one in enumerate(cost)
    ]
    first, second = source([*cost, *rate], tmp_path), source(cost, tmp_path)
    spec, _ = drawn([replace(first, facts={"name": "a"}), replace(second, facts={"name": "b"})])
    names = {str(trace["xaxis"]): set[str]() for trace in spec["data"]}
    for trace in spec["data"]:
        names[str(trace["xaxis"])].add(str(trace["name"]))
    assert names == {"x": {"a, shm", "a, tcp", "b, shm", "b, tcp"}, "x2": {"a, shm", "a, tcp"}}


def started(library: str, launcher: str, path: str, **options: Any) -> list[Samples]:
    """A ping-pong at two sizes with a library."""
    made_of = []
    for size in (8, 64):
        one = point(size, path, 0, 100)
        spec = benchmarks.resolve(one.spec.replace(launcher=launcher, options=options))
        meta = {**one.meta, "library": library, "fingerprint": spec.fingerprint({"library": library})}
        made_of.append(replace(one, spec=spec, meta=meta))
    return made_of


def test_the_first_figure_draws_each_library_and_names_what_it_leaves_out(tmp_path: Path) -> None:
    three = [("Open MPI 4.1.4", "openmpi"), ("MPICH 4.0.2", "mpich"), ("Intel MPI 2021.14", "intelmpi")]
    points = [one for library in three for path in ("shm", "tcp") for one in started(*library, path)]
    spec, text = drawn([source(points, tmp_path)])
    names = {str(trace["name"]) for trace in spec["data"]}
    assert names == {f"{library}, {path}" for library, _ in three for path in ("shm", "tcp")}
    assert "not drawn" not in text
    more = [*started(*three[0], "shm", binding="buffers"), *started(*three[0], "auto")]
    _, text = drawn([source([*points, *more], tmp_path)])
    assert re.search(r"not drawn: transport auto; binding buffers", text)
    whole = [
        replace(
            one,
            meta=one.meta | {"timing": "total"},
            extras={"iterations": np.full((1, 101), 9)},
        )
        for one in started(*three[0], "shm", timing="total")
    ]
    large = whole[0].spec.replace(size=1 << 20)
    larger = [replace(whole[0], spec=large, meta=whole[0].meta | {"fingerprint": large.fingerprint({})})]
    _, text = drawn([source([*points, *whole, *larger], tmp_path)])
    assert "not drawn: timing total; size 1 MiB" in text
    many = [(f"{name} {n}", launcher) for n in range(3) for name, launcher in three]
    spec, text = drawn([source([one for each in many for one in started(*each, "shm")], tmp_path)])
    assert len(spec["data"]) == 1
    assert text.count("MPICH") + text.count("Intel MPI") + text.count("Open MPI") == 8


def test_a_statement_names_the_library_that_it_speaks_of() -> None:
    every = [one for name in ("openmpi", "mpich") for path in ("shm", "tcp") for one in started(name, name, path)]
    focus = (("mpi.latency", "transport"),)
    assert re.match(r"[^:]*, (openmpi|mpich): ", text(found(every, focus=focus)))
    assert "openmpi" not in text(found(every[:4], focus=focus))


def test_paths_and_campaigns_that_are_not_drawn_are_named(tmp_path: Path) -> None:
    both, one = started("x", "openmpi", "shm") + started("x", "openmpi", "tcp"), started("x", "openmpi", "shm")
    each = [
        replace(source(points, tmp_path), facts={"name": f"c{n}"}) for n, points in enumerate([both, one, one, one])
    ]
    _, text = drawn(each)
    assert "not drawn: transport tcp" in text
    assert "Not drawn: c3." in text


def test_a_campaign_without_samples_has_an_abstract_and_no_picture(tmp_path: Path) -> None:
    nothing = source([], tmp_path)
    assert "nothing was found" in abstract.abstract(Content([nothing], {}))
    assert front.picture([nothing]) is None


def test_notes_are_in_one_group_with_a_remedy() -> None:
    assert caveats.group(note("busy-machine", "load average 4.0 on 2 cores")) == caveats.group(badge("busy machine"))
    assert caveats.group(badge("a new one")) is None
    crowded, full = (note("no-core-left", "x", ranks=ranks, cores=2) for ranks in (16, 2))
    assert caveats.group(crowded) == caveats.group(badge("oversubscription")) != caveats.group(full)
    assert [one.name for one in map(caveats.group, (crowded, full)) if one] == ["more ranks than cores", "no core left"]
    names = [one.name for one in caveats.GROUPS]
    every = [note(one.codes[0], "x") for one in reversed(caveats.GROUPS)]
    assert caveats.groups_of({"origin": "measured", "badges": every, "warnings": every}) == names
    assert caveats.group(note("other", "busy machine")) is None, "the text decides nothing"
    assert all(re.search(r"\. [A-Z]", one.remedy) for one in caveats.GROUPS)


def test_each_code_of_a_group_is_one_that_labkit_writes() -> None:
    package = Path(caveats.__file__).parents[1]
    source = "".join(path.read_text() for path in package.rglob("*.py") if path != Path(caveats.__file__))
    words = {badge(text).code for text in re.findall(r'"([^"\n{}]{3,60})"', source)}
    codes = [code for one in caveats.GROUPS for code in one.codes]
    assert len(codes) == len(set(codes))
    assert set(codes) <= words


def shown(label: str, part: parts.Part) -> Any:
    kind = label[:3]
    output = new_output("display_data", data=parts.bundle(part))
    return new_code_cell(f'#| label: {label}\n#| {kind}-cap: "A caption."\nx', outputs=[output])


FIGURE = parts.Figure(go.Figure(go.Scatter(x=[1, 2], y=[3, 4])))


def chapter(folder: Path, *cells: Any) -> notebook.Chapter:
    path = folder / "10-x.ipynb"
    nbformat.write(new_notebook(cells=list(cells)), path)
    return notebook.finish(path)


def test_a_sentence_in_the_place_of_a_figure_becomes_prose(tmp_path: Path) -> None:
    text = new_markdown_cell(f"# X {{#sec-x}}\n\nHere. {needing('fig-none', 'See @fig-none.')} The end.")
    one = chapter(tmp_path, text, shown("fig-none", parts.Text("No *pair* was slow.")), shown("fig-there", FIGURE))
    assert prune.omit([one]) == []
    prose, remark, figure = one.notebook.cells
    assert prose.source.endswith("Here. The end.")
    assert (remark.cell_type, remark.source) == ("markdown", "No *pair* was slow.")
    assert figure.cell_type == "code"


def test_a_section_of_nothing_goes_with_all_that_refers_to_it(tmp_path: Path) -> None:
    one = chapter(
        tmp_path,
        new_markdown_cell(
            "# X {#sec-x}\n\nSee @fig-there. "
            + needing("fig-gone sec-gone", "More is in @fig-gone and @sec-gone.")
            + " The end.\n\nWithout a mark, this goes as a whole. It refers to @tbl-lost."
        ),
        new_markdown_cell("## There {#sec-there}\n\nProse."),
        shown("fig-there", FIGURE),
        shown("tbl-lost", NOTHING),
        new_markdown_cell("## Gone {#sec-gone}\n\nOf @fig-gone."),
        shown("fig-gone", NOTHING),
        new_markdown_cell("## Last {#sec-last}\n\n@tbl-lost."),
        shown("tbl-last", parts.Table.of(["a"], [["1"]])),
    )
    assert prune.omit([one]) == []
    text = "\n".join(cell.source for cell in one.notebook.cells)
    assert "See @fig-there. The end." in text
    assert "gone" not in text.lower()
    assert "lost" not in text
    assert "as a whole" not in text
    assert "## There" in text
    assert "## Last" in text
    assert one.omitted == ["A caption", "Gone"]


def test_the_pieces_of_a_cell_with_several_headings_have_ids_of_their_own(tmp_path: Path) -> None:
    one = chapter(tmp_path, new_markdown_cell("# X {#sec-x}\n\n## A\n\nProse.\n\n## B"), new_markdown_cell("More."))
    assert prune.omit([one]) == []
    assert [cell["id"] for cell in one.notebook.cells] == ["c0", "c0-1", "c0-2", "c1"]
    nbformat.writes(one.notebook)  # an equal id would be changed by chance, with a warning


def test_the_name_of_what_is_left_out_is_its_short_caption(tmp_path: Path) -> None:
    long = shown("fig-long", NOTHING)
    long.source = '#| label: fig-long\n#| fig-cap: "All that (Fig. 5) has. More."\n#| fig-scap: "All that"\nx'
    abbreviated = shown("fig-short", NOTHING)
    abbreviated.source = '#| label: fig-short\n#| fig-cap: "All of Fig. 5."\nx'
    one = chapter(tmp_path, new_markdown_cell("# X {#sec-x}"), long, abbreviated, shown("fig-there", FIGURE))
    assert prune.omit([one]) == []
    assert one.omitted == ["All that", "All of Fig. 5"]


def test_marks_of_what_stays_leave_their_text(tmp_path: Path) -> None:
    text = (
        "# X {#sec-x}\n\nA "
        + needing("fig-a", "[b](c.html) `@d`")
        + ".\n\n- "
        + needing("sec-gone", "Gone.")
        + "\n- Last."
    )
    one = chapter(tmp_path, new_markdown_cell(text), shown("fig-a", FIGURE))
    prune.settle(one, {"sec-gone"})
    assert one.notebook.cells[0].source == "# X {#sec-x}\n\nA [b](c.html) `@d`.\n\n- Last."
    assert one.warnings == []


BOOKS = sorted(Path(__file__).parents[1].glob("notebooks/*.ipynb"))
PAGES = sorted((Path(__file__).parents[1] / "templates/report").rglob("*.qmd"))
REFERENCE = re.compile(r"@((?:fig|tbl|sec)-[\w-]*\w)")


def texts(path: Path) -> list[str]:
    """The prose of a notebook, or of a chapter's template."""
    if path.suffix == ".qmd":
        return [path.read_text()]
    return [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "markdown"]


def test_each_sentence_that_refers_to_a_part_is_marked_and_each_mark_names_an_existing_part() -> None:
    unmarked, unknown, count = list[str](), list[str](), 0
    blocks = "".join(path.read_text() for path in Path(labkit.__file__).parent.rglob("*.py"))
    everywhere = {*re.findall(r"\{#([\w-]+)", "".join(map(Path.read_text, PAGES)) + blocks.replace("{{", "{"))}
    for path in [*BOOKS, *PAGES]:
        cells = nbformat.read(path, 4).cells if path.suffix == ".ipynb" else []
        own = {str(options.options(cell.source)[0].get("label")) for cell in cells if cell.cell_type == "code"}
        own |= {*re.findall(r"\{#([\w-]+)", "".join(texts(path)))}
        for text in texts(path):
            marks = markdown.NEEDING.findall(markdown.mask(text))
            count += len(marks)
            rest = markdown.NEEDING.sub("", markdown.mask(text))
            unmarked += [f"{path.name}: {one}" for one in REFERENCE.findall(rest)]
            for labels, inside in marks:
                unmarked += [f"{path.name}: {one}" for one in REFERENCE.findall(inside) if one not in labels.split()]
                unknown += [f"{path.name}: {one}" for one in labels.split() if one not in own | everywhere]
    assert (unmarked, unknown) == ([], [])
    assert count > 190


def test_a_chapter_of_nothing_goes_and_a_result_keeps_its_section(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    empty = chapter(tmp_path / "a", new_markdown_cell("# X {#sec-x}"), shown("fig-x", NOTHING))
    result = new_code_cell("say()", outputs=[new_output("display_data", data={"text/markdown": "It is fast."})])
    kept = chapter(
        tmp_path / "b",
        new_markdown_cell("# Y {#sec-y}"),
        shown("fig-y", FIGURE),
        new_markdown_cell("## Section {#sec-s}\n\nAs in @sec-x."),
        shown("fig-z", NOTHING),
        result,
    )
    assert prune.omit([empty, kept]) == [empty]
    text = "\n".join(cell.source for cell in kept.notebook.cells)
    assert "## Section" in text
    assert "sec-x" not in text
    assert kept.omitted == ["A caption"]


def test_a_copy_that_was_executed_anew_has_no_error_of_the_run(tmp_path: Path) -> None:
    facts = {"name": "made", "notebooks": [{"name": "10-latency", "error": "NameError"}]}
    one = replace(source([], tmp_path), facts=facts)
    assert one.error(tmp_path / "notebooks" / "10-latency.ipynb") == "NameError"
    assert one.error(tmp_path / "notebooks-again" / "10-latency.ipynb") == ""


@pytest.mark.slow
def test_threats_and_discussion_count_the_same_points_with_an_interval() -> None:
    """Values below the clock's resolution have none."""
    content = Content([sources.read(project.CAMPAIGNS / "examples" / "two-cores")], {})
    [threat] = re.findall(r"(\d+) points of \d+ whose launches show one moment", threats.threats(content))
    [spread] = re.findall(r"Of (\d+) points with an interval or a range over launches", discussion.stability(content))
    assert threat == spread


def test_a_verdict_stands_in_the_chapter_that_is_most_about_its_benchmark() -> None:
    chapters = {
        "latency": ("mpi.latency", "mpi.allreduce", "micro.clock"),
        "bandwidth": ("mpi.bandwidth", "sockets.tcp_stream", "sockets.tcp_rr"),
        "collectives": ("mpi.bcast", "mpi.allreduce", "mpi.alltoall"),
        "sockets": ("sockets.udp_rr", "sockets.tcp_rr", "sockets.unix_rr", "sockets.tcp_stream", "sockets.udp_stream"),
        "layers": ("mpi.latency", "mpi.bandwidth", "mpi.allreduce", "mpi.bcast"),
    }

    def home(benchmark: str) -> str:
        return max((name for name, own in chapters.items() if benchmark in own),
                   key=lambda name: paper._about(benchmark, chapters[name]))  # fmt: skip

    homes = {"mpi.allreduce": "collectives", "sockets.tcp_rr": "sockets", "mpi.latency": "latency"}
    homes |= {"mpi.bandwidth": "bandwidth", "sockets.tcp_stream": "sockets"}
    assert {one: home(one) for one in homes} == homes


@pytest.mark.parametrize(("places", "tells"), [((8, 64), False), ((8, 64, 512), True), ((), True)])
def test_a_paper_draws_no_figure_of_two_places(places: tuple[int, ...], tells: bool) -> None:
    rows = ["series,message size (B),latency (µs)", *(f"tcp,{place},1.0" for place in places)]
    chapter: Any = SimpleNamespace(csv={"fig-a.csv": "\n".join(rows)} if places else {})
    assert paper._tells(chapter, SimpleNamespace(source="#| label: fig-a\nshow()")) is tells


def test_points_of_one_path_that_differ_are_told_once_with_what_is_known(tmp_path: Path) -> None:
    def launches(path: str, times: list[float], hour: int, size: int = 8) -> list[Samples]:
        badges = ["shared memory"]
        return [
            point(size, path, n, ns, badges=badges, start=f"2026-11-26T{hour:02}:00:0{n}+00:00")
            for n, ns in enumerate(times)
        ]

    named = [130.0, 160.0, 370.0, 180.0, 150.0, 360.0]
    same = [*launches("auto", [130.0] * 6, 9), *launches("shm", [130.0] * 6, 9), *launches("tcp", [6000.0] * 6, 9, 64)]
    assert same_path.same_path(Content([source(same, tmp_path)], {})) == ""
    apart = [*launches("auto", [130.0] * 6, 9), *launches("shm", named, 7)]
    said = same_path.same_path(Content([source(apart, tmp_path)], {}))
    assert "In 1 of 1 such pairs, the values are more than 10 % apart" in said
    assert "All launches with shm started by 07:00:05, those with auto from 09:00:00 on." in said
    assert "Their best launches agree" in said
    slow = [*launches("auto", [130.0] * 6, 9), *launches("shm", [260.0] * 6, 9)]
    said = same_path.same_path(Content([source(slow, tmp_path)], {}))
    assert "Their best launches differ, too" in said
    assert "The difference is unexplained." in said


def test_a_paper_names_few_published_numbers_without_a_ratio_and_a_measured_value_once() -> None:
    def one(paper: str, measured: str, why: str) -> Any:
        number = SimpleNamespace(unit="µs")
        comparison = SimpleNamespace(measured=measured, number=number, why=why)
        return SimpleNamespace(paper=SimpleNamespace(key=paper)), comparison, SimpleNamespace(name="c")

    other = "8 ranks, the paper 48"
    found = [one("kenny", "7", other), one("kenny", "150", other), one("kenny", "150", other), one("kenny", "9", other)]
    kept = blocks_paper._shortened([*found, one("zambre", "13", other), one("kenny", "9", ""), one("kenny", "9", "")])
    assert [(paper.paper.key, comparison.measured, comparison.why) for paper, comparison, _ in kept] == [
        ("kenny", "7", other),
        ("kenny", "150", other),
        ("zambre", "13", other),
        ("kenny", "9", ""),
        ("kenny", "9", ""),
    ]


def test_a_caption_says_which_references_come_from_the_same_campaign() -> None:
    def topic(**values: Any) -> answer.Topic:
        subject = Subject(benchmark="storage.read")
        return answer.Topic("t", (Finding(code="x", kind="verdict", level="good", subject=subject, values=values),))

    assert answered.exceptions([topic(what="two copies")]) == ""
    assert "over an emulated link" in answered.exceptions([topic(path=EMULATED)])
    assert "has no verdict" in answered.exceptions([topic(what=f"{storage_of_device.BEST}, with depth 16")])


def test_a_good_topic_with_settings_that_are_not_says_how_many() -> None:
    subject = Subject(benchmark="mpi.latency")
    good, bad = (
        Finding(code="x", kind="verdict", level=level, subject=replace(subject, setting=level), values={})
        for level in ("good", "bad")
    )
    assert blocks_paper._verdict(answer.Topic("t", (good,))) == "good"
    assert blocks_paper._verdict(answer.Topic("t", (bad, good))) == "good (1 setting not)"
    assert blocks_paper._verdict(answer.Topic("t", (bad,))) == "bad"
