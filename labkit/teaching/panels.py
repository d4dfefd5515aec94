"""The widgets of a question: a field for a prediction or an answer, buttons, hints. Every handler returns at once."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import ipywidgets as widgets

from labkit.errors import LabkitError
from labkit.teaching.questions import Question

Answer = Callable[[Any], tuple[bool | None, str]]
LOOK = {True: ("#1a7f37", "✓"), False: ("#b35900", "✗"), None: ("#57606a", "")}


class Panel(widgets.VBox):  # type: ignore[misc]
    """A question with its field and its buttons.

    Parameters
    ----------
    question : what is asked.
    button : what the button says.
    press : takes the content of the field; returns whether it is right (None where nothing is judged) and a text.
    hint : returns the next hint; without it there is no button for hints.
    value : in the field at first.
    """

    def __init__(
        self, question: Question, button: str, press: Answer, hint: Callable[[], str] | None = None, value: Any = None
    ) -> None:
        self._press, self._hint = press, hint
        self.field = _field(question, value)
        self.button = widgets.Button(description=button, button_style="primary")
        self.reply, self.hints = widgets.HTML(), widgets.HTML()
        self.button.on_click(lambda _: self.press())
        row = [self.field, self.button]
        if hint is not None:
            self.hint_button = widgets.Button(description="Hint")
            self.hint_button.on_click(lambda _: self.help())
            row.append(self.hint_button)
            self.hint_button.add_class("lab-hint")
        super().__init__([widgets.HTML(f"<b>{_text(question.text)}</b>"), widgets.HBox(row), self.reply, self.hints])
        self.add_class("lab-panel")
        self.add_class(f"lab-{question.name.replace('_', '-')}")
        self.button.add_class("lab-press")
        self.reply.add_class("lab-said")

    def press(self) -> None:
        """Judge or keep the content of the field."""
        try:
            self.tell(*self._press(self.field.value))
        except LabkitError as error:
            self.tell(False, str(error))

    def help(self) -> None:
        """Show one more hint."""
        if self._hint is not None:
            self.hints.value += f"<div>{_text(self._hint())}</div>"

    def tell(self, right: bool | None, words: str) -> None:
        """Show a text below the field."""
        colour, mark = LOOK[right]
        self.reply.value = f'<span style="color:{colour}">{mark} {_text(words)}</span>'


def _text(words: str) -> str:
    """Text for an HTML widget."""
    return html.escape(words, quote=False)


def _field(question: Question, value: Any) -> widgets.Widget:
    """Make a list for choices, else a text field: a number field would turn what is no number into 0."""
    if question.choices:
        options = [("choose …", None), *((choice, choice) for choice in question.choices)]
        return widgets.Dropdown(
            options=options, value=value if value in question.choices else None, layout=widgets.Layout(width="420px")
        )
    return widgets.Text(
        value="" if value is None else f"{value}",
        placeholder=question.unit or "a number",
        description=question.unit,
        layout=widgets.Layout(width="260px"),
    )
