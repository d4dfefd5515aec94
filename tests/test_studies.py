"""A study that only reads shows what matches its parameters, and says what it leaves out."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell

from labkit import benchmarks, figures, studies, testbeds
from labkit.apps import notebook
from labkit.errors import DataError, LabkitWarning, SpecError
from labkit.figures import parts, small_print
from labkit.figures.parts import NOTHING, Omitted
from labkit.io import project
from labkit.judge import effects
from labkit.models.limits import limit_curves
from labkit.point.notes import joined, note
from labkit.point.spec import Reported, Spec
from labkit.read import records
from labkit.run import launch
from labkit.stats.decision import OPEN
from labkit.store.campaign import Campaign
from labkit.studies import _linked, binding_layers, latency, needs, openshmem, sockets, virtual_cluster
from labkit.tools import Invocation

from . import made


def kept(campaign: Campaign, fingerprint: str, origin: str = "measured", **fields: object) -> None:
    """A point of mpi.latency as another program or labkit measured it."""
    spec = Spec.from_dict({"benchmark": "mpi.latency", "size": 8, "ranks": 2, "options": {}, **fields})
    times = np.full(20, 2000) if origin == "measured" else None
    meta = {"fingerprint": fingerprint, "engine": "c", "library": "L"}
    campaign.save(made.samples(spec, times, origin=origin, meta=meta), fingerprint)


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """A campaign with a point that the notebook asks for, and two that it does not."""
    made = Campaign(tmp_path / "c")
    kept(made, "a" * 16, transport="shm", testbed="local")
    kept(made, "b" * 16, transport="shm", testbed="virtual-cluster:4")
    kept(made, "c" * 16, transport="auto", testbed="local")
    return made


def reading(campaign: Campaign, **values: object) -> studies.Study:
    """The notebook about latency over a campaign that it only reads."""
    return latency.Study(campaign=str(campaign.path), measure=False, **values)


def test_what_does_not_match_is_left_out_and_said(campaign: Campaign) -> None:
    study = reading(campaign)
    assert [one.meta["fingerprint"] for one in study.samples] == ["a" * 16]
    assert sorted(one.value("has") for one in study.unlike) == ["testbed=virtual-cluster:4", "transport=auto"]
    said = str(study.warnings())
    assert "left out: 1 sample file of mpi.latency with transport=auto, but the parameters ask for shm" in said


def test_a_text_without_words_says_that_it_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an empty Markdown object a report would show its Python name."""
    shown: list[str] = []
    monkeypatch.setattr(notebook, "display", lambda forms, **_: shown.append(forms["text/markdown"]))
    for text in ("", "* one finding"):
        notebook.show(text)
    assert shown == [str(NOTHING), "* one finding"]


