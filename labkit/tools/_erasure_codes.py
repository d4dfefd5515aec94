"""Encode and decode with liberasurecode, as a program: ``python -I -S _erasure_codes.py JSON``.

The standard library alone. JSON has the operation, code, k, m, erasures, size, iterations, warmup, time_cap and seed.
It prints one JSON object, as `labkit.tools._own_json` reads it.
"""

from __future__ import annotations

import ctypes
import json
import random
import sys
import time
from collections.abc import Iterator
from typing import Any, Literal, TypedDict

# ec_backend_id_t in liberasurecode's erasurecode.h
CODES = {
    "jerasure_rs_vand": 1,
    "jerasure_rs_cauchy": 2,
    "isa_l_rs_vand": 4,
    "liberasurecode_rs_vand": 6,
    "isa_l_rs_cauchy": 7,
}
LIBRARIES = {"jerasure": "libjerasure2", "isa": "libisal2", "liberasurecode": "liberasurecode1"}  # Debian packages
LEAST, MOST = 10, 10_000  # samples, whatever the time cap
PATTERNS = 20  # sets of lost fragments, in turn
_CHECKED = 3  # of them compared before anything is timed, at least
_CHAR_P = ctypes.POINTER(ctypes.c_char)
_FRAGMENTS = ctypes.POINTER(_CHAR_P)


class Arguments(ctypes.Structure):
    """``struct ec_args`` of erasurecode.h."""

    _fields_ = (
        ("k", ctypes.c_int),
        ("m", ctypes.c_int),
        ("w", ctypes.c_int),
        ("hd", ctypes.c_int),
        ("reserved", ctypes.c_uint64 * 4),
        ("more", ctypes.c_void_p),
        ("checksum", ctypes.c_int),
    )


def library() -> ctypes.CDLL | None:
    """Load liberasurecode; None if it is not installed."""
    try:
        return ctypes.CDLL("liberasurecode.so.1")
    except OSError:
        return None


def version() -> str:
    """Version of the library; ``unknown`` if it is not installed."""
    loaded = library()
    if loaded is None:
        return "unknown"
    loaded.liberasurecode_get_version.restype = ctypes.c_uint32
    number = int(loaded.liberasurecode_get_version())
    return f"{number >> 16}.{number >> 8 & 255}.{number & 255}"


class Code:
    """One code with its numbers of fragments.

    Parameters
    ----------
    name : one of `CODES`.
    k, m : fragments of data and of parity.

    Raises
    ------
    RuntimeError
        If the library has no such code, or the code no such numbers.
    """

    def __init__(self, name: str, k: int, m: int) -> None:
        loaded = library()
        package = LIBRARIES[name.partition("_")[0]]
        if loaded is None:
            raise RuntimeError("liberasurecode.so.1 cannot be loaded. Install Debian package liberasurecode1.")
        if not loaded.liberasurecode_backend_available(CODES[name]):
            raise RuntimeError(f"{name} cannot be loaded. Install Debian package {package}.")
        arguments = Arguments(k=k, m=m, w=-1, hd=m)
        self._handle = loaded.liberasurecode_instance_create(CODES[name], ctypes.byref(arguments))
        if self._handle <= 0:
            raise RuntimeError(f"{name} refuses k={k}, m={m} (error {self._handle}). Set smaller numbers.")
        self._library, self.k, self.m = loaded, k, m
        self._data, self._parity, self.fragment = _FRAGMENTS(), _FRAGMENTS(), ctypes.c_uint64()
        self._out, self._length = _CHAR_P(), ctypes.c_uint64()

    def encode(self, data: ctypes.Array[ctypes.c_char]) -> int:
        """Encode data; return the time of the call, ns. `drop` frees the fragments."""
        call, size = self._library.liberasurecode_encode, ctypes.c_uint64(len(data))
        targets = ctypes.byref(self._data), ctypes.byref(self._parity), ctypes.byref(self.fragment)
        start = time.perf_counter_ns()
        status = call(self._handle, data, size, *targets)
        taken = time.perf_counter_ns() - start
        if status:
            raise RuntimeError(f"encoding failed with error {status}.")
        return taken

    def drop(self) -> None:
        """Free the fragments."""
        self._library.liberasurecode_encode_cleanup(self._handle, self._data, self._parity)

    def available(self, lost: list[int]) -> Any:
        """The fragments without the lost ones, of data and then of parity."""
        every = [self._data[place] for place in range(self.k)] + [self._parity[place] for place in range(self.m)]
        left = [fragment for place, fragment in enumerate(every) if place not in lost]
        return (_CHAR_P * len(left))(*left)

    def decode(self, available: Any) -> int:
        """Decode from fragments; return the time of the call, ns. `decoded` frees the result."""
        call = self._library.liberasurecode_decode
        targets = ctypes.byref(self._out), ctypes.byref(self._length)
        count, size = ctypes.c_int(len(available)), ctypes.c_uint64(self.fragment.value)
        start = time.perf_counter_ns()
        status = call(self._handle, available, count, size, 0, *targets)
        taken = time.perf_counter_ns() - start
        if status:
            raise RuntimeError(f"decoding failed with error {status}.")
        return taken

    def decoded(self, *, read: bool) -> bytes:
        """The decoded data, which are freed; empty without `read`."""
        data = ctypes.string_at(self._out, self._length.value) if read else b""
        self._library.liberasurecode_decode_cleanup(self._handle, self._out)
        return data


