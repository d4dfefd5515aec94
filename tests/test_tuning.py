"""Tuning: settings, the race over a campaign, confirmations, and the files that libraries read."""

import json
import math
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit import tuning
from labkit.apps.cli import main
from labkit.apps.show import tuned as shown
from labkit.errors import DataError, Failed, LabkitError, LaunchError, SpecError
from labkit.formats import omb
from labkit.io import project
from labkit.judge.comparison.judging import Launches, Pair, judge
from labkit.point.spec import Effort, Spec, sweep
from labkit.point.units import format_range
from labkit.run import launch, measuring
from labkit.run.launchers import _files
from labkit.stats.racing import standing
from labkit.store.campaign import Campaign
from labkit.studies.tune import PROGRAM, Study
from labkit.tuning import (
    Outcome,
    Plan,
    Setting,
    Tuned,
    files,
    mpich,
    openmpi,
    osu,
    read,
    selection,
    settings,
    tune,
    tuner,
)
from labkit.tuning.everywhere import winners
from labkit.tuning.openmpi import Rule
from labkit.tuning.outcome import Written
from tests import made

# as Open MPI 4.1.4 prints it (ompi_info --param coll tuned --level 9 --parsable)
PRINTED = """\
mca:coll:tuned:param:coll_tuned_allreduce_algorithm:enumerator:value:0:ignore
mca:coll:tuned:param:coll_tuned_allreduce_algorithm:enumerator:value:1:basic_linear
mca:coll:tuned:param:coll_tuned_allreduce_algorithm:enumerator:value:3:recursive_doubling
mca:coll:tuned:param:coll_tuned_allreduce_algorithm:enumerator:value:4:ring
mca:coll:tuned:param:coll_tuned_bcast_algorithm:enumerator:value:1:basic_linear
"""
FORCED = "OMPI_MCA_coll_tuned_allreduce_algorithm"
SIZES = (1024, 65536)


@pytest.fixture
def openmpi_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """An Open MPI whose programs need not exist, and which knows three algorithms of allreduce."""
    mpirun = launch.Launcher("openmpi", "/none/mpirun", "Open MPI 4.1.4", (4, 1, 4), _files.file("openmpi"))
    monkeypatch.setattr(launch, "get", lambda name: mpirun)
    monkeypatch.setattr(openmpi, "algorithms", lambda program, name: openmpi.listed(PRINTED, name))
    monkeypatch.setattr(openmpi, "param_files", lambda program: ("/site/openmpi-mca-params.conf",))


# ---- Open MPI's rules ------------------------------------------------------------------------------------------------

