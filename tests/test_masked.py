"""Programming errors are never shown as missing data: broad exception types are caught only in the places listed."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "labkit"
BROAD = frozenset(
    {"AttributeError", "TypeError", "LookupError", "KeyError", "IndexError", "Exception", "BaseException"}
)
# file → how many places catch a broad type and go on or raise another error, and why they may
ALLOWED = {
    "store/archive.py": (2, "a foreign archive, which zipfile reads, and its metadata"),
    "store/packing.py": (1, "what zipfile raises for an entry of a foreign archive"),
    "apps/cli/__init__.py": (1, "libraries raise various errors if Ctrl-C interrupts them while they load"),
    "apps/explorer/panels/answer.py": (1, "the error goes to the future that waits"),
    "apps/explorer/measurement.py": (1, "a note that another process writes"),
    "figures/style.py": (1, "values of a trace that may be no numbers"),
    "host/allocation.py": (1, "variables of a batch system"),
    "host/others.py": (1, "a file of /proc"),
    "kernels/cuda.py": (1, "a function that an older driver of NVIDIA lacks"),
    "apps/jobs/submitted.py": (1, "a note of an earlier submission"),
    "point/host_list.py": (1, "a list of hosts"),
    "kernels/learning/compression.py": (1, "the error is handed to the thread that waits"),
    "run/progress.py": (1, "a note that another process writes"),
    "io/safe_read.py": (1, "what the operating system gives as the name of a file"),
    "kernels/programs/rpc_python.py": (1, "a server answers with the error"),
    "report/check.py": (1, "a variable that a user's chapter names"),
    "report/notebook.py": (2, "foreign notebooks, which nbformat reads, and figures in them"),
    "report/pairing.py": (1, "figures in foreign notebooks"),
    "suites/notebooks.py": (1, "a kernel that dies: its notebook is marked as failed"),
    "io/supervise/leftovers.py": (1, "a note of a process that was killed"),
    "io/supervise/supervisor.py": (3, "whatever happens, the tree is ended"),
    "apps/teaching/questions.py": (1, "the answer of a learner"),
    "testbeds/_kept.py": (1, "a daemon hands the error to the process that started it"),
    "tuning/plan.py": (1, "campaign.json from elsewhere"),
    "kernels/verbs/__main__.py": (1, "the error goes to the parent process"),
    "kernels/verbs/selftest.py": (1, "the error is the result of the test"),
    "worker/__main__.py": (1, "the error goes to the parent process"),
    "worker/setting.py": (1, "MPI's own error for a file that it cannot open"),
    "worker/solution.py": (1, "a file of /proc"),
}


def caught(path: Path) -> int:
    """Exception handlers of a module that catch a broad type and do not end with raising it again."""
    broad = BROAD | aliases()
    count = 0
    for node in ast.walk(trees()[path]):
        if isinstance(node, ast.ExceptHandler):
            named = _names(node.type) if node.type else {"Exception"}
            last = node.body[-1]
            again = isinstance(last, ast.Raise) and last.exc is None
            count += bool(named & broad) and not again
        elif isinstance(node, ast.Call) and _names(node.func) & {"suppress"}:
            count += bool({name for one in node.args for name in _names(one)} & broad)
    return count


def _names(node: ast.AST) -> set[str]:
    """Names and attributes in an expression."""
    return {
        one.id if isinstance(one, ast.Name) else one.attr
        for one in ast.walk(node)
        if isinstance(one, ast.Name | ast.Attribute)
    }


@cache
def trees() -> dict[Path, ast.Module]:
    """Every module of the package, parsed."""
    return {path: ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def aliases() -> frozenset[str]:
    """Names of tuples that hold a broad type, in any module of the package: others import them."""
    return frozenset(
        target.id
        for tree in trees().values()
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
        for target in node.targets
        if isinstance(target, ast.Name) and {one for each in node.value.elts for one in _names(each)} & BROAD
    )


@cache
def found() -> Counter[str]:
    """How many such handlers each file of the package has."""
    return Counter({str(path.relative_to(PACKAGE)): caught(path) for path in trees()})


def test_broad_errors_are_caught_in_listed_places_alone() -> None:
    """Broad types are for parsing foreign data and for processes that must go on. Elsewhere, name the expected error."""
    broad = {name: count for name, count in found().items() if count}
    assert broad == {name: count for name, (count, _) in ALLOWED.items()}


@pytest.mark.parametrize("folder", ["models", "judge/rules", "judge/causes"])
def test_a_programming_error_in_a_bound_or_a_verdict_surfaces(folder: str) -> None:
    """What metadata from anyone hold is read with types (`labkit.point.adapters`), so that nothing broad is caught."""
    here = {name: count for name, count in found().items() if name.startswith(f"{folder}/")}
    assert here
    assert not any(here.values())
