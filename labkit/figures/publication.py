"""Save a figure for a paper: as wide as a column, in the font of its text, as PDF, SVG or code for pgfplots."""

from __future__ import annotations

import copy
import io
import json
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.errors import LabkitWarning, ReportError, SpecError
from labkit.figures import axes, data, small_print, static
from labkit.figures.plotly import go
from labkit.figures.style import TEMPLATE, finish
from labkit.io import atomic
from labkit.point.notes import joined

_TERMES = "TeX Gyre Termes, Nimbus Roman, Liberation Serif, Times New Roman, serif"
FONTS = {
    "times": _TERMES,
    "libertine": "Linux Libertine O, Linux Libertine, Libertinus Serif, serif",
    "serif": "Latin Modern Roman, CMU Serif, TeX Gyre Termes, Liberation Serif, Times New Roman, serif",
    "sans": "Latin Modern Sans, CMU Sans Serif, Liberation Sans, Arial, Helvetica, sans-serif",
}


@dataclass(frozen=True)
class PaperColumn:
    """The column width and the font of a publisher.

    Parameters
    ----------
    width : mm.
    font : key of `FONTS`.
    size : size of letters in figures, pt.
    """

    width: float
    font: str
    size: float


COLUMNS = {
    "ieee": PaperColumn(88.9, "times", 8),  # IEEEtran: 3.5 in
    "ieee-wide": PaperColumn(181.9, "times", 8),  # both columns, 7.16 in
    "acm": PaperColumn(84.6, "libertine", 8),  # acmart, sigconf: 3.33 in
    "acm-wide": PaperColumn(177.8, "libertine", 8),  # 7 in
    "lncs": PaperColumn(122.0, "serif", 8),  # llncs: the text, 4.8 in
    "elsevier": PaperColumn(90.0, "times", 7),  # elsarticle, 5p: 3.54 in
    "elsevier-wide": PaperColumn(190.0, "times", 7),  # 7.48 in
}
_DEFAULT = PaperColumn(84.0, "serif", 8)
_MM = 72 / 25.4  # pt
_SIDES = 80  # px beside the axes
_FORMS = (".pdf", ".svg", ".tex", ".pgf")
_MARKS = {"circle": "*", "square": "square*", "diamond": "diamond*", "triangle-up": "triangle*", "x": "x", "cross": "+"}
_DASHES = {"solid": "solid", "dash": "dashed", "dot": "dotted", "dashdot": "dashdotted"}
_TEX = {  # what pdfLaTeX does not take, or sets as another character
    "\\": r"\textbackslash{}",
    **{one: f"\\{one}" for one in "&%$#_{}"},
    **{one: f"${one}$" for one in "<>|"},
    '"': "''",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\xa0": "~",
    **dict.fromkeys("\u200b\ufeff", ""),
    "\ufffd": "?",
    "−": "--",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "“": "``",
    "”": "''",
    "’": "'",
    "‹": r"$\langle$",
    "›": r"$\rangle$",
    **{one: f"$^{digit}$" for digit, one in (("1", "¹"), ("2", "²"), ("3", "³"))},
    "₂": "$_2$",
    "½": r"$\frac{1}{2}$",
    "°": r"$^{\circ}$",
    "✓": "yes",
    "✗": "no",
    "■": r"\rule{1ex}{1ex}",
    **{
        one: rf"$\{name}$"
        for one, name in {
            "µ": "mu",
            "μ": "mu",
            "α": "alpha",
            "β": "beta",
            "λ": "lambda",
            "σ": "sigma",
            "Σ": "Sigma",
            "Δ": "Delta",
            "≤": "leq",
            "≥": "geq",
            "≈": "approx",
            "≠": "neq",
            "±": "pm",
            "×": "times",
            "·": "cdot",
            "√": "surd",
            "→": "to",
            "∞": "infty",
            "⌈": "lceil",
            "⌉": "rceil",
            "†": "dagger",
            "●": "bullet",
            "▸": "triangleright",
        }.items()
    },
}


