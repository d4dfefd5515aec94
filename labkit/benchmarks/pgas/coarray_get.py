"""Latency of a get with coarrays of Fortran: one message read from the memory of another image.

Image 1 assigns a coarray of image 2 to its own array (`local(1:n) = window(1:n)[2]`); the message has arrived when the
assignment ends. See pgas.coarray_put.
"""

import dataclasses

from labkit.benchmarks.pgas.coarray_put import BENCHMARK as PUT
from labkit.tools import coarray

BENCHMARK = dataclasses.replace(PUT, title="latency of a get with coarrays", tools=(coarray.get,))
