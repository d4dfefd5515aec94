"""A picture's file says where it comes from: each format is read back by another program than the one that wrote it."""

from __future__ import annotations

import io
import re
import struct
import zlib
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from pypdf import PdfReader, PdfWriter

from labkit import __version__, report
from labkit.apps.explorer import export
from labkit.apps.explorer.store import Store
from labkit.apps.explorer.view import View
from labkit.figures.provenance import Provenance

from .test_report import make_campaign

ABOUT = Provenance(
    campaign="two-cores",
    command="labkit report two-cores --style survey",
    caption="Latency of <mpi> & TCP, 3 µs\nin the median",
)
CAPTION = "Latency of <mpi> & TCP, 3 µs in the median"
DC, TERMS = "{http://purl.org/dc/elements/1.1/}", "{http://purl.org/dc/terms/}"
SHOWN = View(campaigns=("examples/two-cores",), benchmark="mpi.latency", metric="latency_us")


def of_svg(svg: str) -> dict[str, str]:
    """Description and metadata of an SVG picture, by an XML parser."""
    root = ET.fromstring(svg)
    space = root.tag.removesuffix("svg")
    terms = {one.tag: one.text or "" for one in root.find(f"{space}metadata").iter() if not len(one)}
    terms["desc"] = root.find(f"{space}desc").text or ""
    return terms


def of_png(png: bytes) -> dict[str, str]:
    """Texts of a PNG picture; every checksum must be right."""
    texts, at = {}, 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind, body = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + body), kind
        if kind == b"iTXt":
            keyword, rest = body.split(b"\0", 1)
            assert rest[:2] == b"\0\0", "not compressed"
            texts[keyword.decode("latin-1")] = rest[2:].split(b"\0", 2)[2].decode()
        at += 12 + length
    return texts


def test_svg_has_a_description_and_dublin_core() -> None:
    plain = '<svg xmlns="http://www.w3.org/2000/svg" width="9" aria-label="a > b"><path d="M0 0"></path></svg>'
    found = of_svg(ABOUT.in_svg(plain))
    assert found["desc"] == found[f"{DC}description"] == CAPTION
    assert found[f"{DC}source"] == "two-cores"
    assert found[f"{DC}creator"] == f"labkit {__version__}"
    assert found[f"{TERMS}provenance"] == ABOUT.command


def test_png_has_text_chunks_and_pdf_document_information() -> None:
    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    pixel = zlib.compress(b"\0\xff")
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in ((b"IHDR", header), (b"IDAT", pixel), (b"IEND", b""))
    )
    assert of_png(ABOUT.in_png(png)) == {
        "Description": CAPTION,
        "Source": "two-cores",
        "Software": f"labkit {__version__}",
        "Command": ABOUT.command,
    }
    with pytest.raises(ValueError, match="no PNG"):
        ABOUT.in_png(b"GIF89a")
    blank, made = PdfWriter(), io.BytesIO()
    blank.add_blank_page(9, 9)
    blank.write(made)
    once, twice = (ABOUT.in_pdf(made.getvalue()) for _ in range(2))
    assert once == twice, "no time stamp"
    facts = PdfReader(io.BytesIO(once)).metadata
    assert (facts.subject, facts.creator) == (CAPTION, f"labkit {__version__}")
    assert (facts["/Source"], facts["/Command"]) == ("two-cores", ABOUT.command)


@pytest.mark.slow
@pytest.mark.browser
def test_an_exported_figure_says_where_it_comes_from(tmp_path: Path) -> None:
    summary = Store().summary(SHOWN.campaigns, SHOWN.benchmark)
    svg, png, pdf = (export.write(SHOWN, summary, form, tmp_path / "exports") for form in ("svg", "png", "pdf"))
    (facts,) = {tuple(sorted(of_png(png.read_bytes()).items()))}
    told = dict(facts)
    assert told["Source"] == "two-cores"
    assert told["Command"] == "labkit explore examples/two-cores"
    assert "latency" in told["Description"].lower()
    assert of_svg(svg.read_text())["desc"] == told["Description"]
    read = PdfReader(pdf)
    assert len(read.pages) == 1
    assert read.metadata.subject == told["Description"]


@pytest.mark.browser
def test_figures_and_pdf_of_a_report_say_campaign_version_command_and_caption(tmp_path: Path) -> None:
    built = report.build([make_campaign(tmp_path / "c")], engine="plain", style="letter")
    pictures = sorted((built.html.parents[1] / "static").glob("*.svg")) + sorted(
        built.html.parent.glob("figures/*.svg")
    )
    assert pictures
    found = {file.name: of_svg(file.read_text()) for file in pictures}
    for name, terms in found.items():
        assert terms[f"{DC}source"] == "synthetic", name
        assert terms[f"{DC}creator"] == f"labkit {__version__}", name
        assert terms[f"{TERMS}provenance"] == "labkit report synthetic --style letter", name
    assert any(len(terms["desc"]) > 20 for terms in found.values())
    assert not any(re.search(r"[`\\]|\[@", terms["desc"]) for terms in found.values())
    about = PdfReader(built.pdf).metadata  # nothing in it is Markdown
    assert about.subject == f"Campaign synthetic; labkit {__version__}; labkit report synthetic --style letter"
