"""Signs files that the labkit of this user wrote into a campaign, because labkit must not trust files of others there.

Cached records, numbers of jobs and a run to continue are in the campaign's folder, which may come from anybody. They
are valid only with a signature by a key that never leaves the user's home. Without one, labkit recomputes or refuses
them.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from contextlib import suppress

from labkit.errors import DataError
from labkit.io import atomic, folders

LENGTH = 32  # B of the key


def sign(content: bytes) -> str:
    """Return the signature of some bytes, 64 hex digits; empty if the user's key cannot be read or made."""
    key = _key()
    return hmac.new(key, content, hashlib.sha256).hexdigest() if key else ""


def signed(content: bytes, signature: object) -> bool:
    """Return whether the labkit of this user signed these bytes."""
    expected = sign(content)
    return bool(expected) and isinstance(signature, str) and hmac.compare_digest(expected.encode(), signature.encode())


def _key() -> bytes:
    """Return the user's key; make it on first use. Empty if that fails."""
    with suppress(OSError, DataError):
        path = folders.state() / "key"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            # if two processes make one at once, the first counts
            atomic.create(path, secrets.token_bytes(LENGTH), mode=0o600, durable=True)
        key = path.read_bytes()
        return key if len(key) == LENGTH else b""
    return b""
