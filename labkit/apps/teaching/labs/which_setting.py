"""Lab 13: which of several settings is the best, by a race of fresh starts, and why one lucky launch is not a winner."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from labkit import figures
from labkit.apps.teaching import slips
from labkit.apps.teaching.definition import Lab
from labkit.apps.teaching.expected import Expected, aggregate
from labkit.apps.teaching.questions import Question
from labkit.apps.teaching.results import Results
from labkit.errors import DataError
from labkit.judge.comparison.judging import FASTER, SLOWER, Judgement, Launches, Pair, judge
from labkit.point.spec import Effort, Spec, sweep
from labkit.point.units import plural
from labkit.stats.racing import Standing, masked, standing

NAME, TIME = "mpi.allreduce", "latency_us"
HOSTS = "virtual-cluster:4,rate=50mbit"
CHOICE = "OMPI_MCA_coll_tuned_allreduce_algorithm"
DEFAULT = "the library's choice"
# number, as ompi_info --param coll tuned --level 5 lists them for Open MPI 4.1 and 5.0
ALGORITHMS = {
    DEFAULT: None,
    "linear": "1",
    "reduce, then broadcast": "2",
    "recursive doubling": "3",
    "ring": "4",
    "segmented ring": "5",
    "Rabenseifner": "6",
}
NOBODY = "LABKIT_LAB_NOBODY_READS"  # a variable that no program looks at
IDLE = [str(number) for number in range(1, 9)]
LAUNCHES = 12

LUCKY = "it was the best of eight, so it was probably lucky in that launch"
WARM = "the machine became slower after the first launch"
READ = "the library reads the variable only once"
YES, NO, OPEN = (
    "yes: it is faster than the library's choice",
    "no: it is slower than the library's choice",
    "no: these launches show no difference that matters",
)


def _specs() -> list[Spec]:
    hosts = sweep(NAME, sizes="64Ki", ranks=4, transport="tcp", testbed=HOSTS, launcher="openmpi")
    here = sweep(NAME, sizes="64Ki", ranks=2, transport="shm")
    chosen = [
        spec.replace(environment={"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", CHOICE: number} if number else {})
        for spec in hosts
        for number in ALGORITHMS.values()
    ]
    return chosen + [spec.replace(environment={NOBODY: number}) for spec in here for number in IDLE]


def _by_algorithm(results: Results) -> dict[str, NDArray[np.float64]]:
    """Median of each launch by algorithm, ms; the same number of launches for each."""
    where = {"transport": "tcp", "ranks": 4}
    values = {
        name: results.launches(NAME, TIME, **where, **{f"env_{CHOICE}": number}) / 1e3
        for name, number in ALGORITHMS.items()
    }
    return _even(values)


def _idle(results: Results) -> dict[str, NDArray[np.float64]]:
    """Median of each launch by the value of the variable that nobody reads, µs."""
    return _even(
        {number: results.launches(NAME, TIME, transport="shm", **{f"env_{NOBODY}": number}) for number in IDLE}
    )


def _even(values: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    least = min(map(len, values.values()))
    if least < 4:
        raise DataError(
            f"A setting has {plural(least, 'launch')}, but this lab needs at least 4. Measure again with launches=12."
        )
    return {name: launches[:least] for name, launches in values.items()}


def _halves(launches: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Launches that choose, and launches that confirm."""
    half = len(launches) // 2
    return launches[:half], launches[half:]


def _standing(results: Results) -> Standing:
    """How the race stands after the launches that choose; a setting that was stopped has no later ones."""
    costs = np.log(np.column_stack([_halves(launches)[0] for launches in _by_algorithm(results).values()]))
    looks = max(len(costs) - 1, 1)
    return standing(masked(costs, looks=looks), looks=looks)


def _ran(results: Results) -> dict[str, int]:
    """Rounds that each setting ran."""
    race = _standing(results)
    return {name: race.stopped.get(n, race.rounds) for n, name in enumerate(ALGORITHMS)}


def _leader(results: Results) -> str:
    """The setting with the lowest median over the launches that choose."""
    medians = {name: float(np.median(_halves(launches)[0])) for name, launches in _by_algorithm(results).items()}
    return min(medians, key=lambda name: medians[name])


def _own(results: Results) -> str:
    """The same among those that one must set."""
    medians = {name: float(np.median(_halves(launches)[0])) for name, launches in _by_algorithm(results).items()}
    return min((name for name in medians if name != DEFAULT), key=lambda name: medians[name])


def _factor(results: Results) -> Expected:
    """Slowest over fastest setting, launch by launch."""
    values = _by_algorithm(results)
    order = sorted(values, key=lambda name: float(np.median(values[name])))
    slow, fast = values[order[-1]], values[order[0]]
    factor = float(np.median(slow) / np.median(fast))
    return aggregate(slow / fast, [factor]).without(
        {
            "the price of the library's choice": float(np.median(values[DEFAULT]) / np.median(fast)),
            "the slowest launch of all divided by the fastest": float(
                max(map(np.max, values.values())) / min(map(np.min, values.values()))
            ),
            "the factor of the launches that choose": float(np.median(_halves(slow)[0]) / np.median(_halves(fast)[0])),
        }
    )


