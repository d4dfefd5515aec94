"""Draw a network: hosts, leaf switches and spine, how fast each link is and how much it carried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labkit.errors import DataError
from labkit.figures import looks, style
from labkit.figures.plotly import go
from labkit.point.notes import Note, note
from labkit.point.units import format_number, format_share

_ROW = {"host": 0.0, "leaf": 1.0, "spine": 2.0}
_LOOK = {"host": ("circle", 26, "#ffffff"), "leaf": ("square", 30, "#e4e8ee"), "spine": ("square", 30, "#c9d2de")}
_SCALE = (
    (0.0, "#c9d2de"),
    (0.25, looks.COLOURS[5]),
    (0.5, looks.COLOURS[0]),
    (0.75, looks.COLOURS[4]),
    (1.0, looks.COLOURS[1]),
)


@dataclass(frozen=True)
class _Link:
    """A link from its lower to its upper end, with its name in the evidence and its rate in bit/s."""

    name: str
    lower: tuple[float, float]
    upper: tuple[float, float]
    rate: float
    ends: str


def topology(
    facts: Mapping[str, Any], evidence: Mapping[str, int] | None = None, seconds: float | None = None
) -> go.Figure:
    """Draw a single switch or a two-level tree of switches, with the load of every link, if known.

    A link is two lines, one for each direction; a higher load makes the line warmer and wider. Without `seconds`, loads
    are relative to the link with the highest load for its rate.

    Parameters
    ----------
    facts : facts of the testbed, as samples keep them: ``nodes``, ``per_leaf``, ``rate_bps`` and, for a tree,
        ``uplink_bps``.
    evidence : B that links carried: ``vc0.eth0.tx_bytes`` (to the switch), ``leaf0.up.tx_bytes`` (to the spine)…
    seconds : the time in which they carried it.

    Raises
    ------
    DataError
        If the facts describe no such network.
    """
    missing = [name for name in ("nodes", "per_leaf", "rate_bps") if name not in facts]
    if missing:
        raise DataError(
            f"These facts do not describe a network: missing {', '.join(missing)}. Use those of a virtual cluster."
        )
    places, links, figure = _places(facts), _links(facts), go.Figure()
    loads = _loads(links, evidence or {}, seconds)
    for link in links:
        for up in (True, False):
            figure.add_trace(_line(link, up, loads, evidence or {}, seconds))
    for kind, (shape, size, colour) in _LOOK.items():
        nodes = {name: at for name, at in places.items() if name.startswith({"host": "vc"}.get(kind, kind))}
        marker = {"symbol": shape, "size": size, "color": colour, "line": {"color": "#555", "width": 1.5}}
        figure.add_trace(
            go.Scatter(
                x=[x for x, _ in nodes.values()],
                y=[y for _, y in nodes.values()],
                mode="markers+text",
                text=[style.plain(name) for name in nodes],
                textposition=[_beside(name, places) for name in nodes],
                hoverinfo="skip",
                cliponaxis=False,
                marker=marker,
                showlegend=False,
            )
        )
    height = style.HEIGHT - (0 if "uplink_bps" in facts else 80)
    return style.finish(figure, *_explain(figure, facts, loads, seconds), height=height)


def _places(facts: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Where every host and switch is drawn."""
    nodes, per_leaf = int(facts["nodes"]), int(facts["per_leaf"])
    places = {f"vc{i}": (i + 0.6 * (i // per_leaf), _ROW["host"]) for i in range(nodes)}
    leaves = -(-nodes // per_leaf)
    for k in range(leaves):
        below = [places[f"vc{i}"][0] for i in range(k * per_leaf, min((k + 1) * per_leaf, nodes))]
        places[f"leaf{k}"] = (sum(below) / len(below), _ROW["leaf"])
    if "uplink_bps" in facts:
        places["spine"] = (sum(places[f"leaf{k}"][0] for k in range(leaves)) / leaves, _ROW["spine"])
    return places


def _beside(name: str, places: Mapping[str, tuple[float, float]]) -> str:
    """Where the name of a node stands: no link crosses it."""
    if name.startswith("vc"):
        return "bottom center"
    if name == "spine" or "spine" not in places:
        return "top center"
    return "middle left" if places[name][0] < places["spine"][0] else "middle right"


def _links(facts: Mapping[str, Any]) -> list[_Link]:
    """Every link of the network."""
    places, per_leaf = _places(facts), int(facts["per_leaf"])
    links = []
    for i in range(int(facts["nodes"])):
        host, leaf = f"vc{i}", f"leaf{i // per_leaf}"
        rate = float(facts.get("slow_bps", {}).get(host, facts["rate_bps"]))
        links.append(_Link(f"{host}.eth0", places[host], places[leaf], rate, f"{host} – {leaf}"))
    if "spine" in places:
        leaves = [name for name in places if name.startswith("leaf")]
        rate = float(facts["uplink_bps"])
        links += [_Link(f"{leaf}.up", places[leaf], places["spine"], rate, f"{leaf} – spine") for leaf in leaves]
    return links


def _loads(links: list[_Link], evidence: Mapping[str, int], seconds: float | None) -> dict[tuple[str, bool], float]:
    """Return the load of each direction of each link, relative to its rate or, without a time, to the busiest one."""
    busy = {}
    for link in links:
        for up, word in ((True, "tx"), (False, "rx")):
            carried = evidence.get(f"{link.name}.{word}_bytes")
            if carried is not None:
                busy[link.name, up] = carried * 8 / link.rate  # s
    whole = seconds or max(busy.values(), default=0.0) or 1.0
    return {key: value / whole for key, value in busy.items()}


def _line(
    link: _Link, up: bool, loads: Mapping[tuple[str, bool], float], evidence: Mapping[str, int], seconds: float | None
) -> go.Scatter:
    """Return one direction of a link as a line beside the other."""
    load, aside = loads.get((link.name, up)), 0.05 if up else -0.05
    carried = evidence.get(f"{link.name}.{'tx' if up else 'rx'}_bytes")
    xs = [link.lower[0] + aside, (link.lower[0] + link.upper[0]) / 2 + aside, link.upper[0] + aside]
    ys = [link.lower[1], (link.lower[1] + link.upper[1]) / 2, link.upper[1]]
    about = [f"{style.plain(str(link.ends))}, {'up' if up else 'down'}: {format_number(link.rate / 1e6, 'Mbit/s')}"]
    if carried is not None:
        about.append(f"carried {format_number(carried / 1e6, 'MB')}")
    if load is not None:
        about.append(f"load {format_share(load)}" + ("" if seconds else " of the busiest"))
    return go.Scatter(
        x=xs,
        y=ys,
        mode="lines",
        showlegend=False,
        hoverinfo="text",
        text="<br>".join(about),
        line={"width": 2 + 6 * min(load or 0.0, 1.0), "color": _colour(load)},
    )


def _colour(load: float | None) -> str:
    """Colour of a load; the nearest step."""
    if load is None:
        return _SCALE[0][1]
    return min(_SCALE, key=lambda step: abs(step[0] - load))[1]


def _explain(
    figure: go.Figure, facts: Mapping[str, Any], loads: Mapping[tuple[str, bool], float], seconds: float | None
) -> list[Note]:
    """Make a legend of the colours; return rates and loads in words."""
    rates = f"links of hosts {format_number(facts['rate_bps'] / 1e6, 'Mbit/s')}"
    if "uplink_bps" in facts:
        uplink = format_number(facts["uplink_bps"] / 1e6, "Mbit/s")
        rates += f", uplinks {uplink}: taper {format_number(facts['taper'], digits=2)}:1"
    lines = [note("rates", rates)]
    if loads:
        whole = f"of the link's rate over {format_number(seconds, 's')}" if seconds else "of the busiest direction"
        lines.append(note("load", f"colour and width: load of a direction, as a part {whole}"))
        lines.append(note("direction", "right of two lines: towards the spine"))
        for share, colour in _SCALE:
            figure.add_trace(
                go.Scatter(
                    x=[None],
                    y=[None],
                    mode="lines",
                    name=format_share(share),
                    hoverinfo="skip",
                    line={"color": colour, "width": 2 + 6 * share},
                )
            )
    bare = {"showgrid": False, "showticklabels": False, "showline": False, "ticks": "", "zeroline": False}
    top = (_ROW["spine"] if "uplink_bps" in facts else _ROW["leaf"]) + 0.7  # with room for a name
    figure.update_layout(
        xaxis=bare | {"title": {"text": ""}},
        yaxis=bare | {"range": [-0.6, top]},
        showlegend=bool(loads),
    )
    return lines
