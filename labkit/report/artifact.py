"""Generate the parts of the artifact appendix: versions, commands, hosts, parameters, files, failures."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit import __version__
from labkit.io import safe_read
from labkit.point.notes import joined
from labkit.point.units import plural
from labkit.report import markdown
from labkit.report.content import Content
from labkit.report.markdown import code, escape
from labkit.report.sources import Source
from labkit.report.summary import facts_table, flat, rest
from labkit.store import derived
from labkit.store.samples.facts import COMMAND, COMMANDS

CHECKSUMS = "checksums.txt"
_FOLDER = re.compile(r"\b(LABKIT|VENV|HOME)/")
_COMMANDS = 12  # are shown; every samples file holds its own
_WIDTH = 84  # characters of a line of code in the PDF
_REASON = 300  # characters of a reason for a failure
_INJECTED = re.compile(r"(?:measure|campaign) *=")  # what labkit sets when it executes a notebook
_PLAN = '"$PLAN"'
_LONG = 160  # characters of a word of a command that is data, such as the plan of the ranks


def versions(content: Content) -> str:
    """Return a table of the software and of campaign.json, without host and failures."""
    every: list[tuple[Source, list[tuple[str, str]]]] = []
    for source in content.sources:
        settings = {k: v for k, v in source.facts.items() if k not in ("host", "skipped", "notebooks", "parameters")}
        libraries = set(source.records["library"]) - {"", "none"} if len(source.records) else set()
        facts = [
            *flat(settings),
            *(("library or tool", text) for text in sorted(libraries)),
            ("report made by labkit", __version__),
        ]
        every.append((source, facts))
    return facts_table(content, every, caption="Campaign and software. {#tbl-versions}", empty="")


def commands(content: Content) -> str:
    """Return the command lines of the points, most frequent first."""
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for source in content.sources:
        for point in source.points:
            command, tool = COMMAND.of(point.meta), COMMANDS.of(point.meta)
            if tool:  # ports, sizes and folders differ from one run of a tool to the next: the first stands for all
                text = examples.setdefault(point.spec.benchmark, "\n".join(shlex.join(words) for words in tool))
            else:
                text = shlex.join(command)
            counts[text] += bool(text)
    counts.pop("", None)
    if not counts:
        return "The samples files hold no command lines: no launcher or tool ran."
    names = {text: name for name, text in examples.items()}

    def example_of(command: str) -> str:
        return f" of {names[command]}, for example" if command in names else ""

    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    blocks = [
        f"# {plural(count, 'samples file')}{example_of(command)}\n{folded(command)}"
        for command, count in ordered[:_COMMANDS]
    ]
    paragraphs = [markdown.block("\n".join(blocks), "bash")]
    if len(ordered) > _COMMANDS:
        paragraphs.append(f"{len(ordered) - _COMMANDS} more command lines are in the samples files under `command`.")
    if any(_PLAN in paragraph for paragraph in paragraphs):
        paragraphs.append(
            f"`{_PLAN}` represents a long argument, such as the plan of the ranks; samples files hold it."
        )
    if any(_FOLDER.search(paragraph) for paragraph in paragraphs):
        paragraphs.append(
            "`LABKIT` is the folder of labkit's package, `VENV` the virtual environment, and `HOME` the "
            "user's home folder."
        )
    return "\n\n".join(paragraphs)


def folded(command: str) -> str:
    r"""Return command lines as a shell reads them, folded to the width of the page; long data become ``$PLAN``.

    Examples
    --------
    >>> print(folded("mpirun -n 2 python -m labkit.worker " + "x" * 200))
    mpirun -n 2 python -m labkit.worker "$PLAN"
    """
    return "\n".join(_folded(line) for line in command.splitlines())


def _folded(command: str) -> str:
    """Return a command line with a backslash at the end of all but its last line."""
    try:
        words = [_PLAN if len(word) > _LONG else shlex.quote(word) for word in shlex.split(command)]
    except ValueError:  # no command line of a shell
        return command[: 10 * _LONG]
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + len(word) + 3 > _WIDTH:
            lines.append("   ")
        lines[-1] += f" {word}" if lines[-1] else word
    return " \\\n".join(lines)


def host(content: Content) -> str:
    """Return a table of the facts on hosts that the table of the systems lacks, two facts in a row."""
    return facts_table(
        content,
        [(source, rest(source.host)) for source in content.sources],
        caption="Further facts on the host at the start. {#tbl-host-all}",
        empty=markdown.table(
            ["fact", "value"], [["description", "none recorded"]], caption="Description of the host. {#tbl-host-all}"
        ),
    )


def parameters(content: Content) -> str:
    """Return the parameters of every notebook; empty for a style that shows no notebook."""
    if not content.chapters:
        return ""
    shown = [f"# {name}\n{_compact(c.parameters)}" for name, c in content.chapters.items() if c.parameters]
    return markdown.block("\n".join(shown), "python") if shown else "The notebooks had no parameters."


def _compact(source: str) -> str:
    """Return the statements of a cell without their comments, several on a line."""
    lines = [""]
    for line in source.splitlines():
        quoted = re.match(r"""((?:[^#"']|"[^"]*"|'[^']*')*)""", line)
        statement = quoted[1].strip() if quoted else line
        if not statement or _INJECTED.match(statement):
            continue
        if not lines[-1]:
            lines[-1] = statement
        elif len(lines[-1]) + 2 + len(statement) <= _WIDTH:
            lines[-1] += f"; {statement}"
        else:
            lines.append(statement)
    return "\n".join(lines)


def failed(content: Content) -> str:
    """Return a table of what was skipped or failed, with the reason."""
    rows = []
    for source in content.sources:
        reasons: dict[str, list[str]] = {}
        for what, why in source.failed:
            reasons.setdefault(_cut(why), []).append(what)
        rows += [(source, [escape(joined(points)), escape(why)]) for why, points in reasons.items()]
    return content.table(
        ["points", "reason"],
        rows,
        caption="Points that were skipped or failed. {#tbl-failed}",
        empty="No point was skipped or failed.",
    )


def _cut(reason: str) -> str:
    """Return a reason without the command that failed, in a few lines; the campaign's events hold all of it."""
    short = reason.partition(" command: ")[0]
    return short if len(short) <= _REASON else f"{short[:_REASON]} …"


def left_out(content: Content) -> str:
    """Return a line on the parts of chapters that the campaign has no data for."""
    items = [f"{c.title}: {', '.join(c.omitted)}" for c in (*content.omitted, *content.chapters.values()) if c.omitted]
    sentences = [f"Left out, because this campaign has no data for it: {'; '.join(items)}."] if items else []
    if content.absent:
        sentences.append(f"Sections left out, because there are no data: {', '.join(content.absent)}.")
    return "\n\n".join(sentences)


def checksums(source: Source) -> str:
    """Return the SHA-256 of every samples file, as ``sha256sum -c`` reads it."""
    lines = [f"{safe_read.sha256(file)}  {file.relative_to(source.path).as_posix()}\n" for file in source.files]
    return "".join(lines)


def checksum_file(source: Source, content: Content) -> str:
    """Return the name of the file with a campaign's checksums below ``data/``."""
    return CHECKSUMS if not content.several else f"{content.sources.index(source) + 1}-{CHECKSUMS}"


def files(content: Content) -> str:
    """Return a table of the samples files, and links to their checksums."""
    rows: list[tuple[Source, list[str]]] = []
    notes = []
    for source in content.sources:
        families: dict[str, list[Path]] = {}
        for file in source.files:
            families.setdefault(file.parent.name.partition(".")[0], []).append(file)
        for name, paths in sorted(families.items()):
            size = sum(file.stat().st_size for file in paths)
            folders = len({file.parent for file in paths})
            rows.append((source, [code(f"samples/{name}.*"), str(folders), str(len(paths)), f"{size:,}"]))
        digest = hashlib.sha256(checksums(source).encode()).hexdigest()
        name = checksum_file(source, content)
        notes.append(
            f"Checksums of all files of {escape(source.name)}: [data/{name}](data/{name}). Its own SHA-256:\n\n"
            f"{markdown.block(digest, 'text')}"
        )
    table = content.table(
        ["folders", "number", "files", "bytes"],
        rows,
        align="lrrr",
        caption="Samples files. {#tbl-files}",
        empty="There are no samples files.",
    )
    return "\n\n".join([table, *notes])


def rerun(content: Content) -> str:
    """Return the commands that measure again, and that make this report again."""
    lines = []
    for source in content.sources:
        if suite := _suite(source.facts):
            lines.append(f"labkit run {shlex.quote(suite)}")
    folder = derived.report(content.style, [source.path for source in content.sources[1:]])
    sums = f"{folder}/data/{checksum_file(content.sources[0], content)}"
    of = f" {content.sources[0].name}" if content.several else ""
    lines.append(f"sha256sum --check {shlex.quote(sums)}   # in the folder of the campaign{of}")
    lines.append(remake(content))
    return markdown.block("\n".join(dict.fromkeys(lines)), "bash")


def remake(content: Content) -> str:
    """Return the command that makes this report again from the samples."""
    options = "" if content.style == derived.REPORT else f" --style {shlex.quote(content.style)}"
    options += f" --contract {shlex.quote(content.contract.name)}" if content.contract else ""
    options += f" --log {shlex.quote(content.log.name)}" if content.log else ""
    options += "".join(f" --allow {shlex.quote(name)}" for name in content.allow)
    return "labkit report " + " ".join(shlex.quote(source.name) for source in content.sources) + options


def _suite(facts: Mapping[str, Any]) -> str:
    suite = facts.get("suite")
    return str(suite.get("name", "")) if isinstance(suite, Mapping) else str(suite or "")


BLOCKS = {
    "versions": versions,
    "commands": commands,
    "host": host,
    "parameters": parameters,
    "failed": failed,
    "left-out": left_out,
    "files": files,
    "rerun": rerun,
}
