"""Fitted parameters against those that made the times, and what is said of parameters that cannot be resolved."""

from __future__ import annotations

import dataclasses
import importlib.util
import math
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.optimize import curve_fit
from scipy.stats import t as student_t

from labkit.errors import DataError, SpecError
from labkit.figures import parts
from labkit.figures.parts import NOTHING
from labkit.judge import loggp as analysis
from labkit.models import loggp
from labkit.models.loggp import Times, fit
from labkit.models.loggp_engine import Stage, finish
from labkit.point.spec import Spec
from labkit.run.launch import installed
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.studies import loggp as loggp_study
from tests.made import samples

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "data" / "campaigns" / "examples"
SIZES = (1, 2, 4, 16, 64, 256, 1024, 4096, 16384)


def bench() -> ModuleType:
    """The script whose trials docs/models.md states."""
    spec = importlib.util.spec_from_file_location("bench_loggp", ROOT / "bench" / "loggp.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def coverage(trials: int, *case: float) -> tuple[Counter[str], Counter[str]]:
    """How often each parameter was resolved, and its interval contained the true value."""
    made, random = bench(), np.random.default_rng(1)
    resolved: Counter[str] = Counter()
    covered: Counter[str] = Counter()
    for _ in range(trials):
        for name, fate in made.trial(random, *case):
            resolved[name] += fate != "not resolved"
            covered[name] += fate == "covered"
    return resolved, covered


def test_intervals_contain_the_true_parameters() -> None:
    resolved, covered = coverage(40, 6, 0.01, 0.01, 0.01)
    assert len(resolved) == 18
    assert min(resolved.values()) >= 38
    assert sum(covered.values()) >= 0.93 * sum(resolved.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [(6, 0.01, 0.01, 0.0), (20, 0.05, 0.02, 0.0), (6, 0.01, 0.01, 0.01), (20, 0.01, 0.01, 0.01)]
)
def test_intervals_contain_the_true_parameters_95_percent_of_the_time(case: tuple[int, float, float, float]) -> None:
    resolved, covered = coverage(500, *case)
    for name, count in resolved.items():
        assert covered[name] >= count * (0.95 - 4 * math.sqrt(0.95 * 0.05 / count)), name


def test_what_lines_lie_off_in_all_launches_alike_widens_intervals() -> None:
    """Launches that agree to a ppm, around a line from which each size is off by about 1 %; against scipy's errors."""
    off = 1 + 0.01 * np.random.default_rng(7).standard_normal(len(SIZES))
    exact = times(5e-6, 1e-9, scatter=1e-6)
    seen = Times(SIZES, exact.seconds * off)
    found = parameters(time=seen)["alpha"]
    centre = np.median(seen.seconds, axis=0)
    _, covariance = curve_fit(lambda m, a, b: a + b * m, SIZES, centre, p0=(5e-6, 1e-9), sigma=centre)
    reach = student_t.ppf(0.975, len(SIZES) - 2) * math.sqrt(covariance[0, 0])
    assert found.high - found.value == pytest.approx(reach, rel=1e-3)
    assert found.low < 5e-6 < found.high


def test_reads_of_the_clock_inside_overheads_are_subtracted() -> None:
    def with_timer(one: Samples) -> Samples:
        return dataclasses.replace(one, meta={**one.meta, "timer_overhead_ns": 100.0})

    (plain,), (less,) = analysis.paths(campaign()), analysis.paths(map(with_timer, campaign()))
    before, after = (one.model.ranges[0].parameters for one in (plain, less))
    for name, by in {"o_s": -100e-9, "o_r": -100e-9, "L": 200e-9, "alpha": 0.0}.items():
        assert after[name].value - before[name].value == pytest.approx(by, abs=1e-12), name


def test_an_overhead_that_no_clock_resolves_has_no_value() -> None:
    made = [dataclasses.replace(one, meta={**one.meta, "timer_overhead_ns": 1e6}) for one in campaign()]
    (path,) = analysis.paths(made)
    assert path.model.ranges[0].parameters["o_s"].why


# ---- single fits -----------------------------------------------------------------------------------------------------


def times(fixed: float, per_byte: float, launches: int = 6, scatter: float = 0.001) -> Times:
    """Times on a line, a little longer in each launch."""
    factor = 1 + scatter * (np.arange(launches)[:, None] - (launches - 1) / 2)
    return Times(SIZES, (fixed + per_byte * np.array(SIZES)) * factor)


def parameters(**measured: Times) -> dict[str, loggp.Estimate]:
    (only,) = fit(measured, [(SIZES[0], SIZES[-1])]).ranges
    return dict(only.parameters)


def test_parameters_of_exact_lines() -> None:
    all_of_it = {
        "time": times(5e-6, 1.2e-9),
        "send": times(1e-6, 1e-10),
        "receive": times(1.5e-6, 1e-10),
        "gap": times(2e-6, 1e-9),
    }
    found = parameters(**all_of_it)
    assert all(one.resolved and one.low < one.value < one.high for one in found.values())
    expected = {
        "L": 2.5e-6 + 1e-9,
        "o_s": 1e-6,
        "o_r": 1.5e-6,
        "g": 2e-6 + 1e-9,
        "G": 1e-9,
        "alpha": 5e-6,
        "beta": 1.2e-9,
    }
    assert {name: found[name].value for name in expected} == pytest.approx(expected, rel=1e-6)


def test_a_negative_parameter_is_not_resolved_and_says_why() -> None:
    found = parameters(time=times(3e-6, 1e-9), send=times(2e-6, 1e-10), receive=times(2e-6, 1e-10))
    assert not found["L"].resolved
    assert math.isnan(found["L"].value)
    assert math.isnan(found["L"].high)
    assert "overlap" in found["L"].why
    assert found["g"].why == "mpi.bandwidth was not measured"


def test_a_slope_that_launches_do_not_agree_on_is_not_resolved_but_bounded() -> None:
    slopes = np.array([-2e-12, 1e-12, 2e-12, 3e-12, 4e-12, 5e-12])
    noisy = Times(SIZES, 1e-6 + slopes[:, None] * np.array(SIZES))
    beta = parameters(time=noisy)["beta"]
    assert not beta.resolved
    assert beta.high == pytest.approx(5e-12, rel=0.1)


def test_a_poor_line_has_no_parameters() -> None:
    step = np.where(np.array(SIZES) > 100, 50e-6, 1e-6)
    found = parameters(time=Times(SIZES, np.tile(step, (6, 1))))
    assert found["alpha"].why.startswith("a line behind it lies more than 20 % off its times")


def test_one_launch_has_values_without_intervals() -> None:
    alpha = parameters(time=times(5e-6, 1e-9, launches=1))["alpha"]
    assert alpha.resolved
    assert math.isnan(alpha.low)


@pytest.mark.parametrize("name", ["L", "o_s", "o_r", "g", "G", "O_s", "O_r", "alpha", "beta"])
def test_no_parameter_is_ever_negative(name: str) -> None:
    random = np.random.default_rng(3)
    for _ in range(30):
        made = {
            one: Times(SIZES, np.exp(random.normal(-13, random.choice([0.05, 1.0]), (3, len(SIZES)))))
            for one in ("time", "gap", "send", "receive")
        }
        one = parameters(**made)[name]
        assert one.value > 0 if one.resolved else math.isnan(one.value)
        assert not one.low < 0
        assert not one.high < 0
        fit(made, [(1, 16384)]).costs(0)  # never refused


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: fit({}, [(1, 9)]),
        lambda: fit({"time": times(1e-6, 0)}, []),
        lambda: fit({"time": times(1e-6, 0), "gap": times(1e-6, 0, launches=3)}, [(1, 16384)]),
        lambda: fit({"time": Times((1, 2), np.array([[0.0, 1.0]]))}, [(1, 2)]),
        lambda: fit({"time": times(1e-6, 0)}, [(1, 1)]),
    ],
)
def test_times_that_cannot_be_fitted_are_refused(wrong: object) -> None:
    with pytest.raises(DataError):
        wrong()  # type: ignore[operator]


