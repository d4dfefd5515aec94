"""The project around the package: locks, citation, set-up, linters, the worked example, the tests' own rules."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import labkit
from labkit import host, tools
from labkit.errors import LaunchError
from labkit.kernels import programs
from labkit.run import launch

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
KERNELS = sorted((ROOT / "labkit" / "kernels").glob("*.c"))
LOCKS = [ROOT / "requirements.lock", *sorted((ROOT / "templates" / "setup").glob("*.lock"))]
BIN = Path(sys.executable).parent


def normal(requirement: str) -> str:
    """Name of a package in a requirement, as package indexes spell it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\s<>=!~;\[]", requirement, maxsplit=1)[0]).lower()


def run(*command: object, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command's outcome, with all it wrote."""
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_a_script_beside_a_clone_imports_the_package_not_the_folder(tmp_path: Path) -> None:
    (tmp_path / "labkit" / "labkit").mkdir(parents=True)  # as a clone: a folder of the name, without __init__.py
    (tmp_path / "script.py").write_text("from labkit import sweep\nprint(sweep.__name__)\n")
    done = run(sys.executable, "script.py", cwd=tmp_path, PYTHONPATH="")
    assert done.stdout == "sweep\n", done.stderr


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_pins_with_hashes_and_names_no_server(lock: Path) -> None:
    text = lock.read_text()
    assert "://" not in text
    entries = re.split(r"\n(?=\S)", "\n".join(line for line in text.splitlines() if not line.startswith("#")))
    assert entries
    for entry in entries:
        assert re.match(r"[\w.-]+==\S+", entry), entry
        assert "--hash=sha256:" in entry, entry


def test_the_lock_holds_all_that_measuring_and_reporting_ask_for() -> None:
    locked = {normal(line) for line in LOCKS[0].read_text().splitlines() if "==" in line}
    project = PYPROJECT["project"]
    asked = [
        *project["dependencies"],
        *project["optional-dependencies"]["report"],
        *PYPROJECT["build-system"]["requires"],
    ]
    assert {normal(requirement) for requirement in asked} <= locked


@pytest.mark.parametrize("extra", ["lab", "test", "docs"])
def test_a_small_lock_holds_what_its_extra_adds(extra: str) -> None:
    locks = [ROOT / "requirements.lock", *((ROOT / "templates/setup" / f"{name}.lock") for name in ("lab", extra))]
    locked = {normal(line) for lock in locks for line in lock.read_text().splitlines() if "==" in line}
    asked = {normal(requirement) for requirement in PYPROJECT["project"]["optional-dependencies"][extra]}
    assert asked - {"labkit"} <= locked


CONDA = {  # name on PyPI → name on conda-forge, where they differ
    "duckdb": "python-duckdb",
    "kaleido": "python-kaleido",
    "playwright": "playwright-python",
    "pypandoc-binary": "pypandoc",
    "typst": "typst-py",
}


def bounds(requirements: list[str], names: dict[str, str]) -> dict[str, str]:
    """Name → version bound; empty for none."""
    found = {}
    for one in requirements:
        name, bound = re.fullmatch(r"([\w.-]+?) ?([<>=!~].*)?", one).groups()
        found[names.get(normal(name), normal(name))] = bound or ""
    return found


def test_conda_gets_what_the_package_asks_for_name_by_name() -> None:
    listed = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    (pip,) = (one["pip"] for one in listed if isinstance(one, dict))
    environment = bounds([*(one for one in listed if isinstance(one, str)), *pip], {})
    project = PYPROJECT["project"]
    extras = [one for name in ("report", "lab", "test") for one in project["optional-dependencies"][name]]
    asked = bounds([one for one in [*project["dependencies"], *extras] if not one.startswith("labkit[")], CONDA)
    assert {name: environment.get(name, "absent") for name in asked} == asked
    assert environment["python"] == project["requires-python"]
    assert not environment.keys() & {"netperf", "perftest", "iozone", "pyverbs", "iperf3", "sockperf", "qperf"}


RECIPE = "templates/setup/conda/recipe.yaml"


def test_the_conda_recipe_asks_for_what_the_package_asks_for() -> None:
    recipe, project = yaml.safe_load((ROOT / RECIPE).read_text()), PYPROJECT["project"]
    listed = {part: bounds(ones, {}) for part, ones in recipe["requirements"].items() if part != "build"}
    assert recipe["context"]["version"] == labkit.__version__
    assert recipe["about"]["license"] == project["license"]
    assert recipe["about"]["summary"] == project["description"]
    assert recipe["about"]["homepage"] == project["urls"]["Homepage"]
    assert listed["run"] == bounds(project["dependencies"], CONDA) | {"python": ""}
    assert listed["run_constraints"] == bounds(project["optional-dependencies"]["report"], CONDA)
    assert listed["host"] == bounds(PYPROJECT["build-system"]["requires"], {}) | {"python": "", "pip": ""}
    oldest = project["requires-python"].removeprefix(">=")
    assert f'match(python, "<{oldest}")' in recipe["build"]["skip"]


def test_hosted_pipelines_run_every_python_with_every_mpi_that_ci_knows() -> None:
    pythons = {one.rpartition(" ")[2] for one in PYPROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", one)}
    (known,) = re.findall(r"Choose (.*)\.\"", (ROOT / ".ci/run").read_text())
    mpis = set(re.split(r", | or ", known))
    assert {f"{name}.lock" for name in mpis - {"system"}} <= {p.name for p in (ROOT / "templates/setup").iterdir()}
    github = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["tests"]
    matrix = github["strategy"]["matrix"]
    assert set(matrix["python"]) == pythons
    assert {*matrix["mpi"], *(one["mpi"] for one in matrix["include"])} == mpis
    assert ".ci/run ${{ matrix.mpi }}" in [step.get("run") for step in github["steps"]]
    gitlab = yaml.safe_load((ROOT / ".gitlab-ci.yml").read_text())["tests"]
    assert {one for entry in gitlab["parallel"]["matrix"] for one in entry["VERSION"]} == pythons
    assert {one for entry in gitlab["parallel"]["matrix"] for one in entry["MPI"]} == mpis
    assert gitlab["script"] == ['.ci/run "$MPI"']
    assert run("bash", "-n", ".ci/run").returncode == 0


def test_the_steps_of_a_release_name_targets_and_files_that_exist() -> None:
    text = (ROOT / "RELEASING.md").read_text()
    targets = {line.split()[0] for line in run("make", "-s", "help").stdout.splitlines()}
    used = set(re.findall(r"^ +make ([\w-]+)|`make ([\w-]+)`", text, re.MULTILINE))
    assert {first or second for first, second in used} <= targets | {"lock"}
    for name in re.findall(r"\$EDITOR (\S+)", text):
        assert labkit.__version__ in (ROOT / name).read_text(), name


def test_the_citation_names_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == labkit.__version__
    assert citation["license"] == PYPROJECT["project"]["license"]
    assert citation["repository-code"] == PYPROJECT["project"]["urls"]["Source"]
    assert citation["url"] == PYPROJECT["project"]["urls"]["Homepage"]
    sections = re.findall(r"^## \[(.*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    if sections and not sections[0].startswith("Unreleased"):
        assert sections[0] == f"{labkit.__version__}] - {citation['date-released']}"


def test_every_marker_has_a_time_budget() -> None:
    markers = {entry.partition(":")[0] for entry in PYPROJECT["tool"]["pytest"]["ini_options"]["markers"]}
    budgets = PYPROJECT["tool"]["labkit"]["test-budgets"]
    assert set(budgets) == markers | {"pure"}
    together = sum(budgets.values()) - budgets["pure"] / 2  # those run on two cores
    assert together - budgets["slow"] <= 6.5 * 60, "12 minutes, where other work takes half of the cores"
    assert together <= 50 * 60


def test_make_help_lists_the_fixed_words() -> None:
    shown = {line.split()[0] for line in run("make", "-s", "help").stdout.splitlines()}
    words = "setup setup-all testing report survey check test test-all bench faults lab venvs docs dist"
    assert set(words.split()) <= shown


@pytest.mark.parametrize(
    "target", ["setup", "setup-all", "testing", "jupyter", "report", "survey", "check", "test-all"]
)
def test_make_says_once_that_set_up_is_complete_and_lists_missing_packages_once(target: str) -> None:
    planned = run("make", "-n", "-B", target).stdout
    assert planned.count("Set-up is complete") == 1
    assert planned.count("/system.sh") == 1
    before, _, after = planned.partition("Set-up is complete")
    for once in ("/system.sh", "/python.sh packages .venv ", "/python.sh labkit .venv\n"):
        assert once in before
        assert once not in after


def test_quarto_is_installed_where_it_is_asked_for() -> None:
    assert "python.sh quarto .venv" in run("make", "-n", "-B", "setup", "QUARTO=yes").stdout
    assert "python.sh quarto" not in run("make", "-n", "-B", "setup").stdout


SYSTEM = ROOT / "templates" / "setup" / "system.sh"
SHELL = (
    "awk",
    "bash",
    "cat",
    "env",
    "find",
    "grep",
    "head",
    "id",
    "ls",
    "mktemp",
    "mv",
    "rm",
    "chmod",
    "sed",
    "sort",
    "tr",
    "uname",
    "comm",
)


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    """Variables of a user without Python, compilers and tools."""
    (tmp_path / "bin").mkdir()
    for name in SHELL:
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    (tmp_path / "bin" / "apt-get").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin" / "apt-get").chmod(0o755)
    return {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path), "APT": "no"}


def asked_of_apt(level: str, cwd: Path, variables: dict[str, str]) -> list[str]:
    """Packages that set-up asks an ordinary user to install."""
    said = run("bash", SYSTEM, *level.split(), cwd=cwd, **variables).stdout
    assert "Everything else works" not in said
    return re.findall(r"^To install them: sudo apt-get install --no-install-recommends (.*)$", said, re.M)[0].split()


def test_set_up_asks_for_each_package_once_and_for_more_at_each_level(tmp_path: Path, bare: dict[str, str]) -> None:
    quick, everything, tests = (asked_of_apt(level, tmp_path, bare) for level in ("", "all", "test"))
    assert all(len(packages) == len(set(packages)) for packages in (quick, everything, tests))
    assert {"python3", "gcc", "openmpi-bin", "fio", "iperf3", "sockperf", "qperf", "chromium-headless-shell"} <= set(
        quick
    )
    assert not {"g++", "gfortran", "hpcc", "thrift-compiler", "redis-server", "qemu-system-x86"} & set(quick)
    assert set(quick) < set(everything) < set(tests)
    assert not {"netperf", "iozone3"} & set(tests), "non-free software comes with NONFREE=yes only"
    for program in (launch.programs() | tools.programs() | host.PROGRAMS).values():
        level = {"setup": quick, "setup-all": everything, "testing": tests}.get(program.target, tests)
        there = set(program.package.split()) & {*tests, *quick}  # libraries may be on this machine already
        assert there <= set(level), f"make {program.target} does not install {program.name}"
        if program.target == "setup-all" and not program.install:
            assert not set(program.package.split()) & set(quick), f"make setup installs {program.name} already"


def test_a_user_without_root_gets_commands_for_mpi_and_chrome(
    tmp_path: Path, bare: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = run("bash", SYSTEM, cwd=tmp_path, **bare).stdout
    assert "Without root: make mpich installs an MPI library into .venv." in said
    assert ".venv/bin/choreo_get_chrome downloads Chrome." in said
    monkeypatch.setattr(launch, "installed", dict)
    monkeypatch.setattr(launch, "_why_broken", lambda names: "")
    with pytest.raises(LaunchError, match=r"in one of these ways: make (-C \S+ )?mpich \(without root\), the Debian"):
        launch.get("auto")
    assert "templates/setup/mpich.lock" in run("make", "-n", "mpich").stdout


def packages_asked_for(
    folder: Path, variables: dict[str, str], *, python: str = "", uv: str = ""
) -> subprocess.CompletedProcess[str]:
    """What set-up says in a bare checkout with this python3 and this uv, lines of shell each; empty for none."""
    copy = folder / "templates" / "setup" / "python.sh"
    copy.parent.mkdir(parents=True)
    shutil.copy(ROOT / "templates" / "setup" / "python.sh", copy)
    (folder / "bin" / "dirname").symlink_to(str(shutil.which("dirname")))
    (folder / "requirements.lock").touch()
    for name, lines in {"python3": python, "uv": uv}.items():
        if lines:
            (folder / "bin" / name).write_text(f"#!/bin/sh\n{lines}\n")
            (folder / "bin" / name).chmod(0o755)
    return run("bash", copy, "packages", ".venv", "requirements.lock", cwd=folder, **variables)


OLD = 'case "$1" in -V) echo Python 3.9.2 ;; *) exit 1 ;; esac'
WAYS = ("with root, on Debian 12", "without root: curl ", "with conda, in place of make setup: conda env create ")


def test_a_user_without_python_gets_three_commands(tmp_path: Path, bare: dict[str, str]) -> None:
    done = packages_asked_for(tmp_path, bare)
    assert done.returncode == 1
    head, *ways = done.stderr.splitlines()
    assert head == (
        "labkit needs Python 3.11 or newer, but this machine has no python3. Do one of these, then run make setup again:"
    )
    assert [way.strip().startswith(words) for way, words in zip(ways, WAYS, strict=True)] == [True] * 3


def test_a_python_without_venv_leaves_no_half_environment(tmp_path: Path, bare: dict[str, str]) -> None:
    """As that of Debian without python3-venv does: it makes the folder, fails, and explains itself at length."""
    half = 'for last; do :; done; [ "$2" != venv ] || { mkdir -p "$last/bin"; cp "$0" "$last/bin/python"; echo Oh; exit 1; }'
    (tmp_path / "bin" / "mkdir").symlink_to(str(shutil.which("mkdir")))
    (tmp_path / "bin" / "cp").symlink_to(str(shutil.which("cp")))
    done = packages_asked_for(tmp_path, bare, python=half)
    assert done.stderr.startswith("python3 cannot make virtual environments, because venv or ensurepip is missing. Do ")
    assert done.stdout == ""
    assert not (tmp_path / ".venv").exists()


def test_where_python_is_too_old_uv_brings_one(tmp_path: Path, bare: dict[str, str]) -> None:
    done = packages_asked_for(tmp_path, bare, python=OLD, uv=f'echo "$@" >>{tmp_path}/asked')
    assert done.stdout.startswith("labkit needs Python 3.11 or newer, but python3 here is Python 3.9.2: uv takes ")
    assert "venv -q --clear --python >=3.11 .venv\n" in (tmp_path / "asked").read_text()


def test_where_python_is_too_old_and_uv_cannot_download_one_there_are_three_commands(
    tmp_path: Path, bare: dict[str, str]
) -> None:
    done = packages_asked_for(tmp_path, bare, python=OLD, uv='[ "$1" = --version ]')
    assert done.returncode == 1
    head, *ways = done.stderr.splitlines()
    assert head.startswith("labkit needs Python 3.11 or newer, but python3 here is Python 3.9.2, and uv could not ")
    assert len(ways) == len(WAYS)


def test_services_that_packages_bring_are_neither_started_nor_enabled(tmp_path: Path) -> None:
    """What was enabled before stays so; a policy of the machine's own is obeyed and put back."""
    units, wants, rc = (
        tmp_path / "systemd" / "system",
        tmp_path / "systemd/system/multi-user.target.wants",
        tmp_path / "rc2.d",
    )
    for folder in (wants, rc, tmp_path / "init.d"):
        folder.mkdir(parents=True)
    (tmp_path / "init.d" / "ssh").touch()
    (wants / "ssh.service").symlink_to("/lib/systemd/system/ssh.service")
    policy = tmp_path / "policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 104\n")
    policy.chmod(0o755)
    functions = SYSTEM.read_text().partition("\nmain() {")[0]
    script = f"""{functions}
ETC={tmp_path} POLICY={policy} KEPT={policy}.kept
dpkg() {{ case "$*" in *getty*) say "systemd: x" ;; *) say "redis-server: x" ;; esac; }}
dpkg-query() {{ case "$*" in *systemd*) say important ;; *) say optional ;; esac; }}
update-rc.d() {{ say "$1 $2" >>{tmp_path}/told; }}
enabled >{tmp_path}/before
hold_services
for unit in surely-new ssh ssh.service; do $POLICY $unit start && say "$unit 0" || say "$unit $?"; done
ln -s /lib/systemd/system/redis-server.service {wants}/redis-server.service
ln -s /lib/systemd/system/redis-server.service {units}/redis.service
ln -s /lib/systemd/system/getty@.service {wants}/getty@tty1.service
ln -s ../init.d/netperf {rc}/S01netperf
touch {tmp_path}/init.d/netperf
allow_services
disable_new {tmp_path}/before
"""
    done = run("bash", "-c", script)
    assert done.stdout.splitlines()[:3] == ["surely-new 101", "ssh 104", "ssh.service 104"], done.stderr
    assert "neither started nor enabled: netperf redis-server." in done.stdout
    assert policy.read_text() == "#!/bin/sh\nexit 104\n"
    assert not policy.with_name("policy-rc.d.kept").exists()
    assert sorted(path.name for path in wants.iterdir()) == ["getty@tty1.service", "ssh.service"]
    assert not (units / "redis.service").is_symlink()
    assert (tmp_path / "told").read_text() == "netperf disable\n"


def test_an_interrupted_installation_leaves_no_policy(tmp_path: Path) -> None:
    functions, policy = SYSTEM.read_text().partition("\nmain() {")[0], tmp_path / "policy-rc.d"
    done = run(
        "bash",
        "-c",
        f"{functions}\nPOLICY={policy} KEPT={policy}.kept\nhold_services; ls {policy}; kill -TERM $$; sleep 9",
    )
    assert done.returncode == 143
    assert done.stdout.strip() == str(policy)
    assert not policy.exists()


@pytest.mark.slow
def test_set_up_says_why_a_program_was_not_built(tmp_path: Path) -> None:
    if not (programs.path("coarray").exists() and shutil.which("gfortran")):
        pytest.skip("no coarrays here")
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "labkit", "templates"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, tmp_path / name)
    source = tmp_path / "labkit" / "kernels" / "programs" / "coarray.f90"
    before = source.stat()
    source.write_text(source.read_text().replace("implicit none", "implicit nothing", 1))
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))  # the others stay as they are
    source.with_suffix("").unlink()
    for built in [*(programs.path(name).name for name in programs.RECIPES), "../_kernels_*.so"]:
        for path in source.parent.glob(built):
            path.touch()  # newer than its sources: not built again
    done = run(
        "bash", tmp_path / "templates/setup/python.sh", "programs", BIN.parent, cwd=tmp_path, PYTHONPATH=str(tmp_path)
    )
    assert "Not built: coarray." in done.stdout, done.stdout + done.stderr
    assert re.search(r"coarray\.f90 was not built: .*Error", done.stdout), done.stdout
    assert "run make setup again" in done.stdout


