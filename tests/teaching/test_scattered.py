"""Questions whose answer differs from run to run: what a run gives counts, and typical mistakes do not, on every run.

The runs are the recordings that labkit brings, and those of a busy machine in ``tests/golden/labs``. Right
answers and mistakes are computed here once more, in another way than the labs do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from labkit.apps.teaching import labs
from labkit.apps.teaching.expected import Expected
from labkit.apps.teaching.questions import Question, judge, mistake, tolerance
from labkit.apps.teaching.results import Results, read
from labkit.errors import SpecError
from labkit.store.derived import EXAMPLES

BUSY = Path(__file__).resolve().parents[1] / "golden" / "labs"
RUNS = {
    "verbs_by_hand": (EXAMPLES / "two-cores-labs", BUSY / "verbs_by_hand/busy-1", BUSY / "verbs_by_hand/busy-2"),
    "storage": (EXAMPLES / "two-cores", BUSY / "storage/busy-1", BUSY / "storage/busy-2"),
    "tail_latency": (EXAMPLES / "two-cores-limits", BUSY / "tail_latency/busy-1", BUSY / "tail_latency/busy-2"),
    "which_setting": (EXAMPLES / "two-cores-settings", BUSY / "which_setting/busy-1", BUSY / "which_setting/busy-2"),
}
RUNS["lies_and_statistics"] = (EXAMPLES / "two-cores-launches",)
STEPS = ("open_device", "protection_domain", "memory", "completion_channel", "completion_queue", "queue_pair")
STEPS += ("to_rtr", "to_rts", "address_handle")


@dataclass
class Answers:
    """Answers that count, and those of typical mistakes, by what a learner did."""

    right: list[float]
    wrong: dict[str, float] = field(default_factory=dict)


def share(results: Results) -> Answers:
    times = {name: results.launches("verbs.setup", f"{name}_us") for name in STEPS}
    medians = {name: float(np.median(values)) for name, values in times.items()}
    every, total = np.array(list(times.values())), sum(medians.values())
    both = medians["to_rtr"] + medians["to_rts"]
    return Answers(
        [100 * both / total],
        {
            "median of shares": float(np.median(100 * (times["to_rtr"] + times["to_rts"]) / every.sum(axis=0))),
            "divided by the others": 100 * both / (total - both),
            "RTR alone": 100 * medians["to_rtr"] / total,
            "RTS alone": 100 * medians["to_rts"] / total,
            "with INIT": 100 * (both + medians["queue_pair"]) / total,
            "a part, not per cent": both / total,
        },
    )


def ahead(results: Results) -> Answers:
    slow, fast = (
        results.launches("storage.read", "latency_us", option_pattern=pattern) for pattern in ("random", "sequential")
    )
    factor = float(np.median(slow) / np.median(fast))
    return Answers([float(np.median(slow / fast)), factor], {"no difference": 1.0, "inverse": 1 / factor})


def of_loop(results: Results, benchmark: str, rate: int = 0) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Round trips and how late each message left, µs, for each launch."""
    chosen = [s for s in results.samples if s.spec.benchmark == benchmark]
    if rate:
        chosen = [s for s in chosen if s.spec.values["message_rate"] == rate]
    late = [np.asarray(s.extras.get("late_ns", np.zeros(s.n)), float).ravel()[-s.n :] / 1e3 for s in chosen]
    return [(np.asarray(s.time_ns, float).ravel() / 1e3, more) for s, more in zip(chosen, late, strict=True)]


def p99(times: list[NDArray[np.float64]]) -> float:
    return float(np.median([np.quantile(one, 0.99) for one in times]))


def opened(results: Results) -> Answers:
    loop = [times for times, _ in of_loop(results, "sockets.under_load", 10_000)]
    return Answers(
        [p99(loop)],
        {
            "closed": p99([times for times, _ in of_loop(results, "sockets.tcp_rr")]),
            "at 1000": p99([times for times, _ in of_loop(results, "sockets.under_load", 1000)]),
            "pooled": float(np.quantile(np.concatenate(loop), 0.99)),
            "99.9": float(np.median([np.quantile(times, 0.999) for times in loop])),
        },
    )


def due(results: Results) -> Answers:
    loop = of_loop(results, "sockets.under_load", 10_000)
    without, late = p99([times for times, _ in loop]), p99([more for _, more in loop])
    return Answers(
        [p99([times + more for times, more in loop])],
        {
            "without the lateness": without,
            "lateness alone": late,
            "sum of percentiles": without + late,
            "pooled": float(np.quantile(np.concatenate([times + more for times, more in loop]), 0.99)),
        },
    )


def algorithms(results: Results) -> dict[str | None, NDArray[np.float64]]:
    name = "env_OMPI_MCA_coll_tuned_allreduce_algorithm"
    return {
        number: results.launches("mpi.allreduce", "latency_us", transport="tcp", **{name: number})
        for number in (None, *"123456")
    }


def factor(results: Results) -> Answers:
    values = algorithms(results)
    order = sorted(values, key=lambda name: float(np.median(values[name])))
    slow, fast = values[order[-1]], values[order[0]]
    half = len(slow) // 2
    whole = np.median(slow) / np.median(fast)
    return Answers(
        [float(np.median(slow / fast)), float(whole)],
        {
            "inverse": float(1 / whole),
            "price of the default": float(np.median(values[None]) / np.median(fast)),
            "extremes": float(max(map(np.max, values.values())) / min(map(np.min, values.values()))),
            "first half": float(np.median(slow[:half]) / np.median(fast[:half])),
        },
    )


