"""The whole way from a campaign to its report, by the plain engine.

The campaign is synthetic: made here, of numbers that follow a formula, and marked as such in its host and badges.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from labkit import report
from labkit.errors import DataError, ReportError
from labkit.figures import parts
from labkit.io import project
from labkit.point.notes import note
from labkit.point.spec import Effort, Spec
from labkit.read import records
from labkit.report import figures, painting, quarto
from labkit.report.sources import read
from labkit.report.variables import key_numbers, variables
from labkit.store import samples
from labkit.store.campaign import Campaign
from labkit.store.samples import Samples

from . import made

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="720" height="400" viewBox="0 0 720 400">'
    '<rect width="720" height="400" fill="#fff"/>'
    '<path d="M60 340 L680 60" stroke="#0072b2" fill="none"/>'
    '<text x="300" y="385" font-family="Liberation Sans" font-size="13">'
    "size (B)</text></svg>"
)
HOST = {
    "name": "synthetic-1",
    "cpu_model": "made up CPU @ 2.0 GHz | x_y",
    "cpu_cores": 2,
    "kernel": "6.1",
    "nic": {"eth0": {"rate": "10 Gb/s"}},
}


def point(benchmark: str, size: int, transport: str, launch: int) -> Samples:
    rng = np.random.default_rng([size, launch, len(transport)])
    base = 2000 + size / 4 + (1500 if transport == "tcp" else 0)
    time_ns = base * rng.gamma(50, 1 / 50, 400)
    options = {"timing": "each", "hugepages": False} if benchmark == "mpi.latency" else {}
    spec = Spec(benchmark=benchmark, size=size, transport=transport, options=options)
    meta = {
        "engine": "c",
        "library": "Open MPI 4.1.4",
        "verified": True,
        "stopped_by": "ci",
        "timer_overhead_ns": 40.0,
        "elapsed": 0.5,
        "badges": ["synthetic"],
        "command": ["mpirun", "-n", "2", "PLAN"],
        "start": "2026-11-20T10:00:00+00:00",
        "timing": "each",
        "cadence": "streaming",
        "fingerprint": spec.fingerprint({}),
    }
    return made.samples(spec, time_ns, launch=launch, effort=Effort(launches=6), host=HOST, meta=meta)


def plot(name: str, *, svg: bool = True) -> Any:
    spec = {
        "data": [{"type": "scatter", "name": name, "x": [1, 2, 4], "y": [0.1, 0.2, 0.3]}],
        "layout": {"height": 320, "title": {"text": "</script>"}},
    }
    data = {figures.PLOTLY: spec, "text/plain": "Figure"} | ({figures.SVG: SVG} if svg else {})
    return new_output("display_data", data=data)


def figure(label: str, caption: str, **kind: bool) -> Any:
    return new_code_cell(
        f'#| label: {label}\n#| fig-cap: "{caption}"\nshow({label[4:]!r})', outputs=[plot(label, **kind)]
    )


def first_notebook() -> Any:
    long = "| size (B) | latency (µs) |\n|---:|---:|\n" + "\n".join(f"| {2**i} | {i / 7:.3f} |" for i in range(90))
    return new_notebook(
        cells=[
            new_markdown_cell(
                "# Latency {#sec-latency}\n\nHow long does a message take[^n]? "
                "Later: @fig-bandwidth and @eq-model.\n\n[^n]: A note."
            ),
            new_code_cell("size = 1", metadata={"tags": ["parameters"]}),
            new_code_cell("size = 4", metadata={"tags": ["injected-parameters"]}),
            new_markdown_cell(
                "## Sweep {#sec-sweep}\n\nSee @fig-latency [and @fig-tail].\n\n"
                "$$ t = t_0 + m / B $$ {#eq-model}\n\nThe model is by @hockney1994."
            ),
            figure("fig-latency", "Latency against size; compare @fig-bandwidth."),
            figure("fig-tail", "The tail.", svg=False),
            new_code_cell(
                '#| label: tbl-long\n#| tbl-cap: "Latency at all sizes."\ntable()',
                outputs=[new_output("display_data", data={"text/markdown": long, "text/plain": "t"})],
            ),
            new_code_cell(
                "say()",
                outputs=[
                    new_output("display_data", data={"text/markdown": "**Finding.** See @tbl-long."}),
                    new_output(
                        "display_data",
                        data=parts.bundle(parts.Warned((note("warning", "load average 13 on 2 cores"),))),
                    ),
                    new_output("stream", name="stderr", text="what a program prints\n"),
                ],
            ),
        ]
    )


def second_notebook() -> Any:
    error = new_output(
        "error",
        ename="SpecError",
        evalue="ranks=3, but it needs 2",
        traceback=["\x1b[31mTraceback\x1b[0m", "SpecError: ranks=3"],
    )
    return new_notebook(
        cells=[
            new_markdown_cell(
                "<span>An Exception was encountered at In [3]</span>", metadata={"tags": ["papermill-error-cell-tag"]}
            ),
            new_markdown_cell("# Bandwidth {#sec-bandwidth}\n\nAs in @sec-latency; a note[^n].\n\n[^n]: Another note."),
            figure("fig-bandwidth", "Bandwidth against size."),
            figure("fig-pairs", "Pairs."),
            new_code_cell('#| label: fig-broken\n#| fig-cap: "Never drawn."\nrun()', outputs=[error]),
            new_code_cell('#| label: tbl-after\n#| tbl-cap: "Never computed."\ntable()'),
            new_markdown_cell(':::: {.callout-tip title="Reading"}\n@fig-broken and @tbl-after would follow.\n::::'),
        ]
    )


def make_campaign(folder: Path) -> Path:
    for transport in ("shm", "tcp"):
        for size in (8, 65536):
            for launch in range(6 if transport == "shm" else 3):
                one = point("mpi.latency", size, transport, launch)
                samples.save(one, folder / "samples" / "mpi.latency" / f"{one.meta['fingerprint']}-{launch}.parquet")
    facts = {
        "format": 1,
        "id": str(uuid.uuid4()),
        "name": "synthetic",
        "suite": "quick",
        "created": "2026-11-20T10:00:00+00:00",
        "labkit": "0.1.0",
        "host": HOST,
    }
    (folder / "campaign.json").write_text(json.dumps(facts))
    Campaign(folder).tell("failed", what="mpi.latency 1 GiB, 2 ranks launch 0", reason="no memory left")
    (folder / "notebooks").mkdir()
    nbformat.write(first_notebook(), folder / "notebooks" / "10-latency.ipynb")
    nbformat.write(second_notebook(), folder / "notebooks" / "20-bandwidth.ipynb")
    return folder


def digest(folder: Path) -> dict[str, str]:
    files = [p for p in sorted(folder.rglob("*")) if p.is_file()]
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_campaign(tmp_path_factory.mktemp("campaigns") / "synthetic")


@pytest.fixture(scope="module", autouse=True)
def undrawable() -> Iterator[None]:
    """The browser draws every figure but one."""
    drawn = painting.svgs

    def some(specs: Sequence[Any]) -> list[str | None]:
        names = [one["data"][0].get("name") for one in specs]
        return [None if name == "fig-tail" else svg for name, svg in zip(names, drawn(specs), strict=True)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(painting, "svgs", some)
        yield


@pytest.fixture(scope="module")
def built(campaign: Path) -> report.Built:
    return report.build([campaign], engine="plain")


@pytest.fixture(scope="module")
def pdf(built: report.Built) -> str:
    return text_of(built)


def text_of(built: report.Built) -> str:
    """Text of the PDF, as it reads."""
    import pypdf

    assert built.pdf is not None
    return "\n".join(page.extract_text() for page in pypdf.PdfReader(built.pdf).pages)


def described(built: report.Built) -> list[Any]:
    """The elements of the PDF that readers of screens hear."""
    import pypdf

    found: list[Any] = []
    todo = [pypdf.PdfReader(str(built.pdf)).trailer["/Root"]["/StructTreeRoot"]]  # type: ignore[index]
    while todo:
        one = todo.pop().get_object()
        if isinstance(one, list):
            todo += [kid for kid in reversed(one) if not isinstance(kid, int)]
        elif isinstance(one, dict):
            found += [one] if "/S" in one else []
            todo += [one["/K"]] if "/K" in one and not isinstance(one["/K"], int) else []
    return found


class Page(HTMLParser):
    """Links, identifiers, loaded files and text of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.loaded: list[str] = []
        self.parts: list[str] = []
        self._skip = 0
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self._skip += tag in ("script", "style")
        if values.get("id"):
            self.ids.append(str(values["id"]))
        if tag == "a" and values.get("href"):
            self.links.append(str(values["href"]))
        self.loaded += [str(values[key]) for key in ("src",) if values.get(key)]
        if tag == "link":
            self.loaded.append(str(values["href"]))

    def handle_endtag(self, tag: str) -> None:
        self._skip -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._skip:
            self.parts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.parts).split())


