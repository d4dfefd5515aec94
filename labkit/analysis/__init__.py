"""What measurements say beyond their own point: slow ranks, violated guidelines, protocol changes.

Pure functions from samples and tables to tables and sentences. Each result has a `sentence`, for every table needs one.
`docs/statistics.md` says what each assumes and how often it errs.
"""

from labkit.analysis.congestion import impact, interference, jain_fairness
from labkit.analysis.guidelines import Verdict, check
from labkit.analysis.protocol import breaks
from labkit.analysis.slow_rank import slow_ranks

__all__ = ["Verdict", "breaks", "check", "impact", "interference", "jain_fairness", "slow_ranks"]
