"""Turn an executed notebook into a chapter: with all forms of its figures and its failure, without parameters.

The executed notebook itself never changes; this works on the copy for the report.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_markdown_cell, new_output

from labkit.errors import DataError, ReportError
from labkit.figures import parts
from labkit.io import safe_read
from labkit.report import cleaning, figures, markdown
from labkit.report.options import ALT, options, written

_WIDGET = "application/vnd.jupyter.widget-view+json"
_HEADING = re.compile(r"^# +(?P<title>.*?)[ \t]*(?:\{(?P<attributes>[^}\n]*)\})?[ \t]*$", re.M)
_LABEL = r"((?:fig|tbl|eq|sec)-[\w-]*\w)"
_PAPERMILL = "papermill-error-cell-tag"
_TRACE = 15  # last lines of a traceback; the executed notebook has them all
_PART = "labkit_part"  # in the metadata of an output, while a chapter is made
_SIGHT = "labkit_sight"  # likewise
_ALONE = "labkit_alone"  # likewise: whether a figure has a single place
_ONE_PLACE = "one-place"  # code of the note that tells so
_STRANGE = "[This output cannot be shown in a report.]"
_HIDDEN = {"parameters", "injected-parameters"}
_AGAINST = re.compile(r",? against (?:(?! with | and |[,.:;]).)+")  # of a caption: what one place has not
_OF_TABLES = {"fig-cap": "tbl-cap", "fig-scap": "tbl-scap"}
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}  # nothing runs here; what a foreign notebook names is ignored


@dataclass
class Chapter:
    """A notebook, ready for the report.

    Parameters
    ----------
    notebook : the copy, ready to write.
    title, label : title and label of its heading.
    error : its error in one line; empty if it ran to its end.
    csv : file name → text, the data of its figures.
    parameters : source of the cell with parameters.
    warnings : for readers of the report.
    path : the executed notebook.
    omitted : headings of sections, and labels of figures and tables, without data in the campaign.
    undrawn : figures without a picture.
    tables : label of a figure that became a table → label of the table.
    """

    notebook: Any
    title: str = ""
    label: str = ""
    error: str = ""
    csv: dict[str, str] = field(default_factory=dict)
    parameters: str = ""
    warnings: list[str] = field(default_factory=list)
    path: Path = Path()
    omitted: list[str] = field(default_factory=list)
    undrawn: int = 0
    tables: dict[str, str] = field(default_factory=dict)


def read(path: Path) -> Any:
    """Read a notebook file.

    Raises
    ------
    ReportError
        If it is not a notebook.
    """
    try:
        book = _parsed(safe_read.text(path, most=safe_read.MOST_NOTEBOOK_B))
    except (DataError, ValueError) as error:
        remedy = "Run it again, or take it out of notebooks/."
        raise ReportError(f"{path} cannot be read as a notebook: {str(error)[:300]}. {remedy}") from error
    book.metadata["labkit_strange"] = _tidy(book)
    return book


def _parsed(text: str) -> Any:
    """Return a notebook of format 4; raise ValueError with a reason if the text is none."""
    try:
        book = nbformat.reads(text, as_version=4)
        nbformat.validate(book)
    except (nbformat.reader.NotJSONError, nbformat.ValidationError) as error:
        raise ValueError(str(error)) from error
    except Exception as error:  # nbformat expects keys and types that any JSON may lack
        raise ValueError("its JSON is not that of a notebook") from error
    return book


def finish(path: Path, *, error: str = "", book: Any = None) -> Chapter:
    """Return the chapter of an executed notebook.

    Parameters
    ----------
    path : the executed notebook.
    error : its error as recorded by the run; after the death of a kernel, no cell contains one.
    book : the notebook, if it was read already.

    Raises
    ------
    ReportError
        If the file is not a notebook or a cell's options cannot be read.
    """
    chapter, stem = Chapter(read(path) if book is None else book, path=path), named(path)
    cells = [_prose(c, chapter) for c in chapter.notebook.cells if not _is_papermill_notice(c) and c.source.strip()]
    if strange := chapter.notebook.metadata.get("labkit_strange"):
        chapter.warnings.append(f"{strange} outputs are omitted: they are not figures that a report can draw")
    done: list[Any] = []
    for number, cell in enumerate(cells, start=1):
        done.append(cell)
        if cell.cell_type == "code":
            try:
                done += _code(cell, f"{stem}-{number}", number, chapter)
            except ReportError as cause:
                raise ReportError(
                    f"{path.name}, cell {number}: {cause}. Correct the notebook, and run it again."
                ) from cause
    chapter.notebook.cells = done
    chapter.notebook.metadata = nbformat.from_dict(KERNEL)
    chapter.error = chapter.error or error
    rename(chapter, chapter.tables)
    _head(chapter, path)
    for number, cell in enumerate(chapter.notebook.cells):
        cell["id"] = f"c{number}"
    return chapter


def named(path: Path) -> str:
    """Return the stem of a notebook's name, with characters that are safe in files, addresses and settings."""
    return re.sub(r"[^\w.,=+-]+", "_", path.stem, flags=re.ASCII)[:150]


