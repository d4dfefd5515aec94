"""Measurements that the page offers beside a number: how much, how long, into which campaign, or why not."""

from __future__ import annotations

import dataclasses
import html
import itertools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import ipywidgets as widgets

from labkit import stats
from labkit.apps import deciding
from labkit.apps.explorer import pace, store
from labkit.apps.explorer.running import Step
from labkit.apps.explorer.selection import Selection
from labkit.apps.explorer.session import Session
from labkit.errors import LabkitError
from labkit.judge.finding import Wanted
from labkit.run import measuring
from labkit.run.estimate import Estimate
from labkit.store import campaign
from labkit.store.samples import Samples
from labkit.store.samples.facts import FINGERPRINT, LIBRARY


@dataclass(frozen=True)
class Offer:
    """Something that can be measured.

    Parameters
    ----------
    steps : words of `labkit` and the campaign that they measure into, one run after another.
    about : how much, and how long it takes.
    why : why it cannot be measured; empty if it can.
    """

    steps: tuple[Step, ...] = ()
    about: str = ""
    why: str = ""


def again(session: Session, samples: Sequence[Samples], name: str) -> Offer:
    """Offer to measure a point again, into a new campaign that is drawn over the old value."""
    chosen = _of(samples, max(stats.LAUNCHES, len(samples)))
    return _offer(session, chosen, _fresh(name))


def more(session: Session, samples: Sequence[Samples], name: str, count: int) -> Offer:
    """Offer to measure a point until it has this many launches; those that it has are kept."""
    chosen = _of(samples, count)
    if why := locked(session, name) or another(chosen, samples):
        return Offer(why=why)
    return _offer(session, chosen, name, count - len(samples))


def launches(session: Session, benchmark: str, sizes: Collection[int], count: int) -> Offer:
    """Offer launches for the points of a benchmark in all campaigns on show, until each has this many."""
    steps: list[Step] = []
    missing: list[int] = []
    starts, cap = 0, 0.0
    for name in session.campaigns:
        summary = session.store.summary([name], benchmark)
        few = summary[summary["launches"] < count] if len(summary) else summary
        few = few[few["message_size_B"].isin([*sizes])] if len(few) and sizes else few
        if len(few) and (why := locked(session, name)):
            return Offer(why=why)
        by_setting: dict[tuple[str, ...], list[Selection]] = {}
        for row in few.to_dict("records"):
            samples = store.launches(name, benchmark, str(row["fingerprint"]))
            chosen = _of(samples, count)
            if why := another(chosen, samples):
                return Offer(why=why)
            by_setting.setdefault(tuple(dataclasses.replace(chosen, sizes="").words()), []).append(chosen)
            missing.append(count - int(row["launches"]))
        for some in by_setting.values():
            whole = dataclasses.replace(some[0], sizes=",".join(dict.fromkeys(one.sizes for one in some if one.sizes)))
            if why := whole.problem():
                return Offer(why=why)
            steps.append((whole.words(), name))
            starts, cap = starts + count, max(cap, whole.effort.time_cap)
    if not steps:
        return Offer()
    needed = Estimate(sum(missing), min(sum(missing), starts), cap)
    return Offer(tuple(steps), pace.told(needed, missing, benchmark, session.store, session.campaigns))


def decide(session: Session, name: str, wanted: Sequence[Wanted], benchmark: str = "") -> Offer:
    """Offer to measure missing references, and points that separate likely causes."""
    if why := locked(session, name):
        return Offer(why=why)
    each = [one.launches for one in wanted]
    needed = Estimate(sum(each), sum(each), deciding.CAP)
    words = ["explain", "--decide", *(["--benchmark", benchmark] if benchmark else [])]
    words += ["--budget", f"{max(60, math.ceil(needed.most))}s"]
    return Offer(((words, name),), pace.told(needed, each, "", session.store, session.campaigns))


