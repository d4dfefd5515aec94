"""Sites, job scripts, what batch systems say, estimates: everything about jobs that needs no batch system."""

import contextlib
import dataclasses
import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import labkit
from labkit import suites, testbeds
from labkit.apps import cli, jobs
from labkit.apps.jobs import estimate, inside, script, site, submitting, systems
from labkit.apps.jobs.following import Follower, Look
from labkit.errors import DataError, LabkitWarning, LaunchError, SpecError
from labkit.host import allocation
from labkit.host.allocation import Allocation
from labkit.io import project
from labkit.point.spec import Spec
from labkit.run import launch, measuring, nodes, schedule
from labkit.run.progress import Progress
from labkit.store.campaign import Campaign
from labkit.tools import Place

GOLDEN = Path(__file__).parent / "golden" / "jobs"
LEAVES = {"a": "s0", "b": "s0", "c": "s1", "d": "s1"}
FOUR = Allocation("slurm", "7", hosts=("a", "b", "c", "d"), tasks=2, leaves=LEAVES)


def rendered(name: str, request: jobs.Request, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("USER", "ada")
    monkeypatch.setattr(project, "home", lambda: Path("/home/ada/labkit"))
    cluster = site.load(site.SITES / f"{name}.toml")
    cluster = cluster.__class__(**{**cluster.__dict__, "python": "/home/ada/labkit/.venv/bin/python"})
    return script.render(request, cluster, Path("/scratch/ada/labkit/quick"), submission=2, exclude=["n7", "n9"])


# PBS and Flux: not run here, the text alone is compared
@pytest.mark.parametrize("name", ["slurm-modules", "slurm-spack", "pbs", "flux"])
def test_the_script_of_a_site(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    array = 1 if name == "flux" else 3
    request = jobs.Request(
        suite="quick", nodes=4, ppn=2, minutes=90, account="p1", array=array, parameters=("launches=6",)
    )
    text = rendered(name, request, monkeypatch).replace(f"# labkit {labkit.__version__}:", "# labkit VERSION:")
    golden = GOLDEN / f"{name}.sh"
    assert text == golden.read_text(), f"to accept it, write it to {golden}"
    assert "{{" not in text.replace("{{id}}", "")


def test_empty_values_leave_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = site.Site(options=("--gres=gpu:1", "--qos=low"))
    text = script.render(jobs.Request(suite="quick"), cluster, Path("/x y/c"))
    for word in ("--partition", "--account", "--constraint", "--exclude", "--array"):
        assert word not in text
    assert re.findall("#SBATCH (--gres.*|--qos.*)", text) == ["--gres=gpu:1", "--qos=low"]
    assert "#SBATCH --output='/x y/c'/jobs/1-%j.out" in text
    assert text.splitlines()[-1].startswith("exec ")


def test_the_command_line_and_a_request_have_the_same_defaults() -> None:
    given, usual = cli.parser().parse_args(["submit", "quick"]), jobs.Request(suite="quick")
    names = {"minutes": "time", "beside": "side_by_side", "parameters": "parameter"}
    values = {field.name: getattr(given, names.get(field.name, field.name)) for field in dataclasses.fields(usual)}
    assert values | {"parameters": tuple(values["parameters"])} == dataclasses.asdict(usual)


@pytest.mark.parametrize("system", ["slurm", "pbs", "flux"])
def test_a_value_is_no_template(system: str) -> None:
    text = "{{ 7 * 7 }}{% raw %}{# x #}"
    cluster = site.Site(
        system=system, setup=(f"echo '{text}'",), modules=(text,), options=(text,), environment={"A": text}
    )
    request = jobs.Request(suite="quick", parameters=(f"title={text}",))
    made = script.render(request, cluster, Path("/x") / text, exclude=[text])
    assert "49" not in made
    for line in (f"echo '{text}'", f"module load '{text}' || exit", f"export LABKIT_SUBMISSION=1 A='{text}'"):
        assert line in made.splitlines()
    assert f"--into '/x/{text}' -p 'title={text}' --site" in made
    done = subprocess.run(["bash", "-n"], input=made, text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('launchr = "srun"', "There is no key 'launchr'. Did you mean launcher"),
        ("nodes = 3\n[partitions.short]", "There is no key 'nodes'"),
        ("[partitions.short]\nminute = 3", r"partition short: There is no key 'minute'. Did you mean minutes"),
        ("[partitions.short]\nminutes = 'long'", "minutes='long', but it must be a whole number"),
        ('system = "lsf"', "system='lsf', but it must be 'slurm', 'pbs' or 'flux'"),
        ("modules = 3", "modules=3"),
        ("partitions = 3", "partitions=3, but it must be a table of keys and values"),
        ("launcher =", "cannot be read"),
        ("partitions.short = 3", "partitions.short=3"),
        ("partitions.short.nodes = -1", "nodes=-1, but it must be a whole number from 1 to 100,000"),
        ('partition = "a\\ncurl evil | sh"', "partition='a.ncurl evil | sh', but it must be one line"),
        ('partition = "a b"', "partition='a b', but it must be a word"),
        ('modules = ["mpi\\nrm x"]', "modules='mpi.nrm x', but it must be one line"),
        ('setup = ["true\\u2028rm x"]', "setup='true.u2028rm x', but it must be one line"),
        ('options = ["--gres=gpu\\r:1"]', "options='--gres=gpu.r:1', but it must be one line"),
        ('scratch = "/x\\ny"', "scratch='/x.ny', but it must be one line"),
        ('[environment]\nA = "1\\nrm x"', "environment.A='1.nrm x', but it must be one line"),
        ('[environment]\n"A;rm x" = "1"', "environment='A;rm x', but it must be the name of a variable"),
        ('constraint = "a $(rm)"', "but it must be one word, as in"),
    ],
)
def test_a_wrong_site_says_what_is_wrong(tmp_path: Path, text: str, wanted: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(SpecError, match=re.escape(wanted) if "(" in wanted else wanted.replace("|", "[|]")):
        site.load(path)


def test_a_site_is_a_name_or_a_toml_file() -> None:
    with pytest.raises(SpecError, match="a path is not a name"):
        site.find("../../etc/passwd")


def test_no_text_of_a_request_becomes_a_line_or_a_command_of_the_script(tmp_path: Path) -> None:
    for words in ({"partition": "a\nrm x"}, {"account": "$(rm x)"}, {"constraint": "a b"}, {"suite": "a\nb.toml"}):
        with pytest.raises(SpecError, match="but it must be"):
            jobs.Request(**({"suite": "quick"} | words))
    with pytest.raises(SpecError, match="must be one line"):
        script.render(jobs.Request(suite="quick"), site.Site(), Path("/x\ny"))
    mark = tmp_path / "executed"
    text = script.render(jobs.Request(suite="quick"), site.Site(), tmp_path / f"a$(touch {mark})`touch {mark}`")
    done = subprocess.run(["bash", "-c", text], capture_output=True, text=True)
    assert done.returncode == 1
    assert "is not visible on" in done.stderr
    assert not mark.exists()


def test_a_site_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv(site.SITE, raising=False)
    path = tmp_path / "labkit" / "sites" / "pbs.toml"
    assert site.find("") is None
    assert site.find("pbs") == site.SITES / "pbs.toml"
    path.parent.mkdir(parents=True)
    path.touch()
    assert site.find("pbs") == path
    monkeypatch.setenv(site.SITE, str(path))
    assert site.find("") == path
    with pytest.raises(SpecError, match=r"There is no site 'pbz'\. Did you mean pbs\?"):
        site.find("pbz")


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ({"partition": "shrt"}, "There is no partition 'shrt'. Did you mean short"),
        ({"partition": "short", "minutes": 60}, "--time 60, but partition short allows 30"),
        ({"partition": "short", "nodes": 5}, "--nodes 5, but partition short allows 4"),
        ({"array": 0}, "--array 0, but it must be a whole number from 1 to 1,000"),
    ],
)
def test_an_impossible_request_is_refused(
    words: dict[str, object], wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SpecError, match=wanted):
        rendered("slurm-modules", jobs.Request(suite="quick", **words), monkeypatch)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"array": 3, "spread": "2x"}, "--spread '2x' is not a duration"),
        ({"array": 3, "spread": "0s"}, "--spread 0.0, but it must be a number above 0"),
        ({"spread": "2h"}, "--spread 2h, but --array 1 leaves nothing to spread. Set --array 6."),
    ],
)
def test_a_spread_that_cannot_be_is_refused(fields: dict[str, Any], wanted: str) -> None:
    with pytest.raises(SpecError, match=re.escape(wanted)):
        jobs.Request(suite="quick", **fields)