def _is_papermill_notice(cell: Any) -> bool:
    return _PAPERMILL in cell.metadata.get("tags", [])


def _prose(cell: Any, chapter: Chapter) -> Any:
    """Return a cell as the report takes it: raw ones as they are written, prose without anything an engine acts on."""
    if cell.cell_type == "code":
        return cell
    raw = cell.cell_type == "raw"
    made = markdown.block(cleaning.headless(cleaning.text(cell.source))) if raw else cleaning.markdown(cell.source)
    if made != cell.source:
        chapter.warnings.append(
            "a cell holds HTML, raw text or markup that reports do not support; the report shows it as text"
        )
    return new_markdown_cell(made)


def _code(cell: Any, name: str, number: int, chapter: Chapter) -> list[Any]:
    """Prepare the outputs of a code cell; return cells to be put after it."""
    tags = set(cell.metadata.get("tags", []))
    cell.metadata = {"tags": sorted(tags)} if tags else {}
    chosen, code = options(cell.source)
    if tags & _HIDDEN:
        chapter.parameters = cell.source
        chosen = {"include": False, **chosen}
    label = str(chosen.get("label", ""))
    errors = [o for o in cell.outputs if o.output_type == "error"]
    cell.outputs = [o for o in (_output(out, label or name, chapter) for out in cell.outputs) if o is not None]
    words = [o.get("metadata", {}).pop("alt", "") for o in cell.outputs]
    if any(words):  # both engines read them there, one for each output
        chosen.setdefault(ALT, words if len(words) > 1 else words[0])
    alone = [o.get("metadata", {}).pop(_ALONE, False) for o in cell.outputs]
    if alone == [True]:
        chosen |= {key: _AGAINST.sub("", str(chosen[key])) for key in chosen if key in _OF_TABLES}
    sights = [s for o in cell.outputs if (s := o.get("metadata", {}).pop(_SIGHT, ""))]
    if len(sights) == 1 and chosen.get("fig-cap"):
        chosen["fig-cap"] = f"{chosen['fig-cap']} {sights[0]}"
    if len(cell.outputs) == 1 and (caption := next((key for key in ("tbl-cap", "fig-cap") if chosen.get(key)), "")):
        cell.outputs[0], common = _slim(cell.outputs[0])
        chosen[caption] = f"{chosen[caption]} {common}" if common else chosen[caption]
    if label.startswith("fig-") and len(cell.outputs) == 1 and isinstance(part_of(cell.outputs[0]), parts.Table):
        taken = f"tbl-{label[4:]}"
        chapter.tables[label] = f"{taken}-values" if taken in labels(chapter) else taken
        captions = {key: _AGAINST.sub("", str(chosen[key])) for key in chosen if key in _OF_TABLES}
        chosen = {_OF_TABLES.get(key, key): value for key, value in (chosen | captions).items() if key != ALT}
    cell.source = written(chosen, code)
    shown = [o for o in cell.outputs if o.output_type != "stream"]
    if label.startswith(("fig-", "tbl-")) and not shown and chosen.get("include") is not False:
        cell.outputs.append(_placeholder(label))
        chapter.warnings.append(f"{label} is missing: its cell made no {'figure' if label[0] == 'f' else 'table'}")
    if not errors:
        return []
    chapter.error = f"cell {number}: {errors[0].ename}: {errors[0].evalue}"
    lines = "\n".join(errors[0].get("traceback") or [chapter.error]).splitlines()
    trace = "\n".join(["…", *lines[-_TRACE:]] if len(lines) > _TRACE else lines)
    return [
        new_markdown_cell(
            markdown.callout("important", f"Cell {number} failed here", markdown.block(trace), collapse=True)
        )
    ]


