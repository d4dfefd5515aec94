"""Batch systems: submit a script, ask for the state of a job, end it; each in the system's own words."""

from __future__ import annotations

import re
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from labkit.errors import LaunchError, SpecError, unknown_name

Kind = Literal["pending", "running", "ended", "unknown"]


@dataclass(frozen=True)
class State:
    """The state of a job.

    Parameters
    ----------
    kind : what the state means for labkit.
    words : the batch system's words, with its reason.
    good : whether it ended with success.
    nodes : where it runs or ran, in the system's notation; empty if it never began.
    """

    kind: Kind
    words: str
    good: bool = False
    nodes: str = ""


@dataclass(frozen=True)
class Limits:
    """Limits of a partition; 0 for no limit.

    Parameters
    ----------
    name : name of the partition.
    nodes, minutes : nodes and minutes of a job.
    cores : cores of its largest node, hardware threads counted as Slurm does.
    is_default : whether it is the default for jobs.
    """

    name: str
    nodes: int
    minutes: int
    cores: int
    is_default: bool = False


def limits(text: str) -> dict[str, Limits]:
    """Return partition → what it allows, from lines of ``sinfo -h -o "%P|%l|%D|%c|%s"``, one or more each.

    Examples
    --------
    >>> limits("short*|30:00|4|16|1-2")["short"]
    Limits(name='short', nodes=2, minutes=30, cores=16, is_default=True)
    """
    partitions: dict[str, Limits] = {}
    for line in text.splitlines():
        name, time, nodes, cores, sizes = (*line.strip().split("|"), "", "", "", "", "")[:5]
        if not name or not nodes.isdecimal():
            continue
        is_default, name = name.endswith("*"), name.rstrip("*")
        unknown_name = partitions.get(name, Limits(name, 0, 0, 0))
        cores_of_node = int(number[0]) if (number := re.match(r"\d+", cores)) else 0
        largest = max(unknown_name.cores, cores_of_node)
        partitions[name] = Limits(name, unknown_name.nodes + int(nodes), _minutes(time), largest, is_default)
        most_nodes = sizes.rpartition("-")[2]
        if most_nodes.isdecimal():
            partitions[name] = replace(partitions[name], nodes=min(partitions[name].nodes, int(most_nodes)))
    return partitions


def _minutes(text: str) -> int:
    """Return the minutes of ``[days-]hours:minutes:seconds``, Slurm's notation; 0 for no limit."""
    days, dash, rest = text.partition("-")
    parts = (rest if dash else text).split(":")
    if not all(part.isdecimal() for part in parts) or (dash and not days.isdecimal()):
        return 0
    hours, minutes = (0, *map(int, parts))[-3:-1] if len(parts) > 1 else (0, int(parts[0]))
    return (int(days) * 24 * 60 if dash else 0) + 60 * hours + minutes