def test_pbs_does_not_spread_its_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SpecError, match="labkit spreads the jobs of an array with Slurm only"):
        rendered("pbs", jobs.Request(suite="quick", array=6, spread="2h"), monkeypatch)


def test_the_jobs_of_an_array_start_evenly_over_the_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(systems, "_run", lambda argv, *_: ran.append(argv))
    request = jobs.Request(suite="quick", array=3, spread="2h")
    systems.Slurm().spread("17", request.array, script.apart(request))
    assert [argv[2:] for argv in ran] == [
        ["JobId=17_1", "StartTime=now+3600"],
        ["JobId=17_2", "StartTime=now+7200"],
    ]


def test_sessions_in_one_job_are_warned_of_and_must_fit_into_it(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('sessions = 6\nspread = "2h"\n[[notebook]]\nname = "10-latency"\n')
    told: list[str] = []
    for minutes, wanted in ((30, "--time 30, but own has 6 sessions over 2 h"), (180, "")):
        request = jobs.Request(suite=str(path), minutes=minutes)
        with pytest.raises(SpecError, match=wanted) if wanted else contextlib.nullcontext():
            submitting._waiting(request, suites.load(path), told.append)
    assert told == [
        "warning: the job holds its nodes between its 6 sessions, over 2 h. With --array and --spread, each session is a "
        "separate job."
    ]


def test_flux_has_no_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SpecError, match=r"Flux has no job arrays.* submit again after the job has ended"):
        rendered("flux", jobs.Request(suite="quick", array=2), monkeypatch)