def rest(results: Results) -> Answers:
    idle = np.array(
        [
            results.launches("mpi.allreduce", "latency_us", transport="shm", env_LABKIT_LAB_NOBODY_READS=name)
            for name in "12345678"
        ]
    )
    gains = 100 * (1 - idle / np.median(idle, axis=0))
    return Answers(
        [float(np.median(gains[idle[:, 0].argmin(), 1:]))],
        {"first launch": float(gains[:, 0].max()), "new winner each time": float(np.median(gains[:, 1:].max(axis=0)))},
    )


def confirmed(results: Results) -> Answers:
    values = algorithms(results)
    default, half = values[None], len(values[None]) // 2
    own = min((one for name, one in values.items() if name), key=lambda one: float(np.median(one[:half])))
    ratio = own / default
    return Answers(
        [float(np.median(ratio[half:])), float(np.median(own[half:]) / np.median(default[half:]))],
        {
            "all launches": float(np.median(ratio)),
            "first half": float(np.median(ratio[:half])),
            "inverse": float(np.median(default[half:] / own[half:])),
        },
    )


def sent(results: Results) -> Answers:
    loop = [times for times, _ in of_loop(results, "sockets.tcp_rr")]
    return Answers(
        [float(np.median([1e6 / times.mean() for times in loop]))],
        {"of the median": float(np.median([1e6 / np.median(times) for times in loop])), "requested": 10_000.0},
    )


def messages(results: Results) -> list[NDArray[np.float64]]:
    """Times of the messages of 256 B over shared memory, µs, for each launch."""
    chosen = [s for s in results.samples if (s.spec.size, s.spec.transport) == (256, "shm")]
    return [np.asarray(s.time_ns, float).ravel() / 2e3 for s in chosen]


def rate(results: Results) -> Answers:
    times = messages(results)
    return Answers(
        [float(np.median([256 / one.mean() for one in times]))],
        {"mean of rates": float(np.median([(256 / one).mean() for one in times]))},
    )


def tail(results: Results) -> Answers:
    times = messages(results)
    return Answers([p99(times)], {"pooled": float(np.quantile(np.concatenate(times), 0.99))})


ASKED: dict[Callable[[Results], Answers], str] = {
    share: "verbs_by_hand",
    ahead: "storage",
    opened: "tail_latency",
    due: "tail_latency",
    sent: "tail_latency",
    rate: "lies_and_statistics",
    tail: "lies_and_statistics",
    factor: "which_setting",
    rest: "which_setting",
    confirmed: "which_setting",
}


@cache
def run(name: str, folder: Path) -> Results:
    return read((folder,), labs.get(name).specs())


def cases() -> Iterator[object]:
    for answers, name in ASKED.items():
        for folder in RUNS[name]:
            yield pytest.param(answers, name, folder, id=f"{answers.__name__}-{folder.name}")


def counts(question: Question, expected: Expected, given: float) -> bool:
    """Whether an answer counts; one that cannot be, or that needs more digits, is refused."""
    try:
        return judge(question, expected, given).right
    except SpecError:
        return False


@pytest.mark.parametrize(("answers", "name", "folder"), list(cases()))
def test_what_the_run_gives_counts_and_a_typical_mistake_does_not(
    answers: Callable[[Results], Answers], name: str, folder: Path
) -> None:
    results, question = run(name, folder), labs.get(name).question(answers.__name__)
    found, expected = answers(results), question.named(question.of(results))
    for right in found.right:
        assert counts(question, expected, right)
        assert counts(question, expected, float(f"{right:.3g}"))
    assert found.wrong
    for words, wrong in found.wrong.items():
        assert not counts(question, expected, wrong), words
    for words, wrong in expected.mistakes.items():
        assert not counts(question, expected, wrong), words
    assert not counts(question, expected, 1.2 * found.right[0] + (answers is rest))
    for low, high in tolerance(expected, question.base):
        assert high - low <= max(0.2 * max(map(abs, (low, high))), 1.0), "it accepts almost anything"


def test_a_mistake_that_gives_the_same_in_a_run_is_named_with_the_right_answer() -> None:
    """In this run no sender was late, so nobody can tell."""
    results, question = run("tail_latency", EXAMPLES / "two-cores"), labs.get("tail_latency").question("due")
    expected, found = question.of(results), due(results)
    said = judge(question, expected, found.right[0])
    assert said.right
    assert "In this run, it is also the 99th percentile without the lateness and the sum" in said.text
    assert counts(question, expected, found.wrong["without the lateness"])
    assert not counts(question, expected, found.wrong["lateness alone"])
    assert not counts(question, expected, found.wrong["pooled"])


def test_a_mistake_is_named_and_a_rounded_answer_that_may_be_one_needs_more_digits() -> None:
    question = Question(name="q", text="?", of=lambda r: Expected(0.0), why="So it is.")
    expected = Expected(146.8, 56.0, 750.0, also=(171.0,)).without({"without the lateness": 149.0, "mean": 900.0})
    assert judge(question, expected, 146.8).text == "right. So it is."
    assert judge(question, expected, 147).right
    assert judge(question, expected, 171).right
    assert judge(question, expected, 149).text == "no, this is without the lateness"
    assert judge(question, expected, 900).text == "no, this is mean"
    with pytest.raises(SpecError, match="Give 3 digits"):
        judge(question, expected, 150)
    assert judge(question, expected, 190).text == "too high for this run"
    same = Expected(100.0).without({"mean": 100.4})
    assert mistake(same, 100.4) == ""
    assert judge(question, same, 100.4).right
    assert math.isnan(same.low)
