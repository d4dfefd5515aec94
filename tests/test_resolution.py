"""A value whose time spans fewer than ten steps of the clock is a bound, and is shown and used as one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from labkit import benchmarks, figures, studies
from labkit.apps.show import comparison as shown
from labkit.apps.show import contracted, gated
from labkit.apps.show.results import result_table
from labkit.figures import seen, small_print
from labkit.judge import answer, comparison, contract, effects, gate, sentences
from labkit.judge.rules._contrasts import contrast
from labkit.kernels import native
from labkit.point.notes import has, joined
from labkit.point.spec import Spec
from labkit.read import records
from labkit.read.columnar import of_samples
from labkit.read.records.value import values_in
from labkit.run import importing
from labkit.store.campaign import Campaign
from labkit.studies import one_sided

from . import made
from .test_torn import GO, NETPERF

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "data/campaigns/examples/two-cores"
LATENCY, BANDWIDTH = (
    Spec(benchmark="mpi.latency", size=8),
    Spec(benchmark="mpi.bandwidth", size=1000, options={"window": 1}),
)


def _row(spec: Spec, time_ns: object, **meta: object) -> dict[Any, Any]:
    points = [made.samples(spec, time_ns, meta={"clock_ns": 1000.0, **meta})]
    return records.summary(records.table(points)).iloc[0].to_dict()


@pytest.mark.parametrize(("ticks", "bound"), [(1, True), (9, True), (10, False), (11, False)])
def test_fewer_than_ten_ticks_are_a_bound(ticks: int, bound: bool) -> None:
    for spec, metric, sign in ((LATENCY, "latency_us", "≤ "), (BANDWIDTH, "bandwidth_MBps", "≥ ")):
        row = _row(spec, [1000 * ticks] * 30)
        value = records.value_of(row, metric)
        assert value.coarse is bound, (spec, ticks)
        assert value.text.startswith(sign) is bound
        assert has(row["badges"], "clock-resolution") is bound
        assert (records.value_of(row, metric, "mean").coarse, records.value_of(row, metric, "max").coarse) == (
            bound,
        ) * 2


def test_a_time_below_one_step_is_at_most_that_step() -> None:
    assert records.value_of(_row(LATENCY, [0] * 30), "latency_us").text == "≤ 0.5"  # half of a round trip


def test_the_time_of_the_whole_batch_decides() -> None:
    """64 messages in 12 steps, and 50 iterations timed at once: neither is one message, or one iteration."""
    window = BANDWIDTH.replace(options={"window": 64})
    assert not records.value_of(_row(window, [12_000] * 30), "message_rate_per_s").coarse
    total = LATENCY.replace(options={"timing": "total"})
    points = [
        made.samples(
            total,
            [[each]],
            meta={"clock_ns": 1000.0, "timing": "total", "chunks": [50]},
            extras={"iterations": np.array([[50]])},
        )
        for each in (12_000, 9_000)
    ]
    fine, coarse = (records.value_of(records.table([one]).iloc[0], "latency_us") for one in points)
    assert (fine.coarse, coarse.coarse) == (False, True)
    assert fine.value == pytest.approx(0.12)


def test_a_column_of_values_is_that_of_its_rows() -> None:
    """Rows that are a bound, have another statistic than the first, no interval or no statistic stay apart."""
    parts = [
        *(_row(spec, [ticks * 1000] * 30) for spec in (LATENCY, BANDWIDTH) for ticks in (2, 30)),
        *({"benchmark": "mpi.latency", "origin": one, "n": 0} for one in ("imported", "simulated")),
        {
            "benchmark": "mpi.allreduce",
            "n": 40,
            "origin": "measured",
            "latency_us_osu_mean": 2.0,
            "latency_us_step": 1.0,
        },
        {"benchmark": "mpi.latency", "n": 0, "origin": "imported", "latency_us_max": 7.0, "latency_us_step": 1.0},
    ]
    table = pd.DataFrame(parts)
    for metric in ("latency_us", "bandwidth_MBps"):
        for statistic in ("", "p50", "osu_mean", "max"):
            rows = table.to_dict("records")
            values = values_in(table, metric, statistic)
            alone = [records.value_of(row, metric, statistic) for row in rows]
            assert list(map(repr, values)) == list(map(repr, alone))
            assert [one.coarse for one in values] == [records.coarse(row, metric, statistic) for row in rows]
            assert {one.coarse for one in values} == {True, False} or (metric, statistic) == (
                "bandwidth_MBps",
                "osu_mean",
            )


def test_a_table_takes_no_more_objects_of_rows_for_more_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns are formatted as a whole: making a pandas object for each point would take most of the time."""

    def made_for(points: int) -> int:
        sizes = [2**k for k in range(points)]
        samples = [made.samples(LATENCY.replace(size=size), [ticks] * 30) for size in sizes for ticks in (9000, 9500)]
        table = records.table(samples)
        summary = records.summary(table)
        count = 0

        def counted(self: Any, *given: Any, **named: Any) -> None:
            nonlocal count
            count += 1
            initial(self, *given, **named)

        initial = pd.Series.__init__
        with monkeypatch.context() as patch:
            patch.setattr(records, "summary", lambda frame: summary)
            patch.setattr(pd.Series, "__init__", counted)
            text = result_table(table)
            assert text.count("\n") > points
            list(summary.iterrows())  # what is counted
        return count - points

    assert made_for(4) == made_for(12)


