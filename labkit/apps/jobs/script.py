"""The script of a job: a template of the batch system, filled in with the request and the site."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2

from labkit import __version__
from labkit.apps.jobs.site import LIMITS, WORD, Site, one_line
from labkit.apps.jobs.systems import SYSTEMS
from labkit.errors import SpecError
from labkit.io import project, safe_read
from labkit.point import ranges, units
from labkit.run import launch, schedule

TEMPLATES = project.SHIPPED / "templates" / "jobs"
SUBMISSION = "LABKIT_SUBMISSION"


@dataclass(frozen=True, kw_only=True)
class Request:
    """Request of labkit to the batch system.

    Parameters
    ----------
    suite : its name, or its TOML file.
    nodes, ppn : hosts, and ranks on each.
    minutes : longest time of the job, or of each of an array.
    partition, account, constraint : as the batch system calls them; the site's when empty.
    array : number of jobs one after the other; each repeats all launches in its own allocation, as a session.
    spread : time from the start of the first job of the array to that of the last; empty for no pause between them.
    beside : whether independent points run at the same time, on disjoint hosts.
    parameters : ``NAME=VALUE`` of notebooks.
    """

    suite: str
    nodes: int = 2
    ppn: int = 1
    minutes: int = 30
    partition: str = ""
    account: str = ""
    constraint: str = ""
    array: int = 1
    spread: str = ""
    beside: bool = False
    parameters: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        numbers = {"nodes": self.nodes, "ppn_of_job": self.ppn, "time": self.minutes, "array": self.array}
        for word, value in numbers.items():
            ranges.check(word, value, word=f"--{word.removesuffix('_of_job')} ")
        if self.spread:
            ranges.check("spread", units.parse_duration(self.spread, word="--spread "), word="--spread ")
            if self.array == 1:
                raise SpecError(f"--spread {self.spread}, but --array 1 leaves nothing to spread. Set --array 6.")
        for key in ("partition", "account"):
            one_line(f"--{key} ", getattr(self, key), WORD)
        one_line("--constraint ", self.constraint, LIMITS)
        one_line("suite", self.suite)


def apart(request: Request) -> float:
    """Return the time between the starts of two jobs of an array, s; 0 without a spread."""
    return units.parse_duration(request.spread) / (request.array - 1) if request.spread else 0.0


def render(request: Request, site: Site, folder: Path, *, submission: int = 1, exclude: Sequence[str] = ()) -> str:
    """Render the script.

    Parameters
    ----------
    folder : folder of the campaign.
    submission : number of this submission into the campaign, from 1.
    exclude : hosts that failed before.

    Raises
    ------
    SpecError
        If the site's partition does not allow the request, or the batch system has no arrays.
    """
    one_line("--into ", str(folder))
    partition = request.partition or site.partition
    site.check(partition, request.minutes, request.nodes)
    if request.array > 1 and site.system == "flux":
        raise SpecError(
            f"--array {request.array}, but Flux has no job arrays. Leave it out, and submit again after the job has "
            "ended, with more launches each time (-p launches=6, then 12): each job adds its share."
        )
    if request.spread and site.system != "slurm":
        raise SpecError(
            f"--spread {request.spread}, but labkit spreads the jobs of an array with Slurm only. Leave it out: the "
            "jobs then follow one another."
        )
    suite = str(safe_read.resolved(request.suite)) if request.suite.endswith(".toml") else request.suite
    words = [word for pair in request.parameters for word in ("-p", pair)]
    site_file = folder / "jobs" / f"{submission}.toml"
    stem = Path(suite).stem
    template = _templates().get_template(SYSTEMS[site.system].template)
    return template.render(
        title=f"labkit {__version__}: suite {stem}",
        name=re.sub(r"[^\w.+-]", "_", f"labkit-{stem}"),
        nodes=request.nodes,
        ppn=request.ppn,
        minutes=request.minutes,
        array=request.array,
        partition=partition,
        account=request.account or site.account,
        constraint=request.constraint or site.constraint,
        exclude=exclude,
        options=site.options,
        submission=submission,
        folder=folder,
        home=project.home(),
        suite=suite,
        python=site.python or sys.executable,
        setup=site.setup,
        modules=site.modules,
        variables=variables(site, submission, request.beside),
        parameters=shlex.join([*words, "--site", str(site_file)]),
    )


def _templates() -> jinja2.Environment:
    """Return the templates. A name without a value is an error; the filter `quote` makes a value one shell word."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["quote"] = lambda value: shlex.quote(str(value))
    return environment


def variables(site: Site, submission: int, beside: bool = False) -> str:
    """Return the words of ``export`` for everything in the job."""
    labkit_variables = {
        SUBMISSION: str(submission),
        launch.NETWORK: site.interface,
        launch.FLAGS: shlex.join(site.launch_flags),
    }
    if beside:
        labkit_variables[schedule.BESIDE] = "1"
    values = {**{name: value for name, value in labkit_variables.items() if value}, **site.environment}
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in values.items())