def _output(out: Any, name: str, chapter: Chapter) -> Any:
    """Return an output as the report takes it, or None if it is left out."""
    if out.output_type == "error":
        return None
    if out.output_type == "stream":
        out.text = cleaning.text(out.text)
        return out if out.name == "stdout" and out.text.strip() else None
    data = out.data
    if _WIDGET in data:
        return None
    if parts.MIME in data:
        part = parts.read(data[parts.MIME])
        if isinstance(part, parts.Described):
            return _figure(data, part, name, chapter)
        if isinstance(part, parts.Warned):
            chapter.warnings += map(str, part.notes)
            return None
        return laid_out(part)
    forms = {kind: clean for kind, value in data.items() if (clean := _form(kind, value))}
    return new_output("display_data", data=forms or {"text/plain": _STRANGE})


def laid_out(part: parts.Table | parts.Text | parts.Omitted) -> Any:
    """Return an output that shows a part, with the part in its metadata for `part_of`."""
    text = cleaning.markdown(str(part))
    return new_output("display_data", data={"text/markdown": text}, metadata={_PART: parts.as_json(part)})


def _slim(output: Any) -> tuple[Any, str]:
    """Return an output without the constant columns of its table, and a sentence with their values."""
    part = part_of(output)
    if not isinstance(part, parts.Table):
        return output, ""
    kept, common = markdown.varied([column.title for column in part.columns], part.rows)
    if len(kept) == len(part.columns):
        return output, ""
    rows, values = (tuple(tuple(row[n] for n in kept) for row in every) for every in (part.rows, part.values))
    return laid_out(parts.Table(tuple(part.columns[n] for n in kept), rows, values)), common


def part_of(output: Any) -> parts.Read | None:
    """Return the part in an output of a chapter; None for outputs of other code than labkit's studies."""
    given = output.get("metadata", {}).get(_PART)
    return None if given is None else parts.read(given)


def forget_parts(chapter: Chapter) -> None:
    """Remove the parts from the outputs of a finished chapter."""
    for cell in chapter.notebook.cells:
        for out in cell.get("outputs", []):
            out.get("metadata", {}).pop(_PART, None)


def _figure(data: Mapping[str, Any], about: parts.Described, name: str, chapter: Chapter) -> Any:
    """Return the output of a figure, or of the table that says more; add the data of the figure to the chapter."""
    if about.instead:
        return laid_out(about.instead)
    svg = _form(figures.SVG, data.get(figures.SVG))
    if not svg:
        chapter.undrawn += 1
    taken = sum(1 for file in chapter.csv if file.startswith(f"{name}."))
    file = f"{name}.csv" if not taken else f"{name}.{taken + 1}.csv"
    text = figures.as_csv(about.table)
    if text:
        chapter.csv[file] = text
    link, still = (f"data/{file}", f"static/{Path(file).stem}.svg") if text else ("", "")
    forms = figures.bundle(data[figures.PLOTLY], svg, alt=about.alt, link=link, still=still)
    words: dict[str, Any] = {"alt": about.alt} if svg else {}
    words |= {_SIGHT: markdown.escape(about.seen), _ALONE: any(one.code == _ONE_PLACE for one in about.notes)}
    return new_output("display_data", data=forms, metadata=words)


