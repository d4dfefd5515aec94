"""Render figures as static pictures, for PDF and for pages without scripts, in one Chromium session."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
import warnings
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from labkit import scratch
from labkit.errors import LabkitWarning
from labkit.figures.style import HEIGHT, WIDTH

TIMEOUT = 60.0  # s for one figure
PROFILE = "labkit-chromium-"  # begins the name of a folder


def svgs(specs: Sequence[Mapping[str, Any]]) -> list[str | None]:
    """Render figures as svg.

    Parameters
    ----------
    specs : plotly figures as plain dicts: ``data`` and ``layout`` with ``width`` and ``height``.

    Returns
    -------
    Svg text of each; None for one that could not be rendered, and for all where there is no Chromium. Either comes
    with a `LabkitWarning`. Same spec, same text; ids differ between figures, so that one page can hold several.
    """
    drawn = _drawn(specs, {"format": "svg"})
    return [None if svg is None else _fixed(svg.decode(), spec) for svg, spec in zip(drawn, specs, strict=True)]


def pngs(specs: Sequence[Mapping[str, Any]], *, scale: float = 2.0) -> list[bytes | None]:
    """Render figures as png with `scale` dots for each pixel, as `svgs` does."""
    return _drawn(specs, {"format": "png", "scale": scale})


def _drawn(specs: Sequence[Mapping[str, Any]], how: Mapping[str, Any]) -> list[bytes | None]:
    """Return pictures of figures, with a warning where one could not be made."""
    if not specs:
        return []
    with ThreadPoolExecutor(1) as executor:  # a notebook's event loop already runs in this thread
        drawn, reason = executor.submit(lambda: asyncio.run(_session(specs, how))).result()
    if reason:
        warnings.warn(reason, LabkitWarning, stacklevel=3)
    return drawn


async def _session(specs: Sequence[Mapping[str, Any]], how: Mapping[str, Any]) -> tuple[list[bytes | None], str]:
    """Return the picture of each spec, and what failed.

    The synchronous interface of kaleido waits for ever without Chromium.
    """
    from choreographer.errors import ChromeNotFoundError
    from kaleido.errors import KaleidoError

    logging.getLogger("choreographer").setLevel(logging.CRITICAL)  # it logs pieces of its own pipe as errors
    drawn: list[bytes | None] = []
    failed: list[str] = []
    try:
        async with _browser() as browser:
            for number, spec in enumerate(specs):
                size = {name: spec["layout"].get(name, other) for name, other in (("width", WIDTH), ("height", HEIGHT))}
                plain = {"data": spec["data"], "layout": spec["layout"]}
                try:
                    drawn.append(await browser.calc_fig(plain, opts={**how, **size}))
                except (RuntimeError, ValueError, TimeoutError, KaleidoError) as error:
                    drawn.append(None)
                    failed.append(f"figure {number}: {error}")
    except ChromeNotFoundError:
        missing = "Chromium is missing: the PDF shows a note instead of each figure."
        return [None] * len(specs), f"{missing} Install it (Debian: chromium), or set BROWSER_PATH."
    except (RuntimeError, OSError) as error:
        return [None] * len(specs), f"Chromium failed, so figures have no static picture: {error}"
    return drawn, f"No static picture of {'; '.join(failed)}." if failed else ""


@asynccontextmanager
async def _browser() -> AsyncIterator[Any]:
    """Start Chromium with a profile that is deleted at its end."""
    import kaleido

    with scratch.folder(PROFILE) as profile:
        async with kaleido.Kaleido(n=1, mathjax=False, timeout=TIMEOUT, tmp_dir=str(profile)) as browser:
            yield browser


def _fixed(svg: str, spec: Mapping[str, Any]) -> str:
    """Replace plotly's random ids: that of the figure by a hash of it, those of traces by their numbers."""
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True, default=str).encode()).hexdigest()[:6]
    for old in sorted(set(re.findall(r'id="(?:top)?defs-([0-9a-f]{6})"', svg))):
        svg = svg.replace(old, digest)
    traces = re.findall(rf'(?:class="trace \w+ trace|class="cb|id="[gp]{digest}-(?:cb|legend-)?)([0-9a-f]{{6}})\b', svg)
    for number, old in enumerate(dict.fromkeys(traces)):
        svg = re.sub(rf"(trace|cb|-){old}(?![0-9a-f])", rf"\g<1>t{number}", svg)
    return svg
