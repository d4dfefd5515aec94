"""Fill the templates of chapters with generated blocks, without sections that have only empty blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from labkit.errors import ReportError
from labkit.report import markdown, prune

_GENERATED = re.compile(r"^<!-- generated: ([\w-]+) -->$", re.M)
_HEAD = re.compile(r"^(#{1,6}) +(.*?)[ \t]*(?:\{[^}\n]*\})?[ \t]*$", re.M)
_LABEL = re.compile(r"\{#((?:sec|tbl|fig|eq)-[\w-]+)")
_REFERENCE = re.compile(r"@((?:fig|tbl|sec|eq)-[\w-]*\w)")
LAST = "left-out"  # the block that names what was left out: made when all others are


@dataclass
class Filled:
    """Chapters with their blocks.

    Parameters
    ----------
    texts : name of a file → its text, without empty chapters.
    gone : labels without a target: of parts left out, or not defined in any chapter of this style.
    """

    texts: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)


@dataclass
class _Section:
    """A heading with the text up to the next one."""

    level: int
    title: str
    text: str
    blocks: int = 0  # generated blocks in it
    empty: int = 0  # of them


def fill(
    files: Mapping[str, Path],
    blocks: Mapping[str, Callable[[], str]],
    *,
    labels: set[str],
    optional: set[str],
    omitted: list[str],
) -> Filled:
    """Fill templates.

    Parameters
    ----------
    files : name of a chapter → its template.
    blocks : name of a block → function that makes it.
    labels : labels that the book's notebooks define.
    optional : labels to which chapters may refer although this style has no chapter that defines them.
    omitted : filled with the headings of parts left out, before the block `LAST` is made.

    Raises
    ------
    ReportError
        If a template cannot be read, or requests a block that does not exist.
    """
    filled, optional = Filled(), set(optional)
    for name, path in files.items():
        sections = [_filled(section, path, blocks, optional) for section in _sections(_read(path))]
        if kept := _kept(sections, filled.gone, omitted):
            filled.texts[name] = "\n\n".join(kept) + "\n"
    for name, text in filled.texts.items():
        filled.texts[name] = _GENERATED.sub(lambda match: blocks[match[1]](), text)
    defined = labels | {label for text in filled.texts.values() for label in _LABEL.findall(text)}
    filled.gone = (filled.gone | optional) - defined
    for name, text in filled.texts.items():
        filled.texts[name] = markdown.unmarked(prune.without(text, filled.gone))
    return filled


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeError) as error:
        raise ReportError(f"{path} cannot be read: {error}. Restore the file, or take it out of the list.") from error


def _sections(text: str) -> list[_Section]:
    """Return the text in pieces, each with its heading; the first may have none."""
    heads = list(_HEAD.finditer(markdown.mask(text)))
    starts = [0, *(head.start() for head in heads if head.start())]
    ends = [*starts[1:], len(text)]
    sections = []
    for start, end in zip(starts, ends, strict=True):
        part = text[start:end].strip("\n")
        head = _HEAD.match(part)
        sections.append(_Section(len(head[1]) if head else 0, head[2] if head else "", part))
    return sections


def _filled(section: _Section, path: Path, blocks: Mapping[str, Callable[[], str]], referred: set[str]) -> _Section:
    """Return a section with its blocks; add the labels to which these refer to `referred`."""

    def block(match: re.Match[str]) -> str:
        if match[1] not in blocks:
            raise ReportError(
                f"{path} asks for the generated block {match[1]!r}. There are: {', '.join(sorted(blocks))}."
            )
        section.blocks += 1
        if match[1] == LAST:
            return match[0]
        text = blocks[match[1]]()
        section.empty += not text.strip()
        referred.update(_REFERENCE.findall(text))
        return text

    section.text = re.sub(r"\n{3,}", "\n\n", _GENERATED.sub(block, section.text))
    return section


def _kept(sections: Sequence[_Section], gone: set[str], omitted: list[str]) -> list[str]:
    """Return the texts of the sections to keep: without blocks, with a filled block, or with a kept section below.

    The labels of the others go to `gone`, and their headings to `omitted`.
    """
    keep = [not section.blocks or section.empty < section.blocks for section in sections]
    for place in reversed(range(len(sections))):
        below = _below(sections, place)
        if below and (not keep[place] or not sections[place].blocks) and sections[place].level:
            keep[place] = any(keep[number] for number in below)
    for place, section in enumerate(sections):
        if not keep[place]:
            gone |= set(_LABEL.findall(section.text))
            if not any(place in _below(sections, other) for other in range(place) if not keep[other]):
                omitted.append(section.title)
    return [section.text for section, stays in zip(sections, keep, strict=True) if stays and section.text.strip()]


def _below(sections: Sequence[_Section], place: int) -> list[int]:
    """Return the places of the sections inside of one."""
    inside = []
    for number in range(place + 1, len(sections)):
        if sections[number].level <= sections[place].level:
            break
        inside.append(number)
    return inside
