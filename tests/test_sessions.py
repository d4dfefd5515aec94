"""Sessions: launches in several stretches of time; what the headline rests on, and when it must not be trusted."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from labkit import stats, suites
from labkit.apps import show
from labkit.apps.cli import console, main
from labkit.apps.explorer import values
from labkit.apps.explorer.view import View
from labkit.apps.show.results import result_table
from labkit.errors import SpecError
from labkit.point.spec import Effort, Spec
from labkit.read import columnar, records
from labkit.run import measuring, progress
from labkit.run import sessions as schedule
from labkit.stats import sessions
from labkit.store import events
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples
from labkit.suites import following

from . import made

LATENCY = Spec(benchmark="mpi.latency", size=8)
BEGIN = datetime(2026, 11, 26, 8, tzinfo=UTC)
UNKNOWN = -1


def launches(
    medians: list[float], at_s: list[float], placed: list[str] | None = None, **fields: object
) -> list[Samples]:
    """Launches of one point: the median of each in ns, when it began, and the session that the schedule named."""
    some = []
    for number, (median, after) in enumerate(zip(medians, at_s, strict=True)):
        meta: dict[str, object] = {"start": (BEGIN + timedelta(seconds=after)).isoformat(timespec="milliseconds")}
        meta |= {"session": placed[number]} if placed else {}
        some.append(made.samples(LATENCY, [median] * 30, launch=number, meta=meta | fields, host={"name": "a"}))
    return some


def row_of(some: list[Samples]) -> pd.Series:
    return records.summary(records.table(some)).iloc[0]


def codes(row: pd.Series) -> list[str]:
    return [one.code for one in row["warnings"]]


def test_a_headline_says_within_what_time_its_launches_ran() -> None:
    row = row_of(launches([2000, 2100, 2050, 2020, 2080, 2060], [0, 8, 16, 24, 32, 40]))
    assert (row["launches"], row["sessions"], row["span_s"]) == (6, 1, 40)
    assert row["basis"] == "6 launches within 40 s"
    assert row["headline"] == "95 % interval of 6 launches"


def test_six_sessions_have_an_interval_of_their_medians() -> None:
    """The sessions scatter by far more than their launches: an interval over launches would be a third as wide."""
    levels = np.repeat([2000, 2400, 2800, 3200, 3600, 4000], 3)
    at_s = [1440 * (k // 3) + 5 * (k % 3) for k in range(18)]
    row = row_of(launches((levels + np.tile([0, 10, 20], 6)).tolist(), at_s))
    assert row["basis"] == "18 launches in 6 sessions over 2 h"
    assert row["headline"] == "95 % interval of 6 sessions"
    assert (row["latency_us_low"], row["latency_us_high"]) == pytest.approx((1.005, 2.005))
    assert row["latency_us_p50"] == pytest.approx(1.505)
    assert "latency_us_sessions_low" not in row
    assert codes(row) == []


def test_fewer_sessions_show_their_range_and_the_interval_of_the_launches() -> None:
    medians = [2000, 2002, 2004, 2006, 2008, 2010, 3000, 3002, 3004, 3006, 3008, 3010]
    row = row_of(launches(medians, [0, 5, 10, 15, 20, 25, 3600, 3605, 3610, 3615, 3620, 3625]))
    assert row["basis"] == "12 launches in 2 sessions over 1 h"
    assert row["headline"] == "95 % interval of 12 launches, extended to the range of 2 sessions"
    assert (row["latency_us_launches_low"], row["latency_us_launches_high"]) == pytest.approx((1.002, 1.503))
    assert (row["latency_us_sessions_low"], row["latency_us_sessions_high"]) == pytest.approx((1.0025, 1.5025))
    assert (row["latency_us_low"], row["latency_us_high"]) == pytest.approx((1.002, 1.503))
    text = result_table(records.table(launches(medians, [0, 5, 10, 15, 20, 25, 3600, 3605, 3610, 3615, 3620, 3625])))
    head, line = text.splitlines()[1], text.splitlines()[3]
    assert "range of sessions (µs)" in head
    assert "interval of launches (µs)" in head
    assert line.count("1.00 to 1.50") == 2


def test_the_ends_enclose_every_session() -> None:
    """Two quiet sessions of many launches hide a third one from the interval over launches."""
    medians = [2000, 2001, 2002, 2003, 2004, 2005, 2006, 2007, 2008, 2009, 2010, 4000]
    over = stats.headline(medians, [0] * 6 + [1] * 5 + [2])
    assert (over.low, over.high) == (2002, 4000)
    assert stats.headline(medians).high == 2009
    assert over.label == "95 % interval of 12 launches, extended to the range of 3 sessions"


def test_a_session_of_the_schedule_counts_whatever_the_time_between() -> None:
    row = row_of(launches([2000, 2010, 2020, 2030], [0, 1, 3, 4], placed=["one", "one", "two", "two"]))
    assert row["sessions"] == 2
    assert row["basis"] == "4 launches in 2 sessions over 4 s"
    assert row["headline"] == "range of 4 launches"


def test_launches_without_a_schedule_are_parted_by_gaps() -> None:
    starts = np.array([[0.0, 5, 600, 1300, 1305]])
    assert sessions.numbered(starts, np.full((1, 5), UNKNOWN)).tolist() == [[0, 0, 0, 1, 1]]
    both = np.array([[UNKNOWN, UNKNOWN, 3, 3, 4]])  # the last three were scheduled: 700 s apart, and one session
    assert sessions.numbered(starts, both).tolist() == [[0, 0, 1, 1, 2]]


def test_old_and_imported_launches_without_starts_say_what_they_did() -> None:
    some = [made.samples(LATENCY, [2000 + k] * 30, launch=k, host={"name": "a"}) for k in range(6)]
    row = row_of(some)
    assert (row["sessions"], row["basis"], row["headline"]) == (0, "6 launches", "95 % interval of 6 launches")
    assert math.isnan(row["span_s"])
    assert codes(row) == []


def test_an_order_of_launches_that_is_not_that_of_time_changes_nothing() -> None:
    medians, at_s = [2000, 3000, 2002, 3002, 2004, 3004], [0.0, 7200, 5, 7205, 10, 7210]
    mixed, sorted_ = row_of(launches(medians, at_s)), row_of(launches(sorted(medians), sorted(at_s)))
    for name in ("sessions", "span_s", "latency_us_low", "latency_us_high", "latency_us_sessions_low"):
        assert mixed[name] == sorted_[name], name
    assert mixed["sessions"] == 2


@pytest.mark.parametrize(("apart_s", "said"), [(5, ["launches-at-once"]), (400, []), (7200, [])])
def test_an_interval_of_one_moment_carries_a_note(apart_s: float, said: list[str]) -> None:
    medians = [2000, 2100, 2050, 2090, 2010, 2060]
    assert codes(row_of(launches(medians, [apart_s * k for k in range(6)]))) == said


def test_a_range_claims_no_confidence_and_carries_no_note() -> None:
    assert codes(row_of(launches([2000, 2100, 2050], [0, 5, 10]))) == []


def test_launches_that_resemble_their_neighbours_carry_a_note() -> None:
    at_s = [400.0 * k for k in range(12)]
    slow = [2000, 2001, 2002, 2003, 2004, 2005, 2006, 2007, 2008, 2009, 2010, 2011]
    assert codes(row_of(launches(slow, at_s))) == ["dependent-launches"]
    mixed = [2000, 2011, 2003, 2008, 2001, 2010, 2004, 2007, 2002, 2009, 2005, 2006]
    assert codes(row_of(launches(mixed, at_s))) == []
    with_sessions = row_of(launches(slow, [7200.0 * k for k in range(12)]))
    assert with_sessions["headline"] == "95 % interval of 12 sessions"
    assert codes(with_sessions) == []  # nothing is claimed over launches


@pytest.mark.parametrize("n", [6, 8, 12, 40, 120])
def test_independent_launches_are_called_dependent_as_rarely_as_declared(n: int) -> None:
    values = np.random.default_rng(n).exponential(size=(4000, n))
    found = float((sessions.resembling(values) <= sessions.CHANCE).mean())
    assert found <= 0.016  # 0.01, and four standard errors
    assert found > 0.002 or n == 6  # a test that can find something


def test_correlated_launches_are_found_if_there_are_enough() -> None:
    chance = np.random.default_rng(3)
    series = np.zeros((400, 30))
    series[:, 0] = chance.normal(size=400)
    for k in range(1, 30):
        series[:, k] = 0.6 * series[:, k - 1] + 0.8 * chance.normal(size=400)
    assert (sessions.resembling(series) <= sessions.CHANCE).mean() > 0.6
    assert sessions.resembling(np.ones((2, 7))).tolist() == [1.0, 1.0]


def test_points_with_other_sessions_are_summarised_each_by_its_own() -> None:
    one = launches([2000, 2100, 2050, 2020, 2080, 2060], [0, 8, 16, 24, 32, 40], fingerprint="a")
    other = launches([2000, 2100, 2050, 2020, 2080, 2060], [3600 * k for k in range(6)], fingerprint="b")
    table = records.summary(records.table([*one, *other])).set_index("fingerprint")
    assert table["sessions"].to_dict() == {"a": 1, "b": 6}
    assert table.loc["b", "headline"] == "95 % interval of 6 sessions"
    assert records.bases(table) == "6 launches within 40 s, 6 launches in 6 sessions over 5 h"


def test_the_words_stand_in_table_json_and_explorer() -> None:
    frame = records.table(launches([2000, 2100, 2050, 2020, 2080, 2060], [0, 8, 16, 24, 32, 40]))
    table = result_table(frame)
    assert "based on: 6 launches within 40 s" in table
    assert "warning: launches that all start within 10 min show one moment of the machine" in table
    document = json.loads(show.result_json(frame))
    [point] = document["points"]
    assert point["basis"] == "6 launches within 40 s"
    assert (point["sessions"], point["span_s"], point["headline"]) == (1, 40, "95 % interval of 6 launches")
    assert point["latency_us_low"] < point["latency_us_p50"] < point["latency_us_high"]
    assert any("one moment" in text for text in document["warnings"])
    page = values.page(View(benchmark="mpi.latency", metric="latency_us"), records.summary(frame))
    assert "6 launches within 40 s" in page.rows[0]["cells"]


def test_bases_name_the_shortest_and_the_longest_span() -> None:
    some = []
    for name, span in (("a", 30), ("b", 50)):
        some += launches([2000, 2010], [0, span], fingerprint=name)
    summary = records.summary(records.table(some))
    assert records.bases(summary) == "2 launches within 30 s to 50 s"
    assert records.bases(summary[:0]) == ""


# ---- when sessions begin -----------------------------------------------------------------------------------------


class Clock:
    """A clock that moves when somebody waits; it may be told to interrupt the wait."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.time, self.waited, self.stop_at = BEGIN.timestamp(), 0.0, math.inf
        monkeypatch.setattr(schedule, "now", lambda: self.time)
        monkeypatch.setattr(schedule, "pause", self.pause)

    def pause(self, seconds: float) -> None:
        if self.time + seconds > self.stop_at:
            self.time, self.stop_at = self.stop_at, math.inf
            raise KeyboardInterrupt
        self.time, self.waited = self.time + seconds, self.waited + seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def after(name: str) -> float:
    """When a session began, s after the clock's begin."""
    return (datetime.fromisoformat(name) - BEGIN).total_seconds()


