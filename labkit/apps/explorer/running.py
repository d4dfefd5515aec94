"""The run of this process. Any panel of any page can start it, all of them follow it, and only one runs at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from labkit.apps.explorer import store
from labkit.apps.explorer.measurement import Measurement
from labkit.errors import SpecError
from labkit.store.campaign import Campaign

EVERY = 0.3  # s between looks at a run
Step = tuple[Sequence[str], str]  # words of `labkit`, and the campaign that they measure into


class Runs:
    """The current run, and the runs that wait for it.

    Attributes
    ----------
    current : the run; None before the first.
    pressed : key of the button that started it; empty for the one of the form.
    count : measurements in its campaign: points × launches.
    lost, gone : why the last run was given up, and its campaign; empty if it was not.
    """

    def __init__(self) -> None:
        self.current: Measurement | None = None
        self.pressed, self.count, self.lost, self.gone = "", 0, "", ""
        self._left: list[Step] = []
        self._ended = True
        self._listeners: list[Callable[[], None]] = []
        self._task: asyncio.Task[None] | None = None  # the loop itself keeps none alive

    def on(self, listener: Callable[[], None]) -> None:
        """Call a function whenever the run has moved on."""
        self._listeners.append(listener)

    def off(self, listener: Callable[[], None]) -> None:
        """Stop calling a function."""
        self._listeners = [one for one in self._listeners if one != listener]

    @property
    def running(self) -> bool:
        """Whether something is measured now."""
        return not self._ended

    def start(self, steps: Sequence[Step], pressed: str = "") -> None:
        """Start the first of some runs; the others follow, each when the one before has ended without an error.

        Raises
        ------
        SpecError
            If a run is in progress, or labkit cannot measure into a campaign.
        LaunchError
            If another process measures into the campaign.
        """
        if self.running and self.current is not None:
            raise SpecError(f"A run into {self.current.campaign.name} is in progress. Stop it, or wait for its end.")
        self._left, self.pressed = list(steps), pressed
        self._next()
        self.tick()
        with suppress(RuntimeError):  # no loop: the caller calls `tick`
            self._task = asyncio.get_running_loop().create_task(self._follow())

    def _next(self) -> None:
        words, name = self._left.pop(0)
        self.current = Measurement(Campaign(store.place(name)), words)
        self.lost, self.gone, self.count, self._ended = "", "", 0, False

    def stop(self) -> None:
        """End the run and the waiting runs; keep the measured points."""
        self._left = []
        if self.current is not None:
            self.current.stop()
            self.tick()

    async def _follow(self) -> None:
        while self.running:
            await asyncio.sleep(EVERY)
            self.tick()

    def tick(self) -> None:
        """Check the run, and notify the listeners."""
        run = self.current
        if run is None or self._ended:
            return
        if not (run.campaign.path / "campaign.json").exists():
            run.stop()
            self.current, self._left, self._ended, self.gone = None, [], True, run.campaign.name
            self.lost = (
                f"Someone deleted the campaign {run.campaign.path}, so labkit stopped its run. Run again to "
                "measure anew."
            )
        else:
            ended = not run.running  # before the points are counted: none is missed
            self.count = len(run.campaign.done())
            if ended:
                run.ended()
                self._ended = True
                if self._left and not run.stopping and not run.failed:
                    self._next()
        for listener in [*self._listeners]:
            listener()