def test_a_table_reads_samples_only_where_records_do_not_hold_the_values() -> None:
    def unread() -> Any:
        raise AssertionError("samples were read")
        yield

    assert "mpi.latency" in result_table(records.table([made.samples(LATENCY, [9000] * 30)]), unread())


def test_a_bound_is_no_headline_of_any_kind() -> None:
    """The highest bandwidth is that of two ticks; what is said first comes from the points that the clock resolves."""
    points = [
        made.samples(
            BANDWIDTH.replace(size=size, transport=path),
            [ticks * 1000] * 30,
            meta={"clock_ns": 1000.0, "fingerprint": f"{path}{size}"},
        )
        for path in ("shm", "tcp")
        for size, ticks in ((64, 2), (4096, 20), (65536, 400 if path == "shm" else 900))
    ]
    table = records.summary(records.table(points))
    known = records.sound(table, "bandwidth_MBps")
    assert set(known["message_size_B"]) == {4096, 65536}
    settings = [one.subject.setting for one in answer.of_paths(of_samples(points), table)]
    assert settings == ["transport shm, 4 KiB", "transport tcp, 4 KiB"], "20 ticks: the highest of those that count"
    found = contrast(table, "bandwidth_MBps", ["transport"])
    assert found is not None
    assert {found.main.size, found.other.size if found.other else 0} == {65536, 4096}
    assert effects.of_row(table.iloc[0].to_dict(), "bandwidth_MBps").sign == 0


def _compared(spec: Spec, old: float, new: float) -> comparison.Comparison:
    """Compare two campaigns of eight launches, whose times are so many steps of 1 µs."""
    sides = {}
    for name, ticks in (("old", old), ("new", new)):
        points = [
            made.samples(
                spec,
                [round(ticks * 1000)] * 30,
                launch=n,
                meta={"clock_ns": 1000.0, "fingerprint": "f", "start": f"2026-01-0{n + 1}"},
            )
            for n in range(8)
        ]
        sides[name] = comparison.of_samples(points)
    return comparison.compare(sides)


def test_a_comparison_shows_which_of_its_values_are_bounds() -> None:
    compared = _compared(BANDWIDTH, 20, 2)
    text = shown.text(compared, "table")
    assert re.search(r"\b50 +≥ 500 +- ", text), text  # no ratio to a bound
    assert "1 of 1 comparison without a ratio: a value spans fewer than 10 steps of the clock" in text
    (row,) = json.loads(shown.text(compared, "json"))["records"]
    assert (row["base_coarse"], row["coarse"], row["ratio"], row["shift"]) == (False, True, None, None)
    assert row["verdict"] == "faster", "18 steps are a difference"


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        (2, 3, "not enough data"),
        (2, 2, "not enough data"),
        (2, 5, "slower"),
        (20, 21, "not enough data"),
        (20, 23, "slower"),
        (2000, 2001, "same"),
        (20, 20, "same"),
    ],
)
def test_a_comparison_claims_nothing_finer_than_the_clock(old: int, new: int, verdict: str) -> None:
    """Each of the values may be wrong by one step."""
    compared = _compared(LATENCY, old, new)
    (row,) = json.loads(shown.text(compared, "json"))["records"]
    assert row["verdict"] == verdict
    unresolved = verdict == "not enough data"
    assert ("steps of the clock" in row["reason"]) is unresolved
    assert ("undecided: the values differ by less than 2 steps" in shown.text(compared, "table")) is unresolved


