"""Outputs of OMB and IMB as people have them: with what launchers, batch systems and shells wrote among them."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.errors import DataError
from labkit.formats import imb, omb
from labkit.formats.reading.lines import KINDS, Lines

GOLDEN = Path(__file__).parent / "golden"
LATENCY, MPI1 = (GOLDEN / "omb" / "pt2pt_latency.txt").read_text(), (GOLDEN / "imb" / "MPI1.txt").read_text()
MT = (GOLDEN / "imb" / "MT.txt").read_text()
CASES = {
    "omb": (omb, LATENCY),
    "imb": (imb, MPI1),
    "mt": (imb, MT),
    "allreduce": (omb, (GOLDEN / "omb" / "opt_allreduce_fz.txt").read_text()),
}
every = pytest.mark.parametrize("case", CASES)
# what launchers, libraries, batch systems and shells print
NOISE = [
    "srun: job 4711 queued and waiting for resources",
    "srun: error: node17: task 1: Exited with exit code 1",
    "[0] MPI startup(): Intel(R) MPI Library, Version 2021.11  Build 20231005 (id: 74c4a23)",
    "[0] MPI startup(): libfabric version: 1.18.1-impi",
    "[node17:48210] mca_base_component_repository_open: unable to open mca_btl_openib: not found (ignored)",
    "[node17:48210] 1 more process has sent help message help-mpi-btl-openib.txt / ib port not selected",
    "--------------------------------------------------------------------------",
    "WARNING: There was an error initializing an OpenFabrics device.",
    "  Local host:   node17",
    "2 total processes killed (some possibly by mpirun during cleanup)",
    "2026-11-21 12:00:01 starting",
    "Warning: Permanently added 'node17' (ED25519) to the list of known hosts.",
    "+ mpirun -n 2 ./osu_latency",
    "libibverbs: Warning: couldn't load driver 'libvmw_pvrdma-rdmav34.so'",
    "",
]


def rows_of(form: ModuleType, text: str) -> list[tuple[object, ...]]:
    """What is in a text: tests, what was told, rows."""
    return [(t.test, t.version, dict(t.parameters), t.columns, t.rows) for t in form.parse(text)]


@every
@pytest.mark.parametrize(
    "noise",
    [pytest.param(line, marks=pytest.mark.slow if number % 4 else ()) for number, line in enumerate(NOISE) if line],
)
def test_other_text_anywhere_changes_no_row_and_is_named(case: str, noise: str) -> None:
    form, text = CASES[case]
    lines = text.splitlines()
    step = max(1, len(lines) // 40)
    for at in range(len(noise) % step, len(lines) + 1, step):
        noisy = "\n".join([*lines[:at], noise, *lines[at:]]) + "\n"
        assert rows_of(form, noisy) == rows_of(form, text), f"above line {at + 1}"
        read = form.lines_of(noisy, "f")
        list(form.tables(read))
        assert (
            read.skipped.text() == f"1 line that belongs to no table skipped: {noise.strip()[:80]!r} (line {at + 1})."
        )


@settings(max_examples=60, deadline=None)
@given(data=st.data(), case=st.sampled_from(sorted(CASES)))
def test_other_text_in_many_places_changes_no_row(data: st.DataObject, case: str) -> None:
    form, text = CASES[case]
    lines = text.splitlines()
    for _ in range(data.draw(st.integers(1, 12))):
        lines.insert(
            data.draw(st.integers(0, len(lines))), data.draw(st.sampled_from([line for line in NOISE if line]))
        )
    assert rows_of(form, "\n".join(lines) + "\n") == rows_of(form, text)


@every
@pytest.mark.parametrize(
    "changed",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.removesuffix("\n"),
        lambda text: text.rstrip(),
        lambda text: "".join(f"{line}   \n" for line in text.splitlines()),
        lambda text: "".join(f"{line.rstrip()}\t\n" for line in text.splitlines()),
        lambda text: "".join(f"{line.rstrip()}\n" for line in text.splitlines()),
        lambda text: "".join(f"0: {line}\n" for line in text.splitlines()),
        lambda text: "".join(f" 0: {line}".rstrip() + "\n" for line in text.splitlines()),
        lambda text: "".join(f"[0] {line}\n" for line in text.splitlines()),
        lambda text: "".join(f"[1,0]<stdout>:{line}\n" for line in text.splitlines()),
    ],
    ids=[
        "crlf",
        "no last end",
        "cut blanks",
        "blanks",
        "tabs",
        "stripped",
        "srun -l",
        "srun",
        "mpiexec -l",
        "tag-output",
    ],
)
def test_ends_of_lines_and_labels_count_for_nothing(case: str, changed: object) -> None:
    form, text = CASES[case]
    assert callable(changed)
    assert rows_of(form, changed(text)) == rows_of(form, text)


def test_heads_that_are_printed_twice_count_once() -> None:
    title, datatype, head, *_ = LATENCY.splitlines()[1:] if not LATENCY.splitlines()[0] else LATENCY.splitlines()
    rows = LATENCY.split(f"{head}\n")[1]
    above = LATENCY.split(title)[0]
    for twice in (
        f"{above}{title}\n{title}\n{datatype}\n{head}\n{rows}",
        f"{above}{title}\n{datatype}\n{head}\n{head}\n{rows}",
        f"{above}{title}\n{datatype}\n{head}\n{rows.replace('16 ', f'{head}{chr(10)}16 ', 1)}",
    ):
        assert rows_of(omb, twice) == rows_of(omb, LATENCY)
    block = MPI1[MPI1.index("#---------------------------------------------------\n# Benchmarking PingPong") :]
    head = block[: block.index("            0 ")]
    columns = head.splitlines()[-1]
    for twice in (
        MPI1.replace(head, head + columns + "\n", 1),
        MPI1.replace(head, head.replace(columns + "\n", "") + head, 1),
    ):
        assert twice != MPI1
        assert rows_of(imb, twice) == rows_of(imb, MPI1)
    first = MPI1[: MPI1.index("# Date")]
    assert rows_of(imb, first + MPI1) == rows_of(imb, MPI1)


@pytest.mark.parametrize(
    ("title", "version", "mega"),
    [
        ("Intel (R) MPI Benchmarks 2018, MPI-1 part    ", "2018", 1.0),
        ("Intel (R) MPI Benchmarks 4.1, MPI-1 part    ", "4.1", 1.048576),
        ("Intel (R) MPI Benchmark Suite V3.2.4, MPI-1 part", "3.2.4", 1.048576),
        ("Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part    ", "2019 Update 6", 1.0),
        ("Intel (R) MPI Benchmarks 2017 update 1, MPI-1 part", "2017 update 1", 1.048576),
        ("Intel(R) MPI Benchmarks 2021.7, MPI-1 part (GPU)", "2021.7", 1.0),
    ],
)
def test_titles_of_all_versions_of_imb(title: str, version: str, mega: float) -> None:
    table, *others = imb.parse(MPI1.replace("Intel(R) MPI Benchmarks 2021.11, MPI-1 part", title))
    assert len(others) == 18
    assert (table.test, table.version) == ("IMB-MPI1 PingPong", version)
    value = next(v for v in imb.reported(table, table.rows[-1]) if v.unit == "MB/s")
    assert value.value == pytest.approx(204.05 * mega)


def test_imb_mt_with_its_head_and_groups_at_once() -> None:
    tables = {table.test: table for table in imb.parse(MT)}
    assert list(tables) == ["IMB-MT PingPongMT", "IMB-MT BarrierMT", "IMB-MT UniBandMT", "IMB-MT AllReduceMT"]
    assert {table.version for table in tables.values()} == {"2021.11"}
    assert tables["IMB-MT PingPongMT"].parameters == {"#processes": "2", "threads": "2"}
    pingpong, _, _, allreduce, *_ = imb.parse((GOLDEN / "imb" / "multi.txt").read_text())
    assert (pingpong.test, pingpong.parameters["groups"], len(pingpong.rows)) == ("IMB-MPI1 Multi-PingPong", "2", 5)
    assert allreduce.rows[2].remark.startswith("time-out.")
    pingpong, *_ = imb.parse((GOLDEN / "imb" / "multi_all.txt").read_text())
    assert [(row.size, row.values[0]) for row in pingpong.rows] == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert pingpong.rows[-1].remark.startswith("time-out.")


def test_a_run_of_mpirun_that_died_gives_the_rows_before() -> None:
    text = (GOLDEN / "omb" / "pt2pt_latency_mt.txt").read_text()
    (table,) = omb.parse(text)
    assert [row.size for row in table.rows] == [1, 2, 4, 8, 16, 32, 64]
    lines = omb.lines_of(text, "f")
    list(omb.tables(lines))
    said = lines.skipped.text()
    assert said.startswith("18 lines that belong to no table skipped: '------")
    assert f"{lines.skipped.others} other lines." in said
    assert len(lines.skipped.kinds) == KINDS


@pytest.mark.parametrize(
    ("form", "old", "new", "said"),
    [
        (omb, "8                       0.27", "8   [node17:1] x        0.27", "line 8: found '8   [node17:1]"),
        (omb, "8                       0.27", "8     ", "line 8: found '8'"),
        (
            imb,
            "            4           20         0.27",
            "            4   [0] MPI 20    0.27",
            "wanted a row of 4 values",
        ),
        (
            imb,
            "# All processes entering MPI_Finalize",
            "slurmstepd: error: CANCELLED",
            "with which IMB ends",
        ),
    ],
)
def test_a_row_that_other_text_fell_into_is_an_error_with_a_remedy(
    form: ModuleType, old: str, new: str, said: str
) -> None:
    text = LATENCY if form is omb else MPI1
    assert old in text
    with pytest.raises(DataError, match=r"import (?:the rest|again)\.$") as error:
        form.parse(text.replace(old, new, 1), "f")
    assert said in str(error.value)


def test_a_last_row_that_may_have_lost_digits_is_left_out() -> None:
    text = (GOLDEN / "omb" / "opt_allreduce_f.txt").read_text().rstrip()
    assert rows_of(omb, text) == rows_of(omb, text + "\n")
    (whole,), (cut,) = omb.parse(text), omb.parse(text[:-1])
    assert cut.rows == whole.rows[:-1]


def test_what_is_skipped_is_told_in_few_words_however_much_it_is() -> None:
    lines = Lines((f"x{i} word{'a' * (i % 40)}\n" for i in range(5000)), "f")
    assert lines.ahead is None
    assert len(lines.skipped.text()) < 1500
    assert lines.skipped.others + sum(n for _, _, n in lines.skipped.kinds.values()) == 5000
    with pytest.raises(DataError, match="wanted lines of text"):
        assert Lines(("x" * 1000 for _ in range(1000)), "f").ahead
