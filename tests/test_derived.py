"""Where files go that are made of a campaign: into it, or elsewhere where nothing may be written."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

import labkit
from labkit import studies
from labkit.errors import DataError, SpecError
from labkit.read import columnar
from labkit.store import derived
from labkit.store.campaign import HOME, Campaign
from labkit.store.derived import EXAMPLES, folder
from labkit.studies import remember
from labkit.suites import kernels, rereading
from labkit.suites.definition import Entry
from labkit.suites.notebooks import Executed


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(HOME, str(tmp_path / "campaigns"))
    return tmp_path / "campaigns"


def test_a_campaign_of_ones_own_holds_what_is_made_of_it(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "mine")
    assert campaign.derived == campaign.path
    assert not campaign.bundled


@pytest.mark.slow
def test_an_example_stays_as_it_is(root: Path) -> None:
    campaign = Campaign(EXAMPLES / "two-cores")
    assert campaign.bundled
    assert campaign.derived == root / "derived" / "two-cores"
    with (
        pytest.raises(DataError, match=r"labkit never changes it.*: cp -r \S+two-cores two-cores-copy$"),
        campaign.lease(),
    ):
        pass
    before = sorted(campaign.path.rglob("*"))
    assert columnar.read_campaigns(campaign, benchmark="mpi.*").records is not None
    with campaign.reading():
        assert (campaign.derived / "lease.json").exists()
    assert sorted(campaign.path.rglob("*")) == before


def test_an_example_is_one_where_a_link_leads_to_all_data(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root.parent / "data").symlink_to(EXAMPLES.parents[1])
    monkeypatch.setattr(derived, "EXAMPLES", root.parent / "data" / "campaigns" / "examples")
    for path in (derived.EXAMPLES / "two-cores", EXAMPLES / "two-cores"):
        assert derived.bundled(path)
        assert folder(path, root) == root / "derived" / "two-cores"


def test_what_cannot_be_written_to_stays_as_it_is(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [root.parent / user / "same" for user in ("one", "two")]
    for place in places:
        Campaign(place)
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) not in places)
    folders = [folder(place, root) for place in places]
    assert all(place.is_relative_to(root / "derived") and place.name.startswith("same-") for place in folders)
    assert folders[0] != folders[1]
    monkeypatch.setattr("os.access", lambda path, mode: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(root / "cache"))
    assert folder(places[0], root).parent == root / "cache" / "labkit" / "derived"


@pytest.mark.parametrize(
    "name", ["log.txt", "events.jsonl", "notebooks", "report", "report-survey", "records", "gpcnet"]
)
def test_nothing_is_written_through_a_link(name: str, root: Path) -> None:
    campaign = Campaign(root.parent / "foreign")
    (root.parent / "elsewhere").mkdir()
    (campaign.path / name).symlink_to(root.parent / "elsewhere")
    assert campaign.derived.is_relative_to(root / "derived")


HOSTILE = {
    "name": {"10-latency": {"sizes=1\n__import__('pathlib').Path('PWNED').touch()\nx": 1}},
    "value": {"10-latency": {"sizes": {"a": ["__import__"]}}},
    "type": {"10-latency": {"launches": "__import__('os').system('touch PWNED')"}},
    "path": {"10-latency-/../../../PWNED": {}},
    "line": {"10-latency-\nPWNED": {}},
    "deep": {f"10-latency-{'x' * 300}": {}},
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_names_and_parameters_of_a_campaign_are_data(kind: str, tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "foreign", {"parameters": HOSTILE[kind]})
    with pytest.raises(SpecError, match=r"campaign\.json"):
        rereading.missing(campaign)
    with pytest.raises(SpecError):
        rereading.reread(campaign, print)
    assert not list(tmp_path.rglob("*PWNED*"))


@pytest.mark.parametrize("name", ["hosts.txt", "none.txt"])
def test_a_file_of_hosts_that_a_campaign_names_is_not_read(name: str, tmp_path: Path) -> None:
    (tmp_path / "hosts.txt").write_text("secret word\n")  # the error of a file that is read quotes it
    campaign = Campaign(tmp_path / "foreign", {"parameters": {"65-all-pairs": {"hosts": str(tmp_path / name)}}})
    (entry,) = rereading.missing(campaign)
    assert {spec.hosts for spec in entry.study().specs()} == {(str(tmp_path / name),)}


@pytest.mark.parametrize("parameters", [3, "x", [1], {"10-latency": 3}, {"10-latency": ["x"]}])
def test_parameters_of_the_wrong_shape_are_refused(parameters: object, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"campaign\.json has parameters=.* but it must be of type dict"):
        Campaign(tmp_path / "c", {"parameters": parameters})


def test_parameters_of_no_notebook_are_no_parameters(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "c", {"parameters": {"../../x": {}}})
    assert all(set(one.parameters) == {"measure", "campaign"} for one in rereading.missing(campaign))


def test_a_campaign_measured_from_a_notebook_by_hand_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = studies.get("message_rate")(sizes="8,4Ki", launches=2, campaign=str(tmp_path / "mine"))
    remember(study)
    (entry,) = rereading.missing(study.campaign)
    assert entry.name == "11-message-rate"
    assert entry.parameters == {"sizes": "8,4Ki", "launches": 2, "measure": False, "campaign": str(tmp_path / "mine")}

    ran = Campaign(tmp_path / "ran", {"suite": "quick", "parameters": {"10-latency": {}}})
    remember(studies.get("message_rate")(campaign=str(ran.path)))
    monkeypatch.setenv(studies.CAMPAIGN, str(tmp_path / "of-a-run"))
    remember(studies.get("message_rate")())
    assert [one.facts.get("parameters") for one in (ran, Campaign(tmp_path / "of-a-run"))] == [{"10-latency": {}}, None]


def test_a_copy_of_an_example_is_ones_own(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "two-cores", tmp_path / "copy")
    campaign = Campaign(tmp_path / "copy")
    assert campaign.derived == campaign.path
    assert json.loads((campaign.path / "campaign.json").read_text())["name"] == "two-cores"


def test_a_program_that_samples_name_is_not_started(tmp_path: Path) -> None:
    from labkit.studies import latency
    from tests.test_report import point

    program = tmp_path / "bin" / "mpirun"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/PWNED\necho 'mpirun (Open MPI) 4.1.4'\n")
    program.chmod(0o755)
    campaign = Campaign(tmp_path / "foreign")
    for launch in range(2):
        one = point("mpi.latency", 8, "shm", launch)
        spec = one.spec.replace(launcher=f"openmpi@{program}")
        campaign.save(dataclasses.replace(one, spec=spec), f"{1:016x}")
    study = latency.Study(campaign=str(campaign.path), measure=False, launcher=f"openmpi@{program}")
    assert set(study.of("mpi.latency")["launcher"]) == {f"openmpi@{program}"}
    assert study.limits("shm") == []
    assert not (tmp_path / "PWNED").exists()


@pytest.mark.slow
def test_a_report_of_an_example_changes_nothing_in_it(root: Path) -> None:
    from labkit import report

    before = {path: path.stat().st_mtime_ns for path in (EXAMPLES / "virtual-cluster").rglob("*")}
    made = report.build([EXAMPLES / "virtual-cluster"], engine="plain", execute=False)
    assert made.html == root / "derived" / "virtual-cluster" / "report" / "html" / "index.html"
    assert {path: path.stat().st_mtime_ns for path in (EXAMPLES / "virtual-cluster").rglob("*")} == before


@pytest.mark.slow
def test_a_report_of_a_read_only_campaign_goes_elsewhere(root: Path, tmp_path: Path) -> None:
    from tests.test_report import make_campaign

    folder = make_campaign(tmp_path / "c")
    if os.geteuid() == 0:  # who may write everywhere: only a disk that is read-only stops them
        inner = f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder} && exec {sys.executable} -m labkit report {folder} --engine plain"
        command = ["unshare", "--mount", "sh", "-c", inner]
    else:
        folder.chmod(0o555)
        command = [sys.executable, "-m", "labkit", "report", str(folder), "--engine", "plain"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    folder.chmod(0o755)
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no mounts of one's own: {done.stderr.strip()[:200]}")
    assert done.returncode == 0, done.stderr
    assert "labkit does not change the campaign; derived files go to" in done.stderr
    assert len(list((root / "derived").glob("c-*/report/html/index.html"))) == 1
    assert not (folder / "report").exists()


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notebooks are executed without a kernel: each leaves a file."""

    class Kernel:
        def clear(self) -> bool:
            return True

    def execute(entry: Entry, campaign: Campaign, into: Path, kernel: object = None) -> Executed:
        into.mkdir(parents=True, exist_ok=True)
        path = into / f"{entry.name}.ipynb"
        path.write_text("made")
        return Executed(entry.name, path, 0.0)

    monkeypatch.setattr(rereading, "execute", execute)
    monkeypatch.setattr(kernels, "kept", lambda environment: nullcontext(Kernel()))


