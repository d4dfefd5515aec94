"""Every way a tree may end, with real processes and real signals."""

import gc
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from pathlib import Path

import pytest

from labkit.errors import LaunchError
from labkit.io import supervise
from tests.waiting import until

ROOT = Path(__file__).parents[1]
# a parent that goes on, a child that ignores SIGTERM, and a stray in a session of its own whose parent is gone
FAMILY = r"""
import os, signal, time
end, ready = os.pipe()
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(ready, b"x")
elif os.fork() == 0:
    if os.fork(): os._exit(0)
    os.setsid()
    os.closerange(0, 3)
    os.write(ready, b"x")
else:
    os.wait()
    os.read(end, 1), os.read(end, 1)
    os.write(1, b"up\n")
while True: time.sleep(600)
"""
RANK = "while True: pass"


@pytest.fixture
def token():
    """A word that marks this test's processes; whatever a failed test leaves is ended."""
    word = f"supervise-test-{os.getpid()}-{time.monotonic_ns()}"
    yield word
    for pid in alive(word):
        os.kill(pid, signal.SIGKILL)


def alive(word):
    """Processes with this word among their arguments, the supervisor's own left out."""
    pids = []
    for folder in Path("/proc").iterdir():
        try:
            arguments = (folder / "cmdline").read_bytes().split(b"\0") if folder.name.isdigit() else []
        except OSError:
            continue
        if word.encode() in arguments and not any(a.endswith(b"supervisor.py") for a in arguments):
            pids.append(int(folder.name))
    return pids


def family(word, **options):
    """A started `FAMILY` of three processes."""
    tree = supervise.start([sys.executable, "-c", FAMILY, word], grace=0.3, **options)
    assert tree.stdout.readline() == b"up\n"
    assert len(alive(word)) == 3
    return tree


def reaper(tree):
    """Number of the inner one of the two supervising processes."""
    return int(Path(f"/proc/{tree.pid}/task/{tree.pid}/children").read_text().split()[0])


@pytest.mark.parametrize(
    ("script", "status"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)]
)
def test_exit_status_is_the_commands(script, status):
    with supervise.start(["sh", "-c", script]) as tree:
        assert tree.wait(240) == status
        assert tree.returncode == tree.poll() == status


def test_while_it_runs_there_is_no_status():
    with supervise.start(["sleep", "60"]) as tree:
        assert tree.poll() is None
        assert tree.wait(0.05) is None
        assert tree.returncode is None
    assert tree.returncode == 143


def test_output_is_raw_and_ends_with_the_command():
    with supervise.start(["sh", "-c", "printf 'a\\0b'; cat; echo end"]) as tree:
        read = b""
        while tree.readable(10) and (piece := os.read(tree.stdout.fileno(), 100)):
            read += piece
        assert read == b"a\0bend\n"


def test_output_is_waited_for_in_a_process_with_very_many_open_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
    taken = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        with supervise.start(["sh", "-c", "echo here; sleep 60"]) as tree:
            assert tree.stdout.fileno() > 1024
            assert tree.readable(60)
            assert tree.stdout.readline() == b"here\n"
            assert not tree.readable(0)
    finally:
        for fd in taken:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow
def test_a_chatty_command_never_blocks_and_its_last_words_are_kept():
    script = "import sys\nfor i in range(200000): print(i, 'x' * 50, file=sys.stderr)\nprint('lást', file=sys.stderr)"
    with supervise.start([sys.executable, "-c", script], env=os.environ | {"PYTHONUTF8": "1"}) as tree:
        assert tree.wait(240) == 0
        assert tree.stderr_tail().splitlines()[-1] == "lást"
        assert len(tree.stderr_tail().splitlines()) == 50
        assert len(tree.stderr_tail(10**9)) <= 64 * 1024
        assert tree.stderr_text().startswith("0 xxx")
        assert tree.stderr_text().endswith("lást\n")
        assert "bytes omitted" in tree.stderr_text()
        assert tree.stderr_tail(2) == f"199999 {'x' * 50}\nlást\n"


def test_a_command_is_fed_only_if_that_is_asked_for():
    with supervise.start(["cat"], fed=True) as tree:
        for piece in (b"one", b" two"):
            tree.stdin.write(piece)
            assert tree.stdout.read(len(piece)) == piece
        tree.stdin.close()
        assert (tree.stdout.read(), tree.wait(240)) == (b"", 0)
    with supervise.start(["cat"]) as tree:
        assert tree.stdin is None
        assert (tree.stdout.read(), tree.wait(240)) == (b"", 0)


