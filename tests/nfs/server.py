"""An NFS server of the kernel and two hosts that mount from it, inside a guest. Standard library only.

Each host has a network, a name and process numbers of its own, so that its NFS client is one of its own too, and nothing
but the export is shared. What mountd tells a server is told here: one export, for everybody. ::

    python server.py VERSION OPTIONS   makes them, and stays; prints one line when all is there
"""

import os
import select
import subprocess
import sys
import threading
import time
from pathlib import Path

EXPORT, NODES = "/run/export", ("node1", "node2")
ASKED = Path("/proc/net/rpc")
NO_SUBTREE, INSECURE, HAS_FSID = 0x400, 0x2, 0x2000


def sh(*lines: str) -> None:
    """Shell commands, each of which must succeed."""
    for line in lines:
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{line}: {done.stderr.strip()}")


def answers(channels: dict[str, int]) -> None:
    """Tell the server who may have what."""
    poll = select.poll()
    by_fd = {fd: name for name, fd in channels.items()}
    for fd in by_fd:
        poll.register(fd, select.POLLIN)
    while True:
        for fd, _ in poll.poll():
            for line in os.read(fd, 32768).decode().splitlines():
                words, until = line.split(), int(time.time()) + 3600
                what = {
                    "auth.unix.ip": f"{until} everybody",
                    "nfsd.fh": f"{until} {EXPORT}",
                    "nfsd.export": f"{until} {NO_SUBTREE | INSECURE | HAS_FSID} 65534 65534 0",
                }[by_fd[fd]]
                os.write(fd, f"{' '.join(words)} {what}\n".encode())


def serve(size: int = 256) -> None:
    """A disk in memory, exported as the root of NFS 4."""
    disk = f"{EXPORT}.disk"
    sh(
        "modprobe -a nfsd nfsv4 veth ext4 loop",
        f"mkdir -p {EXPORT} && truncate -s {size}M {disk} && mkfs.ext4 -q {disk} && mount -o loop {disk} {EXPORT}",
        "mount -t nfsd nfsd /proc/fs/nfsd",
        "echo 1 >/proc/sys/sunrpc/nlm_grace_period 2>/dev/null; echo 10 >/proc/fs/nfsd/nfsv4leasetime",
        "echo 10 >/proc/fs/nfsd/nfsv4gracetime",
    )
    names = ("auth.unix.ip", "nfsd.fh", "nfsd.export")
    channels = {name: os.open(ASKED / name / "channel", os.O_RDWR) for name in names}
    threading.Thread(target=answers, args=(channels,), daemon=True).start()
    sh(
        "echo '-2 -3 +4 +4.1 +4.2' >/proc/fs/nfsd/versions",
        "echo 4 >/proc/fs/nfsd/threads",
        "echo 'tcp 2049' >/proc/fs/nfsd/portlist || :",
    )


def node(number: int, version: str, options: str) -> None:
    """A host that mounts the export."""
    name, net = NODES[number], f"10.98.{number}"
    sh(
        f"ip netns add {name} && ip link add up{number} type veth peer name eth0 netns {name}",
        f"ip addr add {net}.1/24 dev up{number} && ip link set up{number} up",
        f"ip -n {name} addr add {net}.2/24 dev eth0 && ip -n {name} link set eth0 up && ip -n {name} link set lo up",
        f"mkdir -p /run/nodes/{name}",
    )
    mount(number, version, options)


def mount(number: int, version: str, options: str) -> None:
    """Mount the export on a host."""
    name, net = NODES[number], f"10.98.{number}"
    sh(
        f"nsenter --net=/run/netns/{name} unshare --uts sh -c 'hostname {name} && mount -i -t nfs4 -o "
        f"vers={version},addr={net}.1,clientaddr={net}.2,{options} {net}.1:/ /run/nodes/{name}'",
    )


if __name__ == "__main__":
    serve()
    for place in range(len(NODES)):
        node(place, *sys.argv[1:])
    print(Path("/proc/mounts").read_text(), flush=True)
    threading.Event().wait()
