"""Signs what this user's labkit wrote into a campaign, so that what others wrote there is not believed or acted upon.

Kept records, numbers of jobs and a run to go on with lie in the campaign's folder, which may come from anybody. They
count only with a signature by a key that never leaves the user's home. labkit works out anew or refuses what has none.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from contextlib import suppress

from labkit import folders
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
            aside = path.with_name(f".key.{secrets.token_hex(8)}")
            with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123
                file.write(secrets.token_bytes(LENGTH))
            with suppress(FileExistsError):  # two processes made one at once: the first counts
                os.link(aside, path)
            aside.unlink()
        key = path.read_bytes()
        return key if len(key) == LENGTH else b""
    return b""
