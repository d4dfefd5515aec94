"""Merging: idempotent, the same content in any order, and every acknowledged point is found after it."""

from __future__ import annotations

import itertools
import json
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.apps.cli import main
from labkit.errors import DataError
from labkit.read import records
from labkit.store import archive, identity, merging, samples
from labkit.store.campaign import Campaign

from .test_samples import small_samples
from .test_store import filled

EXAMPLES = Path("data/campaigns/examples")


def contents(campaign: Campaign) -> Counter[tuple[str, str]]:
    """How often each point is there: by fingerprint and content, whatever its launch."""
    counted: Counter[tuple[str, str]] = Counter()
    for benchmark in campaign.benchmarks():
        counted.update((name, samples.content(one, merging.MARKS)) for name, one in campaign.named(benchmark))
    return counted


def acknowledged(campaign: Campaign) -> int:
    """Points that log.txt says are saved."""
    return sum(" saved samples/" in line for line in (campaign.path / "log.txt").read_text().splitlines())


def test_two_days_of_the_same_suite_are_two_campaigns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monday, tuesday = (Campaign(tmp_path / day / "quick") for day in ("monday", "tuesday"))
    for campaign, value in ((monday, 10), (tuesday, 20)):
        campaign.save(small_samples(np.full((2, 3), value), launch=0), "0" * 16)
    assert main(["merge", str(monday.path), str(tuesday.path), "--into", str(tmp_path / "week")]) == 0
    assert "merged: 2 new points × launches, 0 skipped" in capsys.readouterr().out
    week = Campaign(tmp_path / "week")
    assert sorted(int(one.time_ns[0, 0]) for one in week.samples()) == [10, 20]
    frame = records.table(week.samples(), campaign=week.name)
    assert frame["campaign"].nunique() == 2, "two campaigns of one name can be told apart"
    assert main(["merge", str(monday.path), str(tuesday.path), "--into", str(week.path)]) == 0
    assert (
        "merged: 0 new points × launches, 2 skipped (the same point of the same campaign), 0" in capsys.readouterr().out
    )


def test_an_archive_of_a_campaign_adds_nothing_to_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    campaign = filled(tmp_path / "m", 6)
    assert main(["export", str(campaign.path), "--output", str(tmp_path / "m.zip")]) == 0
    before = contents(campaign)
    assert main(["merge", str(tmp_path / "m.zip"), "--into", str(campaign.path)]) == 0
    assert "merged: 0 new points × launches, 7 skipped" in capsys.readouterr().out
    assert contents(campaign) == before
    assert not (campaign.path / "origins").exists()
    gone = next(iter(campaign.files("mpi.allreduce").points.values()))
    gone.unlink()
    assert merging.merge([tmp_path / "m.zip"], campaign.path).added == 1, "what was lost comes back"
    assert contents(campaign) == before
    assert gone.exists()


def test_every_point_of_an_archive_is_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, calls = filled(tmp_path / "c"), Counter[str]()
    source.compact()
    packed = archive.export(source.path, tmp_path / "c.zip")
    for name in ("decode", "content"):
        real = getattr(samples, name)
        monkeypatch.setattr(samples, name, lambda *given, real=real, name=name: (calls.update([name]), real(*given))[1])
    merged = merging.merge([packed], tmp_path / "new")
    assert merged.added == len(source.done())
    assert calls == {"decode": merged.added, "content": merged.added}
    calls.clear()
    monkeypatch.setattr(merging, "ROOM", 0)  # no room: the points are read again
    assert merging.merge([packed], tmp_path / "other").added == merged.added
    assert calls == {"decode": 2 * merged.added, "content": merged.added}


def test_identity_stays_when_a_campaign_is_renamed_copied_or_archived(tmp_path: Path) -> None:
    campaign = filled(tmp_path / "a", 2)
    original = campaign.identity
    assert identity.valid(json.loads((campaign.path / "campaign.json").read_text())["id"]) == original
    archive.export(campaign.path, tmp_path / "a.zip")
    shutil.copytree(campaign.path, tmp_path / "b")
    campaign.path.rename(tmp_path / "c")
    with archive.opened(tmp_path / "a.zip") as folder:
        assert {Campaign(place).identity for place in (folder, tmp_path / "b", tmp_path / "c")} == {original}
    assert Campaign(tmp_path / "new").identity != Campaign(tmp_path / "newer").identity


def test_the_examples_keep_their_identities() -> None:
    wanted = {"two-cores": "501e4f6d", "two-cores-labs": "5626b5d5", "virtual-cluster": "97e4f69e"}
    assert {name: Campaign(EXAMPLES / name).identity[:8] for name in wanted} == wanted


