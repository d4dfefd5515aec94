"""A pytest plug-in: the fixture ``labkit`` measures in a test, and fails it if a point is worse than its past.

::

    def test_latency(labkit):
        point = labkit.measure("mpi.latency", sizes=8)
        assert point["latency_us_p99"].max() < 50
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import pandas as pd


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the fixture."""
    group = parser.getgroup("labkit")
    group.addoption("--labkit-against", metavar="HISTORY", help="fail a test of the fixture labkit if a point is worse")
    group.addoption(
        "--labkit-into", metavar="CAMPAIGN", help="campaign for what tests measure (default: a temporary one)"
    )


class Lab:
    """What a test measures with.

    Parameters
    ----------
    into : campaign folder.
    against : folder of earlier campaigns; empty to judge nothing.
    """

    def __init__(self, into: Path, against: str = "") -> None:
        self.into, self.against = into, against

    def measure(self, benchmark: str, *, launches: int = 6, **settings: Any) -> pd.DataFrame:
        """Measure a benchmark and judge it; return a row for each point, with the columns of the data dictionary.

        Parameters
        ----------
        benchmark : name, as `labkit list` prints it.
        launches : fresh starts of the ranks.
        settings : as of `labkit.sweep`: ``sizes``, ``transport``, ``ranks``, options of the benchmark.

        Raises
        ------
        LabkitError
            If it cannot be measured.
        """
        import labkit  # with pandas 0.4 s, for which tests without the fixture need not wait
        from labkit.read import records

        campaign = labkit.measure(labkit.sweep(benchmark, **settings), labkit.Effort(launches=launches), into=self.into)
        if self.against:
            self._judge(campaign, benchmark)
        table = labkit.load(campaign)
        return records.summary(table[table["benchmark"] == benchmark])

    def _judge(self, campaign: Any, benchmark: str) -> None:
        from labkit.apps import judging  # as in `measure`
        from labkit.judge import sentences
        from labkit.store.campaign import collected

        earlier = [one for one in collected([self.against]) if one.identity != campaign.identity]
        result = judging.by_past(campaign, earlier, benchmark=benchmark)
        worse = [f"{one.subject}: {sentences.sentence(one)}" for one in result.verdicts if one.form == "fail"]
        if worse:
            pytest.fail("\n".join([f"worse than in {self.against}:", *worse]), pytrace=False)


@pytest.fixture(scope="session")
def _labkit_campaign(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the campaign of all tests."""
    given = request.config.getoption("--labkit-into")
    return Path(given) if given else tmp_path_factory.mktemp("labkit") / "campaign"


@pytest.fixture
def labkit(request: pytest.FixtureRequest, _labkit_campaign: Path) -> Lab:
    """Return what measures in a test."""
    return Lab(_labkit_campaign, request.config.getoption("--labkit-against") or "")
