"""The files that libraries read, with the settings that were confirmed to be faster."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from labkit import benchmarks
from labkit.errors import DataError
from labkit.io import atomic, beneath, safe_read
from labkit.point.spec import Spec
from labkit.point.units import format_share, format_size, plural
from labkit.run import launch
from labkit.tuning import mpich, openmpi, selection
from labkit.tuning.openmpi import Rule
from labkit.tuning.outcome import Tuned, Written
from labkit.tuning.plan import Plan
from labkit.tuning.selection import Choice, Own
from labkit.tuning.settings import Setting

RULES, PARAMETERS = "openmpi-tuned.rules", "openmpi-mca-params.conf"
SELECTION = "mpich-selection.json"
# beginning of a variable → file of variables that a shell reads
SHELL = {"MPIR_CVAR_": "mpich.env", "UCX_": "ucx.env", "FI_": "libfabric.env", "I_MPI_": "intelmpi.env"}
NAMES = (RULES, PARAMETERS, SELECTION, *SHELL.values(), "other.env")
_MCA = "OMPI_MCA_"
_WRITTEN = re.compile(r"# Written by labkit tune (\S+) for (.+)\. Each")  # how `_head` begins
_BINDING = "hwloc_base_binding_policy"  # of Open MPI 4


def write(folder: Path, plan: Plan, tuned: Sequence[Tuned], *, within: Path | None = None) -> Written:
    """Write the files for all claims into a folder, and remove those of an earlier result.

    Nothing outside the folder is touched. A setting that the library cannot make depend on the size is written only if
    it is the claim of every point.

    Parameters
    ----------
    within : campaign that holds the folder, which then must be no link; None for a folder that the user chose.

    Raises
    ------
    DataError
        If a file cannot be written, or is a link.
    """
    own = _own(tuned[0].base)
    rules, variables, left_out = _contents(plan, tuned, own)
    texts: dict[str, str] = {}
    head = _head(tuned)
    choices = [one for one in rules if isinstance(one, Choice)]
    if own and any(one.algorithm for one in choices):
        texts[SELECTION] = selection.text(own, choices)
        variables = {selection.FILE: str(_place(folder) / SELECTION)} | variables
    numbered = [one for one in rules if isinstance(one, Rule)]
    if any(one.algorithm for one in numbered):
        texts[RULES] = openmpi.text(numbered, head)
        variables = {f"{_MCA}{openmpi.DYNAMIC}": "1", f"{_MCA}{openmpi.RULES}": str(_place(folder) / RULES)} | variables
    mca = {name.removeprefix(_MCA): value for name, value in variables.items() if name.startswith(_MCA)}
    if mca:
        texts[PARAMETERS] = _lines(head, [f"{name} = {value}" for name, value in mca.items()])
    for prefix, name in SHELL.items():
        if rows := [f"export {k}={shlex.quote(v)}" for k, v in variables.items() if k.startswith(prefix)]:
            texts[name] = _lines(head, rows)
    known = (_MCA, *SHELL)
    if rows := [f"export {k}={shlex.quote(v)}" for k, v in variables.items() if not k.startswith(known)]:
        texts["other.env"] = _lines(head, rows)
    reads = {name: value for name, value in variables.items() if not name.startswith(_MCA)}
    if mca:
        reads |= listed(_place(folder) / PARAMETERS, tuned[0].base.launcher)
    return replace(_put(folder, within, texts), reads=tuple(reads.items()), left_out=tuple(left_out))


def listed(parameters: Path, launcher: str) -> dict[str, str]:
    """Return the variable that makes Open MPI read a parameter file before the user's and the site's.

    The variable replaces the whole list of files, so it must name the others too. Without them, ranks lose the site's
    settings, such as Debian's ``pml = ^ucx``.

    Raises
    ------
    LaunchError
        If ``ompi_info`` in the launcher's folder does not list the files.
    """
    chosen = launch.get(launcher)
    others = openmpi.param_files(chosen.of.program if chosen.of else chosen.program)
    every = [str(parameters), *(one for one in others if one != str(parameters))]
    return {f"{_MCA}{openmpi.FILES}": ",".join(every)}


def _put(folder: Path, within: Path | None, texts: dict[str, str]) -> Written:
    """Write the files, the rules before what names them."""
    top, inside = (within, folder.relative_to(within)) if within else (folder, Path())
    stale = [name for name in NAMES if name not in texts]
    try:
        for name in stale:
            beneath.drop(top, str(inside / name))
        for name, text in texts.items():
            beneath.put(top, str(inside / name), text, durable=True)
    except OSError as error:
        raise atomic.unwritable(folder, error) from error
    whole = "".join(texts.values())
    return Written(
        paths=tuple(folder / name for name in texts),
        digest=hashlib.sha256(whole.encode()).hexdigest()[:12] if whole else "",
    )


def check(folder: Path, base: Spec, *, within: Path | None = None) -> None:
    """Refuse a folder that cannot hold the files, before the work for them begins.

    Parameters
    ----------
    base : a spec of what is tuned.
    within : as in `write`.

    Raises
    ------
    DataError
        If something else has its name, it cannot be written to, Open MPI could not read its path, or it has files for
        another benchmark or library, which would be lost.
    """
    if within:
        beneath.refuse_links(within, folder.name)
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is not a folder, and the files for the library go there. Set --output.")
    _place(folder)
    for name in NAMES:
        beneath.refuse_links(folder, name)
        earlier = _WRITTEN.match(safe_read.text(folder / name, "replace")) if (folder / name).is_file() else None
        library = launch.get(base.launcher).library
        if earlier and (earlier[1], earlier[2].split()[0]) != (base.benchmark, library.split()[0]):
            raise DataError(
                f"{folder / name} is for {earlier[1]} with {earlier[2]}, and would be replaced by a file for "
                f"{base.benchmark} with {library}. Set --output to another folder."
            )
    there = next(one for one in (folder, *folder.absolute().parents) if one.is_dir())
    try:
        with tempfile.TemporaryDirectory(prefix=".labkit-", dir=there):
            pass
    except OSError as error:
        raise DataError(
            f"{folder}, where the files for the library go, cannot be written: {error.strerror or error} ({there}). "
            "Set --output to a folder that you can write to."
        ) from error


def present(folder: Path, digest: str, reads: Mapping[str, str]) -> Written:
    """Return the files that an earlier call wrote into a folder.

    Parameters
    ----------
    digest : digest of the files when ranks last read them; empty if they never did.
    reads : variables used for that.
    """
    paths = tuple(folder / name for name in NAMES if (folder / name).is_file())
    return Written(paths=paths, reads=tuple(reads.items()) if digest else (), digest=digest)


def of_programs(base: Spec) -> Spec:
    """Return a spec whose ranks read the files as users' programs do.

    Within a host, a program takes the path that the library chooses. If labkit forced shared memory, it would hide that
    the library chooses another path with these files.
    """
    return base.replace(transport="auto") if base.transport == "shm" else base


def line(written: Written, command: Sequence[str], variables: Mapping[str, str]) -> str:
    """Return a shell line that starts a command with the files in effect.

    Parameters
    ----------
    variables : further variables that the command needs.

    Examples
    --------
    >>> written = Written(reads=(("OMPI_MCA_mca_base_param_files", "/a/b.conf,/c.conf"),))
    >>> line(written, ["mpirun", "-np", "2", "PROGRAM"], {})
    'OMPI_MCA_mca_base_param_files=/a/b.conf,/c.conf mpirun -np 2 PROGRAM'
    """
    scripts = [path for path in written.paths if path.suffix == ".env"]
    sourced = "".join(f". {shlex.quote(os.path.realpath(one))} && " for one in scripts)
    given = dict(variables) | {name: value for name, value in written.reads if name.startswith(_MCA)}
    return sourced + " ".join([*(f"{name}={shlex.quote(value)}" for name, value in given.items()), shlex.join(command)])


def _place(folder: Path) -> Path:
    """Return the absolute path of a folder; Open MPI's lists of files are separated by commas."""
    place = Path(os.path.realpath(folder))
    if "," in str(place) or "\n" in str(place):
        raise DataError(f"{place} has a comma or a line end in its path, which Open MPI cannot read. Set --output.")
    return place


