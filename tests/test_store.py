"""Compacted points: nothing lost, none twice, whenever it ends; only what is asked for is read."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from labkit.errors import DataError
from labkit.point.spec import Reported
from labkit.store import samples
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples, compacted

from .test_samples import small_samples

GOLDEN = Path(__file__).parent / "golden" / "compacted"


def filled(folder: Path, points: int = 12, *, first: int = 0) -> Campaign:
    """A campaign with points of two benchmarks: with and without extras, and one of a tool."""
    campaign, chance = Campaign(folder), np.random.default_rng(first)
    for i in range(first, first + points):
        times = chance.integers(0, 2**62, (1 + i % 2, 3 + i))
        extras = {"pure_ns": times + 1, "end_ns": times * 0} if i % 3 == 0 else {}
        campaign.save(
            small_samples(times, launch=i % 2, extras=extras, meta={"engine": "c", "i": i, "ü": "µ"}), f"{i // 2:016x}"
        )
    values = (Reported("bandwidth_MBps", "MB/s", "mean", 12.5, labels={"file_size_B": 64}),)
    tool = small_samples(
        np.empty((0, 0), np.int64), origin="reported", reported=values, source="Throughput=12.5\n", launch=0
    )
    campaign.save(tool, f"{first + 999:016x}")
    return campaign


def everything(campaign: Campaign) -> list[tuple[object, ...]]:
    """All that a campaign holds, in its order."""
    return [known(one) for one in campaign.samples()]


def known(one: Samples) -> tuple[object, ...]:
    extras = {name: (values.tolist(), str(values.dtype)) for name, values in one.extras.items()}
    plain = (one.spec, one.effort, one.host, one.launch, one.origin, one.ranks, one.reported, one.meta, one.source)
    return (*plain, one.time_ns.tolist(), one.time_ns.shape if one.n else (), extras)


def test_a_compacted_campaign_is_the_same_in_one_file(tmp_path: Path) -> None:
    campaign = filled(tmp_path)
    before, names = everything(campaign), campaign.done()
    headers = {name: raw.header for _, name, raw in raws(campaign)}
    assert campaign.compact() == {"mpi.allreduce": 13}
    files = [path.name for path in (tmp_path / "samples" / "mpi.allreduce").iterdir()]
    assert len(files) == 1
    assert files[0].startswith("compacted-")
    assert everything(campaign) == before
    assert campaign.done() == names
    assert {name: raw.header for _, name, raw in raws(campaign)} == headers, "metadata are kept byte for byte"
    assert campaign.compact() == {}, "there is nothing to do twice"


def test_who_reads_while_points_are_compacted_gets_all_of_them(tmp_path: Path) -> None:
    campaign = filled(tmp_path)
    before = everything(campaign)
    reading = campaign.samples()
    first = known(next(reading))
    campaign.compact()
    assert [first, *map(known, reading)] == before


def raws(campaign: Campaign) -> list[tuple[Path, str, samples.Raw]]:
    entries = campaign.files("mpi.allreduce").read()
    return [(path, samples.decode(raw, path).meta.get("i", "tool"), raw) for path, raw in entries]


def test_later_points_join_the_compacted_ones(tmp_path: Path) -> None:
    campaign = filled(tmp_path)
    campaign.compact()
    filled(tmp_path, first=100)
    before = everything(campaign)
    assert len(before) == 26
    assert campaign.compact(least=100) == {}
    assert campaign.compact() == {"mpi.allreduce": 26}
    assert everything(campaign) == before
    assert len(list((tmp_path / "samples" / "mpi.allreduce").iterdir())) == 1


def test_a_point_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    campaign = filled(tmp_path)
    copies = {path: path.read_bytes() for path in tmp_path.glob("samples/*/*-*.parquet")}
    before = everything(campaign)
    campaign.compact()
    for path, content in copies.items():
        path.write_bytes(content)  # as a kill between rename and the deletion leaves it
    assert everything(campaign) == before
    assert campaign.compact() == {"mpi.allreduce": 13}
    assert everything(campaign) == before
    other = next(path for path in copies if path.name.endswith("1-0.parquet"))
    samples.save(small_samples(launch=0), other)
    with pytest.raises(DataError, match=r"1-0\.parquet and its point in .* differ"):
        campaign.compact()


def test_only_the_row_groups_that_hold_what_is_wanted_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compacted, "POINTS", 3)
    campaign = filled(tmp_path)
    campaign.compact()
    wanted = {(f"{2:016x}", 0), (f"{2:016x}", 1)}
    (path,) = campaign.files("mpi.allreduce").compacted
    content = bytearray(path.read_bytes())
    with compacted.opened(path) as file:
        assert file.num_row_groups == 5
        for group in (0, 2, 3, 4):  # nothing of the others may be looked at
            column = file.metadata.row_group(group).column(4)
            content[column.data_page_offset : column.data_page_offset + 20] = bytes(20)
    path.write_bytes(content)
    assert [one.meta["i"] for one in campaign.samples("mpi.allreduce", wanted)] == [4, 5]
    assert len(campaign.done()) == 13, "telling what is there reads names only"
    with pytest.raises(DataError, match=rf"{path.name} cannot be read as Parquet"):
        everything(campaign)


def test_a_damaged_point_is_named_and_nothing_is_deleted(tmp_path: Path) -> None:
    campaign = filled(tmp_path)
    path = campaign.file("mpi.allreduce", f"{3:016x}", 0)
    content = bytearray(path.read_bytes())
    content[30] ^= 1
    path.write_bytes(content)
    files = sorted(tmp_path.glob("samples/*/*"))
    with pytest.raises(DataError, match=f"{path.name} cannot be read as Parquet.*Delete it"):
        campaign.compact()
    assert sorted(tmp_path.glob("samples/*/*")) == files


def test_columns_that_do_not_fit_stay_in_their_own_file(tmp_path: Path) -> None:
    campaign = filled(tmp_path)
    campaign.save(small_samples(launch=7, extras={"share": np.full((2, 3), 0.5)}), f"{5:016x}")
    before = everything(campaign)
    campaign.compact()
    assert len(campaign.files("mpi.allreduce").points) == 1
    assert everything(campaign) == before


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.glob("*.parquet")))
def test_golden_compacted_files_load_for_ever(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "held" / "samples" / "mpi.allreduce"
    folder.mkdir(parents=True)
    (folder / name).write_bytes((GOLDEN / name).read_bytes())
    again = filled(tmp_path / "again")
    assert everything(Campaign(tmp_path / "held")) == everything(again)


def test_a_later_format_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(compacted, "FORMAT", 3)
        campaign = filled(tmp_path)
        campaign.compact()
    with pytest.raises(DataError, match="has format 3, but this version of labkit reads 1 and 2 of compacted points"):
        campaign.done()


@pytest.mark.parametrize("tries", [3, pytest.param(40, marks=pytest.mark.slow)])
def test_kill_9_while_compacting_loses_nothing(tmp_path: Path, tries: int) -> None:
    chance = random.Random(tries)
    campaign = filled(tmp_path, 60)
    before, killed = everything(campaign), 0
    script = "import sys, pyarrow.parquet\nfrom labkit.store.campaign import Campaign\nheld = Campaign(sys.argv[1])\n"
    script += "print('ready', flush=True)\nheld.compact()"
    for i in range(tries):
        process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(chance.uniform(0, 0.15))
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        process.stdout.close()
        assert everything(campaign) == before
        filled(tmp_path, 4, first=100 * (i + 1))  # so that there is something to do again
        before = everything(campaign)
    assert killed
    campaign.compact()
    assert everything(campaign) == before
    assert len(list(tmp_path.glob("samples/*/*"))) == 1, "nothing is left of what was ended"


@pytest.mark.slow
def test_a_full_disk_keeps_every_point(tmp_path: Path) -> None:
    campaign = filled(tmp_path)
    before = everything(campaign)
    script = "import resource, signal, sys\nfrom labkit.store.campaign import Campaign\n"
    script += "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))\n"
    script += "Campaign(sys.argv[1]).compact()"
    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=False)
    assert "cannot be compacted: File too large. All points are kept as they were" in done.stderr, done.stderr
    assert everything(campaign) == before
    assert not [path for path in tmp_path.rglob(".*") if path.is_file()]
