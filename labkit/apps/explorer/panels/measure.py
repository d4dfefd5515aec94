"""Choose what to measure, start it, watch it, end it."""

from __future__ import annotations

import asyncio
import html
import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import ipywidgets as widgets

from labkit import benchmarks, testbeds
from labkit.apps.explorer import availability, measurement, pace, store
from labkit.apps.explorer.folds import Folds
from labkit.apps.explorer.form import Choices, Form, beside, levels
from labkit.apps.explorer.running import Step
from labkit.apps.explorer.selection import PLAIN, Selection
from labkit.apps.explorer.session import Session
from labkit.benchmarks import Benchmark
from labkit.errors import LabkitError, SpecError
from labkit.host.network import interfaces, rdma_devices
from labkit.point.spec import BINDINGS, Effort, Spec
from labkit.point.units import parse_sizes, plural
from labkit.run import launch
from labkit.store import campaign
from labkit.store.campaign import Campaign

TITLE, PLACE, ORDER = "Measure", "side", 0
START = "mpi.latency"
_EVERY = "every family"
_LOOKING = "looking for benchmarks that can run here …"
_ABOUT = {
    "find": "benchmarks by their names, their titles, their tools, or the names that OMB and IMB give them",
    "family": "only benchmarks of this family",
    "benchmark": "what is measured; the search above leaves those whose names or titles have its words",
    "sizes": "MIN:MAX in powers of two, or a list such as 8,1Ki,1Mi; empty for the benchmark's own",
    "ranks": "number of processes; several are compared: 2,4",
    "into": "campaign for the points, below the folder of all campaigns; a new one unless you name one that exists",
}
_OWN = ("sizes", "ranks", "into")  # fields of the panel, each checked separately


def build(session: Session) -> Any:
    """The panel."""
    return _Measure(session).widget


def _matches(benchmark: Benchmark, words: Sequence[str]) -> bool:
    """Whether a benchmark's name and title, its names in OMB, IMB and logs, and its tools' names have all words."""
    tools = {tool.__module__.rpartition(".")[2] for tool in benchmarks.tools_of(benchmark.name)}
    text = " ".join([benchmark.name, benchmark.title, *benchmark.equivalents, *benchmark.logs, *tools]).lower()
    return all(word in text for word in words)


def _there() -> dict[str, list[tuple[str, str]]]:
    """Testbeds and devices that this machine has, as words and text for the field."""
    up = [one.text for one in testbeds.usable()]
    found = {name: name for name in dict.fromkeys(["local", *up])}
    for name in testbeds.names():
        lacks = testbeds.get(name).absent
        absent = lacks() if lacks else []
        found.setdefault(name, f"{name} (needs {', '.join(absent)})" if absent else name)
    cards = [str(one["name"]) for one in [*rdma_devices(), *interfaces()] if one.get("name")]
    return {
        "testbed": [(words, name) for name, words in found.items()],
        "device": [("default of the library", ""), *((name, name) for name in dict.fromkeys(cards))],
    }


def _filling(field: Any, name: str, found: Sequence[tuple[str, str]]) -> Any:
    """Make a list of existing names that fills a text field."""
    words = f"{name}s here"
    made = widgets.Dropdown(description=words, options=list(found), value=None, layout={"width": "auto"})
    made.tooltip, made.style.description_width = f"fills {name}", "100px"
    made.observe(lambda change: setattr(field, "value", change["new"]) if change["new"] is not None else None, "value")
    return made.add_class(f"lab-{name}s-here")


