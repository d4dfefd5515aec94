"""Notebooks that no campaign was recorded for: tiny real runs, and what they say of a campaign without their samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from ipywidgets import Widget

from labkit import studies
from labkit.apps import notebook
from labkit.figures import parts
from labkit.io import project
from labkit.store.campaign import Campaign
from labkit.studies import host_overhead_and_buffers
from tests.notebooks.test_examples import TWO_CORES

TINY: dict[str, dict[str, Any]] = {
    "11-message-rate": {"sizes": "8,4Ki", "windows": "1,64", "depths": "64", "window_sizes": "8"},
    "12-host-overhead-and-buffers": {
        "sizes": "8,4Ki",
        "compute_us": "10,500",
        "compute_sizes": "4Ki",
        "buffers": "1,16",
        "reuse": "1,100",
        "buffer_sizes": "4Ki",
        "hot_sizes": "8",
    },
    "30-collectives": {"collectives": "allreduce,bcast,barrier", "sizes": "8,3000,4Ki"},
    "21-sockets": {
        "sizes": "64",
        "tools": "netperf,sockperf,qperf",
        "stream_sizes": "64Ki",
        "streams": "1",
        "buffers": "0",
        "offered": "5",
        "multicast": "5",
        "rates": "1000",
        "providers": "tcp",
        "ladder": "8",
    },
    "39-gpu-and-nccl": {
        "sizes": "4,4Ki",
        "message_sizes": "8",
        "memories": "device-device,host-host",
        "collectives": "bcast",
        "collective_sizes": "4",
        "accelerator": "stand-in",
    },
    "42-parallel-io": {
        "sizes": "4Ki,8Ki",
        "block_size": "8Ki",
        "segments": 1,
        "stonewall": 0.001,
        "items": 5,
        "io500": 0.01,
    },
    "43-bt-io": {"steps": 5},
    "46-file-systems": {
        "systems": "tmpfs,ext4",
        "size": "512Mi",
        "sizes": "4Ki",
        "items": 5,
        "io500": 0.01,
        "limit": "4Mi",
    },
    "81-loggp": {"sizes": "8,512,4Ki", "collectives": "allreduce", "collective_sizes": "8,4Ki", "transports": "shm"},
    "70-hpl": {"ranks": "1", "orders": "100", "cells": 6, "steps": 5},
    "63-halo-and-fft": {"neighbours": "6,26", "fft_sizes": "64", "ranks": "2", "paper": False, "testbed": "local"},
    "71-nas-kernels": {"kernels": "is,mg", "ranks": "1,2,3"},
    "72-training-step": {"rates": "100mbit,400mbit", "layers": 1, "width": 64, "buckets": "64Ki", "sizes": "64Ki"},
}
THERE = {folder.name for folder in (TWO_CORES / "samples").iterdir()}
EFFORT = {"launches": 2, "time_cap": 0.01, "ci": 0.2}


class Shown(list[Any]):
    """What the code cells of a notebook show, run in this process."""

    def __init__(self, name: str, parameters: dict[str, Any]) -> None:
        super().__init__()
        book = nbformat.read(project.NOTEBOOKS / f"{name}.ipynb", as_version=4)
        code = [cell for cell in book.cells if cell.cell_type == "code"]
        namespace: dict[str, Any] = {}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(notebook, "display", lambda thing, **_: self.append(thing) or Handle())
            patch.setattr(notebook, "namespace", lambda: namespace)
            for cell in code:
                exec(cell.source, namespace)
                if "parameters" in cell.metadata.get("tags", []):
                    namespace |= parameters

    @property
    def figures(self) -> list[dict[str, Any]]:
        return [thing[parts.PLOTLY] for thing in self if isinstance(thing, dict) and parts.PLOTLY in thing]

    @property
    def texts(self) -> list[str]:
        every = [
            thing if isinstance(thing, dict) else {"text/markdown": thing.data}
            for thing in self
            if not isinstance(thing, Widget)
        ]
        return [one["text/markdown"] for one in every if "text/markdown" in one]


class Handle:
    """Takes the progress that nobody reads."""

    def update(self, thing: Any) -> None:
        pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One campaign for all of them."""
    return tmp_path_factory.mktemp("measured") / "tiny"


