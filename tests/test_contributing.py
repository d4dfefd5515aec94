"""The examples of CONTRIBUTING.md: each is put where the text says, in a copy of the package, and works there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from labkit.point.notes import badge
from labkit.point.spec import Spec
from labkit.run import launch, lines
from labkit.store.campaign import Campaign
from labkit.store.samples.facts import noted
from tests import made

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text()


def examples() -> dict[str, str]:
    """Path of a file → its code: each block of Python follows the path of its file."""
    parts = re.split(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    places = (re.findall(r"`(labkit/[\w/]+\.py)`", text)[-1] for text in parts[:-1:2])
    return dict(zip(places, parts[1::2], strict=True))


EXAMPLES = examples()
# a benchmark of each kind, whose file says all that bounds, figures and the orchestrator must know of it
ALONE = {
    "labkit/benchmarks/mpi/alone.py": """\"\"\"Two ranks exchange windows.\"\"\"

from labkit.benchmarks import KernelBenchmark, Simulation
from labkit.benchmarks.mpi import first_half, from_peer


def simulated(spec, rank, algorithm):
    def iteration(k):
        rank.receive(1 - rank.number, 4 * spec.size)
        rank.send(1 - rank.number, 4 * spec.size)
        rank.wait(2)

    return iteration


BENCHMARK = KernelBenchmark(
    title="windows both ways",
    kernel="bibandwidth",
    ranks=(2, 2),
    window=lambda spec: 4,
    requests=lambda spec: 8,
    metrics={"bandwidth_MBps": lambda spec: 8 * spec.size},
    active=first_half,
    expected=from_peer,
    directions=2,
    size_label="size in a window (B)",
    simulation=Simulation(iteration=simulated, messages=lambda spec: 2),
)
FORMS = {
    "alone_latency": KernelBenchmark(
        title="ping-pong",
        kernel="latency",
        ranks=(2, 2),
        metrics={"latency_us": lambda spec: 2},
        active=first_half,
        expected=from_peer,
        crossings=1,
        doc="Ping-pong.",
    )
}
""",
    "labkit/tools/alone.py": """\"\"\"Python itself, which prints the time of each iteration in ns.\"\"\"

import sys
from pathlib import Path

import numpy as np

from labkit.point.spec import Effort, Spec
from labkit.tools import Invocation, Parsed, Tool

TOOL = Tool(name="alone", commands=(sys.executable,), pattern=r"Python (.*)", package="python3", purpose="kv.alone")


def gets(spec: Spec, effort: Effort) -> Invocation:
    def parsed(text: str, folder: Path) -> Parsed:
        return Parsed(time_ns=np.array(text.split(), np.int64))

    return Invocation(
        tool=TOOL,
        needs=(sys.executable,),
        client=(sys.executable, "-c", "print(*range(1000, 1000 + 40))"),
        parse=parsed,
        definition="numbers",
        duration=1.0,
        time_limit=60.0,
    )
""",
    "labkit/benchmarks/kv/alone.py": """\"\"\"Time of a get.\"\"\"

from labkit.benchmarks import Ends, ToolBenchmark, kind
from labkit.tools import alone


@kind
class Gets(ToolBenchmark):
    \"\"\"A kind of its own.\"\"\"

    keys: int


BENCHMARK = Gets(
    keys=1,
    title="gets",
    sizes="8",
    metrics={"latency_us": lambda spec: 1},
    tools=(alone.gets,),
    ends=Ends(where="apart", transports=True),
)
""",
    "labkit/benchmarks/sockets/alone.py": """\"\"\"Round trip of a request and its response over SCTP, from netperf's log.\"\"\"

from labkit.benchmarks import LogBenchmark