def pages(built: report.Built) -> dict[str, Page]:
    return {path.name: Page(path) for path in sorted(built.html.parent.glob("*.html"))}


def test_a_page_for_each_chapter_and_a_pdf(built: report.Built, campaign: Path) -> None:
    assert built.engine == "plain"
    assert built.html == campaign / "report" / "html" / "index.html"
    assert built.pdf == campaign / "report" / "report.pdf"
    assert set(pages(built)) == {
        "index.html",
        "10-latency.html",
        "20-bandwidth.html",
        "methods.html",
        "references.html",
        "artifact.html",
    }


@pytest.mark.slow
def test_the_campaign_itself_is_not_touched(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "c")
    before = digest(folder)
    report.build([folder], engine="plain")
    beside = ("report/", "records/")  # records are derived from samples, and may be deleted
    after = {name: value for name, value in digest(folder).items() if not name.startswith(beside)}
    assert after == {name: value for name, value in before.items() if not name.startswith(beside)}


@pytest.mark.slow
def test_same_input_same_bytes(campaign: Path, built: report.Built, tmp_path: Path) -> None:
    folder = tmp_path / "synthetic"
    shutil.copytree(campaign, folder)
    again = report.build([folder], engine="plain")
    assert digest(again.html.parent) == digest(built.html.parent)
    assert again.pdf is not None
    assert built.pdf is not None
    assert again.pdf.read_bytes() == built.pdf.read_bytes()