def run(clock: Clock, folder: Campaign, effort: Effort, done: set[int], each_s: float = 1.0) -> dict[int, float]:
    """Do what measuring does for launches that are not there; return the session of each."""
    launches, told = range(effort.launches), list[str]()
    begun = schedule.begun(done, launches, effort)
    sessions_ = schedule.Sessions(folder, effort, lambda text, left: told.append(text), begun=begun)
    found = {}
    for launch in launches:
        if launch not in done:
            found[launch] = after(sessions_.enter(schedule.place(launch, launches, effort)))
            clock.time += each_s
            done.add(launch)
    return found


def test_sessions_begin_evenly_over_the_spread(clock: Clock, tmp_path: Path) -> None:
    found = run(clock, Campaign(tmp_path), Effort(launches=7, sessions=3, spread="2h"), set())
    assert found == {0: 0, 1: 0, 2: 0, 3: 3600, 4: 3600, 5: 7200, 6: 7200}
    assert clock.waited == 2 * 3600 - 3 - 2  # less what the launches took
    texts = [event["text"] for event in events.read(tmp_path, "waiting")]
    assert [text.partition(" starts at ")[0] for text in texts] == ["session 2 of 3", "session 3 of 3"]
    assert texts[0].endswith(", in 59 min 57 s")


