"""Which points of several campaigns are the same: everything that was asked for agrees, and how it was timed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from labkit import benchmarks
from labkit.records import GIVEN, HEADLINES, has
from labkit.records.factors import level, named, text
from labkit.units import format_size

# what makes two points comparable: everything that was asked for, and how it was timed
_SAME = (
    "benchmark", "message_size_B", "ranks", "ppn", "transport", "launcher", "device", "hosts", "bind", "testbed",
    "origin", "cadence", "timing", "options",
)  # fmt: skip
_SETTING = ("ranks", "transport", "launcher", "device", "hosts", "testbed")  # named in a label if they differ
TAIL = "p99"

Key = tuple[str, ...]


def identifying(new: pd.DataFrame, past: Sequence[pd.DataFrame]) -> list[str]:
    """Return the columns that identify a point, in each of the campaigns.

    A variable of the environment is one of them if a campaign compares its levels, else a fact of the whole campaign.
    """
    given = {str(c) for frame in (new, *past) for c in variables(frame) if _varies(frame, c)}
    keys = [*_SAME, *sorted(given)]
    for more in ([], ["library", "engine"], ["host", "cpu_model"], ["fingerprint"]):
        keys += more
        if not len(new) or max(rows["fingerprint"].nunique() for rows in grouped(new, keys).values()) == 1:
            break
    return keys


def variables(frame: pd.DataFrame) -> list[str]:
    """Return the columns of variables that ranks were given."""
    return [str(c) for c in frame if str(c).startswith(GIVEN[1])]


def _varies(frame: pd.DataFrame, column: str) -> bool:
    """Return whether points of a campaign that are the same otherwise differ in a column."""
    return any(rows[column].map(level).nunique() > 1 for rows in grouped(frame, _SAME).values())


def joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of several campaigns, which need not have the same columns."""
    return pd.concat([frame.astype(object) for frame in frames], ignore_index=True)


def grouped(frame: pd.DataFrame, keys: Sequence[str]) -> dict[Key, pd.DataFrame]:
    """Return the rows of each point."""
    texts = pd.DataFrame({c: frame[c].map(level) if c in frame else level(None) for c in keys}, index=frame.index)
    names = list(texts.itertuples(index=False, name=None))
    places: dict[Key, list[int]] = {}
    for place, key in enumerate(names):
        places.setdefault(tuple(map(str, key)), []).append(place)
    return {key: frame.iloc[rows] for key, rows in places.items()}


def statistics_of(new: pd.DataFrame, past: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield metric and statistic of the comparisons of a point: its first metric, and the tail of it."""

    def both(metric: str, statistic: str) -> bool:
        return has(new, metric, statistic) and has(past, metric, statistic)

    for metric in benchmarks.get(str(new["benchmark"].iloc[0])).metrics:
        for statistic in HEADLINES:
            if both(metric, statistic):
                yield metric, statistic
                if statistic != TAIL and both(metric, TAIL):
                    yield metric, TAIL
                return


def labelled(points: Mapping[Key, pd.DataFrame], keys: Sequence[str]) -> dict[Key, str]:
    """Return size and settings of each point; settings that all points of the benchmark share are left out."""
    firsts: dict[str, dict[Key, Mapping[str, Any]]] = {}
    for key, rows in points.items():
        firsts.setdefault(key[0], {})[key] = rows.iloc[0]
    labels = {}
    for of_benchmark in firsts.values():
        names = [*_SETTING, *keys[len(_SAME) :], *_options(next(iter(points.values())))]
        varied = [c for c in names if len({level(row.get(c)) for row in of_benchmark.values()}) > 1]
        for key, row in of_benchmark.items():
            size = [format_size(int(row["message_size_B"]))] if row["message_size_B"] else []
            labels[key] = ", ".join(dict.fromkeys([*size, *(f"{named(c)}={text(row, c)}" for c in varied)]))
    return labels


def _options(rows: pd.DataFrame) -> list[str]:
    """Return the columns of options."""
    return [str(c) for c in rows if str(c).startswith(GIVEN[0])]
