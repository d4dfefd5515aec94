"""Two soft-RoCE devices joined by a virtual cable: real verbs and real packets, without an RDMA adapter.

By default they live in a guest that is booted for them, emulated where the machine has no KVM: everything works, and
nothing is fast. On a kernel that has rdma_rxe they can be made on the machine itself (``where=host``), by root.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from labkit.errors import LaunchError, SpecError
from labkit.notes import badge
from labkit.spec import Spec, validated
from labkit.testbeds import Testbed, _guest, _rdma
from labkit.testbeds._guest import Guest
from labkit.tools import Place

ARGUMENT = ""
ADJUSTABLE = ("delay", "loss", "rate", "ets")
GUEST = "soft-RoCE in an emulated guest: functional, not performance"
HOST = "soft-RoCE: functional, not performance"
NEEDS = {
    "ip": "iproute2",
    "rdma": "iproute2",
    "tc": "iproute2",
    "sysctl": "procps",
    "ibv_devinfo": "ibverbs-utils",
    "/etc/libibverbs.d/rxe.driver": "ibverbs-providers",
}
PURPOSES = {
    "iproute2": "the commands ip, tc and rdma",
    "procps": "the command sysctl",
    "ibverbs-utils": "lists RDMA devices",
    "ibverbs-providers": "the driver of soft-RoCE for programs",
    "qemu-system-x86": "emulates the guest",
    "qemu-system-arm": "emulates the guest",
    "busybox-static": "starts the guest",
    "cpio": "packs what the guest starts with",
    "kmod": "loads modules of the kernel",
    "linux-image-amd64": "the guest's kernel; the running kernel stays",
    "linux-image-arm64": "the guest's kernel; the running kernel stays",
}
_SETUP = str(Path(__file__).parent / "_soft_roce.sh")
_MODULES = ("rdma_rxe", "ib_uverbs", "rdma_ucm", "veth", "virtio_console")
# class of traffic by its --tclass (the byte of DSCP and ECN); what has neither is in the last one
ETS_CLASSES = (104, 40)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the testbed soft-roce.

    Parameters
    ----------
    where : in a guest, or on this machine (root; adds interfaces and routing rules while it is up).
    cpus : of the guest; with one, wait for events rather than poll.
    memory : of the guest, as qemu takes it.
    accel : ``tcg`` emulates the guest's processor, ``kvm`` does not, where the machine lets qemu use it.
    mtu : of the cable, B; 4200 lets the devices have their largest, 4096.
    delay : of the cable one way, in both directions: ``1ms``; empty for none.
    loss : of packets, in %; each direction.
    rate : of the cable in each direction: ``24mbit``; empty for no limit.
    ets : shares of two classes of traffic in the sending direction of the client, such as ``3:1``; they are told
        apart by ``--tclass`` 104 and 40. Needs a rate. Empty for one class.
    """

    where: Literal["guest", "host"] = "guest"
    cpus: int = 2
    memory: str = "1G"
    accel: Literal["tcg", "kvm"] = "tcg"
    mtu: int = 4200
    delay: str = ""
    loss: float = 0.0
    rate: str = ""
    ets: str = ""


def options_of(values: Mapping[str, str]) -> Options:
    """Options from text, checked.

    Raises
    ------
    SpecError
        For an unknown option or an impossible value.
    """
    found = validated(Options, values, what="testbed soft-roce")
    wrong = ""
    if not 1 <= found.cpus <= 64:
        wrong = f"cpus={found.cpus}, but it must be 1 to 64"
    elif not re.fullmatch(r"\d+[MG]", found.memory):
        wrong = f"memory={found.memory!r}, but it must be like 512M or 1G"
    elif not 1280 <= found.mtu <= 9000:
        wrong = f"mtu={found.mtu}, but it must be 1280 to 9000 B"
    elif found.delay and not re.fullmatch(r"\d+(\.\d+)?(us|ms|s)", found.delay):
        wrong = f"delay={found.delay!r}, but it must be like 20ms or 500us"
    elif not 0 <= found.loss <= 50:
        wrong = f"loss={found.loss:g}, but it must be 0 to 50 %"
    elif found.rate and not re.fullmatch(r"\d+(\.\d+)?[kmg]bit", found.rate):
        wrong = f"rate={found.rate!r}, but it must be like 24mbit"
    elif found.ets and not (re.fullmatch(r"[1-9]\d*:[1-9]\d*", found.ets) and found.rate):
        wrong = f"ets={found.ets!r}, rate={found.rate!r}, but it must be two shares like 3:1, with a rate"
    if wrong:
        raise SpecError(f"testbed soft-roce: {wrong}.")
    return found


