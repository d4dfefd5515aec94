"""Archives: complete, checked by name, merged with their origins."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from labkit.apps.cli import main
from labkit.errors import DataError
from labkit.read import records
from labkit.store import archive, merging
from labkit.store.campaign import Campaign

from .test_store import everything, filled


def test_an_exported_campaign_comes_back_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    campaign, target = filled(tmp_path / "c"), tmp_path / "c.zip"
    campaign.compact()
    filled(tmp_path / "c", 3, first=50)
    assert main(["export", str(campaign.path), "--output", str(target)]) == 0
    assert main(["verify", str(target)]) == 0
    assert "all intact" in capsys.readouterr().out
    with archive.opened(target) as folder:
        assert everything(Campaign(folder)) == everything(campaign)
        assert archive.verify(folder)[1] == []
        done = subprocess.run(["sha256sum", "--check", "--quiet", archive.MANIFEST], cwd=folder, check=False)
        assert done.returncode == 0
    assert main(["export", str(campaign.path), "--output", str(target)]) == 1
    assert "exists already" in capsys.readouterr().err


def test_a_campaign_in_use_is_not_exported(tmp_path: Path) -> None:
    campaign = filled(tmp_path / "c", 1)
    with campaign.lease(), pytest.raises(DataError, match="is in use by a run"):
        archive.export(campaign.path, tmp_path / "c.zip")


@pytest.mark.parametrize("compact", [False, True])
def test_a_changed_a_truncated_and_a_missing_file_are_named(tmp_path: Path, compact: bool) -> None:
    campaign = filled(tmp_path / "c", 20)
    if compact:
        campaign.compact()
        filled(tmp_path / "c", 20, first=200)
        (changed,) = campaign.files("mpi.allreduce").compacted
        cut, gone, *_ = campaign.files("mpi.allreduce").points.values()
    else:
        changed, cut, gone, *_ = campaign.files("mpi.allreduce").points.values()
    assert archive.verify(campaign.path)[1] == []
    content = changed.read_bytes()
    for place in (30, len(content) // 2, len(content) - 400):  # pages and, in a point's own file, its metadata
        changed.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        wrong = archive.verify(campaign.path)[1]
        assert len(wrong) >= 1, place
        assert changed.name in wrong[0], place
    changed.write_bytes(content)
    cut.write_bytes(cut.read_bytes()[:-9])
    gone.unlink()
    wrong = archive.verify(campaign.path)[1]
    assert [text.split(":")[0].rpartition("/")[2] for text in wrong] == [cut.name, gone.name]
    assert "missing; events.jsonl lists it as saved" in wrong[1]
    with pytest.raises(DataError, match=f"is damaged: .*{cut.name}"):
        merging.merge([campaign.path], tmp_path / "d")


def test_an_archive_that_was_changed_or_cut_is_told(tmp_path: Path) -> None:
    campaign = filled(tmp_path / "c", 4)
    target = tmp_path / "c.zip"
    archive.export(campaign.path, target)
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
    campaign = done.campaign
    assert (done.added, done.same, done.conflicts) == (14, 0, [])
    frame = records.table(campaign.samples(), campaign=campaign.name)
    assert frame.groupby("campaign").size().to_dict() == {"monday": 7, "tuesday": 7}
    assert len(campaign.done()) == 14, "a point that both have is there twice, as launches of its own"
    assert {one.time_ns.tobytes() for one in campaign.samples()} == {one.time_ns.tobytes() for one in monday.samples()}
    assert set(campaign.facts["origins"]) == {"monday", "tuesday"}
    assert (campaign.path / "origins" / "tuesday" / "log.txt").exists()
    again = merging.merge([monday.path], campaign.path)
    assert (again.added, again.same) == (0, 7)
    shutil.rmtree(monday.path)
    assert archive.verify(campaign.path)[1] == []
