"""No sentence about an effect without an interval that excludes zero, and no part above its whole."""

from __future__ import annotations

import re

import pytest

from labkit.analysis import effects
from labkit.analysis.effects import Effect, Measured
from labkit.models.breakdown import Breakdown, Level, by_difference, of_launches
from labkit.studies import breakdown, what_if


def nested(*paths: list[float], disturbed: bool = False) -> Breakdown:
    """Nested paths by difference, each with its launches."""
    levels = [
        Level(name=str(n), text=f"layer {n}", kind="", path="", time=of_launches(values, disturbed=disturbed))
        for n, values in enumerate(paths)
    ]
    return by_difference("message", "µs", levels)


@pytest.mark.parametrize(
    ("value", "base", "why"),
    [
        (Measured(2.0), Measured(0.0), "a value is missing or zero"),
        (Measured(2.0), Measured(float("nan")), "a value is missing or zero"),
        (Measured(2.0), Measured(2.0), "they differ by less than"),
        (Measured(3.0, disturbed=True), Measured(2.0), "one launch on a busy machine"),
        (Measured(3.0, 1.0, 5.0), Measured(2.0, 1.0, 3.0), "their intervals overlap"),
        (Measured(3.0, statistic="mean"), Measured(2.0, statistic="p50"), "one value is a mean"),
    ],
)
def test_no_difference_is_claimed_without_one(value: Measured, base: Measured, why: str) -> None:
    said = Effect(value, base).said("it takes longer", "both")
    assert said.startswith(f"both: no difference is claimed, because {why}")


def test_a_single_launch_of_a_quiet_machine_is_stated() -> None:
    assert Effect(Measured(3.0), Measured(2.0)).said("it takes longer", "both") == "it takes longer, one launch each."
    assert Effect(Measured(3.0, 2.9, 3.1), Measured(2.0, 1.9, 2.1)).more


@pytest.mark.parametrize("launches", [1, 3])
@pytest.mark.parametrize("paths", [(22010.0, 3.0, 6.7), (0.0, 0.0, 0.0), (5.0, 5.0, 5.0), (9.0, 4.0, 2.0)])
def test_layers_that_exceed_the_whole_add_and_save_nothing(paths: tuple[float, ...], launches: int) -> None:
    whole = nested(*([value] * launches for value in paths), disturbed=launches == 1)
    said = " ".join(breakdown._added(part, whole) for part in whole.parts[1:])
    assert not re.search(r"is faster by|adds \d", said)
    change = what_if.what_if.Change(text="cheaper", parts=("1",), cheaper=50)
    saved = what_if._after(whole, [change])["saved"]
    assert saved == "not known" or float(saved.split()[0]) == 0


def test_a_share_is_between_nothing_and_all() -> None:
    assert [effects.share(part, 4.0) for part in (-1.0, 0.0, 4.0, 5.0)] == ["", "0 %", "100 %", ""]
    assert not effects.share(0.0, 0.0)
