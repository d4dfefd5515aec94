"""Kinds of benchmark, and how files export them."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import inspect
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labkit import benchmarks
from labkit.benchmarks import (
    Benchmark,
    CollectiveBenchmark,
    FileBenchmark,
    InterferenceBenchmark,
    KernelBenchmark,
    OneSidedBenchmark,
    ParallelFileBenchmark,
    ProgramBenchmark,
    StartBenchmark,
    ToolBenchmark,
)
from labkit.benchmarks.mpi import InFlight
from labkit.benchmarks.mpi._one_sided import Atomic
from labkit.errors import LaunchError, SpecError
from labkit.options import frozen
from labkit.options.ranks import Root
from labkit.point import units
from labkit.point.spec import Effort, Spec, has

ROOT = Path(__file__).resolve().parent.parent
NAMES = (ROOT / "tests" / "golden" / "benchmarks.txt").read_text().split()
METRICS = {"latency_us": lambda spec: 1.0}


@pytest.mark.parametrize("name", list(benchmarks.every()))
def test_options_are_a_frozen_class_of_plain_values(name: str) -> None:
    options = benchmarks.get(name).options
    made, given = options(), Spec(benchmark=name, options=vars(options()))
    assert {*vars(made)} == {one.name for one in dataclasses.fields(options)}
    assert all(isinstance(value, str | int | float) for value in vars(made).values())
    for field in dataclasses.fields(options):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(made, field.name, None)
    spec = given.replace(options=made)
    assert (spec, hash(spec)) == (given, hash(given)), "checked or not, the same values are the same work"
    assert pickle.loads(pickle.dumps(spec)).options == made
    assert copy.copy(spec).options == made == benchmarks.typed(given).options or name not in benchmarks.find()
    assert spec.as_dict() == given.as_dict() == Spec.from_dict(given.as_dict()).as_dict()
    missing = sorted({one.name for one in dataclasses.fields(options)} - benchmarks.meanings(options).keys())
    assert not missing, "each option has a sentence in the docstring"


@pytest.mark.parametrize("name", list(benchmarks.find()))
def test_its_functions_read_options_that_it_has(name: str) -> None:
    """mypy checks most of them; not those that a function of a family gets as keywords."""
    benchmark: Any = benchmarks.get(name)
    low, high = benchmark.ranks
    size = units.parse_sizes(benchmark.sizes)[0] if benchmark.sized else 0
    spec = benchmarks.resolve(Spec(benchmark=name, ranks=max(low, min(4, high or 4)), size=size))
    kind = np.dtype(benchmark.dtype(spec)) if hasattr(benchmark, "dtype") else np.dtype("uint8")
    sent = max(benchmark.buffers(spec)[0], 8) if hasattr(benchmark, "buffers") else 0
    given = {"spec": spec, "rank": 0, "send": lambda rank: np.zeros(sent // kind.itemsize, kind), "effort": Effort()}
    functions: list[Any] = [
        *getattr(benchmark, "tools", ()),
        *benchmark.metrics.values(),
        *benchmark.phase_work.values(),
    ]
    functions += [*benchmark.converted.values(), benchmark.start]
    functions += [getattr(benchmark, field.name) for field in dataclasses.fields(benchmark)]
    called = 0
    for function in filter(callable, functions):
        names = inspect.signature(function).parameters
        if not isinstance(function, type) and given.keys() >= set(names):
            with contextlib.suppress(SpecError, LaunchError):  # of a tool that cannot do it, or is not installed
                function(**{each: given[each] for each in names})
            called += 1
    assert called > 3


def test_options_are_read_as_attributes() -> None:
    """mypy finds a misspelt attribute, but no misspelt text."""
    wrong = re.compile(r"\.option\(|\b\w*spec\.has\(|spec\.options\[")
    places = {str(path): wrong.findall(path.read_text()) for path in (ROOT / "labkit").rglob("*.py")}
    places.pop(str(ROOT / "labkit" / "apps" / "cli" / "tune.py"))  # options of a command
    assert {path: found for path, found in places.items() if found} == {}


def test_a_misspelt_option_is_an_error_of_its_benchmark() -> None:
    spec = benchmarks.resolve(Spec(benchmark="mpi.bandwidth"))
    assert has(spec.options, InFlight)
    assert not has(spec.options, Root)
    assert spec.of(InFlight).options.window == 64
    with pytest.raises(SpecError, match=r"mpi.bandwidth has no options of labkit.options.ranks.Root"):
        spec.of(Root)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Spec(benchmark="mpi.bandwidth", options={"window": 4}).of(InFlight).options.window = 5  # type: ignore[misc]
    stated = Spec(benchmark="mpi.bandwidth", options={"window": 4})
    assert has(stated.options, InFlight)
    assert not has(stated.options, Root)
    with pytest.raises(SpecError, match=r"no option 'root' is stated. Stated are: \['window'\]"):
        print(stated.of(Root).options.root)
    with pytest.raises(SpecError, match=r"options=\(\('window', 4\),\), but they must be a mapping"):
        Spec(benchmark="mpi.bandwidth", options=(("window", 4),))


def test_bitwise_operations_on_an_element_need_no_datatype() -> None:
    spec = Spec(benchmark="mpi.fetch_and_op_latency", size=8, options={"operation": "band"})
    assert benchmarks.resolve(spec).of(Atomic).options.operation == "band"
    with pytest.raises(SpecError, match=r"operation=band needs whole numbers\. Set datatype=int32"):
        benchmarks.resolve(Spec(benchmark="mpi.accumulate_latency", size=8, options={"operation": "band"}))


def test_no_name_is_lost() -> None:
    assert set(NAMES) <= set(benchmarks.find())


@pytest.mark.parametrize(
    ("name", "kind", "by"),
    [
        ("mpi.latency", KernelBenchmark, "C kernel"),
        ("mpi.iallgatherv", CollectiveBenchmark, "C kernel"),
        ("mpi.put_latency", OneSidedBenchmark, "C kernel"),
        ("mpi.file_iread", FileBenchmark, "C kernel"),
        ("storage.bt_io", ParallelFileBenchmark, "C kernel"),
        ("mpi.init", StartBenchmark, "start itself"),
        ("sockets.tcp_rr", ToolBenchmark, "tool"),
        ("compute.hpl", ProgramBenchmark, "MPI program"),
        ("congestion.interference", InterferenceBenchmark, "two jobs"),
    ],
)
def test_kinds(name: str, kind: type[Benchmark], by: str) -> None:
    benchmark = benchmarks.get(name)
    assert type(benchmark) is kind
    assert benchmark.by == by
    assert (benchmark.name, benchmarks.find()[name]) == (name, benchmark)


def test_every_benchmark_is_of_a_kind() -> None:
    assert not [one.name for one in benchmarks.find().values() if not one.by]


@pytest.mark.parametrize(
    ("kind", "foreign"),
    [
        (ToolBenchmark, {"jobs": (), "kernel": "latency"}),
        (ToolBenchmark, {"jobs": (), "ranks": (2, 2)}),
        (KernelBenchmark, {"kernel": "latency", "jobs": ()}),
        (KernelBenchmark, {"kernel": "latency", "exposed": lambda spec, rank, send: None}),
        (CollectiveBenchmark, {"kernel": "bcast", "loop": True}),
        (StartBenchmark, {"part": "init", "window": lambda spec: 1}),
        (Benchmark, {"equivalents": {"osu_latency": {}}}),
    ],
)
def test_a_kind_takes_its_own_fields_only(kind: type[Benchmark], foreign: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        kind(title="x", metrics=METRICS, **foreign)


def test_a_kind_needs_its_fields_and_keeps_them() -> None:
    with pytest.raises(TypeError, match="missing the keyword argument 'kernel'"):
        KernelBenchmark(title="x", metrics=METRICS)  # type: ignore[call-arg]
    made = KernelBenchmark(title="x", metrics=METRICS, kernel="latency")
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.title = "y"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del made.title
    assert made.phases is not KernelBenchmark(title="x", metrics=METRICS, kernel="latency").phases
    assert dataclasses.replace(made, title="y").kernel == "latency"


def test_a_frozen_class_makes_its_defaults_anew() -> None:
    @frozen
    class Made:
        name: str
        facts: dict[str, int] = dataclasses.field(default_factory=dict)

    one, other = Made(name="a"), Made(name="a")
    assert one == other
    assert one.facts is not other.facts
    assert dataclasses.replace(one, name="b").facts is one.facts
    assert Made(name="a", facts={"x": 1}) != one
    with pytest.raises(TypeError, match="missing the keyword argument 'name'"):
        Made()  # type: ignore[call-arg]


def test_options_that_are_defaults_need_no_pydantic() -> None:
    script = (
        "import sys\nfrom labkit import benchmarks\nfrom labkit.point.spec import Spec\n"
        "whole = benchmarks.resolve(benchmarks.resolve(Spec(benchmark='mpi.bandwidth')))\n"
        "without = 'pydantic' not in sys.modules\n"
        "given = benchmarks.resolve(Spec(benchmark='mpi.bandwidth', options={'window': '64'}))\n"
        "print(without, 'pydantic' in sys.modules, given == whole, whole.options.window)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "True", "64"]


def test_what_a_tool_needs_to_say_is_little() -> None:
    settable = [field.name for field in dataclasses.fields(ToolBenchmark) if field.init]
    assert len(settable) <= 23


def loaded(name: str) -> set[str]:
    """Files of benchmarks that a fresh interpreter imports for one name."""
    script = (
        f"import sys; from labkit import benchmarks; assert benchmarks.get({name!r}).name == {name!r}\n"
        "print(*(m for m in sys.modules if m.startswith('labkit.benchmarks.') and m.count('.') == 3))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True)
    return {module.rpartition(".")[2] for module in done.stdout.split() if "._" not in module}


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("mpi.allgather", "allgather"),
        ("mpi.iallgatherv", "allgather"),
        ("mpi.bandwidth_persistent", "bandwidth"),
        ("mpi.file_iread", "file_read"),
        ("mpi.hotspot_send", "hotspot"),
    ],
)
def test_a_rank_imports_the_file_of_its_benchmark_only(name: str, file: str) -> None:
    assert loaded(name) == {file}


def test_every_form_has_a_definition_of_its_own() -> None:
    docs = [one.doc.strip() for one in benchmarks.find().values()]
    assert all(docs)
    assert len(set(docs)) == len(docs)


FORM = "from labkit.benchmarks.mpi.barrier import BENCHMARK as B\nFORMS = {{{name!r}: B}}\n"


def test_one_name_in_two_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import labkit.benchmarks.mpi as family

    (tmp_path / "zz_again.py").write_text(FORM.format(name="latency"))
    monkeypatch.setattr(family, "__path__", [*family.__path__, str(tmp_path)])
    with pytest.raises(ValueError, match=r"mpi\.latency: exported by zz_again.py and by another file of mpi"):
        benchmarks.find.__wrapped__()


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("BENCHMRK = 1\n", r"zz_wrong\.py defines neither BENCHMARK nor FORMS"),
        (
            "from labkit.benchmarks import Benchmark\nBENCHMARK = Benchmark(title='x', metrics={})\n",
            r"zz_wrong\.py defines zz_wrong of no kind\. Define a KernelBenchmark",
        ),
    ],
)
def test_a_file_without_a_benchmark_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, error: str
) -> None:
    import labkit.benchmarks.mpi as family

    (tmp_path / "zz_wrong.py").write_text(code)
    monkeypatch.setattr(family, "__path__", [*family.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "labkit.benchmarks.mpi.zz_wrong", raising=False)
    with pytest.raises(SpecError, match=error):
        benchmarks.find.__wrapped__()
    sys.modules.pop("labkit.benchmarks.mpi.zz_wrong", None)


def test_a_file_may_export_forms_without_a_benchmark_of_its_own_name() -> None:
    assert "mpi.hotspot" not in benchmarks.find()
    with pytest.raises(SpecError, match=r"There is no benchmark 'mpi.hotspot'"):
        benchmarks.get("mpi.hotspot")
    with pytest.raises(SpecError, match=r"There is no benchmark 'mp.latency'"):
        benchmarks.get("mp.latency")
    with pytest.raises(SpecError, match=r"There is no benchmark 'simulated.latency'"):
        benchmarks.get("simulated.latency")  # a module, but no family


def test_what_a_rank_prepares_does_not_depend_on_the_name_of_a_kernel() -> None:
    assert not re.search(r"\.kernel\b", (ROOT / "labkit" / "worker" / "setting.py").read_text())