def test_every_link_leads_somewhere(built: report.Built) -> None:
    by_name = pages(built)
    checked = 0
    for name, page in by_name.items():
        for link in page.links:
            if link.startswith(("http://", "https://")):
                assert name == "references.html", link  # an address of the bibliography
                continue
            file, _, label = link.partition("#")
            target = file or name
            assert (built.html.parent / target).is_file(), f"{name}: {link}"
            if label:
                assert label in by_name[target].ids, f"{name}: {link}"
            checked += 1
    assert checked > 60


def test_no_identifier_twice_on_a_page(built: report.Built) -> None:
    for name, page in pages(built).items():
        assert len(page.ids) == len(set(page.ids)), name


def test_nothing_is_loaded_from_elsewhere(built: report.Built) -> None:
    for page in pages(built).values():
        for file in page.loaded:
            assert file.startswith("data:") or (built.html.parent / file).is_file(), file
    style = "".join(path.read_text() for path in (built.html.parent / "assets").glob("*.css"))
    assert "http" not in style
    assert "@import" not in style


def test_one_plotly_and_ten_megabytes_at_most(built: report.Built) -> None:
    site = built.html.parent
    assert len(list(site.rglob("plotly*.js"))) == 1
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) < 10e6


def test_numbers_of_figures_tables_equations_and_chapters(built: report.Built) -> None:
    by_name = pages(built)
    for page, label, text in [
        ("10-latency.html", "fig-latency", "Figure 1.1: Latency against size"),
        ("10-latency.html", "fig-tail", "Figure 1.2: The tail."),
        ("10-latency.html", "tbl-long", "Table 1.1: Latency at all sizes."),
        ("20-bandwidth.html", "fig-bandwidth", "Figure 2.1: Bandwidth against size."),
        ("20-bandwidth.html", "fig-broken", "Figure 2.3: Never drawn."),
        ("20-bandwidth.html", "tbl-after", "Table 2.1: Never computed."),
        ("index.html", "tbl-key", "Table 3: Key numbers"),
        ("artifact.html", "tbl-versions", "Table A.1: Campaign and software."),
        ("methods.html", "eq-rank", "(3.2)"),
    ]:
        assert label in by_name[page].ids
        assert text in by_name[page].text.replace("\xa0", " ")