points = st.lists(
    st.tuples(
        st.sampled_from(sorted(openmpi.COLLECTIVES)), st.integers(2, 64), st.integers(1, 2**22), st.integers(0, 9)
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda one: one[:3],
)


@given(points)
def test_rules_file_says_what_was_tuned(tuned: list[tuple[str, int, int, int]]) -> None:
    """Open MPI's reading of the file gives each measured point its rule, and other numbers of ranks the default."""
    rules = [Rule(name, ranks, size, algorithm, 4, 8 * algorithm) for name, ranks, size, algorithm in tuned]
    content = openmpi.text(rules, ["a comment 7"])
    for one in rules:
        expected = (one.algorithm, one.fanout, one.segment) if one.algorithm else (0, 0, 0)
        assert openmpi.chosen(content, one.collective, one.ranks, one.size) == expected
        counts = {other.ranks for other in rules if other.collective == one.collective}
        for ranks in {one.ranks - 1, one.ranks + 1} - counts:
            assert openmpi.chosen(content, one.collective, ranks, one.size) == (0, 0, 0)


def test_rule_reaches_half_to_double_of_its_size() -> None:
    """Sizes far from those that were tuned stay with the library."""
    content = openmpi.text([Rule("allreduce", 4, 1024, 3), Rule("allreduce", 4, 4096, 4)])
    taken = {size: openmpi.chosen(content, "allreduce", 4, size)[0] for size in (511, 512, 2047, 2049, 8191, 8192)}
    assert taken == {511: 0, 512: 3, 2047: 3, 2049: 4, 8191: 4, 8192: 0}


def test_rules_count_all_messages_where_open_mpi_does() -> None:
    """The size of an allgather in the file is that of all ranks together (coll_tuned_decision_dynamic.c)."""
    lines = openmpi.text([Rule("allgather", 4, 1024, 2)]).splitlines()
    assert any(line.startswith("2048 2 4 0") for line in lines)  # half of 4 × 1 KiB


@pytest.mark.parametrize("content", ["", "1", "1 2 1 0 1 0 0 0", "x", "1 2 1 0 1 0 0 0 0 9"])
def test_wrong_rules_file_is_an_error(content: str) -> None:
    """A file that ends early, holds words or goes on is refused."""
    with pytest.raises(DataError, match="layout"):
        openmpi.chosen(content, "allreduce", 2, 8)


# ---- MPICH's selection -----------------------------------------------------------------------------------------------

DOUBLING, BLOCKS = "MPIR_Allreduce_intra_recursive_doubling", "MPIR_Allreduce_intra_reduce_scatter_allgather"
OWN = selection.Own(  # a part of what MPICH 4.0.2 and 5.0.2 have
    {
        "collective=bcast": {
            "comm_type=intra": {
                "comm_size<8": {"algorithm=MPIR_Bcast_intra_binomial": {}},
                "comm_size=any": {
                    "avg_msg_size<=12288": {"algorithm=MPIR_Bcast_intra_binomial": {}},
                    "avg_msg_size=any": {"algorithm=MPIR_Bcast_intra_scatter_ring_allgather": {}},
                },
            },
        },
        "collective=allreduce": {
            "comm_type=intra": {
                "avg_msg_size<=8": {f"algorithm={DOUBLING}": {}},
                "avg_msg_size=any": {
                    "is_op_built_in=no": {f"algorithm={DOUBLING}": {}},
                    "is_op_built_in=yes": {f"algorithm={BLOCKS}": {}},
                },
            },
            "comm_type=inter": {"algorithm=MPIR_Allreduce_inter_reduce_exchange_bcast": {}},
        },
        "collective=allgather": {
            "comm_type=intra": {
                "comm_size=pow2": {"algorithm=MPIR_Allgather_intra_recursive_doubling": {}},
                "total_msg_size<81920": {"algorithm=MPIR_Allgather_intra_brucks": {}},
                "total_msg_size=any": {"algorithm=MPIR_Allgather_intra_ring": {}},
            },
        },
    },
    frozenset(
        {
            DOUBLING,
            BLOCKS,
            "MPIR_Bcast_intra_binomial",
            "MPIR_Bcast_intra_scatter_ring_allgather",
            "MPIR_Bcast_allcomm_nb",
            "MPIR_Bcast_intra_tree",
            "MPIR_Allgather_intra_ring",
        }
    ),
)
SHORT = {"bcast": ["scatter_ring_allgather", "nb"], "allreduce": ["recursive_doubling"], "allgather": ["ring"]}

choices = st.lists(
    st.tuples(st.sampled_from(sorted(SHORT)), st.integers(2, 64), st.integers(1, 2**22), st.booleans()),
    min_size=1,
    max_size=12,
    unique_by=lambda one: one[:3],
)


@given(choices)
def test_selection_says_what_was_tuned(tuned: list[tuple[str, int, int, bool]]) -> None:
    """MPICH's reading of the file gives each measured point its rule, and everything else its own algorithm."""
    made = [selection.choice(f"mpi.{c}", n, size, SHORT[c][0] if own else "", OWN) for c, n, size, own in tuned]
    rules = [one for one in made if one is not None]
    assert len(rules) == len(made)
    content, plain = selection.text(OWN, rules), json.dumps(OWN.tree)
    for one in rules:
        expected = one.algorithm or selection.chosen(plain, one.collective, one.ranks, one.size)
        assert selection.chosen(content, one.collective, one.ranks, one.size) == expected
        counts = {other.ranks for other in rules if other.collective == one.collective}
        for ranks in {one.ranks - 1, one.ranks + 1, 1000} - counts:
            same = selection.chosen(plain, one.collective, ranks, one.size)
            assert selection.chosen(content, one.collective, ranks, one.size) == same


def test_selection_has_rules_only_for_what_the_file_can_say() -> None:
    """Algorithms that need parameters, that the library has not, or of other collectives, have no rule."""
    assert selection.choice("mpi.bcast", 4, 64, "nb", OWN) == selection.Choice("bcast", 4, 64, "MPIR_Bcast_allcomm_nb")
    for benchmark, algorithm in (("bcast", "tree"), ("bcast", "smp"), ("latency", ""), ("alltoall", "scattered")):
        assert selection.choice(f"mpi.{benchmark}", 4, 64, algorithm, OWN) is None


def test_selection_heeds_the_restrictions_of_algorithms() -> None:
    """A reduction in blocks needs an element for each rank and an operation of MPI: else the library's own holds."""
    rule = selection.choice("mpi.allreduce", 4, 1024, "reduce_scatter_allgather", OWN)
    assert rule is not None
    tree = json.loads(selection.text(OWN, [rule]))["collective=allreduce"]["comm_type=intra"]["comm_size<=4"]
    guarded = tree["avg_msg_size<2048"]
    assert guarded["is_op_built_in=no"] == tree["avg_msg_size=any"]
    assert guarded["is_op_built_in=yes"]["count<pow2"] == tree["avg_msg_size=any"]
    assert guarded["is_op_built_in=yes"]["count=any"] == {f"algorithm={BLOCKS}": {}}


def test_length_of_a_selection_is_no_multiple_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """MPICH maps the file and looks for a zero after it."""
    rule = selection.Choice("bcast", 4, 64, "MPIR_Bcast_intra_binomial")
    plain = selection.text(OWN, [rule])
    monkeypatch.setattr(selection.mmap, "PAGESIZE", len(plain))
    assert selection.text(OWN, [rule]) == plain + "\n"


# ---- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("openmpi_only")
def test_settings_are_the_default_and_all_combinations() -> None:
    """An algorithm is forced by Open MPI's variables, with the one that makes it heed them."""
    every = settings("mpi.allreduce", {"algorithm": ["all"], "segment": ["0", "8192"]})
    assert [one.name for one in every[:3]] == [
        "default",
        "algorithm=basic_linear, segment=0",
        "algorithm=basic_linear, segment=8192",
    ]
    assert len(every) == 1 + 3 * 2
    assert dict(every[2].environment) == {
        FORCED: "1",
        f"{FORCED}_segmentsize": "8192",
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
    }
    spec = every[2].of(Spec(benchmark="mpi.allreduce", environment=(("A", "1"),)))
    assert dict(spec.environment)["A"] == "1"
    assert spec.work == Spec(benchmark="mpi.allreduce")


@pytest.mark.usefixtures("openmpi_only")
@pytest.mark.parametrize(
    ("factors", "words"),
    [
        ({}, "no factor"),
        ({"algorithm": ["rong"]}, "Did you mean ring"),
        ({"algorithm": ["2"]}, "3 recursive_doubling"),
        ({"segment": ["8K"]}, "whole number"),
        ({"UCX_TLS": ["sm"]}, "env.UCX_TLS=sm"),
        ({"env.A B": ["1"]}, "not the name of a variable"),
        ({"window": ["1", "2"]}, "must not change the work"),
        ({"bind": ["cores"]}, "Did you mean core"),
        ({"env.A": [str(n) for n in range(201)]}, "at most 200"),
    ],
)
def test_wrong_factor_is_an_error(factors: dict[str, list[str]], words: str) -> None:
    """The message says what is right."""
    with pytest.raises(SpecError, match=words):
        settings("mpi.allreduce", factors)


# as mpivars of MPICH 4.0.2 prints it (its lines run together) and of 5.0.2
MPIVARS_4 = """\
\tMPIR_CVAR_BCAST_INTRA_ALGORITHM =0\tSCOPE_ALL_EQ\tNo-object\tMPI_INT\tVERBOSITY_USER_BASIC\tVariable to select bcast \
algorithmauto - Internal algorithm selection (can be overridden with MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE)\
binomial                                - Force Binomial Treenb                                      - Force \
nonblocking algorithmsmp                                     - Force smp algorithm\
scatter_recursive_doubling_allgather    - Force Scatter Recursive-Doubling Allgather\
scatter_ring_allgather                  - Force Scatter Ring
\tMPIR_CVAR_BCAST_INTER_ALGORITHM =0\tSCOPE_ALL_EQ\tNo-object\tMPI_INT\tVERBOSITY_USER_BASIC\tVariable to select bcast \
algorithmauto - Internal algorithm selectionflat - Force flat algorithm
\tMPIR_CVAR_IBCAST_TREE_KVAL      =2\tSCOPE_ALL_EQ\tNo-object\tMPI_INT\tVERBOSITY_USER_BASIC\tk value for tree
\tMPIR_CVAR_IBCAST_TREE_PIPELINE_CHUNK_SIZE=0\tSCOPE_ALL_EQ\tNo-object\tMPI_INT\tVERBOSITY_USER_BASIC\tchunk size
\tMPIR_CVAR_IBCAST_RING_CHUNK_SIZE=0\tSCOPE_ALL_EQ\tNo-object\tMPI_INT\tVERBOSITY_USER_BASIC\tchunk size
\tMPIR_CVAR_IBCAST_INTRA_ALGORITHM=0\tSCOPE_ALL_EQ\tNo-object\tMPI_INT\tVERBOSITY_USER_BASIC\tVariable to select \
ibcast algorithmauto - Internal algorithm selectionsched_binomial - Force Binomial algorithmtsp_tree      - Force Generic \
Transport Tree algorithmtsp_ring        - Force Generic Transport Ring algorithm
\tMPIR_CVAR_BCAST_INTRANODE_TREE_KVAL=64\tSCOPE_ALL_EQ\tNo-object\tMPI_INT\tVERBOSITY_USER_BASIC\tin a host
"""
MPIVARS_5 = """\
\tMPIR_CVAR_BCAST_INTRA_ALGORITHM =0\tSCOPE_ALL_EQ\tNo-object\tMPI_INT\tVERBOSITY_USER_BASIC\tVariable to select bcast algorithm
auto - Internal algorithm selection (can be overridden with MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE)
binomial                                - Force Binomial Tree
pipelined_tree                          - Force tree-based pipelined algorithm
\tMPIR_CVAR_BCAST_TREE_KVAL       =2\tSCOPE_ALL_EQ\tNo-object\tMPI_INT\tVERBOSITY_USER_BASIC\tk value
"""


@pytest.fixture
def mpich_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """An MPICH whose programs need not exist, and whose mpivars prints `MPIVARS_5`."""
    mpiexec = launch.Launcher("mpich", "/none/mpiexec", "MPICH 5.0.2", (5, 0, 2), _files.file("mpich"))
    monkeypatch.setattr(launch, "get", lambda name: mpiexec)
    monkeypatch.setattr(mpich, "_text", lambda program, name: MPIVARS_5)
    monkeypatch.setattr(mpich, "algorithms", lambda program, name: mpich.listed(mpich._text(program, name), name))


def test_mpich_s_algorithms_are_found_in_both_forms_of_its_list() -> None:
    """4.0 prints the descriptions without ends of lines; algorithms between groups of ranks do not count."""
    many = ("binomial", "nb", "smp", "scatter_recursive_doubling_allgather", "scatter_ring_allgather")
    assert mpich.listed(MPIVARS_4, "mpi.bcast") == many
    assert mpich.listed(MPIVARS_5, "mpi.bcast") == ("binomial", "pipelined_tree")
    assert mpich.listed(MPIVARS_5, "mpi.latency") == ()


@pytest.mark.usefixtures("mpich_only")
def test_mpich_s_algorithms_are_settings() -> None:
    """All of them, or some by name; a wrong name gets the right one."""
    every = settings("mpi.bcast", {"algorithm": ["all"]})
    assert [one.name for one in every] == ["default", "algorithm=binomial", "algorithm=pipelined_tree"]
    assert every[2].environment == (("MPIR_CVAR_BCAST_INTRA_ALGORITHM", "pipelined_tree"),)
    assert settings("mpi.bcast", {"algorithm": ["binomial"]}) == every[:2]
    with pytest.raises(SpecError, match="Did you mean binomial"):
        settings("mpi.bcast", {"algorithm": ["binomal"]})
    with pytest.raises(SpecError, match="labkit knows none"):
        settings("mpi.bcast", {"segment": ["8192"]})


@pytest.mark.usefixtures("mpich_only")
def test_mpich_s_parameters_go_to_the_algorithms_that_read_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A binomial tree has no fan-out to set; 4.0's trees with parameters are those of nonblocking collectives."""
    trees = settings("mpi.bcast", {"algorithm": ["binomial", "pipelined_tree"], "fanout": ["2", "4"]})
    assert [one.name for one in trees[1:]] == [
        "algorithm=binomial",
        "algorithm=pipelined_tree, fanout=2",
        "algorithm=pipelined_tree, fanout=4",
    ]
    assert dict(trees[3].environment)["MPIR_CVAR_BCAST_TREE_KVAL"] == "4"
    with pytest.raises(SpecError, match=r"no algorithm of the race reads it.*algorithm=pipelined_tree"):
        settings("mpi.bcast", {"algorithm": ["binomial"], "fanout": ["2"]})
    monkeypatch.setattr(mpich, "_text", lambda program, name: MPIVARS_4)
    assert "nb_tsp_tree" not in str(settings("mpi.bcast", {"algorithm": ["all"]}))
    factors = {"algorithm": ["nb_tsp_tree", "nb_tsp_ring"], "fanout": ["1"], "segment": ["8192"]}
    assert [dict(one.environment) for one in settings("mpi.bcast", factors)[1:]] == [
        {
            "MPIR_CVAR_BCAST_INTRA_ALGORITHM": "nb",
            "MPIR_CVAR_IBCAST_INTRA_ALGORITHM": "tsp_tree",
            "MPIR_CVAR_IBCAST_TREE_KVAL": "1",
            "MPIR_CVAR_IBCAST_TREE_PIPELINE_CHUNK_SIZE": "8192",
        },
        {
            "MPIR_CVAR_BCAST_INTRA_ALGORITHM": "nb",
            "MPIR_CVAR_IBCAST_INTRA_ALGORITHM": "tsp_ring",
            "MPIR_CVAR_IBCAST_RING_CHUNK_SIZE": "8192",
        },
    ]
    with pytest.raises(SpecError, match="fanout=4k, but it must be a whole number"):
        settings("mpi.bcast", {"algorithm": ["nb_tsp_tree"], "fanout": ["4k"]})


def test_mpich_without_mpivars_or_algorithms_says_what_to_write(tmp_path: Path) -> None:
    """No mpivars beside the launcher, or no such collective in its list: one error with the way out."""
    with pytest.raises(LaunchError, match=r"mpivars is not installed.*env.MPIR_CVAR_BCAST_INTRA_ALGORITHM"):
        mpich.algorithms(str(tmp_path / "mpiexec"), "mpi.bcast")
    (tmp_path / "mpivars").write_text("#!/bin/sh\necho 0 MPI Control Variables\n")
    (tmp_path / "mpivars").chmod(0o755)
    with pytest.raises(SpecError, match=r"lists none for mpi\.latency"):
        mpich.algorithms(str(tmp_path / "mpiexec"), "mpi.latency")


# ---- the tuner -------------------------------------------------------------------------------------------------------

Cluster = Callable[..., list[tuple[str, int]]]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, openmpi_only: None) -> Callable[[dict[str, float]], list[tuple[str, int]]]:
    """A cluster in the place of ranks: algorithms with given times (µs), 1 % noise; returns the list of its launches."""
    seconds = [0.0]

    def point(spec: Spec, number: int) -> measuring.Point:
        return measuring.Point(spec, number, spec.fingerprint({}), "Open MPI 4.1.4")

    def begin(times: dict[str, float], clock_ns: float = 1.0) -> list[tuple[str, int]]:
        ran: list[tuple[str, int]] = []

        def measure(
            specs: Sequence[Spec], effort: Effort, *, into: Campaign, progress: object, launches: list[int]
        ) -> None:
            done, failed = into.done(), []
            for spec in specs:
                one = point(spec, launches[0])
                variables = dict(spec.environment)
                plain = spec.launcher if spec.launcher in times else "default"
                name = variables.get(FORCED, "read" if "OMPI_MCA_mca_base_param_files" in variables else plain)
                if (spec.benchmark, one.fingerprint, one.launch) in done:
                    continue
                ran.append((f"{name}@{spec.size}", one.launch))
                seconds[0] += 1
                if math.isnan(times[name]):
                    failed.append(one)
                    continue
                chance = np.random.default_rng([spec.size, one.launch, sum(map(ord, name))])
                time_ns = times[name] * 1e3 * (1 + spec.size / 1e6) * math.exp(chance.normal(scale=0.01))
                meta = {
                    "fingerprint": one.fingerprint,
                    "start": f"2026-11-22T{len(ran):08d}",
                    "clock_ns": clock_ns,
                }
                into.save(made.samples(spec, [[time_ns] * 3] * 2, launch=one.launch, meta=meta), one.fingerprint)
            if failed:
                error = LaunchError(f"{len(failed)} points failed")
                error.failures = tuple(Failed("point", 0, LaunchError("it broke")) for _ in failed)
                raise error

        monkeypatch.setattr(measuring, "measure", measure)
        return ran

    monkeypatch.setattr(
        measuring, "expand", lambda specs, effort, numbers=(0,): [point(s, n) for s in specs for n in numbers]
    )
    return begin


