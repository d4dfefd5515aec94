"""The command for testbeds that stay up."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence

from labkit.apps.cli.console import OK, say
from labkit.apps.cli.fields import number
from labkit.errors import LaunchError, SpecError
from labkit.point import ranges


def options(verb: argparse.ArgumentParser) -> None:
    """Add the options of `labkit testbed`."""
    verb.add_argument(
        "action",
        choices=("up", "down", "list", "run"),
        help="start a testbed, stop it, list all and those that run, or run the command after -- in one",
    )
    verb.add_argument(
        "testbed", nargs="?", default="", help="NAME[:ARG][,key=value…]; options may also be given as --key value"
    )
    verb.add_argument(
        "--lifetime",
        type=number,
        default=3600.0,
        metavar="S",
        help="stop the testbed after S seconds (default: %(default)g)",
    )


def run(options: argparse.Namespace) -> int:
    """Bring up a testbed, take it down, list those that run, or run a command in one."""
    actions = {"up": _up, "down": _down, "list": _list, "run": _run}
    return actions[options.action](options)


def _text(options: argparse.Namespace) -> str:
    """Return the description of the testbed on the command line."""
    from labkit import testbeds

    if not options.testbed:
        raise SpecError(
            f"The testbed is missing. There are: {', '.join(testbeds.names())}. Write: labkit testbed up soft-roce"
        )
    name, argument, settings = testbeds.parse(options.testbed)
    return testbeds.text_of(name, argument, settings | _pairs(options.rest))


def _pairs(words: Sequence[str]) -> dict[str, str]:
    """Return option → value, from ``--key value`` and ``--key=value``."""
    pairs, rest = {}, list(words)
    while rest:
        word = rest.pop(0)
        key, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or not key or not (equals or rest):
            raise SpecError(f"{word!r} is not an option of a testbed. Write --key value.")
        pairs[key.replace("-", "_")] = value if equals else rest.pop(0)
    return pairs


def _up(options: argparse.Namespace) -> int:
    from labkit import testbeds

    ranges.check("lifetime", options.lifetime, word="--lifetime ")
    text = _ask_where(_text(options))
    _offer_packages(text)
    began = time.monotonic()
    say(f"starting {text} …")
    testbed = testbeds.bring_up(text, lifetime=options.lifetime)
    elapsed, minutes = time.monotonic() - began, (testbed.until - time.time()) / 60
    lines = testbeds.get(testbeds.parse(testbed.text)[0]).shell(testbed.handle)
    use = f'with: eval "$(labkit testbed up {testbed.text})"' if lines else f"with --testbed {testbed.text}"
    say(
        f"{testbed.text} started in {elapsed:.1f} s and runs for at most {minutes:.0f} min. "
        f"Use it {use}; stop it with: labkit testbed down {testbed.text}"
    )
    if lines:
        print(lines)
    return OK


def _ask_where(text: str) -> str:
    """Return the description; for soft-roce, first ask whether to do without a guest if this is possible."""
    from labkit import testbeds
    from labkit.testbeds import soft_roce

    name, argument, settings = testbeds.parse(text)
    if name != "soft-roce" or "where" in settings or not sys.stdin.isatty() or not soft_roce.possible_on_host():
        return text
    say(
        "This kernel can create the two devices on this machine, without a guest. labkit then adds two interfaces and "
        "routing rules while the testbed runs. Do that instead of booting a guest? [y/N]"
    )
    yes = sys.stdin.readline().strip().lower() in ("y", "yes")
    return testbeds.text_of(name, argument, settings | {"where": "host"}) if yes else text


def _offer_packages(text: str) -> None:
    """Offer to install the packages that a testbed needs, where somebody can answer.

    Raises
    ------
    LaunchError
        If apt fails.
    """
    from labkit import testbeds
    from labkit.testbeds import soft_roce

    name, _, settings = testbeds.parse(text)
    if name != "soft-roce":
        return
    packages = soft_roce.absent(settings.get("where", "guest") == "guest")
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

    running = testbeds.up()
    chosen = running
    if options.testbed:
        text = _text(options)
        chosen = [testbed for testbed in running if testbed.text == text or testbeds.parse(testbed.text)[0] == text]
        if not chosen:
            raise SpecError(
                f"Testbed {text} is not running. Running: {', '.join(testbed.text for testbed in running) or 'none'}."
            )
    for testbed in chosen:
        testbeds.take_down(testbed)
        say(f"{testbed.text} is stopped.")
    if not chosen:
        say("No testbed is running.")
    return OK


def _list(options: argparse.Namespace) -> int:
    from labkit import testbeds

    running = {testbed.text: testbed for testbed in testbeds.up()}
    for name in testbeds.names():
        first = testbeds.get(name).doc.strip().splitlines()[0]
        print(f"{name:18} {first}")
    for text, testbed in running.items():
        print(f"running: {text}, process {testbed.pid}, {(testbed.until - time.time()) / 60:.0f} min left")
    return OK


def _run(options: argparse.Namespace) -> int:
    """Run a command on the first host of a testbed; start the testbed if it is not up."""
    from labkit import testbeds
    from labkit.io import supervise

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
