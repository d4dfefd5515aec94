"""Simulated networks: platforms and traces for SimGrid, as pure functions; `labkit.tools.smpirun` runs them.

A `Network` says what is simulated. `platforms` writes it for SimGrid, `workloads` writes what each rank of a benchmark
does as a time-independent trace, `calibration` fits the parameters that the network's description leaves open to a
measured or published table. SimGrid shares the rate of every link among the flows on it (a fluid model): it has no
packets, no queues, no drops, no pause frames and no adaptive routing.
"""

from labkit.testbeds.simulation.network import Network, network_of
from labkit.testbeds.simulation.workloads import Program, program

__all__ = ["Network", "Program", "network_of", "program"]
