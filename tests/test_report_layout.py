"""Pages of the reports of the two example campaigns: how many, how full, tables that are whole, and legible notes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from labkit import project, report

FULL = 0.5  # of a page, at least; the last page may be emptier
POINTS = 8.0  # of a note, at least
MOST = {"two-cores": 60, "virtual-cluster": 40}  # pages
FIGURE = 17.0 / 2.54 * 72 / 720  # pt a pixel of a figure takes: 720 px on the width of the text


class Page:
    """Text of a page with its places.

    Parameters
    ----------
    lines : height above the foot of the page in pt → text, from the top.
    height : of the page, pt.
    """

    def __init__(self, page: Any) -> None:
        self.height = float(page.mediabox.height)
        self.lines: dict[int, str] = {}

        def see(text: str, matrix: list[float], place: list[float], *_: Any) -> None:
            if text.strip():
                up = round(matrix[1] * place[4] + matrix[3] * place[5] + matrix[5])
                self.lines[up] = self.lines.get(up, "") + text

        page.extract_text(visitor_text=see)

    @property
    def filled(self) -> float:
        """Share of the height of the text between the first line and the last."""
        top, foot = self.height - 2.0 / 2.54 * 72, 1.7 / 2.54 * 72
        body = [up for up in self.lines if foot <= up <= top]
        return (top - min(body)) / (top - foot) if body else 0.0


@pytest.fixture(scope="module", params=list(MOST))
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, report.Built]:
    name = str(request.param)
    folder = tmp_path_factory.mktemp("campaigns") / name
    shutil.copytree(project.CAMPAIGNS / "examples" / name, folder)
    return name, report.build([folder], engine="plain")


@pytest.fixture(scope="module")
def pages(built: tuple[str, report.Built]) -> list[Page]:
    import pypdf

    return [Page(page) for page in pypdf.PdfReader(str(built[1].pdf)).pages]


@pytest.mark.slow
@pytest.mark.browser
def test_a_report_has_few_pages_and_full_ones(built: tuple[str, report.Built], pages: list[Page]) -> None:
    assert len(pages) <= MOST[built[0]]
    empty = {number: round(page.filled, 2) for number, page in enumerate(pages[:-1], 1) if page.filled < FULL}
    assert not empty


@pytest.mark.slow
@pytest.mark.browser
def test_notes_of_figures_are_legible(built: tuple[str, report.Built]) -> None:
    pictures = sorted((built[1].html.parent.parent / "figures").glob("*.svg"))
    assert pictures
    for picture in pictures:
        text = picture.read_text()
        width = float(re.search(r'<svg[^>]* width="([\d.]+)', text)[1])  # type: ignore[index]
        notes = [float(size) for size in re.findall(r"<tspan[^>]*font-size: ?([\d.]+)px", text)]
        assert all(size * min(FIGURE * 720 / width, 0.75) >= POINTS - 0.05 for size in notes), picture.name


@pytest.mark.slow
@pytest.mark.browser
def test_every_figure_has_a_description_in_the_pdf_and_commands_can_be_copied(
    built: tuple[str, report.Built], pages: list[Page]
) -> None:
    source = (Path(str(built[1].pdf)).parent / "report.typ").read_text()
    shown = re.findall(r'image\("figures/[^"]*"(.*)', source)
    assert shown
    assert all(re.match(r', alt: "[^"]{10,}', after) for after in shown)
    text = "\n".join(line for page in pages for line in page.lines.values())
    assert "labkit run" in text
    assert not re.search(r"labkit \w+ [^\n]*\s–[a-z]", text)  # two dashes stay two
