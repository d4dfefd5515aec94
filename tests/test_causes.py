"""The first cause of a failure, from what programs print."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import LaunchError, known_failures

BANNER = """--------------------------------------------------------------------------
ORTE was unable to reliably start one or more daemons.
This usually is caused by:

* not finding the required libraries and/or binaries on
  one or more nodes. Please check your PATH and LD_LIBRARY_PATH
""" + "".join(f"* advice {n}\n" for n in range(40))


@pytest.mark.parametrize(
    ("said", "line", "remedy", "lasting"),
    [
        ("ssh: Could not resolve hostname a: Name or service not known", "", "the name a in --hosts", True),
        ("ssh: connect to host n1 port 22: Connection refused", "", "`ssh n1 true` works", True),
        ("Connection to 10.1.1.1 port 22 timed out", "", "10.1.1.1 is up", True),
        ("root@n1: Permission denied (publickey,password).", "", "ssh-copy-id", True),
        ("There are not enough slots available in the system to satisfy the 8", "", "fewer --ranks", True),
        ("bash: line 1: orted: command not found", "", "same MPI", True),
        (
            "python: error while loading shared libraries: libmpi.so.40: cannot open shared object file: No such file or directory",
            "",
            "Install the library libmpi.so.40",
            True,
        ),
        ("[vm:1] socket() failed: Too many open files (24)", "", "ulimit -n $(ulimit -Hn)", False),
        ("/opt/venv/bin/python: No module named labkit.worker", "", "Install labkit at the same path", True),
        ("Exception: MPI_ERR_WIN: invalid window", "", "env.OMPI_MCA_osc=ucx", True),
        ("OSError: [Errno 28] No space left on device", "", "Free space", False),
    ],
)
def test_a_known_cause_comes_first_with_what_to_do(said: str, line: str, remedy: str, lasting: bool) -> None:
    error = LaunchError("the ranks ended.", command=["mpirun", "a b"], exit_status=1, stderr=f"{said}\n{BANNER}")
    text = str(error)
    assert error.brief == f"the ranks ended. ({said[:200]})"
    assert text.splitlines()[1] == f"cause: {said}"
    assert remedy in text.splitlines()[2]
    assert "command: mpirun 'a b'" in text
    assert error.lasting is lasting
    assert len(text.splitlines()) < 30
    assert text.index(said) < text.index("lines omitted") < text.index("* advice 39")


def test_the_exception_of_a_traceback_is_the_cause_where_nothing_else_is_known() -> None:
    said = 'Traceback (most recent call last):\n  File "x.py", line 1\n    failed()\nValueError: the disk is on fire\n'
    assert known_failures.first(said) == "ValueError: the disk is on fire"
    assert known_failures.first("begins\nerror: no luck\nbye\n") == "error: no luck"
    assert known_failures.first("-----\nlast words\n====\n") == "last words"
    assert known_failures.first("  \n---\n") == ""
    assert not LaunchError("no", stderr=said).lasting


@given(st.text())
def test_any_output_gives_a_bounded_excerpt(text: str) -> None:
    shown = known_failures.excerpt(text)
    assert len(shown.splitlines()) <= known_failures.HEAD + known_failures.TAIL + 1
    assert all(len(line) <= known_failures.LINE for line in shown.splitlines())
    assert len(known_failures.first(text)) <= known_failures.LINE