def _left(results: Results) -> Expected:
    count = float(len(_standing(results).racing))
    return Expected(count, count, count, "race")


def _share(results: Results) -> Expected:
    """Launches of the race, as a share of the launches of all settings in all rounds, %."""
    ran = _ran(results)
    value = 100 * sum(ran.values()) / (_standing(results).rounds * len(ran))
    return Expected(value, value, value, "race")


def _lucky(results: Results) -> tuple[str, NDArray[np.float64]]:
    """The fastest value of the first launch, and its gain over the median of all values in each launch, %."""
    values = _idle(results)
    table = np.array(list(values.values()))
    name = min(values, key=lambda one: float(values[one][0]))
    return name, 100 * (1 - values[name] / np.median(table, axis=0))


def _luck(results: Results) -> Expected:
    """What it seemed to gain; it has no interval, so 3 % around the value count as right."""
    gain, first = float(_lucky(results)[1][0]), [float(one[0]) for one in _idle(results).values()]
    return Expected(gain, 0.97 * gain, 1.03 * gain, "3 % around the value").without(
        {
            "the gain on the slowest of the eight": 100 * (1 - min(first) / max(first)),
            "the gain on the second": 100 * (1 - min(first) / sorted(first)[1]),
        }
    )


def _rest(results: Results) -> Expected:
    """What it gained in the other launches, %."""
    table = np.array(list(_idle(results).values()))
    winners = 100 * (1 - table.min(axis=0) / np.median(table, axis=0))
    return aggregate(_lucky(results)[1][1:]).without(
        {
            "the gain of the first launch": float(winners[0]),
            "the gain of a new winner in each launch": float(np.median(winners[1:])),
        }
    )


def _confirmed(results: Results) -> Expected:
    """The best algorithm that one must set, as a part of the library's choice, in the launches that confirm."""
    values = _by_algorithm(results)
    own, default = values[_own(results)], values[DEFAULT]
    (first, chosen), (before, plain) = _halves(own), _halves(default)
    return aggregate(chosen / plain, [float(np.median(chosen) / np.median(plain))]).without(
        {
            "the ratio of all launches, with those that chose": float(np.median(own / default)),
            "the ratio of the launches that chose": float(np.median(first / before)),
            "the inverse: the library's choice as a part of the setting": float(np.median(plain / chosen)),
        }
    )


def _judged(results: Results) -> Judgement:
    values = _by_algorithm(results)
    plain, chosen = (Launches(list(_halves(values[name])[1])) for name in (DEFAULT, _own(results)))
    return judge([Pair(plain, chosen, TIME)])[0]


def _verdict(results: Results) -> Expected:
    return Expected({FASTER: YES, SLOWER: NO}.get(_judged(results).verdict, OPEN))


def _race(results: Results) -> pd.DataFrame:
    race, values = _standing(results), _by_algorithm(results)
    rows = [
        {
            "setting": name,
            "median of the rounds that it ran, in ms": float(np.median(launches[: race.stopped.get(n, race.rounds)])),
            "behind the leader in %": 100 * race.behind.get(n, math.nan),
            "rounds that it ran": race.stopped.get(n, race.rounds),
            "end": "stopped" if n in race.stopped else "still races",
        }
        for n, (name, launches) in enumerate(values.items())
    ]
    return pd.DataFrame(rows).sort_values("behind the leader in %", ignore_index=True)


def _first(results: Results) -> pd.DataFrame:
    values = _idle(results)
    rows = [{"value of the variable": name, "first launch in µs": float(one[0])} for name, one in values.items()]
    return pd.DataFrame(rows)


def _confirmation(results: Results) -> pd.DataFrame:
    one, launches = _judged(results), _halves(_by_algorithm(results)[DEFAULT])[1]
    return pd.DataFrame(
        [
            {
                "setting": _own(results),
                "launches per side": len(launches),
                "library's choice in ms": one.base,
                "setting in ms": one.value,
                "ratio": one.ratio,
                "from": one.ratio_low,
                "to": one.ratio_high,
                "p": one.p,
            }
        ]
    )


def _algorithms(results: Results) -> go.Figure:
    return figures.rounds(
        {name.replace(" ", "<br>"): list(one) for name, one in _by_algorithm(results).items()}, "latency in ms"
    )


def _launches(results: Results) -> go.Figure:
    marked = {_lucky(results)[0]: 0}
    why = "the launch that made this value the winner"
    return figures.rounds(
        {name: list(one) for name, one in _idle(results).items()}, "latency in µs", marked=marked, why=why
    )