BENCHMARK = LogBenchmark(
    title="SCTP round trip",
    metrics={"transaction_rate_per_s": lambda spec: 1},
    logs={"netperf SCTP_RR": {}},
)
""",
}
KINDS = (
    "benchmarks",
    "tools",
    "formats",
    "testbeds",
    "run/launchers",
    "judge/rules",
    "figures",
    "studies",
    "report/blocks",
    "apps/explorer/panels",
    "apps/teaching/labs",
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with all examples in their places."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "labkit", folder / "labkit", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("data", "notebooks", "templates", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    for place, code in EXAMPLES.items():
        assert not (folder / place).exists(), f"{place} is there already"
        (folder / place).write_text(code)
    for place, code in ALONE.items():
        (folder / place).write_text(code)
    return folder


def run(copy: Path, *command: str | Path, **environment: str) -> str:
    """What a command prints that finds labkit in the copy."""
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_there_is_an_example_of_each_kind() -> None:
    assert len(EXAMPLES) == TEXT.count("```python"), "two blocks are of one file"
    for kind in KINDS:
        assert any(place.startswith(f"labkit/{kind}/") for place in EXAMPLES), kind


def test_the_examples_are_written_as_labkit_is(copy: Path) -> None:
    ruff = [Path(sys.executable).with_name("ruff"), "--config", ROOT / "pyproject.toml"]
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run([ruff[0], *command, *ruff[1:], *EXAMPLES], cwd=copy, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.mpi
def test_the_benchmark_measures_and_verifies_its_bytes(copy: Path, tmp_path: Path) -> None:
    asked = ["measure", "mpi.round_trip", "-m", "8:16", "-i", "50", "--launches", "1", "--format", "json"]
    records = json.loads(run(copy, "-m", "labkit", *asked, "--into", tmp_path / "campaign"))["records"]
    assert sorted(record["message_size_B"] for record in records) == [8, 16]
    assert all(record["verified"] and record["n"] == 50 for record in records)


@pytest.mark.slow
@pytest.mark.mpi
def test_the_benchmark_with_an_option_measures_its_levels_and_checks_them(copy: Path, tmp_path: Path) -> None:
    asked = ["measure", "mpi.burst", "-m", "8", "-i", "50", "--launches", "1", "--format", "json"]
    words = ["-m", "labkit", *asked, "--into", tmp_path / "campaign", "-o"]
    records = json.loads(run(copy, *words, "window=1,64"))["records"]
    rates = {record["option_window"]: record["message_rate_per_s_p50"] for record in records}
    assert rates.keys() == {1, 64}
    assert all(record["verified"] for record in records)
    with pytest.raises(AssertionError, match=r"a burst has 1 to 1024 messages"):
        run(copy, *words, "window=0")


@pytest.mark.slow
def test_the_contract_tests_of_a_benchmark_run_alone() -> None:
    """The command on the page selects the contract tests of an existing benchmark."""
    (command,) = re.findall(r"^    \.venv/bin/python -m pytest (tests -k mpi\.burst)$", TEXT, flags=re.MULTILINE)
    words = command.replace("tests", "tests/test_benchmarks.py").replace("mpi.burst", "mpi.latency").split()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", *words], cwd=ROOT, capture_output=True, text=True
    )
    assert "[mpi.latency-KernelBenchmark-C kernel]" in done.stdout


@pytest.mark.slow
def test_the_tool_measures(copy: Path, tmp_path: Path) -> None:
    busybox = shutil.which("busybox")
    if busybox is None or subprocess.run([busybox, "ping", "-c", "1", "127.0.0.1"], capture_output=True).returncode:
        pytest.skip("busybox ping needs the Debian package busybox-static, and the right to send ICMP")
    asked = ["measure", "sockets.icmp_rr", "-m", "64", "-i", "20", "--launches", "1", "--format", "json"]
    (record,) = json.loads(run(copy, "-m", "labkit", *asked, "--into", tmp_path / "campaign"))["records"]
    assert (record["engine"], record["n"], record["origin"]) == ("busybox", 20, "measured")
    assert record["round_trip_us_p50"] > 0


@pytest.mark.mpi
def test_ranks_run_on_the_testbed(copy: Path, tmp_path: Path) -> None:
    asked = [
        "measure",
        "mpi.latency",
        "-m",
        "8",
        "-i",
        "20",
        "--launches",
        "1",
        "--testbed",
        "nice:7",
        "--format",
        "json",
    ]
    (record,) = json.loads(run(copy, "-m", "labkit", *asked, "--into", tmp_path / "campaign"))["records"]
    assert (record["testbed"], record["n"], record["transport"]) == ("nice:7", 20, "auto")
    assert "low priority" in record["badges"]
    (sample,) = Campaign(tmp_path / "campaign").samples("mpi.latency")
    assert " ".join(sample.meta["command"]).partition("nice -n 7 ")[2].startswith(("/", "VENV/"))
    listed = run(copy, "-m", "labkit", "testbed", "list")
    assert "nice               This machine, where ranks and tools give way to all other programs." in listed
    with pytest.raises(AssertionError, match="the testbed nice takes a level from 1 to 19, but got '20'"):
        run(copy, "-m", "labkit", *asked[:-3], "nice:20")


@pytest.mark.slow
@pytest.mark.mpi
def test_the_launcher_starts_ranks(copy: Path, tmp_path: Path) -> None:
    openmpi = launch.installed().get("openmpi")
    if openmpi is None:
        pytest.skip("needs Open MPI: Debian package openmpi-bin")
    version = openmpi.library.removeprefix("Open MPI ")
    wrapper = tmp_path / "site-mpirun"
    wrapper.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo "site-mpirun around Open MPI {version}" && exit\n'
        f'echo "account $2" >&2\nshift 2\nexec {openmpi.program} "$@"\n'
    )
    wrapper.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    asked = ["mpi.latency", "-m", "8", "-i", "20", "--launches", "1", "--launcher", "site", "--format", "json"]
    result = json.loads(run(copy, "-m", "labkit", "measure", *asked, "--into", tmp_path / "campaign", PATH=path))
    (record,) = result["records"]
    assert (record["launcher"], record["n"], record["library"]) == ("site", 20, f"Open MPI {version}")
    (sample,) = Campaign(tmp_path / "campaign").samples("mpi.latency")
    assert " ".join(sample.meta["command"]).partition(str(wrapper))[2].startswith(" --site-account short -np 2")


def test_the_rule_is_one_file_that_lint_applies(copy: Path, tmp_path: Path) -> None:
    spec = Spec(benchmark="mpi.latency", size=8)
    launches = [made.samples(spec, [[1000] * 50] * 2, launch=k, meta={"fingerprint": "a" * 16}) for k in (0, 1)]
    campaign = made.campaign(tmp_path / "c", launches)
    program = (
        "import json, sys; from labkit.judge import checking; from labkit.apps.show import findings\n"
        "from labkit.report import sources; from pathlib import Path\n"
        "view = sources.read(Path(sys.argv[1])).view; found = checking.check(view)\n"
        "print(json.dumps([findings.linted(view, found), findings.linted_json(view, found), checking.described()]))"
    )
    text, as_json, described = json.loads(run(copy, "-c", program, campaign.path))
    assert "doubtful short-launches. Required: at least 100 iterations in each launch. Measure longer: -i 1000." in text
    (one,) = [one for one in json.loads(as_json)["findings"] if one["code"] == "short-launches"]
    assert (one["benchmark"], one["setting"], one["points"]) == ("mpi.latency", "8 B", ["a" * 16])
    assert one["values"]["n"] == {"value": 100, "noun": "iteration"}
    assert one["sentence"] == "100 iterations in 2 launches"
    assert "`short-launches`" in described


def test_the_cause_is_one_file_that_explain_names(copy: Path, tmp_path: Path) -> None:
    host = {"hostname": "node", "name": "node"}
    facts = noted([badge("shared memory")], []) | {"fingerprint": "a" * 16, "library": "Open MPI 4.1.4 debug"}
    slow = made.values(mean=9.0)
    point = made.samples(Spec(benchmark="mpi.latency", size=8), reported=slow, meta=facts, host=host)
    line = made.samples(
        Spec(benchmark="micro.core_to_core", ranks=1),
        reported=made.values("line_transfer_ns", mean=50.0),
        meta={"fingerprint": "b" * 16},
        host=host,
    )
    campaign = made.campaign(tmp_path / "c", [point, line])
    text = run(copy, "-m", "labkit", "explain", campaign.path)
    assert "cause: library built for debugging (the point ran with Open MPI 4.1.4 debug)" in text
    assert "1. Build the library without --enable-debug." in text


@pytest.mark.slow
@pytest.mark.mpi
def test_the_study_measures_draws_and_tells(copy: Path, tmp_path: Path) -> None:
    program = (
        "from labkit import studies\n"
        f"study = studies.get('round_trip')(campaign={str(tmp_path / 'c')!r}, sizes='8', transports='shm', launches=2, "
        "time_cap=0.05)\n"
        "study.run()\n"
        "figure = study.distribution(8, 'shm')\n"
        "print([trace.name for trace in figure.data], max(figure.data[0].y), figure.layout.xaxis.title.text)\n"
        "print(study.findings())"
    )
    assert "round_trip" in run(copy, "-c", "from labkit import studies; print(studies.names())")
    drawn, sentence = run(copy, "-c", program).splitlines()
    assert drawn == "['launch 0', 'launch 1'] 100.0 latency in µs"
    assert re.match(r"- 8 B over shm: [\d.,]+ µs", sentence)


def notebook(folder: Path) -> nbformat.NotebookNode:
    """The notebook of the study, with its cells of code as in the text; it measures little, into a folder."""
    (text,) = re.findall(r"```text\n# %% parameters\n(.*?)```", TEXT, flags=re.DOTALL)
    first, *cells = (nbformat.v4.new_code_cell(cell.strip()) for cell in text.split("# %%\n"))
    first.metadata["tags"] = ["parameters"]
    first.source += f"\ncampaign = {str(folder)!r}\nlaunches = 2\ntime_cap = 0.05"
    return nbformat.v4.new_notebook(cells=[first, *cells])


@pytest.mark.mpi
@pytest.mark.slow
def test_the_notebook_of_the_study_runs(copy: Path, tmp_path: Path) -> None:
    book = notebook(tmp_path / "campaign")
    environment = os.environ | {"PYTHONPATH": str(copy)}
    NotebookClient(book, timeout=240, kernel_name="python3").execute(cwd=str(tmp_path), env=environment)
    sentences, figure, warnings = (cell.outputs[-1].data for cell in book.cells[-3:])
    assert sentences["text/markdown"].count("\n- ") == 3
    assert len(figure["application/vnd.plotly.v1+json"]["data"]) == 2
    assert "shared memory" in warnings["text/markdown"]


TRIED = """
import contextlib, io, json, sys, warnings
from pathlib import Path
warnings.simplefilter("ignore")
from labkit.report import blocks, sources
from labkit.report.content import Content
from labkit import benchmarks, studies, tools; from labkit.run import launch
from labkit.store.campaign import Campaign
from labkit.store.samples.facts import noted
from labkit.errors import DataError
from labkit.apps.explorer import panels
from labkit.apps.explorer.session import Session
from labkit.figures.ecdf import ecdf
from labkit.formats import ping
from labkit.apps.teaching import begin, labs

