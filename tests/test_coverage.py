"""Contracts that demand coverage: pairs and hosts that were not measured are named, and the clause is not fulfilled."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from labkit.apps import cli, contract_plan
from labkit.apps.show import contracted
from labkit.benchmarks.mpi.all_pairs import partners
from labkit.errors import LabkitError
from labkit.judge import contract
from labkit.judge.finding import Finding
from labkit.judge.sentences import sentence
from labkit.point.spec import Spec
from labkit.read import records
from labkit.store.samples import Samples
from tests import made

VIRTUAL = Path(__file__).parents[1] / "data" / "campaigns" / "examples" / "virtual-cluster"
HOSTS = [f"n{number}.cluster.example" for number in range(1, 7)]
LATENCY = {"benchmark": "mpi.latency", "pairs": "all", "hosts": "n[1-6]"}


def on(spec: Spec, hosts: list[str], iterations: int = 50, launch: int = 0) -> Samples:
    """A launch whose ranks ran on these hosts."""
    facts = {"rank_hosts": hosts, "fingerprint": f"{spec.benchmark} {spec.size} {spec.hosts}"}
    return made.samples(spec, [[2000] * iterations] * len(hosts), launch=launch, meta=facts)


def pair(one: str, other: str, size: int = 8, launch: int = 0) -> Samples:
    """A launch of mpi.latency between two hosts."""
    return on(Spec(benchmark="mpi.latency", size=size, hosts=(one, other)), [one, other], 50, launch)


def round_robin(hosts: list[str], rounds: int, launch: int = 0) -> Samples:
    """A launch of mpi.all_pairs that ended after some rounds."""
    return on(Spec(benchmark="mpi.all_pairs", size=8, ranks=len(hosts)), hosts, rounds, launch)


def verdict(samples: Iterable[Samples], **fields: Any) -> Finding:
    """The verdict on a clause about samples."""
    found = list(samples)
    [result] = contract.judge(
        [contract.Clause(name="all", **fields)],
        records.summary(records.table(found)),
        lambda name: [one for one in found if one.spec.benchmark == name],
    )
    return result


def all_but(*absent: tuple[int, int]) -> list[Samples]:
    return [
        pair(HOSTS[one], HOSTS[other])
        for one, other in itertools.combinations(range(6), 2)
        if (one + 1, other + 1) not in absent
    ]


def test_pairs_that_were_not_measured_are_named() -> None:
    result = verdict(all_but((1, 5), (2, 5), (4, 6)), **LATENCY)
    assert result.level == "bad"
    assert sentence(result) == "not fulfilled: 3 of 15 pairs were not measured (n1–n5, n2–n5, n4–n6)"
    assert verdict(all_but(), **LATENCY).level == "good"
    assert sentence(verdict(all_but(), **LATENCY)) == "15 of 15 pairs were measured"
    [shown] = json.loads(contracted.as_json([result]))["clauses"]
    assert (shown["verdict"], shown["not_measured"][0]) == ("fail", ["n1", "n5"])


def test_a_fast_system_of_which_pairs_lack_does_not_pass() -> None:
    bound = {"statistic": "latency_us_p50", "relation": "<=", "bound": 9.0}
    result = verdict(all_but((1, 5)), **LATENCY, **bound)
    assert (result.count("fulfilled"), result.count("points"), result.level) == (14, 14, "bad")
    assert "1 of 15 pairs was not measured (n1–n5); fulfilled at 14 of 14 points" in sentence(result)
    slow = verdict(all_but(), **LATENCY, **(bound | {"bound": 0.001}))
    assert slow.level == "bad"


def test_a_host_without_any_pair_is_named_once() -> None:
    result = verdict([one for one in all_but() if HOSTS[4] not in one.spec.hosts], **LATENCY)
    assert sentence(result) == "not fulfilled: 5 of 15 pairs were not measured (every pair of n5)"


@pytest.mark.parametrize("sizes", ["8,1Ki", ["8", "1Ki"], "8:1Ki"])
def test_each_pair_is_measured_at_each_size(sizes: Any) -> None:
    some = [*all_but(), pair(HOSTS[0], HOSTS[1], 1024)]
    result = verdict(some, **LATENCY, where={"size": sizes})
    assert sentence(result).startswith("not fulfilled: 14 of 15 pairs were not measured at each size and level")
    assert verdict(some, **LATENCY, where={"size": 8}).level == "good"
    if sizes != "8:1Ki":
        assert verdict(all_but(), **LATENCY, where={"size": sizes}).level == "bad", "no point has 1 KiB"


def test_each_pair_has_enough_launches() -> None:
    twice = [*all_but(), *(pair(one, other, launch=1) for one, other in itertools.combinations(HOSTS[:5], 2))]
    assert "5 of 15 pairs were not measured" in sentence(verdict(twice, **LATENCY, launches=2))
    assert verdict(twice, **LATENCY, launches=2, share=1).level == "bad"


def test_a_round_robin_that_ended_early_lacks_the_pairs_that_never_met() -> None:
    whole = verdict([round_robin(HOSTS, len(partners(6)))], benchmark="mpi.all_pairs", pairs="all", hosts=6)
    assert whole.level == "good"
    early = verdict([round_robin(HOSTS, 4)], benchmark="mpi.all_pairs", pairs="all", hosts=6)
    assert sentence(early).startswith("not fulfilled: 3 of 15 pairs were not measured (")


def test_hosts_that_no_point_knows_still_lack() -> None:
    four = [round_robin(HOSTS[:4], 3)]
    assert verdict(four, benchmark="mpi.all_pairs", pairs="all").level == "good"
    assert "9 of 15 pairs were not measured" in sentence(verdict(four, benchmark="mpi.all_pairs", pairs="all", hosts=6))
    assert verdict(four, benchmark="mpi.all_pairs", hosts=4).level == "good"
    assert "2 of 6 hosts were not measured" in sentence(verdict(four, benchmark="mpi.all_pairs", hosts=6))
    named = sentence(verdict(four, benchmark="mpi.all_pairs", hosts=["n2", "n9"]))
    assert named == "not fulfilled: 1 of 2 hosts was not measured (n9)"
    one = [on(Spec(benchmark="mpi.latency", size=8), ["n1", "n1"])]
    assert "no pair was measured" in sentence(verdict(one, benchmark="mpi.latency", pairs="all"))


@pytest.mark.slow
def test_the_recorded_virtual_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    terms = tmp_path / "terms.toml"

    def judged(text: str) -> tuple[int, str]:
        terms.write_text(f'[[clause]]\nname = "pairs"\nbenchmark = "mpi.all_pairs"\npairs = "all"\n{text}')
        code = cli.main(["gate", str(VIRTUAL), "--contract", str(terms)])
        return code, capsys.readouterr().out

    assert judged("")[0] == judged('hosts = "vc[0-3]"\n')[0] == 0
    code, text = judged('hosts = "vc[0-5]"\n')
    assert code == 2
    assert "not fulfilled: 9 of 15 pairs were not measured" in text
    assert "every pair of vc4, every pair of vc5" in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('pairs = "some"', "pairs='some', but it must be 'all'"),
        ("pairs = true", "pairs=True, but it must be 'all'"),
        ("hosts = true", "hosts = 'True', but it must be a number of hosts or their names"),
        ("hosts = 0", "hosts=0 of clause 'a', but it must be from 1"),
        ("hosts = 2.0", "hosts = '2.0', but it must be a number"),
        ("hosts = ''", "hosts = '', but it must be a number"),
        ("hosts = []", "but it must be a number of hosts or their names"),
        ("hosts = ['n1', 2]", "but it must be a number of hosts or their names"),
        ("hosts = 'n[1-'", "Clause 'a': hosts: 'n\\[1-' is not of the form"),
        ("hosts = ['n1', 'n1']", "n1 is given twice"),
        ("hosts = 1\npairs = 'all'", "one host has no pair"),
        ("launches = 2", "has no statistic"),
        ("pairs = 'all'\nbound = 2", "has no statistic"),
    ],
)
def test_a_wrong_demand_is_one_clear_error(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "terms.toml"
    path.write_text(f"[[clause]]\nname = 'a'\nbenchmark = 'mpi.latency'\n{text}\n")
    with pytest.raises(LabkitError, match=words):
        contract.load(path)


def test_a_plan_measures_each_named_pair() -> None:
    pairs = contract_plan.plan([contract.Clause(name="a", **LATENCY, where={"size": 8})], "today")
    assert len(pairs) == 15
    assert pairs[0].command == "labkit measure mpi.latency -m 8 --hosts n1,n2 --launches 1 --into today"
    [whole] = contract_plan.plan(
        [contract.Clause(name="a", benchmark="mpi.all_pairs", pairs="all", hosts="n[1-3]")], "today"
    )
    assert "--hosts n1,n2,n3 --ranks 3" in whole.command
    [unnamed] = contract_plan.plan([contract.Clause(name="a", benchmark="mpi.all_pairs", hosts=6)], "today")
    assert "run this so that it covers 6 hosts" in contracted.script([unnamed])
    for part in (*pairs, whole, unnamed):
        cli.parser().parse_args(list(part.words[1:]))
