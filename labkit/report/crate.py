"""Describe an archive of a campaign as an RO-Crate: measurements, tools, authors, licence.

The metadata follow RO-Crate 1.1 [1]_ and the Process Run Crate profile 0.5 [2]_: one action for each benchmark and
library, with its instruments, its parameters, and its samples. The metadata are plain JSON-LD.

References
----------
.. [1] P. Sefton et al., RO-Crate Metadata Specification 1.1, doi 10.5281/zenodo.4031327.
.. [2] Workflow Run RO-Crate working group, Process Run Crate 0.5, https://w3id.org/ro/wfrun/process/0.5.
"""

from __future__ import annotations

import json
import math
import mimetypes
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from labkit import __version__, benchmarks
from labkit.errors import SpecError
from labkit.point.units import format_size, plural
from labkit.read.records.factors import texts
from labkit.report import SUPPLEMENT
from labkit.report.sources import Source
from labkit.store import derived
from labkit.store.archive import MANIFEST, Packed

FILE = "ro-crate-metadata.json"
_MOST = 2000  # files that are described one by one; of more, their folders are
_SPEC, _PROFILE = "https://w3id.org/ro/crate/1.1", "https://w3id.org/ro/wfrun/process/0.5"
_CONTEXT = [
    f"{_SPEC}/context",
    "https://w3id.org/ro/terms/workflow-run/context",
    {"sha256": "https://schema.org/sha256"},
]
_TYPES = {
    ".parquet": "application/vnd.apache.parquet",
    ".ipynb": "application/x-ipynb+json",
    ".jsonl": "application/jsonl",
}
_LICENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")
_ORCID = re.compile(r"(?:https://orcid\.org/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])")
Entity = dict[str, Any]


@dataclass(frozen=True)
class Person:
    """An author of the data.

    Parameters
    ----------
    name : as cited.
    orcid : 0000-0000-0000-0000; empty if there is none.
    """

    name: str
    orcid: str = ""

    @property
    def id(self) -> str:
        """Identifier in the crate."""
        return f"https://orcid.org/{self.orcid}" if self.orcid else f"#person-{_slug(self.name)}"


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def person(text: str) -> Person:
    """Read an author.

    Raises
    ------
    SpecError
        If there is no name, or the text after the comma is no ORCID.

    Examples
    --------
    >>> person("Ada Lovelace, 0000-0002-1825-0097").id
    'https://orcid.org/0000-0002-1825-0097'
    """
    if _CONTROL.search(text):
        raise SpecError(f"--author {text!r} has a line end or another control character. Write the name in one line.")
    name, comma, rest = (part.strip() for part in text.partition(","))
    match = _ORCID.fullmatch(rest)
    if not name or (comma and not (match and _checks(match[1]))):
        raise SpecError(f"--author {text!r}, but it must be 'NAME' or 'NAME, ORCID'. An ORCID ends in a check digit.")
    return Person(name, match[1] if match else "")


def _checks(orcid: str) -> bool:
    """Return whether the check digit of an ORCID is right (ISO 7064, MOD 11-2)."""
    total = 0
    for digit in orcid.replace("-", "")[:-1]:
        total = (total + int(digit)) * 2
    return "0123456789X"[(12 - total % 11) % 11] == orcid[-1]


def licence(text: str) -> str:
    """Return the address of a licence: an SPDX identifier such as CC-BY-4.0, or an address.

    Raises
    ------
    SpecError
        If it is neither.
    """
    if re.fullmatch(r"https://[!-~]+", text):
        return text
    if not _LICENCE.fullmatch(text):
        raise SpecError(
            f"--license {text!r}, but it must be an SPDX identifier such as CC-BY-4.0, or an https address."
        )
    return f"https://spdx.org/licenses/{text}"


def rendered(report: Path) -> list[Path]:
    """Return the files of a report for readers: the pages with their files, and the PDF."""
    if not report.is_dir() or report.is_symlink():
        return []
    paths = [path for path in sorted(report.rglob("*")) if path.is_file() and not path.is_symlink()]
    return [path for path in paths if path.name in ("report.pdf", SUPPLEMENT) or path.is_relative_to(report / "html")]