def test_scratch_is_filled_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "ada")
    assert jobs.folder("quick", None, site.Site(scratch="/scratch/$USER")) == Path("/scratch/ada/quick")
    with pytest.raises(SpecError, match="names a variable that is not set"):
        jobs.folder("quick", None, site.Site(scratch="/scratch/$NOBODY_HAS_THIS"))
    monkeypatch.delenv("USER")
    monkeypatch.setenv("LOGNAME", "bob")
    for form in ("$USER", "${USER}"):
        assert jobs.folder("quick", None, site.Site(scratch=f"/scratch/{form}/x")) == Path("/scratch/bob/x/quick")


def test_without_a_batch_system_it_says_where_to_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LaunchError, match="There is no sbatch, qsub or flux on the PATH"):
        site.load(None)
    with pytest.raises(LaunchError, match="There is no sbatch on the PATH"):
        systems.Slurm().submit("x")
    assert systems.Slurm().state("1").kind == "unknown"
    with pytest.raises(DataError, match="has no job"):
        jobs.latest(Campaign(tmp_path / "empty").path)


@pytest.mark.parametrize(
    ("text", "kind", "words", "good"),
    [
        (
            "JobId=12 JobState=PENDING Reason=Resources Dependency=(null) NodeList=(null) ExitCode=0:0",
            "pending",
            "PENDING (Resources)",
            False,
        ),
        ("JobId=12 JobState=RUNNING Reason=None ExitCode=0:0 NodeList=a[1-2]", "running", "RUNNING", False),
        ("JobId=12 JobState=COMPLETED Reason=None ExitCode=0:0 NodeList=a1", "ended", "COMPLETED", True),
        (
            "JobId=12 JobState=FAILED Reason=NonZeroExitCode ExitCode=1:0 NodeList=a1",
            "ended",
            "FAILED (NonZeroExitCode, exit code 1:0)",
            False,
        ),
        (
            "JobId=13 ArrayJobId=12 JobState=COMPLETED Reason=None ExitCode=0:0\nJobId=12 ArrayTaskId=1 JobState=PENDING Reason=JobArrayTaskLimit ExitCode=0:0",
            "pending",
            "PENDING (JobArrayTaskLimit)",
            False,
        ),
        (
            "JobId=13 JobState=COMPLETED Reason=None ExitCode=0:0\nJobId=14 JobState=TIMEOUT Reason=TimeLimit ExitCode=0:0",
            "ended",
            "TIMEOUT (TimeLimit)",
            False,
        ),
    ],
)
def test_slurm_tells_of_a_job(text: str, kind: str, words: str, good: bool) -> None:
    state = systems.Slurm().read(text)
    assert (state.kind, state.words, state.good) == (kind, words, good)


