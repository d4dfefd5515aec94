"""Faults on purpose, few of them; `make faults` tries all of them often."""

from __future__ import annotations

import shutil

import pytest

from .faults import FAULTS, tried

pytestmark = pytest.mark.mpi


@pytest.mark.slow
def test_a_kill_loses_nothing_acknowledged_and_the_rest_is_launched() -> None:
    assert tried("SIGKILL to labkit", 7).endswith("kept")


@pytest.mark.netns
@pytest.mark.slow
def test_a_full_disk_is_named_and_keeps_what_was_acknowledged() -> None:
    assert tried("disk full", 7).endswith("kept")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("fault", ["SIGKILL to labkit", "SIGTERM to labkit", "SIGINT to labkit"])
def test_a_signal_at_a_random_moment(fault: str, seed: int) -> None:
    assert tried(fault, seed).endswith("kept")


@pytest.mark.slow
@pytest.mark.parametrize("fault", [name for name in FAULTS if "to labkit" not in name])
def test_every_other_fault(fault: str) -> None:
    if "disk" in fault and not shutil.which("unshare"):
        pytest.skip("no unshare")
    assert tried(fault, 3).endswith("kept")
