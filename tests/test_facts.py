"""The registry of metadata: what is written follows it, what is recorded has it, and nobody else knows a key."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import labkit
from labkit.errors import DataError
from labkit.store.campaign import Campaign
from labkit.store.samples import facts
from labkit.store.samples.facts import FACTS, Fact

ROOT = Path(labkit.__file__).parent
EXAMPLES = sorted(path.parent for path in ROOT.parent.glob("data/campaigns/examples/*/campaign.json"))
WHOLE = {fact.name: fact.empty for fact in FACTS.values() if "measured" in fact.needed}


def test_names_are_those_of_the_keys() -> None:
    constants = {name: one for name, one in vars(facts).items() if isinstance(one, Fact)}
    assert {name.lower() for name in constants} == {one.name.lower() for one in constants.values()}
    assert len(FACTS) == len(constants) > 50
    assert all(one.meaning.endswith(".") for one in FACTS.values())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_recorded_points_are_as_the_registry_says(example: Path) -> None:
    assert EXAMPLES
    wrong = {text for one in Campaign(example).samples() for text in facts.wrong(one.meta, one.origin)}
    assert wrong == set()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"ping": 3}, "ping is not a known key"),
        ({"seed": "1"}, "seed='1', but it must be of type int"),
        ({"seed": True}, "seed=True, but it must be of type int"),
        ({"library": None}, "library is missing"),
        ({"rank_hosts": "node1"}, "rank_hosts='node1', but it must be of type list"),
    ],
)
def test_metadata_that_do_not_follow_it_are_refused(changes: dict[str, object], said: str) -> None:
    assert facts.complete(WHOLE, "measured") == WHOLE
    with pytest.raises(DataError, match=said):
        facts.complete({**WHOLE, **changes}, "measured")


def test_a_value_that_is_not_there_is_empty() -> None:
    assert facts.RANK_HOSTS.of({}) == facts.RANK_HOSTS.of({"rank_hosts": None}) == []
    assert not facts.EVIDENCE.given({"evidence": None})
    assert facts.ELAPSED.fits(3)
    assert not facts.COMMAND.fits("mpirun x")


def keys(path: Path) -> list[str]:
    """Keys that a module takes out of metadata by their name."""
    usages = []
    for node in ast.walk(ast.parse(path.read_text())):
        of, key = None, None
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            of, key = node.value, node.slice
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            of, key = node.func.value, (node.args or [None])[0]
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In):
            of, key = node.comparators[0], node.left
        named = of.attr if isinstance(of, ast.Attribute) else of.id if isinstance(of, ast.Name) else ""
        if named == "meta" and isinstance(key, ast.Constant) and key.value in FACTS:
            usages.append(f"{path.name}:{node.lineno}: {key.value}")
    return usages


def test_no_other_module_reads_a_bare_key(tmp_path: Path) -> None:
    sample = tmp_path / "sample.py"
    sample.write_text('one.meta["library"]\nmeta.get("engine", "")\n"evidence" in one.meta\nmeta["other"]\n')
    assert len(keys(sample)) == 3
    modules = [path for path in ROOT.rglob("*.py") if path.name != "facts.py"]
    assert [key for path in modules if "meta" in path.read_text() for key in keys(path)] == []
