"""Colours of figures on a dark page: what `report.js` replaces, and what can be seen without."""

from __future__ import annotations

import re
from pathlib import Path

import labkit.figures
from labkit.figures import looks

ASSETS = Path(__file__).parents[1] / "templates" / "report"
FIGURES = Path(labkit.figures.__file__).parent
PLACES = {"#20272e", "#14181d", "#333c46"}  # backgrounds and grids, which stay close to the page


def _light(colour: str) -> float:
    """The relative luminance of a colour, as WCAG 2 defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * one for one in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_colour_of_a_figure_is_seen_on_a_dark_page() -> None:
    script = (ASSETS / "assets" / "report.js").read_text()
    table = re.search(r"const DARK = \{(.*?)\};", script, re.S)
    page = re.search(r"prefers-color-scheme: dark.*?--page: (#\w+)", (ASSETS / "plain" / "page.css").read_text(), re.S)
    assert table
    assert page
    dark = dict(re.findall(r'"(#\w+)": "(#\w+)"', table[1]))
    literal = re.compile(r'"(#[0-9a-f]{6}|#[0-9a-f]{3})"', re.I)
    colours = {one.lower() for file in FIGURES.glob("*.py") for one in literal.findall(file.read_text())}
    assert set(looks.COLOURS) <= colours
    contrast = {one: (_light(dark.get(one, one)) + 0.05) / (_light(page[1]) + 0.05) for one in colours}
    faint = {one for one, times in contrast.items() if times < 3 and dark.get(one) not in PLACES}
    assert faint <= {"#c9d2de"}  # a link without load, which is meant to be faint
    assert {dark.get(one, one) for one in ("#f4f4f4", "#ffffff", "#e4e8ee")} == PLACES  # what is light goes dark