class _Measure:
    """The form, and the run that it started."""

    def __init__(self, session: Session) -> None:
        self._session, self._cut, self._busy, self._missing = session, "", False, ""
        self._into: Path | None = None
        look = {"layout": {"width": "auto"}, "style": {"description_width": "76px"}}
        self._lacking = "" if launch.installed() else "no MPI launcher"
        self.family = widgets.Dropdown(description="family", options=[_EVERY], **look)
        self.find = widgets.Text(description="search", placeholder="such as osu_bw", **look)
        self.benchmark = widgets.Dropdown(description="benchmark", **look)
        self.absent = widgets.HTML().add_class("lab-absent").add_class("lab-text")
        self._absent = Folds([self.absent], ["cannot run here"])
        self.sizes = widgets.Text(description="sizes", **look)
        self.ranks = widgets.Text(value="2", description="ranks", **look)
        self.into = widgets.Text(value=datetime.now().strftime("explore-%y%m%d-%H%M%S"), description="into", **look)
        self.launchers = Choices("launchers to compare", self._launchers(), ["auto"], self._changed)
        self.transports = Choices("transports to compare", {"auto": "", "shm": "", "tcp": ""}, ["auto"], self._changed)
        choices = {"bind": [(name, name) for name in BINDINGS]}
        self.setting = Form(Spec, "the setting", self._changed, PLAIN, choices, benchmark=START)
        here = [_filling(self.setting.fields[name], name, found) for name, found in _there().items()]
        self.effort = Form(Effort, "the effort", self._changed)
        self.options = widgets.VBox()
        titles = ("options of the benchmark", "where and how", "launches and duration")
        where = widgets.VBox([self.launchers.widget, self.setting.widget, *here])
        self._more = Folds([self.options, where, self.effort.widget], titles)
        hidden = {"width": "auto", "display": "none"}
        self.more = widgets.Checkbox(description="add to it", indent=False, layout=hidden).add_class("lab-add-to-it")
        self.time = widgets.HTML().add_class("lab-time").add_class("lab-text")
        self.run = widgets.Button(description="Run", button_style="primary", icon="play").add_class("lab-run")
        self.halt = widgets.Button(description="Stop", icon="stop", disabled=True).add_class("lab-stop")
        self.resume = widgets.Button(description="Continue", icon="forward").add_class("lab-continue")
        self.why = widgets.HTML().add_class("lab-why").add_class("lab-reason")
        self.same = widgets.HTML().add_class("lab-same-command")
        self.bar = widgets.FloatProgress(min=0, max=1, layout={"width": "auto", "height": "14px"})
        self.status = widgets.HTML("nothing runs").add_class("lab-status").add_class("lab-text")
        self.log = widgets.HTML().add_class("lab-log")
        logs = Folds([self.log], ["log"])
        # what starts, shows and ends a run comes first: it is seen without scrolling
        bar = [widgets.HBox([self.run, self.halt, self.resume]), self.why, self.bar, self.status, self.time]
        self._fields = [self.find, self.family, self.benchmark, self._absent, self.sizes, self.ranks]
        self._fields += [self.transports.widget, self._more, self.into, self.more]
        self._form = widgets.VBox(self._fields)
        self.widget = widgets.VBox([widgets.VBox(bar).add_class("lab-run-bar"), self._form, self.same, logs])
        self._begin()

    def _begin(self) -> None:
        """Find out which benchmarks can run, and offer these."""
        for name, about in _ABOUT.items():
            getattr(self, name).add_class(f"lab-field-{name}").tooltip = about
        self._reasons: Mapping[str, str] | None = None  # not known yet
        self.benchmark.options, self.benchmark.value, self.benchmark.disabled = [(_LOOKING, START)], START, True
        self._other()
        self._listen()
        try:  # a page is shown meanwhile
            self._finding = asyncio.get_running_loop().create_task(self._find())
        except RuntimeError:
            self._look()

    async def _find(self) -> None:
        """Find out in the background what cannot be measured, unless the reader selects another testbed meanwhile."""
        testbed = self.setting.raw["testbed"]
        reasons = await asyncio.get_running_loop().run_in_executor(None, availability.reasons, testbed)
        if testbed == self.setting.raw["testbed"]:
            self._found(reasons)

    def _listen(self) -> None:
        """Hear what the reader changes and presses, and what a run does."""
        self._session.on("campaigns", self._offer)
        self._session.on("run", self._ran)
        self.benchmark.observe(lambda change: None if self._busy else self._other(), "value")
        self.setting.fields["testbed"].observe(lambda change: self._look(), "value")
        for field in (self.find, self.family):
            field.observe(lambda change: None if self._busy else self._offer_benchmarks(), "value")
        for field in (self.sizes, self.ranks, self.into):
            field.continuous_update = False
        for field in (self.sizes, self.ranks, self.into, self.more):
            field.observe(lambda change: self._changed(), "value")
        self.run.on_click(lambda button: self._start(self.words(), self.into.value))
        self.halt.on_click(lambda button: self._stop())
        self.resume.on_click(lambda button: self._continue())

    def _look(self) -> None:
        """Find out what cannot be measured on the testbed."""
        self._found(availability.reasons(self.setting.raw["testbed"]))

    def _found(self, reasons: Mapping[str, str]) -> None:
        """Offer what can be measured."""
        self._reasons, self.benchmark.disabled = reasons, False
        self._offer_benchmarks()
        self._changed()

    def _offer_benchmarks(self) -> None:
        """Offer the benchmarks that can be measured on the testbed; list the others with the reason."""
        reasons = self._reasons
        if reasons is None:
            return
        runs = {name: one for name, one in benchmarks.find().items() if name not in reasons}
        families = [_EVERY, *sorted({name.partition(".")[0] for name in runs})]
        self._busy = True
        if list(self.family.options) != families:
            self.family.options = families
        self._busy = False
        words = self.find.value.lower().split()
        options = [
            (f"{name} – {one.title}", name)
            for name, one in runs.items()
            if self.family.value in (_EVERY, name.partition(".")[0]) and _matches(one, words)
        ]
        missing = "" if options else self._missed(words, reasons)
        if missing or self._missing:
            self._missing = missing
            self._changed()
        if options and list(self.benchmark.options) != options:
            before = self.benchmark.value or START
            self._busy = True  # other options choose the first of them for a moment
            self.benchmark.options = options
            self.benchmark.value = before if before in dict(options).values() else options[0][1]
            self._busy = False
            if self.benchmark.value != before:
                self._other()
        names: dict[str, list[str]] = {}
        for name, reason in reasons.items():
            names.setdefault(reason, []).append(name)
        self.absent.value = "".join(
            f"<p>{html.escape(reason)}:<br><span class='lab-off'>{', '.join(group)}</span></p>"
            for reason, group in names.items()
        )
        self._absent.name(0, f"{len(reasons)} cannot run here")
        self._absent.layout.display = "" if reasons else "none"

    def _missed(self, words: Sequence[str], reasons: Mapping[str, str]) -> str:
        """Say why a search found nothing: another family has it, or it cannot run here."""
        found = [name for name, one in benchmarks.find().items() if _matches(one, words)]
        absent, others = [name for name in found if name in reasons], [name for name in found if name not in reasons]
        if others:
            return f"The family {self.family.value} has no such benchmark: {', '.join(others)}. Choose every family."
        if absent:
            return f"{', '.join(absent)} cannot run here: {reasons[absent[0]]}"
        return f"No benchmark has {self.find.value[:80]!r} in its names or tools. Write other words."

    def _launchers(self) -> dict[str, str]:
        installed = launch.installed()
        return {"auto": self._lacking} | {n: "" if n in installed else "not installed" for n in launch.names()}

    def _other(self) -> None:
        """Show options and sizes of the chosen benchmark; grey out what does not apply to it."""
        benchmark = benchmarks.get(self.benchmark.value)
        self.form = Form(benchmark.options, benchmark.name, self._changed)
        self.options.children = (self.form.widget if self.form.fields else widgets.Label("It has none."),)
        self.sizes.disabled = not benchmark.sized
        self.sizes.placeholder = benchmark.sizes if benchmark.sized else "means nothing here"
        low, high = benchmark.ranks
        self.ranks.disabled = low == high
        self.ranks.tooltip = f"{benchmark.name} needs exactly {low}" if low == high else _ABOUT["ranks"]
        self.ranks.value = str(max(low, 2) if high != 1 else 1)
        self.sizes.value = ""
        if benchmark.mpi:
            launchers = self._launchers()
            known = {t for launcher in launch.installed().values() for t in launcher.module.TRANSPORTS}
            has = rdma_devices() or testbeds.outline(self.setting.raw["testbed"]).rdma
            reasons = dict.fromkeys(launch.RDMA, "" if has else "no RDMA device")
            transports = {"auto": "", **{one: reasons.get(one, "") for one in sorted(known - {"auto"})}}
        else:
            launchers = dict.fromkeys(self._launchers(), "no MPI ranks")
            transports = {"auto": "", "shm": "no MPI ranks", "tcp": "no MPI ranks"}
        self.launchers.set(launchers, ["auto"])
        self.transports.set(transports, ["auto"])
        self._changed()

    def selection(self) -> Selection:
        """Selection that the form describes.

        Raises
        ------
        SpecError
            For a value that cannot be.
        """
        sizes = self.sizes.value.strip()
        if sizes:
            parse_sizes(sizes)
        chosen: dict[str, list[Any]] = {"ranks": levels(self.ranks.value, "ranks"), "transport": self.transports.value}
        if not self.launchers.boxes["auto"].disabled or self.launchers.value:
            chosen["launcher"] = self.launchers.value
        if benchmarks.get(self.benchmark.value).single:
            del chosen["ranks"]
        single = {name: [value] for name, value in self.setting.raw.items()}
        return Selection(
            benchmark=self.benchmark.value,
            sizes=sizes,
            levels=chosen | single,
            options=self.form.differing(),
            effort=self.effort.value(),
        )

    def words(self) -> list[str]:
        """The command line behind ``labkit``."""
        return self.selection().words()

    def _wrong(self) -> dict[Any, str]:
        """Fields that hold something impossible, and what is wrong with each."""
        found = {self.find: self._missing} if self._missing else {}
        for name in _OWN:
            try:
                self._check(name)
            except LabkitError as error:
                found[getattr(self, name)] = str(error)
        return found

    def _check(self, name: str) -> None:
        """Check a field by itself.

        Raises
        ------
        SpecError
            If it holds something impossible.
        """
        text = getattr(self, name).value.strip()
        if name == "sizes" and text and not self.sizes.disabled:
            parse_sizes(text)
        elif name == "ranks":
            levels(self.ranks.value, "ranks")
        elif name == "into" and (asked := self._adding(store.place(text))):
            raise SpecError(asked)

    def _marked(self) -> list[str]:
        """Show what is wrong beside each field, and return the names of these fields."""
        wrong = self._wrong()
        self._form.children = beside(self._fields, wrong)
        forms = (self.form, self.setting, self.effort)
        inner = [form.mark() for form in forms]
        for place, names in enumerate(inner):
            if names:  # a field in a closed section would not be seen
                self._more.buttons[place].value = True
        return [field.description for field in wrong] + [name for names in inner for name in names]

    def _changed(self) -> None:
        """Show why it cannot run, or the command that does the same."""
        names = self._marked()
        why = f"Correct what is marked: {', '.join(names)}." if names else ""
        try:
            chosen = self.selection()
            why = why or chosen.problem() or (_LOOKING if self._reasons is None else "")
            place = None if why else store.place(self.into.value)
        except LabkitError as error:
            why = why or str(error)
        busy = self._session.runs.running
        self.run.disabled = bool(why) or busy
        self.run.tooltip = why or ("a run is in progress" if busy else "start")
        self.why.value = html.escape(why)
        if why:
            self.time.value = self.same.value = ""
            return
        command = shlex.join([*chosen.words(), "--into", str(place)])
        self.same.value = f"<pre class='lab-same'>labkit {html.escape(command)}</pre>"
        text = "" if busy else pace.sentence(chosen, self._session.store, self._session.campaigns)
        self.time.value = html.escape(text)  # during a run, its own time left is the only estimate

    def _adding(self, place: Path) -> str:
        """Ask before points go into a campaign that has some; empty if it is new or the answer is yes."""
        count = len(Campaign.existing(place).done()) if (place / "campaign.json").exists() else 0
        again = bool(count) and not measurement.unfinished(place) and self._into != place
        self.more.layout.display = "" if again else "none"
        self.more.description = self.more.tooltip = f"add to {place.name}"
        if again and not self.more.value:
            have = f"{place.name} has {plural(count, 'measurement')} already"
            return f"{have}. Tick 'add to {place.name}', or name a new campaign."
        return ""

    def _offer(self) -> None:
        """Offer to continue the newest campaign whose run was interrupted."""
        root = campaign.root()
        cut = [name for name in store.names()[:20] if measurement.unfinished(root / name)]
        shown = [name for name in self._session.campaigns if name in cut]
        self._cut = next(iter([*shown, *cut]), "")
        self.resume.layout.display = "" if self._cut and not self._session.runs.running else "none"
        self.resume.tooltip = f"measure what is missing in {self._cut}"

    def _continue(self) -> None:
        words = measurement.unfinished(campaign.root() / self._cut)
        if words:
            self._start(words, self._cut)

    def _start(self, words: list[str], name: str) -> None:
        """Start a run."""
        if self._session.runs.running:
            return
        step: Step = (words, name)
        try:
            self._session.measure([step])
        except (LabkitError, OSError) as error:
            self.why.value = html.escape(str(error))

    def _stop(self) -> None:
        try:
            self._session.stop()
        except LabkitError as error:
            self.why.value = html.escape(str(error))

    def _ran(self) -> None:
        """Show the state of the run."""
        runs = self._session.runs
        run, busy = runs.current, runs.running
        if self.run.disabled != busy or not busy:
            self._changed()
            self._offer()
        self.halt.disabled = not busy or (run is not None and run.stopping)
        if run is None:
            self.bar.value, self.log.value = 0.0, ""
            self.status.value = html.escape(runs.lost or "nothing runs")
            return
        self._into = run.campaign.path  # adding more to one's own run needs no question
        seen = run.progress()
        self.bar.value = seen.done / max(1, seen.total) if seen else 0.0
        self.status.value = html.escape(run.state())
        self.log.value = f"<pre>{html.escape(measurement.log(run.campaign.path))}</pre>"
        if run.failed:
            raw = f"<details><summary>what was printed</summary><pre>{html.escape(run.error())}</pre></details>"
            self.why.value = f"{html.escape(run.failure())}{raw}"
