"""The twelve rules of Hoefler and Belli [1]_, with the tasks that remain for the author.

The rules of `labkit/judge/rules` that name their number as source check what data can show.

References
----------
.. [1] T. Hoefler, R. Belli, Scientific Benchmarking of Parallel Computing Systems, SC15, doi 10.1145/2807591.2807644.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Judgement:
    """One of the twelve rules, with the task of the author.

    Parameters
    ----------
    number : number of the rule.
    text : the rule in short.
    author : what the author must do; empty if the data show all of it.
    """

    number: int
    text: str
    author: str


JUDGEMENT = (
    Judgement(1, "State the base case of a speed-up, and its absolute performance.", "Name the base case in the text."),
    Judgement(
        2, "Give the reason for a choice of benchmarks or resources.", "Say why these benchmarks, sizes and nodes."
    ),
    Judgement(3, "Average costs arithmetically, rates harmonically.", ""),
    Judgement(4, "Do not average ratios.", "Average times first in your own tables too, then divide."),
    Judgement(5, "Say whether data are deterministic; if not, give confidence intervals.", ""),
    Judgement(6, "Do not assume a normal distribution without a check.", ""),
    Judgement(7, "Compare by sound statistics.", "Claim a difference only where launches show it."),
    Judgement(
        8, "Ask whether the median is the right measure.", "Say which percentile the application needs, and why."
    ),
    Judgement(
        9,
        "Document all factors, their levels, and the set-up.",
        "Describe cabling, switches and other load of the system.",
    ),
    Judgement(10, "Say how parallel times are measured, synchronised and summarised.", ""),
    Judgement(
        11,
        "Show upper bounds.",
        "Give the bound (link rate, memory bandwidth) with its source; a campaign does not hold it.",
    ),
    Judgement(12, "Plot enough; join points only where interpolation is valid.", "Join sizes, never categories."),
)

DUTIES = tuple(one for one in JUDGEMENT if one.author)