def metadata(
    source: Source, packed: Sequence[Packed], *, authors: Sequence[Person], license: str, today: str = ""
) -> dict[str, Any]:
    """Return the content of ``ro-crate-metadata.json``.

    Parameters
    ----------
    source : the campaign.
    packed : files of the archive without the metadata.
    authors : people, at least one.
    license : address of the licence of the data.
    today : date of publication, ISO 8601 (default: today).
    """
    actions = list(_measured(source, authors)) + list(_reported(source, packed, authors))
    folders = _folders(packed)
    files = [_file(one) for one in packed] if len(packed) <= _MOST else []
    named = {one["@id"] for one in files}
    parts = [*folders, *(name for name in sorted(named) if not any(name.startswith(f) for f in folders))]
    title = str(source.facts.get("title") or source.name)
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": title,
        "description": _description(source),
        "datePublished": today or datetime.now(UTC).date().isoformat(),
        "dateCreated": str(source.facts.get("created") or ""),
        "license": {"@id": license},
        "author": _refs(one.id for one in authors),
        "conformsTo": {"@id": _PROFILE},
        "identifier": f"urn:uuid:{source.facts['id']}" if source.facts.get("id") else source.name,
        "keywords": ["network benchmark", "MPI", "labkit"],
        "hasPart": _refs(parts),
        "mentions": _refs(one["@id"] for one in actions if one["@type"] == "CreateAction"),
    }
    graph: list[Entity] = [
        {
            "@id": FILE,
            "@type": "CreativeWork",
            "conformsTo": {"@id": _SPEC},
            "about": {"@id": "./"},
        },
        {name: value for name, value in root.items() if value not in ("", [])},
        {"@id": _PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"},
        {"@id": license, "@type": "CreativeWork", "name": license.rpartition("/")[2] or license, "url": license},
        *({"@id": one.id, "@type": "Person", "name": one.name} for one in authors),
        *(_folder(name, files, packed) for name in folders),
        *files,
        *actions,
        *_host(source),
        *_software(source),
    ]
    return {"@context": _CONTEXT, "@graph": graph}


def written(**how: Any) -> str:
    """Return `metadata` as the text of its file."""
    return json.dumps(metadata(**how), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _refs(ids: Iterable[str]) -> Any:
    """Return references: a single one is not a list, as RO-Crate recommends."""
    every = [{"@id": one} for one in ids]
    return every[0] if len(every) == 1 else every


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"


def _description(source: Source) -> str:
    """Say what was measured, where and how much."""
    names = sorted({str(name) for name in source.records["benchmark"]}) if len(source.records) else []
    host = str(source.host.get("cpu_model") or source.host.get("hostname") or "an unnamed machine")
    return (
        f"Measurements of communication by labkit {source.facts.get('labkit') or '?'} on {host}: "
        f"{plural(len(source.summary), 'point')} in {plural(len(source.records), 'launch')} of "
        f"{plural(len(names), 'benchmark')} "
        f"({', '.join(names)}). Samples are "
        f"Parquet files; {MANIFEST} holds a SHA-256 of each file."
    )


def _folders(packed: Sequence[Packed]) -> list[str]:
    """Return the folders of the archive that hold files: folders of benchmarks, and others of the top level."""
    names = set()
    for one in packed:
        parts = one.name.split("/")
        if len(parts) > 1:
            names.add("/".join(parts[: 2 if parts[0] == "samples" and len(parts) > 2 else 1]) + "/")
    return sorted(names)


def _folder(name: str, files: Sequence[Entity], packed: Sequence[Packed]) -> Entity:
    inside = [one for one in packed if one.name.startswith(name)]
    size = format_size(sum(one.size for one in inside))
    entity: Entity = {
        "@id": name,
        "@type": "Dataset",
        "name": f"{_meaning(name)} ({plural(len(inside), 'file')}, {size})",
    }
    parts = [one["@id"] for one in files if one["@id"].startswith(name)]
    return entity | ({"hasPart": _refs(parts)} if parts else {})


def _meaning(name: str) -> str:
    top, _, rest = name.rstrip("/").partition("/")
    words = {"samples": "samples", "starts": "records of starts", "notebooks": "executed notebooks", "report": "report"}
    return " of ".join(filter(None, [words.get(top, top), rest]))


def _file(one: Packed) -> Entity:
    suffix = "." + one.name.rpartition(".")[2]
    kind = _TYPES.get(suffix) or mimetypes.guess_type(one.name)[0] or "application/octet-stream"
    return {
        "@id": one.name,
        "@type": "File",
        "name": one.name,
        **({"contentSize": str(one.size)} if one.digest else {}),
        "encodingFormat": kind,
        **({"sha256": one.digest} if one.digest else {}),
    }


def _measured(source: Source, authors: Sequence[Person]) -> Iterator[Entity]:
    """Yield an action for each benchmark and library, and what it was requested."""
    for name, rows in source.by_benchmark():
        for library, group in rows.groupby("library", sort=True):
            label = f"{name} with {library}" if library else name
            action = f"#measuring-{_slug(label)}"
            asked = list(_parameters(action, group))
            starts = sorted(str(start) for start in group["start"] if start)
            tools = ["#labkit-measuring", *([f"#software-{_slug(str(library))}"] if library else [])]
            title = benchmarks.find()[name].title if name in benchmarks.find() else name
            yield {
                "@id": action,
                "@type": "CreateAction",
                "name": f"Measured {label}",
                "description": f"{title}: {plural(len(group), 'launch')} of "
                f"{plural(group['fingerprint'].nunique(), 'point')}.",
                "instrument": _refs(tools),
                "agent": {"@id": authors[0].id},
                "object": _refs(one["@id"] for one in asked),
                "result": {"@id": f"samples/{name}/"},
                "actionStatus": "http://schema.org/CompletedActionStatus",
                **({"startTime": starts[0], "endTime": _end(group, starts[-1])} if starts else {}),
            }
            yield from asked


def _end(group: Any, last: str) -> str:
    """Return the end of the launch that started last."""
    rows = group[group["start"] == last]
    elapsed = float(rows["elapsed_s"].max())
    try:
        end = datetime.fromisoformat(last) + timedelta(seconds=0.0 if math.isnan(elapsed) else elapsed)
    except (ValueError, OverflowError):  # a file from elsewhere may hold any number
        return last
    return end.isoformat(timespec="milliseconds")


def _parameters(action: str, group: Any) -> Iterator[Entity]:
    """Yield what the points of an action were requested."""
    for column in ("message_size_B", "ranks", "transport", "testbed", "launch"):
        name = "message size (B)" if column == "message_size_B" else column
        values = dict.fromkeys(texts(group.sort_values(column), column))
        yield {
            "@id": f"{action}-{_slug(name)}",
            "@type": "PropertyValue",
            "name": name,
            "value": ", ".join(values),
        }


def _reported(source: Source, packed: Sequence[Packed], authors: Sequence[Person]) -> Iterator[Entity]:
    """Yield the action that made the reports, if the archive holds any."""
    results = [name for name in _folders(packed) if derived.is_report(name.rstrip("/"))]
    if results:
        yield {
            "@id": "#reporting",
            "@type": "CreateAction",
            "name": "Made the report" if len(results) == 1 else "Made the reports",
            "description": "labkit report: the notebooks of the campaign as a book, in HTML and PDF.",
            "instrument": {"@id": "#labkit-reporting"},
            "agent": {"@id": authors[0].id},
            "object": _refs(f"samples/{name}/" for name, _ in source.by_benchmark()),
            "result": _refs(results),
        }


def _host(source: Source) -> Iterator[Entity]:
    """Yield what the machine was, as properties."""
    for name, value in sorted(source.host.items()):
        if isinstance(value, str | int | float) and not isinstance(value, bool) and value != "":
            yield {"@id": f"#host-{_slug(name)}", "@type": "PropertyValue", "name": f"host {name}", "value": str(value)}


def _software(source: Source) -> Iterator[Entity]:
    """Yield the programs: labkit as it measured and as it reports, MPI libraries and tools."""
    versions = source.host.get("versions")
    commit = versions.get("commit") if isinstance(versions, Mapping) else ""
    measured = str(source.facts.get("labkit") or "unknown")
    yield _program("#labkit-measuring", "labkit", f"{measured} ({commit})" if commit else measured)
    yield _program("#labkit-reporting", "labkit", __version__)
    libraries = sorted({str(name) for name in source.records["library"]} - {""}) if len(source.records) else []
    for library in libraries:
        name, _, version = library.rpartition(" ")
        yield _program(f"#software-{_slug(library)}", name or library, version if name else "unknown")


def _program(identifier: str, name: str, version: str) -> Entity:
    return {"@id": identifier, "@type": "SoftwareApplication", "name": name, "softwareVersion": version}
