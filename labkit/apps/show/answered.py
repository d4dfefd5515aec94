"""Write the answer about a campaign: a few lines for a terminal, or everything as JSON or CSV."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from labkit.apps.show.findings import as_dict, how_likely
from labkit.apps.show.gated import in_code, line
from labkit.apps.show.texttable import columns
from labkit.io import csv_export
from labkit.judge import rules
from labkit.judge.answer import Answer, Topic
from labkit.judge.finding import Finding, Value, likeliest
from labkit.judge.sentences import cause, clue, purpose, sentence, settings
from labkit.point.notes import joined
from labkit.point.units import plural

LINES = 40  # that are printed unless all are asked for
_BRIEF = 8  # lines that a gate adds
_NARROWEST, _WIDEST = 60, 110  # characters of a line


def table(answer: Answer, everything: bool = False) -> str:
    """Return the answer for a terminal: a verdict on each topic, its possible causes, and what to do next.

    Parameters
    ----------
    everything : whether to print all findings; else at most `LINES` lines.
    """
    head, settled = _head(answer), [*_settled(answer)]
    next_steps = [*_steps(answer)]
    if everything:
        return "\n".join([head, *settled, *_all(answer), *next_steps])
    blocks = [[*_topic(one)] for one in answer.topics]
    room = LINES - 2 - len(settled) - len(next_steps) - len(rest := [*_rest(answer)])
    shown: list[str] = []
    for number, block in enumerate(blocks):
        left = len(blocks) - number - 1
        if len(shown) + len(block) + bool(left) > room:
            block = block[: max(0, room - len(shown) - 1)] if not shown else []
        if not block:
            shown.append(f"… and {plural(left + 1, 'more topic')}; --all prints them")
            break
        shown += block
    return "\n".join([head, *settled, *shown, *rest, *next_steps])


def _head(answer: Answer) -> str:
    return f"{answer.campaign}: {answer.counts or 'nothing that has a verdict'}"


def _settled(answer: Answer) -> Iterator[str]:
    """Yield the lines on what was measured and is good now."""
    for one in answer.settled:
        text = (
            f"{one.was.subject} was {one.was.level}: {sentence(one.cause)}. Now {one.now.subject}: {sentence(one.now)}"
        )
        yield from _wrapped(f"{'decided':12} ", text)


def _said(topic: Topic) -> str:
    return f"{topic.name}: {topic.lead.subject}: {sentence(topic.lead)}"


def _topic(topic: Topic) -> Iterator[str]:
    """Yield the lines of a topic: its verdict, of one that is not good the causes, and settings that are worse."""
    yield from _wrapped(f"{topic.verdict:12} ", _said(topic))
    if topic.verdict != "good":
        yield from _why(topic)
    if topic.worse:
        yield from _wrapped(" " * 13, f"worse: {settings(topic.worse)}")


def _why(topic: Topic) -> Iterator[str]:
    """Yield the lines on what may be behind a verdict."""
    if topic.cause or topic.verdict in ("bad", "doubtful"):
        yield from _wrapped(" " * 13, f"cause: {cause(topic.lead)}")
    if topic.excluded:
        yield from _wrapped(" " * 13, f"excluded: {'; '.join(map(sentence, topic.excluded))}")


def _rest(answer: Answer) -> Iterator[str]:
    """Yield the lines on what else was found, each with the command that prints it."""
    if answer.others:
        yield f"also: {plural(len(answer.others), 'other finding')}; the option --all prints everything"
    yield from _method(answer)


def _method(answer: Answer) -> Iterator[str]:
    """Yield the lines on rules about the method of measuring."""
    if answer.of_method:
        broken = len({one.code for one in answer.of_method})
        yield f"also: {plural(broken, 'rule')} about the method {'is' if broken == 1 else 'are'} broken:"
        yield f"      labkit lint {answer.argument or answer.campaign}"


def _steps(answer: Answer) -> Iterator[str]:
    """Yield the lines on what to do next."""
    for number, step in enumerate(answer.steps, 1):
        if number == 1:
            yield "next:"
        if step.runnable:
            yield f"  {number}. {step.command}"
        else:
            yield from _wrapped(f"  {number}. ", step.command)
        yield from _wrapped("     ", purpose(step))


def _all(answer: Answer) -> Iterator[str]:
    """Yield the lines of all findings."""
    for topic in answer.topics:
        yield f"{topic.name}: {topic.verdict}"
        for one in topic.findings:
            yield from _finding(one)
    for code in dict.fromkeys(one.code for one in answer.others):
        yield f"{code}: {rules.every()[code].must}"
        for one in answer.others:
            if one.code == code:
                yield from _finding(one)
    yield from _method(answer)


def _finding(one: Finding) -> Iterator[str]:
    """Yield the lines of a finding with its bound, its evidence, its causes and its command."""
    yield from _wrapped(f"  {one.level:9} ", f"{one.subject}: {sentence(one)}")
    if how := one.values.get("how"):
        yield from _wrapped(" " * 12, f"bound: {how}")
    if one.evidence:
        yield from _wrapped(" " * 12, f"evidence: {joined(clue(one, each) for each in one.evidence)}")
    for each in one.causes:
        yield from _wrapped(" " * 12, f"{how_likely(each)}: {sentence(each)}")
        if each.supported and each.command:
            yield f"{'':14}{each.command}"
    if one.kind == "verdict" and one.level in ("bad", "doubtful") and not one.explained:
        yield f"{'':12}cause: unknown"
    if one.command:
        yield f"{'':12}{one.command}"


def _wrapped(start: str, text: str) -> list[str]:
    """Return a text in lines; those after the first are indented like its start."""
    width = max(_NARROWEST, min(_WIDEST, columns() or _WIDEST))
    return textwrap.wrap(
        text, width, initial_indent=start, subsequent_indent=" " * len(start), break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def as_json(answer: Answer, everything: bool = False) -> str:
    """Return topics, findings (each with its sentence), steps, what is settled, rules and warnings as a document."""
    known = rules.every()
    used = dict.fromkeys(one.code for one in answer.findings)
    document = {
        "campaign": answer.campaign,
        "topics": [
            {
                "topic": one.name,
                "verdict": one.verdict,
                "lead": as_dict(one.lead),
                "cause": as_dict(one.cause) if one.cause else None,
                "worse": [{"setting": each.subject.setting, "level": each.level} for each in one.worse],
            }
            for one in answer.topics
        ],
        "findings": [as_dict(one) for one in answer.findings],
        "steps": [{"command": one.command, "for": [str(each.subject) for each in one.why]} for one in answer.steps],
        "settled": [{name: as_dict(each) for name, each in vars(one).items()} for one in answer.settled],
        "rules": {code: {"must": known[code].must, "why": known[code].why} for code in used},
        "warnings": [sentence(one) for one in answer.findings if one.form == "defect"],
    }
    return json.dumps(document, indent=1, allow_nan=False)


def as_csv(answer: Answer, everything: bool = False) -> str:
    """Return a row for each verdict."""
    return csv_export.of_rows(_row(one) for one in answer.findings if one.kind == "verdict").rstrip()


def _row(one: Finding) -> dict[str, Any]:
    """Return a verdict with plain values; a number that is not known is empty."""
    measured, limit = (one.values.get(name) for name in ("measured", "limit"))
    value = measured if isinstance(measured, Value) else Value(value=math.nan)
    bound = limit if isinstance(limit, Value) else Value(value=math.nan)
    found = likeliest(one)
    numbers = {"value": value.value, "low": value.low, "high": value.high, "limit": bound.value, "cost_times": one.cost}
    return {
        "benchmark": one.subject.benchmark,
        "setting": one.subject.setting,
        "quantity": value.of,
        **{name: number if math.isfinite(number) else "" for name, number in numbers.items()},
        "unit": value.unit,
        "launches": value.launches,
        "binds": bound.of,
        "formula": one.values.get("how", ""),
        "verdict": one.level,
        "says": sentence(one),
        "cause": sentence(found) if found else "",
        "command": (found.command if found else "") or one.command,
    }


def _brief(answer: Answer) -> tuple[str, list[str]]:
    """Return the head of an answer, and as many verdicts on topics that are not good as fit."""
    poor = [line(f"{one.verdict} {_said(one)}") for one in answer.topics if one.verdict != "good"]
    if len(poor) > _BRIEF - 1:
        left = len(poor) - (_BRIEF - 2)
        poor[_BRIEF - 2 :] = [f"… and {plural(left, 'more topic')} that {'is' if left == 1 else 'are'} not good"]
    counts = answer.counts or "nothing that has a verdict"
    return line(f"labkit explain {answer.argument or answer.campaign}: {counts}"), poor


def brief(answer: Answer) -> str:
    """Return the head of an answer and the topics that are not good, each on one line."""
    head, poor = _brief(answer)
    return "\n".join([head, *(f"  {one}" for one in poor)])


def brief_markdown(answer: Answer) -> str:
    """Return the same in Markdown; names are code."""
    head, poor = _brief(answer)
    return "\n\n".join(filter(None, [f"**{in_code(head)}**", "\n".join(f"- {in_code(one)}" for one in poor)]))


BRIEF: Mapping[str, Callable[[Answer], str]] = {"table": brief, "markdown": brief_markdown}  # formats of a gate
FORMATS: Mapping[str, Callable[[Answer, bool], str]] = {"table": table, "json": as_json, "csv": as_csv}
