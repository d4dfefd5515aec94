"""Read a table of records: of a campaign, or of a text that a benchmark printed."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from labkit.io import scratch
from labkit.read import columnar
from labkit.run import importing
from labkit.store.campaign import Campaign

BEGINS = ".labkit-pasted-"
NAME = "pasted.txt"


def load(what: str | Path | Campaign) -> pd.DataFrame:
    r"""Records of a campaign or of pasted output: one row per spec and launch, columns as in docs/data-dictionary.md.

    Parameters
    ----------
    what : folder of a campaign, name in data/campaigns, or what `labkit.measure` returned; or the output of a
        benchmark, as text with line breaks, in a format that ``labkit import`` reads. It is kept nowhere.

    Raises
    ------
    DataError
        If there is no such campaign, a file in it is unreadable, or labkit does not know the format of a text.

    Examples
    --------
    >>> table = load("# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n8                 1.25\n")
    >>> table[["benchmark", "message_size_B", "latency_us_mean"]].values.tolist()
    [['mpi.latency', 8, 1.25]]
    """
    if not isinstance(what, str) or not is_text(what):
        return columnar.load(what)
    with scratch.folder(BEGINS) as folder:
        return columnar.load(pasted(what, folder, folder / "campaign"))


def is_text(text: str) -> bool:
    """Whether a text is output and not the name of a campaign or file: these have no line end."""
    return "\n" in text


def pasted(text: str, folder: Path, into: Path | None = None) -> Campaign:
    """Import a text into a new campaign, by way of a file in a folder for such files.

    Parameters
    ----------
    into : folder of the campaign (default: a new one, named after the time).
    """
    file = folder / NAME
    file.write_text(text if text.endswith("\n") else f"{text}\n", encoding="utf-8", errors="surrogateescape")
    return importing.bring([file], into=into).campaign
