"""The report: a book over the executed notebooks of a campaign, as HTML and as PDF.

`build` stages copies in ``<campaign>/report/`` (other names: `labkit.store.derived.report`) and renders them with
Quarto, if that is installed, else with pandoc and typst alone. Both read the same sources. ``docs/report.md``
describes what a notebook may hold.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from labkit.errors import LaunchError, ReportError, SpecError
from labkit.io import extras, safe_read, scratch
from labkit.report.sources import Source, described, read
from labkit.store import derived
from labkit.store.campaign import Campaign

if TYPE_CHECKING:
    from labkit.judge.gate import Result

Engine = Literal["auto", "quarto", "plain"]
SUPPLEMENT = "supplement.pdf"  # beside the PDF of a style that has one


@dataclass(frozen=True)
class Built:
    """A finished report.

    Parameters
    ----------
    html : first page of the site.
    pdf : the whole book.
    engine : ``quarto`` or ``plain``.
    docx : the whole book for Word, if requested.
    supplement : PDF with the parts that the style leaves out.
    warnings : for its reader: failed notebooks, missing figures.
    """

    html: Path
    pdf: Path | None
    engine: str
    warnings: list[str] = field(default_factory=list)
    docx: Path | None = None
    supplement: Path | None = None

    def moved(self, made: Path, folder: Path) -> Built:
        """Return the same report in another folder."""
        files = (self.pdf, self.docx, self.supplement)
        pdf, docx, more = (one and folder / one.relative_to(made) for one in files)
        return replace(self, html=folder / self.html.relative_to(made), pdf=pdf, docx=docx, supplement=more)


def _silent(text: str) -> None:
    """Discard a message on progress."""


def build(
    campaigns: Sequence[Path],
    *,
    style: str = "report",
    engine: Engine = "auto",
    docx: bool = False,
    execute: bool | None = None,
    contract: Path | None = None,
    gate: Result | None = None,
    log: Path | None = None,
    allow: Sequence[str] = (),
    notebooks: Path | None = None,
    into: Path | None = None,
    title: str = "",
    progress: Callable[[str], None] = _silent,
    known: list[Source] | None = None,
) -> Built:
    """Make the report of one or more campaigns in the first one's `Campaign.derived`.

    The style ``report`` has the folder ``report/``, every other style ``report-STYLE/``. The names of further campaigns
    follow, as in ``report+B/``.

    The content of a campaign is data: labkit reads its executed notebooks, and never runs them. If there is no executed
    copy, it executes its own notebook of the same name on the samples, without measuring.

    Parameters
    ----------
    campaigns : their folders; the chapters follow in this order.
    style : a file of ``templates/report/styles``, or of ``report/styles`` in the user's project.
    engine : ``auto`` selects Quarto if it is installed and new enough, else the plain engine.
    docx : also make a Word document, which needs Quarto.
    execute : True executes labkit's own notebooks again; False executes none.
    contract : file of the acceptance contract for the style; the report shows only points that its clauses select.
    gate : verdicts of the gate on the campaign; the first page begins with them.
    log : file of the tests of the contract, as `labkit gate --log` writes it; the page to sign lists them.
    allow : factors that may differ between the campaigns that the style compares.
    notebooks : folder of notebooks for the chapters, instead of those of the campaigns.
    into : parent of the report's folder (default: the first campaign); the name then contains no campaign.
    title : title of the report (default: that of the campaigns or of the style).
    progress : called with short messages on the campaigns and the current step.
    known : the campaigns, if they were read already; an empty list is filled with them.

    Returns
    -------
    Paths of the results, and warnings for their reader.

    Raises
    ------
    ReportError
        If a notebook or the book cannot be rendered, or the requested Quarto is missing.
    DataError
        If a folder is not a campaign.
    LaunchError
        If the extra ``report`` is not installed.
    """
    extras.need("nbformat", "plotly", "pypandoc", "typst", "yaml")
    extras.import_notebooks()
    from labkit.report import build_cache, quarto  # nbformat, yaml, …: 1.6 s, and the extra may be missing
    from labkit.report.styles import required

    if not campaigns:
        raise ReportError("The campaign is missing. Name at least one campaign folder.")
    chosen, warnings = _engine(engine, quarto.usable(), docx)
    unique = {safe_read.resolved(path): Path(path) for path in reversed(campaigns)}
    if len(unique) < len(campaigns):
        warnings.append("A campaign is named twice. The report shows it once.")
        campaigns = [*unique.values()][::-1]
    chapters = required(style, [Path(path).name for path in campaigns], contract, allow, log)
    more: Path | None = None
    known = [] if known is None else known
    if chapters.settings.supplement:
        progress("making the supplement first")
        more = build(
            campaigns, style=chapters.settings.supplement, engine=engine, execute=execute, notebooks=notebooks,
            into=into, progress=progress, known=known,
        ).pdf  # fmt: skip
        execute = execute and None  # its notebooks were executed
    wanted = execute if execute or chapters.shows_notebooks else False
    for path in filter(_is_campaign, map(Path, campaigns if notebooks is None else ())):
        warnings += _executed(Campaign(path), wanted, progress)
    options = {"style": style, "allow": str(list(allow)), "title": title, "into": str(into), "execute": str(execute)}
    made_from = (
        "" if chosen == "quarto" or execute or contract or gate or notebooks else _fingerprint(campaigns, options)
    )
    name = derived.report(style, () if into else campaigns[1:])
    if made_from and (told := build_cache.kept(folder := _home(campaigns, into) / name, made_from)) is not None:
        progress("nothing has changed since this report was made")
        beside = folder / SUPPLEMENT if more else None
        return Built(folder / "html/index.html", folder / "report.pdf", chosen, warnings + told, supplement=beside)
    if not known:
        progress("reading samples")
        known += [read(Path(path), again=bool(execute)) for path in campaigns]
    sources = known
    if notebooks is not None:
        sources = [replace(one, folders=() if number else (notebooks,)) for number, one in enumerate(sources)]
    if contract is not None:
        sources = _judged(sources, contract)
    folder = _home(campaigns, into) / name
    given = {
        "style": style,
        "contract": contract,
        "gate": gate,
        "log": log,
        "allow": allow,
        "title": title,
        "docx": docx,
    }
    built, whole = _made(sources, folder, chosen, progress, given, more)
    if made_from and whole:
        build_cache.keep(folder, made_from, built.warnings)
    return replace(built, warnings=warnings + built.warnings)


def _made(
    sources: Sequence[Source],
    folder: Path,
    engine: str,
    progress: Callable[[str], None],
    given: dict[str, Any],
    supplement: Path | None,
) -> tuple[Built, bool]:
    """Make a report in a temporary folder, and put it in its place; return also whether all figures could be drawn.

    Parameters
    ----------
    given : further options of `labkit.report.stage.stage`.
    supplement : a PDF that is copied beside that of the book.
    """
    from labkit.report import place, plain, quarto  # as in `build`
    from labkit.report.check import check
    from labkit.report.stage import TEMPLATES, stage

    place.refuse(folder)
    with scratch.folder("labkit-report-") as temporary:
        made = temporary / folder.name
        progress("preparing the chapters")
        book, warnings = stage(sources, engine=engine, folder=made, **given)
        try:
            check(book)
            progress(f"rendering with {'Quarto' if engine == 'quarto' else 'pandoc and typst'}")
            html, pdf, more = quarto.render(book) if engine == "quarto" else (*plain.render(book, TEMPLATES), [])
        except ReportError as error:  # its message names files of the report
            place.publish(made, folder.parent, folder.name)
            raise ReportError(str(error).replace(str(made), str(folder))) from error
        docx = quarto.document(book)
        beside = Path(shutil.copy(supplement, made / SUPPLEMENT)) if supplement else None
        if beside:  # pages link to files of their own folder only
            shutil.copy(beside, html.parent)
        place.publish(made, folder.parent, folder.name)
    built = Built(html, pdf, engine, warnings + more, docx, beside)
    from labkit.figures import static  # 0.1 s with what it imports, which reading a campaign does without

    drawn = book.drawn or not static.browser_identity()  # the browser may draw the rest next time
    return built.moved(made, folder), drawn


def _judged(sources: Sequence[Source], file: Path) -> list[Source]:
    """Return campaigns with the points that a contract judges."""
    from labkit.judge import contract  # as in `build`

    clauses = contract.load(file)
    return [one.of_points(contract.selected(clauses, one.summary)) for one in sources]


def _home(campaigns: Sequence[Path], into: Path | None) -> Path:
    """Return the folder in which labkit puts the report."""
    return into or Campaign(Path(campaigns[0])).derived


def _is_campaign(path: Path) -> bool:
    return (path / "campaign.json").is_file()


def _fingerprint(campaigns: Sequence[Path], options: dict[str, str]) -> str:
    """Return the fingerprint of what the report is made from; empty if a folder is not a campaign."""
    from labkit.report import build_cache  # as in `build`

    paths = [Path(path) for path in campaigns]
    return build_cache.fingerprint(paths, options) if all(map(_is_campaign, paths)) else ""


def _executed(campaign: Campaign, execute: bool | None, progress: Callable[[str], None]) -> list[str]:
    """Say what a campaign holds, execute labkit's own notebooks on it, and return warnings."""
    from labkit.suites import rereading  # as in `_made`

    try:
        entries = rereading.missing(campaign, all_of_them=bool(execute)) if execute is not False else []
    except SpecError as error:
        progress(described(campaign, ()))
        return [f"labkit ran no notebook: {error}"]
    progress(described(campaign, [entry.name for entry in entries]))
    try:
        if entries:
            rereading.reread(campaign, progress, again=bool(execute))
    except LaunchError as error:
        return [f"labkit omits notebooks that are not there yet: {error}"]
    return []


def _engine(wanted: str, obstacle: str, docx: bool) -> tuple[str, list[str]]:
    """Return the engine to use, and a warning where an installed Quarto cannot be used."""
    if wanted not in ("auto", "quarto", "plain"):
        raise ReportError(f"engine={wanted!r}, but it must be auto, quarto or plain.")
    if docx and (wanted == "plain" or obstacle):
        why = "--engine is plain" if wanted == "plain" else obstacle
        raise ReportError(f"--docx needs Quarto, but {why}. Leave out --docx.")
    if wanted == "quarto" and obstacle:
        raise ReportError(f"--engine quarto, but {obstacle}.")
    if wanted == "auto" and "but" in obstacle:
        return "plain", [f"labkit did not use Quarto: {obstacle}."]
    return "plain" if wanted == "plain" or obstacle else "quarto", []