def save(
    figure: go.Figure,
    path: str | Path,
    *,
    paper: str = "",
    width: float = 0.0,
    height: float = 0.0,
    font: str = "",
    size: float = 0.0,
) -> str:
    """Save a figure at the size at which a paper prints it, without its small print.

    Parameters
    ----------
    figure : figure of `labkit.figures`, or another one of plotly; it is not changed.
    path : the form follows from its end: .pdf or .svg, drawn by Chromium; .tex or .pgf, code for pgfplots, which
        LaTeX sets in the font of the paper.
    paper : a column of `COLUMNS`, such as ``ieee`` or ``ieee-wide``; it sets `width`, `font` and `size`.
    width : width of the figure, mm; 0 for that of `paper`, else 84, a column of a paper with two columns.
    height : mm; 0 for about two thirds of the width.
    font : ``serif``, ``sans``, ``times``, ``libertine``, or the name of a font; empty for that of `paper`, else
        ``serif``. Code for pgfplots has none of its own.
    size : size of the letters, pt; 0 for that of `paper`, else 8.

    Returns
    -------
    The small print, which belongs into the caption: what the bars are, and the badges. Empty without one.

    Raises
    ------
    SpecError
        If the file name has another ending, the paper is unknown, or a size is outside its limits.
    ReportError
        If Chromium cannot draw the picture, or pgfplots cannot draw this kind of figure.
    """
    target = Path(path)
    if target.suffix not in _FORMS:
        raise SpecError(
            f"path={str(path)!r} ends in {target.suffix or 'nothing'!r}. End it in one of: {', '.join(_FORMS)}."
        )
    column = column_of(paper)
    width, font, size = width or column.width, font or column.font, size or column.size
    if not 30 <= width <= 400 or not 4 <= size <= 20 or not 0 <= height <= 400:
        raise SpecError(
            f"width={width:g}, height={height:g}, size={size:g}, but a width is 30 to 400 mm, a height up to 400 mm "
            "and a letter 4 to 20 pt. Set width=84, height=0, size=8."
        )
    own = go.Figure(copy.deepcopy(figure.to_dict()))
    notes = joined(small_print.take(own))
    tall = height or 0.66 * width
    if target.suffix in (".tex", ".pgf"):
        atomic.replace(target, pgfplots(json.loads(str(own.to_json())), width=width, height=tall))
        return notes
    px = size / float(TEMPLATE["layout"]["font"]["size"])  # pt of a pixel
    wide, high = round(width * _MM / px), round(tall * _MM / px)
    own = finish(own, width=wide, height=high)
    own.update_layout(height=high, font_family=FONTS.get(font, font), margin_t=10)
    spec = json.loads(str(own.to_json()))
    for name in [one for one in spec["layout"] if one.startswith("xaxis")]:
        spec["layout"][name] |= axes.thinned(spec["layout"][name], wide - _SIDES)
    atomic.replace(target, _picture(spec, target.suffix, width * _MM, tall))
    return notes


def column_of(paper: str) -> PaperColumn:
    """Return a column by its name; without a name the default.

    Raises
    ------
    SpecError
        If there is none of that name.
    """
    if paper and paper not in COLUMNS:
        raise SpecError(f"paper={paper!r}, but it must be one of: {', '.join(COLUMNS)}. Or set width, font and size.")
    return COLUMNS[paper] if paper else _DEFAULT


def _picture(spec: Mapping[str, Any], form: str, points: float, tall: float) -> bytes | str:
    """Return a picture of a width in pt and a height in mm."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LabkitWarning)
        drawn: bytes | str | None = static.svgs([spec])[0] if form == ".svg" else static.pdfs([spec])[0]
    if not drawn:
        reason = joined(str(one.message) for one in caught)
        raise ReportError(
            f"The figure cannot be saved as {form}. {reason}. Or save it as .tex, which needs no browser."
        )
    if isinstance(drawn, str):
        layout = spec["layout"]
        sizes = (("width", layout["width"], points / _MM), ("height", layout["height"], tall))
        for name, px, mm in sizes:
            drawn = drawn.replace(f' {name}="{px}"', f' {name}="{mm:g}mm"', 1)
        return drawn
    return _scaled(drawn, points)


def _scaled(pdf: bytes, points: float) -> bytes:
    """Return a PDF of one page whose width is so many pt."""
    from pypdf import PdfWriter  # 0.2 s; optional

    writer = PdfWriter(clone_from=io.BytesIO(pdf))
    page = writer.pages[0]
    page.scale_by(points / float(page.mediabox.width))
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()


def pgfplots(spec: Mapping[str, Any], *, width: float, height: float) -> str:
    r"""Return a figure as code for LaTeX with ``\usepackage{pgfplots}``: lines, points and bars of intervals.

    Parameters
    ----------
    spec : plotly figure as a plain dict, with one panel whose places are numbers.
    width, height : width and height of the figure, mm.

    Raises
    ------
    ReportError
        For panels, bars, maps and places that are names.
    """
    layout, traces = spec.get("layout", {}), [one for one in spec.get("data", []) if one.get("mode") != "text"]
    odd = {str(one.get("type", "scatter")) for one in traces} - {"scatter"}
    found = [(one, data.columns(one)) for one in traces]
    if odd or any(name.startswith(("xaxis", "yaxis")) and name[5:] for name in layout):
        raise ReportError(
            f"The figure has {', '.join(sorted(odd)) or 'panels'}, which have no form in pgfplots. Save it as .pdf."
        )
    if any(isinstance(x, str) for _, columns in found for x in columns.get("x", [])):
        raise ReportError(
            "The places along the axis are names, which have no form in pgfplots. Save the figure as .pdf."
        )
    options = [f"width={width:g}mm", f"height={height:g}mm", "scale only axis=false", "grid=major"]
    for axis in ("x", "y"):
        options += _axis(layout, axis)
    options += ["legend style={draw=none, fill=none, legend columns=-1, at={(0,1.02)}, anchor=south west}"]
    colours = dict.fromkeys(map(_colour, traces))
    lines = [rf"\definecolor{{labkit{one}}}{{HTML}}{{{one}}}" for one in colours]
    lines += [r"\begin{tikzpicture}", r"\begin{axis}[", *(f"  {one}," for one in options), "]"]
    for trace, columns in found:
        lines += _plot(trace, columns)
    lines += [r"\end{axis}", r"\end{tikzpicture}"]
    return "\n".join(["% needs \\usepackage{pgfplots} and \\pgfplotsset{compat=1.16}", *lines]) + "\n"


def _axis(layout: Mapping[str, Any], letter: str) -> list[str]:
    """Return the options of an axis: title, scale, range, and ticks if they have texts."""
    axis = layout.get(f"{letter}axis", {})
    options = [f"{letter}label={{{tex(data.title(layout, f'{letter}axis'))}}}"]
    log = axis.get("type") == "log"
    options += [f"{letter}mode=log"] if log else []
    if axis.get("range"):
        low, high = (10.0 ** float(end) if log else float(end) for end in axis["range"])
        options += [f"{letter}min={low:.6g}", f"{letter}max={high:.6g}"]
    places, texts = data.values(axis.get("tickvals")), data.values(axis.get("ticktext"))
    if places and texts:
        shown = _thinned(list(zip(places, texts, strict=False)))
        options += [f"{letter}tick={{{','.join(f'{float(one):.10g}' for one, _ in shown)}}}"]
        options += [
            f"{letter}ticklabels={{{','.join(f'{{{tex(str(text))}}}' for _, text in shown)}}}",
            f"minor {letter} tick num=0",
        ]
    return options


def _thinned(ticks: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return ticks that fit into a column: at most six, evenly chosen."""
    return list(ticks[:: max(1, math.ceil(len(ticks) / 6))])


