"""Batch systems: submit a script, ask for the state of a job, end it; each in the system's own words."""

from __future__ import annotations

import re
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from labkit.errors import LaunchError, SpecError, known

Kind = Literal["pending", "running", "ended", "unknown"]


@dataclass(frozen=True)
class State:
    """How a job is.

    Parameters
    ----------
    kind : what that means here.
    words : in the batch system's words, with its reason.
    good : whether it ended well.
    nodes : where it runs or ran, as the system writes it; empty where it never began.
    """

    kind: Kind
    words: str
    good: bool = False
    nodes: str = ""


@dataclass(frozen=True)
class Limits:
    """What a partition allows; 0 where it sets no limit.

    Parameters
    ----------
    name : of the partition.
    nodes, minutes : of a job.
    cores : of its largest node, hardware threads counted as Slurm does.
    usual : whether it is the one for jobs that name none.
    """

    name: str
    nodes: int
    minutes: int
    cores: int
    usual: bool = False


def limits(text: str) -> dict[str, Limits]:
    """Partition → what it allows, from lines of ``sinfo -h -o "%P|%l|%D|%c|%s"``, one or more each.

    Examples
    --------
    >>> limits("short*|30:00|4|16|1-2")["short"]
    Limits(name='short', nodes=2, minutes=30, cores=16, usual=True)
    """
    found: dict[str, Limits] = {}
    for line in text.splitlines():
        name, time, nodes, cores, sizes = (*line.strip().split("|"), "", "", "", "", "")[:5]
        if not name or not nodes.isdigit():
            continue
        usual, name = name.endswith("*"), name.rstrip("*")
        before = found.get(name, Limits(name, 0, 0, 0))
        largest = int(number[0]) if (number := re.match(r"\d+", cores)) else 0
        found[name] = Limits(name, before.nodes + int(nodes), _minutes(time), max(before.cores, largest), usual)
        most = sizes.rpartition("-")[2]
        if most.isdigit():
            found[name] = replace(found[name], nodes=min(found[name].nodes, int(most)))
    return found


def _minutes(text: str) -> int:
    """Minutes of ``[days-]hours:minutes:seconds`` as Slurm writes it; 0 for no limit."""
    days, dash, rest = text.partition("-")
    parts = (rest if dash else text).split(":")
    if not all(part.isdigit() for part in parts) or (dash and not days.isdigit()):
        return 0
    hours, minutes = (0, *map(int, parts))[-3:-1] if len(parts) > 1 else (0, int(parts[0]))
    return (int(days) * 24 * 60 if dash else 0) + 60 * hours + minutes


class System(ABC):
    """A batch system by its programs."""

    name: str
    template: str
    submits: tuple[str, ...]
    cancels: tuple[str, ...]

    def submit(self, script: str) -> str:
        """Number of the new job.

        Raises
        ------
        LaunchError
            If the program is not here, or refuses; with its own words.
        """
        return self._number(_run([*self.submits, script], self._advice()))

    def check(self, script: str, partition: str, *, nodes: int, ppn: int, minutes: int) -> None:  # noqa: B027
        """Refuse before it is submitted what could never run; a system that cannot tell refuses nothing.

        Raises
        ------
        SpecError
            If the partition is not there, too small or too short.
        LaunchError
            If the batch system would refuse the script, in its own words.
        """

    def cancel(self, job: str) -> None:
        """End a job."""
        _run([*self.cancels, job])

    @abstractmethod
    def state(self, job: str) -> State:
        """How a job is, all of its array together."""

    def _number(self, text: str) -> str:
        return text.split()[-1] if text.split() else ""

    def _advice(self) -> str:
        return ""


