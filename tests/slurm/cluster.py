"""What tests ask of the nodes of a Slurm."""

from labkit.testbeds.slurm import Cluster


def pid(cluster: Cluster, host: str) -> int:
    """Process of the slurmd of a node."""
    return int((cluster.folder / f"slurmd-{host}.pid").read_text())


def states(cluster: Cluster) -> dict[str, str]:
    """Node → its state."""
    words = cluster.run("sinfo", "-h", "-N", "-p", "batch", "-o", "%N %T").stdout.split()
    return dict(zip(words[::2], words[1::2], strict=True))
