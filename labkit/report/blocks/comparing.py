"""The comparison of campaigns by `labkit compare`: verdicts, changes, undecided points, differing factors."""

from __future__ import annotations

import math
import statistics
import warnings
from collections import Counter

from labkit import figures, stats
from labkit.errors import DataError, LabkitWarning, SpecError
from labkit.figures.static import svgs
from labkit.judge import comparison
from labkit.judge.comparison import Compared, Comparison
from labkit.judge.comparison.judging import BETTER, BETWEEN, FASTER, SAME, SLOWER, UNDECIDED, WORSE
from labkit.point.columns import METRICS
from labkit.point.notes import joined
from labkit.point.units import format_number, format_range, format_share, format_size, plural
from labkit.report import markdown
from labkit.report.choosing import hard
from labkit.report.content import Content
from labkit.report.figures import Picture
from labkit.report.markdown import escape
from labkit.report.variables import title
from labkit.store.campaign import Campaign

_CHANGES, _UNMATCHED = 40, 12  # rows
_CHANGED = (SLOWER, WORSE, FASTER, BETTER, BETWEEN)


def compared(content: Content) -> tuple[Comparison | None, str]:
    """Return the comparison with the first campaign, and why it is doubtful or missing; computed once.

    If undeclared factors differ, the comparison is marked.
    """
    if "comparison" not in content.made:
        content.made["comparison"] = _compared(content)
    made: tuple[Comparison | None, str] = content.made["comparison"]
    return made


def _compared(content: Content) -> tuple[Comparison | None, str]:
    sides = {}
    for number, source in enumerate(content.sources, start=1):
        name = source.name if source.name not in sides else f"{source.name} ({number})"
        sides[name] = comparison.read(Campaign(source.path))
    try:
        return comparison.compare(sides, allow=content.allow), ""
    except SpecError as error:
        why = str(error)
    try:
        return comparison.compare(sides, allow=content.allow, force=True), why
    except SpecError as error:
        return None, str(error)


def summary(content: Content) -> str:
    """Return the result in a sentence, and a callout if the campaigns are not comparable."""
    made, why = compared(content)
    if made is None:
        return markdown.callout("important", "No comparison", escape(why))
    parts = [escape(made.sentence)]
    if why:
        parts.insert(0, markdown.callout("important", "Not comparable", escape(why)))
    p, width, level = (format_share(one) for one in (1 - stats.LEVEL, made.relevant, stats.LEVEL))
    parts.append(
        "The units are medians of launches, or of sessions on a side with six sessions or more. If both sides have "
        "launches in each of these sessions, Wilcoxon's signed rank test of the pairs replaces Mann-Whitney's test. A "
        "point is *same* if two Mann-Whitney tests of one side, corrected by Holm "
        f"over all points, reject with p ≤ {p} that its shift reaches {width} of the base in either direction. It is "
        f"faster or slower if the two-sided test, corrected in the same way, gives p ≤ {p} and the shift is larger "
        f"than {width}. If one side was measured before the other, it *differs between sessions* instead, because a "
        "change of the machine in between would look the same. Else the launches do not decide. Brackets are "
        f"{level} intervals of the Hodges-Lehmann shift, as a ratio."
    )
    return "\n\n".join(parts)


def by_benchmark(content: Content) -> str:
    """Return a table of the verdicts by benchmark."""
    made, _ = compared(content)
    rows = []
    groups: dict[tuple[str, str, str], list[Compared]] = {}
    for one in made.rows if made else ():
        groups.setdefault((one.side, one.benchmark, one.metric), []).append(one)
    for (side, benchmark, metric), group in groups.items():
        counts = Counter(one.judgement.verdict for one in group)
        changed = [sum(counts[word] for word in words) for words in ((SLOWER, WORSE), (FASTER, BETTER), (BETWEEN,))]
        cells = [escape(side)] if made and len(made.sides) > 2 else []
        cells += [escape(title(benchmark)), escape(METRICS[metric].label), str(len(group))]
        rows.append([*cells, *map(str, (*changed, counts[SAME], counts[UNDECIDED]))])
    head = ["side"] if made and len(made.sides) > 2 else []
    head += [
        "benchmark",
        "metric",
        "points",
        "slower or worse",
        "faster or better",
        "between sessions",
        "same",
        "not enough data",
    ]
    caption = "Verdicts by benchmark. {#tbl-verdicts-by-benchmark}"
    align = "l" * (len(head) - 6) + "rrrrrr"
    return markdown.table(head, rows, align=align, caption=caption) if rows else ""


