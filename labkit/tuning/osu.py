"""The proof outside labkit: an OSU program does the same work with the written files and without them, alternately.

The program must be on PATH, built with the MPI library of the ranks. The campaign keeps the output of each run, so
an interrupted proof continues where it stopped.
"""

from __future__ import annotations

import dataclasses
import math
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from labkit import benchmarks, testbeds
from labkit.errors import DataError, LaunchError
from labkit.formats import omb
from labkit.io import safe_read, supervise
from labkit.judge.comparison.judging import Launches
from labkit.point.spec import Effort, Spec
from labkit.read import equivalents
from labkit.run import launch
from labkit.run.launch import Placement
from labkit.store.campaign import Campaign
from labkit.tuning import files
from labkit.tuning.outcome import Written

FOLDER = "proof"  # in the campaign
STARTED = "# started: "
COUNTS = (10, 100_000)  # iterations of a run
_STARTING_S = 10.0
_OWN = ("MPI4PY_", "OMPI_MCA_plm_rsh", "PRTE_MCA_plm_ssh")  # variables for labkit's own ranks and hosts

Sides = dict[int, tuple[Launches, Launches]]  # number of a point → runs without the files, and with them


def test_of(spec: Spec) -> str:
    """Return the OSU test that does the same work as a spec; empty if there is none.

    Examples
    --------
    >>> test_of(Spec(benchmark="mpi.bcast")), test_of(Spec(benchmark="mpi.exchange"))
    ('osu_bcast', '')
    """
    benchmark = benchmarks.get(spec.benchmark)
    defaults = dataclasses.asdict(benchmark.options())
    given = {name: value for name, value in (defaults | spec.values).items() if name not in equivalents.FREE}
    for test, options in equivalents.tests(benchmark, "omb").items():
        if {name: value for name, value in (defaults | dict(options)).items() if name not in equivalents.FREE} == given:
            return test
    return ""


def missing(spec: Spec) -> str:
    """Return why no OSU program can read the files; empty if one can."""
    test = test_of(spec)
    if not test:
        return f"OSU has no program that does the same work as {benchmarks.label(spec)}"
    if testbeds.outline(spec.testbed).network:
        return f"programs do not run on the testbed {spec.testbed}"
    if shutil.which(test) is None:
        library = launch.get(spec.launcher).library
        return f"{test} is not on PATH. Put an OSU build for {library} there and run the same command again"
    return ""


