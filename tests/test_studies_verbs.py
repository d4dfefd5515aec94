"""The notebooks on RDMA verbs, on points recorded in the emulated guest of the testbed soft-roce; nothing is started."""

from __future__ import annotations

import dataclasses
import shutil
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from labkit import studies
from labkit.errors import SpecError
from labkit.figures.parts import NOTHING, Figure
from labkit.judge import evidence
from labkit.point.notes import badge, has
from labkit.point.spec import Spec
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.studies import verbs_latency_bandwidth, verbs_under_loss_and_delay
from tests.notebooks.test_examples import TWO_CORES
from tests.notebooks.test_measured import Shown

from . import made

RECORDED = Path(__file__).parent / "golden" / "verbs" / "recorded.tar.xz"
NOTEBOOKS = {
    "50-verbs-latency-bandwidth": 6,
    "51-completion": 6,
    "52-registration-and-buffers": 6,
    "53-verbs-under-loss-and-delay": 5,
}


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A copy of what was recorded, with MPI and TCP of the example beside it."""
    folder = tmp_path_factory.mktemp("verbs") / "recorded"
    with tarfile.open(RECORDED) as archive:
        archive.extractall(folder, filter="data")
    for name in verbs_latency_bandwidth.BESIDE:
        shutil.copytree(TWO_CORES / "samples" / name, folder / "samples" / name)
    shutil.copytree(TWO_CORES / "starts", folder / "starts", dirs_exist_ok=True)
    return str(folder)


def read(name: str, campaign: str, **more: Any) -> Any:
    """A study that only reads."""
    return studies.get(name)(campaign=campaign, measure=False, **more)


def test_the_recording_is_small_and_real(campaign: str) -> None:
    assert RECORDED.stat().st_size < 200_000
    for one in (s for s in Campaign(campaign).samples() if s.spec.family == "verbs"):
        assert one.origin in ("measured", "reported")
        assert has(one.badges, "functional")
        assert one.meta["testbed"]["accel"] == "tcg"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name > "51" else ()) for name in NOTEBOOKS]
)
def test_a_notebook_shows_what_was_recorded(name: str, campaign: str) -> None:
    shown = Shown(name, {"campaign": campaign, "measure": False})
    assert len(shown.figures) == NOTEBOOKS[name]
    for figure in shown.figures:
        assert all(trace["x"] and trace["name"] for trace in figure["data"])
        assert (
            "(" in figure["layout"]["yaxis"]["title"]["text"] or "share" in figure["layout"]["yaxis"]["title"]["text"]
        )
    assert any("not how fast it is" in text for text in shown.texts)
    assert str(NOTHING) not in shown.texts
    assert not [text for text in shown.texts if "nan" in text]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_without_samples_a_notebook_says_what_is_missing(name: str, tmp_path: Path) -> None:
    empty = Campaign(tmp_path / "empty", {})
    shown = Shown(name, {"campaign": str(empty.path), "measure": False})
    assert not shown.figures
    assert any(
        text.startswith("*Omitted: nothing that it needs was measured here. It shows points of") for text in shown.texts
    )
    assert any("was measured here" in text and "testbed=soft-roce" in text for text in shown.texts)


def test_every_service_is_asked_for_what_it_can_carry(tmp_path: Path) -> None:
    sizes = {"sizes": "8,64Ki", "bandwidth_sizes": "", "inline": ""}
    study = verbs_latency_bandwidth.Study(campaign=str(tmp_path), measure=False, **sizes)
    named = [s for s in study.specs() if "tool" in s.values]
    asked = [(s.benchmark, s.size, s.values["connection"], s.values["tool"]) for s in named]
    assert [a for a in asked if a[2] == "UD"] == [("verbs.send_latency", 8, "UD", "perftest")]
    assert {a[0] for a in asked if a[2] == "UC"} == {"verbs.send_latency", "verbs.write_latency"}
    assert {a[1] for a in asked if a[0] == "verbs.atomic_latency"} == {8}
    assert {(a[1], a[2]) for a in asked if a[3] == "pyverbs"} == {(8, "RC")}
    assert len(asked) == len(set(asked)) == 6 + 1 + 4 + 1 + 4
    assert {s.benchmark for s in study.specs()} >= {"verbs.host_overhead", "verbs.pingping"}


def test_tcp_stands_beside_verbs_with_half_its_round_trip(campaign: str) -> None:
    rows = read("verbs_latency_bandwidth", campaign).compared().set_index(["path", "message_size_B"])
    tcp = rows[rows["benchmark"] == "sockets.tcp_rr"]
    whole = studies.get("bandwidth")(campaign=campaign, measure=False).of("sockets.tcp_rr")
    for path, size in tcp.index:
        assert "half of a round trip" in path
        of_size = whole[whole["message_size_B"] == size]
        assert tcp.loc[(path, size), "latency_us_mean"] == pytest.approx(of_size["round_trip_us_mean"].iloc[0] / 2)
    assert {"verbs", "mpi", "sockets"} == {name.partition(".")[0] for name in rows["benchmark"]}
    assert not read("verbs_latency_bandwidth", campaign, beside=False).compared()["path"].str.contains("MPI|TCP").any()


def test_paths_of_the_same_name_are_told_apart_on_the_common_axis(campaign: str) -> None:
    study = read("verbs_latency_bandwidth", campaign)
    rows = study.compared()
    mpi = rows[rows["benchmark"] == "mpi.latency"]
    study.compared = lambda: pd.concat([rows, mpi.assign(ppn=2, fingerprint="other")])
    names = [trace.name for trace in study.compared_figure().data]
    assert len(set(names)) == len(names)
    assert any("ppn 2" in name for name in names)


def test_tools_are_compared_where_both_measured(campaign: str) -> None:
    study = read("verbs_latency_bandwidth", campaign)
    assert set(study.both_tools()["engine"]) == {"perftest", "pyverbs"}
    assert 8 in set(study.both_tools()["message_size_B"])
    assert all("latency" in name for name in study.both_tools()["benchmark"])
    assert "an empty poll takes" in str(study.tools_findings())
    assert set(study.rows("latency")["engine"]) == {"perftest"}


def test_lines_of_the_distribution_are_told_apart_by_what_differs(campaign: str) -> None:
    figure = read("completion", campaign).distribution_figure()
    names = [trace.name for trace in figure.data if trace.mode == "lines"]
    assert len(set(names)) == len(names) == 4
    assert all("completion=" in name and "reuse" not in name for name in names)


@pytest.mark.slow
def test_a_set_up_has_a_bar_for_every_step(campaign: str) -> None:
    study = read("registration_and_buffers", campaign)
    steps = study.steps()
    assert len(steps) == 9
    assert steps["latency_us_p50"].sum() < study.of("verbs.setup")["latency_us_p50"].iloc[0]
    assert isinstance(study.steps_figure(), Figure)


def test_connections_by_rdma_cm_have_bars_and_a_sentence_of_their_own(tmp_path: Path) -> None:
    steps = ("resolve_address", "resolve_route", "queue_pair_to_init", "connect", "disconnect")
    times = {f"{name}_ns": np.full(20, (k + 1) * 100_000) for k, name in enumerate(steps)}
    parts = {"init_to_rtr_ns": np.full(20, 300_000), "rtr_to_rts_ns": np.full(20, 50_000)}
    ways = ((False, 900_000, parts), (True, 2_000_000, times))
    made.campaign(
        tmp_path / "c",
        [
            made.samples(
                Spec(benchmark="verbs.setup", size=0, testbed="soft-roce", options={"rdma_cm": managed}),
                np.full(20, whole),
                extras=extras,
                meta={"fingerprint": f"{whole:016d}"},
            )
            for managed, whole, extras in ways
        ],
    )
    study = read("registration_and_buffers", str(tmp_path / "c"))
    assert study.steps()["step"].tolist() == ["INIT to RTR", "RTR to RTS"]
    managed = study.steps(managed=True).set_index("step")["latency_us_p50"]
    assert managed[["resolve address", "connect", "disconnect"]].tolist() == [100.0, 400.0, 500.0]
    assert len(managed) == len(steps)
    assert "a connection by RDMA CM takes 2,000 µs" in str(study.findings())


def test_inline_data_are_compared_and_left_out_of_other_lines(tmp_path: Path) -> None:
    tool = {"tool": "perftest", "connection": "RC"}
    ways = ((-1, 8, 300_000), (0, 16, 500_000), (256, 16, 400_000))
    some = [
        made.samples(
            Spec(benchmark="verbs.send_latency", size=size, testbed="soft-roce", options={"inline": inline} | tool),
            np.full(20, time_ns),
            meta={"fingerprint": f"{time_ns:016d}", "engine": "perftest"},
        )
        for inline, size, time_ns in ways
    ]
    made.campaign(tmp_path / "c", some)
    study = read("verbs_latency_bandwidth", str(tmp_path / "c"))
    assert sorted(study.inlined()["latency_us_p50"]) == [400.0, 500.0]
    assert study.rows("latency")["message_size_B"].tolist() == [8]
    assert "a send of 16 B takes 400 µs inline, 500 µs if the adapter fetches the data" in str(study.findings())
    assert isinstance(study.inline_figure(), Figure)


def test_hot_spots_and_computation_have_a_sentence_each(campaign: str) -> None:
    hot = str(read("registration_and_buffers", campaign).findings())
    for does in ("sends", "receives"):
        assert f"A hot spot that {does} messages of 64 B takes" in hot
    assert hot.count("round with 1 peer; with 4 peers") == 2
    computed = str(read("completion", campaign).findings())
    assert "With messages of 4 KiB, CPU availability is 21.7 %" in computed


def test_delay_is_crossed_twice_and_nothing_is_faster_than_the_link(campaign: str) -> None:
    study = read("verbs_under_loss_and_delay", campaign)
    reads = study.under(verbs_under_loss_and_delay.READ, "delay")
    for _, row in reads.iterrows():
        assert row["latency_us_p50"] >= 2000 * row["level"]
    for _, row in study.under(verbs_under_loss_and_delay.WRITE, "rate").iterrows():
        assert row["bandwidth_MBps_p50"] <= 1.05 * row["level"] / 8
    assert reads["level"].tolist() == [0, 4]
    again = study.again().set_index("testbed")
    lossy = again.index.str.contains("loss=")
    assert again.loc[lossy, list(evidence.AGAIN)].to_numpy().sum() > 0
    assert "with 4 ms of delay each way; a single launch decides nothing." in str(study.findings())


def test_points_of_another_state_of_the_link_are_not_mixed_in(campaign: str) -> None:
    assert set(read("verbs_latency_bandwidth", campaign).summary["testbed"]) == {"soft-roce"}


def test_the_state_of_the_link_is_part_of_the_testbed(tmp_path: Path) -> None:
    study = verbs_under_loss_and_delay.Study(campaign=str(tmp_path), measure=False, delay="2ms", loss="", rate="")
    assert [s.testbed for s in study.specs()] == ["soft-roce"] * 2 + ["soft-roce,delay=2ms"] * 2
    study.values = dataclasses.replace(study.values, testbed="soft-roce,delay=4ms,ets=80:20")  # as one is up
    links = ["soft-roce,delay=4ms,ets=80:20", "soft-roce,delay=2ms,ets=80:20"]
    assert [s.testbed for s in study.specs()] == [link for link in links for _ in range(2)]
    elsewhere = verbs_under_loss_and_delay.Study(campaign=str(tmp_path), measure=False, testbed="local")
    with pytest.raises(SpecError, match="cannot set delay, loss or rate"):
        elsewhere.specs()
    assert study.effort.iterations == 256
    with pytest.raises(SpecError, match="is not a delay"):
        verbs_under_loss_and_delay.level("4 ms")


# ---- counters


def counted(evidence_: dict[str, int], n: int = 0, commands: list[list[str]] | None = None) -> Samples:
    spec = Spec(benchmark="verbs.write_bandwidth", size=1000, testbed="soft-roce", options={"tx_depth": 64})
    return made.samples(spec, np.ones(n) if n else None, meta={"evidence": evidence_, "commands": commands or []})


def test_what_crossed_is_set_against_the_payload() -> None:
    both = {"v0.tx_bytes": 130_000, "v1.tx_bytes": 4000, "rxe0.sent_pkts": 100, "rxe1.sent_pkts": 10}
    rows = evidence.crossed([counted(both, n=2), counted(both, commands=[["x"], ["ib_write_bw", "-n", "65"]])])
    assert rows["payload (kB)"].tolist() == [128, 65]
    assert rows["on the link (kB)"].tolist() == [130, 130]
    assert rows["packets"].tolist() == [110, 110]
    assert "prove that the bytes crossed the link: in each of 2 points" in evidence.crossed_sentence(rows)
    assert evidence.crossed_in_all(rows)["times the payload"].tolist() == [pytest.approx(260 / 193)]


def test_the_payload_of_a_window_is_that_of_all_its_queue_pairs() -> None:
    spec = Spec(benchmark="verbs.write_bandwidth", size=1000, options={"tx_depth": 64, "qps": 2, "connection": "UC"})
    several = made.samples(spec, np.ones(3), meta={"evidence": {"v0.tx_bytes": 500_000}})
    one = made.samples(Spec(benchmark="verbs.echo", size=1000), np.ones(3), meta={"evidence": {"v0.tx_bytes": 500_000}})
    rows = evidence.crossed([several, one])
    assert rows["payload (kB)"].tolist() == [3 * 64 * 2, 3]
    assert rows["connection"].tolist() == ["UC", ""]


def test_fewer_bytes_than_the_payload_are_no_proof() -> None:
    rows = evidence.crossed([counted({"v0.tx_bytes": 10}, n=2)])
    assert "In 1 of 1 point the link carried fewer bytes" in evidence.crossed_sentence(rows)
    assert "no link counters" in evidence.crossed_sentence(evidence.crossed([counted({})]))


def test_what_was_sent_again_is_summed_over_both_ends() -> None:
    rows = evidence.again([counted({"rxe0.completer_retry_err": 2, "rxe1.completer_retry_err": 1})])
    assert rows["completer_retry_err"].tolist() == [3]
    assert rows["duplicate_request"].tolist() == [0]


def test_only_numbers_that_say_so_are_functional() -> None:
    busy, soft = badge("busy machine"), badge("soft-RoCE: functional, not performance")
    assert evidence.functional([(), (busy,)]) == ""
    assert "1 of 2 records" in (said := evidence.functional([(), (busy, soft)]))
    assert f"“{soft.text}”" in said
    assert evidence.python_sentence(pd.DataFrame()) == ""


def test_retransmissions_without_loss_are_those_of_the_same_points(campaign: str) -> None:
    study = read("verbs_under_loss_and_delay", campaign)
    said = [text for text in study._loss() if "adapters counted" in text]
    assert said
    assert all(text.endswith("; the same points without loss, 0 of all these.") for text in said)
