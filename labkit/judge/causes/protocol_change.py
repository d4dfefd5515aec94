"""The library changes its protocol or algorithm between two sizes."""

from __future__ import annotations

from labkit import benchmarks
from labkit.judge.cause import Case, Cause
from labkit.judge.finding import SIZE, Evidence, Finding, Several, Value, Values, Wanted


def test(case: Case) -> Finding | None:
    """Other benchmarks of the same library are odd between the same sizes."""
    names = sorted({one.subject.benchmark for one in _alike(case)} - {case.about.subject.benchmark})
    if not names:
        return None
    between = Several(
        tuple(Value(value=size, unit=SIZE) for size in sorted(row["message_size_B"] for row in case.rows))
    )
    values: Values = {"others": Several.of(names, "benchmark"), "sizes": between, "library": _library(case, case.about)}
    return CAUSE.found(case, [Evidence(code="so do", values=values)])


def points(case: Case) -> list[Wanted]:
    """Return the size in between for all benchmarks of the library that are odd there, if the sizes are far apart."""
    low, *_, high = sorted(spec.size for spec in case.specs) if len(case.specs) > 1 else (0, 0)
    between = (low + high) // 2 // _WHOLE * _WHOLE
    if high < _FAR * low or not low < between < high:
        return []
    found = [case.view.spec(one.subject.points[0]) for one in (case.about, *_alike(case))]
    return [Wanted(spec.replace(size=between)) for spec in found if spec]


_FAR, _WHOLE = 1.9, 8  # times a size that the next one usually is; B of the largest element


def _alike(case: Case) -> list[Finding]:
    """Return the findings of the same library between the same sizes."""
    library, sizes = _library(case, case.about), _sizes(case.about)
    return [one for one in case.others if library and _sizes(one) == sizes and _library(case, one) == library]


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
    seen="other benchmarks of the library show odd results between the same sizes",
    excluded="no other benchmark does",
    decides="sizes in between, and the limits that the library prints",
    clues={"so do": "so do {others} with {library} between {sizes: and }"},
    remedy="Measure sizes in between, and set the library's limit.",
    test=test,
    points=points,
    explains=("size-order", "size-jump"),
)
