"""Whether the campaigns on show differ at the benchmark of plot A, with a test of their launches (`labkit compare`)."""

from __future__ import annotations

import html
import re
from typing import Any

import ipywidgets as widgets

from labkit.apps.explorer import offers, relation
from labkit.apps.explorer.offers import Offer, OfferButton
from labkit.apps.explorer.session import Session
from labkit.errors import LabkitError, SpecError
from labkit.judge.comparison import Compared, Comparison
from labkit.judge.comparison.judging import MOST
from labkit.judge.comparison.matching import Difference
from labkit.point.units import format_number, format_range, format_size, plural
from labkit.read.records.factors import named
from labkit.stats.decision import RELEVANT

TITLE, PLACE, ORDER = "Verdict", "under", 3
_ASKS = "the campaigns differ in more than was declared: tick below, under Verdict, what may differ"
_HEAD = ("size", "setting", "side", "ratio", "95 % interval", "p (Holm)", "order", "verdict", "launches needed")


def build(session: Session) -> Any:
    """The panel."""
    return _Verdict(session).widget


class _Verdict:
    """A comparison of two campaigns or more, made as soon as they are on show, or of the levels of a factor."""

    def __init__(self, session: Session) -> None:
        self._session, self._about = session, session.subject
        self._compared: Any = None  # table of what was compared by itself
        style = {"description_width": "initial"}
        self.base = widgets.Dropdown(description="baseline", style=style, layout={"width": "260px"})
        self.base.tooltip = "the others are compared with it"
        self.by = widgets.Text(relation.CAMPAIGN, description="factor", style=style, layout={"width": "200px"})
        self.by.tooltip = "what the sides differ in: campaign, or a setting such as transport=shm,tcp"
        self.relevant = widgets.FloatText(RELEVANT, description="smallest relevant difference", step=0.01, style=style)
        self.relevant.tooltip = "differences below this part of the value count as the same; 0.02 is 2 %"
        self.relevant.layout.width = "260px"
        self.test = widgets.Button(description="Compare", tooltip="compare the campaigns on show at plot A's benchmark")
        self.allow = widgets.VBox().add_class("lab-verdict-allow")
        self.more = OfferButton(session, "Add the launches that it needs", "launches").add_class("lab-verdict-more")
        self.more.propose(Offer())
        self.result = widgets.HTML(layout={"max_height": "420px", "overflow": "auto"}).add_class("lab-verdict-result")
        self.test.on_click(lambda button: self._compare())
        session.on("campaigns", self._offered)
        session.on("data", self._offered)
        session.on("view", self._followed)
        self._offered()
        for name in ("base", "by", "relevant", "test"):
            getattr(self, name).add_class(f"lab-verdict-{name}")
        row = widgets.HBox([self.base, self.by, self.relevant, self.test], layout={"flex_flow": "row wrap"})
        self.widget = widgets.VBox([row, self.allow, self.more, self.result])

    @property
    def _allowed(self) -> list[str]:
        """Factors that may differ: those that the reader ticked."""
        return [box.factor for box in self.allow.children if box.value]

    def _offered(self) -> None:
        before, names = self.base.value, self._session.campaigns
        options = [(self._session.title(name), name) for name in names]
        if list(self.base.options) != options:
            self.base.options = options
            self.base.value = before if before in names else next(iter(names), None)

    def _followed(self) -> None:
        """Compare what is now on show; while a run adds points, what was found before stays."""
        session = self._session
        if self._about != (about := session.subject):
            self._about, self.result.value, self.allow.children = about, "", ()
            self.more.propose(Offer())
            self._say("")
        if session.running or not session.subject[0] or len(session.campaigns) < 2:
            return
        summary = session.store.summary(session.campaigns, session.subject[0])
        if summary is not self._compared:  # another statistic or scale changes nothing
            self._compared = summary
            self._compare(asked=False)

    def _compare(self, *, asked: bool = True) -> None:
        """Compare, and show the verdict; or offer to declare what else differs."""
        session, view = self._session, self._session.views.get("A")
        self._about, benchmark = session.subject, view.benchmark if view else ""
        sentence = ""
        try:
            how = {"by": self.by.value, "allow": self._allowed}
            outcome = _compared(session, benchmark, self.base.value, self.relevant.value, **how)
        except (LabkitError, OSError) as error:
            self._differences(benchmark)
            if asked or self.allow.children:
                self.result.value = html.escape(_in_page(str(error))) if not self.allow.children else ""
            sentence = _ASKS if self.allow.children else ""
        else:
            self.result.value, sentence = _html(outcome), outcome.sentence
            self._needed(benchmark, outcome)
        self._say(sentence)

    def _differences(self, benchmark: str) -> None:
        """Offer each difference that was not declared as a box to tick."""
        try:
            found = relation.undeclared(
                self._session.campaigns, benchmark, self.base.value or "", by=self.by.value, allow=self._allowed
            )
        except (LabkitError, OSError):
            return
        kept = [box for box in self.allow.children if box.value]
        self.allow.children = (*kept, *map(self._box, found))

    def _box(self, one: Difference) -> Any:
        factor = "origin" if one.unstated else one.factor
        words = f"{named(factor)} differs ({one.words}): compare nevertheless"
        box = widgets.Checkbox(description=words, tooltip=words, indent=False, layout={"width": "auto"})
        box.factor = factor
        box.observe(lambda change: self._compare(), "value")
        return box

    def _needed(self, benchmark: str, outcome: Comparison) -> None:
        """Offer the launches that would decide what is not decided."""
        rows = [one for one in outcome.rows if one.judgement.launches_needed]
        count = max((one.judgement.launches_needed or 0 for one in rows), default=0)
        if not count:
            self.more.propose(Offer())
            return
        self.more.propose(offers.launches(self._session, benchmark, {one.size for one in rows}, count))

    def _say(self, sentence: str) -> None:
        """Let the answer above the plot show the verdict."""
        if self._session.compared != sentence:
            self._session.compared = sentence
            self._session.tell("compared")


