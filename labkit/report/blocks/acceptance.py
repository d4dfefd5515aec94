"""The verdicts of an acceptance contract: clauses, evidence, re-tests, and a page to sign."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from labkit import __version__, stats
from labkit.io import safe_read
from labkit.judge import contract, sentences
from labkit.judge import retests as log
from labkit.judge.answer import FAMILIES
from labkit.judge.contract import Clause, Point
from labkit.judge.coverage import Coverage
from labkit.judge.finding import Finding
from labkit.point.columns import STATISTICS, split
from labkit.point.notes import has
from labkit.point.units import format_share, format_size, plural
from labkit.read.records.factors import UNSTATED, level, path_name, setting, text
from labkit.read.records.value import Value, value_of
from labkit.report import caveats, markdown
from labkit.report.artifact import checksums
from labkit.report.content import Content
from labkit.report.judged import tied
from labkit.report.markdown import code, escape
from labkit.report.sources import Source
from labkit.report.variables import sized
from labkit.report.variables import title as title_of
from labkit.store import events
from labkit.store.campaign import Campaign

_BLANK = "\u00a0" * 36  # room for a name or a signature
_PARTIES = ("supplier", "customer", "measured by")
_REASON = 200  # characters
_MOST, _LEAST = (
    8,
    3,
)  # points of a clause that the table of evidence shows: if so many do not fulfil it, and in any case
_PATH = ("transport", "testbed")
_REPEATED = {  # code of a warning → what was repeated
    "retried": "Points measured by a second start, because the first one failed",
    "repeated": "Runs of a tool repeated, because they gave no result",
}


def judged(content: Content, source: Source) -> list[Finding]:
    """Return the verdicts of the contract on a campaign."""
    name = f"verdicts on {source.path}"
    if name not in content.made:
        clauses, whole = contract.load(content.contract) if content.contract else [], source.whole or source
        content.made[name] = contract.judge(clauses, whole.summary, Campaign(source.path).samples)
    return list(content.made[name])


def title(content: Content) -> str:
    """Return the title of the contract, else the name of its file."""
    file = content.contract or Path()
    return str(safe_read.toml(file).get("title") or file.stem)


def verdict(content: Content) -> str:
    """Return whether each campaign fulfils the contract."""
    parts = []
    for source in content.sources:
        verdicts = judged(content, source)
        failed = [one for one in verdicts if one.level != "good"]
        word = "accepted" if not failed else "not accepted"
        text = f"{escape(title(content))}: campaign **{escape(source.name)}** is **{word}**. "
        text += f"Fulfilled: {len(verdicts) - len(failed)} of {plural(len(verdicts), 'clause')}"
        names = ", ".join(escape(one.subject.setting) + _missing(one) for one in failed)
        parts.append(f"{text}; not fulfilled: {names}." if failed else f"{text}.")
    return "\n\n".join(parts)


def _missing(one: Finding) -> str:
    """Return how many of the demanded hosts or pairs were not measured, in parentheses; empty if all were."""
    covered = one.values.get("coverage")
    return f" ({covered:brief})" if isinstance(covered, Coverage) and not covered.whole else ""


def clauses(content: Content) -> str:
    """Return a table with a row for each clause."""
    rows = [
        (
            source,
            [
                "**pass**" if one.level == "good" else "**fail**",
                escape(one.subject.setting),
                tied(escape(one.values["requires"])),
                f"{one.count('fulfilled')} of {one.count('points')}",
                format_share(one.count("fulfilled") / one.count("points")) if one.count("points") else "–",
                f"{one.values['coverage']:count}" if "coverage" in one.values else "–",
            ],
        )
        for source in content.sources
        for one in judged(content, source)
    ]
    head = ["verdict", "clause", "requires", "points that fulfil it", "share", "measured"]
    if not any("coverage" in one.values for source in content.sources for one in judged(content, source)):
        head, rows = head[:-1], [(source, cells[:-1]) for source, cells in rows]
    caption = "Clauses of the contract."
    if content.contract and any(one.basis == "interval" for one in contract.load(content.contract)):
        caption += " The worse end of an interval is the upper one for ≤ and <, the lower one for ≥ and >."
    return content.table(head, rows, align="lllrrr"[: len(head)], caption=f"{caption} {{#tbl-clauses}}", empty="")


def evidence(content: Content) -> str:
    """Return a table of the points that decide each clause: value, bound, margin, caveats."""
    rows: list[tuple[Source, list[str], list[str]]] = []
    for source in content.sources:
        clauses = contract.load(content.contract) if content.contract else []
        for clause, verdict in zip(clauses, judged(content, source), strict=True):
            for number, (cells, doubts) in enumerate(_of_clause(clause, verdict, source)):
                rows.append((source, ["" if number else escape(clause.name), *cells], doubts))
    points = [doubts for _, cells, doubts in rows if cells[4] not in ("", "–")]
    shared = [one for one in points[0] if all(one in doubts for doubts in points)] if len(points) > 1 else []
    table = [
        (source, [*own, escape(", ".join(one for one in doubts if one not in shared)) or ("–" if own[2] else "")])
        for source, own, doubts in rows
    ]
    words = (
        f"The points that decide, the worst first, at most {_MOST} of a clause. In brackets: the 95 % interval over "
        f"launches, or the range of fewer than {stats.LAUNCHES}. A verdict is safe if the interval lies wholly on one "
        "side of the bound. Margins refer to the compared number."
    )
    if shared:
        words += f" Caveats of all these points: {escape(', '.join(shared))}."
    words += markdown.needing("sec-caveats", " @sec-caveats explains the caveats.")
    head = ["clause", "point", "measured", "launches", "bound", "margin", "interval", "caveats"]
    return content.table(head, table, align="lllrllll", caption=f"{words} {{#tbl-evidence}}", empty="")


def _of_clause(clause: Clause, verdict: Finding, source: Source) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the rows of a clause: what was measured of hosts, the points that decide, and how many more there are."""
    if "coverage" in verdict.values:
        covered = verdict.values["coverage"]
        yield [escape(f"{covered}"), f"{covered:count}", *["–"] * 4], []
    points = contract.points(clause, source.summary)
    if not points:
        yield [escape(sentences.sentence(verdict)), *["–"] * 5], []
    failing = sum(not one.fulfilled for one in points)
    shown = points[: min(_MOST, max(failing, _LEAST))]
    for one in shown:
        yield _cells(clause, one), caveats.words_of(one.row)
    if more := len(points) - len(shown):
        left = failing - sum(not one.fulfilled for one in shown)
        what = f"{left:,} of them do not fulfil it" if left else "all fulfil it"
        yield [f"and {more:,} more, {what}", *[""] * 5], []