def test_folder_environment_and_streams(tmp_path):
    (tmp_path / "tool").write_text("#!/bin/sh\npwd; echo $WORD; echo there >&2\n")
    (tmp_path / "tool").chmod(0o755)
    with (
        (tmp_path / "out").open("wb") as out,
        supervise.start(["./tool"], cwd=tmp_path, env={"WORD": "hi"}, stdout=out, stderr=supervise.STDOUT) as tree,
    ):
        assert tree.wait(240) == 0
        assert tree.stdout.read() == b""
        assert tree.stderr_tail() == ""
    assert (tmp_path / "out").read_text() == f"{tmp_path}\nhi\nthere\n"


def test_the_command_inherits_nothing_but_its_streams(tmp_path):
    with (tmp_path / "open").open("w") as stream:
        os.set_inheritable(stream.fileno(), True)
        with supervise.start(["sleep", "60"]), supervise.start(["ls", "/proc/self/fd"]) as tree:
            listed = tree.stdout.read(1000).split()
    assert len(listed) == 4  # the fourth is the folder that ls reads


def test_missing_program_or_folder():
    with pytest.raises(LaunchError, match="There is no program 'no-such-program' on the PATH"):
        supervise.start(["no-such-program"])
    with pytest.raises(LaunchError, match="There is no working folder /no/such"):
        supervise.start(["true"], cwd="/no/such")


def test_a_file_that_cannot_run_says_so(tmp_path):
    (tmp_path / "broken").write_bytes(b"\0\1\2")
    (tmp_path / "broken").chmod(0o755)
    with supervise.start([tmp_path / "broken"]) as tree:
        assert tree.wait(240) == 126
        assert tree.stderr_tail() == f"supervise: cannot run {tmp_path}/broken: Exec format error\n"


def test_stop_ends_the_deaf_and_the_strays(token):
    tree = family(token)
    assert tree.stop() == 143
    assert alive(token) == []
    assert tree.stop() == 143
    tree.stdout.close()


