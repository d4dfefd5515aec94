"""What measurements say beyond their own point: slow ranks, violated guidelines, protocol changes.

Pure functions from samples and tables to tables and sentences. Each result has a `sentence`, for every table needs one.
`docs/statistics.md` says what each assumes and how often it errs.
"""

from labkit.judge.congestion import impact, interference, jain_fairness
from labkit.judge.guidelines import Verdict, check
from labkit.judge.protocol import breaks
from labkit.judge.slow_rank import slow_ranks

__all__ = ["Verdict", "breaks", "check", "impact", "interference", "jain_fairness", "slow_ranks"]
