"""Choose what to measure, start it, watch it, end it."""

from __future__ import annotations

import asyncio
import html
import shlex
from contextlib import suppress
from datetime import datetime
from typing import Any

import ipywidgets as widgets

from labkit import benchmarks, campaign, launch
from labkit.campaign import Campaign
from labkit.errors import LabkitError
from labkit.explorer import availability, measurement, store
from labkit.explorer.folds import Folds
from labkit.explorer.form import Choices, Form, levels
from labkit.explorer.measurement import Measurement
from labkit.explorer.selection import PLAIN, Selection
from labkit.explorer.session import Session
from labkit.spec import Effort, Spec
from labkit.units import parse_sizes

TITLE, PLACE, ORDER = "Measure", "side", 0
EVERY = 0.3  # s between looks at a run
START = "mpi.latency"


def build(session: Session) -> Any:
    """The panel."""
    return _Measure(session).widget


class _Measure:
    """The form, and the run that it started."""

    def __init__(self, session: Session) -> None:
        self._session, self._seen, self._cut, self._busy = session, 0, "", False
        self._measurement: Measurement | None = None
        self._task: asyncio.Task[None] | None = None  # the loop itself keeps none alive
        look = {"layout": {"width": "auto"}, "style": {"description_width": "96px"}}
        self._lacking = "" if launch.installed() else "no MPI launcher"
        self.benchmark = widgets.Dropdown(description="benchmark", **look)
        self.absent = widgets.HTML().add_class("lab-absent").add_class("lab-text")
        self._absent = Folds([self.absent], ["cannot run here"])
        self.sizes = widgets.Text(description="sizes", tooltip="MIN:MAX in powers of two, or a list", **look)
        self.ranks = widgets.Text(value="2", description="ranks", **look)
        self.into = widgets.Text(value=datetime.now().strftime("explore-%Y%m%d-%H%M%S"), description="keep in", **look)
        self.launchers = Choices("launchers to compare", self._launchers(), ["auto"], self._changed)
        self.transports = Choices("transports to compare", {"auto": "", "shm": "", "tcp": ""}, ["auto"], self._changed)
        self.setting = Form(Spec, "the setting", self._changed, PLAIN)
        self.effort = Form(Effort, "the effort", self._changed)
        self.options = widgets.VBox()
        titles = ("options of the benchmark", "where and how", "how long")
        more = Folds([self.options, self.setting.widget, self.effort.widget], titles)
        self.run = widgets.Button(description="Run", button_style="primary", icon="play").add_class("lab-run")
        self.halt = widgets.Button(description="Stop", icon="stop", disabled=True).add_class("lab-stop")
        self.resume = widgets.Button(description="Continue", icon="forward").add_class("lab-continue")
        self.why = widgets.HTML().add_class("lab-why").add_class("lab-reason")
        self.bar = widgets.FloatProgress(min=0, max=1, layout={"width": "auto", "height": "14px"})
        self.status = widgets.HTML("nothing runs").add_class("lab-status").add_class("lab-text")
        self.log = widgets.HTML().add_class("lab-log")
        logs = Folds([self.log], ["log"])
        for name in ("benchmark", "sizes", "ranks", "into"):
            getattr(self, name).add_class(f"lab-field-{name}")
        self.widget = widgets.VBox(
            [
                self.benchmark,
                self._absent,
                self.sizes,
                self.ranks,
                self.transports.widget,
                self.launchers.widget,
                more,
                self.into,
                widgets.HBox([self.run, self.halt, self.resume]),
                self.why,
                self.bar,
                self.status,
                logs,
            ]
        )
        self._offer_benchmarks()
        self._other()
        self.benchmark.observe(lambda change: None if self._busy else self._other(), "value")
        self.setting.fields["testbed"].observe(lambda change: self._offer_benchmarks(), "value")
        for field in (self.sizes, self.ranks, self.into):
            field.continuous_update = False
            field.observe(lambda change: self._changed(), "value")
        self.run.on_click(lambda button: self._start(self.words(), self.into.value))
        self.halt.on_click(lambda button: self._stop())
        self.resume.on_click(lambda button: self._continue())
        session.on("campaigns", self._offer)

    def _offer_benchmarks(self) -> None:
        """Offer the benchmarks that can be measured on the testbed; list the others with the reason."""
        reasons = availability.reasons(self.setting.raw["testbed"])
        options = [
            (f"{name} – {benchmark.title}", name)
            for name, benchmark in benchmarks.find().items()
            if name not in reasons
        ]
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
        self._absent.name(0, f"{len(reasons)} benchmarks that cannot run here")
        self._absent.layout.display = "" if reasons else "none"

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
        self.ranks.tooltip = f"{benchmark.name} needs exactly {low}" if low == high else "several are compared: 2,4"
        self.ranks.value = str(max(low, 2) if high != 1 else 1)
        self.sizes.value = ""
        if benchmark.mpi:
            launchers = self._launchers()
            known = {t for launcher in launch.installed().values() for t in launcher.module.TRANSPORTS}
            transports = {"auto": "", **dict.fromkeys(sorted(known - {"auto"}), "")}
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
        if self.sizes.value:
            parse_sizes(self.sizes.value)
        chosen: dict[str, list[Any]] = {"ranks": levels(self.ranks.value, "ranks"), "transport": self.transports.value}
        if not self.launchers.boxes["auto"].disabled or self.launchers.value:
            chosen["launcher"] = self.launchers.value
        if benchmarks.get(self.benchmark.value).single:
            del chosen["ranks"]
        single = {name: [value] for name, value in self.setting.raw.items()}
        return Selection(
            benchmark=self.benchmark.value,
            sizes=self.sizes.value,
            levels=chosen | single,
            options=self.form.differing(),
            effort=self.effort.value(),
        )

    def words(self) -> list[str]:
        """The command line behind ``labkit``."""
        return self.selection().words()

    def _changed(self) -> None:
        """Show why it cannot run, or the command that does the same."""
        try:
            chosen = self.selection()
            why = chosen.problem() or ("" if self.into.value.strip() else "Name a campaign for the points.")
            if not why:
                store.place(self.into.value)
        except LabkitError as error:
            why = str(error)
        busy = self._measurement is not None and self._measurement.running
        self.run.disabled = bool(why) or busy
        self.run.tooltip = why or ("a run is in progress" if busy else "start")
        self.why.value = (
            html.escape(why) if why else f"<pre class='lab-same'>labkit {html.escape(shlex.join(chosen.words()))}</pre>"
        )

    def _offer(self) -> None:
        """Offer to continue the newest campaign whose run was interrupted."""
        root = campaign.root()
        cut = [name for name in store.names()[:20] if measurement.unfinished(root / name)]
        shown = [name for name in self._session.campaigns if name in cut]
        self._cut = next(iter([*shown, *cut]), "")
        idle = self._measurement is None or not self._measurement.running
        self.resume.layout.display = "" if self._cut and idle else "none"
        self.resume.tooltip = f"measure what is missing in {self._cut}"

    def _continue(self) -> None:
        words = measurement.unfinished(campaign.root() / self._cut)
        if words:
            self._start(words, self._cut)

    def _start(self, words: list[str], name: str) -> None:
        """Start a run, and follow it from the kernel's event loop, so that no cell stays busy."""
        if self._measurement is not None and self._measurement.running:
            return
        try:
            self._measurement = Measurement(Campaign(store.place(name)), words)
        except (LabkitError, OSError) as error:
            self.why.value = html.escape(str(error))
            return
        self.run.disabled, self.halt.disabled, self._seen = True, False, 0
        self.resume.layout.display = "none"
        self._session.started(name.strip(), words[1])
        self.tick()
        with suppress(RuntimeError):  # no loop: whoever made the panel calls `tick`
            self._task = asyncio.get_running_loop().create_task(self._follow(self._measurement))

    def _stop(self) -> None:
        if self._measurement is not None:
            self.halt.disabled = True
            self._measurement.stop()
            self.tick()

    def _gone(self, run: Measurement) -> bool:
        """Return whether the campaign of a run was deleted; if so, stop the run and free the form."""
        if (run.campaign.path / "campaign.json").exists():
            return False
        if self._measurement is run:
            run.stop()
            self._measurement, self._session.running, self.halt.disabled = None, False, True
            self._session.campaigns = [name for name in self._session.campaigns if name != run.campaign.name]
            self.bar.value, self.log.value = 0.0, ""
            message = (
                f"Someone deleted the campaign {run.campaign.path}, so labkit stopped its run. Run again to "
                "measure anew."
            )
            self.status.value = html.escape(message)
            self._session.tell("campaigns")
            self._changed()
        return True

    async def _follow(self, run: Measurement) -> None:
        while run.running and not self._gone(run):
            await asyncio.sleep(EVERY)
            self.tick()
        self.tick()

    def tick(self) -> None:
        """Show the state of the run, and announce new points."""
        run = self._measurement
        if run is None or self._gone(run):
            return
        seen = run.progress()
        self.bar.value = seen.done / max(1, seen.total) if seen else 0.0
        self.status.value = html.escape(run.state())
        self.log.value = f"<pre>{html.escape(measurement.log(run.campaign.path))}</pre>"
        count = len(run.campaign.done())
        if count != self._seen:
            self._seen = count
            self._session.tell("data")
        if not run.running:
            run.ended()
            self._session.running = False
            self.halt.disabled = True
            self._changed()
            self._offer()
            if run.error():
                self.why.value = f"<pre>{html.escape(run.error())}</pre>"