@pytest.mark.parametrize(
    ("file", "text", "wanted"),
    [
        (
            "debian.sources",
            "Types: deb\n# a mirror\nURIs: http://mirror.invalid/debian\nSuites: bookworm bookworm-updates\n"
            "Components: main contrib\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n"
            "Types: deb\nURIs: http://mirror.invalid/debian-security\nSuites: bookworm-security\nComponents: main\n",
            "Types: deb\nURIs: http://mirror.invalid/debian\nSuites: bookworm\nComponents: {component}\n"
            "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n",
        ),
        (
            "debian.list",
            "# the machine's own\ndeb http://mirror.invalid/debian-security bookworm-security main\n"
            "deb [arch=amd64] http://mirror.invalid/debian bookworm main contrib\n",
            "deb [arch=amd64] http://mirror.invalid/debian bookworm {component}\n",
        ),
    ],
)
def test_non_free_is_taken_from_the_machines_own_sources(tmp_path: Path, file: str, text: str, wanted: str) -> None:
    if not shutil.which("apt-get"):
        pytest.skip("no apt here")
    lists = tmp_path / "lists"
    (lists / "partial").mkdir(parents=True)
    (tmp_path / file).write_text(text)
    identity = dict(re.findall(r'^(\w+)="?([^"\n]*)', Path("/etc/os-release").read_text(), flags=re.MULTILINE))["ID"]
    for suite in ("debian_dists_bookworm", "debian-security_dists_bookworm-security"):
        # apt knows whose a source is from the index it has of it
        (lists / f"mirror.invalid_{suite}_Release").write_text(f"Origin: {identity}\nSuite: s\nCodename: bookworm\n")
        (lists / f"mirror.invalid_{suite}_main_binary-amd64_Packages").touch()
    config = tmp_path / "apt.conf"
    kept = f'Dir::Etc::sourcelist "none.list"; Dir::Etc::sourceparts "{tmp_path}"; Dir::State::Lists "{lists}";\n'
    config.write_text(kept + 'APT::Architecture "amd64";\n')
    done = run(ROOT / "templates/setup/system.sh", "non-free-source", APT_CONFIG=str(config))
    assert done.stdout == wanted.format(component="multiverse" if identity == "ubuntu" else "non-free"), done.stderr