def refused(call, *given):
    try:
        call(*given)
    except DataError as error:
        return str(error)

found = {"benchmarks": list(benchmarks.find()), "doc": benchmarks.get("mpi.round_trip").doc, "tools": list(tools.programs()),
         "launchers": launch.names(), "studies": studies.names(), "labs": labs.names()}
found["parsed"] = ping.round_trips("64 bytes from 127.0.0.1: seq=0 ttl=64 time=0.084 ms\\n").tolist()
found["unparsed"] = refused(ping.round_trips, "no answer")
samples = list(Campaign("data/campaigns/examples/two-cores").samples("mpi.latency"))[:3]
drawn = ecdf(samples, "latency_us").data
found["drawn"] = [len(trace.x) for trace in drawn] == [one.n for one in samples] and [max(trace.y) for trace in drawn]
found["undrawn"] = refused(ecdf, [], "latency_us")
panel = {module.__name__.rpartition(".")[2]: module for module in panels.find()}["count"]
session = Session([])
widget = panel.build(session)
found["panel"] = [panel.TITLE, widget.value]
session.add("data/campaigns/examples/two-cores-limits")
found["panel"].append(widget.value)
source = sources.read(Path("data/campaigns/examples/two-cores-limits"))
found["block"] = [blocks.find()["counted"](Content([], {})), blocks.find()["counted"](Content([source], {}))]
found["counts"] = [len(source.summary), len(source.records)]
with contextlib.redirect_stdout(io.StringIO()):
    lab = begin("two_paths", {"source": "recorded", "folder": sys.argv[1]})
    lab.measure(without_predictions=True)
    right = labs.get("two_paths").questions[0].of(lab.results).centre
