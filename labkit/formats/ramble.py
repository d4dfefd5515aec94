"""Ramble's results (``results.*.json`` and ``.txt``): the figures of merit of each experiment.

A figure of merit is one value with a unit that the application's author chose. Each keeps its own name and unit. A
context, such as one message size, is a coordinate. Repeats of an experiment (``NAME.1``, ``NAME.2``) are launches of
one point, so their summaries are left out; if a file has the summaries alone, they are read.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from labkit.formats import malformed
from labkit.formats.reading.json import Entry, document
from labkit.formats.reading.log import NUMBER, ODD_NUMBER, REMEDY, SHOWN, Lines, Log, Run
from labkit.point.notes import note
from labkit.point.spec import Reported, Scalar

_BEGINS = re.compile(r"From Workspace: .* \(hash: [^\n]*\)$|[^\n]*\"RAMBLE_STATUS\" ?:")
_NUMBER = re.compile(NUMBER)
_EXPERIMENT = re.compile(r"Experiment (.+) figures of merit:$")
_STATUS = re.compile(r"  Status = (\w+)$")
_CONTEXT = re.compile(r"  (\S.*) figures of merit:$")
_MERIT = re.compile(rf"    (\S.*?) = ({NUMBER})(?: (.{{0,40}}))?$")
_TEXT = re.compile(r" +(\S.*?) = (\S*)")
_GROUP = re.compile(r"    (\S.*):$")
_OVER = re.compile(rf"      summary::(\w+) = ({NUMBER})(?: (.{{0,40}}))?$")
_STATED = ("application_name", "workload_name", "n_nodes", "processes_per_node", "n_threads")
_STATISTICS = {"min": "min", "max": "max", "mean": "mean", "median": "p50", "stdev": "stddev"}
_DEFAULT = ("", "null", "default (null)")  # names of the context without a name
_FAILED = note("test-failed", "Ramble does not count this experiment as a success")
_REPEATS = note("over-repeats", "the values are Ramble's statistics over the repeats of an experiment")


@dataclass
class _Experiment:
    """What a file says of an experiment: its figures of merit by context, in order."""

    name: str
    line: int
    status: str = ""
    repeats: int = 0
    facts: Mapping[str, object] = field(default_factory=dict)
    contexts: dict[str, list[Reported]] = field(default_factory=dict)


def runs(text: str, where: str) -> list[Run]:
    """Return one run per context of each experiment that has a number."""
    if re.match(r"\s*\{", text.removeprefix("\ufeff")):
        found = list(_of_json(document(text, where)))
    else:
        found = list(_of_text(Lines(text, where)))
    names = {one.name for one in found}
    repeats = {f"{one.name}.{k}": one.name for one in found for k in range(1, min(one.repeats, len(found)) + 1)}
    summarised = {repeats[name] for name in names & set(repeats)}
    made = [
        _run(one, repeats.get(one.name, one.name), context, values)
        for one in found
        if one.name not in summarised
        for context, values in one.contexts.items()
        if values
    ]
    if not made:
        raise malformed(where, 0, f"{len(found)} experiments, none with a number", "a figure of merit", REMEDY)
    return made


def _of_json(whole: Entry) -> Iterator[_Experiment]:
    """Read results.json."""
    for number, entry in enumerate(whole["experiments"].items(), 1):
        one = _Experiment(
            str(entry["name"].value),
            number,
            str(entry.get("RAMBLE_STATUS", "").value),
            entry.get("N_REPEATS", 0).whole(),
            entry.table(),
        )
        for context in entry.get("CONTEXTS", []).items():
            values = one.contexts.setdefault(str(context["name"].value), [])
            for merit in context["foms"].items():
                name, value = str(merit["name"].value), str(merit["value"].value)
                if ODD_NUMBER.fullmatch(value):
                    raise merit["value"].wrong("a number with a decimal point")
                kind, _, statistic = str(merit.get("origin_type", "").value).partition("::")
                if kind == "modifier":
                    name = f"modifier::{merit.get('origin', '').value}::{name}"
                values += _reported(name, statistic, value, str(merit.get("units", "").value))
        yield one


def _of_text(lines: Lines) -> Iterator[_Experiment]:
    """Read results.txt."""
    for first, last, head in lines.blocks(_EXPERIMENT):
        one, context, group = _Experiment(head[1], first), "", ""
        for number, line in enumerate(lines.texts[first:last], first + 1):
            if status := _STATUS.match(line):
                one.status = status[1]
            elif named := _CONTEXT.match(line):
                context = named[1].removesuffix(" context")
            elif over := _OVER.match(line):
                if over[1] == "n_total_repeats" and over[2].isdecimal():
                    one.repeats = int(over[2][:9])
                one.contexts.setdefault(context, []).extend(_reported(group, over[1], over[2], over[3] or ""))
            elif grouped := _GROUP.match(line):
                group = grouped[1]
            elif merit := _MERIT.match(line):
                one.contexts.setdefault(context, []).extend(_reported(merit[1], "", merit[2], merit[3] or ""))
            elif (text := _TEXT.match(line)) and ODD_NUMBER.fullmatch(text[2]):
                raise lines.wrong(number, f"a number with a decimal point instead of {text[2][:40]!r}")
        yield one


def _reported(name: str, statistic: str, value: str, unit: str) -> list[Reported]:
    """Return a figure of merit, or a statistic over repeats, if it is a number that labkit keeps."""
    kind = _STATISTICS.get(statistic, "") if statistic else "value"
    finite = _NUMBER.fullmatch(value) and math.isfinite(float(value))
    return [Reported(name[:100], unit.strip()[:40], kind, float(value))] if kind and finite else []


def _run(one: _Experiment, name: str, context: str, values: list[Reported]) -> Run:
    """Return the run of a context of an experiment."""
    options: dict[str, Scalar] = {"experiment": name}
    if context not in _DEFAULT:
        options["context"] = context
    ranks = str(one.facts.get("n_ranks", ""))
    remarks = () if values[0].statistic == "value" else (_REPEATS,)
    return Run(
        test="Ramble",
        values=tuple(values),
        line=one.line,
        ranks=int(ranks) if ranks.isdecimal() and len(ranks) < 10 else 0,
        options=options,
        stated={key: str(one.facts[key])[:200] for key in _STATED if one.facts.get(key) is not None},
        remarks=remarks,
        doubts=() if one.status == "SUCCESS" else (_FAILED,),
        source=json.dumps({"name": one.name, "context": context, "values": [v.as_dict() for v in values]})[:SHOWN],
    )


LOG = Log("Ramble", ("From Workspace: ", '"RAMBLE_STATUS"'), _BEGINS, runs)
