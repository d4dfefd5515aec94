"""The shape of the package: layers, who may import what, what an import loads, how long a module is."""

import ast
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import labkit
from labkit import benchmarks

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted((ROOT / "labkit").rglob("*.py"))
LOADED = "import sys; print(*sorted({name.partition('.')[0] for name, module in sys.modules.items() if module}))"


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Import-linter's verdict on the package in a folder."""
    command = Path(sys.executable).with_name("lint-imports")
    environment = os.environ | {"PYTHONPATH": str(folder)}
    return subprocess.run(
        [command, "--no-cache", "--config", folder / "pyproject.toml"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )


def third_party(statements: str) -> set[str]:
    """Packages outside the standard library that a fresh interpreter loads for these statements."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}

    def loaded(first: str) -> set[str]:
        command = [sys.executable, "-c", f"{first}\n{LOADED}"]
        return set(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split())

    return loaded(statements) - loaded("") - set(sys.stdlib_module_names) - {"labkit"}


def test_imports_point_down_the_layers() -> None:
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_wrong_imports_are_found(tmp_path: Path) -> None:
    copied(tmp_path)
    for file, line in {  # the modules must be there: a new one would break another rule
        "errors/__init__.py": "import labkit.point.spec",
        "point/units.py": "import labkit.store.samples",
        "point/spec.py": "import mpi4py",
        "store/samples/__init__.py": "from mpi4py import MPI",
        "point/columns.py": "import pyverbs.device",
    }.items():
        module = tmp_path / "labkit" / file
        module.write_text(f"{module.read_text()}\n{line}\n")
    done = lint_imports(tmp_path)
    assert done.returncode != 0
    for broken in (
        "labkit.errors -> labkit.point.spec",
        "labkit.point.units -> labkit.store.samples",
        "labkit.point.spec -> mpi4py",
        "labkit.store.samples -> mpi4py",
        "labkit.point.columns -> pyverbs",
    ):
        assert broken in done.stdout


@pytest.mark.slow
def test_a_module_without_a_layer_is_found(tmp_path: Path) -> None:
    (copied(tmp_path) / "helpers.py").touch()
    done = lint_imports(tmp_path)
    assert done.returncode != 0
    assert "not listed as layers:\n\n- labkit.helpers" in done.stdout


def copied(folder: Path) -> Path:
    """The package in a folder, with its contracts, to be spoilt."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    return shutil.copytree(ROOT / "labkit", folder / "labkit", ignore=shutil.ignore_patterns("__pycache__"))


@pytest.mark.parametrize("module", ["labkit.worker", "labkit.kernels.native", "labkit.benchmarks"])
def test_a_rank_loads_numpy_and_mpi4py_alone(module: str) -> None:
    assert third_party(f"import {module}") <= {"numpy", "mpi4py"}


def test_finding_benchmarks_loads_numpy_alone() -> None:
    assert third_party("import labkit.benchmarks; assert labkit.benchmarks.find()") <= {"numpy"}


def test_importing_labkit_is_light(capsys: pytest.CaptureFixture[str]) -> None:
    heavy = {"pandas", "plotly", "pyarrow", "pydantic", "mpi4py", "IPython", "ipywidgets", "papermill"}
    started = time.perf_counter()
    assert not third_party("import labkit") & heavy
    with capsys.disabled():
        # two interpreters start in there, so this is an upper bound
        print(f"\n[import labkit: under {(time.perf_counter() - started) / 2:.2f} s with the interpreter's start]")


@pytest.mark.parametrize(
    ("words", "missing"),
    [
        (
            ["--help"],
            {"numpy", "pandas", "pyarrow", "pydantic", "plotly", "duckdb", "jinja2", "platformdirs", "subprocess"},
        ),
        (["measure", "--help"], {"numpy"}),
        (["show", "--help"], {"numpy"}),
        (["describe", "mpi.latency"], {"pandas", "pyarrow", "pydantic"}),
        (["list"], {"pandas", "pyarrow", "pydantic"}),
        pytest.param(["doctor"], {"pandas", "pyarrow"}, marks=pytest.mark.slow),
    ],
    ids=["help", "measure", "show", "describe", "list", "doctor"],
)
def test_a_verb_loads_no_more_than_it_needs(words: list[str], missing: set[str]) -> None:
    script = (
        "import contextlib, io, sys\nfrom labkit.apps import cli\nsaid = io.StringIO()\n"
        "with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):\n"
        f"    cli.main({words})\n"
        f"print(bool(said.getvalue()), *sorted({missing} & set(sys.modules)))"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["True"]


def test_measuring_has_one_thread_of_numpys_library() -> None:
    script = (
        "import os\nfrom labkit.apps import cli\ncli.main(['measure', 'micro.clock', '--dry-run'])\n"
        "print(len(os.listdir('/proc/self/task')), 'OPENBLAS_NUM_THREADS' in os.environ)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    environment["PYTHONPATH"] = str(ROOT)
    done = subprocess.run([sys.executable, "-c", script], env=environment, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "1 False"


def test_at_most_ten_public_names() -> None:
    assert 1 <= len(labkit.__all__) <= 10
    assert len(set(labkit.__all__)) == len(labkit.__all__)
    for name in labkit.__all__:
        assert callable(getattr(labkit, name)), name
    # what is defined here without an underscore, or looked up when first used, is public
    script = (
        "import labkit, types; print(*(n for n, v in vars(labkit).items() if not n.startswith('_') and "
        "isinstance(v, (type, types.FunctionType)) and v.__module__ == 'labkit'), *labkit._HOMES)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert sorted(done.stdout.split()) == sorted(labkit.__all__)


@pytest.mark.slow
def test_mpi_is_never_initialised_by_an_import_outside_ranks() -> None:
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in MODULES
        if not {"worker", "__main__.py", "verbs"} & set(path.relative_to(ROOT).parts)
        and path.relative_to(ROOT).parts[1:3] != ("kernels", "learning")  # needs torch
    ]
    imports = "\n".join(f"import {name}" for name in names)
    check = f"{imports}\nimport sys\nassert 'mpi4py.MPI' not in sys.modules"
    subprocess.run([sys.executable, "-c", check], env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True, timeout=240)


def nodes(tree: ast.AST, inside: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    """Imports, each with whether it stands inside a function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, inside
        yield from nodes(node, inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_no_package_uses_what_another_keeps_to_itself() -> None:
    """A name with an underscore belongs to its package, such as `labkit.tools`."""
    wrong = []
    for path in MODULES:
        own, source = path.relative_to(ROOT).parts[1], path.read_text()
        if not re.search(r"^\s*(?:from|import) labkit(?:[^\n(]|\([^)]*\))*\b_[a-z]", source, re.M):
            continue  # parsing takes a second for 250 files
        for node, _ in nodes(ast.parse(source)):
            names = [f"{node.module}.{one.name}" for one in node.names] if isinstance(node, ast.ImportFrom) else []
            names += [one.name for one in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                first, *rest = name.split(".")
                private = [part for part in rest if part.startswith("_") and not part.startswith("__")]
                if first == "labkit" and private and rest[0] != own:
                    wrong.append(f"{path.relative_to(ROOT)}: {name}")
    assert wrong == []


# a command and a rank load what they run; the docstring of the third says why
LATE = ("apps/cli", "worker", "kernels/programs/rpc_python.py")


def test_an_import_inside_a_function_says_why() -> None:
    """Imports stand at the top of a module, unless starting without them is worth it, or a package may be missing."""
    unexplained = []
    for path in MODULES:
        source = path.read_text()
        if str(path.relative_to(ROOT / "labkit")).startswith(LATE) or not re.search(
            r"^[ \t]+(?:from [\w.]+ )?import ", source, re.M
        ):
            continue
        lines, known = source.splitlines(), 0
        for node, inside in nodes(ast.parse(source)):
            told = "#" in "".join(lines[node.lineno - 1 : node.end_lineno])
            if inside and not told and known != node.lineno - 1:  # a comment holds for the imports below it too
                unexplained.append(f"{path.relative_to(ROOT)}:{node.lineno}: {lines[node.lineno - 1].strip()}")
            known = node.end_lineno if told or known == node.lineno - 1 else 0
    assert unexplained == []


def test_a_module_is_named_for_its_concept() -> None:
    names = [path.relative_to(ROOT) for path in MODULES]
    vague = {"utils", "common", "core", "helpers"}
    assert not [name for name in names if vague & {part.removesuffix(".py") for part in name.parts}]


def test_no_file_of_the_tests_starts_mpi_when_it_is_read() -> None:
    """Doctests import every file; `mpi4py.MPI` would turn pytest into a job of one rank, and mpirun fails below one."""
    wrong = []
    for path in Path(__file__).parent.rglob("*.py"):
        text = path.read_text()
        for node in ast.parse(text).body if "mpi4py" in text else ():
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            wrong += [path.name for name in names if name.partition(".")[0] == "mpi4py"]
    assert wrong == []


TOLD = ("purpose", "instead")  # of a tool: words for people
# what may name benchmarks all the same
NAMED = {
    "labkit/run/simulated_interference.py": {"congestion.incast"},  # the aggressor that labkit makes itself
    "labkit/testbeds/simulation/measured.py": {"mpi.latency"},  # whose times calibrate a simulation
}


def test_what_a_benchmark_is_stands_in_its_file() -> None:
    """What runs, places, simulates and draws benchmarks asks their files, and knows neither their names nor families."""
    known, found = set(benchmarks.every()), dict[str, set[str]]()
    layers = ("run", "testbeds", "worker", "tools", "read", "figures")
    for path in (path for layer in layers for path in (ROOT / "labkit" / layer).rglob("*.py")):
        tree = ast.parse(path.read_text())
        free = {
            id(k.value) for node in ast.walk(tree) if isinstance(node, ast.Call) for k in node.keywords if k.arg in TOLD
        }
        named = {
            node.value if isinstance(node, ast.Constant) else ast.unparse(node)
            for node in ast.walk(tree)
            if (isinstance(node, ast.Constant) and node.value in known and id(node) not in free)
            or (isinstance(node, ast.Attribute) and node.attr == "family")
        }
        if named:
            found[str(path.relative_to(ROOT))] = named
    assert found == NAMED


def test_the_page_on_the_architecture_names_files_that_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    named = set(re.findall(r"`(labkit/[\w./-]+)`", page)) - {"labkit/_shipped"}  # only in an installed package
    assert len(named) > 50
    assert sorted(one for one in named if not (ROOT / one).exists()) == []
