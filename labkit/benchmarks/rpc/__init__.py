"""Benchmarks of remote procedure calls."""

from labkit.benchmarks.rpc._options import Call as Call
from labkit.benchmarks.rpc._options import Loop as Loop
