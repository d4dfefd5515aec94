"""The page's style sheet: a file, and the colours of lines that a dark ground would hide."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

GROUND = "#111111"  # of JupyterLab's dark theme
# colour of a line → that on a dark ground; the others of `labkit.figures.looks` can be seen on both
DARK: Mapping[str, str] = {
    "#555555": "#a8a8a8",
    "#882255": "#e0559a",
    "#332288": "#9a86ff",
    "#661100": "#c0573d",
    "#000000": "#ffffff",
}


@cache
def sheet() -> str:
    """The style sheet, as an element of HTML."""
    rules = "".join(_rule(light, dark) for light, dark in DARK.items())
    return f"<style>{Path(__file__).with_name('page.css').read_text()}{rules}</style>"


def _rule(light: str, dark: str) -> str:
    """Rules that draw one colour as another in a dark theme; plotly writes colours as ``rgb(1, 2, 3)``."""
    red, green, blue = (int(light[start : start + 2], 16) for start in (1, 3, 5))
    at = "[data-jp-theme-light='false'] .lab-explorer .js-plotly-plot"
    parts = ":is(.cartesianlayer, .legend)"
    rules = (
        f"{at} {parts} [style*='{kind}: rgb({red}, {green}, {blue})'] {{{kind}: {dark} !important}}\n"
        for kind in ("stroke", "fill")
    )
    return "".join(rules)
