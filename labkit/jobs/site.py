"""A site: what differs from cluster to cluster, one TOML file each."""

from __future__ import annotations

import dataclasses
import os
import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from labkit.batch import HOME
from labkit.errors import LaunchError, SpecError, known
from labkit.spec import validated

SITES, SITE = HOME / "templates" / "sites", "LABKIT_SITE"
System = Literal["slurm", "pbs", "flux"]
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

    @property
    def folder(self) -> Path | None:
        """Where campaigns go; None for the usual place.

        Raises
        ------
        SpecError
            If it names a variable that is not set.
        """
        text = os.path.expandvars(self.scratch)
        if "$" in text:
            raise SpecError(f"scratch={self.scratch!r} names a variable that is not set here. Set it, or write it out.")
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


def _folders() -> tuple[Path, Path]:
    own = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return own / "labkit" / "sites", SITES


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
    places = [Path(name)] if name.endswith(".toml") else [folder / f"{name}.toml" for folder in _folders()]
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
        held = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SpecError(f"site {path} cannot be read: {error}. Correct the file.") from error
    _known(held, Site, f"site {path}")
    partitions = held.get("partitions", {})
    if not isinstance(partitions, dict) or not all(isinstance(one, dict) for one in partitions.values()):
        raise SpecError(f"site {path}: partitions must be tables, as in [partitions.short]. Correct the file.")
    made = {name: _partition(one, f"site {path}, partition {name}") for name, one in partitions.items()}
    return dataclasses.replace(
        validated(Site, {key: value for key, value in held.items() if key != "partitions"}, what=f"site {path}"),
        partitions=made,
    )


def _partition(values: Mapping[str, Any], what: str) -> Partition:
    _known(values, Partition, what)
    return validated(Partition, values, what=what)


def _known(held: Mapping[str, Any], kind: type[Site | Partition], what: str) -> None:
    """Refuse keys that are not there, naming those that are alike."""
    have = [f.name for f in dataclasses.fields(kind)]
    for key in held:
        if key not in have:
            raise SpecError(f"{what}: {known('key', key, have)}")


def _found() -> System:
    """The batch system whose programs are here."""
    for system, program in PROGRAMS.items():
        if shutil.which(program):
            return system
    raise LaunchError(
        "There is no sbatch, qsub or flux on the PATH, so this is no login node of a cluster that labkit knows. "
        "Log in to one, load its module, or name a --site and print its job script with --dry-run."
    )
