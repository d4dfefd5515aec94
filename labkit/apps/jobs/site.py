"""A site: the settings of a cluster, in a TOML file."""

from __future__ import annotations

import dataclasses
import getpass
import os
import re
import shutil
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from labkit.errors import DataError, LaunchError, SpecError, named, unknown_name
from labkit.io import folders, project, safe_read
from labkit.point import ranges
from labkit.point.spec import validated

SITES, SITE = project.SHIPPED / "templates" / "sites", "LABKIT_SITE"
System = Literal["slurm", "pbs", "flux"]
WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,:@/+-]*")
LIMITS = re.compile(r"[A-Za-z0-9_(\[][A-Za-z0-9_.,:@/+&|*=()\[\]<>!-]*")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
FORMS = {
    WORD: "a word of letters, digits and _ . , : @ / + -",
    LIMITS: "one word, as in 'a100&ib' or '[rack1|rack2]'",
    VARIABLE: "the name of a variable",
}
PROGRAMS: Mapping[System, str] = {"slurm": "sbatch", "pbs": "qsub", "flux": "flux"}


@dataclass(frozen=True, kw_only=True)
class Partition:
    """Limits of a partition (queue).

    Parameters
    ----------
    minutes : time of the longest job; 0 if that is not known.
    nodes : most nodes of a job; 0 if that is not known.
    """

    minutes: int = 0
    nodes: int = 0

    def __post_init__(self) -> None:
        for name, value in (("time", self.minutes), ("nodes", self.nodes)):
            if value:
                ranges.check(name, value, word=f"{'minutes' if name == 'time' else name}=")


@dataclass(frozen=True, kw_only=True)
class Site:
    """Settings of a cluster.

    Parameters
    ----------
    system : batch system.
    launcher : how ranks start: ``mpirun``, ``srun``, or a place such as ``openmpi@/opt/openmpi``.
    launch_flags : further words for it.
    modules : loaded in the job, in this order.
    setup : lines of the shell before the modules, such as the one that makes ``module`` known.
    python : a Python with labkit, as the compute nodes see it; by default the one that submits.
    partition, account, constraint : partition, account and constraint of the job, unless the command line names them.
    partitions : what each allows; a request beyond it is refused before it is submitted.
    options : further lines for the batch system, such as ``--gres=gpu:1``.
    environment : variables for everything in the job.
    interface : network device for TCP between hosts.
    transports : paths between ranks that notebooks compare, unless the suite says.
    scratch : folder for campaigns that all nodes see; variables such as $USER are filled in.
    """

    system: System = "slurm"
    launcher: str = "mpirun"
    launch_flags: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    python: str = ""
    partition: str = ""
    account: str = ""
    constraint: str = ""
    partitions: Mapping[str, Partition] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    interface: str = ""
    transports: str = "auto"
    scratch: str = ""

    def __post_init__(self) -> None:
        for field_of_site in dataclasses.fields(self):
            for key, text in _texts(getattr(self, field_of_site.name), field_of_site.name):
                one_line(key, text, WORD if key in ("partition", "account", "partitions") else None)
        one_line("constraint", self.constraint, LIMITS)
        for name in self.environment:
            one_line("environment", name, VARIABLE)

    @property
    def folder(self) -> Path | None:
        """Folder for campaigns; None for the default folder.

        Raises
        ------
        SpecError
            If it names a variable that is not set.
        """
        text = os.path.expandvars(self.scratch)
        text = re.sub(r"\$(USER\b|\{USER\})", lambda _: getpass.getuser(), text)  # unset without a login
        if "$" in text:
            raise SpecError(
                f"scratch={self.scratch!r} names a variable that is not set here. Set the variable, or write the path."
            )
        return Path(text) if text else None

    def check(self, partition: str, minutes: int, nodes: int) -> None:
        """Refuse what a partition does not allow.

        Raises
        ------
        SpecError
            If the partition does not allow the request, or the site does not list it.
        """
        if not partition or not self.partitions:
            return
        if partition not in self.partitions:
            raise unknown_name("partition", partition, list(self.partitions))
        limits = self.partitions[partition]
        for word, value, limit in (("time", minutes, limits.minutes), ("nodes", nodes, limits.nodes)):
            if limit and value > limit:
                raise SpecError(f"--{word} {value}, but partition {partition} allows {limit}. Set --{word} {limit}.")


def names() -> list[str]:
    """Return the names of the sites that come with labkit, and of the user's own."""
    return sorted({path.stem for folder in _folders() for path in folder.glob("*.toml")})


def _folders() -> tuple[Path, ...]:
    """Return the folders of sites: the user's own first, if the user has a home."""
    with suppress(DataError):
        return folders.config() / "sites", SITES
    return (SITES,)


def find(name: str) -> Path | None:
    """Find the file of a site: a path, or a name in ~/.config/labkit/sites or templates/sites; $LABKIT_SITE if empty.

    Raises
    ------
    SpecError
        If no site has that name.
    """
    name = name or os.environ.get(SITE, "")
    if not name:
        return None
    is_file = name.endswith(".toml")
    places = [Path(name)] if is_file else [folder / f"{named('site', name, names())}.toml" for folder in _folders()]
    path = next((path for path in places if path.is_file()), None)
    if path is None:
        raise unknown_name("site", name, names())
    return path


def load(path: Path | None) -> Site:
    """Load a site from its file; without a file, find the batch system by the programs on this machine.

    Raises
    ------
    SpecError
        For unknown keys, with similar ones, or invalid values.
    LaunchError
        If there is no file and no batch system.
    """
    if path is None:
        return Site(system=_batch_system_here())
    try:
        settings = safe_read.toml(path)
    except DataError as error:
        raise SpecError(f"site {error}") from error
    what = f"site {path}"
    _check_keys(settings, Site, what)
    partitions = settings.get("partitions", {})
    if isinstance(partitions, dict):
        for name, partition in partitions.items():
            if isinstance(partition, dict):
                _check_keys(partition, Partition, f"{what}, partition {name}")
    return validated(Site, settings, what=what)


def _check_keys(settings: Mapping[str, Any], cls: type[Site | Partition], what: str) -> None:
    """Refuse unknown keys, and name similar ones."""
    names_of_fields = [f.name for f in dataclasses.fields(cls)]
    for key in settings:
        if key not in names_of_fields:
            raise SpecError(f"{what}: {unknown_name('key', key, names_of_fields)}")


def one_line(key: str, text: str, form: re.Pattern[str] | None = None) -> None:
    """Refuse a text that would become several lines of a job's script, or a word of another form.

    Raises
    ------
    SpecError
        If it has a control character, or does not match `form`.
    """
    if any(unicodedata.category(sign) in ("Cc", "Zl", "Zp") for sign in text):
        raise SpecError(f"{key.rstrip()}={text[:60]!r}, but it must be one line. Remove the control characters.")
    if text and form and not form.fullmatch(text):
        raise SpecError(f"{key.rstrip()}={text[:60]!r}, but it must be {FORMS[form]}. Correct it.")


def _texts(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield all texts of a site, each with its key."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield key, str(name)
            yield from _texts(item, f"{key}.{name}")
    elif isinstance(value, tuple):
        for item in value:
            yield from _texts(item, key)


def _batch_system_here() -> System:
    """Return the batch system whose programs are on the PATH."""
    for system, program in PROGRAMS.items():
        if shutil.which(program):
            return system
    raise LaunchError(
        "There is no sbatch, qsub or flux on the PATH, so this is not a login node of a known cluster. "
        "Log in to one, load its module, or set --site and print the job script with --dry-run."
    )
