"""Choose the samples of a campaign that a study shows when it measures nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from labkit import benchmarks
from labkit.notes import Note, note
from labkit.samples import Samples
from labkit.spec import Spec

_SHOWN = 3  # values of a kind that a note names


def matching(
    samples: Iterable[Samples], specs: Sequence[Spec], place: Callable[[str], str] = str
) -> tuple[list[Samples], list[Note]]:
    """Samples with the options, path and testbed of any spec, at any size; and notes that say why others are left out.

    Imported and published numbers have neither path nor testbed: only their options count.

    Parameters
    ----------
    samples : of one benchmark.
    asked : specs of that benchmark.
    place : returns the part of a testbed's description that must be the same.
    """
    settings = [_setting(benchmarks.resolve(spec), place) for spec in specs]
    matches: list[Samples] = []
    counts: dict[tuple[str, str, str], int] = {}
    for point in samples:
        setting = _setting(point.spec, place)
        foreign = point.origin not in ("measured", "reported")
        differences = [_differences(setting, other, foreign=foreign) for other in settings]
        if not settings:
            key = (point.spec.benchmark, "", "")
        elif (nearest := min(differences, key=len)) == []:
            matches.append(point)
            continue
        else:
            name = nearest[0]
            values = dict.fromkeys(str(other.get(name, "its default")) for other in settings)
            key = (point.spec.benchmark, f"{name}={setting.get(name, 'its default')}", " or ".join([*values][:_SHOWN]))
        counts[key] = counts.get(key, 0) + 1
    return matches, [_left_out(*key, count) for key, count in counts.items()]


def _setting(spec: Spec, place: Callable[[str], str]) -> Mapping[str, Any]:
    """Values that must be the same: testbed, path, and options that differ from their defaults."""
    options = dict(benchmarks.identity(spec).options)
    return {"testbed": place(spec.testbed), "transport": spec.transport, **options}


def _differences(setting: Mapping[str, Any], other: Mapping[str, Any], *, foreign: bool) -> list[str]:
    """Names of the values that differ."""
    names = dict.fromkeys([*setting, *other])
    return [n for n in names if setting.get(n) != other.get(n) and not (foreign and n in ("testbed", "transport"))]


def _left_out(benchmark: str, has: str, wanted: str, count: int) -> Note:
    """Note that points were left out, and how to show them."""
    points = f"{count} sample file{'s' if count > 1 else ''} of {benchmark}"
    if not has:
        return note("not-asked", f"{points}: the parameters ask for none of this benchmark", count=count)
    text = f"{points} with {has}, but the parameters ask for {wanted}; change them to see these points"
    return note("other-setting", text, count=count, has=has, wanted=wanted)
