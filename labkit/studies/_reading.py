"""Choose the samples of a campaign that a study shows when it measures nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from labkit import benchmarks
from labkit.point.notes import Note, note
from labkit.point.spec import Spec
from labkit.point.units import plural
from labkit.store.samples import Samples

_SHOWN = 3  # values of a kind that a note names


def settings(specs: Sequence[Spec], place: Callable[[str], str] = str) -> list[Mapping[str, Any]]:
    """Values of specs that a sample must have, each once: testbed, path, and options that differ from their defaults.

    Parameters
    ----------
    specs : specs of one benchmark.
    place : returns the part of a testbed's description that must be the same.
    """
    wanted: list[Mapping[str, Any]] = []
    for spec in specs:
        if (setting := _setting(benchmarks.resolve(spec), place)) not in wanted:
            wanted.append(setting)
    return wanted


def fits(point: Samples, wanted: Sequence[Mapping[str, Any]], place: Callable[[str], str] = str) -> bool:
    """Whether a sample has the values of any setting."""
    setting = _setting(point.spec, place)
    return any(not _differences(setting, other, foreign=_foreign(point)) for other in wanted)


def matching(
    samples: Iterable[Samples],
    wanted: Sequence[Mapping[str, Any]],
    place: Callable[[str], str] = str,
    elsewhere: Callable[[Samples], bool] = lambda point: False,
) -> tuple[list[Samples], list[Note]]:
    """Samples with any values of the settings, at any size; and notes with the reasons why others are left out.

    Imported and published numbers have neither path nor testbed: only their options count.

    Parameters
    ----------
    samples : samples of one benchmark.
    wanted, place : as from and for `settings`.
    elsewhere : whether another notebook of the campaign shows a sample; no note names it then.
    """
    matches: list[Samples] = []
    counts: dict[tuple[str, str, str], int] = {}
    for point in samples:
        setting = _setting(point.spec, place)
        differences = [_differences(setting, other, foreign=_foreign(point)) for other in wanted]
        if [] in differences:
            matches.append(point)
            continue
        if elsewhere(point):
            continue
        if not wanted:
            key = (point.spec.benchmark, "", "")
        else:
            name = min(differences, key=len)[0]
            values = dict.fromkeys(str(other.get(name, "its default")) for other in wanted)
            key = (point.spec.benchmark, f"{name}={setting.get(name, 'its default')}", " or ".join([*values][:_SHOWN]))
        counts[key] = counts.get(key, 0) + 1
    return matches, [_left_out(*key, count) for key, count in counts.items()]


def _foreign(point: Samples) -> bool:
    """Whether a sample has neither path nor testbed of its own."""
    return point.origin not in ("measured", "reported")


def _setting(spec: Spec, place: Callable[[str], str]) -> Mapping[str, Any]:
    """Values that must be the same: testbed, path, and options that differ from their defaults."""
    options = benchmarks.identity(spec).values
    return {"testbed": place(spec.testbed), "transport": spec.transport, **options}


def _differences(setting: Mapping[str, Any], other: Mapping[str, Any], *, foreign: bool) -> list[str]:
    """Names of the values that differ."""
    names = dict.fromkeys([*setting, *other])
    return [n for n in names if setting.get(n) != other.get(n) and not (foreign and n in ("testbed", "transport"))]


def _left_out(benchmark: str, has: str, wanted: str, count: int) -> Note:
    """Note that points were left out, and how to show them."""
    points = f"{plural(count, 'sample file')} of {benchmark}"
    if not has:
        return note("not-asked", f"{points}: the parameters ask for none of this benchmark", count=count)
    text = f"{points} with {has}, but the parameters ask for {wanted}; change them to see these points"
    return note("other-setting", text, count=count, has=has, wanted=wanted)