class System(ABC):
    """A batch system; its programs do the work."""

    name: str
    template: str
    submits: tuple[str, ...]
    cancels: tuple[str, ...]

    def submit(self, script: str) -> str:
        """Submit a script; return the number of the new job.

        Raises
        ------
        LaunchError
            If the program is not installed, or refuses; with its own words.
        """
        return self._number(_run([*self.submits, script], self._advice()))

    def check(self, script: str, partition: str, *, nodes: int, ppn: int, minutes: int) -> None:  # noqa: B027
        """Refuse a script that could never run, before its submission. A system that cannot tell refuses nothing.

        Raises
        ------
        SpecError
            If the partition does not exist, or the request exceeds its limits.
        LaunchError
            If the batch system would refuse the script, in its own words.
        """

    def cancel(self, job: str) -> None:
        """End a job."""
        _run([*self.cancels, job])

    def spread(self, job: str, array: int, apart_s: float) -> None:
        """Start the jobs of an array at given intervals; `script.render` refuses it where a system cannot."""
        raise NotImplementedError

    @abstractmethod
    def state(self, job: str) -> State:
        """Return the state of a job, or of all jobs of an array together."""

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
        """Check against the limits that sinfo prints, then by ``sbatch --test-only``."""
        partitions = limits(_output(["sinfo", "-h", "-o", "%P|%l|%D|%c|%s"]))
        if not partitions:
            return
        if partition and partition not in partitions:
            raise unknown_name("partition", partition, list(partitions))
        default = next((one for one in partitions.values() if one.is_default), Limits("", 0, 0, 0))
        allowed = partitions.get(partition, default)
        requests = ("time", minutes, allowed.minutes), ("nodes", nodes, allowed.nodes), ("ppn", ppn, allowed.cores)
        for word, value, limit in requests:
            if limit and value > limit:
                unit = {"time": "minutes", "nodes": "nodes", "ppn": "cores on a node"}[word]
                raise SpecError(
                    f"--{word} {value}, but partition {allowed.name} has {limit} {unit}. Set --{word} {limit} or less."
                )
        try:
            _run(["sbatch", "--test-only"], self._advice(), standard_input=script)
        except LaunchError as error:
            # Slurm also says this of drained nodes, for which a job may wait. sbatch itself refuses what no node has
            if "Requested node configuration is not available" not in str(error):
                raise

    def spread(self, job: str, array: int, apart_s: float) -> None:
        """Start the jobs of an array at given intervals, counted from now."""
        for index in range(1, array):
            _run(["scontrol", "update", f"JobId={job}_{index}", f"StartTime=now+{round(index * apart_s)}"])

    def _number(self, text: str) -> str:
        return text.strip().splitlines()[-1].partition(";")[0] if text.strip() else ""

    def _advice(self) -> str:
        partitions = list(limits(_output(["sinfo", "-h", "-o", "%P|%l|%D|%c|%s"])))
        return f"Partitions here: {', '.join(partitions)}." if partitions else ""

    def state(self, job: str) -> State:
        """Ask scontrol while it remembers the job, then sacct."""
        try:
            return self.read(_run(["scontrol", "-o", "show", "job", job]))
        except LaunchError as error:
            if "Invalid job id" not in str(error):
                return State("unknown", str(error).splitlines()[0])
        try:
            output = _run(["sacct", "-X", "-n", "-P", "-j", job, "-o", "State,ExitCode,NodeList"])
        except LaunchError:
            output = ""
        lines = [line.split("|") for line in output.splitlines() if line.count("|") >= 2]
        if not lines:
            return State("ended", "gone from the queue")
        return self._combined([(s.partition(" ")[0], "", e, n) for s, e, n, *_ in lines])

    def read(self, text: str) -> State:
        """Read lines of ``scontrol -o show job``, one for each member of an array."""
        members = []
        for line in text.splitlines():
            fields = dict(re.findall(r"(?:^|\s)(JobState|Reason|ExitCode|NodeList|BatchHost)=(\S*)", line))
            if "JobState" in fields:
                nodes = fields.get("NodeList", "").replace("(null)", "")
                members.append((fields["JobState"], fields.get("Reason", ""), fields.get("ExitCode", ""), nodes))
        return self._combined(members)

    def _combined(self, members: Sequence[tuple[str, str, str, str]]) -> State:
        """Combine the states of all members: running before pending before ended, and the worst end."""
        nodes = next((nodes for *_, nodes in members if nodes), "")
        for kind, names in (("running", self._RUNNING), ("pending", self._PENDING)):
            for state, reason, _, nodes_of_member in members:
                if state in names:
                    words = f"{state} ({reason})" if reason not in ("", "None") else state
                    return State("running" if kind == "running" else "pending", words, nodes=nodes_of_member or nodes)
        bad = [member for member in members if member[0] != "COMPLETED"]
        if members and not bad:
            return State("ended", "COMPLETED", True, nodes)
        state, reason, status, _ = bad[0] if bad else ("unknown to Slurm", "", "", "")
        reasons = [reason] * (reason not in ("", "None")) + [f"exit code {status}"] * (status not in ("", "0:0"))
        return State("ended", f"{state} ({', '.join(reasons)})" if reasons else state, nodes=nodes)


class Pbs(System):
    """PBS by qsub, qstat and qdel."""

    name, template = "pbs", "pbs.sh"
    submits, cancels = ("qsub",), ("qdel",)

    def state(self, job: str) -> State:
        """Ask ``qstat -x -f``, which also knows jobs that ended."""
        try:
            return self.read(_run(["qstat", "-x", "-f", job]))
        except LaunchError as error:
            return State("unknown", str(error).splitlines()[0])

    def read(self, text: str) -> State:
        """Read the output of ``qstat -f``."""
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
        """Ask ``flux jobs``, which also knows jobs that ended."""
        try:
            return self.read(_run(["flux", "jobs", "-a", "-n", "-o", "{state} {result} {nodelist}", job]))
        except LaunchError as error:
            return State("unknown", str(error).splitlines()[0])

    def read(self, text: str) -> State:
        """Read state, result and nodes of a job."""
        state, result, nodes = (*text.split(), "", "", "")[:3]
        if state == "INACTIVE":
            return State("ended", result, result == "COMPLETED", nodes)
        kind: Kind = "running" if state in ("RUN", "CLEANUP") else "pending" if state else "unknown"
        return State(kind, state or "unknown to Flux", nodes=nodes or result)


SYSTEMS: Mapping[str, System] = {system.name: system for system in (Slurm(), Pbs(), Flux())}


def _output(argv: Sequence[str]) -> str:
    """Return the output of a command; empty if it is not installed, hangs or fails."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if done.returncode else done.stdout


def _run(argv: Sequence[str], advice: str = "", standard_input: str = "") -> str:
    """Return the output of a command.

    Parameters
    ----------
    standard_input : text for its standard input.

    Raises
    ------
    LaunchError
        If it is not installed, hangs, or refuses; with its own words.
    """
    if shutil.which(argv[0]) is None:
        raise LaunchError(
            f"There is no {argv[0]} on the PATH, so labkit cannot reach the batch system. Log in to the "
            "cluster's login node, load its module, or print the job script with --dry-run."
        )
    try:
        done = subprocess.run(argv, input=standard_input, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired as error:
        raise LaunchError(f"{argv[0]} did not answer within 120 s. Try again later.", command=argv) from error
    if done.returncode:
        message = done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}, no output"
        if "establish a configuration source" in message:
            advice = "This machine is not part of a Slurm cluster (it has no slurm.conf). Log in to a login node."
        raise LaunchError(f"{argv[0]} refused: {message}\n{advice}".strip(), command=argv, exit_status=done.returncode)
    return done.stdout