def _plot(trace: Mapping[str, Any], columns: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the commands that draw a trace, with its bars and its entry in the legend."""
    look = trace.get("line") or {}
    mode = str(trace.get("mode") or "lines")
    dash = _DASHES.get(str(look.get("dash") or "solid"), "dashed")
    mark = _MARKS.get(str((trace.get("marker") or {}).get("symbol") or "circle"), "*") if "markers" in mode else "none"
    options = [
        f"color=labkit{_colour(trace)}",
        f"mark={mark}",
        "mark size=1.2pt",
        dash if "lines" in mode else "only marks",
    ]
    pieces: list[list[str]] = [[]]
    barred = any(isinstance(end, int | float) for name in ("y_low", "y_high") for end in columns.get(name) or [])
    xs, ys = columns.get("x", []), columns.get("y", [])
    lows, highs = columns.get("y_low") or [""] * len(ys), columns.get("y_high") or [""] * len(ys)
    for x, y, low, high in zip(xs, ys, lows, highs, strict=False):
        if not isinstance(x, int | float) or not isinstance(y, int | float):
            pieces.append([])  # a gap
            continue
        down, up = (abs(end - y) if isinstance(end, int | float) else 0.0 for end in (low, high))
        bar = f" += (0,{up:.6g}) -= (0,{down:.6g})" if barred else ""  # many points exceed TeX's memory
        pieces[-1].append(f"  ({x:.8g},{y:.8g}){bar}")
    lines: list[str] = []
    first = True
    for piece in filter(None, pieces):
        hidden = [] if first and trace.get("showlegend") is not False else ["forget plot"]
        bars = ["error bars/.cd, y dir=both, y explicit"] if barred else []
        lines += [rf"\addplot[{', '.join([*options, *hidden, *bars])}] coordinates {{", *piece, "};"]
        if not hidden:
            lines.append(rf"\addlegendentry{{{tex(data.plain(str(trace.get('name') or '')))}}}")
        first = False
    return lines


def _colour(trace: Mapping[str, Any]) -> str:
    """Return the colour of a trace as six hexadecimal digits; dark grey for one that plotly chooses or names."""
    colour = str((trace.get("line") or {}).get("color") or (trace.get("marker") or {}).get("color") or "")
    return colour[1:].upper() if re.fullmatch(r"#[0-9a-fA-F]{6}", colour) else "222222"


def tex(text: str) -> str:
    r"""Return a text for LaTeX. Letters that pdfLaTeX lacks stay unchanged, for XeLaTeX and LuaLaTeX.

    Examples
    --------
    >>> print(tex("latency, 50 % (µs) --mca"))
    latency, 50 \% ($\mu$s) -{}-mca
    """
    return "".join(_TEX.get(one, one) for one in re.sub("-(?=-)", "-\0", text)).replace("\0", "{}")
