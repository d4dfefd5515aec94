"""Make the content of a campaign's notebooks harmless: a campaign may come from anyone, and browsers open reports.

Markdown loses foreign shortcodes and YAML headers. HTML loses scripts and all references to files. A picture keeps
only shapes and text, a figure only data. ``templates/report/filters/safe.lua`` handles links, pictures and raw parts
in Markdown, because it sees them as pandoc does.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from functools import cache
from typing import Any

from labkit.figures import looks
from labkit.figures.style import CONFIG
from labkit.io.sanitize import plain
from labkit.report.markdown import APART, NEEDING, mask

LARGEST = 4_000_000  # characters of an output
DEEPEST = 64  # levels of a figure

_SHORTCODE = re.compile(r"\{\{<(?! *(?:var +[\w.-]+|pagebreak) *>\}\})")  # the beginning of one that reports lack
_MARKUP = re.compile(r"(?<!\\)<(?=[A-Za-z/!?])(?!https?://|mailto:)|!(?=\[[^\]]*\]\(\s*https?:)|\{(?=\s*=)")
_TAGS = """a b blockquote br caption code col colgroup dd del div dl dt em h1 h2 h3 h4 h5 h6 hr i kbd li ol p pre s samp
small span strong sub sup table tbody td tfoot th thead tr u ul var"""
_ATTRIBUTES = {"*": ["class"], "a": ["href"], "td": ["colspan", "rowspan"], "th": ["colspan", "rowspan", "scope"]}

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_SHAPES = """svg g defs clipPath rect path text tspan circle ellipse line polyline polygon linearGradient radialGradient
stop pattern mask marker image title desc"""
_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif);base64,[A-Za-z0-9+/=\s]*")
_LOADS = re.compile(r"url\s*\(\s*(?!['\"]?#)|@import|expression\s*\(|javascript:|-moz-binding|\\", re.I)

_TRACES = """scatter scatterpolar bar barpolar box violin histogram histogram2d histogram2dcontour heatmap contour pie
sunburst treemap icicle funnel funnelarea waterfall sankey table indicator parcats carpet candlestick ohlc"""
_DROPPED = {"images", "mapbox", "map", "geo", "meta", "src", "href"}
_PLAIN_TAG = re.compile(r"</?(?:b|i|em|strong|sub|sup|br|span|extra) ?/?>|<span style=\"[\w\s:;#.,%-]*\">")


def _whole(text: str) -> str:
    """Return text without a terminal's codes, of characters that a file can hold."""
    return plain(text).encode(errors="replace").decode()


def text(raw: str) -> str:
    """Return text of an output, or code, without shortcodes, block ends and control codes of terminals."""
    return _whole(raw).replace("{{<", APART).replace("```", "``\u200b`")


def spoken(raw: str) -> str:
    r"""Return text of a figure's description on one line, as an attribute in quotes can hold it.

    Examples
    --------
    >>> print(spoken('a "b"\nc\\d'))
    a 'b' c/d
    """
    return " ".join(text(raw).replace("\\", "/").replace('"', "'").split())


def headless(text: str) -> str:
    """Return text in which no line can begin a YAML header."""
    return re.sub(r"(?m)(?<!-)---(?=[ \t]*$)", "----", text)


def markdown(text: str) -> str:
    r"""Return Markdown without YAML headers and foreign shortcodes, with HTML as text except for `NEEDING`.

    Examples
    --------
    >>> markdown("---\nexecute: true") == "----\nexecute: true"
    True
    >>> markdown("{{< var a.b >}} {{< include x >}}") == "{{< var a.b >}} {{\u200b< include x >}}"
    True
    >>> print(markdown("<b>a</b> `<b>` <https://a.org>"))
    \<b>a\</b> `<b>` <https://a.org>
    >>> print(markdown('<span data-needs="fig-a">a</span> <span onclick="b">'))
    <span data-needs="fig-a">a</span> \<span onclick="b">
    >>> print(markdown("# `<b>`{=html}"))
    # `<b>`\{=html}
    """
    text = headless(_whole(text))
    text = re.sub(r"(?m)^([>\s]*(?:`{3,}|~{3,})\s*\{)(?:=|(?=[a-z]+\s*[,}]))", r"\1.", text)
    text = _SHORTCODE.sub(APART, text)
    parts, end, masked = [], 0, mask(text)
    marks = {place for one in NEEDING.finditer(masked) for place in (one.start(), one.end(2))}
    for match in _MARKUP.finditer(masked):
        if match.start() in marks:
            continue
        parts += [text[end : match.start()], "" if match[0] == "!" else f"\\{match[0]}"]
        end = match.end()
    return "".join([*parts, text[end:]])


@cache
def _sanitizer() -> Any:
    from nbconvert.preprocessors.sanitize import SanitizeHTML  # 1.5 s

    return SanitizeHTML(tags=_TAGS.split(), attributes=_ATTRIBUTES, styles=[], strip=True)


