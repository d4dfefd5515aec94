"""Messages between the widgets of a process and the pages that show them, without a Jupyter kernel in between.

A message is JSON, or binary if parts of it are: the length of the JSON as four bytes, the JSON with the lengths of the
parts, the parts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, Protocol

import comm
from comm.base_comm import BaseComm

Part = bytes | bytearray | memoryview
_HEAD = 4  # bytes of the length of the JSON


class Page(Protocol):
    """A page that is connected."""

    def tell(self, message: str | bytes) -> None:
        """Send it a message."""


class Wire:
    """All connected pages. What one of them changes, the others hear."""

    def __init__(self) -> None:
        self._pages: list[Page] = []
        self._asking: Page | None = None

    def connect(self) -> None:
        """Let widgets speak by this wire; to be called before the first is made."""
        import ipywidgets  # 0.1 s, while the server answers

        wire = self

        class Comm(BaseComm):
            def publish_msg(
                self,
                msg_type: str,
                data: Any = None,
                metadata: Any = None,
                buffers: Sequence[Part] | None = None,
                **keys: Any,
            ) -> None:
                wire.tell({"kind": msg_type, "id": self.comm_id, "data": data or {}}, buffers or ())

            def handle_msg(self, msg: dict[str, Any]) -> None:
                if self._msg_callback:
                    self._msg_callback(msg)  # without IPython, which BaseComm would ask

        comm.create_comm = Comm
        ipywidgets.register_comm_target()

    def join(self, page: Page) -> None:
        """Connect a page, if it is not."""
        if not any(one is page for one in self._pages):
            self._pages.append(page)

    def leave(self, page: Page) -> None:
        """Disconnect a page."""
        self._pages = [one for one in self._pages if one is not page]

    def tell(self, message: dict[str, Any], parts: Sequence[Part] = ()) -> None:
        """Send a message of a widget: an answer to the page that asked, an echo to all others, anything else to all."""
        method = message["data"].get("method")
        pages = [one for one in self._pages if one is not self._asking] if method == "echo_update" else self._pages
        if method == "update_states":
            pages = [one for one in self._pages if one is self._asking]
        if pages:
            text = packed(message, parts)
            for page in pages:
                page.tell(text)

    def hear(self, page: Page, data: str | bytes) -> None:
        """Hand a message of a page to its widget."""
        message, parts = unpacked(data)
        manager: Any = comm.get_comm_manager()
        content = {"comm_id": message["id"], "data": message.get("data", {})}
        whole = {"content": content, "metadata": {"version": message.get("version", "")}, "buffers": parts}
        self._asking = page
        try:
            if message["kind"] == "comm_open":
                content["target_name"] = message["target"]
                manager.comm_open(None, "", whole)
            else:
                manager.comm_msg(None, "", whole)
        finally:
            self._asking = None


def packed(message: dict[str, Any], parts: Sequence[Part] = ()) -> str | bytes:
    """Return a message as text, or as bytes if it has binary parts."""
    if not parts:
        return _json(message)
    head = _json(message | {"lengths": [memoryview(part).nbytes for part in parts]}).encode()
    return b"".join([len(head).to_bytes(_HEAD, "little"), head, *parts])


def unpacked(data: str | bytes) -> tuple[dict[str, Any], list[memoryview]]:
    """Return a message and its binary parts."""
    if isinstance(data, str):
        return json.loads(data), []
    at = _HEAD + int.from_bytes(data[:_HEAD], "little")
    message, parts = json.loads(data[_HEAD:at]), []
    for length in message["lengths"]:
        parts.append(memoryview(data)[at : at + length])
        at += length
    return message, parts


def _json(message: dict[str, Any]) -> str:
    """Return JSON that browsers read: numbers that it does not have are null."""
    try:
        return json.dumps(message, default=_plain, allow_nan=False, ensure_ascii=False)
    except ValueError:
        return json.dumps(_finite(message), default=_plain, ensure_ascii=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return value


def _plain(value: Any) -> Any:
    """Return a number of numpy as Python's, anything else as text."""
    return value.item() if hasattr(value, "item") else str(value)
