"""Small services that ask one another, under a load in an open loop."""

from labkit.benchmarks.services._options import Leaves as Leaves
from labkit.benchmarks.services._options import Load as Load
