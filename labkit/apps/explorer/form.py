"""A frozen dataclass as a form: a field for each of its fields, checked by the class itself."""

from __future__ import annotations

import dataclasses
import html
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ipywidgets as widgets

from labkit.benchmarks import meanings
from labkit.errors import SpecError
from labkit.point.spec import validated
from labkit.point.units import parse_count

_LOOK = {"style": {"description_width": "100px"}, "layout": {"width": "auto"}}
WRONG = "lab-wrong"  # class of a field that holds something impossible
UNITS = {"ci": "of median", "time_cap": "s", "time_limit": "s"}  # of fields with unclear names


def _kind(annotation: Any) -> tuple[Any, bool]:
    """Type without None, and whether None was one of its choices."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        parts = [part for part in typing.get_args(annotation) if part is not type(None)]
        if len(parts) == 1:
            return parts[0], True
        return str, len(parts) < len(typing.get_args(annotation))
    return annotation, False


def entry(name: str, annotation: Any, default: Any, meaning: str, choices: Sequence[tuple[str, Any]] = ()) -> Any:
    """Make the widget of one field. It never clamps a number silently: a wrong number is an error message.

    Parameters
    ----------
    choices : words and value of what is there to choose; empty where anything can be written.
    """
    kind, optional = _kind(annotation)
    unit = f" ({UNITS[name]})" if name in UNITS else ""
    about = {"description": f"{name.replace('_', ' ')}{unit}", "tooltip": f"{name}: {meaning}", **_LOOK}
    if choices:
        made = widgets.Dropdown(options=list(choices), value=default, **about)
    elif typing.get_origin(kind) is typing.Literal:
        made = widgets.Dropdown(options=list(typing.get_args(kind)), value=default, **about)
    elif kind is bool:
        made = widgets.Checkbox(value=bool(default), indent=True, **about)
    elif kind in (int, float) and not optional:
        box = widgets.IntText if kind is int else widgets.FloatText
        made = box(value=default, continuous_update=False, **about)
    else:
        hint = "default" if optional else ""
        made = widgets.Text(
            value="" if default is None else str(default), placeholder=hint, continuous_update=False, **about
        )
    return made.add_class(f"lab-field-{name.replace('_', '-')}")


class Form:
    """Widgets for some or all fields of a frozen dataclass.

    Parameters
    ----------
    cls : the dataclass.
    what : how an error calls it, such as ``mpi.latency``.
    changed : called after every change.
    names : fields to show, in this order; all when left out.
    choices : field → words and values to choose from, where any text would do for the class.
    defaults : defaults that differ from the class's own; also of fields that are not shown, for the check of others.
    """

    def __init__(
        self,
        cls: type[Any],
        what: str,
        changed: Callable[[], None],
        names: Sequence[str] = (),
        choices: Mapping[str, Sequence[tuple[str, Any]]] | None = None,
        **defaults: Any,
    ) -> None:
        self._cls, self._what = cls, what
        hints, words = typing.get_type_hints(cls), meanings(cls)
        values = {f.name: defaults.get(f.name, f.default) for f in dataclasses.fields(cls)}
        self._needed = {name: value for name, value in defaults.items() if names and name not in names}
        self._optional = {name for name in values if _kind(hints[name])[1]}
        given = choices or {}
        self.fields = {n: entry(n, hints[n], values[n], words.get(n, ""), given.get(n, ())) for n in (names or values)}
        for field in self.fields.values():
            field.observe(lambda change: changed(), "value")
        self.widget = widgets.VBox(list(self.fields.values()))

    @property
    def raw(self) -> dict[str, Any]:
        """Contents of the fields; None for an empty field if the class allows None."""
        return {n: None if n in self._optional and f.value == "" else f.value for n, f in self.fields.items()}

    def value(self) -> Any:
        """An instance of the class.

        Raises
        ------
        SpecError
            For values that the class refuses.
        """
        return validated(self._cls, self.raw, what=self._what)

    def mark(self) -> list[str]:
        """Show the error of each wrong field beside it; return the names of these fields."""
        wrong = {}
        for name, value in self.raw.items():
            try:
                validated(self._cls, {**self._needed, name: value}, what=self._what)
            except SpecError as error:
                wrong[self.fields[name]] = str(error)
        self.widget.children = beside([*self.fields.values()], wrong)
        return [field.description for field in wrong]

    def differing(self) -> dict[str, Any]:
        """Checked values of the fields that are not at the default of the class."""
        made = self.value()
        usual = {f.name: f.default for f in dataclasses.fields(self._cls)}
        return {n: getattr(made, n) for n in self.fields if getattr(made, n) != usual[n]}


def beside(fields: Sequence[Any], wrong: Mapping[Any, str]) -> list[Any]:
    """Return fields, each followed by its error; a wrong field is marked.

    Parameters
    ----------
    wrong : field → what is wrong with it.
    """
    shown = []
    for field in fields:
        shown.append(field)
        if field in wrong:
            field.add_class(WRONG)
            shown.append(widgets.HTML(html.escape(wrong[field])).add_class("lab-why").add_class("lab-beside-field"))
        elif WRONG in field._dom_classes:
            field.remove_class(WRONG)
    return shown


class Choices:
    """Names as check boxes; impossible choices are grey and show the reason.

    Parameters
    ----------
    title : above the boxes.
    options : name → why it cannot be chosen; empty if it can.
    chosen : names that are checked at first.
    changed : called after every change.
    """

    def __init__(self, title: str, options: dict[str, str], chosen: Sequence[str], changed: Callable[[], None]) -> None:
        self._changed = changed
        self.boxes: dict[str, Any] = {}
        self.widget = widgets.VBox([widgets.Label(title).add_class("lab-label")])
        self.set(options, chosen)

    def set(self, options: dict[str, str], chosen: Sequence[str] = ()) -> None:
        """Offer other names; those that remain stay checked."""
        before = self.value or list(chosen)
        self.boxes = {
            name: widgets.Checkbox(
                value=name in before and not why,
                disabled=bool(why),
                indent=False,
                tooltip=why or name,
                description=f"{name} ({why})" if why else name,
                layout={"width": "auto", "margin": "0 12px 0 4px"},
            ).add_class("lab-choice")
            for name, why in options.items()
        }
        for box in self.boxes.values():
            box.observe(lambda change: self._changed(), "value")
        row = widgets.HBox(list(self.boxes.values()), layout={"flex_flow": "row wrap"})
        self.widget.children = (self.widget.children[0], row)

    @property
    def value(self) -> list[str]:
        """Names that are checked."""
        return [name for name, box in self.boxes.items() if box.value]


def levels(text: str, what: str) -> list[int]:
    """Whole numbers, separated by commas.

    Raises
    ------
    SpecError
        If one is none.
    """
    counts = [parse_count(part.strip()) for part in text.split(",") if part.strip()]
    if not counts or None in counts:
        raise SpecError(f"{what}={text!r}, but it must be whole numbers, as in 2 or 2,4.")
    return [count for count in counts if count is not None]
