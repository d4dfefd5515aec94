"""Whether the campaigns on show are good, why not, and what to do next, as `labkit explain` prints it."""

from __future__ import annotations

import asyncio
import html
import shlex
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import ipywidgets as widgets

from labkit.apps.explorer import judged, leading, offers, store
from labkit.apps.explorer.folds import Folds
from labkit.apps.explorer.offers import OfferButton
from labkit.apps.explorer.session import Session
from labkit.apps.explorer.store import Store
from labkit.errors import LabkitError
from labkit.judge.answer import VERDICTS, Answer, Step, Topic
from labkit.point.notes import joined

TITLE, PLACE, ORDER = "Answer", "top", 0
_SEEN, _MOST = 3, 6  # verdicts that are seen at once, and those that are bad or doubtful; the others are in the fold
_LOOKING = "looking for causes …"
_LARGEST = 20_000  # points × launches of a campaign that is judged without being asked


def build(session: Session) -> Any:
    """The panel."""
    return _Answers(session).widget


@dataclass(frozen=True)
class _Judged:
    """What is known about a campaign: its answer, or why there is none.

    Parameters
    ----------
    whole : whether causes were looked for; the verdicts are known before.
    """

    name: str
    answer: Answer | None = None
    why: str = ""
    whole: bool = True