def _table(spec: Spec, ticks: int) -> pd.DataFrame:
    points = [
        made.samples(spec, [1000 * ticks] * 200, launch=n, meta={"clock_ns": 1000.0, "fingerprint": "f"})
        for n in range(6)
    ]
    return records.table(points)


@pytest.mark.parametrize(("ticks", "outcome"), [(2, "blind"), (3, "blind"), (5, "fail"), (20, "fail")])
def test_a_gate_marks_bounds_and_fails_nothing_finer_than_the_clock(ticks: int, outcome: str) -> None:
    history = [(f"day{day}", _table(LATENCY, 2).assign(campaign=f"day{day}")) for day in range(8)]
    result = gate.gate("today", _table(LATENCY, ticks), history)
    assert {one.form for one in result.verdicts} == {outcome}
    value = "10" if ticks == 20 else f"≤ {ticks / 2:.2g}"
    for form, write in gated.FORMATS.items():
        text = write(result)
        if form == "json":
            first = json.loads(text)["verdicts"][0]
            assert (first["coarse"], first["usual_coarse"]) == (ticks < 10, True)
        elif form != "github" or outcome == "fail":
            assert re.search(rf"{value}[.0]* µs", text), text
            assert re.search(r"≤ 1(\.0*)? µs", text), text
    assert "≥, ≤: the time spans fewer than 10 steps of the clock" in gated.text(result)


@pytest.mark.parametrize(
    ("spec", "statistic", "relation", "passed"),
    [
        (LATENCY, "latency_us_p50", "<=", True),
        (LATENCY, "latency_us_p50", ">=", False),
        (BANDWIDTH, "bandwidth_MBps_p50", ">=", True),
        (BANDWIDTH, "bandwidth_MBps_p50", "<=", False),
    ],
)
def test_a_contract_takes_a_bound_for_one(spec: Spec, statistic: str, relation: Any, passed: bool) -> None:
    """A time of at most 1 µs shows no clause that demands more than 1 µs."""
    limit = (1.0 if spec is LATENCY else 500.0) * (1.01 if relation == "<=" else 0.99)
    clause = contract.Clause(name="c", benchmark="mpi.*", statistic=statistic, relation=relation, bound=limit)
    (verdict,) = contract.judge([clause], records.summary(_table(spec, 2)))
    assert (verdict.level == "good") is passed
    text = sentences.sentence(verdict)
    assert re.search(r"≤ 1(\.0*)? µs" if spec is LATENCY else "≥ 500 MB/s", text), text
    assert "clock resolution" in contracted.text([verdict])


def test_a_bound_has_no_colour_in_a_map() -> None:
    launch = {"benchmark": "storage.iozone", "fingerprint": "a", "name": "bandwidth_MBps", "unit": "MB/s"}
    cells = pd.DataFrame(
        launch
        | {
            "statistic": "mean",
            "value": value,
            "coarse": value > 6e4,
            "launch": 0,
            "file_size_B": 65536,
            "record_size_B": record,
        }
        for record, value in ((4096, 6000.0), (8192, 9000.0), (65536, 65536.0))
    )
    for figure in (
        figures.heat_map(cells, "file_size_B", "record_size_B", "bandwidth_MBps"),
        figures.heat_maps({"read": cells}, "file_size_B", "record_size_B", "bandwidth_MBps"),
    ):
        coloured, grey = (one for one in figure.data if one.type == "heatmap")  # texts stand apart
        assert [z is None for z in coloured.z[0]] == [False, False, True]
        assert [z is None for z in grey.z[0]] == [True, True, False]
        assert len({colour for _, colour in grey.colorscale}) == 1
        assert grey.text[0][2].startswith("≥ ")
        for texts, own in ((coloured.text[0], (True, True, False)), (grey.text[0], (False, False, True))):
            assert tuple(map(bool, texts)) == own, "each cell has one text"
        assert "≥ and grey: a bound, the time spans fewer than 10 steps" in joined(small_print.notes_of(figure))
        said = seen.seen(figure.to_plotly_json())
        assert "Highest that the clock resolves: 9 GB/s at 64Ki × 8Ki; lowest: 6 GB/s" in said
        assert "≥ 65.54 GB/s" in grey.customdata[0][2]
        assert "clock resolution" in grey.customdata[0][2]
    sound = figures.heat_map(cells[~cells["coarse"]], "file_size_B", "record_size_B", "bandwidth_MBps")
    assert "resolves" not in seen.seen(sound.to_plotly_json())
    assert "grey" not in joined(small_print.notes_of(sound))