class Plan(TypedDict):
    """What is timed.

    ``operation`` is encode or decode, ``erasures`` the number of missing fragments, ``size`` the size of a block, B;
    ``iterations`` is 0 for as many as fit ``time_cap``, s.
    """

    operation: Literal["encode", "decode"]
    erasures: int
    size: int
    iterations: int
    warmup: int
    time_cap: float
    seed: int
    code: str
    k: int
    m: int


def patterns(k: int, erasures: int, chance: random.Random) -> list[list[int]]:
    """Sets of lost fragments: fragments of data alone, because those must be computed again."""
    return [sorted(chance.sample(range(k), min(erasures, k))) for _ in range(PATTERNS)]


def verify(code: Code, data: ctypes.Array[ctypes.c_char], lost: list[list[int]]) -> None:
    """Encode, lose fragments, decode, and compare every byte.

    Raises
    ------
    RuntimeError
        If what is decoded is not what was encoded.
    """
    code.encode(data)
    for place, missing in enumerate(lost):
        code.decode(code.available(missing))
        if code.decoded(read=True) != data.raw:
            raise RuntimeError(f"data decoded without the fragments {missing} (set {place}) are not those encoded.")
    code.drop()


def times(code: Code, plan: Plan, data: ctypes.Array[ctypes.c_char], lost: list[list[int]]) -> Iterator[int]:
    """Time of every call, ns, warm-up included."""
    if plan["operation"] == "encode":
        while True:
            yield code.encode(data)
            code.drop()
    code.encode(data)
    sets = [code.available(missing) for missing in lost]
    while True:
        for available in sets:
            yield code.decode(available)
            code.decoded(read=False)


def run(plan: Plan) -> dict[str, Any]:
    """Verify and time a code; return times, CPU use and facts."""
    chance = random.Random(plan["seed"])
    code = Code(plan["code"], plan["k"], plan["m"])
    data = ctypes.create_string_buffer(chance.randbytes(plan["size"]), plan["size"])
    lost = patterns(plan["k"], plan["erasures"], chance) if plan["operation"] == "decode" else [[]]
    verify(code, data, lost if plan["operation"] == "decode" else patterns(plan["k"], plan["m"], chance)[:_CHECKED])
    source = times(code, plan, data, lost)
    taken: list[int] = []
    for _ in range(plan["warmup"]):
        next(source)
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    wanted, least = plan["iterations"] or MOST, plan["iterations"] or LEAST
    while len(taken) < wanted and (len(taken) < least or time.perf_counter_ns() - wall < plan["time_cap"] * 1e9):
        taken.append(next(source))
    wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
    return {
        "time_ns": taken,
        "extras": {},
        "reported": [["cpu", "%", "mean", 100 * cpu / wall]],
        "warnings": [],
        "facts": {"verified": True, "engine_language": "Python"},
    }


if __name__ == "__main__":
    try:
        sys.stdout.write(json.dumps(run(json.loads(sys.argv[1]))) + "\n")
    except RuntimeError as error:
        sys.exit(str(error))