def _cells(clause: Clause, one: Point) -> list[str]:
    """Return the cells of a point: name, measured, bound, margin, and whether the verdict on it is safe."""
    launches = str(one.row["launches"])
    if not clause.bound_text:
        return [_name(one), "–", launches, f"≥ {plural(clause.launches, 'launch')}", "–", "counted"]
    metric, statistic = split(clause.statistic) or ("", "")
    value = value_of(one.row, metric, statistic)
    measured = f"no {STATISTICS[statistic].label}"
    if not math.isnan(value.value):
        ends = f" [{value.range}]".replace(" ", "\u00a0").replace("\u00a0[", " [") if value.range != "–" else ""
        measured = f"{STATISTICS[statistic].label} **{value.text}**\u00a0{value.unit}{ends}"
    margin = "–"
    if not one.enough:
        margin = f"{plural(clause.launches, 'launch')} demanded"
    elif one.fulfilled and not math.isnan(one.margin):
        margin = f"{format_share(one.margin)} margin"
    elif one.margin < 0:
        margin = f"**{format_share(-one.margin)} {'over' if (clause.relation or '<').startswith('<') else 'short'}**"
    return [
        _name(one),
        measured,
        launches,
        tied(escape(clause.bound_text)),
        margin,
        _safety(clause, one, value),
    ]


