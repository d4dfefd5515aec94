"""The artifact's description and evaluation, in the form of the SC conferences."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from labkit import stats
from labkit.point.columns import METRICS
from labkit.point.units import format_duration, format_fact, plural
from labkit.read.records import headline_metric
from labkit.report import artifact, markdown
from labkit.report.campaigns import Member, all_members
from labkit.report.content import Content
from labkit.report.markdown import code, escape
from labkit.report.sources import Source

_AUTHOR = "to be stated by the author"


def description(content: Content) -> str:
    """Return the table of an artifact description: the artifact and its requirements."""
    rows = []
    for source in content.sources:
        rows += [(source, [name, text]) for name, text in _facts(source) if text]
    return content.table(
        ["item", "this artifact"],
        rows,
        caption="Artifact description. {#tbl-description}",
        empty="",
    )


def _facts(source: Source) -> list[tuple[str, str]]:
    host, facts = source.host, source.facts
    versions = host.get("versions")
    known: Mapping[str, Any] = versions if isinstance(versions, Mapping) else {}
    size = sum(file.stat().st_size for file in source.files)
    records = source.records
    libraries = sorted({str(one) for one in records["library"]} - {"", "none", "nan"}) if len(records) else []
    engines = sorted({str(one) for one in records["engine"]} - {"", "nan"}) if len(records) else []
    seeds = sorted({str(one.effort.seed) for one in source.points})
    elapsed = float(records["elapsed_s"].sum()) if len(records) else 0.0
    metrics = dict.fromkeys(METRICS[m].label for _, g in source.by_benchmark() if (m := headline_metric(g)))
    checksums = markdown.needing("sec-samples", "; @sec-samples has their checksums")
    return [
        ("program", f"labkit {escape(facts.get('labkit', ''))}, commit {escape(known.get('commit', 'not recorded'))}"),
        ("engines", escape(", ".join(engines))),
        ("libraries and tools", escape(", ".join(libraries))),
        ("data set", plural(len(source.files), "samples file") + checksums),
        ("run-time environment", _environment(host, known)),
        ("hardware", _hardware(host)),
        ("execution", markdown.needing("sec-commands", "@sec-commands")),
        ("metrics", escape(", ".join(metrics))),
        ("experiments", f"{plural(len(source.summary), 'point')}, {plural(len(records), 'launch')}"),
        ("seeds", escape(", ".join(seeds))),
        ("disk space", escape(format_fact("size_B", size))),
        ("time to repeat", f"about {format_duration(elapsed)} of measuring, without starts"),
        ("author, licence, archive", escape(facts.get("author") or _AUTHOR)),
    ]


def _environment(host: Mapping[str, Any], versions: Mapping[str, Any]) -> str:
    parts = [host.get("distribution"), f"kernel {host.get('kernel')}" if host.get("kernel") else ""]
    parts += [f"{name} {versions[name]}" for name in ("python", "numpy") if versions.get(name)]
    parts += [f"container: {host['container']}"] if host.get("container") else []
    return escape(", ".join(str(part) for part in parts if part))


def _hardware(host: Mapping[str, Any]) -> str:
    parts = [str(host.get("cpu_model") or "")]
    parts += [plural(host["cpu_cores"], "core")] if host.get("cpu_cores") else []
    parts += [format_fact("memory_total_B", host["memory_total_B"])] if host.get("memory_total_B") else []
    parts += [f"virtualised by {host['virtualisation']}"] if host.get("virtualisation") else []
    return escape(", ".join(part for part in parts if part))


def evaluation(content: Content) -> str:
    """Return the steps of an artifact evaluation, with the expected results."""
    steps = []
    for member in all_members(content):
        if not len(member.summary):
            continue
        steps.append(_expected(member, len(all_members(content)) > 1))
    if not steps:
        return ""
    first = content.sources[0]
    commands = [
        "pip install 'labkit[mpich,report]'   # or, in labkit's repository: make setup",
        f"{artifact.remake(content)}   # this report, from the samples: no network and no MPI needed",
        f"labkit lint {first.view.argument}   # the rules that the data break",
    ]
    if suite := first.facts.get("suite"):
        name = suite.get("name", "") if isinstance(suite, Mapping) else suite
        commands += [f"labkit run {shlex.quote(str(name))} --into again   # measures again"]
        commands += [f"labkit compare {first.view.argument} again   # which points differ"]
    return "\n\n".join([markdown.block("\n".join(commands), "bash"), *steps])


def _expected(member: Member, several: bool) -> str:
    """Say what a repetition on the same machine should show."""
    name = f" of {code(member.name)}" if several else ""
    enough = int((member.summary["launches"] >= stats.LAUNCHES).sum())
    total = plural(len(member.summary), "point")
    have = f"{enough} of {total} have" if enough else f"None of {total} has"
    return (
        f"Expected{name}: on the same machine `labkit compare` calls most points *same*. {have} the {stats.LAUNCHES} "
        "launches that its tests need; others show an order of magnitude. On another machine, the comparisons that the "
        "abstract states should keep their direction, not their values."
    )


BLOCKS = {"description": description, "evaluation": evaluation}
