"""Clients of one invocation, started together at an agreed moment and each bounded in time."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from labkit import supervise
from labkit.errors import DataError, LaunchError
from labkit.tools._invocation import Invocation, Parsed

GRACE_S = 1.0
_TAIL_B = 4000
_LEAD_S, _EACH_S = 0.3, 0.1  # to have all of them waiting; an interpreter starts for each
# Becomes the command at that moment. The cap is for a guest whose clock lies behind this machine's.
_AT = (
    "import os, sys, time; time.sleep(max(0.0, min(float(sys.argv[2]), float(sys.argv[1]) - time.time()))); "
    "os.execvp(sys.argv[3], sys.argv[3:])"
)


def outputs(
    invocation: Invocation,
    commands: Sequence[tuple[tuple[str, ...], tuple[str, ...]]],
    folder: Path,
    environment: dict[str, str],
) -> list[tuple[str, Parsed]]:
    """What every client printed, and what that says.

    Parameters
    ----------
    commands : of each client the words that lead to where it runs, and its command line.

    Raises
    ------
    LaunchError
        If one does not end in time, or its output is no result.
    """
    lead = _LEAD_S + _EACH_S * len(commands)
    wait = (sys.executable, "-I", "-S", "-c", _AT, repr(time.time() + lead), repr(lead)) if len(commands) > 1 else ()
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in commands]
        trees = [
            stack.enter_context(
                supervise.start((*where, *wait, *command), cwd=folder, env=environment, stdout=file, grace=GRACE_S)
            )
            for (where, command), file in zip(commands, files, strict=True)
        ]
        end = time.monotonic() + invocation.time_limit + (lead if wait else 0.0)
        statuses = [tree.wait(max(end - time.monotonic(), 0.0)) for tree in trees]
        for tree in trees:
            tree.stop()
        return [
            _read(invocation, (*where, *command), file, tree, status, folder)
            for (where, command), file, tree, status in zip(commands, files, trees, statuses, strict=True)
        ]


def _read(
    invocation: Invocation,
    command: tuple[str, ...],
    file: IO[bytes],
    tree: supervise.Tree,
    status: int | None,
    folder: Path,
) -> tuple[str, Parsed]:
    """Output of one client, and what it says."""
    source = written(file)
    if status is None:
        raise LaunchError(
            f"{invocation.tool} did not finish within {invocation.time_limit:g} s, so labkit killed it; the run takes "
            f"{invocation.duration:g} s. "
            "Set a longer time_limit, or request less.",
            command=command,
            stderr=tree.stderr_text(),
        )
    try:
        return source, invocation.parse(source, folder)
    except (DataError, OSError) as error:
        said = tree.stderr_text() or source[-_TAIL_B:]
        raise LaunchError(
            f"{invocation.tool} gave no result. {error}", command=command, exit_status=status, stderr=said
        ) from error


def written(file: IO[bytes]) -> str:
    """Everything in a file that a program wrote."""
    file.seek(0)
    return file.read().decode(errors="replace")