def test_references_are_numbered_links(built: report.Built) -> None:
    text = (built.html.parent / "10-latency.html").read_text()
    assert re.search(r'<a\s+href="20-bandwidth.html#fig-bandwidth"[^>]*>Figure\s2.1</a>', text)
    assert re.search(r'<a\s+href="#eq-model"[^>]*>Equation\s1.1</a>', text)
    assert re.search(
        r'<a\s+href="10-latency.html#sec-latency"[^>]*>Chapter\s1</a>', (built.html.parent / "index.html").read_text()
    )
    assert re.search(
        r'<a\s+href="artifact.html#sec-artifact"[^>]*>Appendix\sA</a>', (built.html.parent / "index.html").read_text()
    )


def test_captions_have_the_same_numbers_in_html_and_pdf(built: report.Built, pdf: str) -> None:
    caption = re.compile(r"(Figure|Table)\s([A-Z\d.]*\d):\s+(\w+)")
    order = ["index.html", "10-latency.html", "20-bandwidth.html", "methods.html", "references.html", "artifact.html"]
    html = [match for name in order for match in caption.findall(pages(built)[name].text)]
    assert len(html) >= 14
    assert sorted(caption.findall(pdf)) == sorted(html), "figures float in the PDF"


def test_key_numbers_are_equal_in_records_html_pdf_and_json(built: report.Built, campaign: Path, pdf: str) -> None:
    summary = records.summary(
        records.table(samples.load(p) for p in sorted((campaign / "samples").glob("*/*.parquet")))
    )
    numbers = json.loads((campaign / "report" / "key-numbers.json").read_text())
    assert len(numbers) == 4
    front = pages(built)["index.html"].text
    for one in numbers:
        row = summary[(summary["message_size_B"] == one["size"]) & (summary["transport"] == one["transport"])].iloc[0]
        assert one["value"] == row["latency_us_p50"]
        assert (one["low"], one["high"]) == (row["latency_us_low"], row["latency_us_high"])
        assert f"{one['text']} µs" in front
        assert f"{one['text']} µs" in " ".join(pdf.split())
        assert one["range"] in front


def test_tables_keep_their_rows(built: report.Built, pdf: str) -> None:
    front = (built.html.parent / "index.html").read_text()
    table = front[front.index('id="tbl-key"') :]
    assert table[: table.index("</table>")].count("<tr") == 1 + 4
    latency = (built.html.parent / "10-latency.html").read_text()
    table = latency[latency.index('id="tbl-long"') :]
    assert table[: table.index("</table>")].count("<tr") == 1 + 90
    assert pdf.count(str(2**77)) == 1


def test_intervals_say_what_they_are(built: report.Built) -> None:
    front = pages(built)["index.html"].text
    assert "Brackets are 95 % intervals with 6 launches or more, else ranges" in front.replace("\xa0", " ")
    rows = {
        (row["interval"], row["launches"])
        for row in json.loads((built.html.parents[1] / "key-numbers.json").read_text())
    }
    assert {("95 % interval of 6 launches", 6), ("range of 3 launches", 3)} <= rows


def test_a_failed_notebook_is_shown_and_told(built: report.Built, pdf: str) -> None:
    page = pages(built)["20-bandwidth.html"].text
    for text in (page, " ".join(pdf.split())):
        assert "This notebook failed" in text
        assert "SpecError: ranks=3, but it needs 2" in text
        assert "An Exception was encountered" not in text
    assert "\x1b" not in page
    assert any("20-bandwidth.ipynb failed: cell 4: SpecError" in text for text in built.warnings)
    assert "stopped at cell 4" in pages(built)["index.html"].text


def test_missing_svg_is_a_note_in_the_pdf_and_a_plot_in_html(built: report.Built, pdf: str, campaign: Path) -> None:
    assert pdf.count("Interactive figure: see the HTML report") == 1
    assert (built.html.parent / "10-latency.html").read_text().count('class="plot"') == 2
    assert "In the PDF, 1 figure is replaced by a note." in built.warnings