def _safety(clause: Clause, one: Point, value: Value) -> str:
    """Return where the interval of a point lies, which shows whether its launches decide the verdict."""
    if math.isnan(value.value):
        return "no value"
    if value.coarse:
        return "none: the clock resolves no more"
    launches = int(one.row["launches"])
    ends = [clause.holds(end) for end in (value.low, value.high) if not math.isnan(end)]
    if launches < stats.LAUNCHES or len(ends) < 2:
        return f"none: {plural(launches, 'launch')}"
    if all(ends):
        return "wholly within the bound"
    return "**spans the bound**" if any(ends) else "wholly beyond the bound"


def _name(one: Point) -> str:
    """Return a point in words: what was measured, the path, the settings that tell it from others, and the size."""
    row, benchmark = one.row, str(one.row["benchmark"])
    family = FAMILIES.get(benchmark.partition(".")[0], benchmark.partition(".")[0])
    path = path_name(level(row.get("transport")), level(row.get("testbed")))
    others = [name for name in dict.fromkeys((*one.chosen, *one.factors)) if name and (name not in _PATH or not path)]
    words = setting(row, [name for name in others if text(row, name) != UNSTATED])
    size = format_size(int(row["message_size_B"])) if sized(benchmark) else ""
    what = f"{family} {title_of(benchmark)}{f' over {path}' if path else ''}"
    return tied(escape(", ".join(filter(None, (what, words, size)))))


def retests(content: Content) -> str:
    """Return a table of repeated measurements: points that failed in their first start, and repeated launches."""
    rows, told = [], []
    for source in content.sources:
        name = f"Campaign {escape(source.name)}: " if content.several else ""
        told += [f"{name}{one}" for one in _repeated(source)]
        for event in events.read(source.path):
            if event.kind in ("retried", "failed", "skipped"):
                reason = str(event["reason"] or event.kind).partition(" command: ")[0][:_REASON]
                rows.append((source, [escape(event["what"]), escape(event.kind), escape(reason)]))
    launches = plural(sum(len(source.records) for source in content.sources), "launch")
    empty = (
        "No other re-test was logged."
        if told
        else (
            f"No re-test was logged, and no run was repeated: the first start measured each of {launches} of the "
            "judged points."
        )
    )
    table = content.table(
        ["point", "event", "reason"],
        rows,
        caption="Points of the campaign that were measured again, that failed, or that were skipped. {#tbl-retests}",
        empty=empty,
    )
    return "\n\n".join([*told, table])


def _repeated(source: Source) -> Iterator[str]:
    """Yield for each kind of repetition how many launches of the campaign had it, and which of them are judged."""
    records = (source.whole or source).records
    rows = (
        records[["benchmark", "message_size_B", "fingerprint", "warnings"]].to_dict("records") if len(records) else []
    )
    for kind, what in _REPEATED.items():
        found = [row for row in rows if has(row["warnings"], kind)]
        mine = [row for row in found if row["fingerprint"] in source.fingerprints]
        if not found:
            continue
        places = dict.fromkeys(f"{row['benchmark']} {format_size(int(row['message_size_B']))}" for row in mine)
        names = dict.fromkeys(str(row["benchmark"]) for row in found)
        where = (
            f"{plural(len(mine), 'launch')} of judged points: {escape(', '.join(places))}"
            if mine
            else "none of a judged point"
        )
        yield f"{what}: {plural(len(found), 'launch')} of the campaign ({', '.join(map(code, names))}), {where}."


def terms(content: Content) -> str:
    """Return the contract as its file has it, with its checksum."""
    if content.contract is None:
        return ""
    text = safe_read.text(content.contract)
    digest = safe_read.sha256(content.contract)
    return f"{code(content.contract.name)}, SHA-256 {code(digest)}:\n\n{markdown.block(text, 'toml')}"


