"""The settings that a race compares: the default, and every combination of the levels of some factors."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from labkit.errors import SpecError, unknown_name
from labkit.point.spec import BINDINGS, Spec
from labkit.point.units import parse_count
from labkit.run import launch
from labkit.tuning import mpich, openmpi, selection

DEFAULT = "default"
FIELDS = ("launcher", "transport", "bind", "ppn", "device")
SHORT = ("algorithm", "segment", "fanout")  # of a collective, whatever its library calls them
MOST = 200


@dataclass(frozen=True)
class Setting:
    """A way to do the same work.

    Parameters
    ----------
    name : the levels in words, such as ``algorithm=ring``; `DEFAULT` for none.
    fields : fields of a spec that it sets, as pairs.
    environment : variables that it sets, as pairs.
    """

    name: str
    fields: tuple[tuple[str, str | int], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    def of(self, base: Spec) -> Spec:
        """Return the spec of the same work in this setting."""
        variables = {**dict(base.environment), **dict(self.environment)}
        fields: dict[str, object] = dict(self.fields)
        return base.replace(**fields, environment=variables)


def settings(benchmark: str, factors: Mapping[str, Sequence[str | int]], launcher: str = "auto") -> list[Setting]:
    """Return the default and every combination of the levels of factors.

    Parameters
    ----------
    factors : name → levels: a field of `FIELDS`, ``env.NAME``, or for a collective ``algorithm`` (names, numbers or
        ``all``), ``segment`` (B) and ``fanout``.
    launcher : what starts the ranks; its library decides what ``algorithm`` means.

    Raises
    ------
    SpecError
        If a factor is none, a level is wrong, or there are more than `MOST` combinations.
    """
    if not factors:
        raise SpecError("There is no factor to tune. Add one, such as --factor algorithm=all.")
    axes = [_axis(benchmark, name, [str(level) for level in levels], launcher) for name, levels in factors.items()]
    count = 1
    for axis in axes:
        count *= len(axis)
    if count > MOST:
        raise SpecError(f"The factors have {count} combinations, but a race takes at most {MOST}. Leave levels out.")
    combined = [_combined(benchmark, levels) for levels in itertools.product(*axes)]
    for level in (one for axis in axes for one in axis if one.environment):
        if not any(set(level.environment) & set(one.environment) for one in combined):
            raise SpecError(
                f"--factor {level.name}, but no algorithm of the race reads it. Add such as --factor algorithm="
                f"{','.join(_reading(benchmark, level, launcher)) or 'NAME'}."
            )
    return [Setting(DEFAULT), *(one for one in dict.fromkeys(combined) if one.fields or one.environment)]


def inherited(every: Sequence[Setting]) -> dict[str, str]:
    """Return variables of the environment that the default has too, although the settings are about them.

    With a rules file in them, Open MPI 4.1 does not even heed the algorithms of the settings.
    """
    about = {name for one in every for name, _ in one.environment}
    if any(openmpi.VARIABLE.fullmatch(name) for name in about):
        about |= {f"OMPI_MCA_{name}" for name in (openmpi.DYNAMIC, openmpi.RULES, openmpi.FILES)}
    if any(name.startswith("MPIR_CVAR_") for name in about):
        about.add(selection.FILE)
    return {name: os.environ[name] for name in sorted(about) if name in os.environ}


def _combined(benchmark: str, levels: Sequence[Setting]) -> Setting:
    """Return several settings as one, without the levels that its algorithm of MPICH does not read."""
    variables = {name: value for one in levels for name, value in one.environment}
    unread = mpich.unread(benchmark, variables)
    variables = {name: value for name, value in variables.items() if name not in unread}
    levels = [one for one in levels if one.fields or not one.environment or {k for k, _ in one.environment} - unread]
    if any(openmpi.VARIABLE.fullmatch(name) for name in variables):  # Open MPI ignores the others without it
        variables = {f"OMPI_MCA_{openmpi.DYNAMIC}": "1"} | variables
    fields = tuple(pair for one in levels for pair in one.fields)
    return Setting(", ".join(one.name for one in levels), fields, tuple(sorted(variables.items())))


def _axis(benchmark: str, name: str, levels: Sequence[str], launcher: str) -> list[Setting]:
    """Return a setting for each level of a factor."""
    if not levels:
        raise SpecError(f"--factor {name} has no levels. Write it like --factor {name}=A,B.")
    if name.startswith("env."):
        variable = name.removeprefix("env.")
        if not variable.isidentifier():
            raise SpecError(f"--factor {name}: {variable!r} is not the name of a variable. Write it like env.UCX_TLS.")
        return [Setting(f"{variable}={level}", environment=((variable, level),)) for level in levels]
    if name in FIELDS:
        return [Setting(f"{name}={level}", fields=((name, _field(name, level)),)) for level in levels]
    if name in SHORT:
        return _of_collective(benchmark, name, levels, launcher)
    if name.startswith(launch.SETTINGS):
        raise SpecError(f"--factor {name} is a variable. Write it like --factor env.{name}={','.join(levels)}.")
    try:
        raise unknown_name("factor", name, [*SHORT, *FIELDS, "env.NAME"])
    except SpecError as error:
        raise SpecError(f"{error} A setting must not change the work, so options of the benchmark are none.") from None


def _field(name: str, level: str) -> str | int:
    """Return the value of a field of a spec."""
    if name == "bind" and level not in BINDINGS:
        raise unknown_name("bind", level, BINDINGS)
    if name == "ppn":
        count = parse_count(level)
        if count is None:
            raise SpecError(f"--factor ppn={level}, but it must be a whole number. Set for example ppn=1,2.")
        return count
    return level


def _of_collective(benchmark: str, name: str, levels: Sequence[str], launcher: str) -> list[Setting]:
    """Return the settings of a collective's algorithm, its segment or its fan-out, in the words of its library."""
    chosen = launch.get(launcher)
    program, what = chosen.of.program if chosen.of else chosen.program, openmpi.collective(benchmark)
    if chosen.kind == "openmpi" and what:
        return _of_openmpi(what, name, levels, program)
    if chosen.kind == "mpich" and name == "algorithm" and benchmark.startswith("mpi."):
        every = mpich.algorithms(program, benchmark)
        if list(levels) == ["all"]:
            words = every
        else:
            more = (*every, *(mpich.nonblocking(program, benchmark) if "nb" in every else ()))
            words = tuple(mpich.checked(level, more) for level in levels)
        return [
            Setting(f"algorithm={word}", environment=tuple(mpich.chosen(benchmark, word).items())) for word in words
        ]
    if chosen.kind == "mpich" and what and (variables := mpich.parameters(program, benchmark, name)):
        _whole(name, levels)
        return [Setting(f"{name}={level}", environment=tuple((one, level) for one in variables)) for level in levels]
    raise SpecError(
        f"--factor {name}, but labkit knows none of {benchmark} in {chosen.library}. Name the library's variable: "
        "--factor env.NAME=A,B."
    )


