"""What every test shares: markers that need something of the machine, time budgets, Open MPI's settings.

A marker such as ``mpi`` stands for a capability, which is probed for real when the first test asks for it. Without
it the test is skipped; with ``LABKIT_REQUIRE=mpi,…`` a skip is a failure, unless the kernel lacks the capability.
"""

import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

import hypothesis
import pytest

from labkit.io import extras

Report = TypeVar("Report")
Wrapper = Generator[None, Report, Report]

ROOT = Path(__file__).resolve().parent.parent
collect_ignore = ["validate_crate.py"]  # a program of another environment

extras.import_notebooks()  # faster than where a test imports nbformat itself

# containers run as root on few cores, and ranks that wait must let others run: Open MPI 4 and 5, and MPICH
for name, value in {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "0",
}.items():
    os.environ.setdefault(name, value)

# the tests, and programs that they start, keep their bytecode, as those of users do
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.pop("COLUMNS", None)  # tables would fit it
sys.dont_write_bytecode = False

# a shell without job control starts background commands, `make test-all &` too, with SIGINT ignored, and children inherit that
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

hypothesis.settings.register_profile("labkit", derandomize=True, deadline=None)
hypothesis.settings.register_profile("quick", hypothesis.settings.get_profile("labkit"), max_examples=25)
hypothesis.settings.load_profile("labkit")


@dataclass(frozen=True)
class Capability:
    """What a probe found: ``missing`` can be installed, ``kernel`` cannot be had on this kernel or by this user."""

    state: Literal["available", "missing", "kernel"]
    note: str


def answer(command: list[str], *, timeout: float = 240) -> tuple[int, str]:
    """Exit status and what was written; 127 where the command is not there, 124 where it did not end in time."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout
        )
    except FileNotFoundError:
        return 127, f"{command[0]} is not installed"
    except subprocess.TimeoutExpired:
        return 124, f"{command[0]} did not end in {timeout:.0f} s"
    return done.returncode, done.stdout.decode(errors="replace").strip()


def last_line(text: str) -> str:
    """The end of an output, for a table."""
    return text.splitlines()[-1][:100] if text else "no output"


def located(*commands: str) -> str | None:
    """The first of the commands: beside this interpreter, then on PATH."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return next((place for command in commands if (place := shutil.which(command, path=path))), None)


def probe_mpi() -> Capability:
    """Two ranks add up."""
    mpirun = located("mpirun", "mpiexec")
    if mpirun is None:
        return Capability("missing", "no mpirun. Install openmpi-bin")
    program = (
        "from mpi4py import MPI; comm = MPI.COMM_WORLD; total = comm.allreduce(1); "
        "comm.rank or print('sum', total, MPI.Get_library_version().split(',')[0])"
    )
    status, text = answer([mpirun, "-n", "2", sys.executable, "-c", program])
    if status or "sum 2" not in text:
        return Capability("missing", f"{mpirun} -n 2 ended with {status}: {last_line(text)}")
    return Capability("available", next(line for line in text.splitlines() if "sum 2" in line).split("sum 2 ")[1])


def probe_netns() -> Capability:
    """A network namespace with a pair of virtual interfaces in it."""
    if not located("unshare") or not located("ip"):
        return Capability("missing", "no unshare or ip. Install util-linux and iproute2")
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    inside = ["ip", "link", "add", "labkit0", "type", "veth", "peer", "name", "labkit1"]
    status, text = answer(["unshare", *user, "--net", *inside])
    return Capability("kernel", last_line(text)) if status else Capability("available", "unshare --net, veth")


def probe_verbs() -> Capability:
    """An RDMA device, or an emulator that can run a guest with soft-RoCE."""
    devices = sorted(device.name for device in Path("/dev/infiniband").glob("uverbs*"))
    if devices:
        return Capability("available", ", ".join(devices))
    emulator = f"qemu-system-{platform.machine()}"
    status, text = answer([emulator, "--version"])
    if status:
        return Capability("missing", f"no /dev/infiniband and no {emulator}. Install qemu-system")
    from labkit.testbeds import soft_roce

    packages = soft_roce.absent()
    if packages:
        return Capability("missing", f"for a guest: install {' '.join(packages)}")
    return Capability("available", f"guest in {text.splitlines()[0]}")


def probe_slurm() -> Capability:
    """Slurm's daemons and munge, and nodes to run them on."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
    packages = {"slurmctld": "slurmctld", "slurmd": "slurmd", "munged": "munge", "sbatch": "slurm-client"}
    absent = [package for command, package in packages.items() if not shutil.which(command, path=path)]
    if absent:
        return Capability("missing", f"install {', '.join(absent)}")
    if os.geteuid():
        return Capability("kernel", "its daemons want to be root")
    if probe_netns().state != "available":
        return Capability("kernel", "no network namespaces for its nodes")
    status, text = answer([shutil.which("slurmctld", path=path) or "", "-V"])
    return Capability("missing", last_line(text)) if status else Capability("available", text)


def probe_browser() -> Capability:
    """Headless Chromium shows a page."""
    chromium = located("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    if chromium is None:
        return Capability("missing", "no chromium. Install chromium, or run choreo_get_chrome")
    with tempfile.TemporaryDirectory() as profile:
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
        status, text = answer([chromium, *flags, "--dump-dom", "data:text/html,<p>labkit</p>"])
    if status or "<p>labkit</p>" not in text:
        return Capability("missing", f"{chromium} ended with {status}: {last_line(text)}")
    return Capability("available", chromium)


def probe_simgrid() -> Capability:
    """SimGrid's smpirun tells its version."""
    status, text = answer(["smpirun", "-version"])
    return Capability("missing", "no smpirun. Install libsimgrid-dev") if status else Capability("available", text)


