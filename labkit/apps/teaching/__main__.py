"""``python -m labkit.apps.teaching``: make a course of the labs, or the teacher's page over all learners."""

import argparse
import sys
from pathlib import Path

from labkit.apps.teaching import course
from labkit.apps.teaching.summary import collected, of_class
from labkit.errors import LabkitError


def _course(options: argparse.Namespace) -> str:
    written = course.write(options.folder)
    return f"{options.folder}: files written: {len(written)}. The solutions are in {options.folder / 'source'}.\n"


def _class(options: argparse.Namespace) -> str:
    if options.page is not None:
        course.page(options.folder, options.page)
        return f"{options.page}: written. `labkit lab`, or any Jupyter, opens it.\n"
    return "\n".join(of_class(name, learners) for name, learners in collected(options.folder).items())


def main(words: list[str]) -> int:
    """Run one of the commands; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m labkit.apps.teaching", description="for teachers of the labs")
    verbs = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, run, folder, text in (
        ("course", _course, "course", "write the labs with their solutions, as nbgrader takes them"),
        ("class", _class, "submitted", "print a page over all learners below a folder, in Markdown"),
    ):
        verb = verbs.add_parser(name, help=text, description=text)
        verb.add_argument("folder", nargs="?", type=Path, default=Path(folder), help=f"default: {folder}")
        verb.set_defaults(run=run)
        if run is _class:
            verb.add_argument("--page", type=Path, metavar="FILE", help="write a notebook with its figures instead")
    options = parser.parse_args(words)
    try:
        sys.stdout.write(options.run(options))
    except LabkitError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
