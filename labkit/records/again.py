"""The command that measures a point again."""

from __future__ import annotations

import shlex

from labkit import benchmarks
from labkit.errors import LabkitError
from labkit.records.factors import level
from labkit.spec import Spec

_FLAGS = {"ranks": "--ranks", "ppn": "--ppn", "transport": "--transport", "device": "--device", "bind": "--bind"}


def words(spec: Spec) -> list[str]:
    """Return ``labkit measure …`` for a spec without its size and its launches: what differs from the defaults."""
    usual = Spec(benchmark=spec.benchmark)
    out = ["labkit", "measure", spec.benchmark]
    single = benchmarks.get(spec.benchmark).single
    for name, flag in _FLAGS.items():
        value = getattr(spec, name)
        if value != getattr(usual, name) and not (single and name == "ranks"):
            out += [flag, str(value)]
    if spec.hosts and spec.testbed == usual.testbed:
        out += ["--hosts", ",".join(spec.hosts)]
    if spec.testbed != usual.testbed:
        out += ["--testbed", spec.testbed]
    try:
        default = dict(benchmarks.completed(usual).options)
    except LabkitError:
        default = {}
    for name, value in benchmarks.identity(spec).options:
        if name in default and value is not None and default[name] != value:  # a log may state others, or nothing
            out += ["-o", f"{name}={level(value)}"]
    for name, variable in spec.environment:
        out += ["--factor", f"env.{name}={variable}{';' if ',' in variable else ''}"]
    return out


def command(spec: Spec, *more: str, sizes: str = "") -> str:
    """Return the command that measures a spec again.

    Parameters
    ----------
    more : further words of the command.
    sizes : in the place of its size.

    Examples
    --------
    >>> command(Spec(benchmark="mpi.latency", size=64, transport="tcp"), "-x", "500")
    'labkit measure mpi.latency -m 64 --transport tcp -x 500'
    """
    out = words(spec)
    sized = ["-m", sizes or str(spec.size)] if benchmarks.get(spec.benchmark).sized else []
    return shlex.join([*out[:3], *sized, *out[3:], *more])