def test_pbs_and_flux_tell_of_a_job() -> None:
    """By their manuals: not run here."""
    pbs, flux = systems.Pbs(), systems.Flux()
    assert (
        pbs.read("Job Id: 7.s\n    job_state = Q\n    comment = Not Running: no nodes\n").words
        == "Q (Not Running: no nodes)"
    )
    assert pbs.read("    job_state = R\n    exec_host = a/0+b/0\n").kind == "running"
    assert pbs.read("    job_state = F\n    Exit_status = 0\n").good
    ended = pbs.read("    job_state = F\n    Exit_status = 271\n")
    assert (ended.kind, ended.good, ended.words) == ("ended", False, "F, exit status 271")
    assert flux.read("RUN  a[1-2]").kind == "running"
    assert flux.read("SCHED").kind == "pending"
    assert flux.read("INACTIVE COMPLETED a1").good
    assert not flux.read("INACTIVE TIMEOUT a1").good


def test_ranks_go_to_the_hosts_of_a_job() -> None:
    spec = Spec(benchmark="mpi.latency")
    assert launch.job_hosts(spec, None) == ()
    assert launch.job_hosts(spec, FOUR) == ("a", "b")
    assert launch.job_hosts(spec.replace(transport="shm"), FOUR) == ("a",)
    assert launch.job_hosts(spec.replace(hosts=("across-leaves",)), FOUR) == ("a", "c")
    assert launch.job_hosts(spec.replace(hosts=("same-leaf",)), FOUR) == ("a", "b")
    assert launch.job_hosts(spec.replace(hosts=("same-leaf",), ranks=4), FOUR) == ("a", "b")
    assert launch.job_hosts(spec.replace(hosts=("d", "b")), FOUR) == ("d", "b")
    assert launch.job_hosts(spec.replace(ranks=8), FOUR) == FOUR.hosts
    assert launch.job_hosts(spec.replace(ranks=8, ppn=4), FOUR) == ("a", "b")
    with pytest.raises(SpecError, match="The request needs 8 hosts, but job 7 has 4 to use"):
        launch.job_hosts(spec.replace(ranks=8, ppn=1), FOUR)
    with pytest.raises(SpecError, match="no switch of job 7 has 4 hosts"):
        launch.job_hosts(spec.replace(ranks=4, ppn=1, hosts=("same-leaf",)), FOUR)
    with pytest.raises(SpecError, match="works in batch jobs only"):
        launch.job_hosts(spec.replace(hosts=("same-leaf",)), None)
    flat = Allocation("slurm", "7", hosts=("a", "b"))
    with pytest.raises(SpecError, match="Slurm does not know the switches of a, b"):
        launch.job_hosts(spec.replace(hosts=("across-leaves",)), flat)
    one = Allocation("slurm", "7", hosts=("a", "b"), leaves=LEAVES)
    with pytest.raises(SpecError, match="needs two hosts on two switches"):
        launch.job_hosts(spec.replace(hosts=("across-leaves",)), one)


def test_independent_points_share_the_hosts_of_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocation, "_batch_job", lambda: FOUR)
    pair = measuring.Point(Spec(benchmark="mpi.latency"), 0, "f", "l")
    all_four = measuring.Point(Spec(benchmark="mpi.allreduce", ranks=4), 0, "f", "l")
    tool = measuring.Point(Spec(benchmark="sockets.tcp_rr", ranks=1), 0, "f", "l")
    named = measuring.Point(Spec(benchmark="mpi.latency", hosts=("same-leaf",)), 0, "f", "l")
    groups = [[pair], [pair], [pair], [tool], [pair], [all_four], [named], [pair]]

    def hosts() -> list[list[str]]:
        return [["".join(part) for _, part in batch] for batch in schedule.concurrent(groups)]

    assert hosts() == [[""]] * 8
    monkeypatch.setenv(schedule.BESIDE, "1")
    assert hosts() == [["ab", "cd"], ["ab"], [""], ["ab"], ["abcd"], [""], ["ab"]]
    with allocation.narrowed(["c", "d"]):
        assert allocation.shared()
        assert launch.job_hosts(pair.spec, allocation.current()) == ("c", "d")
    assert not allocation.shared()