def _head(tuned: Sequence[Tuned]) -> list[str]:
    """Return the comment at the beginning of a file: for which system, and what was confirmed."""
    first = tuned[0].base
    library = launch.get(first.launcher).library
    lines = [
        f"Written by labkit tune {first.benchmark} for {library}. Each setting was confirmed",
        "to be faster than the default, in launches that took turns. Measure again after a change of the system.",
    ]
    for one in tuned:
        if one.claimed and one.confirmed is not None:
            ratio = one.confirmed
            low, high = format_share(1 - ratio.ratio_high), format_share(1 - ratio.ratio_low)
            lines.append(f"{point(one.base)}: time shorter by {low} to {high} (95 %)" if _cost(one.base) else "")
    return [line for line in lines if line]


def _cost(base: Spec) -> bool:
    """Whether the tuned metric is a time."""
    return next(iter(benchmarks.get(base.benchmark).metrics)).startswith("latency")


def point(base: Spec) -> str:
    """Return size and ranks of a point in words."""
    size = f"{format_size(base.size)}, " if benchmarks.get(base.benchmark).sized else ""
    return f"{size}{plural(base.ranks, 'rank')}"


def _lines(head: Sequence[str], rows: Sequence[str]) -> str:
    """Return comment and lines as a text."""
    return "\n".join([*(f"# {line}" for line in head), *rows]) + "\n"