def plan(**changes: object) -> Plan:
    """Three algorithms of allreduce at two sizes."""
    values: dict[str, object] = {
        "bases": tuple(sweep("mpi.allreduce", sizes=SIZES)),
        "settings": tuple(settings("mpi.allreduce", {"algorithm": ["all"]})),
        "effort": Effort(),
    }
    return Plan(**values | changes)  # type: ignore[arg-type]


TIMES = {"default": 10.0, "1": 30.0, "3": 8.0, "4": 8.25, "read": 8.05}


def by_name(outcome: Outcome) -> list[str]:
    """The winner at each point."""
    return [outcome.plan.settings[one.winner].name for one in outcome.points]


def test_tune_finds_confirms_writes_and_proves(cluster: Cluster, tmp_path: Path) -> None:
    """The fastest algorithm wins at both sizes, in fresh launches too, and the file chooses it."""
    ran = cluster(TIMES)
    outcome = tune(plan(error=0.001), Campaign(tmp_path / "c"))  # so small that two rounds do not settle the race
    assert by_name(outcome) == ["algorithm=recursive_doubling"] * 2
    for one in outcome.points:
        assert one.claimed
        assert one.confirmed is not None
        assert one.confirmed.ratio_low < 0.8 < one.confirmed.ratio_high
        assert one.confirmed.design == "interleaved"
        assert one.proved is not None
        assert one.proved.verdict == "faster"
    rules, parameters = outcome.written.paths
    assert {openmpi.chosen(rules.read_text(), "allreduce", 2, size)[0] for size in SIZES} == {3}
    assert f"coll_tuned_dynamic_rules_filename = {rules}" in parameters.read_text()
    assert {path.parent for path in outcome.written.paths} == {tmp_path / "c" / "tune"}
    race = [one for one, launch_number in ran if launch_number < tuner.CONFIRM]
    assert race.count("1@1024") < race.count("3@1024")  # a bad setting stops early
    assert outcome.starts == len(race) < outcome.exhaustive
    assert all(number >= tuner.CONFIRM for one, number in ran if one.startswith("read"))