@pytest.mark.parametrize("handle", ["INT", "PTR"])
@pytest.mark.parametrize("effort", ["-fsyntax-only", pytest.param("-O2", marks=pytest.mark.slow)])
def test_the_kernels_compile_without_warnings(handle: str, effort: str, tmp_path: Path) -> None:
    """With -O2 the compiler also warns of what it finds by following values."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no C compiler")
    strict = [effort, "-Wall", "-Wextra", "-Werror", f"-DHANDLE_{handle}=1"]
    done = run(compiler, *strict, "-fPIC", "-c", *KERNELS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not [source.name for source in KERNELS if re.search(r"#include [<\"]mpi\.h[>\"]", source.read_text())]


NOTEBOOKS = sorted(p for p in (ROOT / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
LINTERS: dict[str, list[object]] = {
    "ruff check": [BIN / "ruff", "check", "--no-cache", "-q"],
    "ruff format": [BIN / "ruff", "format", "--no-cache", "--check", "-q"],
    "mypy": [sys.executable, "-m", "mypy", "--no-error-summary"],
    "codespell": [BIN / "codespell"],
    "clang-format": [BIN / "clang-format", "--dry-run", "-Werror", *KERNELS, *KERNELS[0].parent.glob("*.h")],
    "nbstripout": [BIN / "nbstripout", "--keep-id", "--verify", *NOTEBOOKS]
    if NOTEBOOKS
    else [BIN / "nbstripout", "--version"],
}


@pytest.mark.slow  # continuous integration runs `make lint`
@pytest.mark.parametrize("linter", LINTERS)
def test_a_linter_has_nothing_to_say(linter: str) -> None:
    command = LINTERS[linter]
    if linter != "mypy" and not Path(str(command[0])).exists():
        pytest.skip(f"{linter} is not installed here; make setup brings it")
    done = run(*command)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


# ---- the rules of the tests themselves -------------------------------------------------------------------------

EXAMPLES = """
import pytest