def test_a_session_that_takes_longer_than_its_time_delays_the_next(clock: Clock, tmp_path: Path) -> None:
    found = run(clock, Campaign(tmp_path), Effort(launches=4, sessions=2, spread="3s"), set(), each_s=5.0)
    assert found == {0: 0, 1: 0, 2: 10, 3: 10}
    assert not clock.waited


def test_an_interrupted_wait_goes_on_where_it_was(clock: Clock, tmp_path: Path) -> None:
    effort, done, campaign = Effort(launches=6, spread="50min"), set[int](), Campaign(tmp_path)
    clock.stop_at = clock.time + 900
    with pytest.raises(KeyboardInterrupt):
        run(clock, campaign, effort, done)
    assert done == {0, 1}
    clock.time += 100  # until somebody starts it again
    assert run(clock, campaign, effort, done) == {2: 1200, 3: 1800, 4: 2400, 5: 3000}


def test_a_run_that_was_killed_in_a_session_finishes_it_while_it_lasts(clock: Clock, tmp_path: Path) -> None:
    effort, campaign = Effort(launches=6, sessions=2, spread="1h"), Campaign(tmp_path)
    run(clock, campaign, Effort(launches=6, sessions=2, spread="1h"), {2, 3, 4, 5})
    clock.time = BEGIN.timestamp() + 1800
    assert run(clock, campaign, effort, {0, 1}) == {2: 0, 3: 3600, 4: 3600, 5: 3600}