def html(markup: str) -> str:
    """Return HTML without scripts, styles, forms, frames and anything that is loaded.

    Examples
    --------
    >>> html('<p onclick="x()">a<script>b</script><img src=c></p>')
    '<p>a</p>'
    """
    markup = re.sub(
        r"<(script|style|template|title|noscript|iframe|textarea|xmp)\b.*?(?:</\1\s*>|\Z)",
        "",
        markup,
        flags=re.I | re.S,
    )
    cleaned = str(_sanitizer().sanitize_html_tags(_whole(markup)))
    return text(cleaned).replace("\x00", "")


def svg(markup: str) -> str:
    """Return an SVG picture with only shapes and text; empty if it is no SVG picture."""
    if len(markup) > LARGEST or re.search(r"<!(?:DOCTYPE|ENTITY)|<\?(?!xml )", markup, re.I):
        return ""
    try:
        root = ET.fromstring(markup)  # entities cannot be declared here
    except (ET.ParseError, ValueError, RecursionError):
        return ""
    if root.tag != f"{{{_SVG}}}svg":
        return ""
    stack = [root]
    while stack:
        element = stack.pop()
        for child in list(element):
            if _shape(child):
                stack.append(child)
            else:
                element.remove(child)
        for name, value in list(element.attrib.items()):
            if not _attribute(name, value):
                del element.attrib[name]
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _XLINK)
    return ET.tostring(root, encoding="unicode")


def _shape(element: ET.Element) -> bool:
    tag = element.tag
    return isinstance(tag, str) and tag.startswith(f"{{{_SVG}}}") and tag.removeprefix(f"{{{_SVG}}}") in _SHAPES.split()


def _attribute(name: str, value: str) -> bool:
    """Return whether an attribute of a shape only describes it."""
    space, _, short = name.rpartition("}")
    short = short.lower()
    if short == "href":
        return value.startswith("#") or bool(_PICTURE.fullmatch(value))
    return (
        not short.startswith("on")
        and space.strip("{") in ("", _SVG, "http://www.w3.org/XML/1998/namespace")
        and (short not in ("src", "base") and not _LOADS.search(value))
    )


def figure(spec: Any) -> dict[str, Any] | None:
    """Return a plotly figure with only data, which labkit's own script draws; None if it is no such figure.

    Figures with traces that load maps are refused. Pictures, links and unknown markup in texts are removed.
    """
    if not isinstance(spec, Mapping) or not isinstance(spec.get("data"), list):
        return None
    layout, config = spec.get("layout", {}), spec.get("config", {})
    traces = [t for t in spec["data"] if isinstance(t, Mapping) and t.get("type", "scatter") in _TRACES.split()]
    if not isinstance(layout, Mapping) or len(traces) < len(spec["data"]):
        return None
    try:
        cleaned = {"data": [_value(trace) for trace in traces], "layout": _value(layout)}
    except RecursionError:
        return None
    flags = config if isinstance(config, Mapping) else {}
    flags = {key: flags[key] for key in CONFIG if isinstance(flags.get(key), bool)}
    if flags:
        cleaned["config"] = flags
    for name in ("width", "height"):
        if not isinstance(cleaned["layout"].get(name, 0), int | float):
            del cleaned["layout"][name]
    return cleaned


def _value(value: Any, level: int = 0) -> Any:
    """Return a value of a figure with its texts cleaned."""
    if level > DEEPEST:
        raise RecursionError
    if isinstance(value, Mapping):
        return {
            _whole(str(key)): _value(part, level + 1)
            for key, part in value.items()
            if (str(key) not in _DROPPED or (key == "meta" and _series(part)))
            and not (key == "source" and isinstance(part, str))
        }
    if isinstance(value, list | tuple):
        return [_value(part, level + 1) for part in value]
    if isinstance(value, str):
        return label(_whole(value))
    return value if value is None or isinstance(value, int | float) else str(value)


def _series(meta: Any) -> bool:
    """Return whether the metadata of a trace only name its series and its look, see `labkit.figures.looks`."""
    if not isinstance(meta, Mapping) or {*meta} - {"variant"} != {"series", "look"}:
        return False
    numbers = [meta["look"], meta.get("variant", 0)]
    return isinstance(meta["series"], str) and all(type(n) is int and 0 <= n < looks.SLOTS for n in numbers)


def label(text: str) -> str:
    """Return a text of a figure: plain formatting stays, all other markup shows as it is written.

    Examples
    --------
    >>> label('<b>a</b> <a href="x">b</a> 1 < 2')
    '<b>a</b> &lt;a href="x">b&lt;/a> 1 &lt; 2'
    """
    if "<" not in text:
        return text
    parts, end = [], 0
    for match in _PLAIN_TAG.finditer(text):
        parts += [text[end : match.start()].replace("<", "&lt;"), match[0]]
        end = match.end()
    return "".join([*parts, text[end:].replace("<", "&lt;")])
