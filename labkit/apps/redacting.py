"""A redacted copy of a campaign with its reports, which are made again from the copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from labkit import report
from labkit.errors import LabkitError
from labkit.io import atomic, scratch
from labkit.point.notes import joined
from labkit.store import derived, redaction
from labkit.store.campaign import Campaign
from labkit.store.notebooks import FOLDER
from labkit.store.redaction import Redacted
from labkit.suites import rereading


@contextmanager
def copied(source: Campaign, words: Iterable[str], progress: Callable[[str], None]) -> Iterator[Campaign]:
    """Yield a redacted copy, which is removed at the end.

    Parameters
    ----------
    words : further words to replace.
    progress : gets short messages, also about files and reports that the copy lacks.
    """
    with scratch.folder("labkit-redacted-") as temporary:
        progress(f"replacing the names in {source.path.name}")
        made = redaction.copy(source, temporary / "copy", words)
        lacking = list(made.left_out)
        styles = _styles(source)
        if styles:
            _execute(made, progress)
        for style in styles:
            try:
                progress(f"making the report in style {style} anew")
                report.build([made.campaign.path], style=style, execute=False, progress=progress)
            except LabkitError as error:
                lacking.append(f"{derived.report(style)} ({error})")
        if lacking:
            progress(f"warning: the redacted archive lacks {joined(lacking)}: labkit cannot replace names there.")
        yield made.campaign


def _styles(source: Campaign) -> list[str]:
    """Return the styles of a campaign's own reports; reports of several campaigns also hold other campaigns' data."""
    names = [path.name for path in source.derived.glob(f"{derived.REPORT}*") if path.is_dir()]
    own = sorted(name for name in names if derived.is_report(name) and not derived.is_shared(name))
    return [name.removeprefix(f"{derived.REPORT}-") for name in own]


def _execute(made: Redacted, progress: Callable[[str], None]) -> None:
    """Execute notebooks without an executed copy, and replace the names of this machine in them."""
    folder = made.campaign.path / FOLDER
    before = set(folder.glob("*.ipynb"))
    try:
        rereading.reread(made.campaign, progress)
    except LabkitError as error:
        progress(f"notebooks without an executed copy are left out: {error}")
    for path in {*folder.glob("*.ipynb")} - before:
        atomic.replace(path, redaction.rewritten(path.read_text(), path.suffix, made.pseudonyms))