def test_stop_from_many_threads(token):
    tree, statuses = family(token), []
    threads = [threading.Thread(target=lambda: statuses.append(tree.stop())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [143] * 8
    assert alive(token) == []
    tree.stdout.close()


def test_what_the_command_leaves_behind_is_ended(token):
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)", token]
    script = f"import subprocess; subprocess.Popen({sleeper}); subprocess.Popen({sleeper}, start_new_session=True)"
    with supervise.start([sys.executable, "-c", script], grace=0.3) as tree:
        assert tree.wait(240) == 0
        assert alive(token) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_to_the_supervisor_ends_the_tree(token, number):
    with family(token) as tree:
        os.kill(tree.pid, number)
        assert tree.wait(240) == 143
        assert alive(token) == []


@pytest.mark.parametrize("which", ["supervisor", "reaper", "both"])
def test_killing_the_supervisor_ends_the_tree(token, which):
    with family(token) as tree:
        victims = {"supervisor": [tree.pid], "reaper": [reaper(tree)], "both": [tree.pid, reaper(tree)]}[which]
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        assert tree.wait(240) == (143 if which == "supervisor" else 137)
        assert alive(token) == []


@pytest.mark.slow
def test_a_supervisor_that_hangs_is_replaced(token):
    with family(token) as tree:
        os.kill(reaper(tree), signal.SIGSTOP)
        assert tree.stop() == 137
        assert alive(token) == []


OWNER = """
import sys, time
from labkit.io import supervise
command, word, how = sys.argv[1], sys.argv[2], sys.argv[3]
with supervise.start([sys.executable, "-c", command, word], grace=0.3) as one:
    with supervise.start([sys.executable, "-c", command, word], grace=0.3) as two:
        for tree in (one, two):
            assert tree.stdout.readline() == b"up\\n"
        if how == "fork":
            import os
            if os.fork() == 0:
                time.sleep(600)
        print("up", flush=True)
        if how in ("end", "crash"): sys.stdin.readline()
        if how == "end": sys.exit(5)
        if how == "crash": os._exit(6)
        time.sleep(600)
"""


def owner(word, how):
    """Another interpreter that owns two families."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"import os\n{OWNER}", FAMILY, word, how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert process.stdout.readline() == b"up\n"
    assert len([p for p in alive(word) if p != process.pid]) >= 6
    return process


@pytest.mark.parametrize("how", ["kill", "term", "end", "crash"])
def test_all_trees_end_with_their_owner(token, how):
    process = owner(token, how)
    if how in ("kill", "term"):
        process.send_signal(signal.SIGKILL if how == "kill" else signal.SIGTERM)
    process.communicate(b"go\n" if how in ("end", "crash") else None, timeout=240)
    assert process.returncode == {"kill": -9, "term": -15, "end": 5, "crash": 6}[how]
    until(lambda: alive(token) == [])


def test_a_forked_child_does_not_keep_the_owners_trees_alive(token):
    process = owner(token, "fork")
    forked = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[-1])
    process.kill()
    process.wait()
    until(lambda: alive(token) == [forked])
    os.kill(forked, signal.SIGKILL)
    process.communicate()


def test_ctrl_c_reaches_the_owner_which_ends_everything(token):
    process = owner(token, "wait")
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=240)
    assert stderr.decode().rstrip().endswith("KeyboardInterrupt")
    assert alive(token) == []


def test_owner_and_supervisor_killed_at_once_still_ends_the_command(token):
    script = f"""
        import os, signal, sys, time
        from labkit.io import supervise
        waiting = "print('up', flush=True); import time; time.sleep(600)"
        tree = supervise.start([sys.executable, "-c", waiting, {token!r}])
        tree.stdout.readline()
        reaper = int(open(f"/proc/{{tree.pid}}/task/{{tree.pid}}/children").read())
        for pid in (tree.pid, reaper, os.getpid()):
            os.kill(pid, signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert done.returncode == -9
    until(lambda: alive(token) == [])


def test_a_forgotten_tree_ends(token):
    tree = family(token)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        del tree
        gc.collect()
    until(lambda: alive(token) == [])


def test_nothing_is_left_open():
    def count():
        return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()

    before = count()
    for _ in range(5):
        with supervise.start(["sh", "-c", "echo x; echo y >&2"]) as tree:
            tree.wait(240)
    until(lambda: all(now <= then for now, then in zip(count(), before, strict=True)))


def test_an_error_inside_the_block_ends_the_tree(token):
    with pytest.raises(ZeroDivisionError), family(token):
        _ = 1 / 0
    assert alive(token) == []


def test_a_tree_inside_a_tree_ends_with_it(token):
    command = [sys.executable, "-c", f"import os\n{OWNER}", FAMILY, token, "wait"]
    with supervise.start(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, grace=1) as tree:
        assert tree.stdout.readline() == b"up\n"
        assert len(alive(token)) == 7
    assert alive(token) == []


def test_a_supervisor_loads_little():
    program = supervise.supervisor
    words = [sys.executable, "-I", "-S", "-X", "importtime", "-c", program.RUN, program.__file__, "1", "--", "true"]
    end, start = os.pipe()
    done = subprocess.run(words, stdin=end, capture_output=True, text=True)
    os.close(end)
    os.close(start)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {"supervisor", "fcntl"} <= loaded  # fcntl is loaded by what removes leftovers
    assert not {"json", "pathlib", "subprocess", "tempfile", "typing"} & loaded
    assert done.returncode == 0


def test_the_program_needs_no_labkit(tmp_path):
    program = [sys.executable, "-I", "-S", str(ROOT / "labkit/io/supervise/supervisor.py")]
    end, start = os.pipe()
    done = subprocess.run(
        [*program, "1", "--", "sh", "-c", "echo $0; exit 7", "--"], stdin=end, capture_output=True, cwd=tmp_path
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, b"--\n", b"")
    done = subprocess.run([*program, "1", "--", "sleep", "60"], stdin=subprocess.DEVNULL, capture_output=True)
    assert done.returncode == 143
    done = subprocess.run([*program, "1", "true"], stdin=end, capture_output=True)
    assert (done.returncode, done.stderr) == (
        2,
        b"supervise: usage: supervisor.py GRACE [REPORT_FD [INPUT_FD]] -- COMMAND...\n",
    )
    os.close(end)
    os.close(start)


@pytest.fixture
def ranks(token):
    """Two busy ranks under mpirun, not MPI programs themselves: the hardest to end."""
    command = ["mpirun", "-np", "2", sys.executable, "-c", RANK, token]
    with supervise.start(command) as tree:
        until(lambda: len(alive(token)) == 3, runs=tree)
        yield tree


@pytest.mark.mpi
@pytest.mark.parametrize(
    "which",
    ["supervisor", "mpirun", *(pytest.param(one, marks=pytest.mark.slow) for one in ("stop", "reaper", "both"))],
)
def test_ranks_end_with_mpirun_and_its_supervisor(token, ranks, which):
    if which == "stop":
        ranks.stop()
    else:
        inner = reaper(ranks)
        mpirun = int(Path(f"/proc/{inner}/task/{inner}/children").read_text().split()[0])
        for pid in {"supervisor": [ranks.pid], "reaper": [inner], "both": [ranks.pid, inner], "mpirun": [mpirun]}[
            which
        ]:
            os.kill(pid, signal.SIGKILL)
    until(lambda: alive(token) == [])
    assert ranks.wait(240) is not None


@pytest.mark.mpi
def test_ranks_end_with_their_owner(token):
    script = f"""
        import sys, time
        from labkit.io import supervise
        command = ["mpirun", "-np", "2", sys.executable, "-c", {RANK!r}, {token!r}]
        tree = supervise.start(command)
        time.sleep(600)
    """
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], env=environment)
    until(lambda: len(alive(token)) == 3)
    process.kill()
    process.wait()
    until(lambda: alive(token) == [])
