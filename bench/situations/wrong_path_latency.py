"""Ranks on one host were told to send over TCP: recorded messages."""

from bench.situations import _wrong_path

KIND = _wrong_path.kind("mpi.latency", 0, 8)
