"""Handles points that fail: a second start, or none if it would fail for the same reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from labkit.errors import AbsentError, LabkitError, LaunchError, SpecError
from labkit.host import allocation
from labkit.run import nodes
from labkit.run.fingerprints import fingerprint
from labkit.run.point import Failure, Point
from labkit.run.schedule import Run, setting
from labkit.store.campaign import Campaign


def retried(
    points: Sequence[Point], run: Run, campaign: Campaign, retry: Callable[[Failure], Point]
) -> Iterator[Failure]:
    """Measure points; those that fail once more by a fresh start, on other hosts where one of theirs is bad.

    Parameters
    ----------
    run : measures points, and yields those that failed.
    retry : makes of a failure the point to be measured once more.
    """
    fitting = []
    for point in points:
        if _fits(point):
            fitting.append(point)
        else:
            yield Failure(point, LaunchError(f"too few hosts are left: {_job_hosts()}. Submit again with other nodes."))
    failures = list(run(fitting)) if fitting else []
    died = [failure.point.spec for failure in failures if isinstance(failure.error, LaunchError)]
    nodes.left_out(dict.fromkeys(name for spec in died for name in nodes.hosts(spec)), campaign)
    second = []
    for failure in failures:
        if final(failure.error) or not _fits(failure.point):
            yield failure
        else:
            second.append(failure)
    if second:
        yield from run([retry(failure) for failure in second])


def final(error: LabkitError) -> bool:
    """Whether a second start would fail for the same reason; in a batch job it may have other hosts."""
    lasting = isinstance(error, LaunchError) and error.lasting and allocation.current() is None
    return lasting or isinstance(error, AbsentError)


def _fits(point: Point) -> bool:
    """Whether a point is still the same work, now that hosts may be left out."""
    if allocation.current() is None:
        return True
    try:
        return fingerprint(point.spec, point.library) == point.fingerprint
    except SpecError:
        return False


def _job_hosts() -> str:
    """The hosts that the batch job has, for an error."""
    job = allocation.current()
    return f"job {job.name} has {', '.join(job.hosts)}" if job else ""


class FailedHosts:
    """Settings with ranks that cannot start: their other points and launches fail at once, for the same reason."""

    def __init__(self) -> None:
        self._errors: dict[tuple[object, ...], LabkitError] = {}

    def watched(self, run: Run, failed: Callable[[Failure], None]) -> Run:
        """The same, which starts nothing that failed for good before.

        Parameters
        ----------
        failed : told of every point that was not tried.
        """

        def serve(points: Sequence[Point]) -> Iterator[Failure]:
            key = setting(points[0].spec)
            if key in self._errors:
                for point in points:
                    failure = Failure(point, self._errors[key])
                    failed(failure)
                    yield failure
                return
            for failure in run(points):
                if isinstance(failure.error, LaunchError) and final(failure.error):
                    self._errors[key] = failure.error
                yield failure

        return serve