def _tidy(book: Any) -> int:
    """Clean figures and check parts before anything draws them, so that each figure has a part.

    Parameters
    ----------
    book : it is changed.

    Returns
    -------
    How many outputs are not figures.
    """
    count = 0
    for cell in book.cells:
        for out in cell.get("outputs", []):
            if parts.MIME in out.get("data", {}):
                out.data = _checked(out.data)
            if figures.PLOTLY not in out.get("data", {}):
                continue
            given = out.data[figures.PLOTLY]
            spec = cleaning.figure(given)
            if spec is None:
                out.data, count = {"text/plain": _STRANGE}, count + 1
                continue
            about = out.data.get(parts.MIME) or parts.as_json(_described(spec))
            out.data = {**out.data, figures.PLOTLY: spec, parts.MIME: about}
    return count


def _described(spec: Mapping[str, Any]) -> parts.Described:
    """Describe a figure that labkit did not draw; the description is empty if its arrays are malformed."""
    try:
        return parts.described(spec)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, MemoryError, OverflowError):
        return parts.Described()


def _checked(data: Any) -> Any:
    """Return the data of an output. Drop its part if labkit did not write it or if it is of another kind."""
    try:
        part = parts.read(data[parts.MIME])
    except DataError:
        part = None
    if part is None or isinstance(part, parts.Described) != (figures.PLOTLY in data):
        return {kind: value for kind, value in data.items() if kind != parts.MIME}
    return data


def _form(kind: str, value: Any) -> str:
    """Return one form of an output, cleaned; empty if a report does not show it."""
    if not isinstance(value, str) or len(value) > cleaning.LARGEST:
        return ""
    cleaned = {
        "text/plain": cleaning.text,
        "text/markdown": cleaning.markdown,
        "text/html": cleaning.html,
        "image/svg+xml": cleaning.svg,
    }
    if kind in ("image/png", "image/jpeg"):
        return value if re.fullmatch(r"[A-Za-z0-9+/=\s]+", value) else ""
    return cleaned[kind](value) if kind in cleaned else ""


def _placeholder(label: str) -> Any:
    """Return a note for a labelled cell without an output, so that references to it still lead somewhere."""
    note = "Not available: the notebook stopped before it made this."
    data = {"text/html": f'<p class="missing">{note}</p>', "text/plain": f"[{note}]"}
    if label.startswith("tbl-"):
        data = {"text/markdown": markdown.table(["not available"], [[note]]), "text/plain": note}
    return new_output("display_data", data=data)


def _head(chapter: Chapter, path: Path) -> None:
    """Give the chapter a heading with a label, and a failed chapter a callout below it."""
    cells = chapter.notebook.cells
    headings = ((i, _HEADING.search(markdown.mask(c.source))) for i, c in enumerate(cells) if c.cell_type == "markdown")
    index, match = next(((i, m) for i, m in headings if m), (0, None))
    if match is None:
        cells.insert(0, new_markdown_cell(f"# {markdown.escape(named(path).replace('-', ' ').capitalize())}"))
        match = _HEADING.search(cells[0].source)
        assert match is not None
    source = cells[index].source
    attributes = match["attributes"] or ""
    label = re.search(r"#([\w-]+)", attributes)
    chapter.title = markdown.heading(source[match.start("title") : match.end("title")])
    chapter.label = label[1] if label else f"sec-{re.sub(r'[^a-z0-9_-]+', '-', named(path).lower())}"
    heading = f"# {chapter.title} {{{attributes if label else f'#{chapter.label} {attributes}'.rstrip()}}}"
    after = "\n\n" + _failure(chapter.error, path) + "\n\n" if chapter.error else ""
    cells[index].source = source[: match.start()] + heading + after + source[match.end() :]