@pytest.mark.slow
def test_tune_resumes_without_measuring_again(cluster: Cluster, tmp_path: Path) -> None:
    """The same command again measures nothing and says the same; a campaign that was cut off is completed."""
    ran = cluster(TIMES)
    first = tune(plan(), Campaign(tmp_path / "c"))
    whole = list(ran)
    ran.clear()
    assert shown.text(tune(plan(), Campaign(tmp_path / "c")), "table") == shown.text(first, "table")
    assert not ran
    texts = [shown.text(one, "table").splitlines() for one in (read(Campaign(tmp_path / "c")), first)]
    read_again, whole_text = [[line for line in text if "outside labkit" not in line] for text in texts]
    assert read_again == whole_text
    for path in sorted((tmp_path / "c" / "samples" / "mpi.allreduce").glob("*-1.parquet")):
        path.unlink()
    assert by_name(tune(plan(), Campaign(tmp_path / "c"))) == by_name(first)
    assert sorted(ran) == sorted(one for one in whole if one[1] == 1)


def test_tune_names_launches_of_an_earlier_effort(cluster: Cluster, tmp_path: Path) -> None:
    cluster(TIMES)
    said: list[str] = []
    tune(plan(), Campaign(tmp_path / "c"), proof=False, say=said.append)
    tune(plan(), Campaign(tmp_path / "c"), proof=False, say=said.append)
    assert not [text for text in said if "warning" in text]
    tune(plan(effort=Effort(iterations=50)), Campaign(tmp_path / "c"), proof=False, say=said.append)
    (text,) = [text for text in said if "warning" in text]
    assert text.startswith("warning: 8 points were measured before without a count of iterations")
    assert "Choose a new campaign (--into) for this effort" in text


def test_read_refuses_what_holds_no_tuning(cluster: Cluster, tmp_path: Path) -> None:
    """A campaign without a plan, without launches, or with a damaged plan is one error."""
    with pytest.raises(DataError, match="holds no tuning"):
        read(Campaign(tmp_path / "a"))
    cluster(TIMES)
    tune(plan(), Campaign(tmp_path / "c"))
    for path in (tmp_path / "c" / "samples" / "mpi.allreduce").iterdir():
        path.unlink()
    with pytest.raises(DataError, match="no whole round"):
        read(Campaign(tmp_path / "c"))
    whole = plan().as_dict()
    for wrong in (
        {"mpi.allreduce": {"plan": {"bases": 7}}},
        {"mpi.allreduce": 3},
        {"mpi.allreduce": {"plan": {**whole, "confirm": 10**9}}},
        {"mpi.allreduce": {"plan": {**whole, "settings": [["<script>", {}, {}]]}}},
        {"mpi.allreduce": {"plan": {**whole, "settings": [["x", {"hosts": "h"}, {}]]}}},
    ):
        Campaign(tmp_path / "c").update({"tune": wrong})
        with pytest.raises(DataError, match="damaged"):
            read(Campaign(tmp_path / "c"))


def test_read_tells_two_installations_of_a_library_apart(cluster: Cluster, tmp_path: Path) -> None:
    """Launchers of one kind at two places are two settings, and each keeps its own launches."""
    places = [Setting(f"launcher={place}", (("launcher", place),)) for place in ("openmpi@/a", "openmpi@/b")]
    cluster(TIMES | {"openmpi@/a": 9.35, "openmpi@/b": 8.5})
    measured = tune(plan(settings=(Setting("default"), *places)), Campaign(tmp_path / "c"))
    again = read(Campaign(tmp_path / "c"))
    assert [one.race for one in again.points] == [one.race for one in measured.points]
    assert [round(value, 1) for _, value in sorted(again.points[0].race.behind.items())] == [0.2, 0.1, 0.0]


def test_tune_claims_nothing_where_the_default_is_the_fastest(cluster: Cluster, tmp_path: Path) -> None:
    """Nothing is confirmed or written, and a file of an earlier result goes away."""
    ran = cluster(TIMES | {"default": 5.0})
    stale = tmp_path / "c" / "tune" / files.RULES
    stale.parent.mkdir(parents=True)
    stale.write_text("old")
    outcome = tune(plan(), Campaign(tmp_path / "c"))
    assert [one.reason for one in outcome.points] == ["the default leads the race"] * 2
    assert outcome.written.paths == ()
    assert not stale.exists()
    assert max(number for _, number in ran) < tuner.CONFIRM


def test_times_of_few_steps_of_the_clock_decide_no_race(cluster: Cluster, tmp_path: Path) -> None:
    """Below ten steps a time is a bound: the fastest by far does not win, and a setting of 30 steps still stops."""
    cluster(TIMES | {"default": 4.0, "3": 1.0, "4": 2.0}, clock_ns=1000.0)
    outcome = tune(plan(), Campaign(tmp_path / "c"))
    reason = "no setting wins the race: the times span fewer than 10 steps of the clock"
    assert [one.reason for one in outcome.points] == [reason] * 2
    assert [one.race.leader for one in outcome.points] == [0, 0]
    slow = {outcome.plan.settings[k].name for one in outcome.points for k in one.race.stopped}
    assert slow == {"algorithm=basic_linear"}
    assert outcome.written.paths == ()
    assert "no setting wins" in shown.text(outcome, "table")


