"""NVMe over Fabrics in the guest of soft-RoCE: the kernel serves a memory disk over TCP or RDMA to fio."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

from labkit.errors import DataError, SpecError
from labkit.point.spec import Effort, Spec
from labkit.point.storage import Access
from labkit.point.units import KiB
from labkit.tools import Facts, Invocation, Parsed, fio

_SETUP = Path(__file__).parent.parent / "testbeds" / "_nvme.sh"
_MARK = "== log ==\n"
_BEFORE_S = 60.0  # modules and the connection, in an emulated guest


def read(spec: Spec, effort: Effort) -> Invocation:
    """Reads of the spec's size."""
    return _invocation(spec, effort, "read")


def write(spec: Spec, effort: Effort) -> Invocation:
    """Writes of the spec's size."""
    return _invocation(spec, effort, "write")


def _invocation(spec: Spec, effort: Effort, direction: Literal["read", "write"]) -> Invocation:
    if not spec.testbed.startswith("soft-roce"):
        raise SpecError(
            f"testbed={spec.testbed}, but NVMe over Fabrics is set up in the guest of the testbed soft-roce only. Set "
            "testbed=soft-roce."
        )
    fabric, file_size = spec.option("fabric"), spec.option("file_size")
    access = Access(page_cache="is bypassed with O_DIRECT; the blocks are in memory", cached=False, o_direct=True)
    engine = "psync" if spec.option("depth") == 1 else "libaio"
    job = fio.run(spec, effort, direction, engine, ["--direct=1"], access)

    def prepare(folder: Path) -> Facts:
        facts = access.facts(folder, file_size)
        return facts | {"filesystem": "memory disk of the guest (brd)", "device": "", "mount_options": ""}

    def parsed(text: str, folder: Path) -> Parsed:
        output, mark, log = text.partition(_MARK)
        if not mark:
            raise DataError(f"fio's log is missing after its output {text[-200:]!r}. Run it again.")
        (folder / fio.LOG).write_text(log)
        result = job.parse(output, folder)
        return replace(result, facts={"payload_B": int(result.time_ns.size) * spec.size * (fabric != "local")})

    return replace(
        job,
        client=("sh", str(_SETUP), fabric, str(file_size // KiB), *job.client),
        parse=parsed,
        prepare=prepare,
        definition="fio on a block device: latency (lat) of each request; the kernel is NVMe target and host.",
        duration=job.duration + _BEFORE_S / 4,
        time_limit=job.time_limit + _BEFORE_S,
    )
