"""Render figures as static pictures, for PDF and for pages without scripts, in one Chromium session."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.metadata
import json
import logging
import os
import re
import shlex
import warnings
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from labkit.errors import DataError, LabkitWarning
from labkit.figures.style import HEIGHT, WIDTH
from labkit.io import atomic, folders, programs, scratch

TIMEOUT = 60.0  # s for one figure
_SMALL = (  # what Chromium gets beside kaleido's own flags; for 126 figures it then takes 430 MB in all
    "--js-flags=--max-old-space-size=96 --max-semi-space-size=2 --optimize-for-size",  # MB
    "--no-zygote",  # no processes that only wait to be forked
    "--in-process-gpu",
    "--disable-features=SpareRendererForSitePerProcess",  # no renderer in reserve
)
KEPT = 1000  # pictures in the user's cache, about 30 kB each
PROFILE = "labkit-chromium-"  # begins the name of a folder


def svgs(specs: Sequence[Mapping[str, Any]]) -> list[str | None]:
    """Render figures as svg.

    Parameters
    ----------
    specs : plotly figures as plain dicts: ``data`` and ``layout`` with ``width`` and ``height``.

    Returns
    -------
    Svg text of each; None for one that could not be rendered, and for all if there is no Chromium. A
    `LabkitWarning` gives the reason. Same spec, same text; ids differ between figures, so that one page can hold
    several.
    """
    browser = browser_identity()
    files = [_kept(spec, browser) for spec in specs]
    known = [_read(file) for file in files]
    missing = [number for number, svg in enumerate(known) if svg is None]
    for number, svg in zip(missing, _drawn([specs[number] for number in missing], {"format": "svg"}), strict=True):
        known[number] = None if svg is None else _fixed(svg.decode(), specs[number])
        _keep(files[number], known[number])
    return known


def browser_identity() -> str:
    """Return what identifies the browser that draws; empty without one, and then nothing is kept."""
    path = programs.browser()
    try:
        state = Path(path).stat() if path else None
    except OSError:
        state = None
    if state is None:
        return ""
    packages = (f"{name} {importlib.metadata.version(name)}" for name in ("plotly", "kaleido"))
    return f"{path} {state.st_size} {state.st_mtime_ns} {' '.join(packages)}"


def _kept(spec: Mapping[str, Any], browser: str) -> Path | None:
    """Return the file in the user's cache for the picture of a figure; None if nothing is kept."""
    if not browser:
        return None
    shown = json.dumps([browser, spec["data"], spec["layout"]], sort_keys=True, default=str)
    try:
        return folders.cache() / "figures" / f"{hashlib.sha256(shown.encode()).hexdigest()}.svg"
    except DataError:  # no home folder
        return None


def _read(file: Path | None) -> str | None:
    """Return a picture that was drawn before."""
    try:
        svg = file.read_text() if file else ""
        if file and svg:
            file.touch()
    except (OSError, ValueError):
        return None
    return svg or None


def _keep(file: Path | None, svg: str | None) -> None:
    """Keep a picture, and remove those that were not used for longest if there are too many."""
    if file is None or svg is None:
        return
    with suppress(OSError, DataError):
        file.parent.mkdir(parents=True, exist_ok=True)
        atomic.replace(file, lambda part: part.write_text(svg))
        kept = sorted(file.parent.glob("*.svg"), key=lambda one: one.stat().st_mtime)
        for old in kept[:-KEPT]:
            old.unlink(missing_ok=True)


def pngs(specs: Sequence[Mapping[str, Any]], *, scale: float = 2.0) -> list[bytes | None]:
    """Render figures as png with `scale` dots for each pixel, as `svgs` does."""
    return _drawn(specs, {"format": "png", "scale": scale})


def pdfs(specs: Sequence[Mapping[str, Any]]) -> list[bytes | None]:
    """Render figures as pdf, one page each, as `svgs` does."""
    return _drawn(specs, {"format": "pdf"})


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
    path = programs.browser()
    if not path:
        return [None] * len(specs), _missing()
    from kaleido.errors import KaleidoError  # 0.1 s; optional

    logging.getLogger("choreographer").setLevel(logging.CRITICAL)  # it logs pieces of its own pipe as errors
    drawn: list[bytes | None] = []
    failed: list[str] = []
    try:
        async with _browser(path) as browser:
            for number, spec in enumerate(specs):
                size = {name: spec["layout"].get(name, other) for name, other in (("width", WIDTH), ("height", HEIGHT))}
                plain = {"data": spec["data"], "layout": spec["layout"]}
                try:
                    drawn.append(await browser.calc_fig(plain, opts={**how, **size}))
                except (RuntimeError, ValueError, TimeoutError, KaleidoError) as error:
                    drawn.append(None)
                    failed.append(f"figure {number}: {error}")
    except (RuntimeError, OSError) as error:
        return [None] * len(specs), f"Chromium failed: {error}"
    return drawn, f"Chromium could not draw {'; '.join(failed)}" if failed else ""


def _missing() -> str:
    """Say that there is no browser, and what brings one."""
    if named := os.environ.get("BROWSER_PATH"):
        return f"BROWSER_PATH={named} is not a file: set it to the path of Chromium, or unset it"
    return f"Chromium is missing: install it with {programs.ways([programs.PROGRAMS['chromium']])}"


@asynccontextmanager
async def _browser(path: str) -> AsyncIterator[Any]:
    """Start Chromium with a profile that is deleted at its end, and with little memory for scripts."""
    import kaleido  # 0.1 s; optional

    class Kept(kaleido.Kaleido):  # type: ignore[misc]
        """A browser that loads plotly.js once, and not again after each figure."""

        async def open(self) -> None:
            try:
                await super().open()
            except BaseException:
                if pipe := getattr(self, "_logger_pipe", 0):
                    os.close(pipe)  # else the thread that reads it would never end, nor would this process
                raise

        async def _return_kaleido_tab(self, tab: Any) -> None:
            await self.tabs_ready.put(tab)

    with scratch.folder(PROFILE) as profile:
        small = profile / "browser"
        small.write_text(f'#!/bin/sh\nexec {shlex.join([path, *_SMALL])} "$@"\n')
        small.chmod(0o700)
        page = profile / "page.html"  # one of kaleido's own would stay if the browser does not start
        page.write_text(kaleido.PageGenerator(mathjax=False).generate_index())
        async with Kept(n=1, page_generator=page, timeout=TIMEOUT, tmp_dir=str(profile), path=str(small)) as browser:
            yield browser


def _fixed(svg: str, spec: Mapping[str, Any]) -> str:
    """Replace plotly's random ids: the figure's by a hash of the figure, the traces' by their numbers.

    The order of attributes depends on what the browser drew before; in the canonical form it does not.
    """
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True, default=str).encode()).hexdigest()[:6]
    for old in sorted(set(re.findall(r'id="(?:top)?defs-([0-9a-f]{6})"', svg))):
        svg = svg.replace(old, digest)
    traces = re.findall(rf'(?:class="trace \w+ trace|class="cb|id="[gp]{digest}-(?:cb|legend-)?)([0-9a-f]{{6}})\b', svg)
    for number, old in enumerate(dict.fromkeys(traces)):
        svg = re.sub(rf"(trace|cb|-){old}(?![0-9a-f])", rf"\g<1>t{number}", svg)
    return ET.canonicalize(svg)
