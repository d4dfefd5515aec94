"""The log of an acceptance contract: all its tests with their verdicts, so repeated tests are visible.

The log is a file of JSON lines that the user names. labkit appends to it and changes no line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labkit.errors import DataError
from labkit.io import atomic, safe_read
from labkit.judge.finding import Finding
from labkit.point.spec import validated
from labkit.point.units import plural


@dataclass(frozen=True, kw_only=True)
class Test:
    """One test of a contract.

    Parameters
    ----------
    when : moment of the test, ISO 8601.
    campaign, identity : the judged campaign.
    contract : SHA-256 of the contract's file.
    failed : clauses that were not fulfilled.
    clauses : number of clauses.
    points : points that the clauses selected.
    """

    when: str
    campaign: str
    identity: str
    contract: str
    failed: list[str]
    clauses: int
    points: int

    @property
    def moment(self) -> str:
        """Time of the test with its time zone, to the minute; the text itself if it is not ISO 8601."""
        try:
            moment = datetime.fromisoformat(self.when)
        except ValueError:
            return self.when
        if moment.tzinfo is None:
            return f"{moment:%Y-%m-%d %H:%M}"
        return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"

    @property
    def outcome(self) -> str:
        """The outcome in words."""
        return f"fail ({', '.join(self.failed)})" if self.failed else "pass"


def test(path: Path, verdicts: Sequence[Finding], *, campaign: str, identity: str, when: str) -> Test:
    """Return the record of a test.

    Parameters
    ----------
    path : path of the contract.
    """
    return Test(
        when=when,
        campaign=campaign,
        identity=identity,
        contract=safe_read.sha256(path),
        failed=[one.subject.setting for one in verdicts if one.level != "good"],
        clauses=len(verdicts),
        points=sum(len(one.subject.points) for one in verdicts),
    )


def load(path: Path) -> list[Test]:
    """Return the tests in a log, in their order; none if there is no file.

    Raises
    ------
    DataError
        If a line is not a test; it names the line.
    """
    if not path.exists():
        return []
    tests = []
    for number, text in enumerate(safe_read.text(path).splitlines(), start=1):
        try:
            given: Any = json.loads(text)
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, Mapping):
            raise DataError(f"{path}, line {number} is not a test of a contract. Name the log that labkit gate wrote.")
        tests.append(validated(Test, given, what=f"{path}, line {number}"))
    return tests


def append(path: Path, one: Test) -> list[Test]:
    """Add a test to a log, and return all tests in it."""
    tests = [*load(path), one]
    atomic.text(path, "".join(json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in tests))
    return tests


def notes(tests: Sequence[Test]) -> list[str]:
    """Return for each test of a log a note if its campaign was tested before or its contract changed; else empty.

    A second test of a campaign shows the same data; a changed contract is another contract.
    """
    found = []
    for place, one in enumerate(tests):
        again = any(each.identity == one.identity for each in tests[:place])
        changed = place > 0 and tests[place - 1].contract != one.contract
        words = (["campaign tested before"] if again else []) + (["contract changed"] if changed else [])
        found.append(", ".join(words))
    return found


def told(tests: Sequence[Test]) -> str:
    """Return the tests of a log as lines: when, what, outcome, and what `notes` adds."""
    lines = []
    for number, (one, note) in enumerate(zip(tests, notes(tests), strict=True), start=1):
        points = f"{plural(one.clauses, 'clause')}, {plural(one.points, 'point')}"
        more = f"; {note}" if note else ""
        lines.append(f"test {number}, {one.moment}, {one.campaign}: {one.outcome}; {points}{more}")
    return "\n".join(lines)
