"""Campaigns over time: changes with a declared chance of false ones, and what of the system changed at each."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ruptures import Binseg

from bench import history as simulation
from labkit import suites
from labkit.figures.timeline import timeline
from labkit.io.project import NOTEBOOKS
from labkit.judge import history as analysis
from labkit.judge.history import History, Run
from labkit.read import records
from labkit.report import sources
from labkit.report.blocks import over_time
from labkit.report.check import check
from labkit.report.content import Content
from labkit.report.stage import stage
from labkit.stats import changes
from labkit.store.campaign import Campaign
from labkit.studies.history import Study
from labkit.suites.definition import Entry
from tests.test_gate import campaign, kept

KERNELS = ["6.1.0-30"] * 7 + ["6.12.0-5"] * 7
HOST = {
    "kernel": "6.1.0-30",
    "hostname": "a",
    "load": {"load_1": 3.0},
    "rdma_devices": [{"name": "mlx5_0", "firmware": "20.35", "state": "up"}],
    "nics": [{"name": "eth0", "driver": "mlx5", "physical": True}, {"name": "veth9", "driver": "v", "physical": False}],
    "versions": {"labkit": "0.1.0"},
}


def run(day: int, factor: float = 1.0, **host: Any) -> Run:
    """A campaign of a day; its first size is slower by a factor."""
    table = records.table(campaign(day, factor=factor), campaign=f"day{day:02}")
    return Run(f"day{day:02}", f"2026-03-{day + 1:02}T03:00:00+00:00", table, {**HOST, **host})


def stepped(days: int = 14, factor: float = 1.5) -> list[Run]:
    """Nights of which the second half has another kernel, with which small messages are slower."""
    return [run(day, factor if day >= days // 2 else 1.0, kernel=KERNELS[day]) for day in range(days)]


@pytest.fixture(scope="module")
def past() -> History:
    """Fourteen nights with a change in the middle."""
    return analysis.history(stepped()[::-1])


def test_a_change_is_found_where_it_is_with_what_changed_there(past: History) -> None:
    assert [one.name for one in past.runs] == [f"day{day:02}" for day in range(14)], "by date, not as named"
    assert {(s.benchmark, s.point, s.statistic) for s, _ in past.changed} == {
        ("mpi.latency", "8 B", "p50"),
        ("mpi.latency", "8 B", "p99"),
    }
    for series, change in past.changed:
        assert series.moments[change.place].name == "day07"
        assert 1.45 < change.ratio < 1.55
        assert change.system == ("kernel: 6.1.0-30 → 6.12.0-5",)
        assert change.p < change.p_adjusted <= past.chance
    told = analysis.told(*past.changed[0], past.chance)
    assert "from day07 (2026-03-08) on: +5" in told
    assert "worse; change" in told
    assert told.endswith("What changed: kernel: 6.1.0-30 → 6.12.0-5.")


def test_a_history_without_a_change_has_none() -> None:
    past = analysis.history([run(day) for day in range(14)])
    assert past.changed == []
    assert all(not texts for texts in past.system), "load and host name are not changes"


def test_too_few_campaigns_show_nothing_and_say_how_many_are_needed() -> None:
    past = analysis.history(stepped(6, 3.0))
    assert past.changed == past.possible == []
    assert f"needs {changes.needed(0.05 / 4)} campaigns at least" in past.sentence
    assert analysis.history([run(0)]).series == ()


def test_firmware_libraries_and_settings_are_named_and_moments_are_not() -> None:
    old, new = run(0), run(1, rdma_devices=[{"name": "mlx5_0", "firmware": "22.41"}], load={"load_1": 9.0}, smt=True)
    new = Run(new.name, new.created, new.records.assign(library="Open MPI 5.0.9"), {**new.host, "hostname": "b"})
    assert set(analysis.differences(old, new)) == {
        "rdma_devices mlx5_0 firmware: 20.35 → 22.41",
        "smt: none → True",
        "library Open MPI: 5.0.8 → 5.0.9",
    }


def test_several_changes_of_one_series_are_found() -> None:
    chance = np.random.default_rng(4)
    values = np.exp(0.01 * chance.standard_normal(45)) * np.repeat([1.0, 1.3, 0.8], 15)
    assert [(cut.first, cut.end) for cut in changes.changes(values, 0.05)] == [(15, 30), (30, 45)]


def test_a_change_stands_at_the_step_not_at_the_first_of_the_larger_values() -> None:
    cut = changes.change([0.356, 0.155, 0.16, 0.158, 0.155, 0.361, 5.7, 6.8, 5.4, 6.1, 5.9, 6.3])
    assert cut is not None
    assert (cut.first, cut.end) == (6, 12)
    assert cut.p < 0.05
    zero = changes.change([0.0, 0.2, 0.1, 0.3, 0.9, 5.0, 5.2, 5.1, 5.3, 5.2])
    assert zero is not None
    assert zero.first == 5, "a value of 0 has no logarithm"


@pytest.mark.slow
def test_a_variable_that_campaigns_do_not_compare_is_part_of_the_system() -> None:
    runs = [
        Run(one.name, one.created, one.records.assign(env_OMPI_MCA_btl="tcp,self"), one.host) if n >= 7 else one
        for n, one in enumerate(stepped())
    ]
    history = analysis.history(runs)
    series, change = history.changed[0]
    assert len(series.moments) == 14
    assert "OMPI_MCA_btl: none → tcp,self" in change.system
    compared = [
        Run(one.name, one.created, pd.concat([one.records, one.records.assign(env_OMPI_MCA_btl="tcp,self")]), one.host)
        for one in stepped()
    ]
    assert len(analysis.history(compared).series) == 2 * len(history.series)


def test_one_odd_campaign_is_no_change_and_equal_values_are_none() -> None:
    values = np.exp(0.01 * np.random.default_rng(5).standard_normal(20))
    values[10] = 100.0
    assert changes.changes(values, 0.05) == []
    assert changes.change([3.0] * 20) is None
    assert changes.change([1.0, 2.0, 3.0]) is None


@pytest.mark.parametrize("chance", [0.05, 0.01])
def test_so_many_campaigns_are_needed_and_suffice(chance: float) -> None:
    needed = changes.needed(chance)
    assert changes.needed(1e-9) == 0, "too small for the orders that are drawn"
    found = []
    for count in (needed - 1, needed):
        cut = changes.change(np.repeat([1.0, 9.0], [count // 2, count - count // 2]) + 0.01 * np.arange(count))
        assert cut is not None
        found.append(cut.p)
    assert found[1] <= chance < found[0]


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["lognormal", "heavy tail", "two modes"])
def test_false_changes_are_as_rare_as_declared(shape: str) -> None:
    false, possible = simulation.rates(12, shape, 40)
    assert false <= 8 / 40  # 5 % declared; more than 8 of 40 would have a chance of 0.02 %
    assert possible <= 0.08


@pytest.mark.parametrize(("shape", "rho"), [("normal", 0.5), ("lognormal", 0.8), ("floor", 0.5)])
@pytest.mark.parametrize("campaigns", [20, 50])
def test_days_that_resemble_each_other_are_no_changes(campaigns: int, shape: str, rho: float) -> None:
    random = np.random.default_rng(8)
    p = [simulation.found(one) for one in simulation.values(random, 100, campaigns, shape, rho)]
    assert sum(one <= 0.05 for one in p) <= 13  # 5 % declared; more than 13 of 100 would have a chance of 0.05 %


@pytest.mark.slow
def test_long_series_near_a_floor_have_no_changes() -> None:
    """200 days of ρ = 0.8 with a least time: the zero of a logarithm must come near enough to that."""
    series = simulation.values(np.random.default_rng(3), 300, 200, "floor", 0.8)
    ratios, _ = changes.likelihood_ratio(series)
    wrong = [ratio > changes.RATIOS[200][changes.CHANCES.index(0.05)] for ratio in ratios]
    assert np.mean(wrong) <= 0.075, "5 % and two standard deviations; zeros at 0.3 mean distances give 10 %"


def test_a_shock_that_dies_out_is_no_change() -> None:
    random = np.random.default_rng(9)
    skewed = np.exp(random.standard_normal((100, 60)))
    p = [simulation.found(one[10:]) for one in simulation.autoregressive(skewed, 0.8)]
    assert sum(one <= 0.05 for one in p) <= 13


def test_the_table_of_ratios_holds_for_the_dependence_it_is_made_for() -> None:
    series = simulation.autoregressive(np.random.default_rng(10).standard_normal((600, 20)), 0.8)
    ratios, _ = changes.likelihood_ratio(series)
    beyond = int((ratios > changes.RATIOS[20][changes.CHANCES.index(0.05)]).sum())
    assert 9 <= beyond <= 51  # 30 expected; outside with a chance of 0.01 %


@pytest.mark.slow
def test_ratios_are_those_of_statsmodels(monkeypatch: pytest.MonkeyPatch) -> None:
    """For one ρ, without transformations and the shock, against the likelihoods of an ARIMA(1, 0, 0)."""
    from statsmodels.tsa.arima.model import ARIMA

    monkeypatch.setattr(changes, "_RHO", (0.55,))
    monkeypatch.setattr(changes, "_BENT", ())
    monkeypatch.setattr(changes, "_TAIL", 1e9)
    values = simulation.autoregressive(np.random.default_rng(11).standard_normal((1, 80)), 0.55)
    ratio, part = changes.likelihood_ratio(values)
    first, end = (places[part[0]] for places in changes._parts(80))

    def twice(exog: np.ndarray | None) -> float:
        model = ARIMA(values[0], exog=exog, order=(1, 0, 0), trend="c")
        with model.fix_params({"ar.L1": 0.55}):
            return 2 * float(model.fit().llf)

    other = (np.arange(80) >= first) & (np.arange(80) < end)
    assert ratio[0] == pytest.approx(twice(other.astype(float)) - twice(None), abs=1e-3)


def test_steps_are_found_where_ruptures_puts_them() -> None:
    for seed in range(5):
        values = np.exp(0.02 * np.random.default_rng(seed).standard_normal(60)) * np.where(np.arange(60) < 25, 1, 1.2)
        (cut,) = changes.changes(values, 0.01)
        assert [cut.first, cut.end] == Binseg(model="l2").fit(np.log(values)).predict(n_bkps=1)


def test_a_level_that_returns_is_one_change_with_an_end() -> None:
    nights = [run(day, 1.5 if 7 <= day < 12 else 1.0) for day in range(18)]
    past = analysis.history(nights)
    assert {(change.place, change.back) for _, change in past.changed} == {(7, 12)}
    series, change = past.changed[0]
    assert 1.45 < change.ratio < 1.55
    assert [level[:2] for level in series.levels] == [(0, 6), (7, 11), (12, 17)]
    assert "from day07 (2026-03-08) until day11: +5" in analysis.told(series, change, past.chance)
    assert [shape.x0 for shape in timeline(past, [series]).layout.shapes] == [6.5, 11.5]


def test_weaker_candidates_are_shown_on_request_and_called_so() -> None:
    runs = [run(day) for day in range(14)]
    asked = analysis.history(runs, weaker=1.0)
    assert analysis.history(runs).candidates == []
    assert asked.changed == asked.possible == []
    assert asked.candidates
    series, change = asked.candidates[0]
    assert change.degree(asked.chance) == "candidate"
    assert "; candidate, p " in analysis.told(series, change, asked.chance)
    assert "may all be chance" in asked.sentence
    assert {shape.line.dash for shape in timeline(asked, [series]).layout.shapes} == {"dot"}


def test_the_figure_draws_each_series_with_its_changes(past: History) -> None:
    drawn = timeline(past, past.series[:2])
    assert [len(trace.x) for trace in drawn.data] == [14, 14]
    assert [shape.x0 for shape in drawn.layout.shapes] == [6.5]
    assert math.isclose(float(np.median(drawn.data[0].y[:7])), 1.0)


def night(folder: Path, day: int) -> Path:
    """A campaign of a night on disk."""
    one = stepped()[day] if day >= 0 else run(0)
    path = kept(folder / one.name, campaign(day, factor=1.5 if day >= 7 else 1.0))
    facts = json.loads((path / "campaign.json").read_text())
    (path / "campaign.json").write_text(json.dumps({**facts, "created": one.created, "host": dict(one.host)}))
    return path


@pytest.fixture(scope="module")
def nightly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of fourteen campaigns."""
    folder = tmp_path_factory.mktemp("nightly")
    for day in range(14):
        night(folder, day)
    return folder