found["lab"] = [right, lab.verdict("ratio", right), lab.verdict("ratio", 1e6), lab.hint("ratio")]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def tried(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What one process found of the examples that need no ranks."""
    return json.loads(run(copy, "-c", TRIED, tmp_path_factory.mktemp("run") / "lab"))


@pytest.mark.slow
def test_the_examples_are_found(tried: Any) -> None:
    assert {"mpi.round_trip", "sockets.icmp_rr"} <= set(tried["benchmarks"])
    assert tried["doc"].startswith("Round trip of a message between two ranks")
    assert "busybox" in tried["tools"]
    assert "site" in tried["launchers"]
    assert "round_trip" in tried["studies"]
    assert "two_paths" in tried["labs"]


def test_the_parser_refuses_what_it_does_not_understand(tried: Any) -> None:
    assert tried["parsed"] == [84000]
    assert tried["unparsed"].startswith("ping output: found 'no answer', wanted a line that ends in time=… ms")


def test_the_figure_draws_recorded_samples_and_refuses_none(tried: Any) -> None:
    assert tried["drawn"] == [100.0, 100.0, 100.0]
    assert tried["undrawn"] == "There are no samples to draw. Measure, or choose a point that has samples."


def test_the_panel_is_on_the_page_and_counts(tried: Any) -> None:
    title, before, after = tried["panel"]
    assert (title, before) == ("Points", "0 points in 0 campaigns")
    assert re.fullmatch(r"[1-9]\d* points in 1 campaigns", after)


def test_the_block_counts_points_and_launches_and_is_empty_without_any(tried: Any) -> None:
    nothing, table = tried["block"]
    assert nothing == ""
    cells = re.findall(r"^\|[^|]*\|\s*(\d+)\s*\|\s*(\d+)\s*\|$", table, re.MULTILINE)
    counts = [sum(map(int, column)) for column in zip(*cells, strict=True)]
    assert counts == tried["counts"]


def test_the_lab_judges_an_answer_by_the_run(tried: Any) -> None:
    right, good, bad, hint = tried["lab"]
    assert right > 1
    assert good == "right. TCP goes through the kernel on both sides. Shared memory does not."
    assert "too high" in bad or "too large" in bad
    assert hint == "1. The table has both latencies."


PROVED = """
import json, shutil, sys, tempfile
from pathlib import Path
sys.path.append(sys.argv[1])
from tests.made import samples, values
import labkit
from labkit import figures, testbeds; from labkit.run import importing; from labkit.read import records
from labkit.host import allocation
from labkit.errors import SpecError
from labkit.point.spec import Effort
from labkit.models import bounds
from labkit.models.bounds import Stated
from labkit.point.spec import Spec

def bound(name, metric, of):
    point = samples(Spec(benchmark=name, size=1 << 20), reported=values(metric, mean=1.0), meta={"fingerprint": "f"})
    return [round(one.value, 9) for one in of(point, Stated(link="8gbit", delay="1ms"))]

found = {}
for ours, theirs, metric, of in (
    ("mpi.alone", "mpi.bibandwidth", "bandwidth_MBps", bounds.of_bandwidth),
    ("mpi.alone_latency", "mpi.latency", "latency_us", bounds.of_latency),
):
    found[ours] = [bound(ours, metric, of), bound(theirs, metric, of)]
frame = records.summary(records.table([
    samples(Spec(benchmark="mpi.alone", size=size), [1000] * 100, meta={"fingerprint": str(size)}) for size in (8, 16)
]))
found["axis"] = figures.versus_size(frame, "bandwidth_MBps").layout.xaxis.title.text
spec = Spec(benchmark="kv.alone", size=8, transport="tcp")
with tempfile.TemporaryDirectory() as folder:
    campaign = labkit.measure([spec, spec.replace(testbed="nice:7")], Effort(launches=1), into=folder)
    rows = labkit.load(campaign).to_dict("records")
    found["tool"] = sorted([row["n"], row["engine"], row["transport"], row["testbed"]] for row in rows)
    found["commands"] = sorted(one.meta["commands"][0][0] for one in campaign.samples())
asked = labkit.sweep("mpi.alone", sizes="8Ki,64Ki", testbed="simulated:fat-tree,nodes=4")
found["simulated"] = []
if shutil.which("smpirun"):
    with tempfile.TemporaryDirectory() as folder:
        rows = labkit.load(labkit.measure(asked, Effort(launches=1), into=folder)).sort_values("message_size_B")
        found["simulated"] = [rows["origin"].tolist(), rows["bandwidth_MBps_p50"].tolist()]
with tempfile.TemporaryDirectory() as folder:
    log = Path(folder, "log.txt")
    original = Path(sys.argv[1], "tests/golden/logs/netperf/TCP_RR.txt").read_text()
    log.write_text(original.replace("MIGRATED TCP REQ", "MIGRATED SCTP REQ"))
    rows = labkit.load(importing.bring([log], into=f"{folder}/c").campaign)
    found["log"] = [rows["benchmark"].tolist(), rows["origin"].tolist(), [rate > 0 for rate in rows["transaction_rate_per_s_mean"]]]
try:
    labkit.measure(spec.replace(testbed="nice:7", hosts=("a", "b")), Effort(launches=1), into="never")
except SpecError as error:
    found["refused"] = str(error)
allocation._batch_job = lambda: allocation.Allocation("slurm", "7", "", ("n1", "n2", "n3"))
found["ends"] = testbeds.local.hosts(spec)
found["bounded"] = bounds.every_bounded()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def proved(copy: Path) -> Any:
    """What labkit knows of benchmarks and testbeds whose files were added, and nothing else changed."""
    return json.loads(run(copy, "-c", PROVED, ROOT))


@pytest.mark.parametrize("name", ["mpi.alone", "mpi.alone_latency"])
def test_the_bound_of_a_benchmark_follows_from_its_file(proved: Any, name: str) -> None:
    ours, theirs = proved[name]
    assert ours
    assert ours == theirs
    assert name in proved["bounded"]


def test_the_axis_of_a_figure_is_named_by_the_benchmark(proved: Any) -> None:
    assert proved["axis"].startswith("size in a window (B)")


def test_where_the_ends_of_a_tool_run_stands_in_its_benchmark(proved: Any) -> None:
    assert proved["tool"] == [[40, "alone", "tcp", "local"], [40, "alone", "tcp", "nice:7"]]
    assert proved["commands"] == [*lines.portable([sys.executable]), "nice"]
    assert proved["ends"] == ["n1", "n2"]
    assert proved["refused"].startswith("--hosts a,b, but kv.alone starts its server on this machine")


@pytest.mark.simgrid
def test_how_a_benchmark_is_simulated_stands_in_its_file(proved: Any) -> None:
    origins, (slow, fast) = proved["simulated"]
    assert origins == ["simulated", "simulated"]
    assert 0 < slow < fast


def test_which_logs_are_of_a_benchmark_stands_in_its_file(proved: Any) -> None:
    assert proved["log"] == [["sockets.alone"], ["imported"], [True]]
