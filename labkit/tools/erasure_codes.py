"""Erasure codes of ISA-L, Jerasure and liberasurecode, through liberasurecode's interface: a program of labkit's own.

liberasurecode loads the other two libraries when they are installed. Its calls allocate the fragments and write a head
into each. The times include this, as in OpenStack Swift, which uses this interface through pyeclib.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Literal

from labkit.errors import DataError
from labkit.options.storage import Decoding, Encoding
from labkit.point.spec import Effort, Spec
from labkit.tools import Invocation, Parsed, Tool, _erasure_codes
from labkit.tools._own_json import parsed

TOOL = Tool(
    name="erasure_codes",
    read_version=_erasure_codes.version,
    package="liberasurecode1 libisal2 libjerasure2",
    purpose="storage.encode and storage.decode",
)
ABSENT = "liberasurecode.so.1"  # what is missing where it is not installed
_WARMUP = 20


def encode(spec: Spec[Encoding], effort: Effort) -> Invocation:
    """Encode a block of the spec's size."""
    return _invocation(spec, effort, "encode", 0)


def decode(spec: Spec[Decoding], effort: Effort) -> Invocation:
    """Decode a block of the spec's size after fragments were lost."""
    return _invocation(spec, effort, "decode", spec.options.erasures)


def _invocation(
    spec: Spec[Encoding], effort: Effort, operation: Literal["encode", "decode"], erasures: int
) -> Invocation:
    plan: _erasure_codes.Plan = {
        "operation": operation,
        "erasures": erasures,
        "size": spec.size,
        "iterations": effort.iterations or 0,
        "warmup": _WARMUP if effort.warmup is None else effort.warmup,
        "time_cap": effort.time_cap,
        "seed": effort.seed,
        "code": spec.options.code,
        "k": spec.options.k,
        "m": spec.options.m,
    }

    def read(text: str, folder: Path) -> Parsed:
        if not text.strip():
            raise DataError("It printed nothing but the reason below.")
        return parsed(text, folder)

    return Invocation(
        tool=TOOL,
        needs=(sys.executable if _erasure_codes.library() else ABSENT,),
        client=(sys.executable, "-I", "-S", str(Path(_erasure_codes.__file__)), json.dumps(plan)),
        parse=read,
        definition=f"liberasurecode_{operation} of one block: time of the call, which Python makes through ctypes.",
        duration=effort.time_cap,
        time_limit=effort.time_cap * 10 + effort.time_limit,
        facts={"engine_language": "Python"},
    )