def test_a_warning_in_a_notebook_is_a_part_and_others_are_shown_as_before(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    others: list[str] = []
    monkeypatch.setattr(notebook, "_plain_warning", lambda message, *_, **__: others.append(str(message)))
    monkeypatch.setattr(notebook, "display", lambda forms, **_: shown.append(parts.read(forms[parts.MIME])))
    InteractiveShell.instance()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            notebook.study("latency", {"campaign": str(campaign.path), "measure": False})
            warnings.warn("GPCNeT has no tables for it", LabkitWarning, stacklevel=1)
            warnings.warn("of others", UserWarning, stacklevel=1)
    finally:
        InteractiveShell.clear_instance()
    assert shown == [parts.Warned((note("warning", "GPCNeT has no tables for it"),))]
    assert others == ["of others"]


def test_a_kernel_that_runs_another_notebook_shows_nothing_of_the_study_before(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(notebook, "display", lambda forms, **_: shown.append(forms["text/markdown"]))
    shell = InteractiveShell.instance()
    try:
        shell.user_ns["study"] = reading(campaign)
        notebook.show("")
        shell.reset(new_session=True)
        notebook.show("")
    finally:
        InteractiveShell.clear_instance()
    assert shown == [str(needs.omitted(reading(campaign))), str(parts.NOTHING)]
    assert shown[0] != shown[1]


def test_points_that_another_notebook_shows_are_not_left_out(campaign: Campaign) -> None:
    campaign.update(
        {
            "parameters": {
                "10-latency": {"transports": "shm"},
                "34-binding-layers": {},
                "99-gone": {},
                "20-bandwidth": {"x": 1},
            }
        }
    )
    study = reading(campaign, transports="shm")
    assert [one.value("has") for one in study.unlike] == ["testbed=virtual-cluster:4"], "34 shows transport=auto"
    campaign.update({"parameters": {"10-latency": {"transports": "shm,auto"}}})
    assert "transport=auto" in str(reading(campaign, transports="shm").warnings()), "the parameters were changed"
    campaign.update({"parameters": {"10-latency": {"transports": "shm"}, "10-latency-auto": {"transports": "auto"}}})
    assert "transport=auto" not in str(reading(campaign, transports="shm").warnings()), "a sweep shows it"


def test_nothing_is_drawn_where_nothing_matches(campaign: Campaign) -> None:
    study = reading(campaign, testbed="virtual-cluster:8")
    assert study.samples == []
    assert sum(int(one.value("count")) for one in study.unlike) == 3


def test_numbers_of_others_have_no_path_of_labkit(campaign: Campaign) -> None:
    kept(campaign, "d" * 16, origin="imported", transport="auto", testbed="osu.txt")
    assert {one.origin for one in reading(campaign).samples} == {"measured", "imported"}


def test_tables_follow_what_is_in_the_campaign(campaign: Campaign) -> None:
    study = reading(campaign)
    first = study.records
    assert study.records is first
    kept(campaign, "e" * 16, transport="tcp", testbed="local")
    assert len(study.records) == len(first) + 1
    assert len(study.summary) == 2
    study.read_from(Campaign(campaign.path.with_name("empty")))
    assert study.records.empty


def test_nobody_reaches_into_a_cache() -> None:
    """A value that is kept is a function of its inputs; nothing is taken out by hand."""
    sources = {path: path.read_text() for path in Path(studies.__file__).parents[1].rglob("*.py")}
    assert not [path for path, text in sources.items() if '__dict__["' in text or "__dict__.pop" in text]


def test_a_figure_that_needs_more_sizes_says_which(campaign: Campaign) -> None:
    for told in map(str, (reading(campaign).protocol_figure("shm"), reading(campaign).protocol_findings())):
        assert "there is 1: 8 B" in str(told)
        assert 'sizes = "8:1Ki"' in str(told)


def test_a_wrong_parameter_is_one_clear_error_in_the_cell(capsys: pytest.CaptureFixture[str]) -> None:
    shell = InteractiveShell()
    shell.run_cell('from labkit import notebook\nnotebook.study("latency", {"sizes": "8", "size": "9"})')
    said = capsys.readouterr().out
    assert said.startswith("SpecError: notebook latency has no 'size'. Did you mean sizes?")
    assert len(said.splitlines()) == 1


def test_a_study_that_only_reads_makes_no_campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABKIT_CAMPAIGNS", str(tmp_path / "campaigns"))
    for name, more in (("latency", {"measure": False}), ("imported", {})):
        with pytest.raises(DataError, match="There is no campaign 'nowhere'"):
            studies.get(name)(campaign="nowhere", **more).run()
    assert not list(tmp_path.iterdir())
    found = studies.get("latency")(campaign="examples/two-cores", measure=False)
    assert found.run().path.name == "two-cores"


def test_a_list_of_one_number_may_come_as_a_number(tmp_path: Path) -> None:
    """Papermill reads ``-p ranks 2 -p depths 1`` as numbers."""
    study = studies.get("nas_kernels")(ranks=2, kernels="ep", skeletons="", campaign=str(tmp_path / "c"))
    assert study.values.ranks == "2"
    assert {spec.ranks for spec in study.specs()} == {2}
    with pytest.raises(SpecError, match="ranks"):
        studies.get("nas_kernels")(ranks=[2], campaign=str(tmp_path / "c"))


def test_what_is_left_out_or_has_one_size_says_what_it_needs(campaign: Campaign) -> None:
    own = reading(campaign)
    assert not needs.parameters(own)
    assert needs.omitted(own).why.startswith("nothing that it needs was measured here. It shows points of `mpi.l")
    few = reading(campaign, sizes="8", transports="shm", allreduce="8:1Ki:*4")
    text = needs.omitted(few).why
    assert "`sizes=0,1:4Mi` (set here: `8`)" in text
    none = needs.omitted(reading(campaign, sizes="8", allreduce="")).why
    assert "`allreduce=4:1Mi:*4` (set here: empty)" in none
    for study in (own, few):
        figure = study.latency_figure()
        assert isinstance(figure, parts.Figure)
        needs.note_one_place(figure.plot)
        assert "only one message size was measured" in figure.notes[-1].text
        assert figure.layout.xaxis.title.text.count("<br>") > 1, "it is drawn too"
    two = figures.versus_size(pd.concat([few.summary, few.summary.assign(message_size_B=64)]), "latency_us")
    before = two.to_json()
    needs.note_one_place(two)
    assert two.to_json() == before


@pytest.mark.parametrize(
    ("tapered", "said"),
    [
        (12.0, "takes the same time on fat-tree 1:1 and fat-tree 3:1: the taper costs less than 1 %."),
        (36.0, "takes 3 times as long on fat-tree 3:1 as on fat-tree 1:1."),
    ],
)
def test_findings_on_scale_out_say_what_a_taper_costs(
    tapered: float, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    networks = {"fat-tree 1:1": 12.0, "fat-tree 3:1": tapered, "torus": 99.0}
    rows = pd.DataFrame({"network": networks.keys(), "latency_us_p50": networks.values()})
    rows = rows.assign(ranks=64, message_size_B=4096)
    study = studies.get("scale_out")(campaign=str(tmp_path / "c"))
    monkeypatch.setattr(study, "rows", lambda name: rows if name == "mpi.alltoall" else rows.iloc[:0])
    assert list(study._tapered()) == [f"Simulated all to all of 4 KiB with 64 ranks {said}"]


def test_openshmem_crosses_links_with_its_largest_size_by_rate_and_its_smallest_by_delay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_linked, "refusal", lambda testbed: "")
    values = {"rates": "10mbit,1gbit", "delays": "4ms", "losses": "1", "link_sizes": "8,64Ki", "transports": "shm"}
    made_here = Campaign(tmp_path / "c")
    study = openshmem.Study(campaign=str(made_here.path), **values)
    across = [spec for spec in study.specs() if spec.testbed != "local"]
    assert {(spec.testbed.partition(",")[2], spec.size) for spec in across} == {
        ("rate=10mbit", 65536),
        ("rate=1gbit", 65536),
        ("delay=4ms", 8),
        ("loss=1", 8),
    }
    for spec in study.specs():
        if spec.benchmark in ("shmem.put_latency", "mpi.latency"):
            meta = {"fingerprint": f"{hash(spec) & (1 << 64) - 1:016x}", "engine": "c", "library": "L"}
            made_here.save(made.samples(spec, np.full(20, 2000), meta=meta), meta["fingerprint"])
    read = openshmem.Study(campaign=str(made_here.path), measure=False, **values)
    assert set(read.across("rate")["call"]) == {"put", "MPI message"}
    assert sorted(set(read.across("rate")["level"])) == [10, 1000]
    assert set(read.of("shmem.put_latency")["testbed"]) == {"local"}
    assert "With 4 ms of delay each way, a put of 8 B takes" in str(read.findings())


def test_medians_of_two_metrics_are_told_apart_in_the_head() -> None:
    frame = pd.DataFrame({"pure_us_p50": [1.0], "latency_us_p50": [2.0], "latency_us_p99": [3.0]})
    head = str(notebook.of_frame(frame)).splitlines()[0]
    assert head == "| pure time, median (µs) | latency, median (µs) | p99 (µs) |"


@pytest.mark.parametrize("stem", sorted(project.notebooks()))
def test_a_study_names_each_benchmark_once(stem: str) -> None:
    """If a benchmark were listed twice, its launches would be counted twice."""
    names = studies.of_notebook(stem).benchmarks
    assert len(set(names)) == len(tuple(names))


def test_launches_of_an_example_are_counted_once() -> None:
    """Six launches are never reported as twelve."""
    study = studies.get("overlap")(campaign=str(project.CAMPAIGNS / "examples" / "two-cores"), measure=False)
    assert set(study.summary["launches"]) == {6}
    assert set(study.summary["headline"]) == {"95 % interval of 6 launches"}
    counted = study.records.groupby(["fingerprint", "launch"]).size()
    assert counted.max() == 1


def test_a_bare_name_of_a_campaign_is_one_among_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`papermill … -p campaign mine` measures into the folder of all campaigns; a path is used as given."""
    monkeypatch.setenv("LABKIT_CAMPAIGNS", str(tmp_path / "all"))
    monkeypatch.chdir(tmp_path)
    study = studies.get("latency").__new__(studies.get("latency"))

    def place(name: str) -> Path:
        study.values = studies.get("latency").parameters(campaign=name)
        return study._named_campaign().path

    assert place("mine") == tmp_path / "all" / "mine"
    assert place(str(tmp_path / "here" / "c")) == tmp_path / "here" / "c"
    (tmp_path / "there").mkdir()
    assert place("there").absolute() == tmp_path / "there"


NAMES = sorted(path.stem.partition("-")[2].replace("-", "_") for path in project.NOTEBOOKS.glob("[1-9]*.ipynb"))


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_without_its_tools_plans_the_rest_and_names_them(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not launch.installed():  # which is asked once, with the PATH of before
        pytest.skip("no MPI is installed")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))  # others may have a testbed up
    monkeypatch.setattr(testbeds, "running", lambda text: text)
    monkeypatch.setattr(Invocation, "missing", property(lambda self: [*self.programs] or [self.tool]))
    study = studies.get(name)(campaign=str(tmp_path / "c"), launches=1)
    assert not [point for point in study.points if benchmarks.tools_of(point.spec.benchmark)]
    needing = {spec.benchmark for spec in study.specs() if benchmarks.tools_of(spec.benchmark)}
    assert bool(study.lacking) == bool(needing)
    assert all("Install with '" in text or text.startswith("left out ") for text in study.lacking)
    if not study.points and study.lacking:
        assert study.lacking[0] in needs.omitted(study).why
        assert f"- omitted: {study.lacking[0]}" in str(study.warnings())
        assert isinstance(study.findings(), parts.Text | parts.Omitted)


@pytest.mark.parametrize(
    ("name", "testbed"), [("rpc", "virtual-cluster:4"), ("verbs_under_loss_and_delay", "soft-roce")]
)
def test_a_link_that_has_a_delay_already_gets_another_one(name: str, testbed: str, tmp_path: Path) -> None:
    study = studies.get(name)(campaign=str(tmp_path / "c"), testbed=f"{testbed},delay=2ms", delay="1ms")
    assert {testbeds.parse(spec.testbed)[2].get("delay") for spec in study.specs()} >= {"1ms", "2ms"}


def test_a_notebook_that_measured_nothing_says_which_tools_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    shown: list[str] = []

    def told(text: Any, **_: Any) -> SimpleNamespace:
        shown.append(getattr(text, "data", None) or text["text/markdown"])
        return SimpleNamespace(update=lambda text: shown.append(text.data))

    monkeypatch.setattr(notebook, "display", told)
    study = notebook.study("incast", {"campaign": str(tmp_path / "c"), "launches": 1})
    monkeypatch.setattr(notebook, "namespace", lambda: {"study": study})
    notebook.measure(study)
    assert shown[-1].startswith("There was nothing to measure; 0 are in the campaign")
    assert study.lacking[0] in shown[-1]
    notebook.show(study.findings())
    assert f"nothing that it needs was measured here. {study.lacking[0]}" in shown[-1]


def test_findings_give_the_numbers_of_the_table_beside_them() -> None:
    """What the mean over ranks hides is a ratio of two means, and both are in the table."""
    study = studies.get("collectives")(measure=False, campaign=str(project.CAMPAIGNS / "examples" / "two-cores"))
    (said,) = re.findall(r"hides the slowest rank most in (\w+) with 8 B, one root: in .*", str(study.findings()))
    table = study.mean_table()
    row = table[(table["collective"] == said) & (table["message_size_B"] == 8)].iloc[0]
    slowest, mean = (row[f"latency_us_{name}"] for name in ("mean", "osu_mean"))
    assert f"takes {studies.number(slowest)} µs, the mean over ranks is {studies.number(mean)} µs" in str(
        study.findings()
    )
    assert f"({studies.number(slowest / mean)} times)" in str(study.findings())


def test_a_barrier_counts_among_the_collectives_whose_mean_hides_the_slowest_rank() -> None:
    folder = project.CAMPAIGNS / "examples" / "sixteen-hosts"
    study = studies.of_campaign(json.loads((folder / "campaign.json").read_text()), folder)["30-collectives"]
    table = study.mean_table()  # type: ignore[attr-defined]
    ratios = (table["latency_us_mean"] / table["latency_us_osu_mean"]).set_axis(table["collective"])
    assert ratios.idxmax() == "barrier"
    assert "hides the slowest rank most in barrier: in the mean" in str(study.findings())  # type: ignore[attr-defined]
    assert f"({studies.number(ratios.max())} times)" in str(study.findings())  # type: ignore[attr-defined]
    assert isinstance(study.tail_figure(), Omitted), "no launch has a tail"  # type: ignore[attr-defined]
    assert isinstance(study.cadence_figure(), Omitted), "one cadence shows nothing of cadences"  # type: ignore[attr-defined]


@pytest.mark.parametrize(("sizes", "text"), [((8, 8), "size: 8 B"), ((8, 64), ""), ((0, 0), "")])
def test_a_figure_of_one_size_names_it(sizes: tuple[int, int], text: str) -> None:
    points = [
        made.samples(Spec(benchmark="mpi.latency", size=size), [1000.0, 1100.0] * 20, launch=n)
        for n, size in enumerate(sizes)
    ]
    drawn = figures.distribution(points, "latency_us"), figures.launches(records.table(points), "latency_us", series=[])
    for figure in drawn:
        notes = joined(small_print.notes_of(figure))
        assert text in notes
        assert bool(text) == ("size:" in notes)


def test_layers_that_were_measured_later_have_their_ratio_and_the_reservation() -> None:
    row = {"message_size_B": 8, "added (µs)": 1.12, "ratio": 9.28}
    later, sure, equal = ({**row, "doubt": doubt} for doubt in (effects.SESSIONS, "none", OPEN))
    ratio = "takes longer than the C kernel at 1 of 2 sizes, at 8 B by 1.12 µs (9.28 times its time)"
    for rows, said in (
        ([later, equal], f"pickle {ratio}, {effects.LATER}."),
        ([sure, later], f"pickle {ratio}."),
        ([equal], "pickle is not shown to take longer than the C kernel at any of 1 size."),
    ):
        assert binding_layers._longer("pickle", pd.DataFrame(rows)) == said


@pytest.mark.parametrize(("launches", "end"), [(6, " lost, each the median of 6 launches."), (1, " lost.")])
def test_medians_that_do_not_add_up_are_said_to_be_medians(launches: int, end: str) -> None:
    row = {"sent_MBps_mean": 423.0, "bandwidth_MBps_mean": 416.0, "lost_percent_mean": 2.1, "launches": launches}
    (said,) = sockets.Study._datagram_sentences(SimpleNamespace(datagrams=pd.DataFrame([row])))  # type: ignore[arg-type]
    assert said.endswith(end)


def test_datagrams_to_a_group_have_their_own_table_and_a_sentence(tmp_path: Path) -> None:
    some = []
    for group in (False, True):
        trip = Spec(benchmark="sockets.udp_rr", size=64, ranks=1, options={"tool": "sockperf", "multicast": group})
        meta = {"engine": "sockperf", "fingerprint": f"{group:016d}"}
        some.append(made.samples(trip, [[20_000 + 5_000 * group] * 20], meta=meta))
        options = {"offered": 10.0} | ({"multicast": True} if group else {"tool": "iperf3"})
        stream = Spec(benchmark="sockets.udp_stream", size=1400, ranks=1, options=options)
        values = {"bandwidth_MBps": ("MB/s", 4.0 - group), "sent_MBps": ("MB/s", 5.0), "lost_percent": ("%", 20.0)}
        reported = tuple(Reported(name, unit, "mean", value) for name, (unit, value) in values.items())
        meta = {"engine": "iperf", "fingerprint": f"{group + 2:016d}"}
        some.append(made.samples(stream, reported=reported, meta=meta))
    made.campaign(tmp_path / "c", some)
    study = sockets.Study(campaign=str(tmp_path / "c"), measure=False)
    assert study.datagram_table()["arrived (MB/s)"].tolist() == [4.0]
    assert study.datagram_table(multicast=True)["arrived (MB/s)"].tolist() == [3.0]
    assert study.trips.empty
    assert "takes 25 µs on average through a multicast group, 20 µs to one address (sockperf)" in str(study.findings())


def test_streams_at_one_rate_differ_by_their_uplinks_and_no_sentence_contradicts_a_part() -> None:
    study = virtual_cluster.Study(studies.Given(), campaign="examples/virtual-cluster", measure=False)
    table = study.claim_table()
    printed = table.map(lambda cell: f"{cell:.3g}" if isinstance(cell, float) else str(cell))
    assert not printed.duplicated().any()
    assert {*table["uplinks"]} == {"default", "100mbit", "200mbit", "400mbit"}
    said = [*study._claims()]
    assert 100 < table["part (%)"].max() < 100 * virtual_cluster._OVER
    assert said[0] == "One TCP stream brings 99.9 to 100 % of what the link carries as payload."
    assert said[1].endswith(" % of what the link carries as payload.")


def test_a_message_shorter_than_its_bits_is_explained_and_streams_alone_are_said_to_be_no_faster() -> None:
    size, payload, packets = [8, 1024, 262144], [0.32, 41.0, 10_486.0], [2.96, 43.6, 10_964.0]
    trips = pd.DataFrame({"message size (B)": size, "payload on the link (µs)": payload})
    trips = trips.assign(**{"packets on the link (µs)": packets, "median (µs)": [30.0, 35.0, 10_896.0]})
    said = [*virtual_cluster.Study._trips(SimpleNamespace(trip_table=lambda: trips))]  # type: ignore[arg-type]
    assert said[0].endswith("headers included, take 2.96 µs. The rest is the work of this machine's processors.")
    assert said[1].endswith(
        "take 10,964 µs. The time is shorter because the link's token bucket lets the first bytes pass at once."
    )
    assert "of 1 KiB: they are shorter than those of the payload at the link's rate. A token bucket" in said[-1]


def test_the_table_of_round_trips_names_the_number_that_figures_draw() -> None:
    study = virtual_cluster.Study(studies.Given(), campaign="examples/virtual-cluster", measure=False)
    table = study.trip_table().set_index("message size (B)")
    names = {curve.name: curve.values for curve in limit_curves(study.samples, "latency_us", study.costs)}
    drawn = names["link of a host less its token bucket, and its ends"]
    assert table["reference (µs)"][65536] == pytest.approx(drawn[65536])
    assert drawn[65536] < table["payload on the link (µs)"][65536] < table["packets on the link (µs)"][65536]


def test_a_ratio_of_reads_names_no_cause_that_the_data_do_not_separate() -> None:
    study = studies.get("storage")(measure=False, campaign=str(project.CAMPAIGNS / "examples" / "two-cores"))
    said = str(study.findings())
    assert re.search(r"- A read at random takes [\d.]+ times as long as one in order\.$", said, re.MULTILINE)
    assert "Read-ahead" not in said


def _of_virtual_cluster(name: str, testbed: str) -> Any:
    folder = str(project.CAMPAIGNS / "examples" / "virtual-cluster")
    return studies.get(name)(measure=False, campaign=folder, testbed=testbed)


def test_gpcnets_bandwidths_are_told_beside_what_hosts_sent_over_their_links() -> None:
    study = _of_virtual_cluster("congestion_impact", "virtual-cluster:4,per_leaf=2,rate=200mbit")
    said = str(study.gpcnet_tables()).partition("```")[0]
    match = re.search(r"50 % of these bytes left their host: the busiest host sent ([\d.]+) MB/s to others", said)
    assert match, said
    printed = re.search(r"RR Two-sided BW\+Sync \(16384 B\) \| +([\d.]+) ", str(study.gpcnet_tables()))
    assert printed
    assert float(match[1]) < 200 / 8 < 2 * float(printed[1]) * 2**20 / 1e6  # MB/s of a host's link, 2 ranks a host


def test_the_text_beside_the_scatter_counts_iterations_in_which_all_ranks_wait() -> None:
    said = str(_of_virtual_cluster("interference_and_qos", "virtual-cluster:4").scatter_text())
    assert re.search(r"classes of traffic: the middle half of the times of all ranks is [\d,. to]+ µs alone and", said)
    counted = re.findall(r"In (\d+) of 200 iterations beside .* alone; in (\d+), only some do", said)
    assert len(counted) == 2
    assert all(int(every) > 150 > 50 > int(some) for every, some in counted)