@pytest.mark.slow  # tools and programs take a second for each point, whatever they are told
@pytest.mark.mpi
@pytest.mark.parametrize("name", TINY)
def test_a_notebook_measures_and_says_what_it_found(name: str, folder: Path) -> None:
    shown = Shown(name, TINY[name] | EFFORT | {"campaign": str(folder)})
    study = studies.of_notebook(name)(**TINY[name], **EFFORT, campaign=str(folder))
    assert {s.spec.benchmark for s in Campaign(folder).samples()} >= {p.spec.benchmark for p in study.points}
    findings = str(study.findings())
    predicted = "no parameter of this path is resolved" not in findings  # of LogGP; disturbed times resolve none
    assert len(shown.figures) >= (3 if predicted else 1)
    for figure in shown.figures:
        assert figure["data"]
        assert all(trace["x"] for trace in figure["data"])
        y, x = (figure["layout"][axis]["title"]["text"] for axis in ("yaxis", "xaxis"))
        assert "(" in (x if y.startswith("share of") and "(" not in y else y), "no unit"
    # disturbed times determine no parameter of LogGP; then the findings say how far they lie off a line
    spread = ("range of 2 launches", "in brackets: 1 launch", "have no resolved parameter. Their time lies", "≤ ")
    assert any(words in findings for words in spread), findings
    assert str(study.findings()) in shown.texts
    assert name in Campaign(folder).facts["parameters"], "a report would have no chapter"


SIMULATED = {"ranks": "4,16", "cells": 4, "allreduce_sizes": "8", "topologies": "fat-tree", "per_leaf": 4}


@pytest.mark.simgrid
@pytest.mark.parametrize("paper", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_simulated_notebook_says_everywhere_that_nothing_was_measured(paper: bool, tmp_path: Path) -> None:
    parameters = SIMULATED | {"paper": paper, "launches": 2, "campaign": str(tmp_path / "simulated")}
    shown = Shown("85-scale-out", parameters)
    study = studies.of_notebook("85-scale-out")(**parameters)
    assert {one.origin for one in study.samples} == {"simulated"}
    assert len(shown.figures) == (6 if paper else 5)
    for figure in shown.figures:
        names = [trace["name"] for trace in figure["data"]]
        assert all("simulated" in name or "modelled" in name or name.startswith("published") for name in names)
    findings = str(study.findings()).splitlines()
    assert all("simulated" in line.lower() for line in findings)
    assert "Simulated all to all of 4 KiB with 16 ranks takes" in str(study.findings())
    assert "as long on fat-tree 3:1 as on fat-tree 1:1" in str(study.findings())
    assert sum("half duplex" in line and "not predicted" in line for line in findings) == paper
    assert "badges in " in str(study.warnings())
    modelled = study.engine_table().set_index(["collective", "ranks"])
    assert modelled.loc[("allreduce", 16), "modelled (µs)"] == pytest.approx(4, rel=0.01), "four steps of 1 µs"
    assert (modelled["fat-tree 1:1, times as long"] > 1).all(), "two levels"


def test_without_simgrid_the_simulated_notebook_says_so_and_shows_what_the_engine_of_loggp_computes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("labkit.testbeds.simulated.absent", lambda: ["libsimgrid-dev"])
    shown = Shown("85-scale-out", SIMULATED | {"campaign": str(tmp_path / "nothing")})
    findings = next(text for text in shown.texts if "SimGrid is not installed" in text)
    assert "sudo apt-get install libsimgrid-dev" in findings
    assert "an allreduce of 8 B (recursive doubling) with 16 ranks takes 4 µs." in findings
    names = [[trace["name"] for trace in figure["data"]] for figure in shown.figures]
    assert names == [["LogGP engine, 8 B (modelled)"], ["LogGP engine, 4 KiB (modelled)"]]
    assert not list(Campaign(tmp_path / "nothing").samples())


def test_without_its_points_the_simulated_notebook_says_so() -> None:
    shown = Shown("85-scale-out", {"campaign": str(TWO_CORES), "measure": False})
    assert any(text.startswith("*Omitted: ") for text in shown.texts)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name.startswith(("30-", "81-")) else ())
        for name in TINY
        if not set(studies.of_notebook(name).benchmarks) <= THERE
    ],
)
def test_without_its_samples_a_notebook_says_so(name: str) -> None:
    shown = Shown(name, {"campaign": str(TWO_CORES), "measure": False})
    assert any(text.startswith("*Omitted: ") for text in shown.texts)


@pytest.mark.parametrize(
    ("bandwidths", "expected"),
    [
        ([100, 100, 95, 85, 40], 45.0),
        ([100, 95, 90, 92, 20], 50 + 10 * 2 / 72),
        ([100, 99, 99, 99, 98], "has not fallen by 10 %"),
        ([100], "no point without computation"),
    ],
)
def test_cpu_availability_is_where_the_bandwidth_has_fallen_by_a_tenth(bandwidths: list[float], expected: Any) -> None:
    rows = [
        {"option_compute_us": 10.0 * n, "bandwidth_MBps_p50": value, "available_percent_value": share}
        for n, (value, share) in enumerate(zip(bandwidths, (0, 20, 40, 50, 60), strict=False))
    ]
    result = host_overhead_and_buffers.availability(rows)
    assert expected in result if isinstance(expected, str) else result[0] == pytest.approx(expected)
