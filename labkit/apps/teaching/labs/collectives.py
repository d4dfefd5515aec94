"""Lab 4: what a collective costs by its algorithm and by its ranks, and where a library chose badly."""

from __future__ import annotations

import numpy as np
import pandas as pd

from labkit import figures
from labkit.apps.teaching import slips
from labkit.apps.teaching.definition import Lab
from labkit.apps.teaching.expected import Expected
from labkit.apps.teaching.questions import Question
from labkit.apps.teaching.results import Results
from labkit.judge import sentences
from labkit.judge.rules import guideline
from labkit.judge.view import View
from labkit.point.spec import Effort, Spec, sweep

HOSTS = "virtual-cluster:8,rate=50mbit"
LINK = 50e6 / 8e6  # MB/s
SIZE = 64 * 1024
CHOICE = "OMPI_MCA_coll_tuned_bcast_algorithm"
SEGMENT = f"{CHOICE}_segmentsize"
LINEAR, WHOLE, TREE, PIPELINE = "linear", "binomial tree, whole", "binomial tree, in pieces", "pipeline"
# number, as ompi_info --param coll tuned --level 5 lists them, and B of a piece
FORMS = {LINEAR: ("1", None), WHOLE: ("6", None), TREE: ("6", "8192"), PIPELINE: ("3", "8192")}
STEADY, LOGARITHM, PROPORTIONAL = "not at all", "with the logarithm of the ranks", "in proportion to ranks − 1"
GROWTH = {STEADY: 1.0, LOGARITHM: 3.0, PROPORTIONAL: 7.0}  # from 2 to 8 ranks
BROKEN, DOUBT, KEPT = (
    "it is slower, and the launches show it",
    "it is slower by the medians, but the launches do not show it",
    "it is not slower",
)
RULE = "allreduce(m) ≤ reduce(m) + bcast(m)"
BCAST, TIME = "mpi.bcast", "latency_us"