def test_costs_of_a_fit_give_back_the_ping_pong_and_the_saturation() -> None:
    made = {"time": times(5e-6, 1e-9), "gap": times(2e-6, 1e-9), "both": times(1e-6, 0)}
    costs = fit(made, [(1, 256), (1024, 16384)]).costs(2)
    for k, size in enumerate(SIZES):
        assert finish([Stage.of(0, 1, size)], 2, costs)[1] == pytest.approx(made["time"].seconds[2, k])
    window = finish([Stage.of([0] * 64, [1] * 64, 4096)], 2, costs)[1]
    assert window == pytest.approx(made["time"].seconds[2, 7] + 63 * made["gap"].seconds[2, 7])


# ---- from samples ----------------------------------------------------------------------------------------------------


def point(benchmark: str, size: int, seconds: float, launch: int, **phases: float) -> Samples:
    """One launch of a point whose iterations all take as long."""
    from labkit import benchmarks

    spec = benchmarks.resolve(Spec(benchmark=benchmark, size=size, ranks=2, transport="shm"))
    extras = {name: np.full((1, 30), round(value * 1e9), np.int64) for name, value in phases.items()}
    times_ns = np.full((1, 30), round(seconds * 1e9), np.int64)
    return samples(spec, launch=launch, time_ns=times_ns, ranks=(0,), extras=extras)


