"""The program of every rank: it takes a plan, runs its points, and sends frames to the parent.

``python -m labkit.worker PLAN``; a plan that is too long for an argument comes through standard input, which every
launcher connects to rank 0 (`INPUT`); rank 0 broadcasts it. A frame is `MAGIC`, the lengths of header and payload, a
JSON header, raw int64 and `END`, because Open MPI 5 holds back output that ends in the middle of a line. Only rank 0
sends frames, on its original standard output. All other output goes to standard error, including the line with the
reason if a rank fails. A rank loads the standard library, numpy and mpi4py, nothing else. Parent and ranks share this
module.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from labkit import benchmarks
from labkit.errors import LabkitError
from labkit.point.spec import Effort, Spec

MAGIC = b"\x93LABKIT\n"  # no text has it
END = b"\n"
_LENGTHS = struct.Struct("<IQ")
PIECE = 4096  # B of a plan that are on their way at once; MPICH gives up if a rank does not take what it gets
INPUT = "stdin:"  # instead of a plan, with the thread level or "none" behind it: the plan is a line of standard input
FAILED = "labkit-rank-failed: "
ABSENT = "not in this MPI"  # how the reason begins when the library lacks what a benchmark calls
LACKING = "not on this machine"  # how it begins when the machine lacks what a benchmark needs


@dataclass(frozen=True)
class Frame:
    """One message from rank 0: a header and int64 values."""

    header: dict[str, Any]
    values: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def encode(self) -> bytes:
        """Encode the frame for the pipe."""
        header, payload = json.dumps(self.header).encode(), self.values.astype("<i8", copy=False).tobytes()
        return MAGIC + _LENGTHS.pack(len(header), len(payload)) + header + payload + END


class Reader:
    """Assembles frames from pieces of a byte stream, and keeps what launchers print between them.

    Attributes
    ----------
    noise : the last 4 KiB that belong to no frame.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self.noise = ""

    def feed(self, piece: bytes) -> Iterator[Frame]:
        """Take a piece; yield every frame that is now complete."""
        self._buffer += piece
        start = len(MAGIC) + _LENGTHS.size
        while True:
            place = self._buffer.find(MAGIC)
            noise_bytes = place if place >= 0 else max(len(self._buffer) - len(MAGIC) + 1, 0)
            self.noise = (self.noise + self._buffer[:noise_bytes].decode(errors="replace"))[-4096:]
            del self._buffer[:noise_bytes]
            if place < 0 or len(self._buffer) < start:
                return
            head, body = _LENGTHS.unpack(self._buffer[len(MAGIC) : start])
            if len(self._buffer) < start + head + body + len(END):
                return
            header = json.loads(self._buffer[start : start + head])
            values = np.frombuffer(bytes(self._buffer[start + head : start + head + body]), "<i8").astype(np.int64)
            del self._buffer[: start + head + body + len(END)]
            yield Frame(header, values)


@dataclass(frozen=True)
class Plan:
    """Points for one start of the ranks, in the order they are to be run.

    Parameters
    ----------
    specs : specs of the points; a decoded plan makes each on request, so a rank stays small.
    mpi : whether the ranks need MPI.
    """

    specs: Sequence[Spec]
    effort: Effort
    mpi: bool = True

    def encode(self) -> str:
        """Encode the plan as one word of letters, digits, ``-``, ``_``, ``=``. What does not change is in it once."""
        fields: dict[str, tuple[list[Any], dict[str, int], list[int]]] = {}
        for row, spec in enumerate(self.specs):
            for name, value in spec.as_dict().items():
                values, places, column = fields.setdefault(name, ([], {}, []))
                key = value if isinstance(value, str) else json.dumps(value)
                place = places.setdefault(key, len(values))
                if place == len(values):
                    values.append(value)
                column += [-1] * (row - len(column)) + [place]
        columns = {
            name: [values, column if len(values) > 1 or len(column) < len(self.specs) or -1 in column else []]
            for name, (values, _, column) in fields.items()
        }
        plan = {"points": len(self.specs), "columns": columns, "effort": self.effort.as_dict(), "mpi": self.mpi}
        text = json.dumps(plan, separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(zlib.compress(text, 9)).decode()

    @classmethod
    def decode(cls, word: str) -> Plan:
        """Decode a word from `encode`."""
        plan = json.loads(zlib.decompress(base64.urlsafe_b64decode(word)))
        return cls(_Specs(plan["points"], plan["columns"]), Effort(**plan["effort"]), plan["mpi"])

    @property
    def threaded(self) -> bool:
        """Whether a rank has several threads; all points of a start have the same number."""
        return bool(self.specs) and benchmarks.threads(self.specs[0]) > 1


class _Specs(Sequence[Spec]):
    """Specs as columns: distinct values of each field, and the place of each point's among them, -1 for none."""

    def __init__(self, count: int, columns: Mapping[str, tuple[list[Any], list[int]]]) -> None:
        self._count = count
        self._columns = {
            name: (values, np.pad(np.array(places, np.int32), (0, count - len(places)), constant_values=-1))
            for name, (values, places) in columns.items()
            if places
        }
        self._common = {name: values[0] for name, (values, places) in columns.items() if not places}

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, row: int) -> Spec: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[Spec]: ...
    def __getitem__(self, row: int | slice) -> Spec | Sequence[Spec]:
        if isinstance(row, slice):
            return [self[one] for one in range(*row.indices(self._count))]
        if not -self._count <= row < self._count:
            raise IndexError(row)
        own_fields = {name: values[column[row]] for name, (values, column) in self._columns.items() if column[row] >= 0}
        return benchmarks.typed(Spec.from_dict(self._common | own_fields))


def failure(rank: int | None, error: BaseException) -> str:
    """Format the line on standard error that tells the parent why a rank failed."""
    kind = type(error).__name__ if isinstance(error, LabkitError) else "KernelError"
    text = str(error) if isinstance(error, LabkitError) else f"{type(error).__name__}: {error}"
    return FAILED + json.dumps({"kind": kind, "rank": rank, "text": text})


def reported_failure(stderr: str) -> Mapping[str, Any] | None:
    """Parse the first `failure` line in the text on standard error; None if there is none."""
    for line in stderr.splitlines():
        _, marker, rest = line.partition(FAILED)
        if marker:
            try:
                values: Mapping[str, Any] = json.JSONDecoder().raw_decode(rest)[0]
            except json.JSONDecodeError:
                continue
            return values
    return None
