"""Lab 8: who answers a read or a write, the page cache or the disk."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from labkit import figures
from labkit.apps.teaching import slips
from labkit.apps.teaching.definition import Lab
from labkit.apps.teaching.expected import Expected
from labkit.apps.teaching.questions import Question
from labkit.apps.teaching.results import Results
from labkit.point.spec import Spec, sweep
from labkit.store.samples.facts import FINGERPRINT
from labkit.studies import Study

WRITE, READ, TIME = "storage.write", "storage.read", "latency_us"
CACHE, DISK = "the page cache", "the disk"
SYNC, RANDOM, BOTH = "asking for durability", "a random order", "both by less than a factor of 2"


def _specs() -> list[Spec]:
    specs = sweep(READ, sizes="4Ki", pattern=["sequential", "random"], ranks=1)
    specs += sweep(WRITE, sizes="4Ki", pattern=["sequential", "random"], sync=["none", "osync"], ranks=1)
    return specs + sweep("storage.iozone", sizes=0, sync=[False, True], ranks=1)


def _written(sync: str, pattern: str = "sequential") -> tuple[str, str, dict[str, str]]:
    return WRITE, TIME, {"option_sync": sync, "option_pattern": pattern}


def _price(results: Results) -> Expected:
    durable, plain = (results.median(*_written(sync)[:2], **_written(sync)[2]) for sync in ("osync", "none"))
    return results.combined(lambda durable, plain: durable / plain, _written("osync"), _written("none")).without(
        {"the difference in µs": durable - plain}
    )


def _rate(results: Results) -> Expected:
    plain = results.median(*_written("none")[:2], **_written("none")[2])
    return results.combined(lambda time: 1e6 / time, _written("osync")).without(
        {"the rate of plain writes": 1e6 / plain}
    )


def _answered(results: Results) -> Expected:
    """Say who answered a plain write: if it is over ten times as fast as a durable one, it did not wait for the disk."""
    return Expected(CACHE if float(_price(results).centre) > 10 else DISK)


def _matters(results: Results) -> Expected:
    random = results.median(*_written("none", "random")[:2], **_written("none", "random")[2])
    plain, durable = (results.median(WRITE, TIME, **_written(sync)[2]) for sync in ("none", "osync"))
    order, wait = max(random / plain, plain / random), durable / plain
    if max(order, wait) < 2:
        return Expected(BOTH)
    return Expected(SYNC if wait > order else RANDOM)


def _reads(results: Results) -> Expected:
    random, ordered = {"option_pattern": "random"}, {"option_pattern": "sequential"}
    slow, fast = (float(results.rows(READ, **where)[f"{TIME}_p99"].iloc[0]) for where in (random, ordered))
    found = results.combined(lambda one, other: one / other, (READ, TIME, random), (READ, TIME, ordered))
    return found.without(
        {
            "the factor without reading ahead": 1.0,
            "the factor of the 99th percentiles": slow / fast,
        }
    )


def _map(results: Results, sync: bool) -> go.Figure:
    chosen = {FINGERPRINT.of(s.meta) for s in results.samples if s.spec.values.get("sync") is sync}
    cells = results.reported
    cells = cells[
        cells["fingerprint"].isin(chosen) & (cells["benchmark"] == "storage.iozone") & (cells["test"] == "write")
    ]
    return figures.heat_map(cells, "file_size_B", "record_size_B", "bandwidth_MBps")


def _table(results: Results) -> pd.DataFrame:
    rows = pd.concat([results.rows(READ), results.rows(WRITE)])
    rows = rows.assign(option_sync=rows["option_sync"].fillna("–"))
    return rows[["benchmark", "option_pattern", "option_sync", *Study.columns(TIME)[2:]]]


LAB = Lab(
    title="Storage",
    specs=_specs,
    recorded=("two-cores",),
    predictions=(
        Question(
            name="write_us",
            unit="µs",
            text="How long does a plain write of 4 KiB to a file take?",
            of=lambda r: r.combined(lambda time: time, _written("none")),
        ),
        Question(name="durable", text="By what factor is it slower when it must be on the disk (O_SYNC)?", of=_price),
    ),
    questions=(
        Question(
            name="price",
            text="By what factor does O_SYNC slow down a sequential write of 4 KiB?",
            of=_price,
            slips=slips.INVERSE | slips.GROWTH,
            why="A plain write ends when the kernel has copied 4 KiB into its memory. With O_SYNC it ends when the device says that the data are safe. The ratio is that of a device to a copy in memory.",
            hints=("Both are in the table, pattern sequential.", "Divide the median with osync by the one with none."),
        ),
        Question(
            name="rate",
            unit="writes/s",
            text="How many durable sequential writes of 4 KiB can one program make in a second?",
            of=_rate,
            slips=slips.THOUSANDTH
            | {"the time of one in µs": lambda value: 1e6 / value, "the bytes in MB/s": slips.times(4096e-6)},
            why="One durable write is under way at a time, so the rate is the reciprocal of its time. Several writers or larger records would raise the throughput.",
            hints=("One write is under way at a time.", "The reciprocal of the time of one; mind the µs."),
        ),
        Question(
            name="who",
            text="Who answered the plain writes?",
            choices=(CACHE, DISK),
            of=_answered,
            why="No device stores data in the time of a copy in memory. A durable write takes many times as long, so memory answered the plain one.",
            hints=(
                "Could the device of the durable writes have answered in that time?",
                "write() returns when the kernel has a copy.",
            ),
        ),
        Question(
            name="matters",
            text="What costs a write more here?",
            choices=(SYNC, RANDOM, BOTH),
            of=_matters,
            why="The page cache takes blocks in any order at the price of a copy. Waiting for the device adds the whole time of the device to each write.",
            hints=("Compare two pairs of rows that differ in one thing each.", "A factor says more than a difference."),
        ),
        Question(
            name="ahead",
            text="By what factor is a random read slower than a sequential one?",
            of=_reads,
            slips=slips.INVERSE | slips.GROWTH,
            why="In order, the kernel reads the next blocks before the program asks, so most reads find them in the cache. At random it cannot guess, and each read waits for the device.",
            hints=(
                "The cache was emptied before both.",
                "The kernel reads ahead what it expects to be asked for next.",
            ),
        ),
    ),
    shows={
        "table": _table,
        "map": lambda r: _map(r, sync=False),
        "map_sync": lambda r: _map(r, sync=True),
    },
    means="A write that returns is not a write that is safe. A program that may lose its last seconds can leave its data to the page cache; one that may not pays the time of the device for each write, so it should write few large records. A number below the size of the memory says nothing of the disk.",
    reading=(
        "`notebooks/40-storage.ipynb` and `notebooks/33-mpi-io.ipynb`.",
        "open(2) and fsync(2) of the Linux manual pages.",
        "T. S. Pillai et al., *All File Systems Are Not Created Equal*, OSDI 2014, for what is safe after a crash.",
    ),
)
