"""This machine, the hosts a launcher reaches from it, and in a Slurm job its hosts.

Hosts of a job on ``labkit testbed up slurm`` have the links of that testbed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from labkit import testbeds
from labkit.errors import SpecError
from labkit.host.machine import EMULATED
from labkit.point.spec import Spec
from labkit.testbeds import Kind, Testbed, _job, _rdma
from labkit.tools import Place


def outline(argument: str, options: Mapping[str, str]) -> Testbed:
    """Refuse arguments and options; its place refuses hosts that the job does not have."""
    if argument or options:
        raise SpecError(f"the testbed local takes no argument and no options, but got {argument!r}, {dict(options)}.")

    def place(spec: Spec) -> Place:
        hosts(spec)
        return Place()

    return Testbed("local", place=place, facts=_links())


@contextmanager
def open(argument: str, options: Mapping[str, str]) -> Iterator[Testbed]:
    """Yield the testbed; there is nothing to bring up."""
    outline(argument, options)
    yield Testbed("local", place=_place, facts=_links())


def _links() -> Mapping[str, Any]:
    """Return the facts of the testbed that this job runs on; empty for real hosts."""
    emulated = os.environ.get(EMULATED)
    return testbeds.outline(emulated).facts if emulated else {}


def hosts(spec: Spec) -> tuple[str, ...]:
    """Return the hosts of a tool in a Slurm job, the client's first; empty if all of it runs on this machine."""
    return _job.hosts(spec)


def _place(spec: Spec) -> Place:
    return _job.place(spec) if _job.hosts(spec) else _rdma.place(spec)


TESTBED = Kind(open=open, outline=outline)
