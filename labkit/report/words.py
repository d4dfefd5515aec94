"""The fixed words of a report in another language, by Quarto's names, from pandoc and typst for both engines."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from typing import Any

import pypandoc
import typst
import yaml

from labkit.errors import ReportError

TITLES = {"Contents": "toc-title-document", "References": "section-title-references"}  # headings of labkit's chapters
_OF_PANDOC = {
    "fig": "Figure",
    "tbl": "Table",
    "ch": "Chapter",
    "apx": "Appendix",
}
_CALLOUTS = {  # pandoc and typst have no words for them; Quarto has its own in other languages
    "de": {
        "callout-note-title": "Hinweis",
        "callout-tip-title": "Tipp",
        "callout-warning-title": "Warnung",
        "callout-important-title": "Wichtig",
        "callout-caution-title": "Vorsicht",
    }
}
_KINDS = ("note", "tip", "warning", "important", "caution")
_OF_TYPST = {"sec": "heading", "eq": "math.equation"}
READ = (  # by both engines
    *(f"crossref-{kind}-{what}" for kind in (*_OF_PANDOC, *_OF_TYPST) for what in ("title", "prefix")),
    *(f"callout-{kind}-title" for kind in _KINDS),
    *(*TITLES.values(), "toc-title-website"),
)
_SAMPLE = '#set text(lang: "{}")\n#set heading(numbering: "1")\n#set math.equation(numbering: "1")\n= A\n$ x $\n'


def words(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the words of the language of some settings; words in their ``language`` take precedence.

    Parameters
    ----------
    config : settings with ``lang``, such as ``de`` or ``de-CH``.

    Returns
    -------
    Empty for English.

    Raises
    ------
    ReportError
        If pandoc has no words for ``lang``.
    """
    given = dict(config.get("language") or {})
    for name, word in list(given.items()):  # Quarto's references have the one, captions the other
        if name.startswith("crossref-") and name.endswith("-title"):
            given.setdefault(f"{name.removesuffix('-title')}-prefix", word)
    wanted = config.get("lang") or "en"
    language = str(wanted).partition("-")[0]
    if language == "en":
        return given
    if not (known := _of_pandoc(str(wanted)) or _of_pandoc(language)):
        raise ReportError(
            f"lang: {wanted!r} is not a language that reports have words for. Write its short name, such as de, fr, "
            "pt-BR or zh-Hans; without lang, a report is in English."
        )
    found = {kind: str(known[word]) for kind, word in _OF_PANDOC.items() if word in known}
    for kind, element in _OF_TYPST.items():
        (supplement,) = yaml.safe_load(typst.query(_SAMPLE.format(language).encode(), element, field="supplement"))
        found[kind] = supplement["text"]
    made = {f"crossref-{kind}-{what}": word for kind, word in found.items() for what in ("title", "prefix")}
    made |= {name: str(known[title]) for title, name in TITLES.items() if title in known}
    if "Contents" in known:
        made["toc-title-website"] = str(known["Contents"])
    return made | _CALLOUTS.get(language, {}) | given


def _of_pandoc(language: str) -> dict[str, Any]:
    """Return pandoc's words of a language; none if it has no such language."""
    if not re.fullmatch("[a-z]{2,3}(-[A-Za-z]+)?", language):
        return {}
    command = [pypandoc.get_pandoc_path(), "--print-default-data-file", f"translations/{language}.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return {} if done.returncode else dict(yaml.safe_load(done.stdout))