class _Answers:
    """The answers about the campaigns on show, judged again when points arrive and the page is otherwise idle."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._task: asyncio.Task[None] | None = None  # the loop itself keeps none alive
        self._known: tuple[_Judged, ...] = ()
        self._offers: dict[str, OfferButton] = {}
        self.lead = widgets.HTML("…").add_class("lab-lead").add_class("lab-text")
        self.chips = widgets.HBox(layout={"flex_flow": "row wrap"}).add_class("lab-chips")
        self.why = widgets.VBox().add_class("lab-answers")
        self.folds = Folds([self.why], ["why, and what to do next"])
        self.widget = widgets.VBox([self.lead, self.chips, self.folds])
        session.on("campaigns", self._again)
        session.on("data", self._again)
        session.on("view", self._led)
        session.on("compared", self._led)

    def _again(self) -> None:
        """Judge what is on show; while a run adds points, wait for its end."""
        if self._session.running:
            return
        names = tuple(self._session.campaigns)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # no page is served from here
            self._show(tuple(_of_campaign(self._session.store, name) for name in names))
            return
        if self._task is not None:
            self._task.cancel()
        self._task = loop.create_task(self._judge(loop, names))

    async def _judge(self, loop: asyncio.AbstractEventLoop, names: tuple[str, ...]) -> None:
        """Judge without making the page wait, and show each verdict as soon as it is known, before its causes."""
        found = {one.name: one for one in self._known if one.name in names}
        for name in names:
            for whole in (False, True):
                now = await _aside(loop, partial(_of_campaign, self._session.store, name, whole=whole))
                if names != tuple(self._session.campaigns):
                    return
                before, found[name] = found.get(name), now
                if before is None or (before.answer, before.why) != (now.answer, now.why):
                    self._show(tuple(found[one] for one in names if one in found))
                if now.whole:
                    break
        if tuple(one.name for one in self._known) != names:
            self._show(tuple(found[name] for name in names))

    def _led(self) -> None:
        """Describe in a line what plot A shows, with its verdict."""
        session, view = self._session, self._session.views.get("A")
        if view is None or not view.metric:
            self.lead.value = "" if session.campaigns else "Choose a campaign."
            return
        known, lines = {one.name: one for one in self._known}, []
        for name in session.campaigns:
            try:
                summary = session.store.summary([name], view.benchmark)
            except LabkitError:
                continue
            best = leading.values(view, summary) if len(summary) else leading.Values()
            if not best:
                continue
            head = f"{session.title(name)}: " if len(session.campaigns) > 1 else ""
            one = known.get(name)
            lines += [_led(head, best), f"<p>{html.escape(' · '.join(_said(one, view.benchmark)))}</p>"]
            step = leading.step(one.answer, view.benchmark) if one and one.answer and one.whole else ""
            lines += [f"<p><b>Next</b>: {html.escape(step)}</p>"] if step else []
        if session.compared:
            lines.append(f"<p><b>Compared</b>: {html.escape(session.compared)}</p>")
        self.lead.value = "".join(lines)

    def _show(self, found: tuple[_Judged, ...]) -> None:
        """Show verdicts, their reasons, and what to do next."""
        self._known = found
        several = len(found) > 1
        chips: list[tuple[Topic, Any]] = []
        rows: list[Any] = []
        for one in found:
            if several or one.answer is None or not (one.whole and one.answer.topics):
                rows.append(widgets.HTML(self._head(one)).add_class("lab-text"))
            if one.answer is None:
                continue
            for topic in one.answer.topics:
                chips.append((topic, self._chip(one.name, topic)))
                rows += self._reasons(one.name, topic) if one.whole else []
            rows += [part for step in one.answer.steps for part in self._step(step)] if one.whole else []
        chips.sort(key=lambda one: VERDICTS.index(one[0].verdict))  # the worst of all campaigns first
        seen = max(_SEEN, sum(topic.verdict in ("bad", "doubtful") for topic, _ in chips[:_MOST]))
        buttons = [button for _, button in chips]
        self.chips.children = buttons[:seen]
        more = widgets.HBox(buttons[seen:], layout={"flex_flow": "row wrap"}).add_class("lab-chips")
        self.why.children = [more, *rows] if buttons[seen:] else rows
        counts = joined(one.answer.counts for one in found if one.answer and one.answer.topics)
        self.folds.name(0, f"why, and what to do next{f': {counts}' if counts and not several else ''}")
        self.folds.layout.display = "" if rows else "none"
        self._led()

    def _head(self, one: _Judged) -> str:
        """Title of a campaign, and why it has no verdicts."""
        why = one.why or ("" if one.answer and one.answer.topics else "nothing that has a verdict.")
        why = why if one.whole else _LOOKING
        return f"<h3>{html.escape(self._session.title(one.name))}</h3>{f'<p>{why}</p>' if why else ''}"

    def _chip(self, name: str, topic: Topic) -> Any:
        """A button with a verdict, which selects the points behind it; of several campaigns it names its own."""
        head = f"{self._session.title(name)}: " if len(self._session.campaigns) > 1 else ""
        return self._selecting(f"{head}{judged.chip(topic)}", judged.about(topic), name, topic)

    def _selecting(self, words: str, about: str, name: str, topic: Topic) -> Any:
        lead = topic.lead
        button = widgets.Button(description=words, tooltip=about)
        button.on_click(lambda pressed: self._session.select(name, lead.subject.benchmark, lead.subject.points))
        return button.add_class("lab-chip").add_class(f"lab-{topic.verdict.replace(' ', '-')}")

    def _reasons(self, name: str, topic: Topic) -> list[Any]:
        """Why a topic has its verdict, and a button that measures what it lacks."""
        made: list[Any] = [widgets.HTML(f"<p>{judged.reason(topic)}</p>").add_class("lab-text")]
        wanted = Answer("", topic.findings).undecided
        if wanted:
            words = "Measure what is missing" if topic.verdict in ("unknown", "no reference") else "Decide"
            key = f"decide {name} {topic.name}"
            if key not in self._offers:  # the button of a run that goes on stays
                self._offers[key] = OfferButton(self._session, words, key).add_class("lab-decide")
            button = self._offers[key]
            button.propose(offers.decide(self._session, name, wanted, topic.lead.subject.benchmark))
            made.append(button)
        return made

    @staticmethod
    def _step(step: Step) -> list[Any]:
        """What to do next, in words."""
        return [widgets.HTML(f"<p>{judged.todo(step)}</p>").add_class("lab-text")]


def _led(head: str, best: leading.Values) -> str:
    """Return the values of the paths as a line of HTML with large numbers."""
    parts = [f"<span><b>{html.escape(value)}</b>{html.escape(words)}</span>" for value, words in best.of_paths]
    rest = [f"<span>{best.rest}</span>"] if best.rest else []
    return f'<p class="lab-led"><span>{html.escape(head + best.what)}:</span> {" ".join([*parts, *rest])}</p>'


def _said(one: _Judged | None, benchmark: str) -> Iterator[str]:
    """Yield the verdicts on a benchmark of a campaign."""
    if one is None:
        yield "judging …"
    elif one.answer is not None and one.whole:
        yield from leading.judged(one.answer, benchmark)
    elif one.answer is not None:
        yield from leading.verdicts(one.answer, benchmark)
        yield _LOOKING


def _aside(loop: asyncio.AbstractEventLoop, work: Callable[[], _Judged]) -> asyncio.Future[Any]:
    """Do something in a thread for which the end of the process does not wait."""
    done: asyncio.Future[Any] = loop.create_future()

    def keep(set_it: Callable[[Any], None], value: Any) -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(lambda: None if done.cancelled() else set_it(value))

    def run() -> None:
        try:
            found = work()
        except BaseException as error:
            keep(done.set_exception, error)
        else:
            keep(done.set_result, found)

    threading.Thread(target=run, daemon=True).start()
    return done


def _of_campaign(read: Store, name: str, *, whole: bool = True) -> _Judged:
    """Return what is known about a campaign, or only the verdicts."""
    try:
        if len(store.opened(name).done()) > _LARGEST:
            command = html.escape(f"labkit explain {shlex.quote(name)}")
            return _Judged(name, why=f"a large campaign: <code>{command}</code> judges it.")
        if whole or read.known(name) is not None:
            return _Judged(name, read.answer(name))
        return _Judged(name, read.verdicts(name), whole=False)
    except LabkitError as error:
        return _Judged(name, why=html.escape(str(error)))
