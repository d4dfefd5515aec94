"""A lab in a real JupyterLab: all cells run, a right and a wrong answer are told apart, the console stays clean."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from labkit.apps.teaching import Session, course, labs
from labkit.io import project
from tests.waiting import jupyter

STEM, WHAT_IF = "1-latency-and-bandwidth", "10-breakdown"
STEMS = course.stems()
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage"]
OPEN = """async (path) => { const app = window.jupyterapp; await app.restored;
  const w = await app.commands.execute('docmanager:open', {path, factory: 'Notebook'});
  await w.context.ready; await w.revealed; await w.sessionContext.ready;
  await w.sessionContext.session.kernel.info }"""
RUN = """async () => { const app = window.jupyterapp, w = app.shell.currentWidget;
  await app.commands.execute('notebook:run-all-cells');
  return w.content.widgets.filter(c => c.model.type === 'code').flatMap(c => c.model.outputs.toJSON())
    .filter(o => o.output_type === 'error').map(o => o.ename + ': ' + o.evalue) }"""
NAMES = (
    "HOME",
    "JUPYTER_CONFIG_DIR",
    "JUPYTER_DATA_DIR",
    "JUPYTER_RUNTIME_DIR",
    "IPYTHONDIR",
    "JUPYTERLAB_SETTINGS_DIR",
    "JUPYTERLAB_WORKSPACES_DIR",
)


@pytest.fixture
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """Address, with its token, of a JupyterLab on a copy of a lab."""
    shutil.copytree(
        project.NOTEBOOKS / "labs" / getattr(request, "param", STEM),
        tmp_path / "root",
        ignore=shutil.ignore_patterns("run-*"),
    )
    homes = {name: str(tmp_path / name.lower()) for name in NAMES}
    for home in homes.values():
        Path(home).mkdir()
    settings = tmp_path / "jupyterlab_settings_dir" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    news = {"fetchNews": "false", "checkForUpdates": False}
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(news))
    token = secrets.token_hex(24)
    environment = os.environ | homes | {"JUPYTER_TOKEN": token, "LABKIT_LAB_SOURCE": "recorded"}
    words = [
        "--no-browser",
        "--ip=127.0.0.1",
        "--port=0",
        "--allow-root",
        "--expose-app-in-browser",
        f"--ServerApp.root_dir={tmp_path / 'root'}",
        "--ServerApp.shutdown_no_activity_timeout=900",
    ]
    with (tmp_path / "log.txt").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *words],
            env=environment,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        yield f"{jupyter(Path(homes['JUPYTER_RUNTIME_DIR']), process)}lab?token={token}&reset"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def opened(server: str, chromium: Path, stem: str) -> Iterator[Any]:
    """A page with a lab whose cells ran without error; its console must stay clean to the end."""
    sync_api = pytest.importorskip("playwright.sync_api")
    said: list[tuple[str, str]] = []
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(chromium), args=FLAGS)
        page: Any = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(120_000)
        page.on("console", lambda m: said.append((m.type, m.text)))
        page.on("pageerror", lambda e: said.append(("error", str(e))))
        page.goto(server)
        page.wait_for_function("() => window.jupyterapp !== undefined")
        page.evaluate(OPEN, f"{stem}.ipynb")
        assert page.evaluate(RUN) == []
        yield page
        assert not [words for kind, words in said if kind == "error"]
        page.evaluate("async () => { await window.jupyterapp.serviceManager.sessions.shutdownAll() }")
        browser.close()


def run_of(folder: Path, stem: str) -> Session:
    """The learner's session in the folder of a notebook, with everything predicted."""
    name = course.name_of(stem)
    session = Session(name, folder / "root" / f"run-{name.replace('_', '-')}", "recorded")
    if not session.attempts.source:
        for question in labs.get(name).predictions:
            session.predict(question.name, question.choices[0] if question.choices else 3)
    session.measure()
    return session


def answer(question: str, session: Session) -> str:
    """What the learner's run answers."""
    return str(labs.get(session.name).question(question).of(session.results).centre)


