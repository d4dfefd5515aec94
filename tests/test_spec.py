"""Specs, effort and how they are checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit import benchmarks
from labkit.errors import SpecError
from labkit.io.project import SHIPPED
from labkit.point.spec import STRICT, Effort, Spec, sweep, validated
from labkit.store import samples
from labkit.store.campaign import Campaign

IDENTITY = {"library": "Open MPI 4.1.4", "cpu_model": "x", "nic": "lo"}


def test_equal_work_has_equal_names() -> None:
    one = Spec(benchmark="mpi.bandwidth", options={"window": 64, "buffers": "single"})
    two = Spec(benchmark="mpi.bandwidth", options={"buffers": "single", "window": 64})
    assert one == two
    assert one.fingerprint(IDENTITY) == two.fingerprint(IDENTITY)


def test_fingerprints_last() -> None:
    fields = {
        "size": 65536,
        "ranks": 4,
        "ppn": 2,
        "hosts": ("a", "b"),
        "launcher": "openmpi",
        "transport": "tcp",
        "device": "ib0",
        "options": {"window": 64},
    }
    assert Spec(benchmark="mpi.latency").fingerprint(IDENTITY) == "26580aa4f1f0a297"
    assert Spec(benchmark="mpi.bandwidth", **fields).fingerprint(IDENTITY) == "3aed0265f87a9ae6"
    usual = Spec(benchmark="mpi.bandwidth", **fields, bind="auto", environment={})
    assert usual.fingerprint(IDENTITY) == "3aed0265f87a9ae6"


@pytest.mark.slow
def test_fingerprints_of_the_recorded_campaign_are_those_of_its_files() -> None:
    for folder in sorted((SHIPPED / "data" / "campaigns" / "examples").iterdir()):
        campaign = Campaign(folder)
        assert {_name(one) for one in campaign.samples()} == campaign.done()


def _name(one: samples.Samples) -> tuple[str, str, int]:
    """Benchmark, fingerprint and launch of a point, from what it holds."""
    links = {
        " ".join(
            filter(None, [nic["driver"], nic["model"], f"{nic['speed_Mbps']} Mbit/s" if nic["speed_Mbps"] else ""])
        )
        for nic in one.host["nics"]
        if nic["physical"] and nic["state"] == "up"
    }
    identity = {
        "library": one.meta["library"],
        "cpu_model": one.host["cpu_model"],
        "nic": ", ".join(sorted(links)) or "none",
    }
    hosts = one.meta.get("placement", {}).get("hosts", ())  # of a batch job
    if len(hosts) > 1 and one.spec.testbed == "local":
        identity["nodes"] = str(len(hosts))
    return one.spec.benchmark, benchmarks.identity(one.spec).fingerprint(identity), one.launch


@pytest.mark.parametrize(
    "change",
    [
        {"size": 9},
        {"transport": "tcp"},
        {"ranks": 3},
        {"options": {"window": 1}},
        {"hosts": ("a",)},
        {"bind": "core"},
        {"environment": {"A": "1"}},
    ],
)
def test_other_work_has_another_name(change: dict[str, Any]) -> None:
    spec = Spec(benchmark="mpi.bandwidth")
    assert spec.fingerprint(IDENTITY) != spec.replace(**change).fingerprint(IDENTITY)
    assert spec.fingerprint(IDENTITY) != spec.fingerprint(IDENTITY | {"library": "MPICH 4"})


@given(
    size=st.integers(0, 2**40),
    ranks=st.integers(1, 10**6),
    transport=st.sampled_from(["auto", "shm", "tcp"]),
    options=st.dictionaries(
        st.text(min_size=1, max_size=5), st.integers() | st.booleans() | st.text(max_size=5), max_size=4
    ),
)
def test_as_dict_and_back_is_the_same(size: int, ranks: int, transport: str, options: dict[str, Any]) -> None:
    spec = Spec(benchmark="a.b", size=size, ranks=ranks, transport=transport, options=options)
    assert Spec.from_dict(spec.as_dict()) == spec


def test_what_came_later_is_left_out_where_it_is_usual() -> None:
    assert not {"bind", "environment"} & set(Spec(benchmark="a.b").as_dict())
    spec = Spec(benchmark="a.b", bind="none", environment={"B": 2, "A": "x"})
    assert spec.as_dict()["environment"] == {"A": "x", "B": "2"}
    assert Spec.from_dict(spec.as_dict()) == spec


def test_settings_leave_the_work_as_it_is() -> None:
    settings = {
        "launcher": ["openmpi", "mpich"],
        "transport": ["shm", "tcp"],
        "bind": ["core", "none"],
        "env.UCX_TLS": ["tcp", "sm"],
    }
    specs = sweep("mpi.bandwidth", sizes=8, window=4, environment={"FIXED": "1"}, **settings)
    assert len(set(specs)) == 16
    assert len({spec.work for spec in specs}) == 1
    assert specs[0].setting == {
        "launcher": "openmpi",
        "transport": "shm",
        "device": "",
        "ppn": "0",
        "bind": "core",
        "hosts": "",
        "env.FIXED": "1",
        "env.UCX_TLS": "tcp",
    }
    assert specs[0].work != specs[0].replace(size=9).work


@given(
    st.lists(st.integers(1, 99), min_size=1, max_size=4, unique=True),
    st.lists(st.sampled_from("xyz"), min_size=1, unique=True),
)
def test_a_sweep_is_a_product(sizes: list[int], windows: list[str]) -> None:
    specs = sweep("a.b", sizes=sizes, window=windows)
    assert len(set(specs)) == len(sizes) * len(windows)
    assert {spec.size for spec in specs} == set(sizes)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"benchmark": "latency"}, "family.name"),
        ({"benchmark": "mpi.latency", "size": -1}, "size=-1, but it must be a whole number from 0 to 2\\^50 B"),
        ({"benchmark": "mpi.latency", "ranks": 0}, "ranks=0"),
        ({"benchmark": "mpi.latency", "ranks": 2.5}, "ranks=2.5"),
        ({"benchmark": "mpi.latency", "size": "12q"}, "not a size"),
        ({"benchmark": "mpi.latency", "bind": "numa"}, "bind='numa', but it must be one of auto, core, socket, none"),
        ({"benchmark": "mpi.latency", "environment": {"a b": 1}}, "'a b' is not the name of a variable"),
    ],
)
def test_nonsense_is_refused(values: dict[str, Any], text: str) -> None:
    with pytest.raises(SpecError, match=text):
        Spec(**values)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"benchmark": "mpi.lat"}, r"There is no benchmark 'mpi.lat'. Did you mean mpi.latency"),
        ({"benchmark": "mpi.latency", "ranks": 3}, r"ranks=3, but mpi.latency needs exactly 2. Set ranks=2."),
        ({"benchmark": "mpi.bcast", "ranks": 1}, r"needs at least 2"),
        ({"benchmark": "mpi.latency", "options": {"windw": 3}}, r"mpi.latency has no 'windw'. It has: "),
        ({"benchmark": "mpi.bandwidth", "options": {"window": "many"}}, r"window='many'"),
        ({"benchmark": "mpi.allreduce", "size": 7}, r"multiple of 4"),
        ({"benchmark": "mpi.latency", "size": 2**40}, r"goes up to"),
        ({"benchmark": "mpi.bcast", "options": {"root": 2}}, r"there are ranks 0 to 1"),
    ],
)
def test_impossible_points_are_refused(values: dict[str, Any], text: str) -> None:
    with pytest.raises(SpecError, match=text):
        benchmarks.resolve(Spec(**values))


def test_resolving_fills_in_options_and_converts_text() -> None:
    spec = benchmarks.resolve(Spec(benchmark="mpi.bandwidth", options={"window": "32"}))
    usual = {
        "buffers": "single",
        "timing": "each",
        "hugepages": False,
        "threads": 1,
        "layout": "contiguous",
        "block": 8,
    }
    assert spec.values == {"window": 32, "binding": "c"} | usual
    assert benchmarks.resolve(spec) == spec


@pytest.mark.parametrize(
    "values", [{"ci": 0}, {"ci": 1}, {"launches": 0}, {"iterations": 0}, {"time_cap": 0}, {"warmup": -1}]
)
def test_impossible_effort_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(SpecError):
        Effort(**values)


def test_validated_names_all_that_is_wrong() -> None:
    @dataclass(frozen=True)
    class Own:
        count: int = 1
        kind: Literal["a", "b"] = "a"

    assert validated(Own, {"count": "3"}, what="own") == Own(3)
    with pytest.raises(SpecError, match=r"own has no 'x'. It has: count, kind"):
        validated(Own, {"x": 1}, what="own")
    with pytest.raises(SpecError, match=r"count='q'.*kind='c'"):
        validated(Own, {"count": "q", "kind": "c"}, what="own")


@dataclass(frozen=True)
class Inner:
    __pydantic_config__ = STRICT
    name: str
    weights: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Outer:
    way: Literal["each", "total"] = "each"
    count: int = 1
    on: bool = False
    inner: list[Inner] = field(default_factory=list)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"way": "al"}, "own: way='al', but it must be 'each' or 'total'. Correct it."),
        (
            {"count": "x", "on": 7},
            "own: count='x', but it must be a whole number. Correct it. on=7, but it must be true",
        ),
        (
            {"inner": [{"name": "a", "weghts": []}]},
            "own: [[inner]] 1 has no 'weghts'. Did you mean weights? It has: na",
        ),
        ({"inner": [{"name": "a"}, {}]}, "own: [[inner]] 2: name is missing. Add it."),
        (
            {"inner": [{"name": "a", "weights": [1, "x"]}]},
            "own: [[inner]] 1: value 2 of weights='x', but it must be a num",
        ),
        ({"inner": 3}, "own: inner=3, but it must be a list. Correct it."),
        ({"cuont": 3}, "own has no 'cuont'. Did you mean count? It has: count, inner, on, way."),
    ],
)
def test_an_error_names_the_key_and_what_it_must_be(values: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError) as caught:
        validated(Outer, values, what="own")
    assert str(caught.value).startswith(said)
