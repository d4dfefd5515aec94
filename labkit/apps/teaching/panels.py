"""The widgets of a question: a field for a prediction or an answer, buttons, hints. Every handler returns at once."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets

from labkit.apps.teaching.questions import Question
from labkit.errors import LabkitError

Said = tuple[bool | None, str]
LOOK = {  # colours of JupyterLab's theme; in another page those after the comma
    True: ("var(--jp-success-color0, #1a7f37)", "✓"),
    False: ("var(--jp-warn-color0, #b35900)", "✗"),
    None: ("var(--jp-ui-font-color2, #57606a)", ""),
}


class Panel(widgets.VBox):  # type: ignore[misc]
    """A question with its field and its buttons. The button, or Enter in the field, submits.

    Parameters
    ----------
    question : what is asked.
    button : label of the button.
    press : takes the content of the field; returns whether it is right (None if nothing is judged) and a text.
    value : in the field at first.
    said : verdict on that value.
    hint : returns the next hint, or None after the last; without it there is no button for hints.
    note : what to know before answering.
    seen : hints that the learner saw before.
    """

    def __init__(
        self,
        question: Question,
        button: str,
        press: Callable[[Any], Said],
        *,
        value: Any = None,
        said: Said = (None, ""),
        hint: Callable[[], str | None] | None = None,
        note: str = "",
        seen: Sequence[str] = (),
    ) -> None:
        self._press, self._hint = press, hint
        self.field = _field(question, value)
        self.button = widgets.Button(description=button, button_style="primary")
        self.reply, self.hints = widgets.HTML(), widgets.HTML("".join(map(_line, seen)))
        self.tell(*said)
        self.button.on_click(lambda _: self.press())
        self.field.on_msg(lambda _, content, __: self.press() if content.get("event") == "submit" else None)  # Enter
        self.field.observe(lambda _: self.tell(None, ""), "value")
        row = [self.field, self.button]
        if hint is not None:
            self.hint_button = widgets.Button(description="Hint", disabled=len(seen) == len(question.hints))
            self.hint_button.on_click(lambda _: self.help())
            row.append(self.hint_button)
            self.hint_button.add_class("lab-hint")
        asked = widgets.HTML(f"<b>{_text(question.text)}</b>")
        noted = [widgets.HTML(f"<i>{_text(note)}</i>")] if note else []
        super().__init__([asked, *noted, widgets.HBox(row), self.reply, self.hints])
        self.add_class("lab-panel")
        self.add_class(f"lab-{question.name.replace('_', '-')}")
        self.button.add_class("lab-press")
        self.reply.add_class("lab-said")

    def press(self) -> None:
        """Submit the content of the field."""
        try:
            self.tell(*self._press(self.field.value))
        except LabkitError as error:
            self.tell(False, str(error))

    def enter(self, value: Any, said: Said) -> None:
        """Show a value that was submitted elsewhere, with its verdict."""
        self.field.value = value if isinstance(self.field, widgets.Dropdown) else f"{value}"
        self.tell(*said)

    def help(self) -> None:
        """Show one more hint; after the last, there is nothing to press."""
        hint = self._hint() if self._hint is not None else None
        if hint is None:
            self.hint_button.disabled = True
        else:
            self.hints.value += _line(hint)

    def tell(self, right: bool | None, words: str) -> None:
        """Show a text below the field."""
        colour, mark = LOOK[right]
        self.reply.value = f'<span style="color:{colour}">{mark} {_text(words)}</span>' if words else ""


def _line(words: str) -> str:
    return f"<div>{_text(words)}</div>"


def _text(words: str) -> str:
    """Text for an HTML widget."""
    return html.escape(words, quote=False)


def _field(question: Question, value: Any) -> widgets.Widget:
    """Make a list for choices, else a text field: a number field would turn what is not a number into 0."""
    if question.choices:
        options = [("choose …", None), *((choice, choice) for choice in question.choices)]
        return widgets.Dropdown(
            options=options,
            index=question.choices.index(value) + 1 if value in question.choices else 0,  # no value shows no prompt
            layout=widgets.Layout(width="420px"),
        )
    return widgets.Text(
        value="" if value is None else f"{value}",
        placeholder=question.unit or "a number",
        description=question.unit,
        layout=widgets.Layout(width="260px"),
    )
