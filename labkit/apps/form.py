"""The parameters of a notebook as a form: what a change costs is shown at once, and a button measures."""

from __future__ import annotations

import dataclasses
import html
import inspect
import re
from collections.abc import Mapping
from typing import Any, get_args, get_type_hints

import ipywidgets as widgets

from labkit import studies
from labkit.apps import progress
from labkit.errors import LabkitError
from labkit.run import estimate
from labkit.run.measuring import Progress
from labkit.studies import Study

_WIDE = widgets.Layout(width="min(100%, 620px)")
_LABEL = {"description_width": "110px"}
_PARAMETER = re.compile(r"^    (\w[\w, ]*?) : (.*?)(?=^    \w[\w, ]*? : |\Z)", re.MULTILINE | re.DOTALL)


class Form(widgets.VBox):  # type: ignore[misc]
    """A field for each parameter of a study, what they cost, and a button that measures.

    The parameters of all notebooks are below *More*.

    Parameters
    ----------
    name : name of the study, such as ``latency``.
    """

    def __init__(self, name: str) -> None:
        self.name, self._study = name, studies.get(name)
        texts, self._defaults = _texts(self._study.parameters), studies.defaults(self._study)
        hints = get_type_hints(self._study.parameters)
        self.fields = {one: _field(one, value, hints[one], texts) for one, value in self._defaults.items()}
        common, started = ({one.name for one in dataclasses.fields(c)} for c in (studies.Parameters, studies.Started))
        self.cost, self.result = widgets.HTML(), widgets.HTML()
        self.bar = widgets.IntProgress(layout=widgets.Layout(width="min(100%, 320px)", visibility="hidden"))
        self.button = widgets.Button(description="Run", button_style="primary", tooltip="measure what is missing")
        self.button.on_click(lambda _: self.run())
        more = widgets.Accordion([widgets.VBox([one for key, one in self.fields.items() if key in common])])
        more.set_title(0, "More")
        names = [key for key in self.fields if key not in common]
        own = [self.fields[key] for key in sorted(names, key=started.__contains__)]
        row = widgets.HBox([self.button, self.cost], layout=widgets.Layout(flex_flow="row wrap"))
        super().__init__([*own, more, row, self.bar, self.result])
        self.add_class("lab-form")
        for field in self.fields.values():
            field.observe(lambda _: self.tell(), "value")
        self.tell()

    def changed(self) -> dict[str, Any]:
        """Return the parameters that differ from their defaults."""
        values = {key: field.value for key, field in self.fields.items()}
        return {key: value for key, value in values.items() if value != self._defaults[key]}

    def tell(self) -> None:
        """Show the number of points and the longest time, or what is wrong with the parameters."""
        try:
            study = self._study(**self.changed())
        except LabkitError as error:
            self.button.disabled = True
            self.cost.value = f'<span style="color:var(--jp-error-color1, #b00020)">{html.escape(str(error))}</span>'
            return
        self.button.disabled = not study.points
        self.cost.value = html.escape(cost(study))

    def run(self) -> None:
        """Measure what is missing with these parameters, and show the progress."""
        self.button.disabled, self.bar.layout.visibility = True, "visible"

        def show(state: Progress) -> None:
            self.bar.max, self.bar.value = max(state.total, 1), state.done
            self.result.value = html.escape(progress.words(state))

        try:
            study = self._study(**self.changed())
            campaign = study.run(show)
            words = f"Measured into {campaign.name}. Run the cells below: they show these points."
        except LabkitError as error:
            words = str(error)
        finally:
            self.bar.layout.visibility = "hidden"
            self.button.disabled = False
        self.result.value = html.escape(words)


def cost(study: Study) -> str:
    """Return how many points a study measures in how many launches, and how long that takes at most."""
    if study.only_reads or not study.points:
        return "These parameters measure nothing."
    return f"{estimate.told(study.points, study.effort)}. Points measured before are kept."


def _field(name: str, value: Any, kind: Any, texts: Mapping[str, str]) -> widgets.Widget:
    """Return a field for a value of a type."""
    about = {"description": name.replace("_", " "), "tooltip": texts.get(name, ""), "style": _LABEL, "layout": _WIDE}
    choices = [one for one in get_args(kind) if isinstance(one, str)]
    if choices:
        return widgets.Dropdown(options=choices, value=value, **about)
    if isinstance(value, bool):
        return widgets.Checkbox(value=value, indent=True, **about)
    if isinstance(value, int):
        return widgets.IntText(value=value, **about)
    if isinstance(value, float):
        return widgets.FloatText(value=value, **about)
    return widgets.Text(value=str(value), placeholder=texts.get(name, ""), continuous_update=False, **about)


def _texts(parameters: type) -> dict[str, str]:
    """Return the numpydoc text of each parameter."""
    found: dict[str, str] = {}
    for one in reversed(parameters.__mro__):
        for names, text in _PARAMETER.findall(inspect.cleandoc(one.__doc__ or "").replace("\n", "\n    ")):
            found |= {name.strip(): " ".join(text.split()) for name in names.split(",")}
    return found
