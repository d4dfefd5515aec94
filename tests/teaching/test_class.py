"""A whole class: 20 learners on 20 servers answer a lab, rightly and wrongly; it is graded, exported and drawn."""

from __future__ import annotations

import csv
import json
import os
import queue
import secrets
import shutil
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import nbformat
import pytest

from labkit.apps.teaching import Session, course, labs
from labkit.apps.teaching.__main__ import main as cli
from labkit.apps.teaching.questions import credit
from labkit.io import supervise
from tests.waiting import jupyter

from .test_nbgrader import NBGRADER, Course

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not NBGRADER.exists() and not os.environ.get("LABKIT_REQUIRE"), reason="no .venv-course. Run: make course"
    ),
]
COUNT, AT_ONCE = 20, 4  # learners; of whom run cells at the same time: the servers are all there
STEM = "1-latency-and-bandwidth"
NAME = course.name_of(STEM)
NAMES = ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
ENTER = "lab.panels[{name!r}].field.value = {value!r}; lab.panels[{name!r}].press()"


PATIENCE = 300.0  # s; a bound for a busy machine with 20 servers, not a speed


def ready(client: Any) -> None:
    """Wait until a kernel answers; on a busy machine its heartbeat is late, which `wait_for_ready` takes for its death."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(queue.Empty, TimeoutError):
            client.kernel_info(reply=True, timeout=5)
            client.get_iopub_msg(timeout=1)
            return
    raise TimeoutError("the kernel does not answer")


class Learner:
    """One learner with a server of her own; what she predicts and has wrong follows from her number."""

    def __init__(self, number: int, release: Path, folder: Path) -> None:
        self.name, self.number = f"learner{number:02}", number
        self.folder = folder / self.name / STEM
        shutil.copytree(release, self.folder)
        self.home = folder.parent / "homes" / self.name
        for name in NAMES:
            (self.home / name.lower()).mkdir(parents=True)
        questions = labs.get(NAME).questions
        self.wrong = {questions[n].name for n in range(len(questions)) if (number >> n) & 1}
        self.tries = 2 - number % 2  # of what she has right in the end
        self.token = secrets.token_hex(16)

    @property
    def runtime(self) -> Path:
        return self.home / "jupyter_runtime_dir"

    def start(self) -> Any:
        """Her server, in which only she works."""
        homes = {name: str(self.home / name.lower()) for name in NAMES}
        env = os.environ | homes | {"JUPYTER_TOKEN": self.token, "LABKIT_LAB_SOURCE": "recorded"}
        root = ["--allow-root"] if os.geteuid() == 0 else []
        words = ["--no-browser", "--ip=127.0.0.1", "--port=0", *root, f"--ServerApp.root_dir={self.folder}"]
        return supervise.start(
            [sys.executable, "-m", "jupyter_server", *words], env=env, stdout=supervise.DEVNULL, grace=4.0
        )

    @property
    def points(self) -> float:
        """What her answers earn."""
        return sum(credit(one, self.tries) for one in labs.get(NAME).questions if one.name not in self.wrong)

    def right(self, name: str) -> str:
        """What her own choice of the recording answers."""
        session = Session(NAME, self.folder / f"run-{NAME.replace('_', '-')}", "recorded")
        session.measure()
        centre = labs.get(NAME).question(name).of(session.results).centre
        return centre if isinstance(centre, str) else f"{centre:.6g}"

    def work(self, tree: supervise.Tree) -> None:
        """Run every cell of the notebook; after a question, enter an answer: first a wrong one, if there is to be one."""
        from jupyter_client.blocking.client import BlockingKernelClient
        from jupyter_core.utils import ensure_event_loop

        url = jupyter(self.runtime, tree, PATIENCE)
        path = self.folder / f"{STEM}.ipynb"
        body = {"path": path.name, "name": path.name, "type": "notebook", "kernel": {"name": "python3"}}
        head = {"Authorization": f"token {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{url}api/sessions", json.dumps(body).encode(), head)
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            kernel = json.load(reply)["kernel"]["id"]
        client = BlockingKernelClient(connection_file=str(self.runtime / f"kernel-{kernel}.json"))
        client.load_connection_file()
        client.start_channels()
        try:
            ready(client)
            for cell in nbformat.read(path, as_version=4).cells:
                if cell.cell_type == "code":
                    for source in (cell.source, *self.entered(cell.id)):
                        reply = client.execute_interactive(source, timeout=300, output_hook=lambda message: None)
                        assert reply["content"]["status"] == "ok", (self.name, source, reply["content"])
        finally:
            client.stop_channels()
            ensure_event_loop().close()  # of this thread

    def entered(self, cell: str) -> list[str]:
        """What she enters after a cell."""
        lab = labs.get(NAME)
        if cell in ("code-05", "code-06"):
            name = "tcp_8" if cell == "code-05" else "times"
            return [ENTER.format(name=name, value=f"{1.5**self.number:.3g}")]
        if not cell.startswith("check-"):
            return []
        question = lab.question(cell.removeprefix("check-"))
        answer = self.right(question.name)
        bad = next((one for one in question.choices if one != answer), "1e12")
        values = [bad] if question.name in self.wrong else [bad, answer][-self.tries :]
        return [ENTER.format(name=question.name, value=value) for value in values]


def test_a_class_of_twenty_is_taught_graded_and_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graded = Course(tmp_path / "course")
    graded(f"generate_assignment {STEM}")
    submitted = graded.folder / "submitted"
    learners = [Learner(n, graded.folder / "release" / STEM, submitted) for n in range(COUNT)]
    with ExitStack() as servers, ThreadPoolExecutor(AT_ONCE) as pool:
        trees = [servers.enter_context(one.start()) for one in learners]
        list(pool.map(lambda one, tree: one.work(tree), learners, trees))
        assert all(tree.poll() is None for tree in trees)
    graded(f"autograde {STEM}", "export")
    rows = csv.DictReader((graded.folder / "grades.csv").read_text().splitlines())
    scores = {row["student_id"]: float(row["score"]) for row in rows if row["assignment"] == STEM}
    lab = labs.get(NAME)
    total = sum(question.points for question in lab.questions)
    assert scores == {one.name: one.points for one in learners}
    capsys.readouterr()
    assert cli(["class", str(submitted)]) == 0
    page = capsys.readouterr().out
    assert f"# {lab.title}: {COUNT} learners" in page
    for one in learners:  # the page that they saw, the grade and the teacher's page agree
        assert f"| {one.name} | {one.points:g} of {total} |" in page
    assert cli(["class", str(submitted), "--page", str(tmp_path / "class.ipynb")]) == 0
    outputs = [
        o for cell in nbformat.read(tmp_path / "class.ipynb", as_version=4).cells for o in cell.get("outputs", [])
    ]
    (drawn,) = (
        o["data"]["application/vnd.plotly.v1+json"]
        for o in outputs
        if "application/vnd.plotly.v1+json" in o.get("data", {})
    )
    predicted = [trace for trace in drawn["data"] if trace["name"] == "predicted"]
    assert {len(trace["x"]) for trace in predicted} == {COUNT}
