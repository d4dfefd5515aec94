"""Suites: read strictly, swept, executed; failing notebooks kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pandas as pd
import papermill
import pytest

from labkit import studies, suites
from labkit.apps import notebook, show
from labkit.errors import SpecError
from labkit.io import project
from labkit.point.spec import Spec, sweep
from labkit.store.campaign import Campaign
from labkit.suites import definition, plan
from tests.waiting import until

NOTEBOOKS = sorted(project.NOTEBOOKS.glob("[1-9]*.ipynb"))
TINY = """
title = "Tiny"
[parameters]
launches = 2
time_cap = 0.02
[[notebook]]
name = "10-latency"
[notebook.parameters]
sizes = "0,8,4Ki"
transports = "shm"
allreduce = "8"
"""


def suite(folder: Path, text: str) -> Path:
    path = folder / "own.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", suites.names())
def test_every_suite_loads(name: str) -> None:
    loaded = suites.load(name)
    assert loaded.entries
    assert len({entry.name for entry in loaded.entries}) == len(loaded.entries)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_names_exactly_the_parameters_of_its_study_with_their_defaults(path: Path) -> None:
    said = {name: one["default"] for name, one in papermill.inspect_notebook(str(path)).items()}
    defaults = studies.defaults(studies.of_notebook(path))
    assert set(said) == set(defaults)
    namespace: dict[str, object] = {}
    for name, text in said.items():
        exec(f"{name} = {text}", namespace)
        assert namespace[name] == defaults[name], name


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_prose_with_calls(path: Path) -> None:
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    for cell in book.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [], "committed with outputs"
            assert cell.execution_count is None
            if "parameters" in cell.metadata.get("tags", []):
                continue
            assert len(cell.source.splitlines()) <= 15
            code = "\n".join(line for line in cell.source.splitlines() if not line.startswith("#|"))
            for word in ("def ", "for ", "while ", "if ", "import pandas"):
                assert word not in code, f"{word!r} in {code}"
    assert sum(cell.cell_type == "markdown" for cell in book.cells) * 3 >= len(book.cells) - 1  # without the form


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("notebook = []", "at least one"),
        (
            'titel = "x"\n[[notebook]]\nname = "10-latency"',
            "own.toml has no 'titel'. Did you mean title.? It has: notebook, parameters",
        ),
        ('[[notebook]]\nname = "99-nothing"', "There is no notebook '99-nothing'. There are:"),
        (
            '[[notebook]]\nname = "10-latency"\nparameter = {}',
            r"\[\[notebook\]\] 1 has no 'parameter'. Did you mean parameters\? It has: name, parameters",
        ),
        (
            '[[notebook]]\nname = "10-latency"\n[notebook.parameters]\nsize = "8"',
            "notebook 10-latency has no 'size'. Did you mean sizes",
        ),
        ('[[notebook]]\nname = "10-latency"\n[notebook.parameters]\nlaunches = "many"', "launches='many'"),
        (
            '[parameters]\nwindw = 1\n[[notebook]]\nname = "10-latency"',
            r"\[parameters\] windw: no notebook of own has this parameter. They have: ",
        ),
        ("[[notebook", "Correct or restore it"),
    ],
)
def test_a_wrong_suite_is_refused_before_anything_starts(tmp_path: Path, text: str, error: str) -> None:
    with pytest.raises(SpecError, match=error):
        suites.load(suite(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (b"notebook = 3", "notebook=3, but it must be a list"),
        (b"[[notebook]]\nname = 3", r"\[\[notebook\]\] 1: name=3, but it must be text"),
        (b'sweep = "x"\n[[notebook]]\nname = "10-latency"', "sweep='x', but it must be a list"),
        (
            b'parameters = [1]\n[[notebook]]\nname = "10-latency"',
            r"parameters=\[1\], but it must be a table of keys and values",
        ),
        (b'[[notebook]]\nname = "10-latency"\nsweep = 3', r"\[\[notebook\]\] 1: sweep=3, but it must be a table"),
        (b'[[notebook]]\nname = "10-latency"\n[notebook.sweep]\nci = 3', "sweep.ci=3, but it must be a list"),
        (
            b'[[notebook]]\nname = "10-latency"\n[notebook.sweep]\nci = []',
            "the sweep of ci in 10-latency has no values",
        ),
        (b'[[notebook]]\nname = "10-latency"\n[notebook.parameters]\nseed = 1' + b"0" * 500, "at most 64 bits"),
        (b'[[notebook]]\nname = "10-latency"\n[notebook.parameters]\nci = nan', "ci=nan, but it must be a finite"),
        (
            b"seed = 1" + b"0" * 5000 + b'\n[[notebook]]\nname = "10-latency"',
            "cannot be read: a number has thousands of digits",
        ),
        (b"\xff\xfe\x00title", r"not UTF-8 text \(byte 1\)"),
        (b"a = " + b"[" * 20000, "nested too deeply|cannot be read"),
        (b'[[notebook]]\nname = "../notebooks/10-latency"', "a name has letters, digits .*; a path is not a name"),
        (b'[[notebook]]\nname = "/tmp/evil"', "a name has letters, digits .*; a path is not a name"),
        (b'[[notebook]]\nname = "10-latency\\n"', "a name has letters, digits .*; a path is not a name"),
    ],
)
def test_a_suite_of_the_wrong_shape_is_one_sentence(tmp_path: Path, text: bytes, error: str) -> None:
    path = tmp_path / "own.toml"
    path.write_bytes(text)
    with pytest.raises(SpecError, match=error):
        suites.load(path)


def test_a_suite_is_a_name_or_a_toml_file() -> None:
    with pytest.raises(SpecError, match="a path is not a name"):
        suites.load("../suites/quick")


def test_the_command_line_wins_over_what_a_suite_sets_and_sweeps(tmp_path: Path) -> None:
    text = TINY + "[notebook.sweep]\nseed = [1, 2]\n"
    loaded = suites.load(suite(tmp_path, text), ["sizes=8", "launches=4", "seed=7"], {"launches": 1})
    (entry,) = loaded.entries
    assert (entry.parameters["sizes"], entry.parameters["launches"], entry.parameters["seed"]) == ("8", 4, 7)
    (entry,) = suites.load(suite(tmp_path, TINY), [], {"launches": 1}).entries
    assert (entry.parameters["sizes"], entry.parameters["launches"]) == ("0,8,4Ki", 2)


def test_an_unknown_suite_lists_those_there_are() -> None:
    with pytest.raises(SpecError, match=r"There is no suite 'quik'. Did you mean quick"):
        suites.load("quik")


def test_overrides_reach_every_notebook_that_has_the_parameter(tmp_path: Path) -> None:
    loaded = suites.load(suite(tmp_path, TINY), ["launches=4", "clock=false"])
    assert loaded.entries[0].parameters["launches"] == 4
    assert loaded.entries[0].parameters["clock"] is False
    with pytest.raises(SpecError, match="not of the form NAME=VALUE"):
        suites.load(suite(tmp_path, TINY), ["launches"])


def test_a_sweep_makes_a_notebook_of_every_combination(tmp_path: Path) -> None:
    text = TINY + "[notebook.sweep]\nseed = [1, 2]\nci = [0.02, 0.05]\n"
    assert [entry.name for entry in suites.load(suite(tmp_path, text)).entries] == [
        "10-latency-1-0.02",
        "10-latency-1-0.05",
        "10-latency-2-0.02",
        "10-latency-2-0.05",
    ]


def test_a_suite_sweeps_parameters_and_settings_in_a_random_order(tmp_path: Path) -> None:
    text = (
        "seed = 5\n"
        + TINY
        + """