def test_a_session_that_is_finished_later_is_another_one(clock: Clock, tmp_path: Path) -> None:
    """What remains of it runs at another moment; the next session keeps its distance from that."""
    effort, campaign = Effort(launches=6, sessions=2, spread="1h"), Campaign(tmp_path)
    run(clock, campaign, effort, {2, 3, 4, 5})
    clock.time = BEGIN.timestamp() + 9000
    assert run(clock, campaign, effort, {0, 1}) == {2: 9000, 3: 12600, 4: 12600, 5: 12600}


def test_without_a_schedule_nothing_waits_and_nothing_is_named(clock: Clock, tmp_path: Path) -> None:
    sessions_ = schedule.Sessions(Campaign(tmp_path), Effort(), lambda text, left: None)
    assert {sessions_.enter(schedule.place(launch, range(6), Effort())) for launch in range(6)} == {""}
    assert not clock.waited
    assert "sessions" not in Effort().as_dict()
    assert Effort(launches=9, spread="2h").schedule == (6, 1440)
    assert Effort(sessions=3).schedule == (3, 600)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("--spread 2x", "--spread '2x' is not a duration. Write seconds or a unit"),
        ("--spread 0s", "--spread 0.0, but it must be a number above 0"),
        ("--sessions 0", "--sessions 0, but it must be a whole number from 1 to 1,000. Set --sessions 6."),
        ("--sessions 9", "--sessions 9, but --launches 6, and each session needs a launch. Set --launches 9."),
        ("--sessions 1 --spread 2h", "--spread 2h, but --sessions 1 leaves nothing to spread."),
        ("--launches 1 --spread 2h", "--spread 2h, but --launches 1 leaves nothing to spread."),
    ],
)
def test_a_schedule_that_cannot_be_is_refused(given: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "mpi.latency", "-m", "8", *given.split(), "--dry-run"]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.mpi
def test_a_real_run_has_two_sessions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["measure", "mpi.latency", "-m", "8", "-i", "100", "--launches", "2", "--into", str(tmp_path / "c")]
    assert main([*words, "--spread", "3s", "--sessions", "2", "--format", "json"]) == 0
    out = capsys.readouterr()
    document = json.loads(out.out)
    [point] = document["points"]
    assert point["sessions"] == 2
    assert point["basis"].startswith("2 launches in 2 sessions over ")
    first, second = (datetime.fromisoformat(one["session"]) for one in document["records"])
    assert (second - first).total_seconds() >= 3
    assert [event["number"] for event in events.read(tmp_path / "c", "session")] == [1, 2]
    assert main([*words, "--format", "json"]) == 0  # all is there, and is not measured again
    assert json.loads(capsys.readouterr().out)["records"] == document["records"]


# ---- sessions of a suite -----------------------------------------------------------------------------------------