def campaign(launches: int = 6) -> list[Samples]:
    """Samples of a path with known parameters."""
    made = []
    for launch in range(launches):
        k = 1 + 0.002 * launch
        for size in (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536):
            time, gap = 5e-6 + 1e-9 * size, 2e-6 + 1e-9 * size
            made.append(point("mpi.latency", size, 2 * k * time, launch))
            made.append(point("mpi.bandwidth", size, k * (time + 63 * gap + 5e-6 + 4e-9), launch))
            made.append(
                point(
                    "mpi.delayed_overhead", size, k * 3e-6, launch, send_ns=k * 1e-6, receive_ns=k * 2e-6, delay_ns=3e-5
                )
            )
    return made


def test_parameters_of_samples() -> None:
    (path,) = analysis.paths(campaign())
    (only,) = path.model.ranges
    values = {name: only.parameters[name].value for name in ("L", "o_s", "o_r", "g", "G")}
    expected = {"L": 2e-6, "o_s": 1e-6, "o_r": 2e-6, "g": 2e-6, "G": 1e-9}
    assert values == pytest.approx(expected, rel=0.01)
    assert path.launches == tuple(range(6))
    assert not path.combined
    rows = analysis.table([path])
    assert set(rows["parameter"]) == set(loggp.PARAMETERS)
    resolved = rows[rows["why"] == ""]
    assert (resolved["sizes"] >= 2).all()  # no value without its fit
    assert resolved["deviation"].notna().all()


def test_ranges_end_where_an_overhead_changes_too() -> None:
    def slower(one: Samples) -> Samples:
        more = 4e-6 if one.spec.benchmark == "mpi.delayed_overhead" and one.spec.size > 64 else 0.0
        phases = {name: float(one.extras[name][0, 0]) * 1e-9 for name in one.extras}
        if more:
            phases["send_ns"] += more
        return point(one.spec.benchmark, one.spec.size, float(one.time_ns[0, 0]) * 1e-9, one.launch, **phases)

    (path,) = analysis.paths(map(slower, campaign()))
    assert [(one.first, one.last) for one in path.model.ranges] == [(1, 64), (256, 65536)]
    first, second = (one.parameters["o_s"].value for one in path.model.ranges)
    assert second - first == pytest.approx(4e-6, rel=0.02)