def test_a_difference_of_one_step_of_the_clock_decides_no_race(cluster: Cluster, tmp_path: Path) -> None:
    """12 and 11 steps may be the same time, however often they are measured."""
    cluster({"default": 12.0, "1": 30.0, "3": 11.0, "4": 20.0, "read": 11.0}, clock_ns=1000.0)
    outcome = tune(plan(), Campaign(tmp_path / "c"))
    assert not any(0 in one.race.stopped or one.claimed for one in outcome.points)
    assert all("steps of the clock" in one.reason for one in outcome.points)


def test_tune_claims_nothing_that_fresh_launches_do_not_confirm(cluster: Cluster, tmp_path: Path) -> None:
    """A winner that is faster by less than matters is not written."""
    cluster({"default": 10.0, "1": 30.0, "3": 9.95, "4": 20.0, "read": 9.95})
    outcome = tune(plan(rounds=3), Campaign(tmp_path / "c"))
    assert not any(one.claimed for one in outcome.points)
    assert all(one.reason for one in outcome.points)
    assert outcome.written.paths == ()


def test_setting_that_fails_leaves_the_race(cluster: Cluster, tmp_path: Path) -> None:
    """A setting that the library cannot run fails; the others go on. Without the default there is nothing to compare."""
    cluster(TIMES | {"4": math.nan})
    outcome = tune(plan(), Campaign(tmp_path / "c"))
    assert by_name(outcome) == ["algorithm=recursive_doubling"] * 2
    assert all(dict(one.race.failed) == {3: 0} for one in outcome.points)
    assert "algorithm=ring: failed in round 1" in shown.text(outcome, "table")
    cluster(TIMES | {"default": math.nan})
    with pytest.raises(LaunchError, match="failed"):
        tune(plan(), Campaign(tmp_path / "d"))


def test_budget_leaves_time_to_confirm(cluster: Cluster, tmp_path: Path) -> None:
    """The race ends early enough; a budget that is too small even for that confirms nothing, and says so."""
    ran = cluster(TIMES | {"1": 8.4, "4": 8.2})
    clock = lambda: float(len(ran))  # noqa: E731  (a launch takes a second)
    outcome = tune(plan(budget=50.0, error=0.001), Campaign(tmp_path / "c"), proof=False, clock=clock)
    assert "race after" in outcome.ended
    assert len(ran) <= 50
    assert all(one.confirmed for one in outcome.points)
    ran.clear()
    outcome = tune(plan(budget=5.0), Campaign(tmp_path / "d"), clock=clock)
    assert [one.reason for one in outcome.points] == ["the budget ended before the winner was confirmed"] * 2
    assert "continues" in shown.text(outcome, "table")


@pytest.mark.parametrize("name", ["file", "a,b", "/proc/there/is/none"])
def test_folder_that_cannot_hold_the_files_is_refused_at_once(cluster: Cluster, tmp_path: Path, name: str) -> None:
    """A file of that name, a comma, which separates Open MPI's lists, or no right to write: an error at once."""
    (tmp_path / "file").write_text("")
    ran = cluster(TIMES)
    with pytest.raises(DataError, match="--output"):
        tune(plan(), Campaign(tmp_path / "c"), output=tmp_path / name)
    assert not ran


@pytest.mark.slow
def test_files_for_another_benchmark_are_not_replaced(cluster: Cluster, tmp_path: Path) -> None:
    """Rules for another collective are refused at once; those of an earlier result for the same one are replaced."""
    ran = cluster(TIMES)
    tune(plan(), Campaign(tmp_path / "c"))
    ran.clear()
    bcast = plan(bases=tuple(sweep("mpi.bcast", sizes=SIZES)))
    with pytest.raises(DataError, match=r"is for mpi\.allreduce with Open MPI 4\.1\.4.*mpi\.bcast.*--output"):
        tune(bcast, Campaign(tmp_path / "c"))
    assert not ran
    tune(plan(), Campaign(tmp_path / "d"), output=tmp_path / "c" / "tune")


def test_variable_without_rules_by_size_is_written_only_if_it_wins_everywhere(cluster: Cluster, tmp_path: Path) -> None:
    """Eager limits hold for all sizes: with different winners they are named as not written."""
    every = (Setting("default"), Setting("limit", environment=(("OMPI_MCA_btl_eager", "1"), ("UCX_TLS", "sm"))))
    cluster(TIMES)
    asked = plan(settings=every)
    race = standing([[1.0, 0.5]] * 3)
    win = judge([Pair(Launches([9.0] * 8), Launches([5.0 + 0.01 * n for n in range(8)]))])[0]
    both = [Tuned(base, race, 1, win) for base in asked.bases]
    written = files.write(tmp_path / "both", asked, both)
    assert [path.name for path in written.paths] == [files.PARAMETERS, "ucx.env"]
    assert "btl_eager = 1" in written.paths[0].read_text()
    assert "export UCX_TLS=sm" in written.paths[1].read_text()
    written = files.write(tmp_path / "one", asked, [both[0], Tuned(asked.bases[1], race, 0)])
    assert written.paths == ()
    assert not (tmp_path / "one").exists()
    assert "not at every point" in written.left_out[0]


def test_value_that_is_best_or_tied_everywhere_is_chosen_and_written(cluster: Cluster, tmp_path: Path) -> None:
    """A limit that wins at one size and ties at the other is confirmed at both and written, with the site's files."""
    every = (Setting("default"), *(Setting(one, environment=(("OMPI_MCA_btl_eager", one),)) for one in ("1", "2")))
    asked = plan(settings=every)
    cluster(TIMES)
    ahead, level = standing([[1.0, 0.5, 0.9]] * 3), standing([[1.0, 1.01, 1.5], [1.02, 1.01, 1.5]] * 3)
    assert (level.leader, set(level.racing)) == (0, {0, 1})
    chosen, compromise = winners([ahead, level], files.parts(asked, asked.bases))
    assert (chosen, compromise) == ([1, 1], None)
    win = judge([Pair(Launches([9.0] * 8), Launches([5.0 + 0.01 * n for n in range(8)]))])[0]
    tie = judge([Pair(Launches([9.0] * 8), Launches([9.0] * 8))])[0]
    points = [Tuned(asked.bases[0], ahead, 1, win), Tuned(asked.bases[1], level, 1, tie)]
    written = files.write(tmp_path, asked, points)
    assert "btl_eager = 1" in written.paths[0].read_text()
    assert dict(written.reads) == {f"OMPI_MCA_{openmpi.FILES}": f"{written.paths[0]},/site/openmpi-mca-params.conf"}
    assert written.left_out == ()


def test_values_that_differ_by_size_give_a_compromise_with_its_cost(cluster: Cluster, tmp_path: Path) -> None:
    """If every value loses somewhere, none is written; labkit prints the best compromise with its costs."""
    every = (Setting("default"), *(Setting(one, environment=(("OMPI_MCA_btl_eager", one),)) for one in ("1", "2")))
    asked = plan(settings=every)
    cluster(TIMES)
    costs = np.log([[3.0, 1.0, 1.2], [3.0, 2.0, 1.0]])
    noise = np.linspace(0, 0.002, 4)[:, None]
    races = [standing(row + noise * (k + 1) * [1, -1, 1]) for k, row in enumerate(costs)]
    assert [one.leader for one in races] == [1, 2]
    chosen, compromise = winners(races, files.parts(asked, asked.bases))
    assert chosen == [1, 2]
    assert compromise is not None
    assert compromise.variables == (("OMPI_MCA_btl_eager", "2"),)
    points = tuple(Tuned(base, one, one.leader) for base, one in zip(asked.bases, races, strict=True))
    text = shown.text(Outcome(asked, points, compromise=compromise), "table")
    assert "Best compromise, by the race (not confirmed): OMPI_MCA_btl_eager=2" in text
    assert "1 KiB, 2 ranks: +20 % behind 1 (default: ×3)" in text
    assert "64 KiB, 2 ranks: best (default: ×3)" in text
    assert "not written" not in text
    document = json.loads(shown.text(Outcome(asked, points, compromise=compromise), "json"))
    assert [round(one["behind"], 2) for one in document["tune"]["compromise"]["points"]] == [0.2, 0.0]


