"""Real ranks from copies on their node: nothing is loaded from anywhere else, and nothing stays."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from labkit.host import filesystems
from labkit.point.notes import has
from labkit.point.spec import Effort, Spec
from labkit.run import launch, measuring
from labkit.run.staging import archive

pytestmark = pytest.mark.mpi
ROOT = Path(__file__).parents[2]
EFFORT = Effort(iterations=20, launches=1)
SPECS = [Spec(benchmark="mpi.latency"), Spec(benchmark="mpi.allreduce", ranks=3), Spec(benchmark="mpi.init")]
MOST_CALLS = 100  # of a rank, into folders that clusters have on shared file systems


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where copies go, with staging switched on and an empty cache."""
    monkeypatch.setenv(filesystems.SWITCH, "yes")
    monkeypatch.setenv(archive.PLACE, str(tmp_path / "place"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "place").mkdir()
    archive.made.cache_clear()
    return tmp_path / "place"


@pytest.fixture(scope="module")
def scale() -> ModuleType:
    """The file of bench/ that counts calls."""
    spec = importlib.util.spec_from_file_location("scale", ROOT / "bench" / "scale.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["scale"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_points_are_the_same_with_copies_and_say_where_these_were(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = measuring.measure(SPECS, EFFORT, into=tmp_path / "c")
    samples = list(campaign.samples())
    assert len(samples) == len(SPECS)
    for one in samples:
        (folder,) = one.meta["staged"]
        assert Path(folder).parent.parent == place
        assert one.meta["verified"] == (one.spec.benchmark != "mpi.init")
        assert not has(one.warnings, "not-staged")
    log = (tmp_path / "c" / "log.txt").read_text()
    assert log.count(f" MiB to {place}/labkit-staged-") == 1
    assert log.count("removed the copies on 1 host") == 1
    assert list(place.iterdir()) == []
    monkeypatch.setenv(filesystems.SWITCH, "no")
    measuring.measure(SPECS, EFFORT, into=tmp_path / "c")  # the same fingerprints: nothing is missing
    assert (tmp_path / "c" / "log.txt").read_text() == log


@pytest.mark.slow
def test_without_a_place_ranks_load_from_the_environment_and_say_so(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(archive.PLACE, "/proc")
    (one,) = measuring.measure(SPECS[0], EFFORT, into=tmp_path / "c").samples()
    assert "staged" not in one.meta
    assert has(one.warnings, "not-staged")
    reason = next(text for text in one.meta["warnings"] if "not from copies" in text)
    assert "/proc" in reason
    assert reason in (tmp_path / "c" / "log.txt").read_text()


@pytest.mark.slow
def test_an_interrupted_run_leaves_no_copy(place: Path, tmp_path: Path) -> None:
    def interrupt(progress: measuring.Progress) -> None:
        if progress.n or progress.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measuring.measure(SPECS, EFFORT, into=tmp_path / "c", progress=interrupt)
    assert "staged " in (tmp_path / "c" / "log.txt").read_text()
    assert list(place.iterdir()) == []


@pytest.mark.slow
def test_ranks_copy_again_what_went_away(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy goes after it was made, so that the first rank makes it once more."""
    from labkit.run import staging

    real = staging._run_on_each

    def lose(command, placement, launcher, **more):  # type: ignore[no-untyped-def]
        answers = real(command, placement, launcher, **more)
        if more.get("answers"):
            subprocess.run([*command[:-1], "remove"], check=True)
        return answers

    monkeypatch.setattr(staging, "_run_on_each", lose)
    (one,) = measuring.measure(SPECS[1], EFFORT, into=tmp_path / "c").samples()
    assert one.meta["staged"][0].startswith(f"{place}/")
    assert list(place.iterdir()) == []


@pytest.mark.slow
def test_a_rank_leaves_shared_file_systems_alone(place: Path, scale: ModuleType) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    if why := scale.untraceable():  # no fault of the set-up: containers may forbid it
        pytest.xfail(why)
    if Path(launch.get("auto").program).is_relative_to(sys.prefix):
        pytest.xfail("the MPI library itself is in the environment; copies hold what Python loads")
    folders = [os.path.realpath(path) for path in scale.shared().values()]
    environment, copies = scale.traced(2, "no"), scale.traced(2, "yes")
    assert len(environment) == len(copies) == 2
    for calls in environment:  # the count sees them
        assert sum(calls.inside.values()) > 3 * MOST_CALLS
    for calls in copies:
        assert sum(calls.inside.values()) <= MOST_CALLS, calls.inside
        assert [path for path in calls.paths if path.startswith(tuple(f"{folder}/" for folder in folders))] == []
        loaded = [path for path in calls.paths if path.endswith((".py", ".pyc")) or "/labkit-staged-" in path]
        assert len(loaded) > 100
        assert [path for path in loaded if not path.startswith(f"{place}/")] == []
    assert list(place.iterdir()) == []