@pytest.mark.netns
def test_needs_a_namespace(): pass

@pytest.mark.{marker}
def test_gives_up(): pytest.skip("on purpose")

def test_pure(): pass
"""


def outcomes(folder: Path, marker: str, *prefix: str, **environment: str) -> str:
    """What pytest says of some tests under this project's own rules."""
    (folder / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "conftest.py", folder / "tests")
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "tests" / "test_examples.py").write_text(EXAMPLES.format(marker=marker))
    options = ["-p", "no:cacheprovider", "--basetemp", str(folder / "base")]  # beside other runs, which clean up
    done = run(*prefix, sys.executable, "-m", "pytest", *options, "tests", cwd=folder, **environment)
    assert "what this machine can do" in done.stdout, done.stdout + done.stderr
    return done.stdout


@pytest.mark.netns
def test_a_skip_of_a_required_marker_fails(tmp_path: Path) -> None:
    text = outcomes(tmp_path, "netns", LABKIT_REQUIRE="netns,slurm")
    assert "LABKIT_REQUIRE=netns allows no skip: Skipped: on purpose" in text
    assert re.search(r"netns +2 tests +required +available", text)
    assert re.search(r"slurm +0 tests +required +no tests ran", text)
    assert re.search(r"^netns +[\d.]+/\d+ s", text, flags=re.MULTILINE)
    assert "1 failed, 2 passed" in text.splitlines()[-1]