TINY = """
title = "Tiny"
sessions = 2
spread = "4s"
[parameters]
launches = 3
time_cap = 0.02
[[notebook]]
name = "10-latency"
[notebook.parameters]
sizes = "8"
transports = "shm"
allreduce = "8"
[[notebook]]
name = "20-bandwidth"
[notebook.parameters]
sizes = "4Ki"
transports = "shm"
"""


def tiny(folder: Path, text: str = TINY) -> Path:
    path = folder / "tiny.toml"
    path.write_text(text)
    return path


def test_each_session_of_a_suite_goes_through_all_notebooks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    """Measured are not ranks: what each notebook would measure is noted, with the session that it got."""
    done: set[tuple[str, str, int]] = set()
    seen: list[tuple[str, int, float]] = []

    def measured(entry: suites.Entry, campaign: Campaign) -> suites.Executed:
        for point in entry.study().points:
            name = point.spec.benchmark, point.fingerprint, point.launch
            if name not in done:
                done.add(name)
                seen.append((entry.name[:2], point.launch, after(entry.session)))
        clock.time += 1
        return suites.Executed(entry.name, campaign.path / "none", 1.0)

    monkeypatch.setattr(suites, "measure_only", measured)
    monkeypatch.setattr(suites, "execute", measured)
    suites.run(suites.load(tiny(tmp_path)), into=tmp_path / "c")
    assert dict.fromkeys(seen) == dict.fromkeys(
        [("10", 0, 0), ("10", 1, 0), ("20", 0, 0), ("20", 1, 0), ("10", 2, 4), ("20", 2, 4)]
    )
    assert clock.waited == 2
    assert [event["number"] for event in events.read(tmp_path / "c", "session")] == [1, 2]


@pytest.mark.mpi
@pytest.mark.slow
def test_a_suite_measures_its_sessions_and_goes_on_after_an_interrupt(tmp_path: Path, clock: Clock) -> None:
    path = tiny(tmp_path, TINY.replace("4s", "20min"))
    stopped = suites.load(path)

    def stop(state: measuring.Progress) -> None:
        if state.waits:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        suites.run(stopped, into=tmp_path / "c", progress=stop)
    first = {point[2] for point in Campaign(tmp_path / "c").done()}
    assert first == {0, 1}
    clock.time += 300
    outcome = suites.run(suites.load(path), into=tmp_path / "c")
    assert outcome.sound, outcome.text()
    assert clock.waited == 900
    rows = records.summary(columnar.read_campaigns(Campaign(tmp_path / "c")).records)
    assert set(rows["launches"]) == {3}
    assert set(rows["sessions"]) == {2}
    assert all(text.startswith("3 launches in 2 sessions over ") for text in rows["basis"])


def test_a_suite_refuses_more_sessions_than_launches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tiny(tmp_path, TINY.replace("sessions = 2", "sessions = 4"))
    with pytest.raises(SpecError, match="sessions=4, but launches=3, and each session needs a launch"):
        suites.load(path)
    assert suites.load(path, ["launches=8"]).effort.schedule == (4, 4 / 3)
    assert suites.load(path, sessions=3, spread="1h").effort.schedule == (3, 1800)
    assert main(["plan", str(path), "--sessions", "9"]) == 1
    assert "--sessions 9, but launches=3, and each session needs a launch." in capsys.readouterr().err
    assert main(["plan", str(path), "--sessions", "3", "--spread", "1h"]) == 0
    assert "3 sessions, 30 min from one to the next." in capsys.readouterr().out


def test_whoever_follows_sees_when_the_next_session_starts(
    clock: Clock, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error, also in a file, and in the campaign for other processes."""
    campaign = Campaign(tmp_path)
    with console.Bar() as bar:
        counter = progress.Counter(4, progress.published(campaign, bar))
        begin = schedule.Sessions(campaign, Effort(launches=4, sessions=2, spread="2h"), counter.note).enter
        begin(0)
        begin(1)
    assert "labkit: 0 of 4, session 2 of 2 starts at " in capsys.readouterr().err
    state = measuring.Progress.at(campaign)
    assert state is not None
    assert state.label.startswith("session 2 of 2 starts at ")
    assert state.waits == 7200
    assert [text for text in following.news(campaign) if isinstance(text, str)] == [
        "session 1 of 2 begins",
        state.label,
        "session 2 of 2 begins",
    ]