[[notebook]]
name = "20-bandwidth"
[[sweep]]
notebooks = ["10-latency"]
[sweep.parameters]
ci = [0.02, 0.05, 0.1]
[sweep.setting]
"env.OMPI_MCA_btl_tcp_eager_limit" = ["1024", "65536"]
"""
    )
    loaded = suites.load(suite(tmp_path, text))
    names = [entry.name for entry in loaded.entries]
    assert names[:2] == ["10-latency-0.02-1024", "10-latency-0.02-65536"]
    assert len(names) == 7
    order = [entry.name for entry in loaded.order]
    assert sorted(order) == sorted(names)
    assert order != names
    assert order[-1] == "20-bandwidth"
    assert [entry.name for entry in suites.load(suite(tmp_path, text)).order] == order
    assert loaded.entries[0].setting == {"env.OMPI_MCA_btl_tcp_eager_limit": "1024"}
    first, second = (loaded.entries[i].study().points for i in (0, 1))
    assert {p.spec.setting.get("env.OMPI_MCA_btl_tcp_eager_limit") for p in first if "mpi." in p.spec.benchmark} == {
        "1024"
    }
    assert not {p.fingerprint for p in first if "mpi." in p.spec.benchmark} & {p.fingerprint for p in second}


def test_a_plan_says_what_is_missing_and_how_the_time_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABKIT_CAMPAIGNS", str(tmp_path / "all"))
    loaded = suites.load(suite(tmp_path, TINY))
    (one,) = plan.plan(loaded, tmp_path / "c")
    assert (one.points, one.missing, one.known) == (10, 10, 0)
    assert one.seconds == pytest.approx(10 * 0.02)
    prints = sorted({point.fingerprint for point in one.entry.study().points})
    (tmp_path / "all" / "old").mkdir(parents=True)
    rows = {"fingerprint": prints[:2], "elapsed_s": [3.0, 5.0]}
    pd.DataFrame(rows).to_parquet(tmp_path / "all" / "old" / "records.parquet")
    (one,) = plan.plan(loaded, tmp_path / "c")
    assert (one.known, one.missing) == (4, 10)
    assert one.seconds == pytest.approx(2 * 3.0 + 2 * 5.0 + 6 * 0.02)
    assert "4 from earlier, 6 from the cap" in show.suite([one], suites.Suite("s", "s", ()))


def test_a_plan_names_the_links_of_a_testbed_together(tmp_path: Path) -> None:
    text = 'title = "services"\n[[notebook]]\nname = "38-microservices"\nparameters = { router_leaves = "table" }\n'
    (one,) = plan.plan(suites.load(suite(tmp_path, text)), tmp_path / "c")
    (places,) = (name for name in one.on if name.startswith("virtual-cluster"))
    assert places == "virtual-cluster:4 in 7 variants"
    assert len(set(one.on)) == len(one.on)


def test_hosts_are_a_setting_of_ranks_that_can_have_several(tmp_path: Path) -> None:
    text = TINY + '[[sweep]]\nsetting = {hosts = ["same-leaf", "a,b"]}\n'
    assert [entry.setting["hosts"] for entry in suites.load(suite(tmp_path, text)).entries] == ["same-leaf", "a,b"]
    latency = Spec(benchmark="mpi.latency")
    assert studies.settled(latency, {"hosts": "a,b"}).hosts == ("a", "b")
    assert studies.settled(latency, {"hosts": "same-leaf", "transport": "tcp"}).hosts == ("same-leaf",)
    assert studies.settled(latency, {"hosts": "same-leaf", "transport": "shm"}).hosts == ()
    assert studies.settled(latency.replace(hosts=("c", "d")), {"hosts": "a,b"}).hosts == ("c", "d")
    assert studies.settled(Spec(benchmark="sockets.tcp_rr", ranks=1), {"hosts": "a,b"}).hosts == ()


@pytest.mark.parametrize(
    ("sweep", "error"),
    [
        ("[[sweep]]\nparameters = {ci = 0.02}", r"\[\[sweep\]\] 1: parameters.ci=0.02, but it must be a list"),
        (
            '[[sweep]]\nnotebooks = ["11-x"]\nparameters = {ci = [0.02]}',
            r"notebooks=\['11-x'\], but the suite has no such notebook",
        ),
        ("[[sweep]]\nsetting = {ppn = [1]}", "setting 'ppn' does not exist"),
        (f"[[sweep]]\nparameters = {{seed = {list(range(1, 1002))}}}", "make 1,001 notebooks; the limit is 1,000"),
        ("[[sweep]]\norder = 1", r"\[\[sweep\]\] 1 has no 'order'"),
    ],
)
def test_a_wrong_sweep_is_refused(tmp_path: Path, sweep: str, error: str) -> None:
    with pytest.raises(SpecError, match=error):
        suites.load(suite(tmp_path, TINY + sweep))


def run(path: Path, into: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "labkit", "run", str(path), "--into", str(into), *more]
    clean = {**os.environ, "BROWSER_PATH": "/nowhere"}  # static figures are not what is tested here
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env=clean)


class _Clock(studies.Study):
    """A study of one point that needs no ranks."""

    benchmarks = ("micro.clock",)

    def specs(self) -> list[Spec]:
        return sweep("micro.clock", sizes=0, ranks=1)


class _Entry(definition.Entry):
    def study(self, run: Campaign | None = None, /, **more: Any) -> studies.Study:
        return _Clock(self.given(run), **{**self.parameters, **more})


def test_points_of_an_earlier_effort_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a suite that runs again, and in a notebook; the same effort again is no reason to warn."""
    monkeypatch.setattr(suites.extras, "absent", lambda *names: ["papermill"])  # measured, not executed

    def again(time_cap: float) -> suites.Outcome:
        entry = _Entry(Path("clock.ipynb"), {"time_cap": time_cap, "launches": 1})
        return suites.run(definition.Suite("own", "Own", (entry,)), into=tmp_path / "c")

    assert (again(0.01).measured, again(0.01).older) == (1, ())
    for _ in range(2):  # not only the first time
        later = again(0.02)
        (text,) = later.older
        assert (
            "clock: 1 point was measured before with a time cap of 0.01 s (time_cap=0.01); not measured again" in text
        )
        assert f"warning: {text}" in later.text()
        assert later.measured == 0
    shown: list[str] = []
    handle = SimpleNamespace(update=lambda thing: shown.append(thing.data))
    monkeypatch.setattr(notebook, "display", lambda *things, **how: handle)
    for time_cap, told in ((0.02, True), (0.01, False)):
        notebook.measure(_Clock(time_cap=time_cap, launches=1, campaign=str(tmp_path / "c")))
        assert ("measured before with a time cap of 0.01 s" in shown[-1]) is told


