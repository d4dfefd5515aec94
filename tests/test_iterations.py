"""What iterations and sizes show, from samples and tables whose properties are known."""

from __future__ import annotations

import dataclasses
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labkit import benchmarks, figures, studies
from labkit.apps.cli import main
from labkit.apps.show import answered
from labkit.errors import DataError
from labkit.io import project
from labkit.judge import answer, checking, detours, iterations, rules
from labkit.judge.finding import Finding
from labkit.judge.rule import OBSERVED
from labkit.judge.sentences import sentence, whole
from labkit.judge.view import View
from labkit.models.bounds import Stated
from labkit.point.spec import Spec
from labkit.read import columnar
from labkit.read.columnar import Launches, of_samples
from labkit.read.records import rerun
from labkit.stats import periodic
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.studies import is_this_good
from tests.made import samples, values

EXAMPLES = project.SHIPPED / "data" / "campaigns" / "examples"
EXAMPLE = EXAMPLES / "two-cores"
QUANTUM = 100_000  # ns


def launch(times: Any, number: int = 0, name: str = "mpi.latency", **fields: Any) -> Samples:
    """A launch with given times in ns."""
    more = fields.pop("spec", {})
    spec = benchmarks.resolve(Spec(benchmark=name, size=8, ranks=1 if name.startswith("micro") else 2, **more))
    meta = {"fingerprint": name, "library": "x", "engine": "c"} | fields.pop("meta", {})
    return samples(spec, np.asarray(times), launch=number, meta=meta, **fields)


def found(launches: Launches) -> tuple[Finding, ...]:
    """What launches show beside their values."""
    view = View("c", launches.records, launches.summary, launches)
    return checking.check(view, [rules.every()["two-modes"], *rules.about(*OBSERVED)])


def observed(*launches: Samples) -> list[Finding]:
    """What is observed in launches of a point."""
    return [*found(of_samples(launches))]


def quiet(seed: int, count: int = 1000, middle: float = 2000.0) -> Any:
    """Times that scatter by 2 % around one value."""
    return np.random.default_rng(seed).normal(middle, middle * 0.02, count)


def noisy(extra: Any, seed: int = 1, **fields: Any) -> Samples:
    """A launch of micro.noise with detours of so many ns."""
    times = np.random.default_rng(seed).normal(QUANTUM, 30, len(extra)) + extra
    return launch(times, name="micro.noise", extras={"gap_ns": np.full((1, len(extra)), 30)}, **fields)


def test_nothing_is_observed_in_quiet_times() -> None:
    assert observed(*(launch(quiet(number), number) for number in range(3))) == []


def test_few_quiet_campaigns_have_a_false_observation() -> None:
    """Of 300 launches without any effect, at a chance of 0.001 a rule, three hold one at most."""
    together = of_samples([launch(quiet(number), number) for number in range(300)])
    shown = iterations.of(together)
    assert len({*shown.starts, *shown.drifts, *shown.modes}) <= 3


@pytest.mark.parametrize(
    ("code", "change", "said"),
    [
        ("short-warmup", lambda t: np.where(np.arange(1000) < 50, t * 1.5, t), "the first 50 iterations take 1.5"),
        ("drift-in-launch", lambda t: t * np.linspace(1, 1.1, 1000), "the median time changes by +8"),
        (
            "two-modes",
            lambda t: np.where(np.arange(1000) % 3 == 0, t * 2, t),
            "2 times the 2 µs of the others",
        ),
    ],
)
def test_an_effect_is_observed_if_most_launches_show_it(code: str, change: Any, said: str) -> None:
    shown = [launch(change(quiet(number)), number) for number in range(3)]
    (one,) = observed(*shown)
    assert one.code == code
    assert (one.kind, one.level) == (rules.every()[code].kind, rules.every()[code].level)
    assert said in sentence(one)
    assert "so in 3 of 3 launches" in whole(one)
    assert observed(shown[0], *(launch(quiet(number), number) for number in (1, 2))) == []


@pytest.mark.parametrize(("slow", "said"), [(200, "the first 200 iterations take 3"), (700, "the first 700")])
def test_a_slow_start_may_last_for_most_of_the_iterations(slow: int, said: str) -> None:
    shown = [launch(np.where(np.arange(1000) < slow, 3.0, 1.0) * quiet(number), number) for number in range(3)]
    assert said in " ".join(sentence(one) for one in observed(*shown) if one.code == "short-warmup")
    back = np.where((np.arange(1000) < 700) | (np.arange(1000) > 900), 3.0, 1.0)
    turns = [launch(back * quiet(number), number) for number in range(3)]
    assert "short-warmup" not in {one.code for one in observed(*turns)}, "what comes back is not a warm-up"