def _of_openmpi(what: str, name: str, levels: Sequence[str], program: str) -> list[Setting]:
    """Return the settings of one of Open MPI's tuned collectives."""
    prefix = f"OMPI_MCA_coll_tuned_{what}_algorithm"
    if name == "algorithm":
        names = openmpi.algorithms(program, what)
        words = {number: word for word, number in names.items()}
        numbers = list(words) if list(levels) == ["all"] else [openmpi.numbered(one, names, what) for one in levels]
        return [Setting(f"algorithm={words[one]}", environment=((prefix, str(one)),)) for one in numbers]
    _whole(name, levels)
    suffix = "segmentsize" if name == "segment" else f"{openmpi.COLLECTIVES[what].fanout}_fanout"
    return [Setting(f"{name}={level}", environment=((f"{prefix}_{suffix}", level),)) for level in levels]


def _whole(name: str, levels: Sequence[str]) -> None:
    """Refuse a segment or a fan-out that is not a whole number."""
    wrong = [level for level in levels if parse_count(level) is None]
    if wrong:
        example = f"{name}=2,4" if name == "fanout" else f"{name}=0,8192"
        raise SpecError(f"--factor {name}={wrong[0]}, but it must be a whole number. Set for example {example}.")


def _reading(benchmark: str, level: Setting, launcher: str) -> list[str]:
    """Return the algorithms of MPICH that read a level's variables."""
    chosen = launch.get(launcher)
    program = chosen.of.program if chosen.of else chosen.program
    every = (*mpich.algorithms(program, benchmark), *mpich.nonblocking(program, benchmark))
    variables = dict(level.environment)
    return [one for one in every if set(variables) - mpich.unread(benchmark, variables | mpich.chosen(benchmark, one))]