def test_the_ends_of_a_tool_go_to_two_hosts_of_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocation, "_batch_job", lambda: FOUR)
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *_: [(0, 0, 0, "", (f"10.0.0.{'abcd'.index(host)}", 0))])
    call = Spec(benchmark="rpc.latency", size=8)
    with testbeds.open("local") as testbed:
        apart = testbed.place(call)
        assert (apart.address, apart.own_files, apart.client[:1]) == ("10.0.0.1", True, ("srun",))
        assert "--nodelist=b" in apart.server
        assert testbed.place(call.replace(hosts=("d", "c"))).address == "10.0.0.2"
        assert testbed.place(call.replace(hosts=("across-leaves",))).address == "10.0.0.2"
        services = testbed.place(Spec(benchmark="services.router", size=16))
        assert [row[0] for row in json.loads(services.server_words["hosts"])] == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
        for alone in (
            call.replace(transport="unix"),
            call.replace(hosts=("localhost",)),
            Spec(benchmark="sockets.tcp_rr"),
            Spec(benchmark="storage.read"),
        ):
            assert testbed.place(alone) == Place()
    assert nodes.hosts(call) == ("a", "b")
    outline = testbeds.outline("local")
    with pytest.raises(SpecError, match="host"):
        outline.place(call.replace(hosts=("a", "x")))
    with pytest.raises(SpecError, match=r"has a client and a server\. Name two"):
        outline.place(call.replace(hosts=("a", "b", "c")))
    with pytest.raises(SpecError, match="a Unix socket stays inside one host"):
        outline.place(call.replace(hosts=("a", "b"), transport="unix"))


@pytest.mark.slow
def test_a_node_on_which_slurm_refuses_a_step_once_is_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    srun = tmp_path / "srun"  # refuses the first step on "busy", and every one on "dead"
    srun.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        f'*nodelist=busy*) mkdir {tmp_path}/seen 2>/dev/null || exit 0; echo "srun: error: not now" >&2; exit 1;;\n'
        f'*nodelist=dead*) mkdir {tmp_path}/dead 2>/dev/null || exec sleep 9; echo "srun: error: gone" >&2; exit 1;;\n'
        "esac\n"
    )
    srun.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(nodes, "PROBE", 4.0)
    monkeypatch.setattr(nodes, "AGAIN", 0.05)
    assert nodes.probed(["good", "busy", "dead"]) == {"dead": "srun: error: gone"}


def test_the_span_of_hosts() -> None:
    assert allocation.span(["a"], LEAVES) == "one host"
    assert allocation.span(["a", "b"], LEAVES) == "same leaf"
    assert allocation.span(["a", "c"], LEAVES) == "across leaves"
    assert allocation.span(["a", "x"], LEAVES) == ""


def test_the_job_one_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_JOB_ID", "FLUX_URI", "PBS_NODEFILE", allocation.LEFT_OUT_FILE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(allocation, "current", allocation.current)
    allocation._batch_job.cache_clear()
    try:
        assert allocation.current() is None
        nodes = tmp_path / "nodes"
        nodes.write_text("n1\nn1\nn2\nn2\n")
        monkeypatch.setenv("PBS_NODEFILE", str(nodes))
        monkeypatch.setenv("PBS_JOBID", "41[2].server")
        monkeypatch.setenv("PBS_ARRAY_INDEX", "2")
        allocation._batch_job.cache_clear()
        assert allocation.current() == Allocation("pbs", "41", "2", ("n1", "n2"), 2)
        monkeypatch.setenv("PATH", str(tmp_path))
        for name, value in {
            "SLURM_JOB_ID": "13",
            "SLURM_ARRAY_JOB_ID": "12",
            "SLURM_ARRAY_TASK_ID": "1",
            "SLURM_JOB_NODELIST": "n[1-3]",
            "SLURM_NTASKS_PER_NODE": "2",
            "SLURM_CONF": str(tmp_path / "slurm.conf"),
        }.items():
            monkeypatch.setenv(name, value)
        (tmp_path / "topology.conf").write_text("SwitchName=s0 Nodes=n[1-3] # all\nSwitchName=t Switches=s0\n")
        allocation._batch_job.cache_clear()
        job = allocation.current()
        assert job is not None
        assert (job.name, job.hosts, job.tasks, set(job.leaves.values())) == (
            "12_1",
            ("n1", "n2", "n3"),
            2,
            {"s0"},
        )
        (tmp_path / "out.txt").write_text("n2\tslow\n")
        monkeypatch.setenv(allocation.LEFT_OUT_FILE, str(tmp_path / "out.txt"))
        assert allocation.current().hosts == ("n1", "n3")  # type: ignore[union-attr]
    finally:
        allocation._batch_job.cache_clear()


