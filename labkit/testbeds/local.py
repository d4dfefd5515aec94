"""This machine, or the hosts a launcher reaches from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from labkit.errors import SpecError
from labkit.testbeds import Testbed, _rdma


def outline(argument: str, options: Mapping[str, str]) -> Testbed:
    """Refuse arguments and options; nothing is known of the testbed."""
    if argument or options:
        raise SpecError(f"the testbed local takes no argument and no options, but got {argument!r}, {dict(options)}.")
    return Testbed("local")


@contextmanager
def open(argument: str, options: Mapping[str, str]) -> Iterator[Testbed]:
    """Yield the testbed; there is nothing to bring up."""
    outline(argument, options)
    yield Testbed("local", place=_rdma.place)