def test_what_chromium_could_not_draw_is_one_sentence_with_the_command() -> None:
    reason = "Chromium is missing: install it with 'make setup'"
    assert painting.warning(12, 6, reason) == [
        "In the PDF, 12 figures are replaced by a note and 6 figures may have other colours than in the HTML report, "
        "because Chromium is missing: install it with 'make setup', then run labkit report again."
    ]
    assert painting.warning(0, 1, "Chromium failed: no memory") == [
        "In the PDF, 1 figure may have other colours than in the HTML report, because Chromium failed: no memory."
    ]
    assert painting.warning(0, 0, reason) == []


def test_warnings_badges_and_failures_stand_in_front(built: report.Built) -> None:
    page = pages(built)["index.html"].text
    assert "18 of 18 – synthetic." in pages(built)["methods.html"].text
    assert "1 point skipped or failed" in page
    assert "no memory left" in pages(built)["artifact.html"].text
    assert "10-latency.ipynb: load average 13 on 2 cores" in built.warnings


def test_text_of_the_host_is_literal(built: report.Built, pdf: str) -> None:
    assert "made up CPU @ 2.0 GHz | x_y" in pages(built)["index.html"].text
    assert "made up CPU @ 2.0 GHz | x_y" in " ".join(pdf.split())


def test_parameters_are_not_shown_but_recorded(built: report.Built) -> None:
    chapter, appendix = (pages(built)[name].text for name in ("10-latency.html", "artifact.html"))
    assert "show('latency')" in chapter, "the code of a cell is shown"
    assert not re.search(r"size = \d", chapter)
    assert re.findall(r"size = \d", appendix) == ["size = 4"], "what was injected, not the default"


def test_notes_of_two_chapters_keep_apart(built: report.Built, pdf: str) -> None:
    first, second = (pages(built)[name].text for name in ("10-latency.html", "20-bandwidth.html"))
    assert (first.count("A note."), first.count("Another note.")) == (1, 0)
    assert (second.count("A note."), second.count("Another note.")) == (0, 1)
    assert (pdf.count("A note."), pdf.count("Another note.")) == (1, 1)


def test_bibliography_holds_what_is_cited(built: report.Built, pdf: str) -> None:
    text = pages(built)["references.html"].text
    for name in ("Hockney", "Hoefler", "Hunold", "Le Boudec"):
        assert name in text
        assert name in pdf
    assert "Alexandrov" not in text


def test_checksums_hold(built: report.Built, campaign: Path) -> None:
    listed = (built.html.parent / "data" / "checksums.txt").read_text().splitlines()
    assert len(listed) == 18
    for line in listed:
        value, _, name = line.partition("  ")
        assert hashlib.sha256((campaign / name).read_bytes()).hexdigest() == value


def test_data_of_a_figure_can_be_had(built: report.Built) -> None:
    assert "data/fig-latency.csv" in pages(built)["10-latency.html"].links
    assert (
        built.html.parent / "data" / "fig-latency.csv"
    ).read_text() == "series,x,y\nfig-latency,1,0.1\nfig-latency,2,0.2\nfig-latency,4,0.3\n"


def test_long_table_breaks_and_repeats_its_head(built: report.Built) -> None:
    import pypdf

    assert built.pdf is not None
    texts = [page.extract_text() for page in pypdf.PdfReader(built.pdf).pages]
    flat = [" ".join(text.split()) for text in texts]
    first, last = (
        next(i for i, text in enumerate(flat) if f" {row} " in text) for row in ("8 0.429", f"{2**77} 11.000")
    )
    assert last > first, "it is longer than a page"
    for i in range(first, last + 1):
        assert flat[i].count("size (B) latency (µs)") == 1, f"page {i + 1}"


def test_colophon_names_the_engine(built: report.Built) -> None:
    assert "with the plain engine in the style report" in pages(built)["artifact.html"].text


def test_pdf_has_no_time_stamp(built: report.Built) -> None:
    import pypdf

    reader = pypdf.PdfReader(built.pdf)
    assert reader.metadata is not None
    assert reader.metadata.title
    assert (reader.metadata.creation_date, reader.metadata.modification_date) == (None, None)
    assert reader.xmp_metadata is None or reader.xmp_metadata.xmp_create_date is None


