"""Find the fastest setting of an MPI library for each size and number of ranks, and write what the library reads.

`settings` makes the candidates from factors; `openmpi` and `mpich` know the algorithms of their collectives. `plan`
says what to do with the candidates. `tuner` races them by fresh starts (`labkit.stats.racing`) and confirms each winner
by interleaved fresh launches against the default; `reading` decides the same from the launches of a campaign, and
`outcome` is what both return. `files` writes the files of all libraries (`selection` the file of MPICH's algorithms),
and `osu` lets the OSU programs read them.
"""

from labkit.tuning.outcome import Outcome, Tuned
from labkit.tuning.plan import Plan
from labkit.tuning.reading import read
from labkit.tuning.settings import Setting, inherited, settings
from labkit.tuning.tuner import tune

__all__ = ["Outcome", "Plan", "Setting", "Tuned", "inherited", "read", "settings", "tune"]