def test_what_notebooks_get_in_a_job() -> None:
    assert inside.default_parameters(site.Site(), None) == {}
    assert inside.default_parameters(site.Site(launcher="srun"), FOUR) == {
        "launcher": "srun",
        "transports": "auto",
        "ranks": "8",
    }
    suite = suites.load("quick")
    twice = inside.repeated(suite, 2)
    assert [entry.launches for entry in twice.entries] == [2 * entry.launches for entry in suite.entries]
    assert inside.repeated(suite, 1) is suite


def test_an_estimate_comes_from_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = Campaign(tmp_path / "old")
    campaign.tell("notebook", name="40-storage", state="begins")
    for file in ("a", "b"):
        campaign.tell("saved", file=file, sha256="")
    campaign.tell("notebook", name="40-storage", state="done", seconds=8.0)
    campaign.tell("notebook", name="40-storage", state="begins")
    campaign.tell("notebook", name="40-storage", state="done", seconds=2.0)
    assert estimate.rates([tmp_path / "old", tmp_path / "none"]) == {"40-storage": [4.0]}
    monkeypatch.setenv("LABKIT_CAMPAIGNS", str(tmp_path))
    suite = suites.load("quick")
    one = suite.__class__("s", "s", tuple(e for e in suite.entries if e.notebook.stem in ("40-storage", "10-latency")))
    said = estimate.sentence(one)
    assert "points × launches, about" in said or "No estimate" in said
    assert "without 10-latency, which no earlier campaign has" in said or "No estimate" in said


def test_limits_of_partitions_are_read() -> None:
    text = "batch*|1-02:30:00|3|64|1-infinite\nbatch*|1-02:30:00|2|128+|1-infinite\nshort|30:00|9|8|1-4\nopen|infinite|1|4|1-infinite\nodd\n"
    limits = systems.limits(text)
    assert [(one.nodes, one.minutes, one.cores, one.is_default) for one in limits.values()] == [
        (5, 1590, 128, True),
        (4, 30, 8, False),
        (1, 0, 4, False),
    ]


def submitted(folder: Path, number: int, text: str = "") -> Path:
    """The file of a submission, as it is or damaged."""
    path = Campaign(folder).path / "jobs" / f"{number}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text or json.dumps({"system": "slurm", "number": "7", "submitted": 1.0, "request": {"array": 2}}))
    return path


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        '{"system": "slurm", "number": "1"}',
        '{"system": "x", "number": "1", "submitted": 1}',
        '{"system": "slurm", "number": "1", "submitted": "soon"}',
    ],
)
def test_a_damaged_submission_is_named_and_left_out(tmp_path: Path, text: str) -> None:
    path = submitted(tmp_path / "c", 1, text)
    with pytest.warns(LabkitWarning, match=rf"{path} is damaged, so labkit ignores it: .*\. Delete it"):
        assert jobs.jobs(tmp_path / "c") == []
    submitted(tmp_path / "c", 2)
    with pytest.warns(LabkitWarning, match="is damaged"):
        (job,) = jobs.jobs(tmp_path / "c")
    assert (job.submission, job.number, job.array) == (2, "7", 2)