def _failure(error: str, path: Path) -> str:
    body = f"It stopped at {markdown.escape(error)}.\n\nThe following is its output up to that point."
    body += f" The executed notebook is {markdown.code('notebooks/' + path.name)}."
    return markdown.callout("important", "This notebook failed", body)


def labels(chapter: Chapter) -> set[str]:
    """Return the labels that the cells and the prose of a chapter define."""
    texts = "\n".join(cell.source for cell in chapter.notebook.cells)
    return set(re.findall(rf"(?:#\| *label: *|\{{#){_LABEL}", texts))


def relabel(chapter: Chapter, known: set[str], suffix: str) -> None:
    """Append `suffix` to every label in `known`, in definitions and references.

    If two campaigns hold the same notebook, their figures must have different names.
    """
    rename(chapter, {label: label + suffix for label in known})
    for cell in chapter.notebook.cells:
        for data in (out.get("data", {}) for out in cell.get("outputs", [])):
            if "text/html" in data:
                data["text/html"] = _relink(data["text/html"], suffix)
    chapter.csv = {_suffixed(name, suffix): text for name, text in chapter.csv.items()}
    chapter.label += suffix if chapter.label in known else ""


def rename(chapter: Chapter, names: Mapping[str, str]) -> None:
    """Rename labels in the definitions and references of a chapter.

    Parameters
    ----------
    names : label → its new name.
    """
    for cell in chapter.notebook.cells if names else ():
        cell.source = renamed(cell.source, names)
        for data in (out.get("data", {}) for out in cell.get("outputs", [])):
            if "text/markdown" in data:
                data["text/markdown"] = renamed(data["text/markdown"], names)


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return a chapter's text with renamed labels.

    Examples
    --------
    >>> print(renamed('<span data-needs="fig-a fig-b">@fig-a, @fig-b</span>', {"fig-a": "tbl-a"}))
    <span data-needs="tbl-a fig-b">@tbl-a, @fig-b</span>
    """
    text = re.sub(rf"(#\| *label: *|\{{#|@){_LABEL}", lambda match: match[1] + names.get(match[2], match[2]), text)
    return re.sub(
        r'(?<=data-needs=")[^"]*', lambda match: " ".join(names.get(one, one) for one in match[0].split()), text
    )


def prefix_notes(chapter: Chapter, name: str) -> None:
    """Prefix the marks of a chapter's footnotes with `name`.

    In the single text of the PDF, the marks of all footnotes must be different.
    """

    def renamed(text: str) -> str:
        for match in reversed(list(re.finditer(r"\[\^(?=[\w-]+\])", markdown.mask(text)))):
            text = f"{text[: match.end()]}{name}-{text[match.end() :]}"
        return text

    for cell in chapter.notebook.cells:
        places = r"(?s:.+)" if cell.cell_type == "markdown" else r"^#\| *(?:fig|tbl)-cap:.*$"
        cell.source = re.sub(places, lambda match: renamed(match[0]), cell.source, flags=re.M)
        for out in cell.get("outputs", []):
            if "text/markdown" in out.get("data", {}):
                out.data["text/markdown"] = renamed(out.data["text/markdown"])


def retitle(chapter: Chapter, addition: str) -> None:
    """Add words to the heading of the chapter to distinguish it from others."""
    addition = markdown.heading(addition)
    for cell in chapter.notebook.cells:
        start = cell.source.find(f"# {chapter.title} {{#{chapter.label}")
        if start >= 0:
            end = start + len(f"# {chapter.title}")
            cell.source = f"{cell.source[:end]} ({addition}){cell.source[end:]}"
            break
    chapter.title += f" ({addition})"


def _suffixed(file: str, suffix: str) -> str:
    stem, _, rest = file.partition(".")
    return f"{stem}{suffix}.{rest}"


def _relink(html: str, suffix: str) -> str:
    files = r'((?:href="data|<noscript><img src="static)/)([^"]+)"'
    return re.sub(files, lambda m: f'{m[1]}{_suffixed(m[2], suffix)}"', html)
