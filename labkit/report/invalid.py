"""Mark campaigns with invalid numbers: on the front page, and in the captions of figures and tables with these numbers.

Rules with `voids` make numbers invalid: wrong bytes, copied launches, contradictory percentiles.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from labkit.judge import rules
from labkit.point.notes import listed
from labkit.point.units import plural
from labkit.report import markdown, slides
from labkit.report.content import Content
from labkit.report.markdown import code, escape
from labkit.report.options import options, written
from labkit.report.sources import Source

WORD = "Invalid"
_NAMED = 3  # points of a rule that the front page names
_FRONT = "index.qmd"
_CAPTIONS = ("fig-cap", "tbl-cap")
# tables without numbers of a campaign
_WORDS = (
    "campaigns", "caveats", "description", "factors", "failed", "figure-data", "files", "host-all", "hosts", "labkit-",
    "metrics", "rules", "scope", "signatures", "signed", "surveyed-", "testbeds", "threats", "timing", "versions",
)  # fmt: skip
_OTHERS = "|".join(map(re.escape, _WORDS))
_TABLE = re.compile(rf"^: (?=.*\{{#tbl-(?!{_OTHERS})[\w-]+\}}$)", re.M)
_FIGURE = re.compile(r"^!\[(?=.*\]\([^)]*\)\{#fig-)", re.M)


def mark(texts: dict[str, str], content: Content) -> None:
    """Mark the chapters of a report if its campaigns have invalid points.

    Parameters
    ----------
    texts : chapters that are not notebooks; the first page gets a callout, and captions get the mark.
    """
    broken = [source for source in content.sources if source.invalid]
    if not broken:
        return
    for chapter in content.chapters.values():
        if (source := slides.source_of(chapter, content)) in broken:
            for cell in (one for one in chapter.notebook.cells if one.cell_type == "code"):
                chosen, body = options(cell.source)
                said = {key: f"{_mark([source], content)} {chosen[key]}" for key in _CAPTIONS if chosen.get(key)}
                cell.source = written({**chosen, **said}, body) if said else cell.source
    words = f"{_mark(broken, content)} "
    for name, text in texts.items():
        texts[name] = _FIGURE.sub(lambda found: found[0] + words, _TABLE.sub(lambda found: found[0] + words, text))
    if _FRONT in texts:
        texts[_FRONT] = _below_heading(texts[_FRONT], _callout(broken))


def _mark(sources: Sequence[Source], content: Content) -> str:
    """Return the beginning of a caption: the word, and the sentence of each broken rule."""
    codes = dict.fromkeys(one.code for source in sources for one in source.invalid)
    named = f"campaign {listed([escape(source.name) for source in sources])}" if content.several else "the campaign"
    return f"**{WORD}:** {named} breaks the rule that {'; that '.join(escape(_must(each)) for each in codes)}."


def _callout(sources: Sequence[Source]) -> str:
    """Return what the front page says: campaign, broken rules, points and remedies."""
    lines = []
    for source in sources:
        for one in dict.fromkeys(finding.code for finding in source.invalid):
            found = [finding for finding in source.invalid if finding.code == one]
            places = dict.fromkeys(str(finding.subject) for finding in found)
            more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
            named = ", ".join(code(place) for place in [*places][:_NAMED])
            rule = rules.every()[one]
            lines.append(
                f"Campaign **{escape(source.name)}** breaks the rule {code(one)}: {escape(rule.must)}, because "
                f"{escape(rule.why)}. {plural(len(found), 'finding')}: {named}{more}. {escape(rule.remedy_for(found))}"
            )
    return markdown.callout("important", WORD, markdown.bullets(lines))


def _must(one: str) -> str:
    return rules.every()[one].must


def _below_heading(text: str, block: str) -> str:
    """Return a chapter with a block below its heading."""
    head, _, rest = text.partition("\n")
    return f"{head}\n\n{block}\n{rest}" if head.startswith(("# ", "## ")) else f"{block}\n\n{text}"
