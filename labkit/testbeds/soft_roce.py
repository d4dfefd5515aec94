"""Two soft-RoCE devices joined by a virtual cable: real verbs and real packets, without an RDMA adapter.

By default labkit boots a guest for them, emulated if the machine has no KVM: everything works, but slowly. On a kernel
with rdma_rxe, root can make them on the machine itself (``where=host``).
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

from labkit import benchmarks
from labkit.errors import LaunchError, SpecError
from labkit.point.notes import badge
from labkit.point.spec import Spec, validated
from labkit.point.units import GiB, MiB
from labkit.testbeds import Kind, Testbed, _guest, _rdma
from labkit.testbeds._guest import Guest
from labkit.tools import Place
from labkit.worker.adapters import ADAPTERS

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
# variables of UCX for ranks: an adapter each, and the link's own address, the only one that UCX works with
RANKS = {
    ADAPTERS: "rxe0:1,rxe1:1",
    "UCX_IB_GID_INDEX": "0",
    "UCX_IB_ROCE_REACHABILITY_MODE": "all",  # a new UCX asks the routes, and link-local addresses have none
    "UCX_WARN_UNUSED_ENV_VARS": "n",  # an old one does not know that
}
# --tclass (the byte of DSCP and ECN) of the two classes of traffic; other packets are in the last class
ETS_CLASSES = (104, 40)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the testbed soft-roce.

    Parameters
    ----------
    where : in a guest, or on this machine (needs root; adds interfaces and routing rules while it is up).
    cpus : processors of the guest; with one, wait for events instead of polling.
    memory : memory of the guest, in qemu's notation.
    accel : ``tcg`` emulates the guest's processor; ``kvm`` runs on the real one, if the machine allows it.
    mtu : MTU of the cable, B; 4200 allows the devices their largest, 4096.
    delay : delay of the cable in each direction: ``1ms``; empty for none.
    loss : loss of packets, in %; each direction.
    rate : rate of the cable in each direction: ``24mbit``; empty for no limit.
    ets : shares of two classes of traffic that the client sends, such as ``3:1``; ``--tclass`` 104 and 40 distinguish
        them. Needs a rate. Empty for one class.
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

    @property
    def memory_size(self) -> int:
        """Memory of the guest, B."""
        return int(self.memory[:-1]) * {"M": MiB, "G": GiB}[self.memory[-1]]


def options_of(values: Mapping[str, str]) -> Options:
    """Check options and return them.

    Raises
    ------
    SpecError
        For an unknown option or an impossible value.
    """
    options = validated(Options, values, what="testbed soft-roce")
    wrong = ""
    if not 1 <= options.cpus <= 64:
        wrong = f"cpus={options.cpus}, but it must be 1 to 64"
    elif not re.fullmatch(r"\d+[MG]", options.memory):
        wrong = f"memory={options.memory!r}, but it must be like 512M or 1G"
    elif not 1280 <= options.mtu <= 9000:
        wrong = f"mtu={options.mtu}, but it must be 1280 to 9000 B"
    elif options.delay and not re.fullmatch(r"\d+(\.\d+)?(us|ms|s)", options.delay):
        wrong = f"delay={options.delay!r}, but it must be like 20ms or 500us"
    elif not 0 <= options.loss <= 50:
        wrong = f"loss={options.loss:g}, but it must be 0 to 50 %"
    elif options.rate and not re.fullmatch(r"\d+(\.\d+)?[kmg]bit", options.rate):
        wrong = f"rate={options.rate!r}, but it must be like 24mbit"
    elif options.ets and not (re.fullmatch(r"[1-9]\d*:[1-9]\d*", options.ets) and options.rate):
        wrong = f"ets={options.ets!r}, rate={options.rate!r}, but it must be two shares like 3:1, with a rate"
    if wrong:
        raise SpecError(f"testbed soft-roce: {wrong}.")
    return options


def link(options: Options) -> str:
    """Return shell commands that set delay, loss, rate and shares of the cable, and remove earlier ones."""
    lines = [f"tc qdisc del dev {interface} root 2>/dev/null || :" for interface in ("v0", "v1")]
    netem = []
    if options.delay:
        netem += ["delay", options.delay]
    if options.loss:
        netem += ["loss", f"{options.loss:g}%"]
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
        if options.rate:
            netem += ["rate", options.rate]
        lines += ["modprobe sch_netem"]
        lines += [
            f"tc qdisc add dev {interface} root netem {' '.join(netem)} limit 10000" for interface in ("v0", "v1")
        ]
    return "\n".join(lines)


class _ThisMachine:
    """This machine instead of a guest."""

    folder = ""

    def words(self, *variables: str) -> tuple[str, ...]:
        """Return the words before a command that set the variables."""
        return ("env", *variables) if variables else ()

    def run(self, command: Sequence[str], *, limit: float = 30.0) -> str:
        """Run a command; return its standard output."""
        return _rdma.output_of(command, limit=limit)


def absent(in_guest: bool = True) -> list[str]:
    """Return all Debian packages that the testbed needs and that are not installed.

    Parameters
    ----------
    in_guest : whether it runs in a guest, which needs qemu and a kernel.
    """
    packages = _guest.missing(NEEDS | (_guest.needs() if in_guest else {"modprobe": "kmod"}))
    with suppress(LaunchError):
        if in_guest:
            _guest.kernel(_MODULES)
        return packages
    return [*packages, "linux-image-amd64" if platform.machine() == "x86_64" else "linux-image-arm64"]


def possible_on_host() -> bool:
    """Whether it can run on this machine without a guest: as root, on a kernel with the modules."""
    if os.geteuid() != 0 or absent(in_guest=False):
        return False
    program = shutil.which("modprobe", path="/usr/sbin:/sbin:/usr/bin:/bin") or "modprobe"
    modules = [name for name in _MODULES if name != "virtio_console"]
    return not subprocess.run([program, "-n", "-a", *modules], capture_output=True, check=False).returncode


def outline(argument: str, options: Mapping[str, str]) -> Testbed:
    """Return what is known of it before it is up: the adapters of ranks.

    Raises
    ------
    SpecError
        For an argument or an impossible option.
    """
    if argument:
        raise SpecError(f"the testbed soft-roce takes no argument, but got {argument!r}. Leave it out.")
    options_of(options)

    def place(spec: Spec) -> Place:
        """Refuse what its devices will not have."""
        _refuse(spec)
        return Place()

    return Testbed("soft-roce", rdma=RANKS, guest=True, place=place)


def _refuse(spec: Spec) -> None:
    """Refuse hosts, and services that soft-RoCE lacks."""
    if spec.hosts or spec.device:
        raise SpecError(f"{spec.benchmark}: the testbed soft-roce has its own two devices. Leave hosts and device out.")
    if (service := spec.values.get("connection")) in ("XRC", "DC", "SRD"):
        raise SpecError(
            f"{spec.benchmark}: connection={service}, but soft-RoCE has RC, UC and UD only. Set connection=RC."
        )
    if "senders" in spec.values and spec.transport != "verbs":
        raise SpecError(f"{spec.benchmark}: TCP would stay on the guest's loopback. Set transport=verbs.")


@contextmanager
def open(argument: str, options: Mapping[str, str]) -> Iterator[Testbed]:
    """Boot the guest, or use this machine, and make the two devices.

    Raises
    ------
    SpecError
        For an argument or an impossible option.
    LaunchError
        If packages are missing (with all their names), the guest does not come up, or the devices cannot be made.
    """
    outline(argument, options)
    chosen = options_of(options)
    in_guest = chosen.where == "guest"
    packages = absent(in_guest)
    if packages:
        raise LaunchError(
            "The testbed soft-roce needs packages that are not installed. Run: sudo apt-get install "
            f"{' '.join(packages)}"
        )
    with ExitStack() as stack:
        place: Guest | _ThisMachine = _ThisMachine()
        if in_guest:
            place = stack.enter_context(
                _guest.boot(required=_MODULES, cpus=chosen.cpus, memory=chosen.memory, accel=chosen.accel)
            )
        else:
            stack.callback(place.run, ["sh", _SETUP, "down"])
        place.run(["sh", _SETUP, "up", str(chosen.mtu)], limit=90.0)
        yield adjusted(_testbed(place, _facts(place, chosen)), options)


def _facts(place: Guest | _ThisMachine, options: Options) -> dict[str, Any]:
    """Return its properties, and the table of addresses of its devices."""
    kernel = place.run(["uname", "-r"]).strip()
    gids = [entry.__dict__ for entry in _rdma.parsed(place.run(["sh", "-c", _rdma.FIND], limit=60.0))]
    guest_facts = (
        {"accel": options.accel, "cpus": options.cpus, "memory_B": options.memory_size} if place.folder else {}
    )
    return {"kernel": kernel, "mtu": options.mtu, **guest_facts, "gids": gids}


def _testbed(place: Guest | _ThisMachine, facts: Mapping[str, Any]) -> Testbed:
    """Make the testbed in a guest, or on this machine."""
    entries = [_rdma.Gid(**entry) for entry in facts["gids"]]
    words = place.words()
    server, client = _rdma.chosen(entries, "rxe1"), _rdma.chosen(entries, "rxe0")

    def ends(spec: Spec) -> Place:
        """Return the ends: the server uses rxe1, the client rxe0."""
        _refuse(spec)
        # UCX works with the link's own address only
        places = (0, 0) if benchmarks.get(spec.benchmark).ends.rdma == "ucx" else (server.index, client.index)
        return Place(
            address="127.0.0.1",
            server=words,
            client=words,
            server_words=_rdma.words(server, server.ipv4, places[0]),
            client_words=_rdma.words(client, server.ipv4, places[1]),
            listens=lambda protocol, port: _rdma.listening(words, protocol, port),
            loopback=False,
        )

    return Testbed(
        "soft-roce",
        badges=(badge(GUEST if place.folder else HOST),),
        wrap=lambda argv: [*words, *argv],
        place=ends,
        evidence=lambda: counters(place.run(["sh", "-c", _COUNTERS])),
        counters=dict,  # those of this machine are not the guest's, and the evidence has the guest's
        facts={name: value for name, value in facts.items() if name != "gids"},
        handle={"folder": place.folder, "facts": dict(facts)},
        rdma=RANKS,
        guest=True,
    )


_COUNTERS = """cd /sys/class
for file in infiniband/rxe?/ports/1/hw_counters/* net/v?/statistics/tx_* net/v?/statistics/rx_bytes; do
  read -r value <$file && echo "$file $value"
done 2>/dev/null; :"""


def counters(text: str) -> dict[str, int]:
    """Parse counters of devices and interfaces, named ``rxe0.sent_pkts``, ``v0.tx_bytes``."""
    values = {}
    for line in text.splitlines():
        path, _, value = line.partition(" ")
        parts = path.split("/")
        values[f"{parts[1]}.{parts[-1]}"] = int(value)
    return values


def attach(handle: Mapping[str, Any]) -> Testbed:
    """Return the testbed that another process keeps up."""
    place: Guest | _ThisMachine = Guest(handle["folder"]) if handle["folder"] else _ThisMachine()
    if handle["folder"]:  # the guest caches this machine's files; they may have changed
        place.run(["sh", "-c", "echo 2 >/proc/sys/vm/drop_caches"])
    return _testbed(place, handle["facts"])


def adjusted(testbed: Testbed, options: Mapping[str, str]) -> Testbed:
    """Set the delay, loss, rate and shares of the cable, and remove others."""
    chosen = options_of(options)
    _rdma.output_of(testbed.wrap(["sh", "-c", link(chosen)]))
    values = {name: getattr(chosen, name) for name in ADJUSTABLE}
    changed = {name: value for name, value in values.items() if value}
    return replace(testbed, facts={**testbed.facts, **changed})


TESTBED = Kind(open=open, outline=outline, attach=attach, absent=absent, adjustable=ADJUSTABLE, adjusted=adjusted)