@pytest.mark.slow
def test_the_notebook_reads_a_folder_of_campaigns(nightly: Path, tmp_path: Path) -> None:
    entry = Entry(NOTEBOOKS / "91-history.ipynb", {"past": str(nightly), "campaign": str(nightly / "day13")})
    done = suites.execute(entry, Campaign(nightly / "day13"), tmp_path)
    assert not done.error
    text = (tmp_path / "91-history.ipynb").read_text()
    assert "kernel: 6.1.0-30" in text
    assert "application/vnd.plotly.v1+json" in text


@pytest.mark.slow
def test_the_study_says_what_is_missing(nightly: Path) -> None:
    alone = Study(campaign=str(nightly / "day00"), measure=False)
    assert alone.figure() == alone.findings()
    assert list(alone.table()) == list(alone.table().columns)
    whole = Study(past=str(nightly), campaign=str(nightly / "day00"), measure=False, benchmark="sockets.*")
    assert whole.history.series == ()


@pytest.mark.slow
def test_the_report_of_several_campaigns_has_a_page_on_their_history(nightly: Path) -> None:
    read = [sources.read(nightly / f"day{day:02}") for day in range(14)]
    past = over_time.history_of(Content(read, {}))
    assert past is not None
    content = Content(read, {})
    text = over_time.section(content)
    assert "6.12.0" in text
    assert "{#tbl-over-time}" in text
    assert content.pictures["history"].file in text
    assert over_time.history_of(Content(read[:2], {})) is None
    assert over_time.section(Content(read[:2], {})) == ""


@pytest.mark.slow
def test_a_report_of_many_nights_is_rendered_with_its_history(nightly: Path) -> None:
    book, _ = stage(
        [sources.read(nightly / f"day{day:02}") for day in range(14)],
        style="report",
        engine="plain",
        folder=nightly / "staged",
    )
    check(book)
    front = (book.folder / "index.qmd").read_text()
    assert "## Over time" in front
    assert "kernel: 6.1.0-30" in front
    assert (book.folder / "figures/history.svg").read_text().startswith("<svg")
