"""Settings of the documentation site that `make docs` builds with Sphinx; its pages need no network."""

from __future__ import annotations

import re
from typing import Any

import labkit

project = "labkit"
copyright = author = "The labkit developers"
version = release = labkit.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"labkit {release}"
html_copy_source = False
html_show_sourcelink = False
exclude_patterns: list[str] = []
default_role = "code"
highlight_language = "none"
myst_heading_anchors = 4
myst_links_external_new_tab = False
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
_ITEM = re.compile(r"^(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*) : (.*)$")


def _described(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Move the text after the colon of a parameter, which is its meaning and not its type, below its name."""
    described, inside = [], False
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if re.fullmatch(r"-{3,}", following):
            inside = line.strip() in ("Parameters", "Attributes")
        match = _ITEM.match(line) if inside else None
        described += [match[1], f"    {match[2]}"] if match else [line]
    lines[:] = described


def setup(app: Any) -> None:
    """Register `_described` with Sphinx."""
    app.connect("autodoc-process-docstring", _described, priority=100)  # before napoleon
