"""The fixed words of a report in another language, by Quarto's names: from pandoc and typst, for both engines."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from typing import Any

import pypandoc
import typst
import yaml

TITLES = {"Contents": "toc-title-document", "References": "section-title-references"}  # headings of labkit's chapters
_OF_PANDOC = {
    "fig": "Figure",
    "tbl": "Table",
    "ch": "Chapter",
    "apx": "Appendix",
}
_OF_TYPST = {"sec": "heading", "eq": "math.equation"}
_SAMPLE = '#set text(lang: "{}")\n#set heading(numbering: "1")\n#set math.equation(numbering: "1")\n= A\n$ x $\n'


def words(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the words of the language of some settings; those that their ``language`` gives come first.

    Parameters
    ----------
    config : settings with ``lang``, such as ``de`` or ``de-CH``.

    Returns
    -------
    Empty for English, and for a language that pandoc does not know.
    """
    given = dict(config.get("language") or {})
    for name, word in list(given.items()):  # Quarto's references have the one, captions the other
        if name.startswith("crossref-") and name.endswith("-title"):
            given.setdefault(f"{name.removesuffix('-title')}-prefix", word)
    language = str(config.get("lang") or "en").partition("-")[0]
    if language == "en" or not re.fullmatch("[a-z]{2,3}", language):
        return given
    command = [pypandoc.get_pandoc_path(), "--print-default-data-file", f"translations/{language}.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return given
    known = yaml.safe_load(done.stdout)
    found = {kind: str(known[word]) for kind, word in _OF_PANDOC.items() if word in known}
    for kind, element in _OF_TYPST.items():
        (supplement,) = yaml.safe_load(typst.query(_SAMPLE.format(language).encode(), element, field="supplement"))
        found[kind] = supplement["text"]
    made = {f"crossref-{kind}-{what}": word for kind, word in found.items() for what in ("title", "prefix")}
    made |= {name: str(known[title]) for title, name in TITLES.items() if title in known}
    if "Contents" in known:
        made["toc-title-website"] = str(known["Contents"])
    return made | given