def link(options: Options) -> str:
    """Shell commands that give the cable the delay, loss, rate and shares of the options, and take away others'."""
    lines = [f"tc qdisc del dev {one} root 2>/dev/null || :" for one in ("v0", "v1")]
    netem = [
        *(["delay", options.delay] if options.delay else []),
        *(["loss", f"{options.loss:g}%"] if options.loss else []),
    ]
    if netem and options.ets:
        raise SpecError("testbed soft-roce: ets conflicts with delay and loss. Leave one of them out.")
    if options.ets:
        quanta = [str(3000 * int(share)) for share in options.ets.split(":")]
        lines += [
            "modprobe -a sch_ets sch_tbf cls_u32",
            f"tc qdisc add dev v0 root handle 1: tbf rate {options.rate} burst 20k latency 200ms",
            f"tc qdisc add dev v0 parent 1:1 handle 10: ets bands 3 strict 1 quanta {' '.join(quanta)} "
            f"priomap {' '.join(['2'] * 16)}",
            *(
                f"tc filter add dev v0 parent 10: protocol ip prio 1 u32 match ip tos {tclass & 0xFC:#x} 0xfc "
                f"flowid 10:{band}"
                for band, tclass in zip((2, 3), ETS_CLASSES, strict=True)
            ),
        ]
    elif options.rate or netem:
        rate = ["rate", options.rate] if options.rate else []
        lines += ["modprobe sch_netem"]
        lines += [f"tc qdisc add dev {one} root netem {' '.join([*netem, *rate])} limit 10000" for one in ("v0", "v1")]
    return "\n".join(lines)


class _Here:
    """This machine in the place of a guest."""

    folder = ""

    def words(self, *variables: str) -> tuple[str, ...]:
        """Nothing leads here but the variables."""
        return ("env", *variables) if variables else ()

    def run(self, command: Sequence[str], *, limit: float = 30.0) -> str:
        """Standard output of a command."""
        return _rdma.asked(command, limit=limit)


def absent(inside: bool = True) -> list[str]:
    """Debian packages that it needs and that are not installed, all of them.

    Parameters
    ----------
    inside : in a guest, which needs qemu and a kernel.
    """
    found = _guest.missing(NEEDS | (_guest.needs() if inside else {"modprobe": "kmod"}))
    with suppress(LaunchError):
        if inside:
            _guest.kernel(_MODULES)
        return found
    return [*found, "linux-image-amd64" if platform.machine() == "x86_64" else "linux-image-arm64"]


def here() -> bool:
    """Whether this machine could do without a guest: root, on a kernel that has the modules."""
    if os.geteuid() != 0 or absent(inside=False):
        return False
    program = shutil.which("modprobe", path="/usr/sbin:/sbin:/usr/bin:/bin") or "modprobe"
    wanted = [name for name in _MODULES if name != "virtio_console"]
    return not subprocess.run([program, "-n", "-a", *wanted], capture_output=True, check=False).returncode


@contextmanager
def open(argument: str, options: Mapping[str, str]) -> Iterator[Testbed]:
    """Boot the guest, or use this machine, and make the two devices.

    Raises
    ------
    SpecError
        For an argument or an impossible option.
    LaunchError
        If packages are missing (names all of them), the guest does not come up, or the devices cannot be made.
    """
    if argument:
        raise SpecError(f"the testbed soft-roce takes no argument, but got {argument!r}. Leave it out.")
    chosen = options_of(options)
    inside = chosen.where == "guest"
    packages = absent(inside)
    if packages:
        raise LaunchError(
            "The testbed soft-roce needs packages that are not installed. Run: sudo apt-get install "
            f"{' '.join(packages)}"
        )
    with ExitStack() as stack:
        place: Guest | _Here = _Here()
        if inside:
            place = stack.enter_context(
                _guest.boot(wanted=_MODULES, cpus=chosen.cpus, memory=chosen.memory, accel=chosen.accel)
            )
        else:
            stack.callback(place.run, ["sh", _SETUP, "down"])
        place.run(["sh", _SETUP, "up", str(chosen.mtu)], limit=90.0)
        yield adjusted(_testbed(place, _facts(place, chosen)), options)