def figure(content: Content) -> str:
    """Return the figure of the ratios by size; empty if it cannot be drawn."""
    made, _ = compared(content)
    if made is None:
        return ""
    try:
        spec = figures.shifts(made).to_plotly_json()
    except DataError:
        return ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabkitWarning)  # figures of chapters warn already
        svg = svgs([spec])[0]
    if not svg:
        return ""
    base = escape(made.sides[0])
    words = f"Ratio of each point to {base} against message size."
    if alone := sum(not math.isfinite(one.judgement.ratio_low) for one in made.rows):
        words += f" Too few launches for an interval: {alone} of {plural(len(made.rows), 'point')}."
    return markdown.here(content.show(Picture("comparison", "fig-ratios", words, spec, svg)))


def changes(content: Content) -> str:
    """Return a table of the points that changed, the largest change first."""
    made, _ = compared(content)
    changed = [one for one in (made.rows if made else ()) if one.judgement.verdict in _CHANGED]
    if not changed or made is None:
        return "No point is shown to have changed by more than the smallest relevant difference." if made else ""
    order = sorted(changed, key=lambda one: -_size_of_change(one))
    rows = [_row(one, len(made.sides) > 2) for one in order[:_CHANGES]]
    more = f" {len(rows)} of {len(order)}; `labkit compare` prints all." if len(order) > len(rows) else ""
    head = ["side"] if len(made.sides) > 2 else []
    head += ["point", "size", made.sides[0], "now" if len(made.sides) > 2 else made.sides[1], "ratio", "p", "verdict"]
    caption = f"Points that changed.{more} {{#tbl-changes}}"
    align = "l" * (len(head) - 4) + "rrrl"
    return markdown.table(list(map(escape, head)), rows, align=align, caption=caption)


def _size_of_change(one: Compared) -> float:
    ratio = one.judgement.ratio
    return abs(math.log(ratio)) if ratio > 0 else 0.0


def _row(one: Compared, several: bool) -> list[str]:
    judged, unit = one.judgement, METRICS[one.metric].unit
    setting = ", ".join(f"{name}={text}" for name, text in one.setting.items() if text not in ("-", ""))
    ratio = judged.times
    ends = "" if math.isnan(judged.ratio) else escape(f"[{format_range(judged.ratio_low, judged.ratio_high)}]")
    return [
        *([escape(one.side)] if several else []),
        escape(f"{title(one.benchmark)}{f' ({setting})' if setting else ''}"),
        hard(format_size(one.size)) if one.size else "–",
        *(hard(escape(f"{text} {unit}")) for text in one.texts),
        hard(f"**{ratio}** {ends}".rstrip()),
        "–" if math.isnan(judged.p_adjusted) else format_number(judged.p_adjusted, digits=2),
        escape(judged.verdict),
    ]


def undecided(content: Content) -> str:
    """Return the number of points without enough data, the reasons, and the launches that would decide."""
    made, _ = compared(content)
    open_ = [one.judgement for one in (made.rows if made else ()) if one.judgement.verdict == UNDECIDED]
    if not open_:
        return ""
    needed = [one.launches_needed for one in open_ if one.launches_needed]
    text = f"{plural(len(open_), 'point')} had not enough data."
    if reasons := Counter(one.reason for one in open_ if one.reason).most_common(3):
        text += " Reasons: " + joined(f"{escape(reason)} ({count})" for reason, count in reasons) + "."
    if needed:
        text += (
            f" With a probability of 80 %, {plural(max(needed), 'launch')} per side would decide {len(needed)} of "
            f"them; the median of what they need is {round(statistics.median(needed))}."
        )
    return text


def differences(content: Content) -> str:
    """Return a table of the factors in which the campaigns differ throughout."""
    made, _ = compared(content)
    if made is None or not made.differences:
        return "The campaigns differ in no recorded factor." if made else ""
    rows = [
        [escape(one.name), *map(escape, one.levels), "yes" if one.declared else "**no**"] for one in made.differences
    ]
    head = ["factor", *map(escape, made.sides), "declared with --allow"]
    return markdown.table(head, rows, caption="Factors that differ throughout. {#tbl-differences}")


def unmatched(content: Content) -> str:
    """Return the points that not all campaigns have, and warnings."""
    made, _ = compared(content)
    if made is None:
        return ""
    lines = [escape(text) for text in made.warnings]
    shown = made.unmatched[:_UNMATCHED]
    lines += [f"only in {escape(', '.join(names))}: {escape(label)}" for label, names in shown]
    if len(made.unmatched) > len(shown):
        lines.append(f"{len(made.unmatched) - len(shown)} more points that not all campaigns have")
    return markdown.bullets(lines)


BLOCKS = {
    "comparison-summary": summary,
    "comparison-verdicts": by_benchmark,
    "comparison-figure": figure,
    "comparison-changes": changes,
    "comparison-undecided": undecided,
    "comparison-differences": differences,
    "comparison-unmatched": unmatched,
}
