"""A site: what differs from cluster to cluster, one TOML file each."""

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

from labkit import folders, outside, project, ranges
from labkit.errors import DataError, LaunchError, SpecError, known, named
from labkit.spec import validated

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
    """What a partition (queue) allows.

    Parameters
    ----------
    minutes : longest job; 0 where that is not known.
    nodes : most nodes of a job; 0 where that is not known.
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
    python : that has labkit, as the compute nodes see it; the one that submits when left out.
    partition, account, constraint : of the job, where the command line names none.
    partitions : what each allows; a request beyond it is refused before it is submitted.
    options : further lines for the batch system, such as ``--gres=gpu:1``.
    environment : variables for everything in the job.
    interface : network device for TCP between hosts.
    transports : paths between ranks that notebooks compare, where the suite does not say.
    scratch : folder that all nodes see, where campaigns go; variables such as $USER are filled in.
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
        for one in dataclasses.fields(self):
            for key, text in _texts(getattr(self, one.name), one.name):
                single(key, text, WORD if key in ("partition", "account", "partitions") else None)
        single("constraint", self.constraint, LIMITS)
        for name in self.environment:
            single("environment", name, VARIABLE)

    @property
    def folder(self) -> Path | None:
        """Where campaigns go; None for the usual place.

        Raises
        ------
        SpecError
            If it names a variable that is not set.
        """
        text = os.path.expandvars(self.scratch)
        text = re.sub(r"\$(USER\b|\{USER\})", lambda _: getpass.getuser(), text)  # where nobody logged in
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
            If it does not, or is not one of those the site lists.
        """
        if not partition or not self.partitions:
            return
        if partition not in self.partitions:
            raise known("partition", partition, list(self.partitions))
        most = self.partitions[partition]
        for word, asked, limit in (("time", minutes, most.minutes), ("nodes", nodes, most.nodes)):
            if limit and asked > limit:
                raise SpecError(f"--{word} {asked}, but partition {partition} allows {limit}. Set --{word} {limit}.")


def names() -> list[str]:
    """Sites that come with labkit, and the user's own."""
    return sorted({path.stem for folder in _folders() for path in folder.glob("*.toml")})


def _folders() -> tuple[Path, ...]:
    """Where sites lie: the user's own first, where the user has a home."""
    with suppress(DataError):
        return folders.config() / "sites", SITES
    return (SITES,)


def find(name: str) -> Path | None:
    """File of a site: a path, or a name in ~/.config/labkit/sites or templates/sites; $LABKIT_SITE when empty.

    Raises
    ------
    SpecError
        If there is none of that name.
    """
    name = name or os.environ.get(SITE, "")
    if not name:
        return None
    own = name.endswith(".toml")
    places = [Path(name)] if own else [folder / f"{named('site', name, names())}.toml" for folder in _folders()]
    found = next((path for path in places if path.is_file()), None)
    if found is None:
        raise known("site", name, names())
    return found


def load(path: Path | None) -> Site:
    """A site from its file; without one, what the programs on this machine tell.

    Raises
    ------
    SpecError
        For unknown keys, with those that are alike, or values that cannot be.
    LaunchError
        If there is no file and no batch system.
    """
    if path is None:
        return Site(system=_found())
    try:
        held = outside.toml(path)
    except DataError as error:
        raise SpecError(f"site {error}") from error
    what = f"site {path}"
    _known(held, Site, what)
    partitions = held.get("partitions", {})
    for name, one in partitions.items() if isinstance(partitions, dict) else ():
        if isinstance(one, dict):
            _known(one, Partition, f"{what}, partition {name}")
    return validated(Site, held, what=what)


def _known(held: Mapping[str, Any], kind: type[Site | Partition], what: str) -> None:
    """Refuse keys that are not there, naming those that are alike."""
    have = [f.name for f in dataclasses.fields(kind)]
    for key in held:
        if key not in have:
            raise SpecError(f"{what}: {known('key', key, have)}")


def single(key: str, text: str, fits: re.Pattern[str] | None = None) -> None:
    """Refuse a text that would become several lines of a job's script, or a word of another form.

    Raises
    ------
    SpecError
        If it has a control character, or is not as `fits` says.
    """
    if any(unicodedata.category(sign) in ("Cc", "Zl", "Zp") for sign in text):
        raise SpecError(f"{key.rstrip()}={text[:60]!r}, but it must be one line. Remove the control characters.")
    if text and fits and not fits.fullmatch(text):
        raise SpecError(f"{key.rstrip()}={text[:60]!r}, but it must be {FORMS[fits]}. Correct it.")


def _texts(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """All texts of a site, each with its key."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield key, str(name)
            yield from _texts(one, f"{key}.{name}")
    elif isinstance(value, tuple):
        for one in value:
            yield from _texts(one, key)


def _found() -> System:
    """The batch system whose programs are here."""
    for system, program in PROGRAMS.items():
        if shutil.which(program):
            return system
    raise LaunchError(
        "There is no sbatch, qsub or flux on the PATH, so this is not a login node of a known cluster. "
        "Log in to one, load its module, or set --site and print the job script with --dry-run."
    )