def waiting(campaign: Campaign) -> list[str]:
    return [entry.name for entry in rereading.missing(campaign)]


@pytest.mark.usefixtures("executed")
def test_copies_that_labkit_made_follow_what_they_are_made_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.test_report import point

    (tmp_path / "labkit").mkdir()
    monkeypatch.setattr(labkit, "__file__", str(tmp_path / "labkit" / "__init__.py"))
    campaign = Campaign(tmp_path / "c", {"parameters": {"10-latency": {}, "20-bandwidth": {}}})
    campaign.save(point("mpi.latency", 8, "shm", 0), f"{1:016x}")
    (campaign.path / "notebooks").mkdir()
    (campaign.path / "notebooks" / "20-bandwidth.ipynb").write_text("of the campaign")
    facts = campaign.path / "campaign.json"

    def another_sample() -> None:
        campaign.save(point("mpi.latency", 8, "shm", 1), f"{1:016x}")

    def another_parameter() -> None:
        facts.write_text(facts.read_text().replace('"10-latency": {}', '"10-latency": {"seed": 7}'))

    def another_labkit() -> None:
        (tmp_path / "labkit" / "__init__.py").write_text("__version__ = '2'")

    changes: list[Callable[[], None]] = [lambda: None, another_sample, another_parameter, another_labkit]
    for change in changes:
        change()
        campaign = Campaign(campaign.path)
        assert waiting(campaign) == ["10-latency"], change
        rereading.reread(campaign, lambda text: None)
        assert waiting(campaign) == []
    assert (campaign.path / "notebooks" / "20-bandwidth.ipynb").read_text() == "of the campaign"


@pytest.mark.usefixtures("executed")
def test_a_copy_that_somebody_changed_is_of_the_campaign(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "c", {"parameters": {"10-latency": {}}})
    rereading.reread(campaign, lambda text: None)
    copy, notes = campaign.path / "notebooks" / "10-latency.ipynb", campaign.path / "records" / "notebooks.json"
    text = notes.read_text()
    for content in ("[1", "[1]", '{"10-latency": 3}', text.replace('"inputs": "', '"inputs": "0')):
        notes.write_text(content)
        assert waiting(campaign) == (["10-latency"] if "inputs" in content else [])
    copy.write_text("by hand")
    assert waiting(campaign) == []


@pytest.mark.usefixtures("executed")
def test_what_lies_among_derived_files_elsewhere_is_made_by_labkit(root: Path) -> None:
    campaign = Campaign(EXAMPLES / "two-cores")
    names = waiting(campaign)
    rereading.reread(campaign, lambda text: None)
    assert waiting(campaign) == []
    (root / "derived" / "two-cores" / "records" / "notebooks.json").unlink()
    assert waiting(campaign) == names