def picture(page: Any, name: str) -> None:
    """A picture of the page, for who asked for them."""
    if os.environ.get("LABKIT_PICTURES"):
        page.screenshot(path=str(Path(os.environ["LABKIT_PICTURES"]) / f"{name}.png"))


@pytest.mark.browser
@pytest.mark.slow
def test_a_learner_predicts_answers_and_asks_for_a_hint(server: str, chromium: Path, tmp_path: Path) -> None:
    with opened(server, chromium, STEM) as page:
        page.wait_for_selector("text=Predict first.")  # all cells have run, and nothing was measured
        picture(page, "lab-predict-first")
        for name, value in (("tcp-8", "12"), ("times", "30")):
            page.locator(f".lab-{name} input").fill(value)
            page.locator(f".lab-{name} input").press("Enter")
            page.wait_for_selector(f".lab-{name} .lab-said:has-text('saved')")
        assert page.evaluate(RUN) == []
        page.wait_for_selector("text=shown once you have answered")
        picture(page, "lab-hidden")
        asked, right = page.locator(".lab-alpha"), answer("alpha", run_of(tmp_path, STEM))
        asked.scroll_into_view_if_needed()
        asked.locator("input").fill("1000")
        asked.locator(".lab-press").click()
        page.wait_for_selector(".lab-alpha .lab-said:has-text('too high')")
        asked.locator(".lab-hint").click()
        page.wait_for_selector(".lab-alpha :text('1. ')")
        picture(page, "lab-wrong")
        asked.locator("input").fill(right)
        page.locator(".lab-alpha .lab-said:has-text('too high')").wait_for(state="detached")  # about another answer
        asked.locator("input").press("Enter")
        page.wait_for_selector(".lab-alpha .lab-said:has-text('α is the time of the calls')")
        picture(page, "lab-right")
    diary = json.loads((tmp_path / "root" / "run-latency-and-bandwidth" / "diary.json").read_text())
    assert (diary["predictions"], diary.get("later")) == ({"tcp_8": 12, "times": 30}, None)
    assert diary["answers"]["alpha"]["right"]
    assert diary["answers"]["alpha"]["solved"] == 2


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize(("server", "stem"), [(stem, stem) for stem in STEMS], indirect=["server"], ids=STEMS)
def test_every_lab_tells_right_from_wrong(server: str, stem: str, chromium: Path, tmp_path: Path) -> None:
    session = run_of(tmp_path, stem)
    questions = labs.get(course.name_of(stem)).questions
    with opened(server, chromium, stem) as page:
        for question in questions[:2]:
            asked = page.locator(f".lab-{question.name.replace('_', '-')}").first
            asked.scroll_into_view_if_needed()
            field = asked.locator("select" if question.choices else "input")
            right = answer(question.name, session)
            if question.choices:
                wrong = next(one for one in question.choices if one != right)
                field.select_option(label=wrong)
            else:
                field.fill("-1e9")
            asked.locator(".lab-press").click()
            asked.locator(".lab-said:has-text('✗')").wait_for()
            picture(page, f"{stem}-{question.name}")
            field.select_option(label=right) if question.choices else field.fill(right)
            asked.locator(".lab-press").click()
            asked.locator(".lab-said:has-text('✓')").wait_for()


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("server", [WHAT_IF], indirect=True)
def test_a_learner_tries_what_a_cheaper_component_brings(server: str, chromium: Path, tmp_path: Path) -> None:
    run_of(tmp_path, WHAT_IF)
    with opened(server, chromium, WHAT_IF) as page:
        tried = page.locator(".lab-what-if")
        tried.scroll_into_view_if_needed()
        assert "saved," not in tried.inner_text()  # it does not open on an answer
        tried.locator("select").select_option("the wire (published parts)")
        tried.locator(".noUi-handle").press("End")
        page.wait_for_selector(".lab-what-if :text('times as fast')")
        tried.locator("select").select_option("kernel, copying, waking (parts of this run)")
        page.wait_for_selector(".lab-what-if :text('64 B over TCP')")
        tried.evaluate("e => e.scrollIntoView({block: 'end'})")
        picture(page, "lab-what-if")