def _compared(
    session: Session, benchmark: str, base: str | None, relevant: float, *, by: str, allow: list[str]
) -> Comparison:
    """Compare the campaigns on show, or the levels of a factor in them; the base comes first."""
    if not 0 < relevant < 1:
        raise SpecError(f"relevant={relevant:g}, but it must be a number between 0 and 1. Set 0.02.")
    if not benchmark or base is None:
        raise SpecError("Plot A shows no benchmark. Select a campaign and a benchmark above.")
    return relation.compared(session.campaigns, benchmark, base, by=by, allow=allow, relevant=relevant)


def _html(outcome: Comparison) -> str:
    """Return the result as a table with a sentence above and warnings below."""
    head = "".join(f"<th style='text-align: left; padding-right: 12px'>{name}</th>" for name in _HEAD)
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in _cells(one))}</tr>" for one in outcome.rows
    )
    notes = [f"differs: {one}" for one in outcome.differences] + list(outcome.warnings)
    if outcome.unmatched:
        notes.append(f"{plural(len(outcome.unmatched), 'point')} not on all sides, such as {outcome.unmatched[0][0]}")
    items = "".join(f"<li>{html.escape(_in_page(text))}</li>" for text in notes)
    sentence = f"<p>{html.escape(outcome.sentence)}</p>"
    return f"{sentence}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><ul>{items}</ul>"


def _in_page(text: str) -> str:
    """A sentence about a comparison with the names of the page's fields in place of the command's flags."""
    words = {"by": "factor", "allow": "the boxes", "relevant": "smallest relevant difference"}
    told = re.sub(r"--(by|allow|relevant)\b", lambda found: words[found[1]], text)
    return told.replace(" (--benchmark, --where)", "")


def _cells(one: Compared) -> list[str]:
    """Return the cells of a row."""
    judged, needed = one.judgement, one.judgement.launches_needed
    return [
        format_size(one.size),
        ", ".join(f"{name}={level}" for name, level in one.setting.items()),
        one.side,
        judged.times,
        format_range(judged.ratio_low, judged.ratio_high),
        format_number(judged.p_adjusted, digits=2),
        judged.design,
        judged.verdict,
        f"> {MOST}" if needed is None else str(needed or "–"),
    ]
