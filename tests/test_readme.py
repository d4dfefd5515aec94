"""The command line accepts every command in the README and the user guide, and plans every measurement in them."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from labkit import benchmarks
from labkit.apps import cli
from labkit.apps.show import results
from labkit.point.spec import Spec
from labkit.read import records
from labkit.run import launch

from . import made

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
GUIDE = (ROOT / "docs" / "guide.md").read_text()
OTHER_MPIS = {".venv-ompi5": "mpirun (Open MPI) 5.0.7", ".venv-mpich": "HYDRA build details:\n    Version: 4.3.1"}


def commands(text: str) -> Iterator[str]:
    """Lines of indented blocks, and commands in backquotes that begin with a program of the project; no fenced blocks."""
    text = re.sub(r"(?ms)^```.*?^```$", "", text)
    for line in text.splitlines():
        if line.startswith("    ") and not line.startswith("        "):
            yield line.partition("  #")[0].strip()
    yield from re.findall(r"`((?:labkit|make) [^`]+)`", re.sub(r"(?ms)^    .*?$", "", text))


COMMANDS = list(dict.fromkeys([*commands(README), *commands(GUIDE)]))
LABKIT = [line for line in COMMANDS if line.startswith("labkit ") and not line.endswith(" -h")]
MAKE = [line for line in COMMANDS if line.startswith("make ")]


def parsed(line: str) -> argparse.Namespace:
    """A command's words as the command line reads them; unknown ones end the test."""
    return cli.parser().parse_args(shlex.split(line)[1:])


def test_there_are_commands() -> None:
    assert len(README.splitlines()) <= 90
    assert len(LABKIT) >= 20
    assert len(MAKE) >= 4
    assert {line.split()[0] for line in COMMANDS if " " in line} <= {
        "labkit",
        "make",
        "papermill",
        "cd",
        ".",
        "git",
        "pip",
        "python3",
    }


@pytest.mark.parametrize("line", MAKE)
def test_make_knows_what_readme_makes(line: str) -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in (word for word in line.split()[1:] if "=" not in word):  # others set variables
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), line


@pytest.mark.parametrize("line", LABKIT)
def test_the_command_line_understands_readme(line: str) -> None:
    options = parsed(line)
    assert callable(options.run)
    for word in shlex.split(line)[2:]:
        if word.startswith("data/campaigns/examples"):
            assert (ROOT / word / "campaign.json").is_file(), line
    if hasattr(options, "benchmark") and options.benchmark != "*":
        assert benchmarks.get(options.benchmark)
    if hasattr(options, "suite"):
        assert (ROOT / "templates" / "suites" / f"{options.suite}.toml").is_file()


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_the_command_line_understands_the_other_pages(page: Path) -> None:
    for line in re.findall(r"^    (labkit .*?)(?: +#.*)?$", page.read_text().replace("\\\n", " "), re.MULTILINE):
        if "…" in line or line.startswith("labkit testbed "):  # left open, or with options of a testbed
            continue
        for command in re.findall(r"labkit .*?(?= && | > | \| |$)", line):
            options = parsed(command)
            if getattr(options, "benchmark", "*") != "*":
                assert benchmarks.get(options.benchmark)
            if isinstance(name := getattr(options, "suite", None), str) and not name.endswith(".toml"):
                assert (ROOT / "templates" / "suites" / f"{name}.toml").is_file(), line


@pytest.mark.mpi
@pytest.mark.parametrize("line", [line for line in LABKIT if line.startswith("labkit measure ")])
def test_what_readme_measures_can_be_planned(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, says in OTHER_MPIS.items():  # what `make venvs` brings
        program = tmp_path / name / "bin" / "mpirun"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\n")
        program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    if "--testbed" in line and not shutil.which("ip", path="/usr/sbin:/sbin:/usr/bin"):
        pytest.skip("testbeds need ip")
    status, said = cli.main([*shlex.split(line)[1:], "--dry-run"]), capsys.readouterr()
    assert status == 0, said.err
    assert said.out.strip()


def test_an_environment_that_make_venvs_makes_is_asked_for_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in OTHER_MPIS:
        assert name in launch.VENVS
        assert cli.main(["measure", "mpi.latency", "--launcher", name, "--dry-run"]) == 1
        said = f"There is no {tmp_path / name}. Run `make -C {ROOT} venvs` and name {ROOT / name}."
        assert said in capsys.readouterr().err


def test_the_script_of_a_job_is_printed_anywhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (line,) = [line for line in LABKIT if line.startswith("labkit submit") and "--dry-run" in line]
    monkeypatch.delenv("USER", raising=False)  # nobody logged in to a container
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(launch, "installed", launch.installed.__wrapped__)  # nothing is kept of this PATH
    assert cli.main(shlex.split(line)[1:]) == 0, capsys.readouterr().err
    assert "#SBATCH --nodes=4" in capsys.readouterr().out


@pytest.mark.mpi
@pytest.mark.slow
def test_the_python_of_readme_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    namespace: dict[str, object] = {}
    exec(code, namespace)
    assert len(namespace["records"]) == 2 * 2 * 2  # type: ignore[arg-type]


def labels(lines: list[str]) -> list[str]:
    """What lines below a table begin with, without those that only some machines give reason for."""
    return [label for line in lines if (label := line.partition(":")[0]) not in ("badges", "warning", "*")]


def test_the_example_of_readme_has_the_lines_that_are_printed() -> None:
    (shown,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    launches = [
        made.samples(
            Spec(benchmark="mpi.latency", size=size, transport=transport),
            np.full((2, 5000), 500 + size + launch),
            launch=launch,
            meta={"fingerprint": f"{size} {transport}", "start": f"2026-01-01T00:00:{launch:02}+00:00"},
        )
        for size in (8, 1024, 65536)
        for transport in ("shm", "tcp")
        for launch in range(6)
    ]
    printed = results.result_table(records.table(launches)).splitlines()
    assert labels(shown.splitlines()[9:]) == labels(printed[9:])


@pytest.mark.mpi
@pytest.mark.slow
def test_the_example_of_readme_prints_a_table_like_the_one_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (shown,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    (line,) = [line for line in commands(README) if line.startswith("labkit measure mpi.latency -m")]
    quick = ["--time-cap", "0.02", "--into", str(tmp_path / "c")]
    assert cli.main([*shlex.split(line)[1:], *quick]) == 0
    printed = capsys.readouterr().out.splitlines()
    wanted = shown.splitlines()
    assert printed[1].split() == wanted[1].split()  # columns
    assert [row.split()[:3] for row in printed[3:9]] == [row.split()[:3] for row in wanted[3:9]]  # sizes and transports
    assert wanted[9] in printed
    assert set(labels(wanted[9:])) <= set(labels(printed[9:]))