def test_launches_that_a_quantity_lacks_are_left_out() -> None:
    made = [one for one in campaign() if one.spec.benchmark != "mpi.bandwidth" or one.launch != 3]
    (path,) = analysis.paths(made)
    assert path.launches == (0, 1, 2, 4, 5)


def test_predictions_are_modelled_and_follow_the_ping_pong() -> None:
    (path,) = analysis.paths(campaign())
    rows = analysis.predicted(path, [("mpi.bcast", 2, 4096), ("mpi.bcast", 8, 4096), ("mpi.scan", 2, 8)])
    assert set(rows["origin"]) == {"modelled"}
    assert set(rows["benchmark"]) == {"mpi.bcast"}
    binomial = rows[rows["algorithm"] == "binomial"].set_index("ranks")["latency_us_p50"]
    assert binomial[2] == pytest.approx(5 + 4.096, rel=0.01)
    assert binomial[8] == pytest.approx(3 * (5 + 4.096), rel=0.01)


def test_the_example_campaign_has_hockney_but_no_overheads() -> None:
    every = analysis.paths(one for name in analysis.SOURCES for one in Campaign(EXAMPLES / "two-cores").samples(name))
    assert {path.transport for path in every} == {"tcp", "shm", "auto"}
    rows = analysis.table(every)
    assert (rows.loc[rows["parameter"] == "L", "why"] != "").all()
    assert not (rows[["value", "low", "high"]] < 0).any().any()


# ---- the notebook's study --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> loggp_study.Study:
    """The study over a campaign with known parameters, and a broadcast that takes as long as a message."""
    made = Campaign(tmp_path_factory.mktemp("loggp") / "c")
    for one in campaign():
        made.save(one, f"{one.spec.size:016x}")
    for size in (16, 4096, 65536):
        for launch in range(6):
            made.save(point("mpi.bcast", size, 5e-6 + 1e-9 * size, launch), f"{size:016x}")
    return loggp_study.Study(campaign=str(made.path), measure=False, transports="shm", predicted_ranks="2,8")


def test_the_study_states_parameters_with_their_fit(study: loggp_study.Study) -> None:
    table = study.table("L", "o_s", "o_r", "g", "G")
    assert list(table["sizes"]) == ["1 B to 64 KiB"]
    assert table["L (µs)"].iloc[0].startswith("2.0")
    assert table["deviation"].iloc[0].endswith("%")
    assert set(study.quality()["points"]) == {9}
    assert "L = 2.0" in str(study.findings())
    assert "O_s, O_r of 1 B to 64 KiB over shm" in str(
        study.unresolved()
    )  # both do not grow with the size in these samples


def test_the_study_draws_predictions_beside_measurements_and_keeps_them_out_of_records(
    study: loggp_study.Study,
) -> None:
    figure, wide, fit_figure = drawn(study)
    names = [trace.name for trace in figure.data]
    assert names[0] == "measured"
    assert "binomial (modelled)" in names
    assert set(study.records["origin"]) == {"measured"}
    row = study.comparison().iloc[0]
    assert row["collective"] == "bcast"
    assert float(row["predicted / measured"]) == pytest.approx(1, abs=0.01)
    assert (row["deviates least"], row["may be as near"]) == ("binomial", "linear")  # one message either way
    assert "bcast on 2 ranks over shm: no algorithm is shown to be the nearest" in str(study.findings())
    assert wide.data[0].name == "measured"
    assert len(fit_figure.data) == 8


def drawn(study: loggp_study.Study) -> list[Any]:
    """The study's figures."""
    return [study.collective_figure("bcast", "shm"), study.ranks_figure("bcast", "shm"), study.fit_figure("shm")]


def test_the_study_leaves_out_what_is_not_there(tmp_path: Path) -> None:
    empty = loggp_study.Study(campaign=str(Campaign(tmp_path / "c").path), measure=False)
    assert empty.findings() == empty.fit_figure("shm") == NOTHING
    assert empty.collective_figure("bcast", "shm") == empty.ranks_figure("bcast", "shm") == NOTHING
    assert empty.table("L").empty
    assert empty.comparison().empty