@pytest.mark.netns
def test_without_the_variable_a_skip_is_a_skip(tmp_path: Path) -> None:
    assert "2 passed, 1 skipped" in outcomes(tmp_path, "netns", LABKIT_REQUIRE="").splitlines()[-1]


@pytest.mark.slow
def test_what_the_kernel_lacks_is_said_and_may_be_skipped(tmp_path: Path) -> None:
    none = 'echo 0 >/proc/sys/user/max_net_namespaces; exec "$@"'
    without = ["unshare", "--user", "--map-root-user", "sh", "-c", none, "sh"]
    if os.geteuid() == 0:
        without = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    if run(*without, "true").stderr:
        pytest.skip("nothing here can take the right to make namespaces away")
    text = outcomes(tmp_path, "netns", *without, LABKIT_REQUIRE="netns")
    assert re.search(r"netns +2 tests +required +kernel lacks it", text)
    assert "1 passed, 2 skipped" in text.splitlines()[-1]


def test_an_unknown_requirement_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    done = run(sys.executable, "-m", "pytest", "tests/test_project.py", "--collect-only", LABKIT_REQUIRE="mpi,wings")
    assert done.returncode == 4
    assert "LABKIT_REQUIRE names ['wings'], but there are: mpi, netns, verbs, slurm, browser, simgrid." in done.stderr


def test_every_test_that_the_security_document_names_is_there() -> None:
    text = (ROOT / "docs" / "security.md").read_text()
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert "Suites, sites and command lines" in headings
    named = re.findall(r"`(test_\w+\.py)(?:::(test_\w+))?`", text)
    assert len(named) > 30
    for file, name in named:
        path = ROOT / "tests" / file
        assert path.is_file(), file
        assert not name or f"def {name}(" in path.read_text(), f"{file}::{name}"


BENCHES = sorted(path for path in (ROOT / "bench").glob("*.py") if "__main__" in path.read_text())


def test_every_bench_parses_its_arguments() -> None:
    """Otherwise --help would start measuring."""
    assert len(BENCHES) > 20
    assert [path.name for path in BENCHES if ".parse_args()" not in path.read_text()] == []


@pytest.mark.slow
@pytest.mark.parametrize("path", BENCHES, ids=lambda path: path.stem)
def test_a_bench_describes_itself_and_measures_nothing(path: Path) -> None:
    done = subprocess.run([sys.executable, path, "--help"], capture_output=True, text=True, timeout=240, check=True)
    assert done.stdout.startswith("usage: ")
    assert len(done.stdout.splitlines()) < 60
