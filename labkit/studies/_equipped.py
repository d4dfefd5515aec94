"""Base of the studies that leave out what no installed tool can measure."""

from __future__ import annotations

from functools import cached_property

from labkit import benchmarks, studies, tools
from labkit.benchmarks import ToolBenchmark
from labkit.errors import LaunchError
from labkit.spec import Spec


class Study(studies.Study):
    """A study that measures what the installed tools can, and names the tools that are missing."""

    def wanted_specs(self) -> list[Spec]:
        """Points to measure where every tool is installed."""
        raise NotImplementedError

    def specs(self) -> list[Spec]:
        """Return the requested specs that the installed tools can measure; all of them if the study only reads."""
        return [spec for spec, reason in self._reasons.items() if not reason]

    @property
    def lacking(self) -> list[str]:
        """Which tools are missing, and how to install them: a line for each benchmark and tool."""
        return list(dict.fromkeys(reason.splitlines()[0] for reason in self._reasons.values() if reason))

    @cached_property
    def _reasons(self) -> dict[Spec, str]:
        """The requested specs, each with the reason why it cannot be measured here; empty if it can."""
        return {spec: self._reason(spec) if self.values.measure else "" for spec in self.wanted_specs()}

    def _reason(self, spec: Spec) -> str:
        if not isinstance(benchmarks.get(spec.benchmark), ToolBenchmark):
            return ""
        try:
            tools.available(benchmarks.tools_of(spec.benchmark), benchmarks.resolve(spec), self.effort)
        except LaunchError as error:
            return str(error)
        return ""
