"""Archives and campaigns that were made to harm: named, and nothing of them lands outside, is executed or believed."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import stat
import struct
import time
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from labkit.apps import jobs
from labkit.apps.cli import main
from labkit.apps.explorer import measurement as explored
from labkit.apps.jobs import submitted
from labkit.errors import DataError, LabkitWarning, LaunchError, SpecError
from labkit.point.spec import Spec
from labkit.read import columnar, kept
from labkit.store import archive, lease, merging, packing, samples, signatures
from labkit.store.campaign import Campaign

from .test_samples import small_samples
from .test_store import everything, filled

DEEP = b'{"format": 1, "meta": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


def packed(folder: Path, change: Callable[[zipfile.ZipFile], None] = lambda file: None) -> Path:
    """An archive of a small campaign, to which something is added."""
    campaign = filled(folder / "c", 2)
    target = archive.export(campaign.path, folder / "evil.zip")
    with zipfile.ZipFile(target, "a") as file:
        change(file)
    return target


def forged(folder: Path, files: dict[str, bytes]) -> Path:
    """An archive whose manifest fits, as somebody who knows labkit would make it."""
    import hashlib

    target = folder / "evil.zip"
    with zipfile.ZipFile(target, "w") as file:
        for name, content in files.items():
            file.writestr(name, content)
        lines = [f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in files.items()]
        file.writestr(archive.MANIFEST, "".join(lines))
    return target


def outside(folder: Path) -> set[str]:
    """Everything in the neighbourhood of the target."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def refused(folder: Path, target: Path, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Verify names it, merge refuses it, and nothing is written."""
    before = outside(folder)
    assert main(["verify", str(target)]) == 1
    out = capsys.readouterr()
    assert said in out.out + out.err
    assert main(["merge", str(target), "--into", str(folder / "into")]) == 1
    assert "Traceback" not in capsys.readouterr().err
    assert outside(folder) == before


def link(file: zipfile.ZipFile) -> None:
    entry = zipfile.ZipInfo("notebooks/link")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    file.writestr(entry, "/etc/passwd")


