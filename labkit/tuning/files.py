"""The files that libraries read, with the settings that were confirmed to be faster."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from labkit import benchmarks, launch, writing
from labkit.errors import DataError
from labkit.spec import Spec
from labkit.tuning import mpich, openmpi, selection
from labkit.tuning.openmpi import Rule
from labkit.tuning.selection import Choice, Own
from labkit.units import format_share, format_size

if TYPE_CHECKING:
    from labkit.tuning.outcome import Tuned
    from labkit.tuning.plan import Plan

RULES, PARAMETERS = "openmpi-tuned.rules", "openmpi-mca-params.conf"
SELECTION = "mpich-selection.json"
# beginning of a variable → file of variables that a shell reads
SHELL = {"MPIR_CVAR_": "mpich.env", "UCX_": "ucx.env", "FI_": "libfabric.env", "I_MPI_": "intelmpi.env"}
NAMES = (RULES, PARAMETERS, SELECTION, *SHELL.values(), "other.env")
_MCA = "OMPI_MCA_"
_WRITTEN = re.compile(r"# Written by labkit tune (\S+) for (.+)\. Each")  # how `_head` begins
_BINDING = "hwloc_base_binding_policy"  # of Open MPI 4


@dataclass(frozen=True)
class Written:
    """What was written.

    Parameters
    ----------
    paths : of the files, in the order in which they were written.
    parameters : Open MPI's file with parameters, which names the rules; None if there is none.
    variables : of MPICH, with the one that names its selection; empty if there are none.
    digest : of their contents; empty if there are none.
    left_out : settings that are in no file, each with its reason.
    """

    paths: tuple[Path, ...] = ()
    parameters: Path | None = None
    variables: tuple[tuple[str, str], ...] = ()
    digest: str = ""
    left_out: tuple[str, ...] = field(default=())


def write(folder: Path, plan: Plan, tuned: Sequence[Tuned]) -> Written:
    """Write the files for all claims into a folder, and remove those of an earlier result.

    Nothing outside the folder is touched. A setting that the library cannot make depend on the size is written only if
    it is the claim of every point.

    Raises
    ------
    DataError
        If a file cannot be written.
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
    of_mpich = [pair for pair in variables.items() if pair[0].startswith("MPIR_CVAR_")]
    return replace(_put(folder, texts), variables=tuple(of_mpich), left_out=tuple(left_out))


def _put(folder: Path, texts: dict[str, str]) -> Written:
    """Write the files, the rules before what names them."""
    stale = [name for name in NAMES if name not in texts]
    try:
        if texts:
            folder.mkdir(parents=True, exist_ok=True)
        for name in stale:
            (folder / name).unlink(missing_ok=True)
        for name, text in texts.items():
            writing.replace(folder / name, text, durable=True)
    except OSError as error:
        raise writing.unwritable(folder, error) from error
    whole = "".join(texts.values())
    return Written(
        paths=tuple(folder / name for name in texts),
        parameters=_place(folder) / PARAMETERS if PARAMETERS in texts else None,
        digest=hashlib.sha256(whole.encode()).hexdigest()[:12] if whole else "",
    )


def check(folder: Path, base: Spec) -> None:
    """Refuse a folder that cannot hold the files, before the work for them begins.

    Parameters
    ----------
    base : a spec of what is tuned.

    Raises
    ------
    DataError
        If something else has its name, it cannot be written to, Open MPI could not read its path, or it has files for
        another benchmark or library, which would be lost.
    """
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is not a folder, and the files for the library go there. Set --output.")
    _place(folder)
    for name in NAMES:
        earlier = _WRITTEN.match((folder / name).read_text("utf-8", "replace")) if (folder / name).is_file() else None
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


def present(folder: Path, digest: str) -> Written:
    """Return the files that an earlier call wrote into a folder.

    Parameters
    ----------
    digest : of the files when ranks last read them; empty if none did.
    """
    paths = tuple(folder / name for name in NAMES if (folder / name).is_file())
    return Written(
        paths=paths,
        parameters=folder / PARAMETERS if digest and folder / PARAMETERS in paths else None,
        digest=digest,
    )


def reading(written: Written, launcher: str) -> tuple[tuple[str, str], ...]:
    """Return the variables with which ranks read the written files.

    Ranks of Open MPI read them before those of site and user, ranks of MPICH in the place of its own selection.
    """
    if written.parameters is None:
        return written.variables
    chosen = launch.get(launcher)
    before = openmpi.param_files(chosen.of.program if chosen.of else chosen.program)
    return ((f"{_MCA}{openmpi.FILES}", ",".join(filter(None, [str(written.parameters), before]))),)


def sourced(written: Written, command: Sequence[str]) -> list[str]:
    """Return a command line that reads the files of variables first, as a shell does."""
    scripts = [str(path) for path in written.paths if path.suffix == ".env"]
    lines = "".join(f". {shlex.quote(os.path.realpath(one))} && " for one in scripts)
    return ["sh", "-c", f'{lines}exec "$@"', "sh", *command] if scripts else list(command)


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
    return f"{size}{base.ranks} rank{'s' if base.ranks > 1 else ''}"


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
    """Return the rules, the variables that hold at every point, and what is left out with its reason."""
    rules: list[Rule | Choice] = []
    everywhere: list[dict[str, str]] = []
    left_out: list[str] = []
    name = openmpi.collective(tuned[0].base.benchmark)
    for one in tuned:
        setting = plan.settings[one.winner if one.claimed else 0]
        variables = dict(setting.environment)
        if name and launch.get(one.base.launcher).kind == "openmpi":
            rule, variables = _rule(name, one.base, variables, setting.name)
            rules.append(rule)
        elif own and name:
            choice, variables = _choice(one.base, variables, own)
            rules.append(choice)
        variables |= {f"{field}:": str(value) for field, value in setting.fields}
        everywhere.append(variables)
    common = everywhere[0] if everywhere else {}
    for variables in everywhere:
        common = dict(common.items() & variables.items())
    for n, (one, variables) in enumerate(zip(tuned, everywhere, strict=True)):
        if set(variables) - set(common):
            left_out.append(
                f"{plan.settings[one.winner].name} is faster at {point(one.base)}, but not at every point, and the "
                "library has no rule for all of it by size"
            )
            if rules:  # the claim is about the whole setting
                rules[n] = _without(rules[n])
    return rules, _of_library({key: common[key] for key in sorted(common)}, tuned[0].base, left_out), left_out


def _of_library(common: dict[str, str], base: Spec, left_out: list[str]) -> dict[str, str]:
    """Return variables of the library in the place of fields of a spec; what has none is left out."""
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
