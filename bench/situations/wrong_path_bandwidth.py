"""Ranks on one host were told to send over TCP: recorded windows of messages."""

from bench.situations import _wrong_path
from labkit.point.units import KiB

KIND = _wrong_path.kind("mpi.bandwidth", 64 * KiB, 64 * KiB)
