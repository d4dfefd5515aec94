"""Signs what this user's labkit wrote into a campaign, so that what others wrote there is not believed or acted upon.

Kept records, numbers of jobs and a run to go on with lie in the campaign's folder, which may come from anybody. They
count only with a signature by a key that never leaves the user's home. labkit works out anew or refuses what has none.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from contextlib import suppress

from labkit import folders, writing
from labkit.errors import DataError

LENGTH = 32  # B of the key


def sign(content: bytes) -> str:
    """Signature of some bytes, 64 hex digits; empty where the user has no place for a key."""
    key = _key()
    return hmac.new(key, content, hashlib.sha256).hexdigest() if key else ""


def signed(content: bytes, signature: object) -> bool:
    """Whether this user's labkit signed these bytes."""
    mine = sign(content)
    return bool(mine) and isinstance(signature, str) and hmac.compare_digest(mine.encode(), signature.encode())


def _key() -> bytes:
    """The user's key, made when it is first needed; empty where it cannot be."""
    with suppress(OSError, DataError):
        path = folders.state() / "key"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            # of two processes that make one at once, the first counts
            writing.create(path, secrets.token_bytes(LENGTH), mode=0o600, durable=True)
        key = path.read_bytes()
        return key if len(key) == LENGTH else b""
    return b""
