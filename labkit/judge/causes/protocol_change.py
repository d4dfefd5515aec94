"""The library changes its protocol or algorithm between two sizes."""

from __future__ import annotations

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.finding import SIZE, Evidence, Finding, Several, Value, Values


def test(case: Case) -> Finding | None:
    """Other benchmarks of the same library are odd between the same sizes."""
    library, sizes = _library(case, case.about), _sizes(case.about)
    alike = [one for one in case.others if _sizes(one) == sizes and _library(case, one) == library] if library else []
    names = sorted({one.subject.benchmark for one in alike} - {case.about.subject.benchmark})
    if not names:
        return None
    between = Several(
        tuple(Value(value=size, unit=SIZE) for size in sorted(row["message_size_B"] for row in case.rows))
    )
    values: Values = {"others": Several.of(names, "benchmark"), "sizes": between, "library": library}
    return CAUSE.found(case, [Evidence(code="so do", values=values)])


def _sizes(one: Finding) -> set[str]:
    """Return the two sizes of a finding, in words."""
    return {value.of for name in ("measured", "other") if isinstance(value := one.values[name], Value)}


def _library(case: Case, one: Finding) -> str:
    """Return the MPI library of a finding's first point; empty for a benchmark without one."""
    row = case.view.row(one.subject.points[0])
    return str(row["library"]) if row is not None and benchmarks.get(str(row["benchmark"])).mpi else ""


CAUSE = Cause(
    code="protocol-change",
    name="the library changes its protocol or algorithm",
    seen="other benchmarks of the library are odd between the same sizes",
    excluded="no other benchmark is",
    decides="sizes in between, and the limits that the library prints",
    clues={"so do": "so do {others} with {library} between {sizes: and }"},
    remedy="Measure sizes in between, and set the library's limit.",
    test=test,
    explains=("size-order", "size-jump"),
)