LAB = Lab(
    title="Which setting is best?",
    specs=_specs,
    recorded=("two-cores-settings",),
    effort=Effort(launches=LAUNCHES, time_cap=0.2),
    predictions=(
        Question(
            name="guess",
            text="Four hosts add 64 KiB over links of 50 Mbit/s. Which setting of MPI_Allreduce is the fastest?",
            choices=tuple(ALGORITHMS),
            of=lambda r: Expected(_leader(r)),
        ),
        Question(
            name="gain",
            unit="%",
            text="Eight values of a variable that no program reads, one launch of each: by how much does the fastest one beat the median of the eight?",
            of=_luck,
        ),
    ),
    questions=(
        Question(
            name="leader",
            text="Which setting has the lowest median over the launches that choose?",
            choices=tuple(ALGORITHMS),
            of=lambda r: Expected(_leader(r)),
            why="The algorithms differ in their steps and in the bytes on the busiest link. Over slow links the bytes decide at this size, so an algorithm that sends each rank only its part does well.",
            hints=("Take the first half of the launches of each setting.", "numpy.median of each, then the smallest."),
        ),
        Question(
            name="factor",
            text="Over all launches, by what factor is the slowest setting slower than the fastest?",
            of=_factor,
            slips=slips.INVERSE,
            why="The worst algorithm sends the data of all ranks over one link, one after the other. The factor is about that between the bytes on the busiest links.",
            hints=(
                "The figure shows which two they are.",
                "Divide their medians. It is the price of the worst choice, not of the library's.",
            ),
        ),
        Question(
            name="left",
            text="How many settings still race when the launches that choose are over?",
            of=_left,
            slips={"those that stopped": lambda value: len(ALGORITHMS) - value},
            why="A setting stops when it is slower than another one by more than the noise allows. Settings that are close together need more rounds than there were.",
            hints=(
                "The last column of the table.",
                "Those that race are not proved to be equal: none of them was proved to be slower.",
            ),
        ),
        Question(
            name="share",
            unit="%",
            text="Which share of the launches of an exhaustive search, all settings in all these rounds, did the race take?",
            of=_share,
            slips=slips.PART | {"what the race saved": lambda value: 100 - value},
            why="A stopped setting takes no further launches. The clearer the differences stand out of the noise, the earlier settings stop and the more is saved.",
            hints=(
                "Sum the rounds that the settings ran.",
                "An exhaustive search takes the number of settings times the number of rounds.",
            ),
        ),
        Question(
            name="luck",
            unit="%",
            text="In the first launch, by how much does the fastest value of the variable beat the median of the eight?",
            of=_luck,
            slips=slips.PART | {"smallest / median in %: take it from 100": lambda value: 100 - value},
            why="The eight are one setting, so all of the difference is noise. The smallest of eight noisy values lies below their median: that is what a minimum does.",
            hints=("The table has the eight times.", "100 · (1 − smallest / median of the eight)."),
        ),
        Question(
            name="rest",
            unit="%",
            text="And in the other launches? Take the same value and the median of the eight in each launch, then the median of these gains.",
            of=_rest,
            base=100,
            why="In the other launches the value is one of eight equal ones. Its gain scatters around 0.",
            hints=(
                "The gain of a launch may be negative.",
                "The value stays the one that won the first launch, whatever it does later.",
            ),
        ),
        Question(
            name="why",
            text="Why is the gain of the first launch not that of the others?",
            choices=(WARM, LUCKY, READ),
            of=lambda r: Expected(LUCKY),
            why="Choosing the best of many prefers whatever had lucky noise. A new launch draws new noise, so the gain shrinks: regression to the mean.",
            hints=(
                "Nobody reads the variable.",
                "What would you expect of the tallest of eight people, measured with a bad ruler?",
            ),
        ),
        Question(
            name="confirmed",
            text="The best algorithm that you must set, chosen by the first half: its time as a part of that of the library's choice, in the second half?",
            of=_confirmed,
            why="These launches did not choose the setting, so its luck of the first half is gone. What remains is what the setting does.",
            hints=(
                "Only the launches that did not choose it count here.",
                "Launch by launch: its median over that of the library's choice; then the median of the ratios.",
            ),
        ),
        Question(
            name="claim",
            text="May you claim that this setting helps?",
            choices=(YES, NO, OPEN),
            of=_verdict,
            why="A claim needs an interval without 1 and a difference that matters, in launches that did not choose. Without both, the data allow no claim.",
            hints=(
                "The table has the interval of the ratio.",
                "Does the interval hold 1, and is the difference larger than 2 %?",
            ),
        ),
    ),
    shows={
        "algorithms": _algorithms,
        "race": _race,
        "first": _first,
        "launches": _launches,
        "confirmation": _confirmation,
    },
    means="Change a setting of the library only if launches that did not choose it show that it helps, at the sizes and numbers of ranks that your program uses. Let all settings take turns, start each anew, and stop what is certainly slow. Of many settings that do the same, one always looks best.",
    reading=(
        "Lab 9, *Lies, statistics and benchmarks*: why a launch is one observation.",
        "`docs/tuning.md`: the race, its error, and the files that a library reads.",
        "`notebooks/86-tune.ipynb`: tune a collective of your machine.",
        "J. E. Smith and R. L. Winkler, Management Science 2006.",
    ),
)
