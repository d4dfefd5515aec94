"""The content security policy of a report's pages: scripts from their own folder only, no request to other places."""

from __future__ import annotations

import base64
import hashlib
import html
import re

_REST = (
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; base-uri 'none'; "
    "form-action 'none'"
)
PLAIN = f"default-src 'none'; script-src 'self'; {_REST}"
_SCRIPT = re.compile(r"<script\b([^>]*)>(.*?)</script\s*>", re.I | re.S)
_RUNS = ("", "text/javascript", "application/javascript", "module")


def guarded(page: str) -> str:
    """Return a page of Quarto with a policy that allows the scripts which Quarto wrote into it, and no other.

    Quarto writes them outside of the chapter's text, the ``main`` element; scripts inside of it do not run.
    """
    head, _, rest = page.partition("<main")
    frame = head + rest.rpartition("</main>")[2] if rest else head
    hashes, handlers = dict[str, None](), dict[str, None]()
    for attributes, body in _SCRIPT.findall(frame):
        kind = re.search(r"\btype\s*=\s*[\"']?([^\"'\s>]*)", attributes, re.I)
        if not re.search(r"\bsrc\s*=", attributes, re.I) and (kind[1].lower() if kind else "") in _RUNS:
            hashes[_hash(body)] = None
    for _, body in re.findall(r"\son\w+\s*=\s*([\"'])(.*?)\1", _SCRIPT.sub("", frame), re.I | re.S):
        handlers[_hash(html.unescape(body))] = None
    words = [*hashes, *(["'unsafe-hashes'"] if handlers else []), *handlers]
    policy = f"default-src 'none'; script-src {' '.join([chr(39) + 'self' + chr(39), *words])}; {_REST}"
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}"><meta name="referrer" content="no-referrer">'
    return re.sub(r"<head\b[^>]*>", lambda match: f"{match[0]}\n{meta}", page, count=1)


def _hash(script: str) -> str:
    """Return a script's hash as a policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
