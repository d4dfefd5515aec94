"""Wrong values in files of users and other programs: one clear sentence each, in bounded time."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from labkit import testbeds
from labkit.apps import contract_plan
from labkit.apps.cli import main
from labkit.errors import DataError, LabkitError, SpecError
from labkit.formats import logs
from labkit.io import safe_read
from labkit.judge import contract
from labkit.point.spec import Effort, Spec
from labkit.report import crate
from labkit.run import importing, launch
from labkit.store.samples import header
from labkit.tools import fio

LOGS = list(logs().values())
CLAUSE = {
    "name": "'fast'",
    "benchmark": "'mpi.latency'",
    "statistic": "'latency_us_p50'",
    "relation": "'<='",
    "bound": "5",
}


def written(folder: Path, **changes: str) -> Path:
    """A contract of one clause."""
    path = folder / "contract.toml"
    path.write_text("[[clause]]\n" + "".join(f"{key} = {value}\n" for key, value in (CLAUSE | changes).items()))
    return path


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bound": "true"}, "bound = 'True', but it must be a number"),
        ({"bound": "'1'"}, "bound = '1', but it must be a number"),
        ({"share": "true"}, "share = 'True'"),
        ({"launches": "0"}, "launches=0"),
        ({"launches": "true"}, "launches = 'True'"),
        ({"launches": "-2"}, "launches=-2"),
        ({"name": "''"}, "empty name"),
        ({"name": "'  '"}, "empty name"),
        ({"where": "{transport = {a = 1}}"}, "where: transport"),
        ({"where": "{transport = []}"}, "where: transport"),
        ({"where": "{transport = [['a']]}"}, "where: transport"),
        ({"where": "{size = 2026-01-01}"}, "where: size"),
        ({"where": "{transport = ''}"}, "where: transport"),
    ],
)
def test_a_wrong_clause_is_one_sentence(changes: dict[str, str], words: str, tmp_path: Path) -> None:
    with pytest.raises(LabkitError, match=words.replace("(", r"\(")):
        contract.load(written(tmp_path, **changes))


def test_a_right_clause_is_read_and_planned(tmp_path: Path) -> None:
    (clause,) = contract.load(written(tmp_path, where="{transport = ['shm', 'tcp'], size = '8:1Ki'}", launches="3"))
    assert clause.launches == 3
    (verdict,) = contract.judge([clause], pd.DataFrame())
    assert (verdict.level, verdict.subject.points) == ("unknown", ())
    assert contract_plan.plan([clause], "c")


@pytest.mark.parametrize(
    "content",
    [
        ".".join(["a"] * 20_000) + " = 1",
        "a = " + "[" * 200_000,
        "a = " + "[1," * 5000,
        "a = {" + "b = {" * 500,
        "[" + "a." * 500 + "a]",
    ],
    ids=["dotted", "lists", "open lists", "tables", "head"],
)
def test_deep_settings_are_refused_at_once_by_name(content: str, tmp_path: Path) -> None:
    path = tmp_path / "deep.toml"
    path.write_text(content)
    with pytest.raises(DataError, match=r"deep\.toml.*levels deep"):
        safe_read.toml(path)


def test_settings_of_usual_depth_are_read(tmp_path: Path) -> None:
    """Brackets, dots and hashes in texts and comments do not count."""
    path = tmp_path / "usual.toml"
    path.write_text(f'a.b.c = [[1, 2], [3]] # {"[" * 300}\nd = "{"[" * 300}{"x." * 300}"\ne = """\n{"{" * 200}"""\n')
    assert safe_read.toml(path)["a"] == {"b": {"c": [[1, 2], [3]]}}


def test_a_file_that_is_too_long_is_not_read_into_memory(tmp_path: Path) -> None:
    """A sparse file of 30 GB takes no disk; reading it would take all memory."""
    path = tmp_path / "hosts"
    with path.open("wb") as file:
        file.truncate(30 << 30)
    with pytest.raises(SpecError, match="hosts"):
        launch.listed(str(path))
    with pytest.raises(DataError, match=r"at most 67,108,864 B"):
        safe_read.text(path)


def test_json_with_a_key_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text('{"a": 1, "b": {"c": 1, "c": 2}}')
    with pytest.raises(DataError, match=r"one\.json.*'c' occurs twice"):
        safe_read.json_object(path)
    path.write_text('{"a": 1, "a": 1}')
    assert safe_read.json_object(path) == {"a": 1}


def test_a_testbed_option_that_is_set_twice_is_refused() -> None:
    with pytest.raises(SpecError, match="sets rate twice"):
        testbeds.parse("virtual-cluster:4,rate=1mbit,rate=2mbit")
    with pytest.raises(SpecError, match="sets per_leaf twice"):
        testbeds.parse("virtual-cluster:4,per-leaf=1,per_leaf=2")


@pytest.mark.parametrize("text", ["Ada\nLovelace", "Ada\x1b[31m", "Ada\u2028", "\x00"])
def test_names_with_control_characters_are_refused(text: str) -> None:
    with pytest.raises(SpecError, match="--author"):
        crate.person(text)
    with pytest.raises(SpecError, match="--license"):
        crate.licence(f"https://example.org/{text}")


@pytest.mark.parametrize(
    ("start", "elapsed"), [("2026-01-01T00:00:00", 1e300), ("9999-12-31T23:59:59", 10.0), ("x", 1.0)]
)
def test_a_crate_has_no_end_that_no_calendar_has(start: str, elapsed: float) -> None:
    assert crate._end(pd.DataFrame({"start": [start], "elapsed_s": [elapsed]}), start) == start


def test_nvme_without_its_guest_names_no_module_of_labkit(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["measure", "storage.nvme_read", "--testbed", "local", "--into", str(tmp_path / "c")]) == 1
    told = capsys.readouterr().err
    assert "testbed" in told
    assert "_nvme" not in told
    with pytest.raises(SpecError):
        fio.nvme_read(Spec(benchmark="storage.nvme_read"), Effort())


def test_an_archive_in_the_place_of_a_campaign_says_what_to_do(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "x.zip").write_bytes(b"PK\x05\x06" + bytes(18))
    assert main(["gate", str(tmp_path / "x.zip"), "--against", "examples/two-cores"]) == 1
    assert "labkit merge" in capsys.readouterr().err


def test_an_empty_log_of_tests_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["gate", "examples/two-cores", "--contract", str(written(tmp_path)), "--log", ""]
    assert main(words) == 1
    assert "--log is empty" in capsys.readouterr().err


def test_a_number_of_thousands_of_digits_is_told_in_plain_words(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text('{"fio version": "fio-3.33", "jobs": [' + "9" * 10_000 + "]}")
    with pytest.raises(DataError, match="a number has thousands of digits"):
        safe_read.json_object(path)
    with pytest.raises(ValueError, match=r"^a number has thousands of digits$"):
        header.plain(path.read_bytes())
    with pytest.raises(DataError, match="a number has thousands of digits"):
        importing.bring([str(path)], into=tmp_path / "c")
