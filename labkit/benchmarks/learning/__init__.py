"""Benchmarks of the communication of deep learning."""

from labkit.benchmarks.learning._collective import Call as Call
from labkit.benchmarks.learning._collective import Ranks as Ranks
