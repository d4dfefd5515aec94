"""A copy of a campaign with pseudonyms for hosts, users, paths and addresses. Its numbers are the same.

Points are read, their texts replaced, and saved as a measurement saves them. So the copy has its own checksums, and
`labkit verify` checks it like any other campaign. Reports are not copied; they can be made from the copy.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labkit.errors import DataError
from labkit.io import atomic
from labkit.store import archive, derived, events
from labkit.store.campaign import Campaign
from labkit.store.pseudonyms import Pseudonyms
from labkit.store.samples import Samples, header, start
from labkit.store.samples.facts import TESTBED
from labkit.store.samples.start import Start

MARK = "redacted"  # key of campaign.json
_OWN = ("campaign.json", events.NAME, "samples", start.FOLDER, "records.parquet")  # written anew, or left out


@dataclass(frozen=True)
class Redacted:
    """The copy of a campaign.

    Parameters
    ----------
    campaign : the copy.
    pseudonyms : pseudonyms that stand in it.
    left_out : files that it lacks, because labkit cannot replace names in them.
    """

    campaign: Campaign
    pseudonyms: Pseudonyms
    left_out: tuple[str, ...]


def copy(source: Campaign, into: Path, words: Iterable[str] = ()) -> Redacted:
    """Write a copy of a campaign with pseudonyms.

    Parameters
    ----------
    into : new folder that gets the folder of the copy.
    words : further words to replace.

    Raises
    ------
    DataError
        If somebody measures into it, or a file of it cannot be read.
    """
    if source.in_use:
        raise DataError(f"{source.path} is in use by a run. Export it after the run ends.")
    pseudonyms = Pseudonyms(words)
    regular, links = archive.files(source.path)
    others = [path for path in regular if _is_other(path.relative_to(source.path))]
    texts = {path: text for path in others if (text := _text(path)) is not None}
    _learn(source, pseudonyms, texts.values())
    folder = into / pseudonyms.text(source.path.resolve().name)
    folder.mkdir(parents=True)
    mark = {MARK: datetime.now(UTC).isoformat(timespec="seconds")}
    atomic.replace(folder / "campaign.json", json.dumps(pseudonyms.value(source.facts) | mark, indent=1) + "\n")
    target = Campaign(folder)
    with target.saving() as saving:
        for benchmark in source.benchmarks():
            for fingerprint, point in source.named(benchmark):
                saving.add(_point(point, pseudonyms), fingerprint)
    _events(source, target, pseudonyms)
    if any(source.files(name).compacted for name in source.benchmarks()):
        target.compact()
    for path, text in texts.items():
        place = folder / "/".join(map(pseudonyms.text, path.relative_to(source.path).parts))
        place.parent.mkdir(parents=True, exist_ok=True)
        atomic.replace(place, rewritten(text, path.suffix, pseudonyms))
    left_out = [path.relative_to(source.path).as_posix() for path in others if path not in texts]
    left_out += [text.partition(":")[0] for text in links]
    return Redacted(target, pseudonyms, tuple(left_out))


def redacted(campaign: Campaign) -> str:
    """Return when the names in a campaign were replaced; empty if they were not."""
    return str(campaign.facts.get(MARK) or "")


def rewritten(text: str, suffix: str, pseudonyms: Pseudonyms) -> str:
    """Return the text of a file with pseudonyms; JSON stays JSON."""
    try:
        if suffix in (".json", ".ipynb"):
            return json.dumps(pseudonyms.value(json.loads(text)), indent=1, ensure_ascii=False) + "\n"
        if suffix == ".jsonl":
            lines = [json.dumps(pseudonyms.value(json.loads(line)), ensure_ascii=False) for line in text.splitlines()]
            return "".join(f"{line}\n" for line in lines)
    except (ValueError, RecursionError):  # no JSON, whatever it is called
        pass
    return pseudonyms.text(text)


def _is_other(path: Path) -> bool:
    """Return whether a file of a campaign is copied as text."""
    return path.parts[0] not in _OWN and not derived.is_report(path.parts[0])


def _text(path: Path) -> str | None:
    """Return the content of a file of text; None of any other file."""
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _learn(source: Campaign, pseudonyms: Pseudonyms, texts: Iterable[str]) -> None:
    """Learn all names before the first text is replaced."""
    pseudonyms.learn(source.facts)
    for event in events.read(source.path):
        pseudonyms.learn(event.facts)
        if event.kind == "left_out":
            pseudonyms.learn([event["host"]], "hosts")
    for point in source.samples():
        pseudonyms.learn(point.host)
        pseudonyms.learn({**point.spec.as_dict(), **point.meta}, hosts=not TESTBED.of(point.meta))
        pseudonyms.learn_printed(point.source)
    for text in texts:
        pseudonyms.learn_homes(text)


def _point(point: Samples, pseudonyms: Pseudonyms) -> Samples:
    """Return a point with pseudonyms."""
    value, spec = pseudonyms.value, point.spec.as_dict()
    plain: dict[str, Any] = {name: spec[name] for name in ("benchmark", "transport", "bind") if name in spec}
    record = point.start
    if record is not None and not record.problem:
        record = Start.of(value(dict(record.host)), value(dict(record.meta)), value(dict(record.spec)))
    return replace(
        point,
        spec=header.spec({**value(spec), **plain}),
        host=value(dict(point.host)),
        meta=value(dict(point.meta)),
        reported=header.reported([value(one.as_dict()) for one in point.reported], point.spec.benchmark),
        source=pseudonyms.text(point.source),
        start=record,
    )


def _events(source: Campaign, target: Campaign, pseudonyms: Pseudonyms) -> None:
    """Write the events of a campaign into its copy, with the checksums of the copy's files."""
    saved = {event["file"]: event for event in events.read(target.path, "saved")}
    lines = []
    for event in events.read(source.path):
        if event.kind == "saved" and event["file"] in saved:
            lines.append(replace(saved.pop(event["file"]), time=event.time))
        elif event.kind not in ("saved", "imported", "compacted"):
            lines.append(replace(event, facts=pseudonyms.value(dict(event.facts))))
    lines += saved.values()  # of points that only a compacted file held
    atomic.replace(target.path / events.NAME, b"".join(event.line() for event in lines))
    (target.path / events.LOG).unlink(missing_ok=True)  # that of the source takes its place


__all__ = ["MARK", "Redacted", "copy", "redacted", "rewritten"]
