"""An archive as an RO-Crate: what RO-Crate 1.1 and the Process Run Crate profile 0.5 require, and what readers need."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from labkit.apps import cli
from labkit.errors import SpecError
from labkit.io import project
from labkit.report import crate

EXAMPLE = project.SHIPPED / "data" / "campaigns" / "examples" / "two-cores-labs"
VALIDATOR = project.SHIPPED / ".venv-crate" / "bin" / "python"  # roc-validator wants older packages than labkit has
ADA = "Ada Lovelace, 0000-0002-1825-0097"


def export(target: Path, *more: str) -> int:
    """Export the example as a crate."""
    return cli.main(["export", str(EXAMPLE), "--ro-crate", "--output", str(target), *more])


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example as a crate by two people."""
    target = tmp_path_factory.mktemp("crate") / "labs.zip"
    assert export(target, "--license", "CC-BY-4.0", "--author", ADA, "--author", "Charles Babbage") == 0
    return target


@pytest.fixture(scope="module")
def graph(archive: Path) -> dict[str, dict[str, Any]]:
    """Entities of the crate by their identifiers."""
    with zipfile.ZipFile(archive) as packed:
        content = json.loads(packed.read(crate.FILE))
    assert content["@context"][0] == "https://w3id.org/ro/crate/1.1/context"
    entities = content["@graph"]
    assert len({one["@id"] for one in entities}) == len(entities), "each identifier once"
    return {one["@id"]: one for one in entities}


def references(value: Any) -> list[str]:
    """Identifiers that a property refers to."""
    if isinstance(value, list):
        return [name for one in value for name in references(one)]
    return [value["@id"]] if isinstance(value, dict) and set(value) == {"@id"} else []


def kinds(entity: dict[str, Any]) -> set[str]:
    """Types of an entity."""
    given = entity["@type"]
    return set(given) if isinstance(given, list) else {given}


def test_the_descriptor_and_the_root_have_what_the_specification_requires(graph: dict[str, dict[str, Any]]) -> None:
    descriptor, root = graph[crate.FILE], graph["./"]
    assert kinds(descriptor) == {"CreativeWork"}
    assert references(descriptor["about"]) == ["./"]
    assert references(descriptor["conformsTo"]) == ["https://w3id.org/ro/crate/1.1"]
    assert kinds(root) == {"Dataset"}
    assert {"name", "description", "datePublished", "license"} <= set(root)
    assert references(root["license"]) == ["https://spdx.org/licenses/CC-BY-4.0"]
    assert [graph[one]["name"] for one in references(root["author"])] == ["Ada Lovelace", "Charles Babbage"]
    assert references(root["conformsTo"]) == ["https://w3id.org/ro/wfrun/process/0.5"]
    assert {"name", "version"} <= set(graph["https://w3id.org/ro/wfrun/process/0.5"])


def test_every_reference_leads_to_an_entity(graph: dict[str, dict[str, Any]]) -> None:
    outside = {"https://w3id.org/ro/crate/1.1"}
    for entity in graph.values():
        for name, value in entity.items():
            assert set(references(value)) <= set(graph) | outside, (entity["@id"], name)


def test_every_action_has_what_the_profile_requires(graph: dict[str, dict[str, Any]]) -> None:
    actions = [one for one in graph.values() if "CreateAction" in kinds(one)]
    assert {one["@id"] for one in actions} == set(references(graph["./"]["mentions"]))
    benchmarks = {path.name for path in (EXAMPLE / "samples").iterdir()}
    assert {references(one["result"])[0] for one in actions} >= {f"samples/{name}/" for name in benchmarks}
    for one in actions:
        instruments = [graph[name] for name in references(one["instrument"])]
        assert instruments
        assert all(kinds(tool) == {"SoftwareApplication"} and tool["softwareVersion"] for tool in instruments)
        assert all(kinds(graph[name]) & {"PropertyValue", "Dataset"} for name in references(one["object"]))
        assert kinds(graph[references(one["agent"])[0]]) == {"Person"}
        if "startTime" in one:
            moment = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+\d\d:\d\d"  # as rocrate-validator wants it
            assert re.fullmatch(moment, one["endTime"])
            assert one["startTime"] <= one["endTime"]


def test_every_file_of_the_archive_is_described_with_its_checksum(
    archive: Path, graph: dict[str, dict[str, Any]]
) -> None:
    files = {name: one for name, one in graph.items() if kinds(one) == {"File"}}
    with zipfile.ZipFile(archive) as packed:
        names = set(packed.namelist())
        assert set(files) == names - {crate.FILE}
        for name, one in files.items():
            if name == "manifest-sha256.txt":
                continue  # it holds the checksum of the metadata, which therefore cannot hold its own
            content = packed.read(name)
            assert one["sha256"] == hashlib.sha256(content).hexdigest()
            assert one["contentSize"] == str(len(content))
        for folder in (one for one in graph.values() if kinds(one) == {"Dataset"} and one["@id"] != "./"):
            assert any(name.startswith(folder["@id"]) for name in names), folder["@id"]
    reached = {"./"}
    for _ in range(3):
        reached |= {name for one in list(reached) for name in references(graph[one].get("hasPart", []))}
    assert set(files) <= reached, "each file is part of the root or of one of its folders"


