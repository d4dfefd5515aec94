"""Messages between the widgets of a process and the pages that show them, without a Jupyter kernel in between.

A message is JSON, or binary if parts of it are: the length of the JSON as four bytes, the JSON with the lengths of the
parts, the parts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, Protocol

import comm
from comm.base_comm import BaseComm

Part = bytes | bytearray | memoryview
_HEAD = 4  # bytes of the length of the JSON
# the tab for which widgets are made and messages are handled; tasks that these start keep it
TAB: ContextVar[str] = ContextVar("labkit_tab", default="")


class Page(Protocol):
    """A page that is connected.

    Attributes
    ----------
    tab : tab whose widgets it shows.
    """

    tab: str

    def tell(self, message: str | bytes) -> None:
        """Send it a message."""


class Wire:
    """All connected pages. Each hears of the widgets of its tab only."""

    def __init__(self) -> None:
        self._pages: list[Page] = []
        self._asking: Page | None = None
        self._tabs: dict[str, str] = {}  # widget → tab that it was made for

    def holds(self, tab: str) -> bool:
        """Whether a page shows the widgets of a tab."""
        return any(one.tab == tab for one in self._pages)

    def drop(self, tab: str) -> list[str]:
        """Forget a tab, and return its widgets."""
        gone = [name for name, other in self._tabs.items() if other == tab]
        for name in gone:
            del self._tabs[name]
        return gone

    def connect(self) -> None:
        """Let widgets communicate by this wire; call it before the first widget is made."""
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
                if msg_type == "comm_open":
                    wire._tabs[self.comm_id] = TAB.get()
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
        """Send a widget's message to the pages of its tab: an answer to the asking page, an echo to the others."""
        method, asking = message["data"].get("method"), self._asking
        if method == "update_states":
            pages = [one for one in self._pages if one is asking]
            if asking is not None:
                message, parts = self._own(message, parts, asking.tab)
        else:
            tab = self._tabs.get(message["id"], "")
            pages = [one for one in self._pages if one.tab == tab and (method != "echo_update" or one is not asking)]
        if pages:
            text = packed(message, parts)
            for page in pages:
                page.tell(text)

    def _own(self, message: dict[str, Any], parts: Sequence[Part], tab: str) -> tuple[dict[str, Any], list[Part]]:
        """Return the part of a message with all states that is about the widgets of a tab."""
        data = message["data"]
        states = {name: state for name, state in data["states"].items() if self._tabs.get(name) == tab}
        kept = [(path, part) for path, part in zip(data["buffer_paths"], parts, strict=True) if path[0] in states]
        own = data | {"states": states, "buffer_paths": [path for path, _ in kept]}
        return message | {"data": own}, [part for _, part in kept]

    def hear(self, page: Page, data: str | bytes) -> None:
        """Hand a message of a page to its widget."""
        message, parts = unpacked(data)
        if self._tabs.get(message["id"], page.tab) != page.tab:  # a widget of another tab is not theirs
            return
        manager: Any = comm.get_comm_manager()
        content = {"comm_id": message["id"], "data": message.get("data", {})}
        whole = {"content": content, "metadata": {"version": message.get("version", "")}, "buffers": parts}
        self._asking = page
        within = TAB.set(page.tab)
        try:
            if message["kind"] == "comm_open":
                content["target_name"] = message["target"]
                manager.comm_open(None, "", whole)
            else:
                manager.comm_msg(None, "", whole)
        finally:
            self._asking = None
            TAB.reset(within)


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
