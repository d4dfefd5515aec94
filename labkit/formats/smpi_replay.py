"""What SimGrid's replay logs (smpi_replay, level verbose) in the layout that `labkit.tools.smpirun` asks for.

A line for each action that has ended: ``time:actor:rank action arguments duration``, the time in s with 12 decimals
(the duration has 6, which is too few). The line ``Simulation time`` comes last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from labkit.formats import malformed
from labkit.formats.reading.log import NUMBER

LAYOUT = "%.12r:%i:%m%n"  # SimGrid's own letters: simulated time, actor, message
_END = "Simulation time"


def ends(lines: Iterable[str], ranks: int) -> list[list[float]]:
    """Return when each action of each rank ended.

    Parameters
    ----------
    lines : lines of the log.
    ranks : number of ranks.

    Returns
    -------
    For each rank the times of its actions, in order, s.

    Raises
    ------
    DataError
        If the log is not complete, or a line is not of the replay.
    """
    times: list[list[float]] = [[] for _ in range(ranks)]
    complete = False
    for number, line in enumerate(lines, 1):
        if line.startswith("[") or not line.strip():
            continue  # a message of another part of SimGrid
        time, _, rest = line.partition(":")
        _, _, text = rest.partition(":")
        if text.startswith(_END):
            complete = True
            continue
        rank = text.partition(" ")[0]
        if not re.fullmatch(NUMBER, time) or not re.fullmatch(r"\d{1,9}", rank) or int(rank) >= ranks:
            raise malformed("SimGrid's log", number, line, f"time:actor:rank action, with a rank below {ranks}")
        times[int(rank)].append(float(time))
    if not complete:
        raise malformed("SimGrid's log", 0, "its end without a simulation time", f"a line with {_END!r}")
    return times
