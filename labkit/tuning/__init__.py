"""Find the fastest setting of an MPI library for each size and number of ranks, and write what the library reads.

`settings` makes the candidates from factors, and `plan` says what to do with them. `tuner` races them by fresh starts
(`labkit.stats.racing`) and confirms each winner by interleaved fresh launches against the default. `openmpi` knows the
rules file of Open MPI's tuned collectives, and `files` writes the files of all libraries.
"""

from labkit.tuning.plan import Plan
from labkit.tuning.settings import Setting, settings
from labkit.tuning.tuner import Outcome, Tuned, read, tune

__all__ = ["Outcome", "Plan", "Setting", "Tuned", "read", "settings", "tune"]
