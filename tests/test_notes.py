"""Notes are records from where they arise to where they are shown; older campaigns hold texts alone."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.apps import show
from labkit.apps.show import results
from labkit.errors import DataError
from labkit.point import doubts, notes
from labkit.point.notes import Note, badge, note
from labkit.point.spec import Spec
from labkit.read import columnar, records
from labkit.read.records import tables
from labkit.store import samples
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples, header
from labkit.store.samples.facts import noted

from . import made

SPLIT = (
    "a run of netperf was repeated, because it gave no result: found 1; wanted 3"  # holds what separates printed notes
)
VALUES = st.text() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.booleans()
NOTE = st.builds(note, st.text(max_size=20), st.text(max_size=40))
WITH_VALUES = st.builds(
    lambda code, text, values: Note(code, text, tuple(values.items())),
    st.text(max_size=20),
    st.text(max_size=40),
    st.dictionaries(st.text(max_size=9), VALUES, max_size=3),
)


def point(launch: int = 0, badges: tuple[Note, ...] = (), warnings: tuple[Note, ...] = ()) -> Samples:
    """A point that a tool reported, with notes."""
    spec = Spec(benchmark="mpi.latency", size=8, ranks=2)
    meta = {"fingerprint": "f", "engine": "c", "library": "L", **noted(badges, warnings)}
    return made.samples(spec, launch=launch, origin="reported", meta=meta)


def test_a_warning_that_holds_a_semicolon_is_one_warning_everywhere(tmp_path: Path) -> None:
    many = [point(n, (badge("busy machine"),), (note("repeated", SPLIT),)) for n in range(2)]
    (row,) = records.summary(records.table(many)).to_dict("records")
    assert [(one.code, one.text) for one in row["warnings"]] == [("repeated", SPLIT)]
    assert [(one.code, str(one), count) for one, count in doubts.kinds(records.table(many)["warnings"])] == [
        ("repeated", SPLIT, 2)
    ]
    printed = json.loads(show.result_json(records.table(many)))
    assert printed["warnings"] == [SPLIT]
    assert [one["warnings"] for one in printed["records"]] == [[SPLIT], [SPLIT]]


def test_records_are_the_json_that_the_standard_library_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal values of other types, notes, and numbers that JSON lacks are written cell by cell."""
    cells = {
        "warnings": [(), (note("a", 'é "x"'), note("b", "B")), ()],
        "mixed": pd.Series([True, 1, 1.0], dtype=object),
        "text": ["true", "1", None],
        "number": [0.1, float("nan"), float("inf")],
        "count": [1, 2, 3],
        "verified": [True, False, True],
    }
    table = pd.DataFrame(cells)
    rows = [
        {"warnings": [], "mixed": True, "text": "true", "number": 0.1, "count": 1, "verified": True},
        {"warnings": ['é "x"', "B"], "mixed": 1, "text": "1", "number": None, "count": 2, "verified": False},
        {"warnings": [], "mixed": 1.0, "text": None, "number": None, "count": 3, "verified": True},
    ]
    monkeypatch.setattr(results, "points_json", lambda frame: [])  # the table has no columns of points
    document = {"records": rows, "points": [], "warnings": ["B", 'é "x"'], "published": [{"name": "n"}]}
    assert show.result_json(table, [{"name": "n"}]) == json.dumps(document, indent=1)
    assert show.result_json(table[:0]) == json.dumps({"records": [], "points": [], "warnings": []}, indent=1)


@given(st.lists(NOTE | WITH_VALUES), st.lists(NOTE | WITH_VALUES))
def test_notes_survive_metadata_and_tables(badges: list[Note], warnings: list[Note]) -> None:
    unique = [tuple({one.text: one for one in each}.values()) for each in (badges, warnings)]
    apart = [one for one in unique[1] if one.text not in {other.text for other in unique[0]}]
    meta = json.loads(json.dumps(noted(unique[0], apart)))
    sampled = made.samples("mpi.latency", meta=meta)
    assert (list(sampled.badges), list(sampled.warnings)) == (list(unique[0]), apart)
    frame = pd.DataFrame({"badges": [tuple(badges), ()], "warnings": [(), tuple(warnings)], "n": [1, 2]})
    assert tables.frame(tables.arrow(frame)).equals(frame)


def test_metadata_keep_the_texts_that_every_reader_of_the_format_knows(tmp_path: Path) -> None:
    sampled = point(badges=(badge("page cache"),), warnings=(note("few", "3 of 4", have=3),))
    assert (sampled.meta["badges"], sampled.meta["warnings"]) == (["page cache"], ["3 of 4"])
    samples.save(sampled, tmp_path / "a.parquet")
    again = samples.load(tmp_path / "a.parquet")
    assert again.badges == (Note("page-cache", "page cache"),)
    assert again.warnings[0].value("have") == 3


@pytest.mark.parametrize("kind", ["badges", "warnings"])
def test_a_text_without_a_code_is_refused(kind: str, tmp_path: Path) -> None:
    bare = dataclasses.replace(point(), meta={**point().meta, kind: ["busy machine"], "notes": {}})
    path = tmp_path / "c" / "samples" / "mpi.latency" / f"{1:016x}-0.parquet"
    samples.save(bare, path)
    for reading in (lambda: samples.load(path), lambda: columnar.read_campaigns(Campaign(tmp_path / "c"))):
        with pytest.raises(DataError, match=r"-0.parquet: .*no code for 'busy machine', but .*each badge .*Restore it"):
            reading()


@pytest.mark.parametrize("about", [[1], {"a": "b"}, {"a": ["b"]}, {"a": [3, {}]}, {"a": ["b", {"c": []}]}])
def test_notes_of_others_are_checked(about: object) -> None:
    wrong = samples.metadata(point()) | {"meta": {"notes": about}}
    with pytest.raises(DataError, match=r"notes[=:]"):
        header.checked(wrong, "file")


def test_records_are_lists_of_structs_and_one_text_in_csv(tmp_path: Path) -> None:
    frame = records.table([point(badges=(badge("page cache"), badge("loopback")), warnings=(note("a", "b", c=1),))])
    path = tmp_path / "records.parquet"
    path.write_bytes(tables.parquet(frame))
    (row,) = pq.read_table(path).to_pylist()
    assert row["warnings"] == [{"code": "a", "text": "b", "values": '{"c": 1}'}]
    assert tables.read(path).equals(frame)
    assert "page cache; loopback" in tables.printed(frame).to_csv()


@pytest.mark.parametrize("cells", [{"warnings": ["load 2; virtual machine"]}, {"unreliable": ["p95; p99"]}])
def test_records_with_joined_texts_are_refused(cells: dict[str, list[str]], tmp_path: Path) -> None:
    path = tmp_path / "records.parquet"
    pd.DataFrame(cells).to_parquet(path)
    with pytest.raises(DataError, match=r"no list of (notes|texts): .*Delete it: labkit makes them anew"):
        tables.read(path)


def test_nobody_splits_what_was_joined() -> None:
    """The separator of printed notes is known to one module only."""
    exempt = ("notes.py", "selftest.py", "node.py")  # the latter two run where labkit is not installed, and only print
    sources = [path for path in Path(notes.__file__).parents[1].rglob("*.py") if path.name not in exempt]
    assert len(sources) > 300
    wrong = [str(path) for path in sources if '"; ".join' in (text := path.read_text()) or 'split("; ")' in text]
    assert wrong == []
