"""The parameters of a notebook as a form: it costs nothing to look at, and what it shows is what is measured."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

import nbformat
import pytest

from labkit import studies
from labkit.apps import form, notebook, progress, show
from labkit.apps.explorer import pace
from labkit.apps.explorer.store import Store
from labkit.apps.form import Form
from labkit.io import project
from labkit.run import estimate, measuring
from labkit.run.measuring import Progress

NOTEBOOKS = sorted(project.NOTEBOOKS.glob("[1-9]*.ipynb"))
FEW = {"sizes": "8", "transports": "shm", "allreduce": "", "clock": False, "launches": 1, "time_cap": 0.05}


@pytest.fixture(autouse=True)
def _no_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "_forms", {})


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_its_form_above_its_parameters(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    (place,) = [n for n, cell in enumerate(cells) if "parameters" in cell.metadata.get("tags", [])]
    name = studies.of_notebook(path).__module__.rpartition(".")[2]
    assert cells[place - 1].source == f'#| include: false\nfrom labkit import notebook\n\nnotebook.form("{name}")'


@pytest.mark.parametrize("name", ["latency", "tune", "incast", "history", "storage"])
def test_a_form_has_a_field_with_the_default_of_each_parameter(name: str) -> None:
    form, defaults = Form(name), studies.defaults(studies.get(name))
    assert {key: field.value for key, field in form.fields.items()} == defaults
    assert form.changed() == {}
    assert all(field.tooltip for field in form.fields.values())


def test_a_change_shows_at_once_what_it_costs_or_what_is_wrong() -> None:
    form = Form("latency")
    before = form.cost.value
    assert re.match(r"\d+ points, each in 6 launches: \d+ measurements, at most about ", before)
    form.fields["launches"].value = 3
    assert " in 3 launches: " in form.cost.value
    form.fields["sizes"].value = "8"
    fewer = int(form.cost.value.split()[0])
    assert fewer < int(before.split()[0])
    form.fields["sizes"].value = "<many>"
    assert "&lt;many&gt;" in form.cost.value
    assert form.button.disabled
    form.fields["sizes"].value = "8"
    assert not form.button.disabled
    form.fields["measure"].value = False
    form.fields["campaign"].value = "examples/two-cores"
    assert form.cost.value == "These parameters measure nothing."


def test_what_was_changed_in_a_form_replaces_the_cell_below() -> None:
    form = notebook._forms["latency"] = Form("latency")
    form.fields["sizes"].value = "8,64"
    cell: dict[str, Any] = {"sizes": "1:4Mi", "transports": "tcp", "measure": True}
    study = notebook.study("latency", cell)
    assert (study.values.sizes, study.values.transports) == ("8,64", "tcp")  # type: ignore[attr-defined]
    assert cell["sizes"] == "8,64"


def test_a_batch_run_has_no_form(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    notebook.form("latency")
    assert not notebook._forms
    assert not capsys.readouterr().out

    class Shell:
        """As papermill's, and then as JupyterLab's."""

        metadata: ClassVar[dict[str, str]] = {}

        def get_parent(self) -> dict[str, Any]:
            return {"metadata": self.metadata}

    monkeypatch.setattr(notebook, "get_ipython", Shell)
    assert not notebook.watched()
    monkeypatch.setattr(Shell, "metadata", {"cellId": "10-01-form"})
    assert notebook.watched()


@pytest.mark.mpi
def test_the_button_measures_what_the_form_shows(tmp_path: Path) -> None:
    form = Form("latency")
    for key, value in (FEW | {"campaign": str(tmp_path / "mine")}).items():
        form.fields[key].value = value
    shown: list[int] = []
    form.bar.observe(lambda change: shown.append(change["new"]), "value")
    form.button.click()
    assert "Run the cells below" in form.result.value
    assert shown[-1] == form.bar.max
    assert len(studies.get("latency")(**form.changed()).samples) == form.bar.max


def test_a_bar_shows_how_far_a_measurement_is() -> None:
    state = Progress(done=3, total=12, label="mpi.latency <8 B>", elapsed=1.0, remaining=4.0)
    text = progress.bar(state).data
    assert '<progress value="3" max="12"' in text
    assert "3 of 12 points × launches, about 4 s left: mpi.latency &lt;8 B&gt;" in text


def test_form_command_line_and_explorer_count_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same points in the same launches, and the same longest time."""
    study = studies.get("latency")(sizes="8:64")
    points, effort = study.points, study.effort
    said = f"{pace.told(estimate.Estimate.of(points, effort), estimate.each(points), '', Store(), [])}."
    assert said in form.cost(study)
    monkeypatch.setattr(measuring, "commands", lambda *_: [])
    assert said in show.plan(points, effort).splitlines()
