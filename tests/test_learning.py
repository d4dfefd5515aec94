"""Distributed training: collectives bring the right elements, wrong ones are seen, metrics are those of nccl-tests."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import labkit.kernels.learning
from labkit import benchmarks, tools
from labkit.apps import cli
from labkit.benchmarks import ProgramBenchmark
from labkit.errors import DataError, LaunchError, SpecError
from labkit.kernels.learning.plan import Plan
from labkit.point.spec import Effort, Spec
from labkit.store.campaign import Campaign
from labkit.tools import _own_json, torch
from labkit.tools.torch import interpreter

NAMES = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "broadcast",
    "reduce",
    "all_to_all",
    "gather",
    "scatter",
    "send_recv",
)
ROOT = Path(labkit.kernels.learning.__file__).parents[3]
# runs plans in turn on one rank; `broken` are functions of torch.distributed that do nothing from then on
RANK = """
import faulthandler, json, os, pathlib, sys, types
faulthandler.dump_traceback_later(500, exit=True)  # ranks that wait for one another say where
sys.path.insert(0, sys.argv[1])
import torch.distributed as dist
from labkit.kernels.learning import collectives, programs, recommendation, step
from labkit.kernels.learning.plan import Plan
for k, (broken, plan) in enumerate(json.loads(sys.argv[2])):
    folder = pathlib.Path(str(k))
    folder.mkdir(exist_ok=True)
    done = types.SimpleNamespace(wait=lambda: None)
    nothing = {name: lambda *a, **b: done for name in broken}
    if "all_to_all_single" in broken:  # whatever was in the buffer may be no index
        nothing["all_to_all_single"] = lambda to, of, **how: done if to.copy_(of.detach()) is not None else None
    collectives.dist = types.SimpleNamespace(**vars(dist) | nothing)  # the check itself keeps the real ones
    recommendation.dist = collectives.dist
    kept = step.Step._reduce
    if "_reduce" in broken:
        step.Step._reduce = lambda *a: None
    result = programs.run(Plan(**plan), folder)
    step.Step._reduce = kept
    if result is not None:
        print(json.dumps(result))
