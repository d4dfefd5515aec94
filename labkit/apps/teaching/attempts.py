"""Predictions, answers and hints of a learner, in a file that is handed in with the notebook."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

from labkit.errors import DataError
from labkit.io import atomic, safe_read

FORMAT = 2


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
        self._diary: dict[str, Any] = {"format": FORMAT, "source": "", "predictions": {}, "answers": {}}
        if self._file.exists():
            try:
                self._diary = safe_read.json_object(self._file)
            except DataError as error:
                raise DataError(f"{error} Delete it to start again.") from error
            if self._diary.get("format") != FORMAT:
                raise DataError(
                    f"{self._file} is not of format {FORMAT}, which this labkit reads. Delete it to start again."
                )

    @property
    def source(self) -> str:
        """Which kind of source was used; empty if none was yet."""
        return str(self._diary["source"])

    @property
    def predictions(self) -> dict[str, Any]:
        """Predictions by name."""
        return dict(self._diary["predictions"])

    @property
    def answers(self) -> dict[str, dict[str, Any]]:
        """For each question: given (the answer that counts), right, tried (all answers, in order), solved, hints.

        `solved` is the number of the try that was right first, 0 before; `hints` is how many hints were seen.
        """
        return dict(self._diary["answers"])

    @property
    def seed(self) -> str:
        """What chooses this learner's launches of a recording; empty if no recording was read yet."""
        return str(self._diary.get("seed", ""))

    def seed_of(self, kind: str) -> str:
        """Return the seed for a source of this kind: a measured run is read whole."""
        return self.seed if kind == "recorded" else ""

    @property
    def unpredicted(self) -> bool:
        """Whether the learner chose to measure without predictions."""
        return bool(self._diary.get("unpredicted"))

    def note_source(self, kind: str) -> None:
        """Remember the source; the first recording also draws the seed."""
        self._diary["source"] = kind
        if kind == "recorded":
            self._diary.setdefault("seed", secrets.token_hex(8))
        self._save()

    def note_unpredicted(self) -> None:
        """Remember that the learner chose to measure without predictions."""
        self._diary["unpredicted"] = True
        self._save()

    @property
    def later(self) -> dict[str, list[Any]]:
        """Predictions entered after the measurement, by name, in order."""
        return {name: list(values) for name, values in self._diary.get("later", {}).items()}

    def predict(self, name: str, value: Any, *, after: bool = False) -> str:
        """Keep a prediction. Before the measurement it replaces an earlier one; after it, labkit keeps both.

        Parameters
        ----------
        after : of `labkit.apps.teaching.questions.Question`.

        Returns
        -------
        Diary entries for the learner.
        """
        before, tries = self.predictions.get(name), self.later.get(name, [])
        if not self.source:
            self._diary["predictions"][name] = value
            said = "saved; the measurement will show"
        elif after and before is None:
            self._diary["predictions"][name] = value
            said = "saved; the questions below will show"
        elif value == before:
            return f"this is what you predicted {'first' if after else 'before the measurement'}"
        else:
            self._diary.setdefault("later", {})[name] = [*tries, value] if value not in tries[-1:] else tries
            stays = "it no longer counts as a prediction" if before is None else f"your prediction of {before} stays"
            why = "" if after else "you have measured already, so "
            said = f"{why}{stays}; {value} is recorded as a later try"
        self._save()
        return said

    def answer(self, name: str, given: Any, right: bool) -> None:
        """Keep an answer as the counted one, unless a right answer counts already.

        The same answer twice in a row is one try.
        """
        entry = self._entry(name)
        if entry["tried"][-1:] != [given]:
            entry["tried"].append(given)
        if right and not entry["right"]:
            entry["solved"] = len(entry["tried"])
        if right or not entry["right"]:
            entry |= {"given": given, "right": right}
        self._save()

    def seen(self, name: str) -> int:
        """Return how many hints of a question were seen."""
        return int(self._diary["answers"].get(name, {}).get("hints", 0))

    def hint(self, name: str) -> None:
        """Count one more hint."""
        self._entry(name)["hints"] += 1
        self._save()

    def _entry(self, name: str) -> dict[str, Any]:
        entry: dict[str, Any] = self._diary["answers"].setdefault(
            name, {"given": None, "right": False, "tried": [], "solved": 0, "hints": 0}
        )
        return entry

    def _save(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        atomic.replace(self._file, json.dumps(self._diary, indent=1) + "\n", durable=True)