class Slurm(System):
    """Slurm by sbatch, scontrol, sacct and scancel."""

    name, template = "slurm", "slurm.sbatch"
    submits, cancels = ("sbatch", "--parsable"), ("scancel",)
    _PENDING = ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT")
    _RUNNING = ("RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING")

    def check(self, script: str, partition: str, *, nodes: int, ppn: int, minutes: int) -> None:
        """By what sinfo tells of the partition, then by ``sbatch --test-only``."""
        there = limits(_answer(["sinfo", "-h", "-o", "%P|%l|%D|%c|%s"]))
        if not there:
            return
        if partition and partition not in there:
            raise known("partition", partition, list(there))
        most = there.get(partition) or next((one for one in there.values() if one.usual), Limits("", 0, 0, 0))
        asked = ("time", minutes, most.minutes), ("nodes", nodes, most.nodes), ("ppn", ppn, most.cores)
        for word, value, limit in asked:
            if limit and value > limit:
                what = {"time": f"{limit} minutes", "nodes": f"{limit} nodes", "ppn": f"{limit} cores on a node"}[word]
                raise SpecError(
                    f"--{word} {value}, but partition {most.name} has {what}. Set --{word} {limit} or less."
                )
        try:
            _run(["sbatch", "--test-only"], self._advice(), given=script)
        except LaunchError as error:
            # said of drained nodes too, for which a job may wait; what no node will ever have, sbatch itself refuses
            if "Requested node configuration is not available" not in str(error):
                raise

    def _number(self, text: str) -> str:
        return text.strip().splitlines()[-1].partition(";")[0] if text.strip() else ""

    def _advice(self) -> str:
        there = list(limits(_answer(["sinfo", "-h", "-o", "%P|%l|%D|%c|%s"])))
        return f"Partitions here: {', '.join(there)}." if there else ""

    def state(self, job: str) -> State:
        """From scontrol while it remembers the job, then from sacct."""
        try:
            return self.read(_run(["scontrol", "-o", "show", "job", job]))
        except LaunchError as error:
            if "Invalid job id" not in str(error):
                return State("unknown", str(error).splitlines()[0])
        try:
            said = _run(["sacct", "-X", "-n", "-P", "-j", job, "-o", "State,ExitCode,NodeList"])
        except LaunchError:
            said = ""
        lines = [line.split("|") for line in said.splitlines() if line.count("|") >= 2]
        if not lines:
            return State("ended", "gone from the queue")
        return self._of([(s.partition(" ")[0], "", e, n) for s, e, n, *_ in lines])

    def read(self, text: str) -> State:
        """From lines of ``scontrol -o show job``, one for each member of an array."""
        found = []
        for line in text.splitlines():
            fields = dict(re.findall(r"(?:^|\s)(JobState|Reason|ExitCode|NodeList|BatchHost)=(\S*)", line))
            if "JobState" in fields:
                nodes = fields.get("NodeList", "").replace("(null)", "")
                found.append((fields["JobState"], fields.get("Reason", ""), fields.get("ExitCode", ""), nodes))
        return self._of(found)

    def _of(self, found: Sequence[tuple[str, str, str, str]]) -> State:
        """One state of all members: running before pending before ended, and the worst end."""
        nodes = next((nodes for *_, nodes in found if nodes), "")
        for kind, names in (("running", self._RUNNING), ("pending", self._PENDING)):
            for state, reason, _, where in found:
                if state in names:
                    words = f"{state} ({reason})" if reason not in ("", "None") else state
                    return State("running" if kind == "running" else "pending", words, nodes=where or nodes)
        bad = [one for one in found if one[0] != "COMPLETED"]
        if found and not bad:
            return State("ended", "COMPLETED", True, nodes)
        state, reason, status, _ = bad[0] if bad else ("unknown to Slurm", "", "", "")
        said = [reason] * (reason not in ("", "None")) + [f"exit code {status}"] * (status not in ("", "0:0"))
        return State("ended", f"{state} ({', '.join(said)})" if said else state, nodes=nodes)


class Pbs(System):
    """PBS by qsub, qstat and qdel."""

    name, template = "pbs", "pbs.sh"
    submits, cancels = ("qsub",), ("qdel",)

    def state(self, job: str) -> State:
        """From ``qstat -x -f``, which also knows jobs that ended."""
        try:
            return self.read(_run(["qstat", "-x", "-f", job]))
        except LaunchError as error:
            return State("unknown", str(error).splitlines()[0])

    def read(self, text: str) -> State:
        """From what ``qstat -f`` prints."""
        fields: dict[str, str] = dict(re.findall(r"^\s*(job_state|Exit_status|comment|exec_host) = (.*)$", text, re.M))
        letter, status = fields.get("job_state", "?"), fields.get("Exit_status", "")
        words = f"{letter} ({fields['comment']})" if "comment" in fields else letter
        if letter in "FCX":
            words = f"{words}, exit status {status}" if status else words
            return State("ended", words, status in ("", "0"), fields.get("exec_host", ""))
        kind: Kind = "running" if letter in "RBE" else "pending" if letter in "QHWTSM" else "unknown"
        return State(kind, words, nodes=fields.get("exec_host", ""))


class Flux(System):
    """Flux by flux batch, flux jobs and flux cancel."""

    name, template = "flux", "flux.sh"
    submits, cancels = ("flux", "batch"), ("flux", "cancel")

    def state(self, job: str) -> State:
        """From ``flux jobs``, which also knows jobs that ended."""
        try:
            return self.read(_run(["flux", "jobs", "-a", "-n", "-o", "{state} {result} {nodelist}", job]))
        except LaunchError as error:
            return State("unknown", str(error).splitlines()[0])

    def read(self, text: str) -> State:
        """From state, result and nodes of a job."""
        state, result, nodes = (*text.split(), "", "", "")[:3]
        if state == "INACTIVE":
            return State("ended", result, result == "COMPLETED", nodes)
        kind: Kind = "running" if state in ("RUN", "CLEANUP") else "pending" if state else "unknown"
        return State(kind, state or "unknown to Flux", nodes=nodes or result)


SYSTEMS: Mapping[str, System] = {system.name: system for system in (Slurm(), Pbs(), Flux())}


def _answer(argv: Sequence[str]) -> str:
    """What a command prints; empty where it is not here, hangs or fails."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if done.returncode else done.stdout


def _run(argv: Sequence[str], advice: str = "", given: str = "") -> str:
    """What a command prints.

    Parameters
    ----------
    given : its standard input.

    Raises
    ------
    LaunchError
        If it is not here, hangs, or refuses; with its own words.
    """
    if shutil.which(argv[0]) is None:
        raise LaunchError(
            f"There is no {argv[0]} on the PATH, so labkit cannot reach the batch system. Log in to the "
            "cluster's login node, load its module, or print the job script with --dry-run."
        )
    try:
        done = subprocess.run(argv, input=given, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired as error:
        raise LaunchError(f"{argv[0]} did not answer within 120 s. Try again later.", command=argv) from error
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}, no output"
        if "establish a configuration source" in said:
            advice = "This machine is not part of a Slurm cluster (it has no slurm.conf). Log in to a login node."
        raise LaunchError(f"{argv[0]} refused: {said}\n{advice}".strip(), command=argv, exit_status=done.returncode)
    return done.stdout