def test_the_study_predicts_nothing_without_a_resolved_parameter(tmp_path: Path) -> None:
    """Times that no line follows: the collective has no prediction, and the notebook says why."""
    made = Campaign(tmp_path / "c")
    for launch in range(6):
        for number, size in enumerate((1, 16, 256, 4096, 65536)):
            time = 50e-6 if number % 2 else 1e-6
            made.save(point("mpi.latency", size, 2 * time, launch), f"{size:016x}")
            made.save(point("mpi.bcast", size, time, launch), f"{size:016x}")
    study = loggp_study.Study(campaign=str(made.path), measure=False, transports="shm", predicted_ranks="2,8")
    assert not any(path.resolved for path in study.paths)
    assert study.predicted.empty
    assert study.comparison().empty
    said = "Collectives over shm are not predicted, because no parameter of this path is resolved."
    assert said in str(study.findings())
    assert study.collective_figure("bcast", "shm") == study.ranks_figure("bcast", "shm") == parts.Omitted(said)


@pytest.mark.slow
def test_forced_algorithms_stand_beside_their_predictions_alone(tmp_path: Path) -> None:
    """A broadcast by each of two algorithms: each is compared with its own prediction, and none is the library's."""
    made = Campaign(tmp_path / "c")
    for one in campaign():
        made.save(one, f"{one.spec.size:016x}")
    asked = {"transports": "shm", "collectives": "bcast", "collective_sizes": "4Ki", "algorithms": True}
    planned = loggp_study.Study(campaign=str(made.path), launcher="openmpi", **asked)
    ours = [one for one in planned.specs() if one.benchmark == "mpi.bcast"]
    assert len(ours) == 4  # the library's choice, and three
    for spec in ours:
        number = dict(spec.environment).get("OMPI_MCA_coll_tuned_bcast_algorithm", "")
        for launch in range(6):
            one = point("mpi.bcast", 4096, 2e-5 if number == "1" else 1e-5, launch)
            environment = one.spec.replace(environment=dict(spec.environment))
            made.save(dataclasses.replace(one, spec=environment), f"b{int(number or 0):015x}")
    study = loggp_study.Study(campaign=str(made.path), measure=False, transports="shm")
    table = study.algorithms_table().set_index("algorithm")
    assert set(table.index) == {"binomial", "linear", "scatter and ring"}
    assert table["measured (µs)"]["linear"].startswith("20")
    assert table["measured (µs)"]["binomial"].startswith("10")
    assert len(study.measured()) == 1
    names = [trace.name for trace in study.algorithms_figure("bcast", "shm").data if trace.showlegend]
    assert {"binomial", "binomial (modelled)", "linear", "linear (modelled)"} <= set(names), names
    assert study.algorithms_figure("allreduce", "shm") == NOTHING


@pytest.mark.skipif("mpich" not in installed(), reason="needs MPICH")
def test_algorithms_of_another_library_cannot_be_forced(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="algorithms=True forces algorithms of Open MPI"):
        loggp_study.Study(campaign=str(tmp_path / "c"), launcher="mpich", algorithms=True, collectives="bcast")


def test_the_study_plans_every_source_at_every_size(tmp_path: Path) -> None:
    planned = loggp_study.Study(campaign=str(tmp_path / "c"), sizes="0,1:64", transports="shm", collectives="allreduce")
    names = Counter(one.spec.benchmark for one in planned.points if one.launch == 0)
    assert names["mpi.latency"] == names["mpi.bandwidth"] == names["mpi.delayed_overhead"] == 7
    assert names["mpi.reduce_local"] == 1
    with pytest.raises(SpecError, match="no known algorithms"):
        loggp_study.Study(campaign=str(tmp_path / "c"), collectives="scan")
