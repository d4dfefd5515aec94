"""What labkit promises of campaigns on NFS, tried between two hosts in a guest. ::

python trials.py VERSION OPTIONS TRIES SEED   prints a JSON line for each kind of trial: tries, and what was wrong
"""

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.nfs import server

BEAT = 1.0  # s; a heartbeat of labkit is ten times as long
N = 8  # points of a campaign
CHANCE = random.Random()


class Host:
    """A host with a process that does what it is asked."""

    def __init__(self, name: str) -> None:
        self.name, self.root = name, Path("/run/nodes") / name
        words = [
            "nsenter",
            f"--net=/run/netns/{name}",
            "unshare",
            "--uts",
            "--pid",
            "--fork",
            "--mount-proc",
            "sh",
            "-c",
        ]
        run = f"hostname {name} && exec {sys.executable} -m tests.nfs.host"
        self.process = subprocess.Popen(
            [*words, run], cwd=Path(__file__).parents[2], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *request: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def answer(self) -> Any:
        assert self.process.stdout is not None
        said = json.loads(self.process.stdout.readline())
        if "error" in said:
            raise RuntimeError(f"{self.name}: {said['error']}")
        return said["is"]

    def do(self, what: str, *arguments: Any) -> Any:
        self.ask(what, *arguments)
        return self.answer()


class Trials:
    """Kinds of trials; each tells what was wrong, nothing where all was as promised."""

    def __init__(self, one: Host, two: Host) -> None:
        self.one, self.two, self.count = one, two, 0

    def folder(self) -> tuple[str, str]:
        """A new campaign, as each host names it; both have seen that it is there, and that nobody holds it."""
        self.count += 1
        places = str(self.one.root / f"c{self.count}"), str(self.two.root / f"c{self.count}")
        self.one.do("take", places[0])
        self.two.do("holder", places[1])
        return places

    def shuffled(self) -> tuple[Host, Host, str, str]:
        here, there = self.folder()
        pairs = [(self.one, here), (self.two, there)]
        CHANCE.shuffle(pairs)
        (first, a), (second, b) = pairs
        return first, second, a, b

    def both_at_once(self) -> Iterator[str]:
        first, second, a, b = self.shuffled()
        at = time.monotonic() + 0.05
        first.ask("take", a, 0.2, at)
        second.ask("take", b, 0.2, at)
        answers = [first.answer(), second.answer()]
        spans = sorted((t["begun"], t["ended"]) for t in answers if "begun" in t)
        if not spans:
            yield "nobody got it"
        if len(spans) == 2 and spans[1][0] < spans[0][1]:
            yield f"both held it for {spans[0][1] - spans[1][0]:.3f} s"

    def second_is_told(self) -> Iterator[str]:
        first, second, a, b = self.shuffled()
        pid = first.do("hold", a)
        if second.do("holder", b).get("host") != first.name:
            yield "not seen by who looks"
        message = second.do("take", b).get("told", "")
        if f"process {pid} on {first.name} has used it since" not in message:
            yield f"not told: {message or 'got it'}"
        first.do("kill", pid, 15)

    def free_at_once(self) -> Iterator[str]:
        first, second, a, b = self.shuffled()
        first.do("take", a, 0.05)
        if message := second.do("take", b).get("told"):
            yield f"told although it had ended: {message}"

    def killed_on_this_host(self) -> Iterator[str]:
        first, _, a, _ = self.shuffled()
        pid = first.do("hold", a)
        time.sleep(0.3)
        first.do("kill", pid)
        if message := first.do("take", a).get("told"):
            yield f"told although it is gone from here: {message}"

    def killed_on_the_other(self, ahead: float = 0.0) -> Iterator[str]:
        first, second, a, b = self.shuffled()
        first.do("hurry", BEAT, 0.0)
        second.do("hurry", BEAT, ahead)
        pid = first.do("hold", a)
        until = time.monotonic() + CHANCE.uniform(1, 5) * BEAT
        while time.monotonic() < until:
            if "told" not in second.do("take", b):
                yield "taken from a holder that is alive"
            time.sleep(0.2 * BEAT)
        first.do("kill", pid)
        killed, refused = time.monotonic(), True
        while refused and time.monotonic() < killed + 20 * BEAT:
            refused = "told" in second.do("take", b)
            time.sleep(0.05 * BEAT)
        after = (time.monotonic() - killed) / BEAT
        if not 1.5 <= after <= 4.5:
            yield f"taken {after:.1f} heartbeats after the last sign of life"
        first.do("hurry", 10.0)
        second.do("hurry", 10.0)

    def clocks_that_differ(self) -> Iterator[str]:
        yield from self.killed_on_the_other(CHANCE.choice([-86400.0, 86400.0, 40.0, -40.0]))

    def points_of_a_killed_run(self) -> Iterator[str]:
        first, second, a, b = self.shuffled()
        second.do("done", b)
        first.do("fill", a, list(range(N)), CHANCE.randrange(N - 1))
        said, there = first.do("acknowledged", a), second.do("done", b)
        names = {f"{i // 2:016x}-{i % 2}" for i in there}
        if missing := {line.rpartition("/")[2].removesuffix(".parquet") for line in said} - names:
            yield f"acknowledged, not seen by the other host: {sorted(missing)}"
        if wrong := second.do("verify", b):
            yield f"verify: {wrong}"
        first.do("take", a)  # it knows at once that the killed one is gone
        if status := second.do("fill", b, list(range(N))):
            yield f"the second run ended with {status}"
        if second.do("read", b) != list(range(N)) or first.do("done", a) != list(range(N)):
            yield "not all are there"
        again = second.do("acknowledged", b)
        if twice := len(again) - len(set(again)):
            yield f"{twice} measured twice"
        if wrong := first.do("verify", a):
            yield f"verify after both: {wrong}"

    def seen_at_once(self) -> Iterator[str]:
        first, second, a, b = self.shuffled()
        for last in range(0, 6, 2):
            if second.do("done", b) != list(range(last)):
                yield f"{last} points, not seen at once"
            first.do("fill", a, list(range(last + 2)))
        first, second, a, b = second, first, b, a
        first.do("fill", a, list(range(6)))
        if len(second.do("acknowledged", b)) != 6:
            yield "measured again by the other host"

    def compacted(self) -> Iterator[str]:
        first, second, a, b = self.shuffled()
        first.do("fill", a, list(range(N)))
        second.do("read", b)
        status = first.do("compact", a, CHANCE.uniform(0, 0.6))
        if second.do("read", b) != list(range(N)) or second.do("done", b) != list(range(N)):
            yield f"points lost while compacting ({status})"
        if wrong := second.do("verify", b):
            yield f"verify: {wrong}"
        first.do("take", a)
        if status := second.do("compact", b):
            yield f"the second compacting ended with {status}"
        if first.do("read", a) != list(range(N)) or first.do("verify", a):
            yield "points lost after compacting twice"

    def read_while_compacted(self) -> Iterator[str]:
        first, second, a, b = self.shuffled()
        first.do("fill", a, list(range(N)))
        second.do("read", b)
        first.ask("compact", a)
        for _ in range(4):
            second.ask("read", b)
            if (points := second.answer()) != list(range(N)):
                yield f"{len(points)} of {N} points read"
        if status := first.answer():
            yield f"compacting ended with {status}"

    def two_write_to_the_log(self) -> Iterator[str]:
        first, second, a, b = self.shuffled()
        first.ask("chatter", a, "first", 50)
        second.ask("chatter", b, "second", 50)
        first.answer(), second.answer()
        lines = second.do("logged", b)
        if lost := [f"{who} {i}" for who in ("first", "second") for i in range(50) if f"{who} {i}" not in lines]:
            yield f"{len(lost)} of 100 lines lost"


KINDS = [
    name for name, value in vars(Trials).items() if not name.startswith("_") and name not in ("folder", "shuffled")
]


def main(version: str, options: str, tries: int, seed: int, kinds: list[str]) -> None:
    CHANCE.seed(seed)
    server.serve()
    for number in range(len(server.NODES)):
        server.node(number, version, options)
    hosts = [Host(name) for name in server.NODES]
    trials = Trials(hosts[0], hosts[1])
    for kind in kinds or KINDS:
        wrong: list[str] = []
        begun = time.monotonic()
        for _ in range(tries):
            try:
                wrong += getattr(trials, kind)()
            except RuntimeError as error:
                wrong.append(str(error))
        seconds = round(time.monotonic() - begun, 1)
        print(json.dumps({"kind": kind, "tries": tries, "wrong": wrong, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