@dataclass
class Runs:
    """Runs of a program at one point, with the files and without them.

    Parameters
    ----------
    base : the default spec of the point.
    test : name of the program.
    metric : metric that is compared.
    campaign : campaign that keeps the texts.
    folder : folder of the texts, in the campaign.
    """

    base: Spec
    test: str
    metric: str
    campaign: Campaign
    folder: str
    values: dict[tuple[bool, int], float] = field(default_factory=dict)
    started: dict[tuple[bool, int], str] = field(default_factory=dict)

    def has(self, number: int) -> bool:
        """Read both runs of a number, if they were kept; return whether both exist."""
        return all([self.read(False, number), self.read(True, number)])

    def read(self, with_files: bool, number: int) -> bool:
        """Read a run that was kept; return whether there is one.

        Raises
        ------
        DataError
            If its text is not what the program prints.
        """
        path = self.campaign.path / self._name(with_files, number)
        if not path.is_file():
            return False
        text = safe_read.text(path, "replace")
        head, _, rest = text.partition("\n")
        self.values[with_files, number] = value(rest, self.base, self.metric, str(path))
        self.started[with_files, number] = head.removeprefix(STARTED)
        return True

    def run(self, written: Written, number: int, seconds: float, effort: Effort) -> None:
        """Run the program without and with the files, alternately, if that is missing.

        Parameters
        ----------
        seconds : time that an iteration of the default takes; NaN if that is not known.

        Raises
        ------
        LaunchError
            If the program fails or prints no value.
        """
        for with_files in (False, True) if number % 2 else (True, False):
            if self.read(with_files, number):
                continue
            began = datetime.now(UTC).isoformat(timespec="milliseconds")
            text = _output(self.base, self._argv(effort, seconds), written if with_files else None, effort)
            try:
                value(text, self.base, self.metric, self.test)
            except DataError as error:
                raise LaunchError(f"{self.test} printed no value: {error}") from error
            self.campaign.put(self._name(with_files, number), f"{STARTED}{began}\n{text}", durable=True)
            self.read(with_files, number)

    def side(self, with_files: bool) -> Launches:
        """Return the runs of one side."""
        keys = sorted(key for key in self.values if key[0] == with_files)
        return Launches([self.values[key] for key in keys], [self.started[key] for key in keys])

    def _argv(self, effort: Effort, seconds: float) -> list[str]:
        """Return the command line of a rank: as many iterations as a launch of labkit has time for."""
        count = effort.iterations or (100 if math.isnan(seconds) else round(effort.time_cap / seconds))
        count = min(max(count, COUNTS[0]), COUNTS[1])
        argv = [self.test, "-i", str(count), "-x", str(max(1, count // 10))]
        return (
            [*argv, "-m", f"{self.base.size}:{self.base.size}"] if benchmarks.get(self.base.benchmark).sized else argv
        )

    def _name(self, with_files: bool, number: int) -> str:
        side = "files" if with_files else "default"
        return f"{self.folder}/{self.base.ranks}-{self.base.size}-{side}-{number}.txt"


def value(text: str, base: Spec, metric: str, where: str) -> float:
    """Return the value of a metric that a program printed at a size.

    Raises
    ------
    DataError
        If the text has none.
    """
    sized = benchmarks.get(base.benchmark).sized
    for table in omb.parse(text, where):
        for row in table.rows:
            if not sized or row.size == base.size:
                for one in omb.reported(table, row):
                    if one.name == metric:
                        return one.value
    raise DataError(f"{where} has no {metric} of {benchmarks.label(base)}. Delete it, and run the same command again.")


def line(base: Spec, argv: Sequence[str], written: Written | None) -> str:
    """Return a shell line that starts a program on the ranks of a spec, with the files or without.

    labkit prints this line for users and runs it in the proof. Only on a testbed does the proof add how to reach the
    hosts.
    """
    launcher = launch.get(base.launcher)
    placement = Placement.of(files.of_programs(base), launcher, testbeds.outline(base.testbed))
    given = {} if placement.remote_shell else launcher.environment(placement)
    own = {name for name in given if name.startswith(_OWN) or "ALLOW_RUN_AS_ROOT" in name}
    needed = {name: value for name, value in given.items() if name not in own}
    return files.line(written or Written(), launcher.command(placement, argv), needed)


def _output(base: Spec, argv: list[str], written: Written | None, effort: Effort) -> str:
    """Run the program as a user would, with the files or without, and return its output."""
    launcher = launch.get(base.launcher)
    placement = Placement.of(files.of_programs(base), launcher, testbeds.outline(base.testbed))
    with testbeds.open(base.testbed) as testbed:
        command = testbed.wrap(["sh", "-c", line(base, [shutil.which(argv[0]) or argv[0], *argv[1:]], written)])
        limit = max(effort.time_limit, _STARTING_S)
        with supervise.start(command, env=os.environ | launcher.environment(placement)) as tree:
            status = tree.wait(limit)
            tree.stop()
            text, stderr = tree.stdout.read().decode("utf-8", "replace"), tree.stderr_text()
    if status is None:
        raise LaunchError(
            f"{argv[0]} did not end within {limit:g} s. Set a longer time limit (--time-limit; in a notebook "
            "time_limit).",
            command=command,
        )
    if status:
        raise LaunchError(
            f"{argv[0]} failed. It must be built for {launcher.library}.",
            command=command,
            exit_status=status,
            stderr=f"{stderr}{text[-1000:]}",
        )
    return text


def proved(
    bases: Mapping[int, Spec],
    written: Written,
    campaign: Campaign,
    digest: str,
    *,
    metric: str,
    runs: int,
    effort: Effort,
    seconds: Mapping[int, float],
    affords: Callable[[int], bool],
) -> tuple[Sides, str]:
    """Run the OSU program at some points, without and with the files, within the budget.

    Parameters
    ----------
    bases : number of a point → its default spec.
    campaign : campaign that keeps the texts.
    digest : digest of the files.
    runs : runs per side.
    seconds : number of a point → time of an iteration of the default, s.
    affords : whether there is time for this many more launches.

    Returns
    -------
    The runs, and why there are no more; empty if all are there.
    """
    every = {n: Runs(base, test_of(base), metric, campaign, f"{FOLDER}/{digest}") for n, base in bases.items()}
    try:
        for number in range(runs):
            for n, one in every.items():
                if one.has(number):
                    continue
                if not affords(2):
                    return _sides(every), "the budget ended while an OSU program read the files"
                one.run(written, number, seconds[n], effort)
    except LaunchError as error:
        return _sides(every), error.brief
    return _sides(every), ""


def kept(bases: Mapping[int, Spec], campaign: Campaign, digest: str, *, metric: str, runs: int) -> Sides:
    """Return what runs printed that a campaign keeps; start nothing."""
    every = {n: Runs(base, test_of(base), metric, campaign, f"{FOLDER}/{digest}") for n, base in bases.items()}
    for number in range(runs):
        for one in every.values():
            one.has(number)
    return _sides(every)


def _sides(every: Mapping[int, Runs]) -> Sides:
    return {n: (one.side(False), one.side(True)) for n, one in every.items()}
