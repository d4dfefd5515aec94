"""The whole page as one HTML file to send: its plots, the point that is looked into, and the values as a table."""

from __future__ import annotations

import html
from collections.abc import Sequence
from datetime import UTC, datetime

import plotly.graph_objects as go
import plotly.io
import plotly.offline

from labkit import __version__, figures
from labkit.apps.explorer import export, reading, store, values
from labkit.apps.explorer.session import Session
from labkit.errors import LabkitError
from labkit.figures.style import CONFIG
from labkit.point.columns import METRICS
from labkit.point.units import plural

MOST = 2000  # rows of the table
_STYLE = """body{font:14px/1.4 Liberation Sans,Arial,sans-serif;
max-width:min(1100px,100% - 24px);margin:1em auto;color:#1c2430}
h1{font-size:22px}h2{font-size:17px}p,h1,h2,code{overflow-wrap:anywhere}
.figure{overflow-x:auto}
table{border-collapse:collapse;font-size:12px}th,td{border-bottom:1px solid #c8ced6;padding:2px 8px;text-align:left}
div.table{overflow-x:auto}"""


def page(session: Session) -> str:
    """HTML of the whole page; it needs no network and no other file.

    Raises
    ------
    LabkitError
        If nothing is shown.
    """
    parts: list[str] = []
    for letter, view in session.views.items():
        if view.metric and (letter == "A" or session.second):
            summary = session.store.summary(session.campaigns, view.benchmark)
            parts += [
                f"<h2>{html.escape(f'{view.benchmark}: {METRICS[view.metric].title}')}</h2>",
                _div(export.footed(session.figure(view, summary), view, summary)),
            ]
    if not parts:
        raise LabkitError("Nothing is shown. Choose campaigns first.")
    for one in session.looked_into:
        launches = store.launches(*(one.row[name] for name in ("campaign", "benchmark", "fingerprint")))
        if timed := [samples for samples in launches if samples.n]:
            parts += [
                f"<h2>{html.escape(reading.title(one.row, session.title(str(one.row['campaign']))))}</h2>",
                _div(figures.distribution(timed, one.metric).update_layout(width=None)),
            ]
    view = session.views["A"]
    if view.metric:
        parts.append(_values(values.page(view, session.store.summary(session.campaigns, view.benchmark), most=MOST)))
    names = html.escape(", ".join(map(session.title, session.campaigns)))
    made = (
        f"made by labkit {__version__}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC; view: <code>{session.state.text}</code>"
    )
    script = plotly.offline.get_plotlyjs()
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{names}</title>"
        f"<meta name='viewport' content='width=device-width, initial-scale=1'><style>{_STYLE}</style>"
        f"<script>{script}</script></head><body><main><h1>{names}</h1>{''.join(parts)}<p>{made}</p></main></body></html>"
    )


def _div(figure: go.Figure) -> str:
    """A figure without the program that draws it."""
    figure.update_layout(width=None, autosize=True)
    config = dict(CONFIG) | {"responsive": True}
    made = plotly.io.to_html(figure, config=config, include_plotlyjs=False, full_html=False)
    return f"<div class='figure'>{made}</div>"


def _values(page: values.Page) -> str:
    """The table of values."""

    def row(cells: Sequence[str], kind: str) -> str:
        return f"<tr>{''.join(f'<{kind}>{html.escape(str(cell))}</{kind}>' for cell in cells)}</tr>"

    head = row([one["title"] for one in page.head], "th")
    body = "".join(row(one["cells"], "td") for one in page.rows)
    rest = f"<p>the first {len(page.rows)} of {plural(page.found, 'point')}</p>" if len(page.rows) < page.found else ""
    region = "<div class='table' tabindex='0' role='region' aria-label='values'>"
    return f"<h2>Values</h2>{region}<table>{head}{body}</table></div>{rest}"