@pytest.mark.slow
def test_status_of_damaged_submissions_is_no_traceback(
    campaigns: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LABKIT_CAMPAIGNS", str(tmp_path))
    path = submitted(tmp_path / "spoilt", 1, "\x00{")
    done = subprocess.run([sys.executable, "-m", "labkit", "status", "spoilt"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert f"warning: {path} is damaged, so labkit ignores it" in done.stderr
    assert "has no job. Submit one" in done.stderr
    assert subprocess.run([sys.executable, "-m", "labkit", "status"], capture_output=True).returncode == 0


def test_a_running_job_is_not_said_to_have_ended(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "c")
    folder = submitted(campaign.path, 1).parent
    note = {"allocation": {"job": "7", "name": "7", "hosts": ["n1"]}, "start": time.time() - 60, "before": 0}
    (folder / "1-7.json").write_text(json.dumps(note))
    assert "job 7 on n1: runs since 1 min" in jobs.summary(campaign, {"7"})
    assert "job 7: did not finish" in jobs.summary(campaign, {"8"})
    (folder / "1-8.json").write_text("{")
    with pytest.warns(LabkitWarning, match="is damaged"):
        assert "runs since" in jobs.summary(campaign, {"7"})


def test_a_job_that_ended_is_not_said_to_measure() -> None:
    """Its lock may look alive for some seconds."""
    look = jobs.Look(4, 12, "mpi.latency 8 B", "process 7 on n1")
    assert look.words().endswith("measured by process 7 on n1")
    assert look.words(live=False) == "4 of 12 points × launches there"


@pytest.mark.slow
def test_submissions_into_one_campaign_wait_for_one_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Campaign(tmp_path / "c").path / "jobs"
    folder.mkdir()
    monkeypatch.setattr(submitting, "PATIENCE", 0.3)
    ask = f"from labkit.apps.jobs import submitting; from pathlib import Path; submitting.PATIENCE = 0.3\nwith submitting._submission_lock(Path({str(folder.parent)!r})): pass"
    with submitting._submission_lock(folder.parent):
        done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True)
    assert f"Process {os.getpid()} on " in done.stderr
    assert "is submitting into" in done.stderr
    with submitting._submission_lock(folder.parent):
        pass
    assert not list(folder.iterdir())


def test_parameters_that_cannot_be_are_refused_before_anything_is_submitted(tmp_path: Path) -> None:
    suite = tmp_path / "one.toml"
    suite.write_text('[[notebook]]\nname = "10-latency"\n')
    for words, wanted in {("sizes=8:x",): "size='x' is not a size", ("launches=0",): "launches"}.items():
        with pytest.raises(SpecError, match=wanted):
            jobs.submit(
                jobs.Request(suite=str(suite), parameters=words), site.SITES / "pbs.toml", tmp_path / "c", print
            )
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("there", [False, True], ids=["new folder", "folder with other files"])
def test_a_submission_that_no_batch_system_accepts_leaves_nothing(
    there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A partial campaign in the history's folder would make the next gate fail."""
    monkeypatch.setenv("PATH", str(tmp_path))  # without sbatch
    named = tmp_path / "site.toml"
    named.write_text('system = "slurm"\n')
    into = tmp_path / "history" / "today"
    if there:
        into.mkdir(parents=True)
        (into / "notes.txt").write_text("mine")
    assert cli.main(["submit", "quick", "--site", str(named), "--into", str(into), "--detach"]) == 1
    assert "sbatch" in capsys.readouterr().err
    assert sorted(path.name for path in into.rglob("*")) == (["notes.txt"] if there else [])
    assert into.exists() is there


def test_a_refused_submission_leaves_another_that_was_accepted_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both saw no campaign there; the second one removed the first one's folder."""

    def refused(*_: object) -> jobs.Job:
        submitted(tmp_path / "c", 1)
        raise LaunchError("Job 1 waits.")

    monkeypatch.setattr(submitting, "check", lambda *_: None)
    monkeypatch.setattr(submitting, "_submitted", refused)
    with pytest.raises(LaunchError, match="Job 1 waits"):
        jobs.submit(jobs.Request(suite="quick"), site.SITES / "pbs.toml", tmp_path / "c", print)
    assert [job.submission for job in jobs.jobs(tmp_path / "c")] == [1]


def test_a_folder_that_holds_campaigns_becomes_no_campaign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Campaign(tmp_path / "history" / "monday")
    with pytest.raises(DataError, match="holds campaigns"):
        Campaign(tmp_path / "history")
    assert (
        cli.main(
            [
                "import",
                str(Path(__file__).parent / "golden" / "logs" / "npb" / "npb_cg.txt"),
                "--into",
                str(tmp_path / "history"),
            ]
        )
        == 1
    )
    assert "holds campaigns (monday)" in capsys.readouterr().err
    assert sorted(path.name for path in (tmp_path / "history").iterdir()) == ["monday"]


def test_a_job_that_measures_more_than_planned_has_no_negative_time_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter([Look(1, 2, "", "x"), Look(3, 2, "", "x")])
    monkeypatch.setattr(Look, "at", lambda campaign: next(looks))
    told: list[Progress] = []
    follower = Follower(Campaign(tmp_path / "c"), told.append)
    follower.look()
    follower.look()
    assert [(one.done, one.total) for one in told] == [(1, 2), (3, 3)]
    assert told[1].remaining == 0
