"""nbdkit: a block device that another process or host serves over TCP (NBD protocol); fio reads and writes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from labkit.formats import fio as layout
from labkit.host import VERSION
from labkit.options.storage import Network
from labkit.point.spec import Effort, Spec
from labkit.point.storage import Access
from labkit.tools import Facts, Invocation, Parsed, Tool, fio, fit, this_machine

TOOL = Tool(
    name="nbdkit",
    commands=("nbdkit",),
    pattern=rf"nbdkit {VERSION}",
    package="nbdkit",
    programs=("nbdkit", "fio"),
    format=layout,
    purpose="storage.network_read and storage.network_write",
)
_DATA = "data"


def read(spec: Spec[Network], effort: Effort) -> Invocation:
    """Reads of the spec's size from a device that nbdkit serves."""
    return _invocation(spec, effort, "read")


def write(spec: Spec[Network], effort: Effort) -> Invocation:
    """Writes of the spec's size to a device that nbdkit serves."""
    return _invocation(spec, effort, "write")


def _invocation(spec: Spec[Network], effort: Effort, direction: layout.Direction) -> Invocation:
    file_size, backing = int(spec.options.file_size), spec.options.backing
    address = "[{address}]" if spec.options.ip == "ipv6" else "{address}"
    words = {
        "file": "is the server's: the file was written before, and memory may answer",
        "memory": "is not asked: the server holds the blocks in its own memory",
    }
    access = Access(page_cache=words[backing], cached=True)
    job = fio.run(spec, effort, direction, "nbd", [f"--uri=nbd://{address}:{{port}}/"], access)

    def prepare(folder: Path) -> Facts:
        if backing == "memory":
            return access.facts(folder, file_size) | {
                "filesystem": "memory of nbdkit",
                "device": "",
                "mount_options": "",
            }
        facts = fit(folder, access, file_size)
        (folder / _DATA).write_bytes(np.random.default_rng(effort.seed).bytes(file_size))  # a hole would cost nothing
        return facts

    def parsed(text: str, folder: Path) -> Parsed:
        result = job.parse(text, folder)
        return replace(result, facts={"payload_B": int(result.time_ns.size) * spec.size})

    return replace(
        job,
        parse=parsed,
        tool=replace(TOOL, package=f"{TOOL.package} {fio.TOOL.package}"),
        server=(
            "nbdkit",
            "--foreground",
            "--exit-with-parent",
            "-i",
            "{address}",
            "-p",
            "{port}",
            backing,
            str(file_size) if backing == "memory" else _DATA,
        ),
        address=this_machine(spec),
        prepare=prepare,
        definition="fio over libnbd: latency (lat) of each request to nbdkit; rates are fio's, over its run time.",
    )
