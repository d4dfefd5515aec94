"""What a notebook of a campaign holds, made harmless: a campaign may come from anyone, and browsers open reports.

Markdown keeps no shortcode of others and no head of YAML, HTML no script and nothing that is loaded, a picture only
shapes and text, a figure only data. Links, pictures and raw parts in Markdown are left to
``templates/report/filters/safe.lua``, which sees them as pandoc does.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from functools import cache
from typing import Any

from labkit.figures.style import CONFIG
from labkit.report.markdown import APART, mask
from labkit.terminal import plain

LARGEST = 4_000_000  # characters of an output
DEEPEST = 64  # levels of a figure

_SHORTCODE = re.compile(r"\{\{<(?! *(?:var +[\w.-]+|pagebreak) *>\}\})")  # the beginning of one that reports have not
_MARKUP = re.compile(r"(?<!\\)<(?=[A-Za-z/!?])(?!https?://|mailto:)|!(?=\[[^\]]*\]\(\s*https?:)")
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


def _whole(held: str) -> str:
    """Text without a terminal's codes, of characters that a file can hold."""
    return plain(held).encode(errors="replace").decode()


def text(held: str) -> str:
    """Text of an output, or code, in which no engine sees a shortcode or the end of a block; no terminal's codes."""
    return _whole(held).replace("{{<", APART).replace("```", "``\u200b`")


def headless(held: str) -> str:
    """Text in which no line can begin a head of YAML."""
    return re.sub(r"(?m)(?<!-)---(?=[ \t]*$)", "----", held)


def markdown(held: str) -> str:
    r"""Markdown in which no line begins a head of YAML, every shortcode is one that reports have, and HTML is text.

    Examples
    --------
    >>> markdown("---\nexecute: true") == "----\nexecute: true"
    True
    >>> markdown("{{< var a.b >}} {{< include x >}}") == "{{< var a.b >}} {{\u200b< include x >}}"
    True
    >>> print(markdown("<b>a</b> `<b>` <https://a.org>"))
    \<b>a\</b> `<b>` <https://a.org>
    """
    held = _whole(held)
    held = headless(held)
    held = re.sub(r"(?m)^([>\s]*(?:`{3,}|~{3,})\s*\{)(?:=|(?=[a-z]+\s*[,}]))", r"\1.", held)
    held = _SHORTCODE.sub(APART, held)
    parts, end = [], 0
    for match in _MARKUP.finditer(mask(held)):
        parts += [held[end : match.start()], "\\<" if match[0] == "<" else ""]
        end = match.end()
    return "".join([*parts, held[end:]])


@cache
def _sanitizer() -> Any:
    from nbconvert.preprocessors.sanitize import SanitizeHTML

    return SanitizeHTML(tags=_TAGS.split(), attributes=_ATTRIBUTES, styles=[], strip=True)


def html(held: str) -> str:
    """HTML without scripts, styles, forms, frames and anything that is loaded.

    Examples
    --------
    >>> html('<p onclick="x()">a<script>b</script><img src=c></p>')
    '<p>a</p>'
    """
    held = re.sub(
        r"<(script|style|template|title|noscript|iframe|textarea|xmp)\b.*?(?:</\1\s*>|\Z)", "", held, flags=re.I | re.S
    )
    made = str(_sanitizer().sanitize_html_tags(_whole(held)))
    return text(made).replace("\x00", "")


def svg(held: str) -> str:
    """A picture of shapes and text alone; empty where it is none."""
    if len(held) > LARGEST or re.search(r"<!(?:DOCTYPE|ENTITY)|<\?(?!xml )", held, re.I):
        return ""
    try:
        root = ET.fromstring(held)  # entities cannot be declared here
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
    """Whether an attribute of a shape does nothing but describe it."""
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
    """A plotly figure of data alone, drawn by labkit's own script; None where it is none.

    Kinds of traces that load maps, pictures, links and unknown markup in texts are left out.
    """
    if not isinstance(spec, Mapping) or not isinstance(spec.get("data"), list):
        return None
    layout, config = spec.get("layout", {}), spec.get("config", {})
    traces = [t for t in spec["data"] if isinstance(t, Mapping) and t.get("type", "scatter") in _TRACES.split()]
    if not isinstance(layout, Mapping) or len(traces) < len(spec["data"]):
        return None
    try:
        made = {"data": [_value(trace) for trace in traces], "layout": _value(layout)}
    except RecursionError:
        return None
    if isinstance(config, Mapping):
        own = {key: config[key] for key in CONFIG if isinstance(config.get(key), bool)}
        made |= {"config": own} if own else {}
    for name in ("width", "height"):
        if not isinstance(made["layout"].get(name, 0), int | float):
            del made["layout"][name]
    return made


def _value(held: Any, level: int = 0) -> Any:
    """A value of a figure with its texts cleaned."""
    if level > DEEPEST:
        raise RecursionError
    if isinstance(held, Mapping):
        return {
            _whole(str(key)): _value(value, level + 1)
            for key, value in held.items()
            if str(key) not in _DROPPED and not (key == "source" and isinstance(value, str))
        }
    if isinstance(held, list | tuple):
        return [_value(value, level + 1) for value in held]
    if isinstance(held, str):
        return label(_whole(held))
    return held if held is None or isinstance(held, int | float) else str(held)


def label(held: str) -> str:
    """A text of a figure: plain formatting stays, all other markup shows as it is written.

    Examples
    --------
    >>> label('<b>a</b> <a href="x">b</a> 1 < 2')
    '<b>a</b> &lt;a href="x">b&lt;/a> 1 &lt; 2'
    """
    if "<" not in held:
        return held
    parts, end = [], 0
    for match in _PLAIN_TAG.finditer(held):
        parts += [held[end : match.start()].replace("<", "&lt;"), match[0]]
        end = match.end()
    return "".join([*parts, held[end:].replace("<", "&lt;")])
