"""Tell users which points were already measured with a different effort and are therefore not measured again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from labkit.point.spec import Effort
from labkit.point.units import plural
from labkit.store.samples import Samples
from labkit.store.samples.facts import FINGERPRINT
from labkit.worker.retention import WHOLE

# parameter of the effort → how it is printed, and how its default is printed
_WORDS = {
    "iterations": ("with {} iterations", "without a count of iterations, so the stop rule decided"),
    "warmup": ("with a warm-up of {} iterations", "with the benchmark's own warm-up"),
    "ci": ("with the stop rule {}", ""),
    "time_cap": ("with a time cap of {} s", ""),
    "keep": ("with the samples {}", ""),
}
NAMES = tuple(_WORDS)


def texts(
    samples: Iterable[Samples],
    effort: Effort,
    advice: str,
    *,
    names: Iterable[str] = NAMES,
    flags: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Yield a sentence for each difference between the requested effort and that of existing points.

    Parameters
    ----------
    samples : samples of points that existed before.
    advice : what to do for this effort, as the end of a sentence.
    names : efforts to compare; those that are not in `NAMES` change no number.
    flags : name → how the user writes it before the value; ``name=`` where left out.
    """
    old = list(samples)
    for name in names:
        others: dict[object, set[str]] = {}
        for one in old if name in _WORDS else ():
            value, asked = getattr(one.effort, name), getattr(effort, name)
            same = name == "keep" and one.spec.ranks <= WHOLE and {value, asked} == {"auto", "all"}
            if value != asked and not same:
                others.setdefault(value, set()).add(str(FINGERPRINT.of(one.meta)))
        for value, points in others.items():
            count = f"{plural(len(points), 'point')} {'was' if len(points) == 1 else 'were'}"
            given = (flags or {}).get(name, f"{name}=")
            how = _WORDS[name][1] if value is None else f"{_WORDS[name][0].format(value)} ({given}{value})"
            yield f"{count} measured before {how}; not measured again. {advice}"
