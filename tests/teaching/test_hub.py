"""A JupyterHub with two users: each works on a lab of her own, and neither reaches the server or the files of the other.

JupyterHub is in no lock, so this is skipped where it is not installed. LABKIT_HUB names the folder `bin` of an environment
with JupyterHub, JupyterLab, ipywidgets and anywidget; npm's configurable-http-proxy must be on the PATH.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from labkit.apps.teaching import Session, course, labs
from labkit.apps.teaching.__main__ import main as cli
from labkit.io import supervise
from tests.waiting import answers, until

HUB = Path(os.environ.get("LABKIT_HUB", "")) / "jupyterhub"
PROXY = shutil.which("configurable-http-proxy")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("LABKIT_HUB") or not HUB.exists() or PROXY is None,
        reason="no JupyterHub. Set LABKIT_HUB; see the first lines of tests/teaching/test_hub.py",
    ),
]
STEM = "1-latency-and-bandwidth"
USERS, PASSWORD = ("ada", "bob"), "only-in-this-test"
PATIENCE = 180_000  # ms; a bound for a busy machine, not a speed
SETTINGS = """
c = get_config()
load_subconfig({course!r})
c.JupyterHub.bind_url = "http://127.0.0.1:{ports[0]}"
c.JupyterHub.hub_port = {ports[1]}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{ports[2]}"
c.ConfigurableHTTPProxy.command = [{proxy!r}]
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = {homes!r}
c.Spawner.args = {root!r}
c.Spawner.start_timeout = c.Spawner.http_timeout = 180
c.JupyterHub.authenticator_class = "shared-password"
c.SharedPasswordAuthenticator.user_password = {password!r}
c.Authenticator.allowed_users = set({users!r})
"""


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody listens on."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def entered(page: Any, address: str, user: str) -> None:
    """Log in, and open the lab on the user's own server with all cells run."""
    page.goto(f"{address}/hub/login?next=%2Fhub%2Fspawn")
    page.fill("#username_input", user)
    page.fill("#password_input", PASSWORD)
    page.click("#login_submit")
    page.wait_for_url(f"**/user/{user}/lab**")
    page.goto(f"{address}/user/{user}/lab/tree/{STEM}/{STEM}.ipynb")
    page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for()
    for _ in range(5):  # JupyterLab drops the command while it still connects to the kernel
        page.wait_for_timeout(4000)
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        page.wait_for_timeout(4000)
        if page.locator(".jp-CodeCell .jp-InputPrompt").first.inner_text() != "[ ]:":
            break


def answered(page: Any, name: str, value: str, mark: str) -> None:
    """Enter an answer, and wait for what the page says of it."""
    page.locator(".jp-WindowedPanel-outer").first.evaluate("e => { e.scrollTop = 0 }")
    asked = page.locator(f".lab-{name}").first
    for _ in range(60):
        if asked.count():
            break
        page.locator(".jp-WindowedPanel-outer").first.evaluate("e => { e.scrollTop += 300 }")
        page.wait_for_timeout(500)
    asked.scroll_into_view_if_needed()
    asked.locator("input").fill(value)
    asked.locator("input").press("Enter")
    asked.locator(f".lab-said:has-text('{mark}')").wait_for()


def test_two_users_work_side_by_side_and_neither_sees_the_other(tmp_path: Path, chromium: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    assert cli(["course", str(tmp_path / "course")]) == 0
    homes, ports, right = tmp_path / "homes", free_ports(3), ""
    for user in USERS:
        shutil.copytree(course.LABS / STEM, homes / user / STEM, ignore=shutil.ignore_patterns("run-*"))
    kernel = [sys.executable, "-m", "ipykernel", "install", "--prefix", str(tmp_path / "kernel"), "--name", "python3"]
    subprocess.run(kernel, check=True, capture_output=True)
    hub_config = tmp_path / "course" / "hub_config.py"
    hub_config.write_text(
        hub_config.read_text().replace('"JUPYTER_PATH": \'', f'"JUPYTER_PATH": \'{tmp_path}/kernel/share/jupyter:')
    )
    settings = tmp_path / "jupyterhub_config.py"
    settings.write_text(
        SETTINGS.format(
            course=str(hub_config),
            ports=ports,
            proxy=PROXY,
            homes=f"{homes}/{{username}}",
            root=["--allow-root"] if os.geteuid() == 0 else [],
            password=PASSWORD,
            users=USERS,
        )
    )
    for user in USERS:
        session = Session(course.name_of(STEM), homes / user / STEM / f"run-{STEM.partition('-')[2]}", "recorded")
        session.measure(without_predictions=True)
        right = right or f"{labs.get(session.name).question('alpha').of(session.results).centre:.6g}"  # ada's
    address = f"http://127.0.0.1:{ports[0]}"
    env = os.environ | {"HOME": str(tmp_path), "PATH": f"{HUB.parent}{os.pathsep}{os.environ['PATH']}"}
    with (
        supervise.start(
            [str(HUB), "-f", str(settings)], cwd=tmp_path, env=env, stdout=supervise.DEVNULL, grace=8.0
        ) as tree,
        sync_api.sync_playwright() as play,
    ):
        until(lambda: answers(f"{address}/hub/login"), runs=tree, each=0.5)
        browser = play.chromium.launch(executable_path=str(chromium), args=["--no-sandbox", "--disable-dev-shm-usage"])
        pages = {user: browser.new_context(viewport={"width": 1200, "height": 900}).new_page() for user in USERS}
        for user, page in pages.items():
            page.set_default_timeout(PATIENCE)
            entered(page, address, user)
        answered(pages["ada"], "alpha", right, "✓")
        answered(pages["bob"], "alpha", "1e12", "✗")
        for user, other in (USERS, USERS[::-1]):
            own = pages[user].request.get(f"{address}/user/{user}/api/contents").json()
            assert [one["path"] for one in own["content"]] == [STEM]
            for path in (f"/user/{other}/api/contents", f"/user/{other}/api/kernels", f"/hub/api/users/{other}"):
                assert pages[user].request.get(address + path, max_redirects=0).status in (403, 404), path
        browser.close()
    kept = {
        user: json.loads((homes / user / STEM / "run-latency-and-bandwidth" / "diary.json").read_text())
        for user in USERS
    }
    assert {user: diary["answers"]["alpha"]["right"] for user, diary in kept.items()} == {"ada": True, "bob": False}
    assert {diary["source"] for diary in kept.values()} == {"recorded"}