def test_a_run_of_one_point_counts_it_in_the_singular(tmp_path: Path) -> None:
    text = suites.Outcome(tmp_path, (), measured=1, present=1, retried=1, warnings=(("few", 1),)).text()
    assert "0 of 0 notebooks done, 1 point × launch measured, 1 there already" in text
    assert "1 point needed a second start" in text
    assert "few (1 record)" in text


@pytest.mark.slow
@pytest.mark.mpi
def test_a_second_run_measures_only_what_is_missing(tmp_path: Path) -> None:
    path, into = suite(tmp_path, TINY), tmp_path / "c"
    first = run(path, into)
    assert first.returncode == 0, first.stderr
    assert "10 points × launches measured, 0 there already" in first.stdout
    gone = sorted(into.glob("samples/mpi.latency/*.parquet"))[0]
    before = {p: p.stat().st_mtime_ns for p in into.glob("samples/*/*.parquet") if p != gone}
    gone.unlink()
    second = run(path, into)
    assert "1 point × launch measured, 9 there already" in second.stdout
    assert {p: p.stat().st_mtime_ns for p in before} == before
    assert gone.exists()


@pytest.mark.mpi
@pytest.mark.slow
def test_a_failing_notebook_is_kept_with_its_error_and_the_others_go_on(tmp_path: Path) -> None:
    text = (
        TINY.replace('transports = "shm"', 'transports = "pigeon"')
        + '[[notebook]]\nname = "10-latency"\n[notebook.parameters]\nsizes = "8"\ntransports = "shm"\nallreduce = ""\n[notebook.sweep]\nseed = [3]\n'
    )
    done = run(suite(tmp_path, text), tmp_path / "c")
    assert done.returncode == 1
    assert "supports auto, shm, tcp, rc, ud. Set transport=auto" in done.stdout
    assert "1 of 2 notebooks done" in done.stdout, done.stdout
    kept = nbformat.read(tmp_path / "c" / "notebooks" / "10-latency.ipynb", as_version=4)
    assert any(o.output_type == "error" for c in kept.cells if c.cell_type == "code" for o in c.outputs)
    facts = json.loads((tmp_path / "c" / "campaign.json").read_text())
    assert [bool(one["error"]) for one in facts["notebooks"]] == [True, False]


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.parametrize("delay", [2.5, 4.5])
def test_kill_9_loses_at_most_the_point_in_flight(tmp_path: Path, delay: float) -> None:
    """The oracle is outside labkit: what log.txt acknowledged must load, and nothing may go on running."""
    path, into = suite(tmp_path, TINY.replace("0,8,4Ki", "1:64Ki").replace("0.02", "0.2")), tmp_path / "c"
    process = subprocess.Popen(
        [sys.executable, "-m", "labkit", "run", str(path), "--into", str(into)], stderr=subprocess.DEVNULL
    )
    until((into / "campaign.json").exists, runs=process)
    time.sleep(delay)  # any moment of the run
    process.send_signal(signal.SIGKILL)
    process.wait()
    until(lambda: not working(into))  # nothing of the killed run goes on
    log = (into / "log.txt").read_text() if (into / "log.txt").exists() else ""
    saved = {line.split()[-1] for line in log.splitlines() if " saved " in line}
    from labkit.store import samples

    for name in saved:
        assert samples.load(into / name).n > 0
    (into / "notebooks").mkdir(exist_ok=True)
    (into / "notebooks" / ".10-latency.ipynb.1.ipynb").touch()  # as a run that was killed leaves it
    done = run(path, into, "-p", "time_cap=0.02")
    assert done.returncode == 0, done.stderr
    assert list((into / "notebooks").glob(".*")) == []
    assert f"{len(saved)} there already" in done.stdout or f"{len(saved) + 1} there already" in done.stdout
    again = {line.split()[-1] for line in (into / "log.txt").read_text().splitlines() if " saved " in line}
    assert len(again) == (17 + 1 + 1) * 2