def test_rule_is_not_written_without_the_rest_of_its_setting(cluster: Cluster, tmp_path: Path) -> None:
    """A claim about an algorithm together with an eager limit says nothing about the algorithm alone."""
    variables = (("OMPI_MCA_btl_eager", "1"), (FORCED, "3"), ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1"))
    cluster(TIMES)
    asked = plan(settings=(Setting("default"), Setting("both", environment=variables)))
    race = standing([[1.0, 0.5]] * 3)
    win = judge([Pair(Launches([9.0] * 8), Launches([5.0 + 0.01 * n for n in range(8)]))])[0]
    claims = [Tuned(base, race, 1, win) for base in asked.bases]
    rules, parameters = files.write(tmp_path / "all", asked, claims).paths
    assert openmpi.chosen(rules.read_text(), "allreduce", 2, 1024)[0] == 3
    assert "btl_eager = 1" in parameters.read_text()
    written = files.write(tmp_path / "one", asked, [claims[0], Tuned(asked.bases[1], race, 0)])
    assert written.paths == ()
    assert "both is faster at 1 KiB" in written.left_out[0]


@pytest.mark.usefixtures("mpich_only")
def test_mpich_gets_rules_by_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim at one size is a rule for it; an algorithm with parameters is a variable, and needs a claim everywhere."""
    monkeypatch.setattr(selection, "own", lambda program: OWN)
    every = (
        *tuple(settings("mpi.bcast", {"algorithm": ["all"]})),
        Setting("ring", environment=(("MPIR_CVAR_BCAST_INTRA_ALGORITHM", "scatter_ring_allgather"),)),
        Setting("tree", environment=(("MPIR_CVAR_BCAST_INTRA_ALGORITHM", "tree"),)),
    )
    asked = plan(bases=tuple(sweep("mpi.bcast", sizes=SIZES)), settings=every)
    race = standing([[1.0, 0.5]] * 3)
    win = judge([Pair(Launches([9.0] * 8), Launches([5.0 + 0.01 * n for n in range(8)]))])[0]
    claims = [Tuned(asked.bases[0], race, 3, win), Tuned(asked.bases[1], race, 0)]
    written = files.write(tmp_path / "one", asked, claims)
    rules, variables = written.paths
    assert selection.chosen(rules.read_text(), "bcast", 2, 1024) == "MPIR_Bcast_intra_scatter_ring_allgather"
    assert selection.chosen(rules.read_text(), "bcast", 2, 65536) == "MPIR_Bcast_intra_binomial"
    assert f"export {selection.FILE}={rules}" in variables.read_text()
    assert written.reads == ((selection.FILE, str(rules)),)
    assert written.left_out == ()
    written = files.write(tmp_path / "tree", asked, [replace(one, winner=4, confirmed=win) for one in claims])
    assert [path.name for path in written.paths] == ["mpich.env"]
    assert "MPIR_CVAR_BCAST_INTRA_ALGORITHM=tree" in written.paths[0].read_text()
    assert written.reads == (("MPIR_CVAR_BCAST_INTRA_ALGORITHM", "tree"),)


def test_file_that_does_not_help_is_a_warning(cluster: Cluster, tmp_path: Path) -> None:
    """Ranks with the file that are no faster contradict the claim: it is said, and the exit code is not 0."""
    cluster(TIMES | {"read": 10.0})
    outcome = tune(plan(), Campaign(tmp_path / "c"))
    assert all(one.claimed and one.contradicted for one in outcome.points)
    assert "do not rely on it" in shown.text(outcome, "table")


def test_result_is_json(cluster: Cluster, tmp_path: Path) -> None:
    """The JSON document has no text to be parsed: ratio, interval and race are values."""
    cluster(TIMES)
    document = json.loads(shown.text(tune(plan(), Campaign(tmp_path / "c")), "json"))
    first = document["records"][0]
    assert first["winner"] == "algorithm=recursive_doubling"
    assert first["confirmed"]["ratio_high"] < 1
    assert {row["setting"] for row in first["race"]} >= {"default", "algorithm=ring"}


def test_the_interval_of_the_confirmation_comes_before_the_race_and_rests_on_its_own_launches(
    cluster: Cluster, tmp_path: Path
) -> None:
    """A setting that was lucky in the race alone gets the ratio of the confirmation; no number of the race claims more."""
    cluster(TIMES)
    outcome = tune(plan(), Campaign(tmp_path / "c"))
    lines = shown.text(outcome, "table").splitlines()
    row = next(n for n, line in enumerate(lines) if line.startswith(files.point(outcome.points[0].base)))
    judged = outcome.points[0].confirmed
    assert judged is not None
    assert f"{judged.ratio:.2f}" in lines[row]
    assert row < next(n for n, line in enumerate(lines) if line.startswith("race at"))
    assert any("the race shows the leader better than it is" in line for line in lines)
    record = json.loads(shown.text(outcome, "json"))["records"][0]
    assert [name for name in record if name in ("confirmed", "race")] == ["confirmed", "race"]
    assert not any("ratio" in name or "low" in name for row in record["race"] for name in row)
    study = Study(campaign=str(tmp_path / "c"), measure=False)
    first = str(study.findings()).splitlines()[0]
    assert format_range(judged.ratio_low, judged.ratio_high) in first
    notebook = (project.NOTEBOOKS / "86-tune.ipynb").read_text()
    calls = [notebook.index(f"study.{name}()") for name in ("findings", "table", "race", "figure")]
    assert calls == sorted(calls)


# ---- the proof outside labkit ----------------------------------------------------------------------------------------

# as osu_allreduce of OMB 7.4 prints it
OSU = """
# OSU MPI Allreduce Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
{size:<10d}{time:>18.2f}
"""


@pytest.fixture
def osu_ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """An osu_allreduce in the place of ranks, which takes 0.7 times as long with the files; the list of its runs."""
    ran: list[tuple[int, bool]] = []

    def output(base: Spec, argv: list[str], written: Written | None, effort: Effort) -> str:
        ran.append((base.size, written is not None))
        time = 10 * (0.7 if written else 1.0) * (1 + 0.001 * len(ran))
        return OSU.format(size=base.size, time=time)

    monkeypatch.setattr(osu.shutil, "which", lambda name: f"/none/{name}")
    monkeypatch.setattr(osu, "_output", output)
    return ran


def test_osu_program_reads_the_files_in_turns_with_runs_without(
    cluster: Cluster, osu_ran: list[tuple[int, bool]], tmp_path: Path
) -> None:
    """The ratio comes from what it printed; its texts stay, so the same command starts nothing, and reading agrees."""
    cluster(TIMES)
    outcome = tune(plan(), Campaign(tmp_path / "c"))
    assert (outcome.program, outcome.unproved) == ("osu_allreduce", "")
    for one in outcome.points:
        assert one.outside is not None
        assert one.outside.ratio_low < 0.7 < one.outside.ratio_high
        assert one.outside.design == "interleaved"
    assert len(osu_ran) == 2 * 2 * 8
    assert osu_ran[:4] == [(1024, True), (1024, False), (65536, True), (65536, False)]
    assert osu_ran[4:6] == [(1024, False), (1024, True)]
    whole = shown.text(outcome, "table")
    assert "ratio in osu_allreduce" in whole
    assert len(list((tmp_path / "c" / osu.FOLDER).glob("*/*.txt"))) == len(osu_ran)
    ran = len(osu_ran)
    assert shown.text(tune(plan(), Campaign(tmp_path / "c")), "table") == whole
    assert shown.text(read(Campaign(tmp_path / "c")), "table") == whole
    assert len(osu_ran) == ran
    assert PROGRAM in Study(campaign=str(tmp_path / "c"), measure=False).table()


@pytest.mark.slow
def test_osu_program_that_is_absent_fails_or_gets_no_faster_is_told(
    cluster: Cluster, osu_ran: list[tuple[int, bool]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim without a proof outside labkit says so and why; one that is contradicted is a warning."""
    cluster(TIMES)
    monkeypatch.setattr(osu, "_output", lambda base, *rest: OSU.format(size=base.size, time=10.0))
    same = shown.text(tune(plan(), Campaign(tmp_path / "a")), "table")
    assert "not faster at 1 KiB" in same
    assert "do not rely on it" in same

    def fails(*given: object) -> str:
        raise LaunchError("osu_allreduce failed. It must be built for Open MPI 4.1.4.", exit_status=1)

    monkeypatch.setattr(osu, "_output", fails)
    text = shown.text(tune(plan(), Campaign(tmp_path / "b")), "table")
    assert (
        "nothing outside labkit confirmed the claims: osu_allreduce failed. It must be built for Open MPI 4.1.4."
        in text
    )
    monkeypatch.setattr(osu.shutil, "which", lambda name: None)
    text = shown.text(tune(plan(), Campaign(tmp_path / "d")), "table")
    assert "nothing outside labkit confirmed the claims: osu_allreduce is not on PATH" in text
    assert "nothing outside labkit confirmed the claims: --no-proof was given" in shown.text(
        tune(plan(), Campaign(tmp_path / "d"), proof=False), "table"
    )


def test_text_without_the_value_is_refused() -> None:
    """A run that printed another size, or no table, is not a value."""
    base = Spec(benchmark="mpi.allreduce", size=1024)
    assert osu.value(OSU.format(size=1024, time=3.5), base, "latency_us", "x") == 3.5
    with pytest.raises(DataError, match="no latency_us"):
        osu.value(OSU.format(size=8, time=3.5), base, "latency_us", "x")
    with pytest.raises(DataError, match="x"):
        osu.value("Segmentation fault", base, "latency_us", "x")


def test_lines_of_a_program_about_its_memory_are_no_rows() -> None:
    """Some OMB builds print every rank's allocations: before the title, above the rows and between them."""
    note = "# HOST/POSIX_MEMALIGN: allocated 4096 bytes at 0x55abf4fc{:04x}\n"
    head, row = OSU.format(size=1024, time=3.5).rsplit("1024", 1)
    text = note.format(0) + head + note.format(1) * 2 + "1024" + row + note.format(2)
    assert osu.value(text, Spec(benchmark="mpi.allreduce", size=1024), "latency_us", "x") == 3.5
    plain, noted = omb.parse(OSU.format(size=1024, time=3.5)), omb.parse(text)
    assert [one.parameters for one in noted] == [one.parameters for one in plain]


def test_files_of_variables_are_read_as_a_shell_does(tmp_path: Path) -> None:
    """The proof reads the file itself, not what labkit knows of it."""
    (tmp_path / "a b").mkdir()
    path = tmp_path / "a b" / "mpich.env"
    path.write_text("export MPIR_CVAR_BCAST_INTRA_ALGORITHM='x y'\n")
    command = ["sh", "-c", 'echo "$MPIR_CVAR_BCAST_INTRA_ALGORITHM" "$1" "$FI_X"', "sh", "z"]
    line = files.line(Written((path,)), command, {"FI_X": "a;b"})
    assert subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True).stdout == "x y z a;b\n"
    assert files.line(Written(), ["a", "b c"], {}) == "a 'b c'"


