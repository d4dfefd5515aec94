"""What the inspector observes, from samples and tables whose properties are known."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import numpy as np
import pytest

from labkit import benchmarks, figures, project, records, studies
from labkit.analysis import inspector
from labkit.analysis.inspector import Observation
from labkit.campaign import Campaign
from labkit.cli import main
from labkit.errors import DataError
from labkit.records import again
from labkit.samples import Samples
from labkit.spec import Spec
from labkit.stats import periodic
from tests.made import samples, values

EXAMPLES = project.SHIPPED / "data" / "campaigns" / "examples"
EXAMPLE = EXAMPLES / "two-cores"
QUANTUM = 100_000  # ns


def launch(times: Any, number: int = 0, name: str = "mpi.latency", **fields: Any) -> Samples:
    """A launch with given times in ns."""
    spec = benchmarks.resolve(Spec(benchmark=name, size=8, ranks=1 if name.startswith("micro") else 2))
    meta = {"fingerprint": name, "library": "x", "engine": "c"} | fields.pop("meta", {})
    return samples(spec, np.asarray(times), launch=number, meta=meta, **fields)


def observed(*launches: Samples) -> list[Observation]:
    """What is observed in launches of a point."""
    return inspector.inspect(launches, records.summary(records.table(launches)))


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
    assert sum(bool([*inspector.of_launch(launch(quiet(number)))]) for number in range(300)) <= 3


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("warm-up", lambda t: np.where(np.arange(1000) < 50, t * 1.5, t), "The first 50 iterations take 1.5"),
        ("drift", lambda t: t * np.linspace(1, 1.1, 1000), "the median changes by +8"),
        ("two modes", lambda t: np.where(np.arange(1000) % 3 == 0, t * 2, t), "two times, 2 µs and 3.98"),
    ],
)
def test_an_effect_is_observed_if_most_launches_show_it(kind: str, change: Any, said: str) -> None:
    shown = [launch(change(quiet(number)), number) for number in range(3)]
    (one,) = observed(*shown)
    assert one.kind == kind
    assert said in one.sentence
    assert "so in 3 of 3 launches" in one.evidence
    assert observed(shown[0], *(launch(quiet(number), number) for number in (1, 2))) == []


@pytest.mark.parametrize(("rate", "said"), [(250, "HZ=250"), (1000, "HZ=1000"), (77, "no rate of a Linux tick")])
def test_the_period_of_detours_is_recovered(rate: int, said: str) -> None:
    extra, now = [], 0
    for _ in range(6000):  # a tick that falls into a quantum makes it longer
        due = (now + QUANTUM) * rate // 10**9 != now * rate // 10**9
        extra.append(3000 * due)
        now += QUANTUM + 30 + extra[-1]
    (one,) = observed(noisy(np.array(extra)))
    assert said in one.sentence
    assert re.search(r"time, (2\.99\d|3|3\.0\d*) µs each", one.sentence)
    seen = inspector.detours(noisy(np.array(extra)))
    tick = periodic.period(seen.starts, seen.detour, seen.quantum)
    assert tick is not None
    assert tick.frequency == pytest.approx(rate, abs=tick.resolution)


def test_detours_at_random_have_no_period() -> None:
    chance = np.random.default_rng(1)
    periods = [
        periodic.period(np.arange(2000) * 1e-4, chance.random(2000) < 0.05, 1e-4) is not None for _ in range(200)
    ]
    assert sum(periods) <= 2
    (one,) = observed(noisy(np.where(chance.random(2000) < 0.05, 3000, 0)))
    assert "at no fixed rate" in one.sentence


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
    assert "4 of more than 1 ms take 16 ms together" in one.sentence
    assert said in one.sentence


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
    assert (one.kind, one.subject) == ("switch point", "mpi.latency")
    assert "Between 4 KiB and 8 KiB" in one.sentence


def test_explain_prints_what_was_observed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(EXAMPLE), "--benchmark", "mpi.reduce", "--format", "json"]) == 0
    observations = json.loads(capsys.readouterr().out)["observations"]
    assert {one["kind"] for one in observations} >= {"two modes"}
    assert all(one["sentence"].endswith(".") and one["evidence"] for one in observations)
    assert main(["explain", str(EXAMPLE), "--benchmark", "mpi.reduce"]) == 0
    assert "observed:\n" in capsys.readouterr().out


def test_every_command_that_is_proposed_is_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    samples = list(Campaign(EXAMPLES / "virtual-cluster").samples()) + list(Campaign(EXAMPLES / "two-cores").samples())
    seen = inspector.inspect(samples, records.summary(records.table(samples)))
    commands = {one.command.partition("   #")[0] for one in seen if one.command.startswith("labkit measure")}
    assert any("--testbed virtual-cluster" in one for one in commands)
    assert any("--bind core" in one for one in commands)
    for command in commands:
        assert main([*shlex.split(command)[1:], "--dry-run"]) == 0, command
    capsys.readouterr()


def test_a_command_repeats_the_point_with_its_setting() -> None:
    spec = Spec(benchmark="mpi.latency", size=8, transport="rc", device="mlx5_0", environment={"UCX_TLS": "rc,self"})
    words = "-m 8 --transport rc --device mlx5_0 --factor 'env.UCX_TLS=rc,self;' -x 5"
    assert again.command(spec, "-x", "5") == f"labkit measure mpi.latency {words}"
    assert again.command(Spec(benchmark="mpi.barrier", ranks=4)) == "labkit measure mpi.barrier --ranks 4"


def test_the_notebook_reads_what_a_campaign_holds() -> None:
    study = studies.get("is_this_good")(measure=False, campaign=str(EXAMPLE), request_sizes="1")
    assert "the samples" not in study.findings()
    assert {"benchmark", "binds", "verdict"} <= {*study.verdicts()}  # type: ignore[attr-defined]
    assert len(study.bandwidth_figure().data) >= 2  # type: ignore[attr-defined]
    assert study.noise_figure().startswith("*Omitted: there is no spectrum")  # type: ignore[attr-defined]
    assert study.observations()  # type: ignore[attr-defined]


def test_a_spectrum_shows_its_limit() -> None:
    seen = inspector.detours(noisy(np.where(np.arange(4000) % 40 == 0, 3000, 0)))
    assert seen.spectrum is not None
    figure = figures.spectrum({"launch 0": seen.spectrum})
    assert [trace.name for trace in figure.data] == ["launch 0", "limit of random events"]
    assert max(figure.data[0].y) > figure.data[1].y[0]
    with pytest.raises(DataError, match=r"micro\.noise"):
        figures.spectrum({})