@pytest.mark.slow
def test_two_campaigns_share_a_report(tmp_path: Path) -> None:
    first, second = make_campaign(tmp_path / "a"), make_campaign(tmp_path / "b")
    facts = json.loads((second / "campaign.json").read_text()) | {"name": "other"}
    (second / "campaign.json").write_text(json.dumps(facts))
    by_name = pages(built := report.build([first, second], engine="plain"))
    assert "Figure 3.1: Latency against size" in by_name["10-latency-c2.html"].text.replace("\xa0", " ")
    assert "data/fig-latency-c2.csv" in by_name["10-latency-c2.html"].links
    assert "20-bandwidth-c2.html#fig-bandwidth-c2" in by_name["10-latency-c2.html"].links
    assert "Latency (other)" in by_name["10-latency-c2.html"].text
    assert "other" in by_name["index.html"].text
    assert (built.html.parent / "data" / "2-checksums.txt").is_file()


@pytest.mark.slow
def test_a_campaign_that_is_named_twice_is_shown_once(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "a")
    built = report.build([folder, tmp_path / "b" / ".." / "a"], engine="plain")
    assert "A campaign is named twice. The report shows it once." in built.warnings
    assert [name for name in pages(built) if "-c2" in name] == []


@pytest.mark.slow
def test_words_in_the_place_of_a_table_keep_its_number(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "c")
    notebook = first_notebook()
    words = new_output("display_data", data={"text/markdown": "*Nothing to measure.*"})
    cell = new_code_cell('#| label: tbl-words\n#| tbl-cap: "Of nothing."\ntable()', outputs=[words])
    notebook.cells += [cell, new_markdown_cell("As @tbl-words shows; [-@tbl-words] alone.")]
    nbformat.write(notebook, folder / "notebooks" / "10-latency.ipynb")
    made = report.build([folder], engine="plain")
    for text in (pages(made)["10-latency.html"].text, text_of(made)):
        flat = " ".join(text.replace("\xa0", " ").split())
        for wanted in ("Nothing to measure.", "Table 1.2: Of nothing.", "As Table 1.2 shows; 1.2 alone."):
            assert wanted in flat


@pytest.mark.slow
def test_a_sweep_shows_a_notebook_twice(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "a")
    for name in ("15-latency-tcp", "16-latency-shm"):
        nbformat.write(first_notebook(), folder / "notebooks" / f"{name}.ipynb")
    by_name = pages(report.build([folder], engine="plain"))
    for page, number in (("15-latency-tcp", 2), ("16-latency-shm", 3)):
        text = by_name[f"{page}.html"].text.replace("\xa0", " ")
        assert f"Figure {number}.1: Latency against size" in text
        assert f"Latency ({page})" in text
        assert f"#fig-latency-{number}" in by_name[f"{page}.html"].links


@pytest.mark.slow
def test_order_of_the_suite_and_errors_that_no_cell_tells(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "a")
    entries = [{"name": "20-bandwidth", "error": ""}, {"name": "10-latency", "error": "DeadKernelError: Kernel died"}]
    entries.append({"name": "30-gone", "error": "NoSuchKernel: python3"})
    facts = json.loads((folder / "campaign.json").read_text()) | {"notebooks": entries}
    (folder / "campaign.json").write_text(json.dumps(facts))
    made = report.build([folder], engine="plain")
    by_name = pages(made)
    assert "1 Bandwidth" in by_name["20-bandwidth.html"].text
    assert "It stopped at DeadKernelError: Kernel died" in by_name["10-latency.html"].text
    assert "NoSuchKernel: python3" in by_name["artifact.html"].text
    assert any("10-latency.ipynb failed: DeadKernelError" in text for text in made.warnings)


@pytest.mark.slow
def test_letter_style_changes_the_paper_and_has_its_own_folder(
    built: report.Built, campaign: Path, tmp_path: Path
) -> None:
    import pypdf

    folder = tmp_path / "synthetic"
    shutil.copytree(campaign, folder)
    before = {path: path.stat().st_mtime_ns for path in (folder / "report").rglob("*")}
    made = report.build([folder], engine="plain", style="letter")
    assert made.pdf is not None
    assert made.html.is_relative_to(folder / "report-letter")
    assert before, "the report in the first style is not there"
    assert before == {path: path.stat().st_mtime_ns for path in (folder / "report").rglob("*")}
    assert round(float(pypdf.PdfReader(made.pdf).pages[0].mediabox.height)) == 792
    assert "with the plain engine in the style letter" in pages(made)["artifact.html"].text