PROBES: dict[str, Callable[[], Capability]] = {
    "mpi": probe_mpi,
    "netns": probe_netns,
    "verbs": probe_verbs,
    "slurm": probe_slurm,
    "browser": probe_browser,
    "simgrid": probe_simgrid,
}


@cache
def capability(name: str) -> Capability:
    """What the probe of that marker found; probed once."""
    return PROBES[name]()


def required() -> list[str]:
    """The markers of which LABKIT_REQUIRE allows no skip."""
    names = [name.strip() for name in os.environ.get("LABKIT_REQUIRE", "").split(",") if name.strip()]
    unknown = [name for name in names if name not in PROBES]
    if unknown:
        raise pytest.UsageError(f"LABKIT_REQUIRE names {unknown}, but there are: {', '.join(PROBES)}.")
    return names


def markers(report: pytest.TestReport) -> list[str]:
    """Names of a test's markers; they travel with its report from the process that ran it."""
    return next((value for name, value in report.user_properties if name == "markers"), [])  # type: ignore[return-value]


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Note the markers where reports carry them."""
    item.user_properties.append(("markers", [marker.name for marker in item.iter_markers()]))


class Capabilities:
    """Skips what this machine cannot do, and lets no skip pass that LABKIT_REQUIRE forbids."""

    def __init__(self) -> None:
        self.required = required()
        self.tests = dict.fromkeys(PROBES, 0)

    def needed(self, item: pytest.Item) -> list[str]:
        return [name for name in PROBES if item.get_closest_marker(name)]

    def forbidden(self, names: list[str]) -> str:
        """Why a skip of a test with these markers must not pass; empty where it may."""
        strict = [name for name in names if name in self.required and capability(name).state != "kernel"]
        return f"LABKIT_REQUIRE={','.join(strict)} allows no skip: " if strict else ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        for name in self.needed(item):
            if capability(name).state != "available":
                pytest.skip(f"{name}: {capability(name).note}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Wrapper[pytest.TestReport]:
        report = yield
        if report.skipped and not hasattr(report, "wasxfail") and (why := self.forbidden(self.needed(item))):
            report.outcome = "failed"
            report.longrepr = why + str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Wrapper[pytest.CollectReport]:
        report = yield
        if report.skipped and isinstance(collector, pytest.Module):
            text = collector.path.read_text()
            if why := self.forbidden([name for name in PROBES if f"mark.{name}" in text]):
                report.outcome = "failed"
                report.longrepr = why + str(report.longrepr)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "setup":
            for name in self.tests.keys() & markers(report):
                self.tests[name] += 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        shown = [name for name in PROBES if self.tests[name] or name in self.required]
        if not shown:
            return
        terminalreporter.section("what this machine can do")
        for name in shown:
            state, note = (capability(name).state, capability(name).note) if self.tests[name] else ("", "no tests ran")
            state = {"kernel": "kernel lacks it"}.get(state, state)
            must = "required" if name in self.required else ""
            terminalreporter.write_line(f"{name:8} {self.tests[name]:4} tests  {must:9} {state:16} {note}")


class Budgets:
    """Adds up the time of the tests by marker, and shows it beside what pyproject.toml allows."""

    def __init__(self) -> None:
        with (ROOT / "pyproject.toml").open("rb") as file:
            self.allowed: dict[str, float] = tomllib.load(file)["tool"]["labkit"]["test-budgets"]
        self.used = dict.fromkeys(self.allowed, 0.0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        marked = [name for name in reversed(self.allowed) if name in markers(report)]
        self.used[marked[0] if marked else "pure"] += report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("time used/allowed")
        for name, used in self.used.items():
            over = "  over its budget" if used > self.allowed[name] else ""
            terminalreporter.write_line(f"{name:8} {used:7.1f}/{self.allowed[name]:.0f} s{over}")


def pytest_configure(config: pytest.Config) -> None:
    """Registered as plugins, so that they see the doctests outside tests/ too."""
    if "not slow" in config.option.markexpr:
        hypothesis.settings.load_profile("quick")
    config.pluginmanager.register(Capabilities(), "labkit-capabilities")
    config.pluginmanager.register(Budgets(), "labkit-budgets")


@pytest.fixture(scope="session")
def mpirun() -> Path:
    """mpirun of the MPI that mpi4py uses here."""
    if capability("mpi").state != "available":
        pytest.skip(f"mpi: {capability('mpi').note}")
    return Path(located("mpirun", "mpiexec") or "mpirun")


@pytest.fixture(scope="session")
def chromium() -> Path:
    """A Chromium that can show pages headless."""
    if capability("browser").state != "available":
        pytest.skip(f"browser: {capability('browser').note}")
    return Path(capability("browser").note)


@pytest.fixture(scope="session", autouse=True)
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One folder for all campaigns that the tests make; none of them goes into the checkout."""
    folder = tmp_path_factory.mktemp("campaigns")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LABKIT_CAMPAIGNS", str(folder))
        yield folder


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A word that marks everything the test starts, for `tests.waiting.marked`."""
    word = f"{request.node.name}-{os.getpid()}"
    monkeypatch.setenv("LABKIT_TEST", word)
    return word