@pytest.mark.mpi
def test_program_on_path_gets_the_file_from_mpirun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script replaces OSU's program. In the runs with the file, its ranks see the file and the site's files, but no
    variable that labkit chose. Within a host, the library chooses shared memory by itself.
    """
    if launch.get("auto").kind != "openmpi":
        pytest.skip("needs Open MPI")
    parameters = tmp_path / files.PARAMETERS
    parameters.write_text("btl_tcp_eager_limit = 4096\n")
    program = tmp_path / "osu_allreduce"
    variables = files.listed(parameters, "auto")
    before = variables[f"OMPI_MCA_{openmpi.FILES}"].removeprefix(str(parameters))
    assert before.startswith(","), "the files of user and site follow"
    seen = f'case "$OMPI_MCA_pml:$OMPI_MCA_{openmpi.FILES}" in :{parameters}{before}) time=7.00;; '
    seen += ":?*) time=99.00;; ?*:*) time=88.00;; *) time=10.00;; esac"
    table = OSU.format(size=1024, time=1.0).replace("1.00", "$time")
    leader = '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 0 ] || exit 0'
    program.write_text(f"#!/bin/sh\n{leader}\n{seen}\ncat <<END{table}END\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    base = measuring.expand([Spec(benchmark="mpi.allreduce", size=1024, transport="shm")], Effort(), [0])[0].spec
    runs = osu.Runs(base, "osu_allreduce", "latency_us", Campaign(tmp_path / "c"), "proof")
    runs.run(Written((parameters,), tuple(variables.items())), 0, 1e-5, Effort(time_cap=0.1))
    assert (runs.side(False).values, runs.side(True).values) == ([10.0], [7.0])


# ---- the notebook's study --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_study_reads_what_another_machine_measured(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Findings, tables and figure come from the launches alone, without an MPI library; an empty campaign says why."""
    cluster(TIMES)
    tune(plan(), Campaign(tmp_path / "c"))
    monkeypatch.setattr(launch, "get", lambda name: pytest.fail("a launcher was looked for"))
    study = Study(campaign=str(tmp_path / "c"), measure=False)
    assert "algorithm=recursive_doubling takes 0.8" in str(study.findings())
    assert list(study.table()["result"]) == ["confirmed"] * 2
    assert study.table()["ratio with the file"].dtype == float, "a point without a proof shows a dash, not None"
    assert "stopped" in set(study.race()["end"])
    traces = {trace.name for trace in study.figure().data}  # type: ignore[union-attr]
    assert traces >= {"default", "algorithm=ring"}
    empty = Study(campaign=str(Campaign(tmp_path / "e").path), measure=False)
    assert "holds no tuning" in str(empty.findings())
    assert empty.table().empty