def test_explain_prints_what_is_observed_with_its_evidence() -> None:
    slow = np.where(np.arange(1000) < 50, 1.5, 1.0)
    together = of_samples([launch(quiet(number) * slow, number) for number in range(2)])
    made = answer.answer(View("c", together.records, together.summary, together), ["short-warmup"])
    lines = answered.table(made, everything=True).splitlines()
    assert "  doubtful  mpi.latency, 8 B: the first 50 iterations take 1.5" in "\n".join(lines)
    assert any(line.strip().startswith("evidence: 50 of the first 50 iterations take longer") for line in lines)
    assert f"{'':12}{made.findings[0].command}" in lines


def test_launches_of_a_campaign_are_judged_together_as_each_alone(tmp_path: Path) -> None:
    """Launches that are read as one batch, some of them with each effect, in points of several sizes."""
    count = np.arange(400)
    effects = [
        np.ones(400),
        np.where(count < 20, 1.5, 1.0),
        np.linspace(1, 1.2, 400),
        np.where(count % 3 == 0, 2.0, 1.0),
    ]
    campaign, points = Campaign(tmp_path / "c"), []
    for place, effect in enumerate(effects * 3):
        for number in range(3):
            times = quiet(10 * place + number, 400, 2000.0 + 50 * place) * effect
            one = launch(times, number, meta={"fingerprint": f"{place:016x}"})
            points.append(dataclasses.replace(one, spec=one.spec.replace(size=8 + place)))
            campaign.save(points[-1], f"{place:016x}")
    campaign.compact()
    together = columnar.read_campaigns(campaign)
    assert max(len(times.rows) for times in together.times()) > 1
    seen = found(together)
    assert [one.code for one in seen].count("drift-in-launch") == 3
    assert {one.code for one in seen} >= {"short-warmup", "drift-in-launch", "two-modes"}
    alone = of_samples(points)
    assert [one.as_dict() for one in seen] == [one.as_dict() for one in found(alone)]
    stated = Stated(link="1gbit")
    judged = answer.of_paths(together, together.summary, stated)
    assert len(judged) == 1
    assert repr(judged) == repr(answer.of_paths(alone, together.summary, stated))


def test_times_below_the_step_of_the_clock_show_no_warm_up() -> None:
    """Of most iterations the time is 0, so the first have no ratio to them."""
    times = np.where(np.arange(1000) < 50, 100, 0)
    assert observed(*(launch(times, number) for number in range(2))) == []


@pytest.mark.parametrize(
    ("rate", "said"), [(250, "a kernel with 250 Hz"), (1000, "a kernel with 1,000 Hz"), (77, "no rate of a Linux tick")]
)
def test_the_period_of_detours_is_recovered(rate: int, said: str) -> None:
    extra, now = [], 0
    for _ in range(6000):  # a tick that falls into a quantum makes it longer
        due = (now + QUANTUM) * rate // 10**9 != now * rate // 10**9
        extra.append(3000 * due)
        now += QUANTUM + 30 + extra[-1]
    (one,) = observed(noisy(np.array(extra)))
    assert said in whole(one)
    assert re.search(r"time, (2\.99\d|3|3\.0\d*) µs each", sentence(one))
    seen = detours.of(noisy(np.array(extra)))
    tick = periodic.period(seen.starts, seen.detour, seen.quantum)
    assert tick is not None
    assert tick.frequency == pytest.approx(rate, abs=tick.resolution)


