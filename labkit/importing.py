"""Import of what other benchmarks printed: each row of a table becomes samples files as any others, without samples.

The text says which test ran, not where. So a file stands for a system of its own, named after the file, unless the
user names the testbed: then files with the same name are launches of the same points. A test belongs to the benchmark
that lists it in its `classics`, with the options given there and those that the text tells.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit import benchmarks, campaign
from labkit.benchmarks import Benchmark
from labkit.campaign import Campaign
from labkit.errors import DataError
from labkit.formats import imb, malformed, omb
from labkit.formats._table import Row, Table
from labkit.samples import Samples
from labkit.spec import Effort, Reported, Scalar, Spec

FORMATS = {"OMB": omb, "IMB": imb}
_DATATYPES = {"MPI_CHAR": "uint8", "MPI_INT": "int32", "MPI_FLOAT": "float32", "MPI_DOUBLE": "float64"}
_WINDOWS = {
    "MPI_Win_create": "create", "MPI_Win_allocate": "allocate", "MPI_Win_create_dynamic": "dynamic",
    "MPI_Win_lock/unlock": "lock", "MPI_Win_flush": "flush", "MPI_Win_flush_local": "flush_local",
    "MPI_Win_lock_all/unlock_all": "lock_all", "MPI_Win_post/start/complete/wait": "pscw", "MPI_Win_fence": "fence",
}  # fmt: skip


@dataclass(frozen=True)
class File:
    """A text that was read.

    Parameters
    ----------
    path : where it was.
    text : untouched.
    kind : key of `FORMATS`.
    tables : what is in it.
    """

    path: Path
    text: str
    kind: str
    tables: tuple[Table, ...]

    @property
    def digest(self) -> str:
        """Names the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def lines(self, table: Table) -> str:
        """The lines of a table, untouched."""
        return "".join(f"{line}\n" for line in self.text.split("\n")[table.first - 1 : table.last])


@dataclass(frozen=True)
class Outcome:
    """What an import did.

    Parameters
    ----------
    campaign : where it went.
    added, present : points that are new, and that were there from an earlier import of the same text.
    warnings : what was left out, and what was assumed.
    """

    campaign: Campaign
    added: int
    present: int
    warnings: tuple[str, ...]

    def text(self) -> str:
        """For people."""
        there = f", {self.present} were there already" if self.present else ""
        return f"{self.added} points imported{there}\nsamples: {self.campaign.path}"


def read(path: str | Path) -> File:
    """Read and parse a file, of whichever of the formats it is.

    Raises
    ------
    DataError
        If it cannot be read, is in no format that labkit knows, or does not fit its format.
    """
    try:
        text = Path(path).read_bytes().decode(errors="replace")
    except OSError as error:
        raise DataError(
            f"{path} cannot be read: {error.strerror}. Name a file with the output of a benchmark."
        ) from None
    found = [kind for kind, form in FORMATS.items() if form.recognised(text)]
    if len(found) != 1:
        first = next((line for line in text.splitlines() if line.strip()), "nothing")
        kinds = "of the OSU micro-benchmarks (OMB) or of the Intel MPI benchmarks (IMB)"
        wanted = f"the output {kinds}" + (", not of both in one file" if found else "")
        raise malformed(str(path), 1, first, wanted)
    return File(Path(path), text, found[0], FORMATS[found[0]].parse(text, str(path)))


def bring(
    paths: Sequence[str | Path],
    *,
    into: Campaign | str | Path | None = None,
    ranks: int = 0,
    testbed: str = "",
    published: str = "",
) -> Outcome:
    """Import files into a campaign; what the same text brought before is not added again.

    Parameters
    ----------
    paths : files with the output of the OSU or the Intel MPI benchmarks.
    into : campaign or its folder; a new one named after the time when left out.
    ranks : how many there were, where neither test nor text tell it; 0 for not known.
    testbed : where it was measured; empty for not known.
    published : paper, table or figure and conditions of numbers that somebody published and that were written down in
        one of the layouts; their origin is then ``published`` instead of ``imported``.

    Raises
    ------
    DataError
        If a file cannot be read or does not fit, or if no table in any of them has a benchmark; nothing was kept.
    """
    files, warnings = [read(path) for path in paths], list[str]()
    points = [point for file in files for point in _points(file, ranks, testbed, warnings)]
    if published:
        points = [_published(point, " ".join(published.split())) for point in points]
    if not points:
        raise DataError(f"Nothing was imported. {' '.join(warnings)} 'labkit list' shows the benchmarks.")
    held = into if isinstance(into, Campaign) else Campaign(into or campaign.fresh("import"))
    added = 0
    with held.lease():
        launches = _launches(held)
        for point in points:
            known = launches.setdefault((point.spec.benchmark, point.meta["fingerprint"]), {})
            if point.meta["place"] not in known:
                known[point.meta["place"]] = launch = max(known.values(), default=-1) + 1
                held.save(dataclasses.replace(point, launch=launch), point.meta["fingerprint"])
                added += 1
    return Outcome(held, added, len(points) - added, tuple(dict.fromkeys(warnings)))


