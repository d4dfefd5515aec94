"""Two hosts on one campaign over a real NFS: the lease, points, compacting; in a guest, whose kernel serves and mounts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.errors import LaunchError
from labkit.testbeds import _guest, soft_roce
from tests.nfs import trials

MODULES = ("nfsd", "nfsv4", "veth", "ext4", "loop", "virtio_console")
KINDS = ("both_at_once", "second_is_told", "clocks_that_differ", "points_of_a_killed_run", "seen_at_once", "compacted")
pytestmark = [pytest.mark.verbs, pytest.mark.slow]


def test_two_hosts_share_a_campaign_on_nfs() -> None:
    if packages := soft_roce.absent():
        pytest.skip(f"needs {' '.join(packages)}")
    try:
        _guest.kernel(MODULES)
    except LaunchError as error:
        pytest.skip(str(error))
    with _guest.boot(required=MODULES, cpus=2, memory="2G") as guest:
        command = [*guest.words(), sys.executable, trials.__file__, "4.2", "hard", "1", "1", *KINDS]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=Path(__file__).parents[2])
    wrong = {row["kind"]: row["wrong"] for row in map(json.loads, done.stdout.splitlines())}
    assert wrong == {kind: [] for kind in KINDS}, done.stderr