def _forced(algorithm: str) -> dict[str, str]:
    """Return the variables that make Open MPI use an algorithm for MPI_Bcast."""
    number, piece = FORMS[algorithm]
    return {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", CHOICE: number, **({SEGMENT: piece} if piece else {})}


def _specs() -> list[Spec]:
    here = [
        s
        for name in ("allreduce", "reduce", "bcast")
        for s in sweep(f"mpi.{name}", sizes="8,3000,64Ki", transport="shm")
    ]
    return here + [
        spec.replace(environment=_forced(algorithm))
        for algorithm in FORMS
        for ranks in ([8] if algorithm == PIPELINE else [2, 4, 8])
        for spec in sweep(BCAST, sizes=SIZE, ranks=ranks, transport="tcp", testbed=HOSTS, launcher="openmpi")
    ]


def _point(algorithm: str, ranks: int) -> tuple[str, str, dict[str, object]]:
    number, piece = FORMS[algorithm]
    return BCAST, TIME, {f"env_{CHOICE}": number, f"env_{SEGMENT}": piece, "ranks": ranks}


def _median(results: Results, algorithm: str, ranks: int) -> float:
    benchmark, metric, where = _point(algorithm, ranks)
    return results.median(benchmark, metric, **where)


def _linear(results: Results) -> Expected:
    """Time of the linear broadcast on eight hosts, ms."""
    return results.combined(lambda time: time / 1e3, _point(LINEAR, 8))


def _headers(results: Results) -> Expected:
    """How much longer than seven bare messages on one link the linear broadcast takes, %."""
    return results.combined(lambda time: 100 * (time * LINK / (7 * SIZE) - 1), _point(LINEAR, 8))


def _gain(results: Results) -> Expected:
    linear = _median(results, LINEAR, 8)
    return results.combined(lambda linear, tree: linear / tree, _point(LINEAR, 8), _point(TREE, 8)).without(
        {
            "the factor to the tree with whole messages": linear / _median(results, WHOLE, 8),
            "the factor to the pipeline": linear / _median(results, PIPELINE, 8),
        }
    )


def _growth(results: Results, algorithm: str) -> Expected:
    return results.combined(lambda eight, two: eight / two, _point(algorithm, 8), _point(algorithm, 2)).without(
        {"the factor from 4 to 8": _median(results, algorithm, 8) / _median(results, algorithm, 4)}
    )


def _steps(results: Results) -> Expected:
    """Time of the tree with whole messages, in units of one message on one link."""
    return results.combined(lambda time: time * LINK / SIZE, _point(WHOLE, 8)).without(
        {"the steps of the tree in pieces": _median(results, TREE, 8) * LINK / SIZE}
    )


def _law(results: Results) -> Expected:
    """Find the law with the nearest growth from 2 to 8 ranks, as a ratio."""
    growth = float(_growth(results, TREE).centre)
    return Expected(min(GROWTH, key=lambda law: abs(np.log(growth / GROWTH[law]))))


def _best(results: Results) -> Expected:
    return Expected(min(FORMS, key=lambda name: _median(results, name, 8)))


def _ratio(results: Results) -> Expected:
    where = {"transport": "shm", "size": SIZE}
    whole, reduced, sent = (results.median(f"mpi.{name}", TIME, **where) for name in ("allreduce", "reduce", "bcast"))
    found = results.combined(
        lambda whole, reduced, sent: whole / (reduced + sent),
        ("mpi.allreduce", TIME, where),
        ("mpi.reduce", TIME, where),
        (BCAST, TIME, where),
    )
    return found.without(
        {"the ratio to MPI_Reduce alone": whole / reduced, "the ratio to MPI_Bcast alone": whole / sent}
    )


def _view(results: Results) -> View:
    return View("", results.records, results.summary[results.summary["transport"] == "shm"])


def violations(results: Results) -> pd.DataFrame:
    """Return the violations of guidelines in shared memory, as `labkit.judge.rules.guideline.table` does."""
    view = _view(results)
    return guideline.table(view, guideline.judged(view).violations)


def _said(results: Results) -> str:
    judged = guideline.judged(_view(results))
    return sentences.guidelines(judged.violations, judged.checked)


def _verdict(results: Results) -> Expected:
    table = violations(results)
    violation = table[(table["guideline"] == RULE) & (table["message_size_B"] == SIZE)]
    if violation.empty:
        return Expected(KEPT)
    return Expected(BROKEN if violation["certain"].iloc[0] else DOUBT)


def _rows(results: Results) -> pd.DataFrame:
    """Return the broadcasts on the virtual hosts, with their algorithm."""
    rows = results.rows(BCAST, transport="tcp")
    names = {form: name for name, form in FORMS.items()}
    pieces = rows[f"env_{SEGMENT}"].astype(object).where(rows[f"env_{SEGMENT}"].notna(), None)
    algorithms = [names[form] for form in zip(rows[f"env_{CHOICE}"], pieces, strict=True)]
    return rows.assign(algorithm=algorithms).sort_values(["algorithm", "ranks"])


def _scaling(results: Results) -> pd.DataFrame:
    rows = []
    for name, ranks in _rows(results)[["algorithm", "ranks"]].itertuples(index=False):
        time = results.combined(lambda time: time / 1e3, _point(name, ranks))
        rows.append(
            {
                "algorithm": name,
                "ranks": ranks,
                "time in ms": float(time.centre),
                "from": time.low,
                "to": time.high,
            }
        )
    return pd.DataFrame(rows)


def _shown(results: Results) -> pd.DataFrame:
    """The violations as a learner reads them."""
    found = violations(results)
    found = found.assign(certain=found["certain"].map({True: "yes", False: "no"}))
    shown = found[["guideline", "message_size_B", "left_us", "right_us", "certain", "doubt"]]
    return shown.rename(columns={"left_us": "left in µs", "right_us": "right in µs"})


LAB = Lab(
    title="Collectives",
    specs=_specs,
    recorded=("two-cores", "two-cores-labs"),
    effort=Effort(launches=6, time_cap=0.5),
    predictions=(
        Question(
            name="alone",
            unit="ms",
            of=_linear,
            text="A root sends 64 KiB to seven hosts one after the other, over a link of 50 Mbit/s. How long until the last one has it?",
        ),
        Question(
            name="tree",
            text="How many times as fast is a binomial tree, where every rank that has a segment passes it on?",
            of=_gain,
        ),
    ),
    questions=(
        Question(
            name="linear",
            unit="%",
            text="Seven messages of 64 KiB leave by the root's link of 6.25 MB/s. By how much longer does the linear broadcast on eight hosts take than their bytes alone?",
            of=_headers,
            slips=slips.PART | {"measured / bytes in %: take 100 away": lambda value: value + 100},
            why="Seven messages leave by the root's link one after the other. TCP carries 1448 bytes of data in a frame of 1514, which makes them 4.6 % longer. Starting the sends costs the rest.",
            hints=(
                "A message of 65536 B takes 10.486 ms at 6.25 B/µs, if nothing else is sent.",
                "100 · (measured / 73.4 ms − 1).",
            ),
        ),
        Question(
            name="gain",
            text="On eight hosts, by what factor is the linear broadcast slower than the binomial tree in pieces?",
            of=_gain,
            slips=slips.INVERSE | slips.GROWTH,
            why="Both algorithms wait for the root's link. The linear broadcast sends every byte over it seven times, the tree three times, so the gain is about 7/3.",
            hints=(
                "The table shows both.",
                "Divide the first by the second. The root sends every byte seven times, or three times.",
            ),
        ),
        Question(
            name="growth",
            text="From 2 to 8 hosts: by which factor does the linear broadcast's time grow?",
            of=lambda r: _growth(r, LINEAR),
            slips=slips.INVERSE | slips.GROWTH,
            why="The root sends a message to each of the p − 1 others over one link: one message for two ranks, seven for eight.",
            hints=(
                "Two rows of the table: the same algorithm with 8 and with 2 ranks.",
                "The root sends ranks − 1 messages.",
            ),
        ),
        Question(
            name="law",
            text="How does the time of the tree in pieces grow with the ranks?",
            choices=tuple(GROWTH),
            of=_law,
            why="Every rank that has a piece passes it on, so the number of ranks that have it doubles with each step. The root's link carries log₂ p copies of each byte.",
            hints=("Divide its time on 8 hosts by that on 2.", "Those who have the message double with every step."),
        ),
        Question(
            name="steps",
            text="The tree passes on whole messages on eight hosts: how many times m / rate does that take, with 6.25 MB/s and 64 KiB?",
            of=_steps,
            slips=slips.THOUSANDTH | {"the steps at 50 B/µs: the rate counts bits": slips.times(8)},
            why="A rank sends to all its children at once, so they share its link and all finish late. On eight ranks the longest path has a rank with three children, then one with two, then one with a single child: 3 + 2 + 1.",
            hints=("m / rate is 65536 B over 6.25 B/µs.", "Divide the time in the table by it; mind ms and µs."),
        ),
        Question(
            name="best",
            text="Which algorithm is the fastest for 64 KiB on eight hosts?",
            choices=tuple(FORMS),
            of=_best,
            why="In a chain each link carries every byte once, and a rank passes a piece on while the next one arrives. A tree sends every byte several times over the root's link.",
            hints=(
                "Compare the four rows with 8 ranks.",
                "A pipeline passes on the first piece while the second arrives: nearly m / rate, however many hosts.",
            ),
        ),
        Question(
            name="ratio",
            text="Two ranks, shared memory, 64 KiB: what is the ratio of the time of MPI_Allreduce to that of MPI_Reduce and MPI_Bcast together?",
            of=_ratio,
            slips=slips.INVERSE,
            why="MPI_Allreduce gives the same result as the two calls together. A ratio above 1 is therefore no law of nature: the library chose an algorithm that moves more or waits more often at this size.",
            hints=("The sizes are the same on both sides.", "The time of the one over the sum of the two others."),
        ),
        Question(
            name="verdict",
            text="So what about the guideline that MPI_Allreduce is no slower than MPI_Reduce with MPI_Bcast, at 64 KiB?",
            choices=(BROKEN, DOUBT, KEPT),
            of=_verdict,
            why="A guideline compares a library with itself, so it needs no peak rate. A ratio above 1 counts only if the intervals of the launches are apart.",
            hints=(
                "The table of violations holds what is slower; what is not in it is not slower.",
                "Its column certain says whether the launches show it.",
            ),
        ),
    ),
    shows={
        "growth": lambda r: figures.versus(_rows(r), "ranks", TIME, series=["algorithm"], even=True, log=False),
        "scaling": _scaling,
        "violations": _shown,
        "guidelines": _said,
    },
    means="The fastest algorithm depends on the size and on the number of ranks, so a library must choose, and it sometimes chooses badly. Compare a collective with others that give the same result before you write your own; then set the library's variable, which changes no source.",
    reading=(
        "Lab 7, *Congestion*: what happens where links are shared.",
        "`notebooks/30-collectives.ipynb`, and `notebooks/86-tune.ipynb` to choose algorithms by measuring.",
        "R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19 (2005).",
        "J. L. Träff, W. D. Gropp, R. Thakur, IEEE TPDS 21 (2010).",
    ),
)