def locked(session: Session, name: str) -> str:
    """Why nothing more can be measured into a campaign here; empty if it can."""
    try:
        store.place(name)
        source = store.opened(name)
    except LabkitError as error:
        return str(error)
    if not deciding.here(source):
        return f"{session.title(name)} was measured on another machine. Measure there, or measure a new campaign here."
    return ""


def another(chosen: Selection, samples: Sequence[Samples]) -> str:
    """Why new launches would belong to another point than the one that was measured; empty if they would not."""
    try:
        (point,) = measuring.expand(chosen.specs(), chosen.effort, [0])
    except LabkitError as error:
        return str(error)
    then = LIBRARY.of(samples[0].meta)
    if point.fingerprint == FINGERPRINT.of(samples[0].meta):
        return ""
    what = f"{then}, and here is {point.library}" if then != point.library else "other settings than labkit has now"
    return f"It was measured with {what}: new launches would belong to another point. Measure it again instead."


def _of(samples: Sequence[Samples], count: int) -> Selection:
    """The selection of a point, with this many launches."""
    chosen = Selection.of(samples[0])
    return dataclasses.replace(chosen, effort=dataclasses.replace(chosen.effort, launches=count))


def _offer(session: Session, chosen: Selection, name: str, count: int = 0) -> Offer:
    """Offer a selection, unless it cannot be measured here."""
    if why := chosen.problem():
        return Offer(why=why)
    if count:
        chosen_now = dataclasses.replace(chosen, effort=dataclasses.replace(chosen.effort, launches=count))
    else:
        chosen_now = chosen
    text = pace.sentence(chosen_now, session.store, session.campaigns)
    return Offer(((chosen.words(), name),), text)


def _fresh(name: str) -> str:
    """Return a new campaign name, made from the name of another campaign."""
    stem = name.rstrip("/").rpartition("/")[2].partition("-again")[0] or "again"
    names = (f"{stem}-again{'' if n == 1 else f'-{n}'}" for n in itertools.count(1))
    return next(one for one in names if not (campaign.root() / one).exists())


class OfferButton(widgets.HBox):  # type: ignore[misc]
    """A button that measures what is offered, and shows the progress in its place.

    Parameters
    ----------
    session : session of the page.
    words : on the button.
    key : unique name of the button.
    """

    def __init__(self, session: Session, words: str, key: str) -> None:
        self._session, self._key, self._words = session, key, words
        self.offer = Offer()
        self.button = widgets.Button(description=words).add_class("lab-offer")
        self.halt = widgets.Button(description="Stop", icon="stop", layout={"display": "none"})
        self.about = widgets.HTML().add_class("lab-text").add_class("lab-offer-about")
        self.button.on_click(lambda pressed: self._press())
        self.halt.on_click(lambda pressed: self._stop())
        super().__init__([self.button, self.halt, self.about], layout={"flex_flow": "row wrap"})
        self.add_class("lab-offer-row")
        session.on("run", self._ran)

    def propose(self, offer: Offer) -> None:
        """Offer something else; without steps and without a reason, nothing."""
        self.offer = offer
        self.layout.display = "" if offer.steps or offer.why else "none"
        self._show()

    def _show(self, said: str = "") -> None:
        offer, busy = self.offer, self._session.runs.running
        self.button.disabled = bool(offer.why) or busy
        self.button.tooltip = offer.why or ("a run is in progress" if busy else offer.about)
        self.halt.layout.display = "none"
        self.about.value = html.escape(said or offer.why or offer.about)

    def _stop(self) -> None:
        try:
            self._session.stop()
        except LabkitError as error:
            self.about.value = html.escape(str(error))

    def _press(self) -> None:
        try:
            self._session.measure(self.offer.steps, self._key)
        except (LabkitError, OSError) as error:
            self._show(str(error))

    def _ran(self) -> None:
        """Show the progress of the run that this button started."""
        runs = self._session.runs
        mine = runs.pressed == self._key and runs.current is not None
        run = runs.current
        if not mine or run is None:
            self._show()
        elif runs.running:
            self.button.disabled, self.halt.layout.display = True, ""
            self.about.value = html.escape(run.state())
        else:
            self._show(run.failure() or run.state())