def _launches(held: Campaign) -> dict[tuple[str, str], dict[str, int]]:
    """Launches of every imported point of a campaign by the place in the text they came from."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for one in held.samples():
        if one.origin in ("imported", "published"):
            launches = found.setdefault((one.spec.benchmark, str(one.meta["fingerprint"])), {})
            launches[str(one.meta.get("place", f"launch {one.launch}"))] = one.launch
    return found


def _published(point: Samples, reference: str) -> Samples:
    """A point of a publication; every table and figure says which."""
    said = [*point.meta["warnings"], f"published, not measured here: {reference}"]
    told = {"engine": "published", "library": "not told", "reference": reference, "warnings": said}
    return dataclasses.replace(point, origin="published", meta={**point.meta, **told})


def _points(file: File, ranks: int, testbed: str, warnings: list[str]) -> Iterator[Samples]:
    """Samples of every row that has a benchmark; tells what has none."""
    tests = {test: (b, options) for b in benchmarks.find().values() for test, options in b.classics.items()}
    for table in file.tables:
        where = f"{file.path}, line {table.first}"
        if table.test not in tests or not table.columns:
            name = table.test or repr(table.title)
            why = "prints no number" if not table.columns else "has no benchmark in labkit"
            warnings.append(f"{where}: {name} {why}, its {len(table.rows)} rows are left out.")
            continue
        benchmark, options = tests[table.test]
        count, doubt = _ranks(table, benchmark, ranks)
        if table.test in benchmark.unlike:
            doubt.append(f"{table.test} is not quite {benchmark.name}: {benchmark.unlike[table.test]}")
        warnings += [f"{where}: {table.test}: {text}" for text in doubt]
        for row in table.rows:
            values = FORMATS[file.kind].reported(table, row)
            if values:
                spec = _spec(benchmark, options, table, row, count, testbed or file.path.name)
                yield _point(file, table, row, _converted(values, benchmark, table, spec), spec, doubt, testbed)
            else:
                warnings.append(f"{file.path}, line {row.line}: no value: {row.remark or 'none is finite'}. Left out.")


def _ranks(table: Table, benchmark: Benchmark, given: int) -> tuple[int, list[str]]:
    """How many ranks took part, and a doubt where it had to be assumed."""
    told, (low, high) = table.parameters, benchmark.ranks
    if "#processes" in told:
        return int(told["#processes"]) * int(told.get("groups", 1)), []
    pairs = told.get("pairs") or told.get("Pairs") or ""
    if pairs.isdigit():
        return 2 * int(pairs), []
    if given or low == high:
        return given if low != high else low, []
    return max(low, 2), [f"the text does not tell the number of ranks: {max(low, 2)} assumed. Say it with --ranks."]


def _spec(benchmark: Benchmark, fixed: Mapping[str, Scalar], table: Table, row: Row, ranks: int, testbed: str) -> Spec:
    """What was measured, as far as the text tells."""
    told, options = table.parameters, dataclasses.asdict(benchmark.options()) | dict(fixed)
    window = table.value(row, "Window") or told.get("window size") or told.get("window_size")
    datatype = told.get("Datatype") or told.get("MPI_Datatype for reductions") or ""
    if "window" in options and str(window).isdigit():
        options["window"] = int(str(window))
    if "threads" in options and told.get("threads", "").isdigit():
        options["threads"] = int(told["threads"])
    if "datatype" in options and datatype:
        options["datatype"] = _DATATYPES.get(datatype, datatype)
    for name, value in _calling(table).items():
        if name in options:
            options[name] = value
    if "MODE" in told:
        options["aggregate"] = told["MODE"] == "AGGREGATE"
    for name, word in (("Window creation", "memory"), ("Synchronization", "synchronisation")):
        if name in told:
            options[word] = _WINDOWS.get(told[name], told[name])
    size = (imb.size(table, row) if table.test.startswith("IMB") else row.size) or 0
    spec = Spec(
        benchmark=benchmark.name, size=size if benchmark.sized else 0, ranks=max(ranks, 1), launcher="unknown",
        testbed=testbed, options=tuple(options.items()),
    )  # fmt: skip
    return spec.replace(size=int(spec.size * _factors(benchmark, table, spec).get("size", 1)))


def _factors(benchmark: Benchmark, table: Table, spec: Spec) -> Mapping[str, float]:
    """By what the numbers of a test that counts otherwise are to be multiplied."""
    how = benchmark.converted.get(table.test)
    return how(spec) if how else {}


def _converted(values: Sequence[Reported], benchmark: Benchmark, table: Table, spec: Spec) -> list[Reported]:
    """Values of a row, counted as the benchmark counts."""
    factors = _factors(benchmark, table, spec)
    return [dataclasses.replace(value, value=value.value * factors.get(value.name, 1)) for value in values]


def _calling(table: Table) -> dict[str, Scalar]:
    """Options of IMB's collectives that its version, or its command line where it is printed, set.

    Until IMB 4.1 there was no barrier between the calls and the root moved on with each of them, by default.
    """
    if table.test.partition(" ")[0] not in ("IMB-MPI1", "IMB-NBC", "IMB-MPI4"):
        return {}
    year = re.match(r"\d+", table.version)
    old, words = year is not None and int(year[0]) < 2017, table.parameters.get("call", "").lower().split()
    said = dict(itertools.pairwise(words))
    answers = {"on": True, "1": True, "enable": True, "off": False, "0": False, "disable": False}
    apart = answers.get(said.get("-sync", ""), not old)
    found: dict[str, Scalar] = {"rotate": answers.get(said.get("-root_shift", ""), old)}
    return found if apart else found | {"cadence": "streaming"}


def _doubts(table: Table, checked: object) -> list[str]:
    """What is doubtful about a row."""
    found = ["validation failed: wrong bytes"] if checked == "Fail" else []
    if "Transmit Size" in table.columns:
        found.append("a derived datatype (-D) was sent; the text does not tell which")
    return found


def _point(
    file: File, table: Table, row: Row, values: Sequence[Reported], spec: Spec, doubt: Sequence[str], testbed: str
) -> Samples:
    """Samples of one row, launch not yet known."""
    told, options = table.parameters, dict(spec.options)
    measured_by = told.get("Measured by", "").partition(";")[0]  # a line of labkit's own
    library = measured_by or " ".join(filter(None, [file.kind, table.version]))
    count = table.value(row, "Iterations") or table.value(row, "#repetitions")
    checked = table.value(row, "Validation")
    meta: dict[str, Any] = {
        "engine": file.kind, "library": library, "verified": checked == "Pass", "stopped_by": "tool",
        "timing": options.get("timing", "total" if table.test.startswith(("IMB-IO", "IMB-RMA")) else "each"),
        "cadence": options.get("cadence", benchmarks.get(spec.benchmark).cadence),
        "fingerprint": spec.fingerprint({"library": library, "text": "" if testbed else file.digest}),
        "badges": [], "warnings": [*doubt, *_doubts(table, checked)],
        "test": table.test, "parameters": dict(told), "file": str(file.path), "place": f"{file.digest[:16]}:{row.line}"
        + (f":{options['window']}" if "Window" in table.columns else ""),
    }  # fmt: skip
    facts = {"architecture": told.get("Machine"), "kernel": told.get("Release")}
    return Samples(
        spec=spec, effort=Effort(launches=1, iterations=count if isinstance(count, int) and count > 0 else None),
        host={name: value for name, value in facts.items() if value}, launch=0, origin="imported",
        reported=tuple(values), meta=meta, source=file.lines(table),
    )  # fmt: skip
