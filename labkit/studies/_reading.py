"""Which samples of a campaign a study shows when it measures nothing, and what it leaves out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from labkit import benchmarks
from labkit.notes import Note, note
from labkit.samples import Samples
from labkit.spec import Spec

_SHOWN = 3  # values of a kind that a note names


def matching(
    samples: Iterable[Samples], asked: Sequence[Spec], place: Callable[[str], str] = str
) -> tuple[list[Samples], list[Note]]:
    """Samples with the options, the path and the testbed of any spec, at any size, and why others are left out.

    Numbers of others (imported, published) have neither a path nor a testbed of labkit's: their options decide.

    Parameters
    ----------
    samples : of one benchmark.
    asked : specs of that benchmark.
    place : what of a testbed's description must be the same.
    """
    wanted = [_setting(benchmarks.resolve(spec), place) for spec in asked]
    found: list[Samples] = []
    counts: dict[tuple[str, str, str], int] = {}
    for one in samples:
        own = _setting(one.spec, place)
        foreign = one.origin not in ("measured", "reported")
        differences = [_differences(own, other, foreign=foreign) for other in wanted]
        if not wanted:
            why = (one.spec.benchmark, "", "")
        elif (nearest := min(differences, key=len)) == []:
            found.append(one)
            continue
        else:
            name = nearest[0]
            values = dict.fromkeys(str(other.get(name, "its default")) for other in wanted)
            why = (one.spec.benchmark, f"{name}={own.get(name, 'its default')}", " or ".join([*values][:_SHOWN]))
        counts[why] = counts.get(why, 0) + 1
    return found, [_left_out(*why, count) for why, count in counts.items()]


def _setting(spec: Spec, place: Callable[[str], str]) -> Mapping[str, Any]:
    """What must be the same: options that are not usual, path, testbed."""
    options = dict(benchmarks.identity(spec).options)
    return {"testbed": place(spec.testbed), "transport": spec.transport, **options}


def _differences(own: Mapping[str, Any], other: Mapping[str, Any], *, foreign: bool) -> list[str]:
    """Names of what is not the same."""
    names = dict.fromkeys([*own, *other])
    return [n for n in names if own.get(n) != other.get(n) and not (foreign and n in ("testbed", "transport"))]


def _left_out(benchmark: str, has: str, wanted: str, count: int) -> Note:
    """That points were left out, and how they would be shown."""
    points = f"{count} sample file{'s' if count > 1 else ''} of {benchmark}"
    if not has:
        return note("not-asked", f"{points}: the parameters ask for none of this benchmark", count=count)
    text = f"{points} with {has}, but the parameters ask for {wanted}; change them to see these points"
    return note("other-setting", text, count=count, has=has, wanted=wanted)
