"""Generated parts of the artifact appendix: versions, commands, hosts, parameters, files, what failed."""

from __future__ import annotations

import hashlib
import shlex
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit import __version__
from labkit.report import markdown
from labkit.report.content import Content
from labkit.report.markdown import code, escape
from labkit.report.sources import Source
from labkit.report.summary import flat
from labkit.report.variables import plural
from labkit.samples.facts import COMMAND, COMMANDS

CHECKSUMS = "checksums.txt"
_COMMANDS = 20  # shown; every samples file holds its own


def versions(content: Content) -> str:
    """Table of the software and of what campaign.json holds beside host and failures."""
    rows: list[tuple[Source, list[str]]] = []
    for source in content.sources:
        kept = {k: v for k, v in source.facts.items() if k not in ("host", "skipped", "notebooks", "parameters")}
        libraries = (
            sorted({text for text in source.records["library"] if text not in ("", "none")})
            if len(source.records)
            else []
        )
        facts = [
            *flat(kept),
            *(("library or tool", text) for text in libraries),
            ("report made by labkit", __version__),
        ]
        rows += [(source, [escape(a), escape(b)]) for a, b in facts]
    return content.table(["fact", "value"], rows, caption="Campaign and software. {#tbl-versions}", empty="")


def commands(content: Content) -> str:
    """Command lines exactly as they ran, most frequent first."""
    found: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for source in content.sources:
        for one in source.points:
            command, tool = COMMAND.of(one.meta), COMMANDS.of(one.meta)
            if tool:  # ports, sizes and folders differ from one run of a tool to the next: one stands for all
                text = shown.setdefault(one.spec.benchmark, "\n".join(shlex.join(words) for words in tool))
            else:
                text = command if isinstance(command, str) else shlex.join(map(str, command or []))
            found[text] += bool(text)
    found.pop("", None)
    if not found:
        return "The samples files hold no command lines: no launcher or tool ran."
    names = {text: name for name, text in shown.items()}

    def like(command: str) -> str:
        return f" of {code(names[command])}, for example" if command in names else ""

    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    more = len(ordered) - _COMMANDS
    listed = [
        f"For {plural(count, 'samples file')}{like(command)}:\n\n{markdown.block(command)}"
        for command, count in ordered[:_COMMANDS]
    ]
    rest = [f"{more} more command lines are in the samples files under `command`."] if more > 0 else []
    return "\n\n".join(listed + rest)


def host(content: Content) -> str:
    """Table of everything known about the hosts."""
    rows = [(source, [escape(a), escape(b)]) for source in content.sources for a, b in flat(source.host)]
    return content.table(
        ["fact", "value"],
        rows,
        caption="Description of the host at the start. {#tbl-host-all}",
        empty=markdown.table(
            ["fact", "value"], [["description", "none recorded"]], caption="Description of the host. {#tbl-host-all}"
        ),
    )


def parameters(content: Content) -> str:
    """Parameters of every notebook."""
    shown = [
        f"@{c.label} (`{name}`):\n\n{markdown.block(c.parameters, 'python')}"
        for name, c in content.chapters.items()
        if c.parameters
    ]
    return "\n\n".join(shown) or "The notebooks had no parameters."


def failed(content: Content) -> str:
    """Table of what was skipped or failed, with the reason."""
    rows = [(source, [escape(what), escape(why)]) for source in content.sources for what, why in source.failed]
    return content.table(
        ["point", "reason"],
        rows,
        caption="Points that were skipped or failed. {#tbl-failed}",
        empty="No point was skipped or failed.",
    )


def checksums(source: Source) -> str:
    """SHA-256 of every samples file, as ``sha256sum -c`` reads it."""
    lines = [
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(source.path).as_posix()}\n"
        for file in source.files
    ]
    return "".join(lines)


def checksum_file(source: Source, content: Content) -> str:
    """Name of the file with a campaign's checksums below ``data/``."""
    return CHECKSUMS if not content.several else f"{content.sources.index(source) + 1}-{CHECKSUMS}"


def files(content: Content) -> str:
    """Table of the samples files, and where their checksums are."""
    rows: list[tuple[Source, list[str]]] = []
    notes = []
    for source in content.sources:
        held: dict[str, list[Path]] = {}
        for file in source.files:
            held.setdefault(file.parent.name, []).append(file)
        for name, found in sorted(held.items()):
            size = sum(file.stat().st_size for file in found)
            rows.append((source, [code(f"samples/{name}"), str(len(found)), f"{size:,}"]))
        digest = hashlib.sha256(checksums(source).encode()).hexdigest()
        name = checksum_file(source, content)
        notes.append(
            f"Checksums of all files of {escape(source.name)}: [data/{name}](data/{name}), "
            f"whose own SHA-256 is {code(digest)}."
        )
    table = content.table(
        ["folder", "files", "bytes"],
        rows,
        align="lrr",
        caption="Samples files. {#tbl-files}",
        empty="There are no samples files.",
    )
    return "\n\n".join([table, *notes])


def rerun(content: Content) -> str:
    """Commands that measure again, and that make this report again."""
    lines = []
    for source in content.sources:
        suite = _suite(source.facts)
        lines += [f"labkit run {shlex.quote(suite)}"] if suite else []
    lines.append("sha256sum --check report/data/checksums.txt   # in the folder of the campaign")
    lines.append("labkit report " + " ".join(shlex.quote(source.name) for source in content.sources))
    return markdown.block("\n".join(dict.fromkeys(lines)), "bash")


def _suite(facts: Mapping[str, Any]) -> str:
    suite = facts.get("suite")
    return str(suite.get("name", "")) if isinstance(suite, Mapping) else str(suite or "")


BLOCKS = {
    "versions": versions,
    "commands": commands,
    "host": host,
    "parameters": parameters,
    "failed": failed,
    "files": files,
    "rerun": rerun,
}