def _own(base: Spec) -> Own | None:
    """Return the selection of MPICH that rules are put into; None for another library, or if it is not found."""
    chosen = launch.get(base.launcher)
    return selection.own(chosen.of.program if chosen.of else chosen.program) if chosen.kind == "mpich" else None


def _contents(
    plan: Plan, tuned: Sequence[Tuned], own: Own | None
) -> tuple[list[Rule | Choice], dict[str, str], list[str]]:
    """Return the rules, the variables that hold at every point, and the settings left out, with the reason."""
    rules: list[Rule | Choice] = []
    everywhere: list[dict[str, str]] = []
    left_out: list[str] = []
    for one in tuned:
        rule, variables = _split(one.base, plan.settings[one.winner if one.claimed or one.tied else 0], own)
        if rule is not None:
            rules.append(rule if one.claimed else _without(rule))
        everywhere.append(variables)
    if not any(one.claimed for one in tuned):
        return rules, {}, []
    common = everywhere[0] if everywhere else {}
    for variables in everywhere:
        common = dict(common.items() & variables.items())
    for n, (one, variables) in enumerate(zip(tuned, everywhere, strict=True)):
        if one.claimed and set(variables) - set(common):
            left_out.append(
                f"{plan.settings[one.winner].name} is faster at {point(one.base)}, but not at every point, and the "
                "library has no rule for all of it by size"
            )
            if rules:  # the claim is about the whole setting
                rules[n] = _without(rules[n])
    return rules, _of_library({key: common[key] for key in sorted(common)}, tuned[0].base, left_out), left_out


def parts(plan: Plan, bases: Sequence[Spec]) -> list[list[frozenset[tuple[str, str]]]]:
    """Return the variables and fields of each setting that have no rule by size, (points, settings)."""
    own = _own(bases[0])
    return [[frozenset(_split(base, setting, own)[1].items()) for setting in plan.settings] for base in bases]


def _split(base: Spec, setting: Setting, own: Own | None) -> tuple[Rule | Choice | None, dict[str, str]]:
    """Return a setting's rule by size at a point, and its variables and fields without such a rule."""
    name, variables = openmpi.collective(base.benchmark), dict(setting.environment)
    rule: Rule | Choice | None = None
    if name and launch.get(base.launcher).kind == "openmpi":
        rule, variables = _rule(name, base, variables, setting.name)
    elif own and name:
        rule, variables = _choice(base, variables, own)
    return rule, variables | {f"{field}:": str(value) for field, value in setting.fields}


def _of_library(common: dict[str, str], base: Spec, left_out: list[str]) -> dict[str, str]:
    """Return variables of the library in place of fields of a spec; what has none is left out."""
    variables = {}
    for key, value in common.items():
        if not key.endswith(":"):
            variables[key] = value
        elif (
            key == "bind:" and launch.get(base.launcher).kind == "openmpi" and launch.get(base.launcher).version < (5,)
        ):
            variables[f"{_MCA}{_BINDING}"] = value
        else:
            left_out.append(
                f"{key.removesuffix(':')}={value} is in no file of the library. Set it when you start the ranks"
            )
    return variables


def _rule(name: str, base: Spec, variables: dict[str, str], label: str) -> tuple[Rule, dict[str, str]]:
    """Return the rule that a setting's variables of the collective make, and its other variables.

    A segment or a fan-out without an algorithm has no rule: the library's own decision brings its own.
    """
    prefix, rest = f"{_MCA}coll_tuned_{name}_algorithm", dict(variables)
    algorithm = int(rest.get(prefix, "0"))
    if not algorithm:
        return Rule(name, base.ranks, base.size, 0), rest
    rest.pop(f"{_MCA}{openmpi.DYNAMIC}", None)
    del rest[prefix]
    segment = int(rest.pop(f"{prefix}_segmentsize", "0"))
    fanout = int(rest.pop(f"{prefix}_{openmpi.COLLECTIVES[name].fanout}_fanout", str(openmpi.FANOUT)))
    return Rule(name, base.ranks, base.size, algorithm, fanout, segment, label), rest


def _choice(base: Spec, variables: dict[str, str], own: Own) -> tuple[Choice, dict[str, str]]:
    """Return what MPICH's file says at a point, and the variables that it cannot say."""
    variable = mpich.variable(base.benchmark)
    made = selection.choice(base.benchmark, base.ranks, base.size, variables.get(variable, ""), own)
    if made is None:
        return Choice(openmpi.collective(base.benchmark), base.ranks, base.size), variables
    return made, {name: value for name, value in variables.items() if name != variable}


def _without(rule: Rule | Choice) -> Rule | Choice:
    """Return a rule that leaves its sizes to the library."""
    return replace(rule, algorithm=0) if isinstance(rule, Rule) else replace(rule, algorithm="")
