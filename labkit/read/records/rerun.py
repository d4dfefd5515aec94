"""The command that measures a point again."""

from __future__ import annotations

import shlex
from dataclasses import fields

from labkit import benchmarks
from labkit.benchmarks import CollectiveBenchmark
from labkit.point.spec import Spec
from labkit.read.records.factors import level

IMPORT = "labkit import FILE   # FILE: what the tool prints in another run"
_FLAGS = {name: f"--{name}" for name in ("ranks", "ppn", "launcher", "transport", "device", "bind")}


def words(spec: Spec) -> list[str]:
    """Return ``labkit measure …`` for a spec without its size and its launches: what differs from the defaults.

    For a collective, it always includes ``--ranks``.
    """
    usual = Spec(benchmark=spec.benchmark)
    if spec.launcher == "none":  # a tool, or a simulation
        usual = usual.replace(launcher="none")
    out = ["labkit", "measure", spec.benchmark]
    known = benchmarks.get(spec.benchmark)
    for name, flag in _FLAGS.items():
        value = getattr(spec, name)
        shown = value != getattr(usual, name)
        if name == "ranks":
            shown = isinstance(known, CollectiveBenchmark) or (shown and not known.single)
        if shown:
            out += [flag, str(value)]
    if spec.hosts and spec.testbed == usual.testbed:
        out += ["--hosts", ",".join(spec.hosts)]
    if spec.testbed != usual.testbed:
        out += ["--testbed", spec.testbed]
    options = {one.name for one in fields(known.options)}
    for name, value in benchmarks.identity(spec).values.items():
        if name in options and value is not None:  # a log may state other values, or none
            out += ["-o", f"{name}={level(value)}"]
    for name, variable in spec.environment:
        out += ["--factor", f"env.{name}={variable}{';' if ',' in variable else ''}"]
    return out


def imported(spec: Spec) -> bool:
    """Return whether a spec is of a point that labkit did not measure."""
    return spec.launcher == "unknown"


def command(spec: Spec, *more: str) -> str:
    """Return the command that measures a spec again.

    Parameters
    ----------
    more : further words of the command.

    Examples
    --------
    >>> command(Spec(benchmark="mpi.latency", size=64, transport="tcp"), "-x", "500")
    'labkit measure mpi.latency -m 64 --transport tcp -x 500'
    """
    if imported(spec):
        return IMPORT
    out = words(spec)
    sized = ["-m", str(spec.size)] if benchmarks.get(spec.benchmark).sized else []
    return shlex.join([*out[:3], *sized, *out[3:], *more])
