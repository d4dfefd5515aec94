"""Streams of iperf3 in both directions beside the messages of sockperf, between the same hosts."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from labkit.formats import iperf3 as layout
from labkit.options.sockets import UnderStreams
from labkit.point import notes
from labkit.point.spec import Effort, Spec
from labkit.tools import Invocation, Parsed, _tool, iperf3

_LONGER_S = 2.0  # for which the streams go on after the last message
_CALL_B = 128 * 1024


def beside(paced: Invocation, spec: Spec[UnderStreams], effort: Effort) -> Invocation:
    """Return a run of sockperf under load, with `streams` connections each way."""
    options = spec.options
    seconds = round(paced.duration + _LONGER_S)
    control = ["-C", options.congestion] if options.congestion else []
    pour = ["iperf3", "--bidir", "-P", str(options.streams), "-t", str(seconds), "-l", str(_CALL_B), *control, "-J"]

    def parsed(text: str, folder: Path) -> Parsed:
        if not text.lstrip().startswith("{"):
            return paced.parse(text, folder)
        moved = layout.moved(text).get("received_B", 0)
        return Parsed(reported=tuple(v for v in layout.both(text) if v.t is None), facts={"payload_B": moved})

    return replace(
        paced,
        tool=replace(paced.tool, package=f"{paced.tool.package} {iperf3.TOOL.package}"),
        needs=(*paced.programs, *iperf3.TOOL.programs),
        libraries=(f"iperf3 {_tool.version('iperf3')}",),
        server=("sh", "-c", 'exec {server} "$@"', "sh", "{place}", "{address}", "-p", "{port}"),
        client=("sh", "-c", 'exec {client} "$@"', "sh", "{peer}", "{address}", "-p", "{port}"),
        each=(
            {
                "server": _text(paced.server),
                "client": _text(paced.client),
                "place": "-i",
                "peer": "-i",
                "listens": paced.listens,
            },
            {"server": "iperf3 -s -1", "client": shlex.join(pour), "place": "-B", "peer": "-c", "listens": "tcp"},
        ),
        parse=parsed,
        combine=_combined,
        definition=f"{paced.definition} Meanwhile iperf3 --bidir -P {options.streams} between the same hosts.",
        duration=float(seconds),
        time_limit=seconds + effort.time_limit,
    )


def _text(command: Sequence[str]) -> str:
    """Return a command of sockperf for a shell, without its address and port, which come last."""
    words = list(command)
    for name in ("-i", "-p"):
        at = words.index(name)
        del words[at : at + 2]
    return shlex.join(words)


def _combined(parts: Sequence[Parsed]) -> Parsed:
    """The samples of the messages, with what the streams moved."""
    messages, streams = parts
    return replace(
        messages,
        reported=(*messages.reported, *streams.reported),
        facts={**messages.facts, **streams.facts},
        warnings=notes.once(part.warnings for part in parts),
    )
