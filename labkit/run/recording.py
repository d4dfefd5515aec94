"""Runs any command several times, keeps what it prints, and imports the results as launches of the same points.

``recorded/<number>/`` in the campaign's folder holds one launch: ``output.txt`` and ``errors.txt`` are what the command
printed, ``launch.json`` has command, exit status, times, environment and host.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labkit import host, stats
from labkit.errors import DataError, LaunchError, SpecError
from labkit.io import supervise
from labkit.point import conditions, ranges
from labkit.point.units import format_number
from labkit.run import importing, lines
from labkit.run.importing.points import Given
from labkit.run.importing.text import Text, parts
from labkit.store import campaign as campaigns
from labkit.store.campaign import Campaign
from labkit.store.samples.facts import COMMANDS, ELAPSED, LOAD_END, LOAD_START, START

FOLDER, OUTPUT, ERRORS, FACTS = "recorded", "output.txt", "errors.txt", "launch.json"
TIME_LIMIT = 3600.0  # s of one launch
_PIECE = 1 << 16  # B read at once
# variables that choose how messages pass; others may hold secrets
_KEPT = re.compile(
    r"(OMPI|PMIX|PRTE|MPIR|MPICH|I_MPI|FI|UCX|PSM\d?|NCCL|RCCL|OMP|GOMP|KMP|HCOLL|SHARP|MV2|GASNET|UPCXX)_\w+|LD_PRELOAD"
    r"|SLURM_(JOB_ID|JOB_PARTITION|NNODES|NTASKS|NTASKS_PER_NODE|CPUS_PER_TASK|CPU_BIND)"
)


@dataclass(frozen=True)
class Launch:
    """What one run of the command left.

    Parameters
    ----------
    folder : folder with its files.
    status : exit status; None if it did not end in time.
    load : at its begin and at its end.
    meta, host : metadata of its points.
    """

    folder: Path
    status: int | None
    load: tuple[conditions.Load, conditions.Load]
    meta: Mapping[str, Any]
    host: Mapping[str, Any]


def record(
    command: Sequence[str],
    *,
    launches: int = stats.LAUNCHES,
    into: Campaign | str | Path | None = None,
    ranks: int = 0,
    testbed: str = "",
    time_limit: float = TIME_LIMIT,
    shown: Callable[[bytes], object] = lambda piece: None,
    told: Callable[[int, int], object] = lambda number, count: None,
) -> importing.Outcome:
    """Run a command in several launches, and import what it prints.

    Parameters
    ----------
    command : its words.
    launches : how often it runs.
    into : campaign or its folder, which gets further launches; a new one, named after the time, if left out.
    ranks : number of ranks, if the output does not state it; 0 for not known.
    testbed : name of the system (default: name of this host).
    time_limit : s that one launch may take.
    shown : called with each piece of the output.
    told : called with the number of each launch, from 1, and how many there are.

    Raises
    ------
    SpecError
        If a number is not allowed, or there is no command; nothing was started.
    LaunchError
        If the command cannot be started, fails or does not end in time. What earlier launches printed was imported.
    DataError
        If labkit reads no results in the output of a launch. The output was kept, and no further launch begins.
    """
    if not command:
        example = "labkit record -- mpirun -n 2 osu_latency"
        raise SpecError(f"There is no command to record. Write it after --, as in: {example}.")
    ranges.check("launches", launches, word="--launches ")
    ranges.check("time_limit", time_limit, word="--time-limit ")
    if ranks:
        ranges.check("ranks", ranks, word="--ranks ")
    if shutil.which(command[0]) is None:
        raise LaunchError(
            f"There is no program {command[0]!r} on the PATH. Install it, or give its full path.", command=list(command)
        )
    target = into if isinstance(into, Campaign) else Campaign(Path(into) if into else campaigns.fresh("record"))
    added, warnings, kinds = 0, dict[str, None](), Counter[str]()
    for number in range(1, launches + 1):
        told(number, launches)
        launch = _launched(command, _next(target.path), time_limit, shown)
        if launch.status != 0:
            raise _failed(command, launch, time_limit)
        given = _given(launch, ranks, testbed)
        outcome = importing.bring_texts([(text, given) for text in _texts(launch)], into=target)
        added += outcome.added
        warnings |= dict.fromkeys(outcome.warnings)
        kinds.update(outcome.files)
    return importing.Outcome(target, added, 0, tuple(warnings), kinds)


def _next(campaign: Path) -> Path:
    """Create the folder of the next launch."""
    above = campaign / FOLDER
    above.mkdir(exist_ok=True)
    number = max((int(one.name) for one in above.iterdir() if one.name.isdecimal()), default=0) + 1
    folder = above / f"{number:04}"
    folder.mkdir()
    return folder


def _launched(command: Sequence[str], folder: Path, time_limit: float, shown: Callable[[bytes], object]) -> Launch:
    """Run the command once, and write its files."""
    load, began, clock, watch = host.load_snapshot(), datetime.now(UTC), time.perf_counter(), host.Watch()
    with (
        (folder / OUTPUT).open("wb") as output,
        (folder / ERRORS).open("wb") as errors,
        supervise.start(command, stderr=errors) as tree,
    ):
        end = clock + time_limit
        while (left := end - time.perf_counter()) > 0:
            if tree.readable(left):
                if not (piece := os.read(tree.stdout.fileno(), _PIECE)):
                    break
                output.write(piece)
                shown(piece)
        status = tree.wait(left) if left > 0 else None
    elapsed = time.perf_counter() - clock
    load_end: conditions.Load = {**host.load_snapshot(), "others": watch.since(load["monotonic_s"])}
    machine = host.describe()
    meta = {
        START.name: began.isoformat(timespec="milliseconds"),
        ELAPSED.name: elapsed,
        COMMANDS.name: [lines.portable(command)],
        LOAD_START.name: load,
        LOAD_END.name: load_end,
    }
    facts = {
        **meta,
        "exit_status": status,
        "environment": {name: value for name, value in sorted(os.environ.items()) if _KEPT.fullmatch(name)},
        "host": machine,
    }
    (folder / FACTS).write_text(json.dumps(facts, indent=1, default=str) + "\n")
    return Launch(folder, status, (load, load_end), meta, machine)


def _failed(command: Sequence[str], launch: Launch, time_limit: float) -> LaunchError:
    """Return why a launch has no result."""
    why = f"did not end within {format_number(time_limit)} s" if launch.status is None else "failed"
    return LaunchError(
        f"The command {why} in launch {int(launch.folder.name)}. Its output is in {launch.folder}.",
        command=list(command),
        exit_status=launch.status,
        stderr=(launch.folder / ERRORS).read_text(errors="replace"),
    )


def _texts(launch: Launch) -> list[Text]:
    """Return the output of a launch, separately for each program; two launches may have the same output."""
    try:
        texts = parts(launch.folder / OUTPUT)
    except DataError as error:
        raise DataError(f"{error} The output was kept in {launch.folder}.") from error
    begin = START.of(launch.meta)
    return [
        replace(text, digest=hashlib.sha256(f"{text.digest} {begin} {launch.folder.name}".encode()).hexdigest())
        for text in texts
    ]


def _given(launch: Launch, ranks: int, testbed: str) -> Given:
    """Return what the output does not state: the host, the command, the load."""
    return Given(
        ranks,
        testbed or str(launch.host.get("hostname") or "this host"),
        host=launch.host,
        meta=launch.meta,
        badges=conditions.badges(launch.host, *launch.load),
        doubts=conditions.warnings_for_run(launch.host, *launch.load),
    )