"""


def resolved(name: str, size: int = 1024, ranks: int = 2, transport: str = "auto", **options: Any) -> Spec:
    spec = Spec(benchmark=f"learning.{name}", size=size, ranks=ranks, transport=transport, options=options)
    return benchmarks.resolve(spec)


def job(spec: Spec, effort: Effort | None = None) -> tools.Invocation:
    benchmark = benchmarks.get(spec.benchmark)
    assert isinstance(benchmark, ProgramBenchmark)
    return tools.available(benchmark.tools, spec, effort or Effort(iterations=5))


def together(folder: Path, ranks: int, work: list[tuple[list[str], dict[str, Any]]]) -> list[dict[str, Any]]:
    """What rank 0 answers to each plan, all in one start of real ranks over the loopback."""
    if not interpreter():
        pytest.fail(f"the tests need {torch.ABSENT} or Debian's {torch.TOOL.package}")
    plans = json.dumps([(broken, {"ranks": ranks, "iterations": 3} | plan) for broken, plan in work])
    started = [
        subprocess.Popen(
            [interpreter(), "-I", "-c", RANK, str(ROOT), plans],
            cwd=folder,
            env={"PMI_RANK": str(rank), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]
    try:
        answers = [one.communicate(timeout=600) for one in started]
    finally:
        for one in started:
            one.kill()
    assert [one.returncode for one in started] == [0] * ranks, [one[1][-5000:] for one in answers]
    return [json.loads(line) for line in answers[0][0].splitlines()]


def lacks(answer: dict[str, Any]) -> bool:
    """Whether an older gloo has no such call."""
    return "gloo of torch 1" in answer.get("error", "") and "has no reduce_scatter" in answer["error"]


@pytest.mark.slow
def test_every_collective_brings_the_right_elements_and_a_call_that_does_nothing_is_seen(tmp_path: Path) -> None:
    functions = {"all_to_all": ["all_to_all_single"], "send_recv": ["isend", "irecv"]}
    work: list[tuple[list[str], dict[str, Any]]] = []
    for name in NAMES:
        plan = {"program": name, "size": 4096, "options": {"root": 1}}
        several = plan | {"options": {"root": 1, "in_flight": 3}}
        work += [([], plan), (functions.get(name, [name]), plan), ([], several), (functions.get(name, [name]), several)]
    answers = together(tmp_path, 2, work)
    pairs = zip([one for name in NAMES for one in (name, name)], answers[::2], answers[1::2], strict=True)
    for name, right, wrong in pairs:
        if lacks(right):
            continue
        assert len(right["time_ns"]) == 3, right
        assert right["facts"]["verified"]
        assert right["facts"]["backend"] == "gloo"
        assert "wrong elements by rank" in wrong["error"], name


MODEL = {"layers": 1, "width": 16, "heads": 2, "length": 8, "batch": 2}
ALONE = {"communication": "none", "bucket": 1 << 20, "compression": "none"}


@pytest.mark.slow
def test_steps_of_training_have_the_gradients_of_the_whole_and_a_missing_reduction_is_seen(tmp_path: Path) -> None:
    ways = [
        {"communication": "none"},
        {"communication": "after", "bucket": 2048},
        {"communication": "after", "compression": "float16"},
        {"communication": "overlap", "bucket": 2048},
        {"communication": "overlap", "compression": "float16"},
        {"communication": "overlap", "compression": "powersgd"},
        {"communication": "overlap", "compression": "powersgd", "bucket": 2048},  # several buckets on the way at once
    ]
    work: list[tuple[list[str], dict[str, Any]]] = [
        ([], {"program": "training_step", "options": MODEL | ALONE | way}) for way in ways
    ]
    tables = {"tables": 2, "rows": 50, "width": 8, "lookups": 3, "batch": 4, "hidden": 16}
    work += [([], {"program": "recommendation", "options": tables})]
    work += [([], {"program": "pipeline", "options": MODEL | {"micro_batches": 3}})]
    broken = [
        (["_reduce"], {"program": "training_step", "options": MODEL | ALONE | {"communication": "after"}}),
        (["all_to_all_single"], {"program": "recommendation", "options": tables}),
    ]
    answers = together(tmp_path, 2, work + broken)
    for (_, plan), answer in zip(work, answers, strict=False):
        assert answer.get("facts", {}).get("verified"), (plan, answer)
        assert set(answer["extras"]) == set(benchmarks.get(f"learning.{plan['program']}").phases)
    assert all("wrong results on ranks [0, 1]" in answer["error"] for answer in answers[-2:]), answers[-2:]


@pytest.mark.netns
@pytest.mark.slow
def test_gradients_cross_the_links_of_a_virtual_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["measure", "learning.training_step", "--testbed", "virtual-cluster:2,rate=100mbit", "-i", "3", "-x", "1"]
    options = [word for name, value in MODEL.items() for word in ("-o", f"{name}={value}")]
    assert cli.main([*words, *options, "--launches", "1", "--into", str(tmp_path / "c")]) == 0
    capsys.readouterr()
    (one,) = Campaign(tmp_path / "c").samples()
    assert one.meta["rank_hosts"] == ["vc0", "vc1"]
    carried = [value for name, value in one.meta["evidence"].items() if name.endswith("tx_bytes")]
    assert min(carried) > one.meta["gradient_B"] * 5  # three steps, a warm-up, probes and the check
    assert one.extras["backward_ns"].sum() < one.time_ns.sum()


@pytest.mark.slow
def test_places_types_and_operations_on_three_ranks(tmp_path: Path) -> None:
    types = ("float32", "float16", "float64", "int32", "int64", "uint8")
    variants = [
        {"program": name, "size": 4800, "cadence": cadence, "options": {"in_place": in_place}}
        for name in ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "gather", "scatter")
        for in_place in (False, True)
        for cadence in ("streaming", "isolated")
    ]
    variants += [{"program": "all_reduce", "size": 4800, "options": {"dtype": name}} for name in types]
    variants += [{"program": "reduce", "size": 48, "options": {"operation": name}} for name in ("max", "min")]
    variants += [{"program": "barrier"}]
    for variant, answer in zip(variants, together(tmp_path, 3, [([], one) for one in variants]), strict=True):
        assert lacks(answer) or answer["facts"]["verified"], (variant, answer)


@pytest.mark.mpi
@pytest.mark.slow
def test_a_point_has_samples_of_the_slowest_rank_and_the_mean_of_the_loop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "measure",
        "learning.all_reduce",
        "-m",
        "64Ki",
        "-i",
        "20",
        "--launches",
        "1",
        "--into",
        str(tmp_path / "c"),
    ]
    assert cli.main([*words, "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["records"]
    assert (row["n"], row["ranks"], row["verified"], row["engine"]) == (20, 2, True, "torch")
    assert row["busbw_GBps_p50"] == pytest.approx(row["algbw_GBps_p50"])  # 2 (n - 1) / n is 1 for two ranks
    assert row["algbw_GBps_p50"] == pytest.approx(64 * 1024 / row["latency_us_p50"] / 1e3)
    assert any("loopback" in str(one) for one in row["badges"])


def test_factors_are_those_of_nccl_tests() -> None:
    """doc/PERFORMANCE.md and the GetBw functions of nccl-tests 2.19.6, for four ranks."""
    expected = {
        "all_reduce": 1.5, "reduce_scatter": 0.75, "all_gather": 0.75, "all_to_all": 0.75, "gather": 0.75, "scatter": 0.75,
        "broadcast": 1, "reduce": 1, "send_recv": 1,
    }  # fmt: skip
    for name, factor in expected.items():
        spec = resolved(name, size=4096, ranks=4)
        metrics = benchmarks.get(spec.benchmark).metrics
        assert (metrics["busbw_GBps"](spec), metrics["algbw_GBps"](spec)) == (factor * 4096, 4096), name
        several = resolved(name, size=4096, ranks=4, in_flight=3)
        assert (metrics["busbw_GBps"](several), metrics["latency_us"](several)) == (3 * factor * 4096, 3), name
        older = spec.replace(options={name: value for name, value in spec.values.items() if name != "in_flight"})
        assert metrics["latency_us"](benchmarks.typed(older)) == 1, "points of logs do not state it, and have one call"


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("all_reduce", {"size": 6}, "whole elements of float32. Set size=4"),
        ("all_gather", {"size": 1024, "ranks": 3}, "float32 on each of 3 ranks. Set size=1020"),
        ("gather", {"root": 2}, "root=2, but ranks are 0 to 1"),
        ("broadcast", {"root": -1}, "root=-1"),
        ("all_reduce", {"ranks": 1}, "at least 2"),
        ("all_to_all", {"in_place": True}, "in_place"),
        ("all_reduce", {"in_flight": 0}, "in_flight=0, but it must be 1 to 1024"),
        ("training_step", {"width": 30}, "4 heads must divide it. Set width=28"),
        ("training_step", {"layers": 0}, "layers=0"),
        ("training_step", {"compression": "powersgd", "communication": "after"}, "Set communication=overlap"),
        ("training_step", {"compression": "float16", "communication": "none"}, "Set compression=none"),
        ("recommendation", {"rows": 0}, "rows=0"),
        ("pipeline", {"micro_batches": 0}, "micro_batches=0"),
    ],
)
def test_a_wrong_spec_is_one_clear_error(name: str, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        resolved(name, **changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"backend": "nccl"}, "Set device=cuda"),
        ({"transport": "shm"}, "Set transport=tcp"),
    ],
)
def test_what_a_backend_cannot_do_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        job(resolved("all_reduce", **changes))


def test_the_plan_says_what_the_point_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "interpreter", lambda: "/bin/sh")
    spec = resolved("reduce", size=2048, ranks=4, dtype="float16", root=3, operation="max").replace(device="eth0")
    found = job(spec, Effort(iterations=7, warmup=2, seed=5))
    plan = Plan.decode(found.client[-1])
    options = {"dtype": "float16", "root": 3, "operation": "max", "in_place": False, "in_flight": 1}
    wanted = {
        "program": "reduce",
        "ranks": 4,
        "size": 2048,
        "interface": "eth0",
        "iterations": 7,
        "warmup": 2,
        "seed": 5,
        "time_cap": 2.0,
    }
    assert plan == Plan(options=options, **wanted)
    nccl = job(resolved("all_reduce", backend="nccl", device="cuda", transport="tcp"))
    assert nccl.environment["NCCL_SHM_DISABLE"] == "1"
    assert not nccl.badges


def test_without_torch_the_error_names_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "interpreter", lambda: "")
    with pytest.raises(LaunchError, match=r"labkit\[learning\].*python3-torch"):
        job(resolved("all_reduce"))


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ('{"error": "all_reduce: wrong elements by rank {1: 3}"}', "wrong elements by rank"),
        ("", "wanted one JSON object"),
        ("Traceback", "wanted one JSON object"),
    ],
)
def test_ranks_that_bring_no_result_are_an_error(printed: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        _own_json.parsed(printed, tmp_path)