def test_what_the_clock_does_not_resolve_takes_part_in_what_is_cheapest() -> None:
    """The cheapest way may be below the clock: a sentence on the cheapest of the others says so."""
    ticks = {"flush": 4, "pscw": 60, "fence": 90}
    every = [
        made.samples(
            Spec(benchmark="mpi.put_latency", size=8, options={"synchronisation": way}),
            [1000 * count + launch] * 30,
            launch=launch,
            meta={"clock_ns": 1000.0, "fingerprint": way},
        )
        for way, count in ticks.items()
        for launch in range(8)
    ]
    rows = records.summary(records.table(every))
    (said,) = one_sided._synchronisations(rows)
    assert "flush takes at most 4 µs (below what the clock resolves); of those that it resolves, pscw with 30" in said
    assert "fence with 45" in said
    (said,) = one_sided._synchronisations(rows[rows["option_synchronisation"] != "flush"])
    assert "resolves" not in said
    assert studies.resolved(rows, "latency_us")


def test_a_recorded_table_of_iozone_shows_its_bounds() -> None:
    """IOzone counts whole µs, so that the rates of small files are bounds."""
    points = list(Campaign(EXAMPLE).samples("storage.iozone"))
    text = result_table(records.table(points), points)
    assert re.search(r"≥ [\d,]+", text)
    assert "clock resolution" in text
    cells = records.reported(points)
    time_us = cells["file_size_B"] / cells["value"]
    assert cells["coarse"].any()
    assert (cells["coarse"] == (time_us < 10 - 1e-5)).all()


_STREAM = """STREAM version $Revision: 5.10 $
This system uses 8 bytes per array element.
Array size = 1000 (elements), Offset = 0 (elements)
Each kernel will be executed 10 times.
Your clock granularity/precision appears to be {tick} microseconds.
Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           8000.0     0.000002     0.000002     0.000003
Scale:          8000.0     0.000002     0.000002     0.000003
Add:              24.0     0.001000     0.001000     0.001100
Triad:            24.0     0.001000     0.001000     0.001100
Solution Validates: avg error less than 1.000000e-13 on all three arrays
"""


def test_a_log_states_its_clock(tmp_path: Path) -> None:
    """STREAM prints its clock's step; OSU prints two decimals."""
    made_of = {"fine": _STREAM.format(tick=1), "coarse": _STREAM.format(tick=500)}
    seen = {}
    for name, text in made_of.items():
        (tmp_path / name).write_text(text)
        importing.bring([tmp_path / name], into=tmp_path / f"of-{name}", testbed=name)
        rows = records.table(Campaign(tmp_path / f"of-{name}").samples())
        by = {row["option_kernel"]: row for row in rows.to_dict("records")}
        seen[name] = {kernel: records.value_of(by[kernel], "bandwidth_MBps").text for kernel in ("copy", "triad")}
    assert seen == {"fine": {"copy": "≥ 8,000", "triad": "24.00"}, "coarse": {"copy": "≥ 8,000", "triad": "≥ 24"}}
    (tmp_path / "osu").write_text(
        "# OSU MPI Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n1   0.07\n8   0.31\n"
    )
    importing.bring([tmp_path / "osu"], into=tmp_path / "of-osu", testbed="o")
    points = list(Campaign(tmp_path / "of-osu").samples())
    text = result_table(records.table(points), points)
    assert "≤ 0.07" in text
    assert "≤ 0.31" not in text