def test_unknown_style_and_engine_and_no_campaign(campaign: Path, tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"There is no style 'bold'\. There are: .*letter, .*report.*survey"):
        report.build([campaign], style="bold", engine="plain")
    with pytest.raises(ReportError, match="must be auto, quarto or plain"):
        report.build([campaign], engine="word")  # type: ignore[arg-type]
    with pytest.raises(ReportError, match="Name at least one campaign"):
        report.build([])
    with pytest.raises(DataError, match="is not a campaign"):
        report.build([tmp_path], engine="plain")


def test_files_in_the_place_of_a_report_are_kept(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "c")
    (folder / "report").mkdir()
    (folder / "report" / "thesis.txt").write_text("mine")
    with pytest.raises(ReportError, match="not a labkit report"):
        report.build([folder], engine="plain")
    assert (folder / "report" / "thesis.txt").read_text() == "mine"


@pytest.mark.slow
def test_a_campaign_without_samples_and_notebooks(tmp_path: Path) -> None:
    (tmp_path / "campaign.json").write_text(
        json.dumps({"format": 1, "id": str(uuid.uuid4()), "name": "empty", "created": "2026-11-20"})
    )
    made = report.build([tmp_path], engine="plain")
    assert "This campaign has no samples yet" in pages(made)["index.html"].text


def test_a_wrong_reference_stops_before_rendering(tmp_path: Path) -> None:
    folder = make_campaign(tmp_path / "c")
    notebook = first_notebook()
    notebook.cells[3].source += "\n\nSee @fig-latencies."
    nbformat.write(notebook, folder / "notebooks" / "10-latency.ipynb")
    with pytest.raises(
        ReportError, match=r"10-latency.ipynb, cell 4, line 9: @fig-latencies points nowhere.*fig-latency"
    ):
        report.build([folder], engine="plain")


def test_variables_follow_from_the_records(campaign: Path) -> None:
    values = variables(campaign)
    assert values["counts"] == {
        "points": "4 points",
        "launches": "18 launches",
        "files": "18 files",
        "samples": "7,200",
        "benchmarks": "1 benchmark",
        "failed": "1 point",
    }
    assert values["campaign"]["date"] == "2026-11-20"
    assert values["durations"]["measuring_s"] == 9.0
    smallest = values["key"]["mpi_latency"]["shm"]["smallest"]
    number = next(one for one in key_numbers(read(campaign)) if one.transport == "shm" and one.which == "smallest")
    assert smallest["value"] == number.text
    assert (smallest["size"], smallest["n"], smallest["launches"]) == ("8 B", "2,400", "6")


