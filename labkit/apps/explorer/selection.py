"""The choices of the form, as specs and as the words of `labkit measure`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from labkit import benchmarks
from labkit.errors import LabkitError
from labkit.point.spec import Effort, Scalar, Spec, sweep
from labkit.run import measuring
from labkit.store.samples import Samples

LISTS = ("ranks", "transport", "launcher")  # fields of a spec with comparable levels
PLAIN = ("ppn", "device", "bind", "testbed")  # those with one
_FLAGS = {"time_cap": "--time-cap", "time_limit": "--time-limit", "iterations": "-i", "warmup": "-x"}


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Points to measure.

    Parameters
    ----------
    benchmark : ``family.name``.
    sizes : as `labkit.point.units.parse_sizes` reads them; empty for the benchmark's own sweep.
    levels : field of `Spec` → its levels; those of `LISTS` may have several.
    options : the benchmark's own.
    effort : how long.
    hosts, environment : as in `Spec`.
    """

    benchmark: str
    sizes: str = ""
    levels: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    options: Mapping[str, Scalar] = field(default_factory=dict)
    effort: Effort = dataclasses.field(default_factory=Effort)
    hosts: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, samples: Samples) -> Selection:
        """The selection of one point that was measured."""
        spec = samples.spec
        levels = {name: [getattr(spec, name)] for name in (*LISTS, *PLAIN) if getattr(spec, name) != _usual(name)}
        if spec.launcher == "none":
            levels.pop("launcher")
        if benchmarks.get(spec.benchmark).single:
            levels.pop("ranks", None)
        options = benchmarks.identity(spec).values
        return cls(
            benchmark=spec.benchmark,
            sizes=str(spec.size) if benchmarks.get(spec.benchmark).sized else "",
            levels=levels,
            options=options,
            effort=samples.effort,
            hosts=spec.hosts,
            environment=spec.environment,
        )

    def specs(self) -> list[Spec]:
        """Every point.

        Raises
        ------
        SpecError
            If a size cannot be read or a value is impossible.
        """
        benchmark = benchmarks.get(self.benchmark)
        sizes = (self.sizes or benchmark.sizes) if benchmark.sized else 0
        levels = {"ranks": [1 if benchmark.single else 2]} | {k: list(v) for k, v in self.levels.items()}
        return sweep(
            self.benchmark, sizes=sizes, hosts=self.hosts, environment=self.environment, **levels, **self.options
        )

    def problem(self) -> str:
        """Why this cannot be measured here, as a sentence; empty if it can. Starts nothing."""
        if empty := [name for name, levels in self.levels.items() if not len(levels)]:
            return f"No {empty[0]} is selected. Select at least one."
        try:
            measuring.expand(self.specs(), self.effort)
        except LabkitError as error:
            return str(error)
        return ""

    def words(self) -> list[str]:
        """The command line behind ``labkit`` that measures this."""
        words = ["measure", self.benchmark]
        if self.sizes and benchmarks.get(self.benchmark).sized:
            words += ["-m", self.sizes]
        for name, levels in self.levels.items():
            texts = [str(level) for level in levels]
            if name == "ranks" and len(texts) > 1:
                words += ["--factor", f"ranks={','.join(texts)}"]
            elif texts != [str(_usual(name))]:
                words += [f"--{name}", ",".join(texts)]
        if self.hosts:
            words += ["--hosts", ",".join(self.hosts)]
        for key, value in (*self.options.items(), *((f"env.{k}", v) for k, v in self.environment)):
            if key.startswith("env.") or "," in str(value):
                words += ["--factor", f"{key}={value};"]  # a semicolon keeps commas
            elif value is not None:
                words += ["-o", f"{key}={value}"]
        usual = dataclasses.asdict(Effort())
        for name, value in self.effort.as_dict().items():
            if value is not None and value != usual[name]:
                words += [_FLAGS.get(name, f"--{name}"), str(value)]
        return words


def commands(found: Iterable[Samples]) -> list[list[str]]:
    """The command lines behind ``labkit`` that measure some points: one for all sizes of the same settings.

    Parameters
    ----------
    found : launches of the points; imported, published and simulated ones have no command.
    """
    sizes: dict[tuple[str, ...], dict[int, None]] = {}
    each: dict[tuple[str, ...], Selection] = {}
    for samples in found:
        if samples.origin in ("measured", "reported"):
            one = Selection.of(samples)
            key = tuple(dataclasses.replace(one, sizes="").words())
            each.setdefault(key, one)
            sizes.setdefault(key, {})[samples.spec.size] = None
    return [
        dataclasses.replace(one, sizes=",".join(map(str, sorted(sizes[key])))).words() if one.sizes else one.words()
        for key, one in each.items()
    ]


def _usual(name: str) -> Any:
    """Default of a field of `Spec`."""
    return next(f.default for f in dataclasses.fields(Spec) if f.name == name)
