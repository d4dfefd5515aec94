"""Names and warnings of a campaign cannot act on the terminal that shows them."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.apps import cli
from labkit.io import sanitize
from labkit.store.campaign import Campaign
from tests import made
from tests.test_report import point

EVIL = "\x1b]0;owned\x07\x1b[2J\x1b[31m\x9b1A\x90q\x9c\r\x08\x1bc\u202eevil"


@given(st.text(alphabet=st.characters(codec="utf-8") | st.sampled_from("\x1b[]\x07\x9b\x90\\m;0")))
def test_plain_text_holds_nothing_that_acts(text: str) -> None:
    made = sanitize.plain(text)
    assert not [c for c in made if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) <= 0x9F]
    assert sanitize.plain(made) == made


@given(st.text(alphabet=st.characters(categories=("L", "N", "P", "S", "Zs"))))
def test_text_without_control_stays(text: str) -> None:
    assert sanitize.plain(text) == text


@pytest.mark.parametrize(
    "words",
    [
        "show {0}",
        "show {0} --format csv",
        "show {0} --format json",
        "status {0}",
        "verify {0}",
        "report {0} --style \x1b[31m",
        "show \x1b[31mx",
        "describe \x1b]0;x\x07",
        "list \x1b[2J",
    ],
)
def test_no_verb_prints_control_codes(words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    campaign = Campaign(tmp_path / "foreign", {"name": EVIL, "title": EVIL, "labkit": EVIL, "host": {"hostname": EVIL}})
    one = point("mpi.latency", 8, "shm", 0)
    meta = made.noted({**one.meta, "library": EVIL, "warnings": [f"{EVIL} load 5.1"], "badges": [EVIL]})
    campaign.save(dataclasses.replace(one, meta=meta, host={"hostname": EVIL}), f"{1:016x}")
    campaign.tell("failed", what=EVIL, reason=EVIL)
    with contextlib.suppress(SystemExit):
        cli.main([word.format(campaign.path) for word in words.split(" ")])
    said = "".join(capsys.readouterr())
    assert said
    assert not [c for c in said if (ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) <= 0x9F], said


def test_a_progress_bar_acts_on_the_terminal() -> None:
    import io

    stream = io.StringIO()
    assert sanitize.raw(sanitize.Plain(stream)) is stream  # type: ignore[arg-type]