def sign_off(content: Content) -> str:
    """Return a page with the verdicts, what they were made from, and room for signatures."""
    rows = []
    for source in content.sources:
        verdicts = judged(content, source)
        passed = sum(one.level == "good" for one in verdicts)
        digest = hashlib.sha256(checksums(source).encode()).hexdigest()
        rows += [
            ("campaign", escape(source.name)),
            ("verdict", "accepted" if passed == len(verdicts) else "not accepted"),
            ("clauses fulfilled", f"{passed} of {len(verdicts)}, judged by {_judged_launches(source)}"),
            ("SHA-256 of the list of its samples files", code(digest)),
        ]
    file = content.contract
    for one in (file, content.log):
        if one is not None:
            rows.append((f"SHA-256 of {escape(one.name)}", code(safe_read.sha256(one))))
    rows.append(("judged by", f"labkit {__version__}"))
    facts = markdown.table(["what is signed", "value"], rows, caption="Facts of the acceptance. {#tbl-signed}")
    blanks = [[name, _BLANK, _BLANK[:16], _BLANK] for name in _PARTIES]
    caption = "Signatures. {#tbl-signatures}"
    signatures = markdown.table(["for", "name", "date", "signature"], blanks, caption=caption)
    return "\n\n".join([facts, *_tests(content), signatures])


def _tests(content: Content) -> Iterator[str]:
    """Yield the tests in the log of the contract: a row for each test; of several, then a row for each clause."""
    if content.log is None or content.contract is None:
        return
    tests = log.load(content.log)
    rows = [
        [
            *(str(number), escape(one.moment), escape(one.campaign), str(one.clauses), str(one.points)),
            *("**fail**" if one.failed else "pass", note),
        ]
        for number, (one, note) in enumerate(zip(tests, log.notes(tests), strict=True), start=1)
    ]
    head = ["test", "moment", "campaign", "clauses", "points", "outcome", "note"]
    yield markdown.table(head, rows, align="rllrrll", caption="Tests on record. {#tbl-tests}")
    digest = safe_read.sha256(content.contract)
    same = {number: one for number, one in enumerate(tests, start=1) if one.contract == digest}
    if len(same) > 1:  # one test has the verdicts that the first table has
        yield _per_clause(contract.load(content.contract), same)
    for source in content.sources:
        if all(one.identity != Campaign(source.path).identity for one in same.values()):
            name, terms = escape(source.name), code(content.contract.name)
            yield (
                f"**No test on record is one of campaign {name} by this contract.** `labkit gate --contract` {terms} "
                f"`--log` {code(content.log.name)} adds one."
            )


def _judged_launches(source: Source) -> str:
    """Return how much of a campaign the clauses select."""
    return f"{plural(len(source.summary), 'point')} in {plural(len(source.records), 'launch')}"


def _per_clause(clauses: Sequence[Clause], tests: Mapping[int, log.Test]) -> str:
    """Return a table of the tests that each clause passed and failed."""
    rows = [
        [escape(one.name), _numbers(tests, one.name, failed=False), _numbers(tests, one.name, failed=True)]
        for one in clauses
    ]
    caption = "Tests of this contract by clause. {#tbl-clause-tests}"
    return markdown.table(["clause", "passed in tests", "failed in tests"], rows, caption=caption)


def _numbers(tests: Mapping[int, log.Test], clause: str, *, failed: bool) -> str:
    """Return the numbers of the tests that a clause passed or failed."""
    return ", ".join(str(number) for number, one in tests.items() if (clause in one.failed) is failed) or "none"


BLOCKS = {
    "acceptance-verdict": verdict,
    "clauses": clauses,
    "clause-evidence": evidence,
    "retests": retests,
    "contract": terms,
    "sign-off": sign_off,
}
