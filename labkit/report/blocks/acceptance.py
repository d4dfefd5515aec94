"""The verdicts of an acceptance contract: clauses, evidence, re-tests, and a page to sign."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from labkit import __version__
from labkit.io import safe_read
from labkit.judge import contract
from labkit.judge import retests as log
from labkit.judge.contract import Verdict
from labkit.point.units import format_share, plural
from labkit.report import markdown
from labkit.report.artifact import checksums
from labkit.report.content import Content
from labkit.report.markdown import code, escape
from labkit.report.sources import Source
from labkit.store import events
from labkit.store.campaign import Campaign

_BLANK = "\u00a0" * 36  # room for a name or a signature
_PARTIES = ("supplier", "customer", "measured by")
_REASON = 200  # characters


def judged(content: Content, source: Source) -> list[Verdict]:
    """Return the verdicts of the contract on a campaign."""
    name = f"verdicts on {source.path}"
    if name not in content.made:
        clauses = contract.load(content.contract) if content.contract else []
        judge = partial(contract.judge, clauses, source.summary, Campaign(source.path).samples)
        content.made[name] = judge() if len(source.summary) else [Verdict(c, 0, 0, ()) for c in clauses]
    return list(content.made[name])


def title(content: Content) -> str:
    """Return the title of the contract, else the name of its file."""
    file = content.contract or Path()
    return str(safe_read.toml(file).get("title") or file.stem)


def verdict(content: Content) -> str:
    """Return whether each campaign fulfils the contract."""
    parts = []
    for source in content.sources:
        verdicts = judged(content, source)
        failed = [one for one in verdicts if not one.passed]
        word = "accepted" if not failed else "not accepted"
        text = f"{escape(title(content))}: campaign **{escape(source.name)}** is **{word}**. "
        text += f"Fulfilled: {len(verdicts) - len(failed)} of {plural(len(verdicts), 'clause')}"
        names = ", ".join(escape(one.clause.name) + _missing(one) for one in failed)
        parts.append(f"{text}; not fulfilled: {names}." if failed else f"{text}.")
    return "\n\n".join(parts)


def _missing(one: Verdict) -> str:
    """Return how many of the demanded hosts or pairs were not measured, in parentheses; empty if all were."""
    return "" if one.coverage is None or one.coverage.whole else f" ({one.coverage.brief})"


def clauses(content: Content) -> str:
    """Return a table with a row for each clause."""
    rows = [
        (
            source,
            [
                "**pass**" if one.passed else "**fail**",
                escape(one.clause.name),
                escape(one.clause.text),
                f"{one.fulfilled} of {one.points}",
                format_share(one.fulfilled / one.points) if one.points else "–",
                one.coverage.count if one.coverage else "–",
            ],
        )
        for source in content.sources
        for one in judged(content, source)
    ]
    head = ["verdict", "clause", "requires", "points that fulfil it", "share", "measured"]
    if not any(one.coverage for source in content.sources for one in judged(content, source)):
        head, rows = head[:-1], [(source, cells[:-1]) for source, cells in rows]
    return content.table(
        head, rows, align="lllrrr"[: len(head)], caption="Clauses of the contract. {#tbl-clauses}", empty=""
    )


def evidence(content: Content) -> str:
    """Return the worst points of each clause."""
    items = []
    for source in content.sources:
        name = f"{escape(source.name)}, " if content.several else ""
        for one in judged(content, source):
            word = "pass" if one.passed else "**fail**"
            items.append(f"{name}{escape(one.clause.name)}: {word}. {escape(one.sentence)}.")
    return markdown.bullets(items)


def retests(content: Content) -> str:
    """Return a table of the points that a first start did not measure: what was retried, and what failed."""
    rows = []
    for source in content.sources:
        for event in events.read(source.path):
            if event.kind in ("retried", "failed", "skipped"):
                reason = str(event["reason"] or event.kind).partition(" command: ")[0][:_REASON]
                rows.append((source, [escape(event["what"]), escape(event.kind), escape(reason)]))
    launches = sum(len(source.records) for source in content.sources)
    return content.table(
        ["point", "event", "reason"],
        rows,
        caption="Points that were measured again, that failed, or that were skipped. {#tbl-retests}",
        empty=f"No re-test was logged: the first start measured each of {plural(launches, 'launch')}.",
    )


def terms(content: Content) -> str:
    """Return the contract as its file has it, with its checksum."""
    if content.contract is None:
        return ""
    text = safe_read.text(content.contract)
    digest = safe_read.sha256(content.contract)
    return f"{code(content.contract.name)}, SHA-256 {code(digest)}:\n\n{markdown.block(text, 'toml')}"


def sign_off(content: Content) -> str:
    """Return a page with the verdicts, what they were made from, and room for signatures."""
    rows = []
    for source in content.sources:
        verdicts = judged(content, source)
        passed = all(one.passed for one in verdicts)
        digest = hashlib.sha256(checksums(source).encode()).hexdigest()
        rows += [
            ("campaign", escape(source.name)),
            ("verdict", "accepted" if passed else "not accepted"),
            ("clauses fulfilled", f"{sum(one.passed for one in verdicts)} of {len(verdicts)}"),
            ("SHA-256 of the list of its samples files", code(digest)),
        ]
    file = content.contract
    for one in (file, content.log):
        if one is not None:
            rows.append((f"SHA-256 of {escape(one.name)}", code(safe_read.sha256(one))))
    rows.append(("judged by", f"labkit {__version__}"))
    facts = markdown.table(["what is signed", "value"], rows, caption="Facts of the acceptance. {#tbl-signed}")
    blanks = [[name, _BLANK, _BLANK[:16], _BLANK] for name in _PARTIES]
    caption = "Signatures. {#tbl-signatures}"
    signatures = markdown.table(["for", "name", "date", "signature"], blanks, caption=caption)
    return "\n\n".join([facts, *_tests(content), signatures])


def _tests(content: Content) -> Iterator[str]:
    """Yield the tests in the log of the contract: a row for each test, then a row for each clause."""
    if content.log is None or content.contract is None:
        return
    tests = log.load(content.log)
    rows = [
        [
            *(str(number), escape(one.when[:16]), escape(one.campaign), str(one.clauses), str(one.points)),
            *("**fail**" if one.failed else "pass", note),
        ]
        for number, (one, note) in enumerate(zip(tests, log.notes(tests), strict=True), start=1)
    ]
    head = ["test", "moment", "campaign", "clauses", "points", "outcome", "note"]
    yield markdown.table(head, rows, align="rllrrll", caption="Tests on record. {#tbl-tests}")
    digest = safe_read.sha256(content.contract)
    same = {number: one for number, one in enumerate(tests, start=1) if one.contract == digest}
    per_clause = [
        [escape(clause.name), _numbers(same, clause.name, failed=False), _numbers(same, clause.name, failed=True)]
        for clause in contract.load(content.contract)
    ]
    caption = "Tests of this contract by clause. {#tbl-clause-tests}"
    yield markdown.table(["clause", "passed in tests", "failed in tests"], per_clause, caption=caption)
    for source in content.sources:
        if all(one.identity != Campaign(source.path).identity for one in same.values()):
            name, terms = escape(source.name), code(content.contract.name)
            yield (
                f"**No test on record is one of campaign {name} by this contract.** `labkit gate --contract` {terms} "
                f"`--log` {code(content.log.name)} adds one."
            )


def _numbers(tests: Mapping[int, log.Test], clause: str, *, failed: bool) -> str:
    """Return the numbers of the tests that a clause passed or failed."""
    return ", ".join(str(number) for number, one in tests.items() if (clause in one.failed) is failed) or "none"


BLOCKS = {
    "acceptance-verdict": verdict,
    "clauses": clauses,
    "clause-evidence": evidence,
    "retests": retests,
    "contract": terms,
    "sign-off": sign_off,
}
