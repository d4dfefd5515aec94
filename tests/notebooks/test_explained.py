"""Notebooks on breakdowns: on recorded points, of which some are missing, and on a tiny real run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labkit.studies import breakdown
from tests.notebooks.test_examples import TWO_CORES
from tests.notebooks.test_measured import Shown

RECORDED = TWO_CORES.parent / "two-cores-labs"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["82-breakdown", *(pytest.param(name, marks=pytest.mark.slow) for name in ("83-what-if", "84-waterfall"))]
)
def test_notebooks_on_recorded_points_show_what_there_is_and_say_what_is_not(name: str) -> None:
    shown = Shown(name, {"campaign": str(RECORDED), "measure": False})
    assert shown.figures
    assert any("measured:" in text or "not measured" in text for text in shown.texts) == (name != "83-what-if")


@pytest.mark.mpi
@pytest.mark.slow
def test_notebooks_measure_and_break_down(tmp_path: Path) -> None:
    effort: dict[str, Any] = {"launches": 2, "time_cap": 0.02, "ci": 0.5, "campaign": str(tmp_path / "tiny")}
    one = breakdown.Study(transports="shm", sockets=0, **effort)
    one.run()
    message, stream, stack = one.message("shm"), one.stream("shm"), one.stack("shm")
    assert message
    assert stream
    assert stack
    assert len(stack.parts) == 3
    assert message.whole.value > 0
    assert stream.sum(["post", "complete"]).value < stream.whole.value, "they are parts of the same window"
    assert "shared memory call by call" not in str(one.findings())
