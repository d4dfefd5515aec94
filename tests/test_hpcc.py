"""HPCC's sections: what a run that ended before its summary gives, and what the summary holds without a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from labkit import load
from labkit.errors import DataError
from labkit.formats import hpcc
from labkit.formats.reading.log import Run

TEXT = (Path(__file__).parent / "golden" / "logs" / "hpcc" / "two_ranks.txt").read_text()
SECTIONS = TEXT.partition("Begin of Summary section.")[0]


def read(text: str) -> list[Run]:
    return hpcc.LOG.runs(text, "hpccoutf.txt")


def values(runs: list[Run]) -> dict[tuple[str, str], float]:
    return {
        (f"{run.test} {run.options.get('message_size', '')}", v.statistic): v.value for run in runs for v in run.values
    }


def test_sections_say_what_the_summary_says_with_fewer_digits() -> None:
    summary, sections = read(TEXT), read(SECTIONS)
    assert values(sections) == pytest.approx(values(summary), rel=3e-3)
    assert {run.ranks for run in sections} == {2}
    assert {run.version for run in sections} == {"1.5.0"}
    (told,) = {doubt.text for run in sections for doubt in run.doubts}
    assert told == "the log ends before HPCC's summary: the results are those of 16 whole sections"
    checked = {run.test.removeprefix("HPCC ") for run in sections if run.verified}
    assert {"HPL", "PTRANS", "MPIRandomAccess", "StarSTREAM_Add"} <= checked
    assert not checked & {"PingPong", "StarDGEMM"}, "these print no check"


def test_extremes_over_pairs_and_over_ranks_are_named_as_such() -> None:
    """``max`` would be the slowest iteration of one pair; of these HPCC prints none."""
    for text in (TEXT, SECTIONS):
        found = values(read(text))
        assert {name for _, name in found} == {
            "value",
            *(f"{end}_of_{over}" for end in ("min", "max") for over in ("pairs", "ranks")),
        }
        assert found["HPCC PingPong 8", "max_of_pairs"] == pytest.approx(0.2577, rel=2e-3)
        assert found["HPCC PingPong 2000000", "min_of_pairs"] == pytest.approx(15529.6, rel=1e-4)
        least, mean, most = (found["HPCC StarFFT ", name] for name in ("min_of_ranks", "value", "max_of_ranks"))
        assert (least, mean, most) == pytest.approx((8.546051, 8.872430, 9.198810), rel=1e-4)


def test_a_section_that_is_cut_is_left_out_and_named() -> None:
    whole = values(read(SECTIONS))
    for section in re.findall(r"End of (\w+) section", SECTIONS):
        begin = SECTIONS.index(f"Begin of {section} section")
        cut = SECTIONS[: SECTIONS.index(f"End of {section} section")]
        if section == "MPIRandomAccess":
            with pytest.raises(DataError, match="wanted a whole section or 'Begin of Summary section'"):
                read(cut)
            continue
        runs = read(cut)
        assert values(runs).items() <= whole.items()
        assert all(f"without the section {section}, which is cut" in run.doubts[0].text for run in runs)
        assert section == "HPL" or values(runs) == values(read(SECTIONS[:begin]))


def test_hpl_in_a_cut_section_counts_with_its_check_only() -> None:
    row = SECTIONS.index("WR11C2R4")
    check = SECTIONS.index("PASSED", row) + len("PASSED\n")
    assert values(read(SECTIONS[:check]))["HPCC HPL ", "value"] == pytest.approx(3.55)
    assert ("HPCC HPL ", "value") not in values(read(SECTIONS[: SECTIONS.index("||Ax-b", row)]))


def test_the_best_setting_of_ptrans_counts_by_its_slowest_repetition() -> None:
    """``pdtransdriver.c`` prints the least rate so far, five times, and keeps the setting with the greatest."""
    row = "WALL   250   250  {0}  {0}   1   2     0.00 PASSED {1:8.3f}  0.00\n"
    rows = "".join(row.format(64, v) for v in (5, 4, 4, 4, 3)) + "".join(row.format(80, v) for v in (4, 4, 4, 4, 3.5))
    text = re.sub(r"(?m)^(?:WALL|CPU) .*\n", "", SECTIONS).replace("-----\n\nFinished", f"-----\n{rows}\nFinished")
    assert values(read(text))["HPCC PTRANS ", "value"] == 3500


def test_an_excerpt_of_sections_needs_no_head() -> None:
    begin = SECTIONS.index("Begin of LatencyBandwidth")
    runs = read(SECTIONS[begin : SECTIONS.index("Begin of HPL")])
    assert {run.test for run in runs} == {
        f"HPCC {name}" for name in ("PingPong", "NaturallyOrderedRing", "RandomlyOrderedRing")
    }
    assert all({doubt.code for doubt in run.doubts} == {"cut", "untitled"} for run in runs)
    assert {run.ranks for run in runs} == {2}


def test_a_result_of_a_test_that_was_not_run_is_none() -> None:
    """HPCC does not set every result before its tests; the summary then holds what was in memory."""
    section = re.search(r"Begin of SingleRandomAccess_LCG section\.\n(.*?)Current time", TEXT, re.DOTALL)
    assert section
    text = TEXT.replace(section[1], "")
    kept = {run.test for run in read(TEXT)} - {"HPCC SingleRandomAccess_LCG"}
    assert {run.test for run in read(text)} == kept
    summary = text[: text.index("Begin of MPIRandomAccess")] + text[text.index("Begin of Summary") :]
    tiny = summary.replace("SingleRandomAccess_LCG_GUPs=0.988797", "SingleRandomAccess_LCG_GUPs=2.3189e-310")
    assert {run.test for run in read(tiny)} == kept


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("Average Gflop/s 19.144027", "Average Gflop/s 19.1x", "the result of StarDGEMM"),
        ("Average Triad GB/s 60.900365\n", "", "the result of StarSTREAM, StarSTREAM_Triad,"),
        ("1   2     0.00 PASSED    2.362  0.00\nCPU", "1   2     0.00 PASSED    2.3\nCPU", "a row of PTRANS"),
        ("latency=      0.000196 msec, bandwidth=", "latency=      0.000196 ms, bandwidth=", "NaturallyOrderedRing"),
    ],
)
def test_a_damaged_line_of_a_whole_section_is_refused(before: str, after: str, line: str) -> None:
    assert before in SECTIONS
    with pytest.raises(DataError, match=line):
        read(SECTIONS.replace(before, after))


def test_wrong_results_and_other_programs_are_named() -> None:
    wrong = read(SECTIONS.replace("locations (passed)", "locations (failed)", 1))
    assert {run.test for run in wrong if "wrong-result" in {doubt.code for doubt in run.doubts}} == {
        "HPCC MPIRandomAccess"
    }
    with pytest.raises(DataError, match="the output of HPCC alone"):
        read(SECTIONS[: SECTIONS.index("End of HPL")] + "\nHPLinpack 2.3 -- High-Performance Linpack benchmark\n")


def test_lines_of_a_summary_are_read_without_the_rest() -> None:
    """From the begin of the summary on, the pairs alone, with words around them, or some that somebody copied."""
    summary = TEXT[TEXT.index("Begin of Summary section") :]
    head, pairs = summary.partition("End of Summary")[0].split("\n", 1)
    tests = ("HPL_Tflops", "StarSTREAM_Triad", "CommWorld")
    some = "".join(f"{line}\n" for line in pairs.splitlines() if line.startswith(tests))
    extremes = ("min_of_ranks", "max_of_ranks")  # in the sections alone
    original = {key: value for key, value in values(read(TEXT)).items() if key[1] not in extremes}
    for text in (summary, f"{head}\n{pairs}", pairs, f"My result:\n\n{pairs}\nThanks!\n"):
        assert values(read(text)) == original
        assert {run.ranks for run in read(text)} == {2}
        assert all("untitled" in {doubt.code for doubt in run.doubts} for run in read(text))
        assert {run.version for run in read(text)} == {"1.5.0f"}
    assert set(values(read(some))) == {("HPCC HPL ", "value"), ("HPCC StarSTREAM_Triad ", "value")}
    assert {run.ranks for run in read(re.sub("CommWorld.*\n", "", some))} == {0}
    assert list(load("StarSTREAM_Triad=60.5\nHPL_N=500\n")["bandwidth_MBps_value"]) == [60_500]
    with pytest.raises(DataError, match="name=value in the summary"):
        read(pairs.replace("HPL_Tflops=0.0", "HPL_Tflops=0;0"))
