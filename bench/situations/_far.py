"""Too little is under way for a long link, whose delay is stated: measured."""

from collections.abc import Callable
from pathlib import Path

from bench.situations import Cases, Kind, Label, Parameters, _measured
from labkit.point.spec import Spec
from labkit.store.campaign import Campaign


def kind(
    words: str,
    where: str,
    cases: Cases,
    spec: Callable[[Parameters], Spec],
    rate: Callable[[Campaign, Parameters], float],
) -> Kind:
    """Return a kind of situation on a long link.

    Parameters
    ----------
    where : the benchmark of the point with too little under way.
    spec : that point, without its testbed.
    rate : what it reached, MB/s.
    """

    def make(case: Parameters, folder: Path) -> Campaign:
        testbed = f"{_measured.LINK},delay={case['ms']}ms"
        one = spec(case).replace(testbed=testbed)
        return _measured.measured([one, *_measured.of_machine(), *_measured.messages(testbed, (8, 1024))], folder)

    def shown(campaign: Campaign, case: Parameters) -> str:
        return _measured.below(f"MB/s with {words} and of the link", rate(campaign, case), _measured.FULL, 2.0)

    return Kind(
        words=words,
        labels=(Label(where, ("window-of-round-trip", "few-outstanding")),),
        source="measured",
        cases=cases,
        make=make,
        shown=shown,
        decidable=True,
    )
