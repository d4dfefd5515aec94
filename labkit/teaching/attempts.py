"""What a learner predicted, answered and looked up, kept in a file beside the notebook that is handed in with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from labkit import writing
from labkit.errors import DataError

FORMAT = 1


class Attempts:
    """The file ``diary.json`` in the folder of a lab.

    Parameters
    ----------
    folder : made when it is first written to.

    Raises
    ------
    DataError
        If the file cannot be read, or is of another format.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self._file = folder, folder / "diary.json"
        self._held: dict[str, Any] = {"format": FORMAT, "source": "", "predictions": {}, "answers": {}}
        if self._file.exists():
            try:
                self._held = json.loads(self._file.read_text())
            except (OSError, json.JSONDecodeError) as error:
                raise DataError(f"{self._file} cannot be read: {error}. Delete it to start again.") from error
            if not isinstance(self._held, dict) or self._held.get("format") != FORMAT:
                raise DataError(
                    f"{self._file} is not of format {FORMAT}, which this labkit reads. Delete it to start again."
                )

    @property
    def source(self) -> str:
        """Which kind of source was used; empty where none was yet."""
        return str(self._held["source"])

    @property
    def predictions(self) -> dict[str, Any]:
        """What was predicted, by name."""
        return dict(self._held["predictions"])

    @property
    def answers(self) -> dict[str, dict[str, Any]]:
        """For each question: given (the last answer), right, tries, hints (how many were seen)."""
        return dict(self._held["answers"])

    def note_source(self, kind: str) -> None:
        """Remember the source."""
        self._held["source"] = kind
        self._save()

    def predict(self, name: str, value: Any) -> None:
        """Keep a prediction, in the place of an earlier one."""
        self._held["predictions"][name] = value
        self._save()

    def answer(self, name: str, given: Any, right: bool) -> None:
        """Keep an answer; the same one again is no further try."""
        held = self._of(name)
        held["tries"] += held["given"] != given
        held |= {"given": given, "right": right}
        self._save()

    def hint(self, name: str) -> int:
        """Count one more hint, and give its number, from 1."""
        held = self._of(name)
        held["hints"] += 1
        self._save()
        return int(held["hints"])

    def _of(self, name: str) -> dict[str, Any]:
        held: dict[str, Any] = self._held["answers"].setdefault(
            name, {"given": None, "right": False, "tries": 0, "hints": 0}
        )
        return held

    def _save(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        writing.replace(self._file, json.dumps(self._held, indent=1) + "\n", durable=True)
