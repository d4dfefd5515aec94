"""The verdicts of an acceptance contract: clauses, evidence, re-tests, and a page to sign."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from labkit import __version__
from labkit.io import safe_read
from labkit.judge import contract, sentences
from labkit.judge import retests as log
from labkit.judge.coverage import Coverage
from labkit.judge.finding import Finding
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


def judged(content: Content, source: Source) -> list[Finding]:
    """Return the verdicts of the contract on a campaign."""
    name = f"verdicts on {source.path}"
    if name not in content.made:
        clauses = contract.load(content.contract) if content.contract else []
        content.made[name] = contract.judge(clauses, source.summary, Campaign(source.path).samples)
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
        failed = [one for one in verdicts if one.level != "good"]
        word = "accepted" if not failed else "not accepted"
        text = f"{escape(title(content))}: campaign **{escape(source.name)}** is **{word}**. "
        text += f"Fulfilled: {len(verdicts) - len(failed)} of {plural(len(verdicts), 'clause')}"
        names = ", ".join(escape(one.subject.setting) + _missing(one) for one in failed)
        parts.append(f"{text}; not fulfilled: {names}." if failed else f"{text}.")
    return "\n\n".join(parts)


def _missing(one: Finding) -> str:
    """Return how many of the demanded hosts or pairs were not measured, in parentheses; empty if all were."""
    covered = one.values.get("coverage")
    return f" ({covered:brief})" if isinstance(covered, Coverage) and not covered.whole else ""


def clauses(content: Content) -> str:
    """Return a table with a row for each clause."""
    rows = [
        (
            source,
            [
                "**pass**" if one.level == "good" else "**fail**",
                escape(one.subject.setting),
                escape(one.values["requires"]),
                f"{one.count('fulfilled')} of {one.count('points')}",
                format_share(one.count("fulfilled") / one.count("points")) if one.count("points") else "–",
                f"{one.values['coverage']:count}" if "coverage" in one.values else "–",
            ],
        )
        for source in content.sources
        for one in judged(content, source)
    ]
    head = ["verdict", "clause", "requires", "points that fulfil it", "share", "measured"]
    if not any("coverage" in one.values for source in content.sources for one in judged(content, source)):
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
            word = "pass" if one.level == "good" else "**fail**"
            items.append(f"{name}{escape(one.subject.setting)}: {word}, {escape(sentences.sentence(one))}.")
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
        passed = sum(one.level == "good" for one in verdicts)
        digest = hashlib.sha256(checksums(source).encode()).hexdigest()
        rows += [
            ("campaign", escape(source.name)),
            ("verdict", "accepted" if passed == len(verdicts) else "not accepted"),
            ("clauses fulfilled", f"{passed} of {len(verdicts)}"),
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
