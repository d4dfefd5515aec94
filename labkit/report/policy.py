"""The content security policy of a report's pages: scripts from their own folder only, no request to other places."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

_REST = (
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; base-uri 'none'; "
    "form-action 'none'"
)
PLAIN = f"default-src 'none'; script-src 'self'; {_REST}"
_TEXT = (("<main", "</main>"), ('<div class="slides">', "<script>window.backupDefine"))  # where the text is, and ends
_RUNS = ("", "text/javascript", "application/javascript", "module")


class _Frame(HTMLParser):
    """Scripts and handlers of a page; text in attributes is none, whatever it looks like."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.handlers: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note handlers, and whether what follows is a script that runs."""
        named = dict(attrs)
        self.handlers += [value for name, value in attrs if name.startswith("on") and value]
        self._inside = tag == "script" and "src" not in named and (named.get("type") or "").lower() in _RUNS
        if self._inside:
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        """Take the text of a script."""
        if self._inside:
            self.scripts[-1] += data

    def handle_endtag(self, tag: str) -> None:
        """End a script."""
        self._inside = False


def guarded(page: str) -> str:
    """Return a page of Quarto with a policy that allows the scripts which Quarto wrote into it, and no other.

    Quarto writes them outside of the text of the chapter or the slides; scripts inside of it do not run.
    """
    places = [(page.find(first), page.rfind(last)) for first, last in _TEXT]
    begin, end = next(((first, last) for first, last in places if 0 <= first < last), (len(page), len(page)))
    frame = _Frame()
    frame.feed(page[:begin] + page[end:])
    hashes, handlers = (dict.fromkeys(map(_hash, found)) for found in (frame.scripts, frame.handlers))
    words = [*hashes, *(["'unsafe-hashes'"] if handlers else []), *handlers]
    policy = f"default-src 'none'; script-src {' '.join([chr(39) + 'self' + chr(39), *words])}; {_REST}"
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}"><meta name="referrer" content="no-referrer">'
    return re.sub(r"<head\b[^>]*>", lambda match: f"{match[0]}\n{meta}", page, count=1)


def _hash(script: str) -> str:
    """Return a script's hash as a policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