def working(into: Path) -> list[int]:
    """Processes that work on this campaign: kernel, supervisor, launcher, ranks."""
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes()
        except OSError:
            continue
        if f"LABKIT_CAMPAIGN={into}".encode() in environment and int(folder.name) != os.getpid():
            pids.append(int(folder.name))
    return pids


@pytest.mark.slow
def test_too_few_descriptors_are_told_before_a_notebook_starts(tmp_path: Path) -> None:
    words = f"{sys.executable} -m labkit run quick --into {tmp_path / 'c'}"
    done = subprocess.run(["bash", "-c", f"ulimit -n 64; exec {words}"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "The limit of open files is 64, but a notebook needs 256. Raise it with `ulimit -n 4096`" in done.stderr
    assert not (tmp_path / "c").exists()
    raised = "from labkit.suites.notebooks import raise_open_file_limit as limit; import resource; limit(); print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    done = subprocess.run(
        ["bash", "-c", f"ulimit -Sn 64; exec {sys.executable} -c '{raised}'"], capture_output=True, text=True
    )
    assert done.stdout == "256\n", done.stderr


def test_long_values_that_are_swept_give_names_of_their_own() -> None:
    paths = [f"/opt/{'software/' * 30}openmpi-{version}/bin/mpirun" for version in ("4.1", "5.0")]
    names = [definition._part(path) for path in paths]
    assert len(set(names)) == 2
    assert all(len(name) == definition.PART and name.endswith("_bin_mpirun") for name in names)
    assert definition._part("4Ki") == "4Ki"


def test_a_run_measures_into_the_campaign_of_into_alone(tmp_path: Path) -> None:
    """Points in another folder would be missing from the run's campaign and its counts."""
    suite = tmp_path / "one.toml"
    suite.write_text('[[notebook]]\nname = "10-latency"\n')
    with pytest.raises(SpecError, match=r"-p campaign=.*Name it with --into"):
        suites.load(suite, [f"campaign={tmp_path / 'x'}"])
    assert suites.load(suite, [f"campaign={tmp_path / 'x'}", "measure=false"])
