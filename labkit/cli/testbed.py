"""The verb for testbeds that stay up."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence

from labkit import ranges
from labkit.cli.console import OK, say
from labkit.errors import LaunchError, SpecError


def options(verb: argparse.ArgumentParser) -> None:
    """Words of the verb."""
    verb.add_argument(
        "action",
        choices=("up", "down", "list", "run"),
        help="start a testbed, stop it, list running ones, or run the command after -- in it",
    )
    verb.add_argument(
        "testbed", nargs="?", default="", help="NAME[:ARG][,key=value…]; options may also be given as --key value"
    )
    verb.add_argument(
        "--lifetime",
        type=float,
        default=3600.0,
        metavar="S",
        help="stop the testbed after S seconds (default: %(default)g)",
    )


def run(options: argparse.Namespace) -> int:
    """Bring up, take down, list, run."""
    actions = {"up": _up, "down": _down, "list": _list, "run": _run}
    return actions[options.action](options)


def _text(options: argparse.Namespace) -> str:
    """The description that the words of the command line make."""
    from labkit import testbeds

    if not options.testbed:
        raise SpecError(
            f"The testbed is missing. There are: {', '.join(testbeds.names())}. Write: labkit testbed up soft-roce"
        )
    name, argument, own = testbeds.parse(options.testbed)
    return testbeds.text_of(name, argument, own | _pairs(options.rest))


def _pairs(words: Sequence[str]) -> dict[str, str]:
    """Option → value, from ``--key value`` and ``--key=value``."""
    found, left = {}, list(words)
    while left:
        word = left.pop(0)
        key, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or not key or not (equals or left):
            raise SpecError(f"{word!r} is not an option of a testbed. Write --key value.")
        found[key.replace("-", "_")] = value if equals else left.pop(0)
    return found


def _up(options: argparse.Namespace) -> int:
    from labkit import testbeds

    ranges.check("lifetime", options.lifetime, word="--lifetime ")
    text = _asked(_text(options))
    _provided(text)
    began = time.monotonic()
    say(f"starting {text} …")
    kept = testbeds.bring_up(text, lifetime=options.lifetime)
    say(
        f"{kept.text} started in {time.monotonic() - began:.1f} s and runs for at most {(kept.until - time.time()) / 60:.0f} min. "
        f"Use it with --testbed {kept.text}; stop it with: labkit testbed down {kept.text}"
    )
    return OK


def _asked(text: str) -> str:
    """The description, for soft-roce after asking whether to do without a guest where that can be."""
    from labkit import testbeds
    from labkit.testbeds import soft_roce

    name, argument, own = testbeds.parse(text)
    if name != "soft-roce" or "where" in own or not sys.stdin.isatty() or not soft_roce.possible_on_host():
        return text
    say(
        "This kernel can create the two devices on this machine, without a guest. labkit then adds two interfaces and "
        "routing rules while the testbed runs. Do that instead of booting a guest? [y/N]"
    )
    yes = sys.stdin.readline().strip().lower() in ("y", "yes")
    return testbeds.text_of(name, argument, own | {"where": "host"}) if yes else text


def _provided(text: str) -> None:
    """Offer to install the packages that a testbed needs, where somebody can answer.

    Raises
    ------
    LaunchError
        If apt fails.
    """
    from labkit import testbeds
    from labkit.testbeds import soft_roce

    name, _, own = testbeds.parse(text)
    packages = soft_roce.absent(own.get("where", "guest") == "guest") if name == "soft-roce" else []
    if not packages or not sys.stdin.isatty() or not shutil.which("apt-get"):
        return  # bringing it up names the packages that are missing
    say(f"{name} needs Debian packages that are not installed:")
    for package in packages:
        say(f"  {package}: {soft_roce.PURPOSES[package]}")
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    command = [*sudo, "apt-get", "install", "-y", "--no-install-recommends", *packages]
    say(f"Install them with '{shlex.join(command)}'? [y/N]")
    if sys.stdin.readline().strip().lower() in ("y", "yes") and (status := subprocess.call(command)):
        raise LaunchError(
            "apt could not install these packages. Run 'apt-get update', and try again.",
            command=command,
            exit_status=status,
        )


def _down(options: argparse.Namespace) -> int:
    from labkit import testbeds

    there = testbeds.up()
    chosen = there
    if options.testbed:
        text = _text(options)
        chosen = [one for one in there if one.text == text or testbeds.parse(one.text)[0] == text]
        if not chosen:
            raise SpecError(
                f"Testbed {text} is not running. Running: {', '.join(one.text for one in there) or 'none'}."
            )
    for one in chosen:
        testbeds.take_down(one)
        say(f"{one.text} is stopped.")
    if not chosen:
        say("No testbed is running.")
    return OK


def _list(options: argparse.Namespace) -> int:
    from labkit import testbeds

    there = {one.text: one for one in testbeds.up()}
    for name in testbeds.names():
        first = (testbeds.module_of(name).__doc__ or "").strip().splitlines()[0]
        print(f"{name:18} {first}")
    for text, one in there.items():
        print(f"running: {text}, process {one.pid}, {(one.until - time.time()) / 60:.0f} min left")
    return OK


def _run(options: argparse.Namespace) -> int:
    """A command on the first host of a testbed: of one that is up, else of one brought up for it."""
    from labkit import supervise, testbeds

    words = list(options.rest)
    if "--" in words:
        words.remove("--")
    if not options.testbed or not words:
        raise SpecError("The command is missing. Write: labkit testbed run soft-roce -- python3 hello.py")
    with testbeds.open(testbeds.resolved(options.testbed), say) as testbed:
        command = testbed.wrap(words)
        with supervise.start(command, stdout=None, stderr=None) as tree:
            status = tree.wait()
    return OK if status is None else status
