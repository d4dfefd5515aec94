"""What is usual: bands from redacted archives and published numbers, and the judge's sentence."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from labkit.apps import cli
from labkit.apps import peers as contributing
from labkit.errors import DataError, SpecError
from labkit.io import project
from labkit.judge import answer
from labkit.judge.sentences import sentence
from labkit.models import peers
from labkit.models.peers import Kind
from labkit.point.spec import Spec
from labkit.read import reference
from labkit.report import sources
from labkit.store import archive, redaction
from labkit.store.campaign import Campaign

from . import made

PORT = {"name": "mlx5_0", "type": "MT4123", "link_layer": "InfiniBand", "rate": "100 Gb/sec (4X EDR)"}
HOST: dict[str, Any] = {"hostname": "n1", "nics": [], "rdma_devices": [PORT]}
RDMA = {"device": "mlx5_0", "active_mtu": 4096, "library": "perftest 6.0.1"}


def measured(folder: Path, share: float, launches: int = 6, **host: Any) -> Campaign:
    """A campaign in which ib_write_bw reached a part of 12.5 GB/s."""
    spec = Spec(benchmark="verbs.write_bandwidth", size=65536, transport="verbs", launcher="none", ranks=1)
    rate = share * 12_500
    return made.campaign(
        folder,
        [
            made.samples(
                spec,
                launch=launch,
                host={**HOST, **host},
                reported=made.values("bandwidth_MBps", mean=rate * (1 + launch / 1e5)),
                meta={**RDMA, "fingerprint": "0123456789abcdef"},
            )
            for launch in range(launches)
        ],
    )


def redacted(tmp_path: Path, name: str, share: float, **host: Any) -> Path:
    copy = redaction.copy(measured(tmp_path / name, share, **host), tmp_path / f"{name}-copy")
    return archive.export(copy.campaign.path, tmp_path / f"{name}.zip")


def said(campaign: Campaign) -> str:
    (found,) = answer.answer(sources.read(campaign.path).view, answer.PATHS).findings
    return sentence(found)


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(peers, "FOLDER", tmp_path / "peers")
    monkeypatch.setattr(peers, "own", lambda: tmp_path / "mine")
    return tmp_path / "peers"


def test_the_judge_says_what_is_usual_from_three_sources_on(tmp_path: Path, known: Path) -> None:
    own = measured(tmp_path / "own", 0.78)
    assert "too few sources to say what is usual (0)" in said(own)
    for number, share in enumerate((0.90, 0.96)):
        contributing.add([redacted(tmp_path, f"other{number}", share)], known)
    assert "too few sources to say what is usual (2)" in said(own)
    contributing.add([redacted(tmp_path, "other2", 0.93)], known)
    # 100 Gbit/s in packets of 4096 B and their headers are 12,421 MB/s
    assert "is 78 % of 12,421 MB/s (port of mlx5_0); usual is 91 to 97 % (3 sources)" in said(own)


def test_archives_of_one_system_are_one_source(tmp_path: Path, known: Path) -> None:
    archives = [redacted(tmp_path, f"night{number}", 0.9 + number / 100) for number in range(3)]
    contributing.add(archives, known, "their cluster")
    (band,) = peers.bands()
    assert (band.sources, band.kind.nic, band.kind.link) == (1, "ConnectX-6", "100 Gbit/s InfiniBand")
    assert (band.low, band.high) == pytest.approx((0.90 * 12_500, 0.92 * 12_500), rel=1e-3)
    assert "too few sources to say what is usual (1)" in said(measured(tmp_path / "own", 0.78))


def test_another_adapter_counts_where_few_have_the_same(tmp_path: Path, known: Path) -> None:
    other = [{**PORT, "type": "MT4119"}]
    contributing.add([redacted(tmp_path, f"other{n}", 0.9 + n / 100, rdma_devices=other) for n in range(3)], known)
    assert "; usual over such a link is " in said(measured(tmp_path / "own", 0.78))
    slow = [{**PORT, "rate": "40 Gb/sec (4X QDR)"}]
    assert "(0)" in said(measured(tmp_path / "slow", 0.2, rdma_devices=slow)), "another link is not a peer"


def test_points_without_a_known_adapter_have_no_peers(tmp_path: Path, known: Path) -> None:
    nameless = [{**PORT, "type": ""}]
    assert "usual" not in said(measured(tmp_path / "own", 0.78, rdma_devices=nameless))
    with pytest.raises(DataError, match=r"no bandwidth and no small latency over a real link.*--hosts HOST,HOST\."):
        contributing.add([redacted(tmp_path, "other", 0.9, rdma_devices=nameless)], known)


def test_only_redacted_archives_are_taken(tmp_path: Path, known: Path) -> None:
    plain = archive.export(measured(tmp_path / "own", 0.9).path, tmp_path / "own.zip")
    with pytest.raises(SpecError, match="has the names of its system in it"):
        contributing.add([plain], known)
    assert not known.exists()


@pytest.mark.parametrize(
    "text",
    ["", "source = 3", "[[value]]\n", 'source = "a"\n[[value]]\nbenchmark = "mpi.nothing"\n', "value = [[[[",
     'source = "a"\n[[value]]\nbenchmark = "mpi.latency"\nmetric = "latency_us"\npath = "TCP"\nlink = "x"\nvalue = -1\n'],
)  # fmt: skip
def test_a_damaged_file_is_named(text: str, tmp_path: Path, known: Path) -> None:
    known.mkdir()
    (known / "bad.toml").write_text(text)
    with pytest.raises(DataError, match=r"bad\.toml"):
        peers.every()


def test_texts_of_an_archive_cannot_break_the_file() -> None:
    kind = Kind(
        benchmark="mpi.latency", metric="latency_us", path="TCP", link='a"\n[[value]]', nic="\\", library="\x07"
    )
    text = peers.written('x"', [peers.Peer(kind=kind, source='x"', value=(2.0, 2.0))])
    (value,) = tomllib.loads(text)["value"]
    assert (value["link"], value["nic"], value["library"]) == (kind.link, kind.nic, kind.library)


def test_published_numbers_are_those_of_their_papers() -> None:
    rows = tomllib.loads((peers.FOLDER / "published.toml").read_text())["number"]
    found = peers.read(peers.FOLDER / "published.toml")
    assert len(found) == len(rows)
    for row, peer in zip(rows, found, strict=True):
        paper = reference.load(row["paper"])
        number = paper[row["name"]]
        assert row["nic"] in f"{paper.conditions} {number.network}"
        assert row["link"].replace("bit", "b") in paper.conditions
        assert number.relation in ("", "about")
        assert peer.value == tuple(number.in_unit("µs", end) for end in number.ends)


def test_bands_are_listed_and_added(tmp_path: Path, known: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = redacted(tmp_path, "other", 0.9)
    assert cli.main(["peers", str(file), "--into", str(known)]) == 0
    assert "1 value\n" in capsys.readouterr().out
    assert cli.main(["peers"]) == 0
    row = capsys.readouterr().out.splitlines()[-1]
    assert all(word in row for word in ("verbs.write_bandwidth", "RDMA", "100 Gbit/s InfiniBand", "ConnectX-6"))
    assert cli.main(["peers", "--source", "x"]) == 1


def test_values_go_to_the_working_folder_where_there_is_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = redacted(tmp_path, "other", 0.9)
    monkeypatch.setattr(peers, "FOLDER", tmp_path / "none")
    monkeypatch.setattr(project, "CHECKOUT", None)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["peers", str(file)]) == 0
    (made,) = (tmp_path / "data" / "peers").iterdir()
    assert [one.kind.nic for one in peers.every()] == ["ConnectX-6"]
    assert str(made) in capsys.readouterr().out