def test_launches_that_show_a_tick_and_multiples_of_it_are_one_observation() -> None:
    """The spectrum of short pulses has equal peaks at all multiples of their rate."""

    def ticking(rate: int, number: int) -> Samples:
        extra, now = [], 0
        for _ in range(3000):
            extra.append(3000 * ((now + QUANTUM) * rate // 10**9 != now * rate // 10**9))
            now += QUANTUM + 30 + extra[-1]
        return dataclasses.replace(noisy(np.array(extra), seed=number), launch=number)

    quiet_ = dataclasses.replace(noisy(np.zeros(3000), seed=9), launch=4)
    (one,) = observed(ticking(250, 0), ticking(750, 1), ticking(250, 2), ticking(1000, 3), quiet_)
    assert re.search(r"they come at (249\.\d|250(\.\d)?) Hz", sentence(one))
    assert "a kernel with 250 Hz" in sentence(one)
    assert "so in 4 of 5 launches" in whole(one)
    assert re.search(r"time, (2\.99\d|3(\.0\d*)?) µs \[[\d.]+ to [\d.]+\] each", sentence(one)), "over launches"
    (few,) = observed(ticking(250, 0), *(dataclasses.replace(quiet_, launch=number) for number in (1, 2)))
    assert "at no fixed rate" in sentence(few)
    assert "so in 1 of 3 launches" in whole(few)


def test_detours_at_random_have_no_period() -> None:
    chance = np.random.default_rng(1)
    periods = [
        periodic.period(np.arange(2000) * 1e-4, chance.random(2000) < 0.05, 1e-4) is not None for _ in range(200)
    ]
    assert sum(periods) <= 2
    (one,) = observed(noisy(np.where(chance.random(2000) < 0.05, 3000, 0)))
    assert "at no fixed rate" in sentence(one)


@pytest.mark.parametrize(
    ("switches", "virtual", "said"),
    [
        (5, "kvm", "Linux gave the core to other programs (5 switches)"),
        (0, "kvm", "the hypervisor ran another guest"),
        (0, "none", "firmware or an interrupt held the core"),
    ],
)
def test_what_ran_during_long_detours_is_said_by_the_counters(switches: int, virtual: str, said: str) -> None:
    extra = np.where(np.arange(1000) % 300 == 7, 4_000_000, 0)
    (one,) = observed(noisy(extra, meta={"involuntary_switches": switches}, host={"virtualisation": virtual}))
    assert "4 detours of more than 1 ms take 16 ms together" in whole(one)
    assert said in whole(one)


def test_launches_of_a_campaign_tell_of_their_own_counters(tmp_path: Path) -> None:
    extra = np.zeros(1000)
    extra[::200] = 2_000_000
    campaign = Campaign(tmp_path / "c")
    for number, switches in enumerate((5, 7)):
        fingerprint = f"{number:016x}"
        meta = {"involuntary_switches": switches, "fingerprint": fingerprint}
        campaign.save(noisy(extra, seed=number, meta=meta), fingerprint)
    campaign.compact()
    told = [whole(one) for one in found(columnar.read_campaigns(campaign)) if one.code == "noise"]
    assert sorted(count for text in told for count in ("5 switches", "7 switches") if count in text) == [
        "5 switches",
        "7 switches",
    ]


def test_a_switch_point_of_a_protocol_is_found() -> None:
    sizes = [2**k for k in range(3, 18)]
    points = [
        samples(
            Spec(benchmark="mpi.latency", size=size),
            reported=values("latency_us", mean=1.0 + size * 1e-4 + (3.0 if size > 4096 else 0.0)),
            meta={"fingerprint": f"{size}", "library": "x", "engine": "c"},
        )
        for size in sizes
    ]
    (one,) = observed(*points)
    assert (one.code, one.form, one.subject.benchmark) == ("switch-point", "jump", "mpi.latency")
    assert len(one.subject.points) == len(sizes)
    assert "between 4 KiB and 8 KiB the time jumps" in sentence(one)


@pytest.mark.slow
def test_every_command_that_is_proposed_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    samples = list(Campaign(EXAMPLES / "virtual-cluster").samples()) + list(Campaign(EXAMPLES / "two-cores").samples())
    seen = observed(*samples)
    commands = {one.command for one in seen if one.command.startswith("labkit measure")}
    assert any("--testbed virtual-cluster" in one for one in commands)
    assert not any("--bind core" in one for one in commands)  # all ranks that could be bound were
    for command in commands:
        assert main([*shlex.split(command)[1:], "--dry-run"]) == 0, command
    capsys.readouterr()


def test_a_command_repeats_the_point_with_its_setting() -> None:
    spec = Spec(benchmark="mpi.latency", size=8, transport="rc", device="mlx5_0", environment={"UCX_TLS": "rc,self"})
    words = "-m 8 --transport rc --device mlx5_0 --factor 'env.UCX_TLS=rc,self;' -x 5"
    assert rerun.command(spec, "-x", "5") == f"labkit measure mpi.latency {words}"
    assert rerun.command(Spec(benchmark="mpi.barrier", ranks=4)) == "labkit measure mpi.barrier --ranks 4"
    rotating = benchmarks.resolve(Spec(benchmark="mpi.reduce", launcher="mpich", options={"rotate": True}))
    assert rerun.command(rotating) == "labkit measure mpi.reduce -m 8 --ranks 2 --launcher mpich -o rotate=true"


LIBRARIES = {"intelmpi": "Intel MPI 2021.14", "mpich": "MPICH 4.0.2", "openmpi": "Open MPI 4.1.4"}


def by_three_libraries(**meta: Any) -> list[Samples]:
    """Two launches of a latency of two modes, round trips of 2 and 4 µs, by each of three libraries."""
    alternating = np.where(np.arange(1000) % 3 == 0, 4000.0, 2000.0)
    return [
        launch(
            quiet(number) / 2000 * alternating,
            number,
            meta={"fingerprint": launcher, "library": library} | meta,
            spec={"launcher": launcher, "transport": "shm"},
        )
        for launcher, library in LIBRARIES.items()
        for number in range(2)
    ]


def test_each_observation_names_library_and_size() -> None:
    seen = observed(*by_three_libraries())
    assert len(seen) == len(LIBRARIES)
    for launcher, library in LIBRARIES.items():
        (one,) = [one for one in seen if f"library={library}" in one.subject.setting]
        assert (one.subject.benchmark, one.subject.setting.partition(",")[0]) == ("mpi.latency", "8 B")
        assert re.search(
            r"3[34] % of the iterations take about (4|3\.9\d*|4\.0\d+) µs, 2 times the 2(\.0\d+)? µs of the others",
            sentence(one),
        )
        assert f"--launcher {launcher} " in one.command
        assert "so in 2 of 2 launches" in whole(one)


@pytest.mark.parametrize(
    ("affinity", "launches", "host", "proposed"),
    [
        ([[0, 1], [0, 1]], 2, {"cpus_usable": 2}, "--bind core"),
        ([[0], [1]], 2, {"cpus_usable": 2}, "--launches 6"),  # bound already
        ([[0, 4], [1, 5]], 2, {"cpus_usable": 8, "cpu_threads": 8, "cpu_cores": 4}, "--launches 6"),  # to two threads
        ([[0, 1], [0, 1]], 2, {"cpus_usable": 1}, "--launches 6"),  # no core for each
        ([[0], [1]], 6, {"cpus_usable": 2}, ""),
    ],
)
def test_nothing_is_proposed_that_was_in_effect(affinity: Any, launches: int, host: Any, proposed: str) -> None:
    times = np.where(np.arange(1000) % 3 == 0, 4000.0, 2000.0)
    meta = {"rank_affinity": affinity}
    seen = observed(*(launch(quiet(n) / 2000 * times, n, meta=meta, host=host) for n in range(launches)))
    assert [one.code for one in seen] == ["two-modes"]
    assert proposed in seen[0].command
    assert bool(seen[0].command) == bool(proposed)


def test_more_warm_up_than_there_was_is_proposed() -> None:
    slow = np.where(np.arange(1000) < 50, 1.5, 1.0)
    (one,) = observed(*(launch(quiet(n) * slow, n, meta={"warmup": 2000}) for n in range(2)))
    assert one.command.endswith("-x 20000")


def test_a_pinned_governor_is_not_suspected() -> None:
    rising = quiet(1) * np.linspace(1, 1.1, 1000)
    said = [sentence(observed(launch(rising, host={"governor": name}))[0]) for name in ("powersave", "performance")]
    assert ["governor" in one for one in said] == [True, False]


def test_the_notebook_reads_what_a_campaign_holds() -> None:
    study = studies.get("is_this_good")(measure=False, campaign=str(EXAMPLE), request_sizes="1")
    assert "the samples" not in str(study.findings())
    assert len(study.bandwidth_figure().data) >= 2  # type: ignore[attr-defined]
    assert study.noise_figure().plot.data  # type: ignore[attr-defined]
    assert "slow-launch" not in str(study.observations()), "a report lists odd results already"  # type: ignore[attr-defined]


def test_options_in_the_text_of_a_notebook_are_code(tmp_path: Path) -> None:
    """Else two dashes become one."""
    campaign = Campaign(tmp_path / "tcp")
    for one in Campaign(EXAMPLE).samples():
        if one.spec.benchmark.startswith("micro.") or (one.spec.benchmark, one.spec.transport) == (
            "mpi.latency",
            "tcp",
        ):
            campaign.save(one, one.meta["fingerprint"])
    study = studies.get("is_this_good")(measure=False, campaign=str(campaign.path), request_sizes="1")
    assert "leave `--transport` out" in str(study.checks())  # type: ignore[attr-defined]


def test_the_text_on_noise_is_about_the_launches_of_its_figure() -> None:
    study = studies.get("is_this_good")(measure=False, campaign=str(EXAMPLES / "sixteen-hosts"))
    assert isinstance(study, is_this_good.Study)
    periodic_, few = str(study.noise()).splitlines()
    assert "1 detour in 646 pieces" in few
    assert "no spectrum, which needs 8 detours" in few
    assert "they come back at 999 Hz (power 43.1; random ones reach 13.9)" in periodic_
    assert [trace.name for trace in study.noise_figure().data] == ["launch 1", "limit of random events"]  # type: ignore[union-attr]
    assert "fixed rate" not in str(study.observations())


def test_a_spectrum_shows_its_limit() -> None:
    seen = detours.of(noisy(np.where(np.arange(4000) % 40 == 0, 3000, 0)))
    assert seen.spectrum is not None
    figure = figures.spectrum({"launch 0": seen.spectrum})
    assert [trace.name for trace in figure.data] == ["launch 0", "limit of random events"]
    assert max(figure.data[0].y) > figure.data[1].y[0]
    with pytest.raises(DataError, match=r"micro\.noise"):
        figures.spectrum({})