def _text(name: str) -> str:
    return (Path(__file__).parent / "golden" / "logs" / name).read_text()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("text", "metric", "shown"),
    [
        (NETPERF, "round_trip_us", {"mean": "12.0", "p50": "≤ 4", "p99": "35"}),
        (GO.replace("Min(us): 11", "Min(us): 9"), "round_trip_us", {"mean": "26", "min": "≤ 9", "p99": "78"}),
        (_text("iperf/bounceback.txt"), "round_trip_us", {"mean": "72", "min": "≤ 6"}),
        (_text("iperf/udp_plain.txt"), "jitter_us", {"mean": "≤ 2"}),
        (_text("wrk/wrk_latency.txt").replace("43.99ms", "8.00us"), "round_trip_us", {"p50": "≤ 8"}),
        (_text("ior/shared.txt").replace("0.00011", "0.00009"), "run_time_s", {"mean": "≤ 0.00009"}),
        (_text("nccl_tests/all_gather_command.txt").replace("41.41", " 0.09"), "latency_us", {"mean": "≤ 0.09"}),
        (_text("nccl_tests/all_gather_command.txt"), "latency_us", {"mean": "41.0"}),
    ],
)
def test_times_near_the_step_of_a_tools_clock_or_digits_are_bounds(
    text: str, metric: str, shown: dict[str, str], tmp_path: Path
) -> None:
    """Rates over the whole run have no step of a clock."""
    (tmp_path / "log").write_text(text)
    campaign = importing.bring([tmp_path / "log"], into=tmp_path / "c").campaign
    rows_of = records.table(campaign.samples())
    rows = records.summary(rows_of).to_dict("records")
    row = min(
        (one for one in rows if records.statistic_of(one, metric)), key=lambda r: records.value_of(r, metric).value
    )
    for statistic, told in shown.items():
        text = records.value_of(row, metric, statistic).text
        assert float(text.strip("≤ ")) == pytest.approx(float(told.strip("≤ ")), rel=0.01), text
        assert text.startswith("≤ ") is told.startswith("≤ "), (statistic, text)
    own = metric in benchmarks.get(row["benchmark"]).metrics  # the badge tells of what the benchmark measures
    assert has(row["badges"], "clock-resolution") is (own and any("≤" in one for one in shown.values()))
    table = result_table(rows_of, campaign.samples())
    assert not re.search(r"≤ \d", table) or "≥, ≤: the time spans fewer than 10 steps of the clock" in table
    rates = ("transaction_rate_per_s", "bandwidth_MBps", "iops_per_s", "message_rate_per_s")
    assert not any(records.value_of(row, name).coarse for name in rates)


@pytest.mark.slow
@pytest.mark.skipif(not native.compiled() or not shutil.which("cc"), reason="needs the C kernels and a compiler")
def test_ranks_record_the_step_of_their_clock(tmp_path: Path) -> None:
    """A clock of 1 µs below the real program: reading it takes less than one of its ticks."""
    library, source = tmp_path / "clock.so", Path(__file__).with_name("clock.c")
    subprocess.run(["cc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", source, "-o", library, "-ldl"], check=True)
    words = ["measure", "micro.clock", "--launches", "1", "-i", "5000", "--into", str(tmp_path / "c")]
    environment = os.environ | {"LD_PRELOAD": str(library), "LABKIT_TEST_STEP": "1000"}
    ended = subprocess.run(
        [sys.executable, "-m", "labkit", *words], env=environment, capture_output=True, text=True, check=True, cwd=ROOT
    )
    (point,) = Campaign(tmp_path / "c").samples()
    assert point.meta["clock_ns"] == 1000
    assert records.table([point]).iloc[0]["clock_step_ns_value"] == pytest.approx(1000)
    assert "≤ 1,000" in ended.stdout
    assert "clock resolution" in ended.stdout
    assert "≥, ≤: the time spans fewer than 10 steps of the clock" in ended.stdout