def _facts(place: Guest | _Here, options: Options) -> dict[str, Any]:
    """What it is made of, and the table of addresses of its devices."""
    kernel = place.run(["uname", "-r"]).strip()
    gids = [entry.__dict__ for entry in _rdma.parsed(place.run(["sh", "-c", _rdma.FIND], limit=60.0))]
    how = {"accel": options.accel, "cpus": options.cpus} if place.folder else {}
    return {"kernel": kernel, "mtu": options.mtu, **how, "gids": gids}


def _testbed(place: Guest | _Here, facts: Mapping[str, Any]) -> Testbed:
    """The testbed in a guest, or here."""
    entries = [_rdma.Gid(**entry) for entry in facts["gids"]]
    words = place.words()
    server, client = _rdma.chosen(entries, "rxe1"), _rdma.chosen(entries, "rxe0")

    def ends(spec: Spec) -> Place:
        """The server uses rxe1, the client rxe0."""
        if spec.hosts or spec.device:
            raise SpecError(
                f"{spec.benchmark}: the testbed soft-roce has two devices of its own. Leave hosts and device out."
            )
        if spec.benchmark == "congestion.incast" and spec.transport != "verbs":
            raise SpecError("congestion.incast: TCP would stay on the guest's loopback. Set transport=verbs.")
        # UCX gets through by the link's own address alone
        places = (0, 0) if spec.benchmark.startswith("verbs.ucx") else (server.index, client.index)
        return Place(
            address="127.0.0.1",
            server=words,
            client=words,
            server_words={"device": server.device, "gid": str(places[0]), "rdma_address": server.ipv4},
            client_words={"device": client.device, "gid": str(places[1]), "rdma_address": server.ipv4},
            listens=lambda protocol, port: _rdma.listening(words, protocol, port),
            loopback=False,
        )

    return Testbed(
        "soft-roce",
        badges=(badge(GUEST if place.folder else HOST),),
        wrap=lambda argv: [*words, *argv],
        place=ends,
        evidence=lambda: counters(place.run(["sh", "-c", _COUNTERS])),
        facts={name: value for name, value in facts.items() if name != "gids"},
        handle={"folder": place.folder, "facts": dict(facts)},
    )


_COUNTERS = """cd /sys/class
for file in infiniband/rxe?/ports/1/hw_counters/* net/v?/statistics/tx_* net/v?/statistics/rx_bytes; do
  read -r value <$file && echo "$file $value"
done 2>/dev/null; :"""


def counters(text: str) -> dict[str, int]:
    """Counters of devices and interfaces, named ``rxe0.sent_pkts``, ``v0.tx_bytes``."""
    found = {}
    for line in text.splitlines():
        path, _, value = line.partition(" ")
        parts = path.split("/")
        found[f"{parts[1]}.{parts[-1]}"] = int(value)
    return found


def attach(handle: Mapping[str, Any]) -> Testbed:
    """The testbed that another process keeps up."""
    place: Guest | _Here = Guest(handle["folder"]) if handle["folder"] else _Here()
    if handle["folder"]:  # it keeps what it has read of this machine's files; they may have changed
        place.run(["sh", "-c", "echo 2 >/proc/sys/vm/drop_caches"])
    return _testbed(place, handle["facts"])


def adjusted(testbed: Testbed, options: Mapping[str, str]) -> Testbed:
    """Give the cable the delay, loss, rate and shares that are asked for, and no others."""
    chosen = options_of(options)
    _rdma.asked(testbed.wrap(["sh", "-c", link(chosen)]))
    asked = {name: getattr(chosen, name) for name in ADJUSTABLE}
    set_ = {name: value for name, value in asked.items() if value}
    return replace(testbed, facts={**testbed.facts, **set_})
