"""Archives: complete, checked by name, merged with their origins."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from labkit import records
from labkit.campaign import Campaign, archive, merging
from labkit.cli import main
from labkit.errors import DataError

from .test_store import everything, filled


def test_an_exported_campaign_comes_back_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    held, target = filled(tmp_path / "c"), tmp_path / "c.zip"
    held.compact()
    filled(tmp_path / "c", 3, first=50)
    assert main(["export", str(held.path), "--output", str(target)]) == 0
    assert main(["verify", str(target)]) == 0
    assert "all intact" in capsys.readouterr().out
    with archive.opened(target) as folder:
        assert everything(Campaign(folder)) == everything(held)
        assert archive.verify(folder)[1] == []
        done = subprocess.run(["sha256sum", "--check", "--quiet", archive.MANIFEST], cwd=folder, check=False)
        assert done.returncode == 0
    assert main(["export", str(held.path), "--output", str(target)]) == 1
    assert "exists already" in capsys.readouterr().err


def test_a_campaign_in_use_is_not_exported(tmp_path: Path) -> None:
    held = filled(tmp_path / "c", 1)
    with held.lease(), pytest.raises(DataError, match="is in use by a run"):
        archive.export(held.path, tmp_path / "c.zip")


@pytest.mark.parametrize("compact", [False, True])
def test_a_changed_a_truncated_and_a_missing_file_are_named(tmp_path: Path, compact: bool) -> None:
    held = filled(tmp_path / "c", 20)
    if compact:
        held.compact()
        filled(tmp_path / "c", 20, first=200)
        (changed,) = held.files("mpi.allreduce").compacted
        cut, gone, *_ = held.files("mpi.allreduce").points.values()
    else:
        changed, cut, gone, *_ = held.files("mpi.allreduce").points.values()
    assert archive.verify(held.path)[1] == []
    content = changed.read_bytes()
    for place in (30, len(content) // 2, len(content) - 400):  # pages and, in a point's own file, its metadata
        changed.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        wrong = archive.verify(held.path)[1]
        assert len(wrong) >= 1, place
        assert changed.name in wrong[0], place
    changed.write_bytes(content)
    cut.write_bytes(cut.read_bytes()[:-9])
    gone.unlink()
    wrong = archive.verify(held.path)[1]
    assert [text.split(":")[0].rpartition("/")[2] for text in wrong] == [cut.name, gone.name]
    assert "missing; events.jsonl lists it as saved" in wrong[1]
    with pytest.raises(DataError, match=f"is damaged: .*{cut.name}"):
        merging.merge([held.path], tmp_path / "d")


def test_an_archive_that_was_changed_or_cut_is_told(tmp_path: Path) -> None:
    held = filled(tmp_path / "c", 4)
    target = tmp_path / "c.zip"
    archive.export(held.path, target)
    with zipfile.ZipFile(target) as file:
        name = next(info for info in file.infolist() if info.filename.endswith(".parquet"))
    content = target.read_bytes()
    place = name.header_offset + 200
    target.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    assert [text.split(":")[0] for text in archive.verify(target)[1]] == [name.filename]
    target.write_bytes(content[:-50])
    assert "no zip file, or cut off" in archive.verify(target)[1][0]
    target.write_text("no archive")
    assert main(["verify", str(target)]) == 1
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as file:
        file.writestr("x", "y")
    assert "has no manifest-sha256.txt" in archive.verify(tmp_path / "other.zip")[1][0]


def test_merged_campaigns_keep_their_origins(tmp_path: Path) -> None:
    monday, tuesday = filled(tmp_path / "monday", 6), filled(tmp_path / "tuesday", 6)
    archive.export(tuesday.path, tmp_path / "t.zip")
    done = merging.merge([monday.path, tmp_path / "t.zip"], tmp_path / "week")
    held = done.campaign
    assert (done.added, done.same, done.conflicts) == (14, 0, [])
    frame = records.table(held.samples(), campaign=held.name)
    assert frame.groupby("campaign").size().to_dict() == {"monday": 7, "tuesday": 7}
    assert len(held.done()) == 14, "a point that both have is there twice, as launches of its own"
    assert {one.time_ns.tobytes() for one in held.samples()} == {one.time_ns.tobytes() for one in monday.samples()}
    assert set(held.facts["origins"]) == {"monday", "tuesday"}
    assert (held.path / "origins" / "tuesday" / "log.txt").exists()
    again = merging.merge([monday.path], held.path)
    assert (again.added, again.same) == (0, 7)
    shutil.rmtree(monday.path)
    assert archive.verify(held.path)[1] == []