def test_a_crate_is_an_archive_that_labkit_verifies(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["verify", str(archive)]) == 0
    assert "all intact" in capsys.readouterr().out


def test_the_same_campaign_gives_the_same_metadata_on_a_day(graph: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    again = tmp_path / "again.zip"
    assert export(again, "--license", "CC-BY-4.0", "--author", ADA, "--author", "Charles Babbage") == 0
    with zipfile.ZipFile(again) as packed:
        entities = {one["@id"]: one for one in json.loads(packed.read(crate.FILE))["@graph"]}
    entities["./"]["datePublished"] = graph["./"]["datePublished"]
    assert entities == graph


def complaints(folder: Path, contexts: Path, cache: Path) -> list[str]:
    """What roc-validator says of a crate, without what the specifications only recommend."""
    command = [VALIDATOR, Path(__file__).with_name("validate_crate.py"), folder, contexts, cache]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["checks"] > 40
    return list(told["issues"])


@pytest.mark.slow
@pytest.mark.skipif(
    not VALIDATOR.exists() and not os.environ.get("LABKIT_REQUIRE"),
    reason="no .venv-crate. Run: make .venv-crate/.packages",
)
def test_a_validator_of_the_profile_accepts_the_crate(
    archive: Path, graph: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    published = json.loads((Path(__file__).parent / "golden" / "ro-crate-1.1-context.json").read_text())
    used = {name for one in graph.values() for name in (*one, *kinds(one)) if not name.startswith("@")} - {"sha256"}
    assert used <= set(published["@context"]), "add further terms from the context that RO-Crate 1.1 publishes"
    contexts = tmp_path / "contexts.json"  # what the addresses in the crate lead to; it uses no term of the second one
    contexts.write_text(
        json.dumps({published["@id"]: published, "https://w3id.org/ro/terms/workflow-run/context": {"@context": {}}})
    )
    folder = tmp_path / "crate"
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    assert complaints(folder, contexts, tmp_path / "cache") == []
    content = json.loads((folder / crate.FILE).read_text())
    action = next(one for one in content["@graph"] if "CreateAction" in kinds(one))
    action.pop("instrument")
    (folder / crate.FILE).write_text(json.dumps(content))
    assert any("instrument" in text for text in complaints(folder, contexts, tmp_path / "cache"))


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "--ro-crate without --license"),
        (["--license", "CC-BY-4.0"], "--ro-crate without --author"),
        (["--license", "no licence!", "--author", "Ada"], "--license 'no licence!'"),
        (["--license", "MIT", "--author", "Ada, 0000-0002-1825-0098"], "check digit"),
        (["--license", "MIT", "--author", ", 0000-0002-1825-0097"], "NAME"),
    ],
)
def test_wrong_words_are_refused_before_anything_is_written(
    words: list[str], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(tmp_path / "x.zip", *words) == 1
    assert named in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert cli.main(["export", str(EXAMPLE), "--license", "MIT", "--output", str(tmp_path / "x.zip")]) == 1
    assert "without --ro-crate" in capsys.readouterr().err


def test_people_and_licences_are_checked() -> None:
    assert crate.person("Josiah Carberry, https://orcid.org/0000-0002-1825-0097").orcid == "0000-0002-1825-0097"
    assert crate.person("A B").id == "#person-a-b"
    assert crate.licence("https://example.org/terms") == "https://example.org/terms"
    with pytest.raises(SpecError, match="ORCID"):
        crate.person("Ada, 12")


def test_a_crate_has_the_reports_of_all_styles(tmp_path: Path) -> None:
    campaign = tmp_path / "c"
    shutil.copytree(EXAMPLE, campaign)
    for folder in ("report", "report-survey"):
        (campaign / folder / "html").mkdir(parents=True)
        (campaign / folder / "html" / "index.html").write_text("page")
    command = ["export", str(campaign), "--ro-crate", "--license", "CC-BY-4.0", "--author", "A B", "--output"]
    assert cli.main([*command, str(tmp_path / "c.zip")]) == 0
    with zipfile.ZipFile(tmp_path / "c.zip") as packed:
        entities = {one["@id"]: one for one in json.loads(packed.read(crate.FILE))["@graph"]}
    assert references(entities["#reporting"]["result"]) == ["report-survey/", "report/"]
    assert {"report/html/index.html", "report-survey/html/index.html"} <= set(entities)


def test_of_a_report_only_what_readers_open_is_packed(tmp_path: Path) -> None:
    for name in ("html/index.html", "html/data/a.csv", "report.pdf", "_quarto.yml", "90.ipynb"):
        (tmp_path / "report" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "report" / name).write_text("x")
    packed = {path.relative_to(tmp_path / "report").as_posix() for path in crate.rendered(tmp_path / "report")}
    assert packed == {"html/index.html", "html/data/a.csv", "report.pdf"}
    assert crate.rendered(tmp_path / "none") == []