def twice(file: zipfile.ZipFile) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr("log.txt", "another")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda file: file.writestr("/tmp/labkit-evil", "x"), "/tmp/labkit-evil: an absolute path"),
        (lambda file: file.writestr("../evil", "x"), "../evil: the name has the part '..'"),
        (lambda file: file.writestr("samples/../../evil", "x"), "the name has the part '..'"),
        (lambda file: file.writestr("a\\..\\evil", "x"), "a backslash"),
        (lambda file: file.writestr("a\x1b[2Jb", "x"), r"'a\x1b[2Jb': the name has a backslash, a control character"),
        (lambda file: file.writestr("a\u202eb", "x"), "an invisible character"),
        (lambda file: file.writestr("x" * 300, "x"), "longer than 255 B"),
        (lambda file: file.writestr("LOG.txt", "x"), "LOG.txt: differs from log.txt by case alone"),
        (lambda file: file.writestr("log.txt/x", "x"), "log.txt: is a file and a folder"),
        (lambda file: file.writestr("extra.txt", "x"), "extra.txt: not listed in manifest-sha256.txt"),
        (link, "notebooks/link: a link"),
        (twice, "log.txt: is there twice"),
    ],
)
def test_names_and_entries_that_harm_are_named(
    tmp_path: Path, change: Callable[[zipfile.ZipFile], None], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(tmp_path, packed(tmp_path, change), said, capsys)


@pytest.mark.parametrize("name", ["/somewhere", "../../somewhere", "a/b", "", "..", "x\ny", 3, None, ["x"]])
def test_the_name_of_a_campaign_is_no_path(tmp_path: Path, name: object, capsys: pytest.CaptureFixture[str]) -> None:
    campaign = filled(tmp_path / "c", 2)
    facts = {**campaign.facts, "name": name, "origins": {"../../x": {}}}
    log = (campaign.path / "log.txt").read_bytes()
    files = {str(p.relative_to(campaign.path)): p.read_bytes() for p in campaign.path.rglob("*.parquet")}
    target = forged(tmp_path, {"campaign.json": json.dumps(facts).encode(), "log.txt": log, **files})
    refused(tmp_path, target, "campaign.json", capsys)


def test_an_archive_is_bounded_before_and_while_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def bomb(file: zipfile.ZipFile) -> None:
        file.writestr("notebooks/zeros", bytes(50 << 20), zipfile.ZIP_DEFLATED)

    refused(tmp_path, packed(tmp_path, bomb), "raise the limit with the variable LABKIT_ARCHIVE_RATIO", capsys)
    shutil.rmtree(tmp_path / "c")
    (tmp_path / "evil.zip").unlink()
    good = packed(tmp_path)
    assert main(["verify", str(good), "--max-size", "2Ki"]) == 1
    assert "but the limit is 2,048" in capsys.readouterr().err
    monkeypatch.setenv(packing.ENTRIES, "3")
    assert main(["verify", str(good)]) == 1
    assert "7 entries, but the limit is 3" in capsys.readouterr().err
    monkeypatch.setenv(packing.ENTRIES, "x")
    with pytest.raises(SpecError, match="LABKIT_ARCHIVE_ENTRIES: size='x'"):
        packing.Limits.usual()
    with pytest.raises(SpecError, match="--max-size: size='many'"):
        packing.Limits.usual("many")
    monkeypatch.delenv(packing.ENTRIES)
    assert main(["verify", str(good), "--max-size", "1Gi"]) == 0


def test_sizes_that_lie_are_bounded_while_unpacking(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The directory tells 10 B of an entry that holds 50 MB."""
    target = packed(tmp_path, lambda file: file.writestr("notebooks/zeros", bytes(50 << 20), zipfile.ZIP_DEFLATED))
    content = target.read_bytes()
    size = struct.pack("<L", 50 << 20)
    target.write_bytes(content.replace(size, struct.pack("<L", 10)))
    before = outside(tmp_path)
    assert main(["verify", str(target)]) == 1
    assert "zeros: damaged" in capsys.readouterr().out
    assert outside(tmp_path) == before


def test_a_directory_of_millions_is_refused_before_it_is_read(tmp_path: Path) -> None:
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 65535, 65535, 400 << 20, 0, 0)
    with (tmp_path / "evil.zip").open("wb") as file:
        file.truncate(400 << 20)
        file.seek(400 << 20)
        file.write(end)
    began = time.monotonic()
    with pytest.raises(DataError, match="central directory of 419,430,400 B"):
        archive.verify(tmp_path / "evil.zip")
    assert time.monotonic() - began < 60


class Evil:
    """What runs when somebody unpickles it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch /tmp/labkit-evil-was-executed",)


def header(**changes: object) -> bytes:
    """Metadata of a samples file with something wrong."""
    values = samples.metadata(small_samples()) | changes
    return json.dumps(values).encode()


def spec(**changes: object) -> dict[str, object]:
    return {**small_samples().spec.as_dict(), **changes}


HEADERS = {
    "no JSON": b"{",
    "pickle": pickle.dumps(Evil()),
    "deep": DEEP,
    "a list": b"[1]",
    "empty": b"",
    "bytes": b"\xff\xfe",
    "many digits": b'{"format": ' + b"9" * 5000 + b"}",
    "no spec": header(spec=3),
    "a path": header(spec=spec(benchmark="x./../../evil")),
    "absolute": header(spec=spec(benchmark="/tmp/x.y")),
    "options": header(spec=spec(options=[[1]])),
    "huge": header(spec=spec(size=10**30)),
    "unknown key": header(spec=spec(evil=1)),
    "hosts": header(spec=spec(hosts="a")),
    "launch": header(launch="x"),
    "negative": header(launch=-1),
    "true": header(launch=True),
    "meta": header(meta=[]),
    "badges": header(meta={"badges": 3}),
    "nested": header(meta={"badges": [{}]}),
    "origin": header(origin="guessed"),
    "host": header(host=None),
    "effort": header(effort={"launches": "x"}),
    "reported": header(reported=[{"name": 1}]),
    "value": header(reported=[{"name": "a", "unit": "s", "statistic": "p50", "value": "x"}]),
    "source": header(source=3),
    "first": header(meta={"first_launch": "x"}),
    "campaign": header(meta={"campaign": 3}),
    "missing": b'{"format": 1}',
    "text": header(effort="x"),
}
TABLES = {
    "texts": {"rank": ["a"], "iteration": ["b"], "time_ns": ["c"]},
    "nulls": {"rank": [0, None], "iteration": [0, 1], "time_ns": [1, 2]},
    "lists": {"rank": [[0]], "iteration": [[0]], "time_ns": [[1]]},
    "missing": {"rank": [0]},
    "uneven": {"rank": [0, 0, 1], "iteration": [0, 1, 0], "time_ns": [1, 2, 3]},
    "truths": {"rank": [True], "iteration": [True], "time_ns": [1]},
    "wide": {"rank": [2**40], "iteration": [0], "time_ns": [1]},
    "floats": {"rank": [0.5], "iteration": [0.5], "time_ns": [0.5]},
    "bytes": {"rank": [0], "iteration": [0], "time_ns": [pickle.dumps(Evil())]},
}


def written(path: Path, text: bytes, columns: dict[str, Any] | None = None) -> None:
    """A Parquet file with this metadata."""
    import hashlib

    table = pa.table(
        columns
        or {
            "rank": pa.array([], pa.int32()),
            "iteration": pa.array([], pa.int32()),
            "time_ns": pa.array([], pa.int64()),
        }
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {b"labkit": text, b"labkit-sha256": hashlib.sha256(text).hexdigest().encode()}
    pq.write_table(table.replace_schema_metadata(metadata), path)


@pytest.mark.parametrize(("what", "text"), HEADERS.items(), ids=list(HEADERS))
def test_hostile_metadata_are_one_error(tmp_path: Path, what: str, text: bytes) -> None:
    campaign = Campaign(tmp_path / "c")
    written(campaign.file("mpi.allreduce", "0" * 16, 0), text)
    check_refused(campaign, tmp_path)


@pytest.mark.parametrize(("what", "columns"), TABLES.items(), ids=list(TABLES))
def test_hostile_columns_are_one_error(tmp_path: Path, what: str, columns: dict[str, Any]) -> None:
    campaign = Campaign(tmp_path / "c")
    written(campaign.file("mpi.allreduce", "0" * 16, 0), header(launch=0), columns)
    check_refused(campaign, tmp_path)


def check_refused(campaign: Campaign, folder: Path) -> None:
    """One DataError from whoever reads, and nothing merged or executed."""
    before = outside(folder)
    with pytest.raises(DataError, match=r"0000000000000000-0\.parquet"):
        list(campaign.samples())
    assert archive.verify(campaign.path)[1]
    with pytest.raises(DataError, match="is damaged"):
        merging.merge([campaign.path], folder / "into")
    assert outside(folder) == before
    assert not Path("/tmp/labkit-evil-was-executed").exists()


def test_a_point_in_the_folder_of_another_benchmark_is_named(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "c")
    samples.save(small_samples(launch=0, spec=Spec(benchmark="mpi.bcast")), campaign.file("mpi.allreduce", "0" * 16, 0))
    (said,) = archive.verify(campaign.path)[1]
    assert "holds mpi.bcast, launch 0, but by its name mpi.allreduce, launch 0" in said


def test_compacted_points_with_hostile_names_are_one_error(tmp_path: Path) -> None:
    campaign = filled(tmp_path / "c", 4)
    campaign.compact()
    (path,) = campaign.files("mpi.allreduce").compacted
    table = pq.read_table(path)
    names = pa.array(["../../../../evil0"] * len(table))
    pq.write_table(table.set_column(0, "fingerprint", names), path)
    with pytest.raises(DataError, match="names are sixteen hex digits"):
        campaign.done()
    with pytest.raises(DataError, match="is damaged"):
        merging.merge([campaign.path], tmp_path / "into")
    pq.write_table(table.drop_columns(["header"]), path)
    with pytest.raises(DataError, match="has other columns"):
        list(campaign.samples())


def test_export_leaves_links_out_and_says_so(tmp_path: Path) -> None:
    campaign = filled(tmp_path / "c", 2)
    (tmp_path / "secret").write_text("secret")
    (campaign.path / "notes").symlink_to(tmp_path / "secret")
    os.mkfifo(campaign.path / "pipe")
    with pytest.warns(
        LabkitWarning, match=r"(notes: a link to .*secret|pipe: a device or a pipe); the archive does not"
    ):
        target = archive.export(campaign.path, tmp_path / "c.zip")
    with zipfile.ZipFile(target) as file:
        assert not {"notes", "pipe"} & set(file.namelist())
    assert archive.verify(target)[1] == []
    assert [text.split(":")[0] for text in archive.verify(campaign.path)[1]] == ["notes", "pipe"]
    path = campaign.file("mpi.allreduce", "f" * 16, 0)
    path.symlink_to(tmp_path / "secret")
    with pytest.raises(DataError, match=r"cannot be archived: samples/.*: a link to"):
        archive.export(campaign.path, tmp_path / "d.zip")


def test_a_point_is_never_written_through_a_link_that_leaves_the_campaign(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "c")
    (tmp_path / "elsewhere").mkdir()
    (campaign.path / "samples").mkdir()
    (campaign.path / "samples" / "mpi.allreduce").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="outside of"):
        campaign.save(small_samples(), "0" * 16)
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("name", ["campaign.json", "log.txt", "events.jsonl", "lease.json", "progress.json"])
def test_a_pipe_in_a_campaign_blocks_nobody(tmp_path: Path, name: str) -> None:
    campaign = filled(tmp_path / "c", 2)
    (campaign.path / name).unlink(missing_ok=True)
    os.mkfifo(campaign.path / name)
    began = time.monotonic()
    for words in (["verify", str(campaign.path)], ["export", str(campaign.path), "--output", str(tmp_path / "c.zip")]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LabkitWarning)  # the pipe is left out
            main(words)
    assert time.monotonic() - began < 60


LEASES = {
    "future": {},
    "no pid": {"pid": "x"},
    "minus one": {"pid": "-1"},
    "list": {"pid": [1]},
    "began": {"began": 3},
    "one": {"began": ["x"]},
    "token": {"token": 3},
    "beat": {"heartbeat": "x"},
}


@pytest.mark.parametrize(("what", "changes"), LEASES.items(), ids=list(LEASES))
def test_a_foreign_lease_holds_nobody_up(tmp_path: Path, what: str, changes: dict[str, object]) -> None:
    """Of a campaign that was copied here, with a time in the future, or of another form."""
    campaign = filled(tmp_path / "c", 1)
    said = {"token": "x", "host": "elsewhere", "pid": str(os.getppid()), "start": "then", "heartbeat": 4e9, **changes}
    path = campaign.path / lease.NAME
    path.write_text(json.dumps(said))
    os.utime(path, (4e9, 4e9))
    assert not campaign.in_use
    with campaign.lease():
        assert campaign.in_use
    archive.export(campaign.path, tmp_path / "c.zip")


def test_kept_records_that_somebody_else_made_are_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "WORTH", 1)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    campaign = Campaign(tmp_path / "c")
    campaign.save(small_samples(np.full((2, 3), 1000)), "0" * 16)
    true = columnar.read_campaigns(campaign).records
    (path,) = (campaign.path / "records").glob("*.parquet")
    assert columnar.read_campaigns(campaign).records.equals(true)
    table = pq.read_table(path)
    place = table.column_names.index("latency_us_p50")
    lie = table.set_column(place, "latency_us_p50", pa.array([0.001]))
    pq.write_table(lie, path)  # metadata and with them the stamp are kept
    assert columnar.read_campaigns(campaign).records.equals(true), "the numbers follow from the samples again"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another user"))
    pq.write_table(lie, path)
    (path.with_suffix(".signature")).write_text(signatures.sign(b""))
    assert columnar.read_campaigns(campaign).records.equals(true)


def test_what_a_foreign_campaign_derived_does_not_travel(tmp_path: Path) -> None:
    campaign = filled(tmp_path / "c", 2)
    for name in (
        "records/mpi.allreduce.parquet",
        "lease.json",
        "progress.json",
        "explorer.json",
        "records.parquet",
        "jobs/1.json",
        "report/index.html",
        "notebooks-again/10-latency.ipynb",
    ):
        (campaign.path / name).parent.mkdir(exist_ok=True)
        (campaign.path / name).write_text("{}")
    (campaign.path / "lease.json").unlink()
    target = archive.export(campaign.path, tmp_path / "c.zip")
    with zipfile.ZipFile(target) as file:
        assert not {"records/mpi.allreduce.parquet", "progress.json", "explorer.json"} & set(file.namelist())
        assert not any(name.startswith("notebooks-again") for name in file.namelist())
    into = merging.merge([target], tmp_path / "into").campaign
    inner = {str(path.relative_to(into.path)) for path in into.path.rglob("*") if path.is_file()}
    assert not any("records" in name or "report" in name for name in inner)
    assert [known[1:3] for known in everything(into)] == [known[1:3] for known in everything(campaign)]


def test_a_job_that_a_foreign_campaign_names_is_not_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    campaign = Campaign(tmp_path / "c")
    (campaign.path / "jobs").mkdir()
    path = campaign.path / "jobs" / "1.json"
    document: dict[str, object] = {"system": "slurm", "number": "4711", "submitted": 1.0, "request": {}}
    path.write_text(json.dumps(document))
    (one,) = jobs.jobs(campaign.path)
    with pytest.raises(LaunchError, match=r"names job 4711 of slurm, but you did not submit it.*scancel 4711"):
        jobs.cancel(one)
    path.write_text(
        json.dumps({**document, "number": "4712", "signature": signatures.sign(submitted.signable("slurm", "4711"))})
    )
    assert not jobs.jobs(campaign.path)[0].submitted_here, "a signature holds for its number alone"
    path.write_text(json.dumps({**document, "signature": signatures.sign(submitted.signable("slurm", "4711"))}))
    assert jobs.jobs(campaign.path)[0].submitted_here
    for number in ("--user=root", "-u root", "1 2", "", "1\n2"):
        path.write_text(json.dumps({**document, "number": number}))
        with pytest.warns(LabkitWarning, match="not a number of a job"):
            assert jobs.jobs(campaign.path) == []


def test_a_run_that_a_foreign_campaign_offers_is_not_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    campaign = Campaign(tmp_path / "c")
    explored.note(campaign, ["measure", "mpi.latency"], "stopped")
    assert explored.unfinished(campaign.path) == ["measure", "mpi.latency"]
    document = json.loads((campaign.path / explored.NOTE).read_text())
    words = ["measure", "mpi.latency", "--launcher", "openmpi@/tmp/evil"]
    (campaign.path / explored.NOTE).write_text(json.dumps({**document, "words": words}))
    assert explored.unfinished(campaign.path) == []