def test_study_that_measures_shows_confirmations_too(cluster: Cluster, tmp_path: Path) -> None:
    """Launches of the confirmation are in table, figure and caveats like those of the race."""
    cluster(TIMES)
    study = Study(campaign=str(tmp_path / "c"), sizes="1Ki", rounds=3, launches=4, budget=0.0)
    study.run()
    assert {one.launch for one in study.samples} >= {0, 1, tuner.CONFIRM, tuner.CONFIRM + 3}
    assert len(study.records) == len(study.samples)


# ---- the command -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sizes", "8"], "no factor"),
        (["--factor", "bind=core"], "needs sizes"),
        (["--sizes", "8", "--factor", "bind=core", "--budget", "0"], "--budget"),
        (["--sizes", "8", "--factor", "bind=core", "--ranks", "x"], "--ranks 'x'"),
        (["--sizes", "8", "--factor", "ranks=2,4"], "cannot be a factor"),
        (["--sizes", "8", "--factor", "bind=core", "-o", "cadence=isolated,streaming"], "Give one value"),
        (["--sizes", "8", "--factor", "bind=core", "--rounds", "1"], "--rounds"),
    ],
)
def test_wrong_command_is_one_error(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the flag, and nothing starts."""
    assert main(["tune", "mpi.allreduce", *words]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.mpi
def test_open_mpi_reads_the_file(tmp_path: Path) -> None:
    """An algorithm that does not exist fails at the sizes of its rule, and nowhere else: ranks do read the file."""
    start = launch.get("auto")
    if start.kind != "openmpi":
        pytest.skip("needs Open MPI")
    parameters = tmp_path / files.PARAMETERS
    (tmp_path / files.RULES).write_text(openmpi.text([Rule("allreduce", 2, 1024, 99)]))
    parameters.write_text(f"{openmpi.DYNAMIC} = 1\n{openmpi.RULES} = {tmp_path / files.RULES}\n")
    variables = tuple(files.listed(parameters, "auto").items())
    specs = [Spec(benchmark="mpi.allreduce", size=size, environment=variables) for size in (256, 2048, 1024)]
    campaign, effort = Campaign(tmp_path / "c"), Effort(iterations=3, warmup=0)
    measuring.measure(specs[:2], effort, into=campaign, launches=[0])
    assert len(campaign.done()) == 2
    with pytest.raises(LabkitError, match="1 of 1 point × launch failed"):
        measuring.measure(specs[2], effort, into=campaign, launches=[0])


@pytest.mark.usefixtures("openmpi_only")
def test_variable_that_the_default_would_have_too_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rules file or an algorithm in the environment: the race would not be against the library's own choice."""
    every = settings("mpi.allreduce", {"algorithm": ["ring"]})
    for name in (f"OMPI_MCA_{openmpi.FILES}", FORCED):
        monkeypatch.delenv(name, raising=False)
    assert tuning.inherited(every) == {}
    monkeypatch.setenv(f"OMPI_MCA_{openmpi.FILES}", "/x/openmpi-mca-params.conf")
    monkeypatch.setenv(FORCED, "4")
    assert set(tuning.inherited(every)) == {f"OMPI_MCA_{openmpi.FILES}", FORCED}
    assert tuning.inherited(settings("mpi.allreduce", {"bind": ["core"]})) == {}


@pytest.mark.mpi
@pytest.mark.slow
def test_mpich_reads_its_selection(tmp_path: Path) -> None:
    """A rule without an answer ends ranks at the sizes of the rule, and nowhere else: ranks do read the file."""
    if (found := launch.installed().get("mpich")) is None:
        pytest.skip("needs MPICH")
    own = selection.own(found.program)
    assert own is not None
    rule = selection.choice("mpi.allreduce", 2, 1024, "recursive_doubling", own)
    assert rule is not None
    tree = json.loads(selection.text(own, [rule]))
    rules = tree["collective=allreduce"]["comm_type=intra"]["comm_size<=2"]
    del rules["avg_msg_size<2048"]["is_op_built_in=yes"]
    path = tmp_path / files.SELECTION
    path.write_text(json.dumps(tree, indent=1))
    variables = ((selection.FILE, str(path)), ("MPIR_CVAR_POLLS_BEFORE_YIELD", "0"))
    specs = [
        Spec(benchmark="mpi.allreduce", size=size, environment=variables, launcher="mpich")
        for size in (256, 2048, 1024)
    ]
    campaign, effort = Campaign(tmp_path / "c"), Effort(iterations=3, warmup=0)
    measuring.measure(specs[:2], effort, into=campaign, launches=[0])
    assert len(campaign.done()) == 2
    with pytest.raises(LabkitError, match="1 of 1 point × launch failed"):
        measuring.measure(specs[2], effort, into=campaign, launches=[0])


@pytest.mark.mpi
def test_real_mpich_lists_its_algorithms_and_takes_one(tmp_path: Path) -> None:
    """The names that its mpivars prints are names that its ranks accept."""
    if (found := launch.installed().get("mpich")) is None:
        pytest.skip("needs MPICH")
    names = mpich.algorithms(found.program, "mpi.bcast")
    assert {"binomial", "scatter_ring_allgather"} <= set(names)
    assert "nb_tsp_tree" in mpich.nonblocking(found.program, "mpi.bcast")
    assert "MPIR_CVAR_IBCAST_TREE_PIPELINE_CHUNK_SIZE" in mpich.parameters(found.program, "mpi.bcast", "segment")
    (chosen,) = settings("mpi.bcast", {"algorithm": ["scatter_ring_allgather"]}, "mpich")[1:]
    spec = chosen.of(Spec(benchmark="mpi.bcast", size=1024, launcher="mpich"))
    measuring.measure(spec, Effort(iterations=3, warmup=0), into=Campaign(tmp_path / "c"), launches=[0])
    assert len(Campaign(tmp_path / "c").done()) == 1


@pytest.mark.mpi
def test_dry_run_starts_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It prints every setting with its variables, and the most time."""
    words = ["--sizes", "1Ki,64Ki", "--factor", "env.UCX_TLS=tcp;sm,self", "--into", str(tmp_path / "c"), "--dry-run"]
    assert main(["tune", "mpi.allreduce", *words]) == 0
    out = capsys.readouterr().out
    assert "UCX_TLS=sm,self" in out
    assert "2 points" in out
    assert not (tmp_path / "c").exists()


@pytest.mark.mpi
@pytest.mark.slow
def test_command_tunes_real_ranks_and_resumes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Race and confirmation of real launches; the same command again starts nothing and prints the same."""
    words = ["tune", "mpi.allreduce", "--sizes", "8,64Ki", "--factor", "env.LABKIT_TEST_OF_TUNING=1,2", "-i", "10"]
    words += ["-x", "0", "--rounds", "2", "--confirm", "4", "--into", str(tmp_path / "c"), "--format", "json"]
    status = main(words)
    assert status in (0, 3)  # variables that nobody reads differ by chance only
    first = json.loads(capsys.readouterr().out)
    assert [one["message_size_B"] for one in first["records"]] == [8, 65536]
    assert all(len(one["race"]) == 3 and one["rounds"] == 2 for one in first["records"])
    samples = sorted((tmp_path / "c" / "samples" / "mpi.allreduce").iterdir())
    assert main(words) == status
    assert json.loads(capsys.readouterr().out) == first
    assert sorted((tmp_path / "c" / "samples" / "mpi.allreduce").iterdir()) == samples