def test_quarto_is_used_only_where_it_can(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, campaign: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no quarto on PATH" in quarto.usable()
    with pytest.raises(ReportError, match="--engine quarto, but there is no quarto on PATH"):
        report.build([campaign], engine="quarto")
    assert "typst books need 1.9.20" in quarto.obstacle((1, 9, 19))
    assert quarto.obstacle((1, 10, 0)) == ""
    (tmp_path / "quarto").write_text("#!/bin/sh\necho 1.9.38\n")
    (tmp_path / "quarto").chmod(0o755)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert quarto.version() == (1, 9, 38), "a Python package put it beside the interpreter"


def test_all_places_name_the_same_least_version_of_quarto() -> None:
    least = ".".join(map(str, quarto.MINIMUM))
    names = ("README.md", "docs/report.md", "environment.yml", "templates/setup/python.sh", "labkit/io/programs.py")
    places = [project.SHIPPED / name for name in (*names, "templates/report/_extensions/report/_extension.yml")]
    for place in places:
        assert f">={least}" in place.read_text(), place


@pytest.mark.slow
def test_warnings_and_failures_of_quarto_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, campaign: Path
) -> None:
    """A program in Quarto's place, which says and leaves what it would."""
    folder = tmp_path / "synthetic"
    shutil.copytree(campaign, folder)
    program = tmp_path / "bin" / "quarto"
    program.parent.mkdir()
    head = '#!/bin/sh\n[ "$1" = render ] || { echo 1.9.38; exit 0; }\necho "[WARNING] Duplicate note reference" >&2\n'
    head += """[ "$NO_COLOR" ] || red="$(printf '\\033[33m')"\necho "${red}WARN: Unable to resolve crossref" >&2\n"""
    head += """printf '\\033[33mWARNING (plots.lua:3) A filter colours in any case\\033[39m\\n' >&2\n"""
    program.write_text(head + "mkdir html && echo page > html/index.html && echo pdf > report.pdf\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    made = report.build([folder], engine="auto")
    assert made.engine == "quarto"
    assert made.pdf == folder / "report" / "report.pdf"
    assert made.pdf.read_text() == "pdf\n"
    assert made.warnings[-3:] == [
        "Quarto: [WARNING] Duplicate note reference",
        "Quarto: WARN: Unable to resolve crossref",
        "Quarto: WARNING (plots.lua:3) A filter colours in any case",
    ]
    stack = "\n".join(f"    at render (quarto.js:{number}:1)" for number in range(30))
    program.write_text(f"{head}cat >&2 <<END\nERROR: Typst compilation failed\n\nStack trace:\n{stack}\nEND\nexit 3\n")
    with pytest.raises(ReportError, match=r"(?s)quarto render failed in .* exit status 3:.*Duplicate note") as failed:
        report.build([folder], engine="quarto")
    assert str(failed.value).endswith("ERROR: Typst compilation failed")


def test_quarto_gives_the_same_numbers(campaign: Path, tmp_path: Path, built: report.Built) -> None:
    if obstacle := quarto.usable():
        pytest.skip(obstacle)
    folder = tmp_path / "synthetic"
    shutil.copytree(campaign, folder)
    caption = re.compile(r"(Figure|Table)\s([A-Z\d.]*\d):\s+(\w+)")
    again = report.build([folder], engine="quarto")
    made = pages(again)
    for name, page in pages(built).items():
        assert sorted(set(caption.findall(made[name].text))) == sorted(set(caption.findall(page.text))), name
        for file in made[name].loaded:
            assert file.startswith("data:") or (again.html.parent / file).is_file(), f"{name}: {file}"
        assert 'type="module"' not in (again.html.parent / name).read_text()
    assert "A note." in text_of(again)
    assert "Another note." in text_of(again)
    assert sorted(set(caption.findall(text_of(again)))) == sorted(set(caption.findall(text_of(built))))
    first, ours = (page["index.html"].text.replace("\xa0", " ") for page in (made, pages(built)))
    for pattern in (r"Section \d\.\d+ explains", r"\(Chapter \d\)", r"Appendix [A-Z] how"):
        assert re.findall(pattern, first) == re.findall(pattern, ours) != [], pattern
    heard, wanted = ([one.get("/Alt") for one in described(each) if one["/S"] == "/Figure"] for each in (again, built))
    assert heard == wanted != [] or (quarto.version() or ()) < (1, 9, 38), "older ones drop them"


@pytest.fixture(scope="module")
def opened(built: report.Built, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[str, str]]]:
    """Each page's document and console after headless Chromium opened it from file://, without network."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium is installed")
    outputs = {}
    for path in sorted(built.html.parent.glob("*.html")):
        home = tmp_path_factory.mktemp("chromium")
        done = subprocess.run(
            [
                program,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                f"--user-data-dir={home}",
                "--virtual-time-budget=8000",
                "--enable-logging=stderr",
                "--dump-dom",
                path.as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=240,
            check=True,
        )
        console = "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)
        outputs[path.name] = (done.stdout, console)
    return outputs


@pytest.mark.slow
@pytest.mark.browser
def test_pages_draw_all_plots_without_a_console_error(opened: dict[str, tuple[str, str]]) -> None:
    for name, (_, console) in opened.items():
        assert console == "", name
    for name, plots in (("10-latency.html", 2), ("20-bandwidth.html", 2)):
        document = opened[name][0]
        assert f'data-plots="{plots}"' in document
        assert document.count('class="main-svg"') >= plots
