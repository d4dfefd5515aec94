"""The light core: what `pip install labkit` brings is enough to measure, import and show; the rest names its extra."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from labkit.io import extras

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def closure(names: list[str]) -> Iterator[str]:
    """Installed distributions that some requirements bring."""
    seen: set[str] = set()
    left = [Requirement(name) for name in names]
    while left:
        one = left.pop()
        if one.marker and not any(one.marker.evaluate({"extra": extra}) for extra in one.extras or {""}):
            continue
        if one.name not in seen:
            seen.add(one.name)
            yield one.name
            left += [Requirement(text) for text in metadata.requires(one.name) or [] if "extra ==" not in text]


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages of the core alone."""
    folder = tmp_path_factory.mktemp("core")
    for name in closure(PROJECT["dependencies"]):
        for top in {file.parts[0] for file in metadata.files(name) or () if file.parts[0] != ".."}:
            if not (folder / top).exists() and top != "__pycache__":
                (folder / top).symlink_to(Path(str(metadata.distribution(name).locate_file(top))))
    return folder


def bare(core: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of labkit where only the core is installed."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(core), str(ROOT)]), "PYTHONWARNINGS": "default"}
    command = [sys.executable, "-S", "-m", "labkit", *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=240)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["list"], marks=pytest.mark.slow),
        pytest.param(["describe", "mpi.latency"], marks=pytest.mark.slow),
        ["show", "examples/two-cores", "--benchmark", "mpi.latency", "--format", "csv"],
        pytest.param(["plan", "quick", "-p", "launches=1"], marks=[pytest.mark.mpi, pytest.mark.slow]),
        pytest.param(["testbed", "list"], marks=pytest.mark.slow),
        pytest.param(["submit", "quick", "--site", "slurm-modules", "--dry-run"], marks=pytest.mark.slow),
    ],
    ids=["list", "describe", "show", "plan", "testbed", "submit"],
)
def test_the_core_does_without_the_extras(core: Path, tmp_path: Path, words: list[str]) -> None:
    done = bare(core, tmp_path, *words)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip()


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["report", "examples/two-cores"], "report"),
        pytest.param(["lab"], "lab", marks=pytest.mark.slow),
        pytest.param(["explore"], "lab", marks=pytest.mark.slow),
    ],
)
def test_a_command_that_needs_an_extra_names_it(core: Path, tmp_path: Path, words: list[str], extra: str) -> None:
    done = bare(core, tmp_path, *words)
    assert done.returncode == 1
    assert re.fullmatch(
        r"(labkit: examples/.* is an example that labkit brings: .*\n)?"
        rf"labkit: This needs the extra labkit\[{extra}\], which is not installed\. "
        rf"Install it: pip install 'labkit\[{extra}\]'\n",
        done.stderr,
    ), done.stderr


@pytest.mark.mpi
@pytest.mark.slow
def test_a_suite_is_measured_without_notebooks(core: Path, tmp_path: Path) -> None:
    suite = tmp_path / "tiny.toml"
    given = 'sizes = "8"\nallreduce = ""\nlaunches = 1\ntime_cap = 0.01\n'
    suite.write_text(f'[[notebook]]\nname = "10-latency"\n[notebook.parameters]\n{given}')
    done = bare(core, tmp_path, "run", str(suite), "--into", "campaign")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "not executed" in done.stdout
    assert "executed no notebook, because the extra labkit[report] is not installed" in done.stdout
    assert "pip install 'labkit[report]', then: labkit report" in done.stdout
    assert list((tmp_path / "campaign/samples/mpi.latency").glob("*.parquet"))
    assert not (tmp_path / "campaign/notebooks").exists()
    facts = json.loads((tmp_path / "campaign/campaign.json").read_text())
    assert facts["parameters"]["10-latency"]["sizes"] == "8", "labkit report executes the notebook with these"


def test_every_package_is_in_the_extra_that_labkit_names_for_it() -> None:
    distributions = metadata.packages_distributions()
    for extra, names in extras.PACKAGES.items():
        brought = {name.lower().replace("_", "-") for name in closure(PROJECT["optional-dependencies"][extra])}
        for name in names:
            assert {one.lower().replace("_", "-") for one in distributions[name]} & brought, name


ELSEWHERE = (
    "kernels/learning/",
    "kernels/verbs/",
    "kernels/programs/",
    "kernels/shmem_loops.py",
    "reframe.py",
    "pytest_plugin.py",
)  # run by a Python that has what they import


def test_every_package_that_labkit_imports_is_of_the_core_or_of_an_extra() -> None:
    core = {Requirement(one).name.replace("-", "_") for one in PROJECT["dependencies"]}
    known = {"labkit", *core, *sys.stdlib_module_names, *(name for names in extras.PACKAGES.values() for name in names)}
    other: set[str] = set()
    for path in (ROOT / "labkit").rglob("*.py"):
        if not path.relative_to(ROOT / "labkit").as_posix().startswith(ELSEWHERE):
            names = re.findall(
                r"^ *(?:import|from) (\w+)[\w.]*(?: import .*| as \w+)?$", path.read_text(), re.MULTILINE
            )
            other |= {f"{name} in {path.relative_to(ROOT)}" for name in set(names) - known}
    for_types = {"point/spec.py", "benchmarks/simulated.py", "benchmarks/_kinds.py"}  # pydantic brings it
    assert other <= {f"typing_extensions in labkit/{path}" for path in for_types}
    later = extras.Later("plotly.graph_objects")
    assert later.Figure().to_plotly_json()["data"] == []