@pytest.mark.parametrize("stated", [{}, {"id": "monday"}])
def test_a_campaign_without_identity_is_refused(tmp_path: Path, stated: dict[str, str]) -> None:
    campaign = filled(tmp_path / "a", 2)
    week = merging.merge([campaign.path], tmp_path / "week").campaign
    facts = {k: v for k, v in campaign.facts.items() if k != "id"} | stated
    (campaign.path / "campaign.json").write_text(json.dumps(facts))
    for refused in (lambda: Campaign(campaign.path), lambda: merging.merge([campaign.path], tmp_path / "b")):
        with pytest.raises(DataError, match=r"campaign.json has id=(None|'monday'), but it must be a UUID, .* measure"):
            refused()
    assert not (tmp_path / "b").exists()
    week.update({"origins": {"a": facts}})
    with pytest.raises(DataError, match=r"campaign.json, origin 'a', has id="):
        merging.origins(week)


def test_a_point_with_other_content_is_a_conflict_and_both_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = filled(tmp_path / "a", 2)
    shutil.copytree(campaign.path, tmp_path / "copy")
    changed = small_samples(np.full((2, 3), 7), launch=0)
    Campaign(tmp_path / "copy").save(changed, f"{0:016x}")
    before = contents(campaign)
    assert main(["merge", str(tmp_path / "copy"), "--into", str(campaign.path)]) == 0
    said = capsys.readouterr().out
    assert "merged: 1 new point × launch, 2 skipped (the same point of the same campaign), 1 conflict" in said
    assert "both are kept" in said
    after = contents(campaign)
    assert not before - after
    assert after[f"{0:016x}", samples.content(changed)] == 1
    again = merging.merge([tmp_path / "copy"], campaign.path)
    assert (again.added, again.same, again.conflicts) == (0, 3, [])


SHAPES = st.lists(  # of each campaign: name, and points as fingerprint, launch and value
    st.tuples(
        st.sampled_from(["quick", "tcp"]),
        st.sets(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=4),
        st.booleans(),
    ),
    min_size=3,
    max_size=3,
)


def made(folder: Path, shapes: list[tuple[str, set[tuple[int, int, int]], bool]]) -> list[Campaign]:
    """Campaigns of these shapes; every second may be a copy of the first with further points, so that they conflict."""
    campaigns: list[Campaign] = []
    for number, (name, points, copied) in enumerate(shapes):
        path = folder / str(number) / name
        if copied and campaigns:
            shutil.copytree(campaigns[0].path, path)
        campaign = Campaign(path)
        for fingerprint, launch, value in sorted(points):
            if not campaign.file("mpi.allreduce", f"{fingerprint:016x}", launch).exists():
                campaign.save(small_samples(np.full((1, 2), value), launch=launch), f"{fingerprint:016x}")
        campaigns.append(campaign)
    return campaigns


@settings(max_examples=6)
@given(shapes=SHAPES)
def test_merging_is_idempotent_associative_and_loses_nothing(
    shapes: list[tuple[str, set[tuple[int, int, int]], bool]],
) -> None:
    check(shapes)


@pytest.mark.slow
@settings(max_examples=150)
@given(shapes=SHAPES)
def test_merging_many_random_campaigns(shapes: list[tuple[str, set[tuple[int, int, int]], bool]]) -> None:
    check(shapes)


def check(shapes: list[tuple[str, set[tuple[int, int, int]], bool]]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        one, two, three = campaigns = made(folder, shapes)
        merged = merging.merge([one.path, two.path, three.path], folder / "m").campaign
        before = contents(merged)
        again = merging.merge([one.path, two.path, three.path], merged.path)
        assert (again.added, again.conflicts) == (0, [])
        assert contents(merged) == before, "idempotent"
        assert archive.verify(merged.path)[1] == []

        left = merging.merge([one.path, two.path], folder / "left").campaign
        merging.merge([three.path], left.path)
        right = merging.merge([two.path, three.path], folder / "right").campaign
        packed = archive.export(right.path, folder / "right.zip")
        turned = merging.merge([packed, one.path], folder / "turned").campaign
        assert contents(left) == contents(turned) == before, "associative, in any order, through an archive"

        for source in campaigns:
            assert not set(contents(source)) - set(before), "every point is found"
        assert sum(before.values()) == len(set(itertools.chain(*map(places, campaigns)))), "none is there twice"
        assert acknowledged(merged) == len(merged.done())


def places(campaign: Campaign) -> list[tuple[str, str, int, str]]:
    """Origin, fingerprint, first launch and content of every point of a campaign that nothing was merged into."""
    return [
        (campaign.identity, name, one.launch, samples.content(one, merging.MARKS))
        for name, one in campaign.named("mpi.allreduce")
    ]
