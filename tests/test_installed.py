"""A wheel without a checkout: what travels in it, and a project that `labkit init` lays out."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path
from typing import Any

import nbformat
import pypandoc
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell

from labkit import suites
from labkit.apps import cli
from labkit.apps.teaching import course
from labkit.errors import DataError, LaunchError, SpecError
from labkit.io import project
from labkit.report import quarto
from labkit.store import campaign

from . import built

ROOT = Path(__file__).resolve().parents[1]


def laid_out(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, far from every project."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv(project.PROJECT, raising=False)
    return folder


# ---- labkit init -----------------------------------------------------------------------------------------------


def test_init_lays_out_notebooks_suites_settings_and_data(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["init", "mine"]) == 0
    assert "next:  cd" in capsys.readouterr().out
    files = laid_out(here / "mine")
    assert {"_quarto.yml", "README.md", "suites/quick.toml", "notebooks/10-latency.ipynb"} <= set(files)
    assert "notebooks/labs/2-layers/2-layers.ipynb" in files
    assert files["_quarto.yml"] == (ROOT / "_quarto.yml").read_bytes()
    assert (here / "mine" / "data" / "campaigns").is_dir()
    assert not [name for name in files if "/." in name or "run-" in name]


def test_a_new_project_and_a_course_hold_the_metadata_that_a_kernel_would_write_into_their_notebooks(
    here: Path,
) -> None:
    """JupyterLab marks a notebook as changed where they differ."""
    pytest.importorskip("ipykernel")
    from ipykernel.ipkernel import IPythonKernel
    from jupyter_client.kernelspec import KernelSpecManager

    spec = KernelSpecManager().get_kernel_spec("python3")
    named = {"display_name": spec.display_name, "language": spec.language, "name": "python3"}
    project.init("mine")
    course.write(here / "course")
    books = [*Path("mine").rglob("*.ipynb"), *Path("course").rglob("*.ipynb")]
    assert len(books) > 70
    for path in books:
        metadata = nbformat.read(path, as_version=4).metadata
        assert (metadata["language_info"], metadata["kernelspec"]) == (IPythonKernel.language_info, named), path
    shipped = json.loads((ROOT / "notebooks/10-latency.ipynb").read_bytes())
    assert json.loads(Path("mine/notebooks/10-latency.ipynb").read_bytes())["cells"] == shipped["cells"]


def test_init_never_overwrites_and_adds_what_is_missing(here: Path) -> None:
    project.init("mine")
    edited, gone = here / "mine/suites/quick.toml", here / "mine/notebooks/10-latency.ipynb"
    edited.write_text("# mine")
    gone.unlink()
    done = project.init("mine")
    assert edited.read_text() == "# mine"
    assert done.written == ("notebooks/10-latency.ipynb",)
    assert "suites/quick.toml" in done.kept


def test_init_keeps_other_files_and_refuses_a_folder_that_holds_one_of_its_names(here: Path) -> None:
    (here / "mine").mkdir()
    (here / "mine" / "thesis.tex").write_text("mine")
    project.init("mine")
    assert (here / "mine" / "thesis.tex").read_text() == "mine"
    (here / "book").mkdir()
    (here / "book" / "_quarto.yml").write_text("project: {type: book}\n")
    with pytest.raises(SpecError, match=r"book holds _quarto\.yml and is not a labkit project"):
        project.init("book")
    assert laid_out(here / "book") == {"_quarto.yml": b"project: {type: book}\n"}


def test_init_writes_through_no_link(here: Path) -> None:
    (here / "mine").mkdir()
    (here / "mine" / "README.md").symlink_to(here / "elsewhere")
    with pytest.raises(SpecError, match=r"mine holds README\.md"):
        project.init("mine")
    assert not (here / "elsewhere").exists()


@pytest.mark.parametrize(
    ("folder", "says"),
    [
        ("file", "file is a file, but a project is a folder"),
        ("", "The name of the folder is empty"),
        ("/", "/ holds more than a project"),
        ("..", "holds more than a project"),
        (str(ROOT / "notebooks"), "is in labkit's own checkout"),
    ],
)
def test_init_refuses_what_cannot_be_a_project(
    here: Path, folder: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "file").touch()
    monkeypatch.setenv("HOME", str(here.parent))
    with pytest.raises(SpecError, match=says):
        project.init(folder)
    assert sorted(here.parent.rglob("*")) == [here, here / "file"]


@pytest.mark.parametrize("folder", ["/proc/sys/mine", "file/mine"])
def test_init_says_why_a_folder_cannot_be_written(here: Path, folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "file").touch()
    assert cli.main(["init", folder]) == 1
    assert folder.rpartition("/")[0] in capsys.readouterr().err
    with pytest.raises(DataError):
        project.init(folder)


# ---- the book of the whole folder -----------------------------------------------------------------------------------


@pytest.fixture(params=["project", "checkout"])
def whole(request: pytest.FixtureRequest, here: Path) -> Path:
    """A project, or the tracked files of the checkout that its book is made from."""
    if request.param == "project":
        return project.init("mine").folder
    for name in ("_quarto.yml", "index.qmd"):
        shutil.copy(ROOT / name, here)
    for name in ("docs", "templates", "notebooks"):
        shutil.copytree(ROOT / name, here / name, ignore=shutil.ignore_patterns("run-*", ".*"))
    (here / "data/campaigns").mkdir(parents=True)
    return here


def added(folder: Path) -> tuple[str, list[dict[str, Any]]]:
    """The part that labkit adds to the book before Quarto renders it: its title, and its notebooks."""
    script = yaml.safe_load((folder / "_quarto.yml").read_text())["project"]["pre-render"]
    command = [pypandoc.get_pandoc_path(), "--from=markdown", "--to=plain", f"--lua-filter={script}"]
    subprocess.run(command, input="", cwd=folder, check=True, text=True)  # as `quarto run` does
    (part,) = yaml.safe_load((folder / "_quarto.yml.local").read_text())["book"]["chapters"]
    books = [nbformat.read(folder / name, as_version=4) for name in part["chapters"]]
    for book in books:
        nbformat.validate(book)
    return part["part"], books


def test_a_project_and_a_checkout_hold_all_that_their_book_names(whole: Path) -> None:
    config = yaml.safe_load((whole / "_quarto.yml").read_text())
    filters = [one if isinstance(one, str) else one["path"] for one in config["filters"]]
    scripts = [config["project"][when] for when in ("pre-render", "post-render")]
    for name in (*config["book"]["chapters"], config["bibliography"], *scripts, *filters):
        assert (whole / name).is_file(), name
    assert config["book"]["chapters"][0] == "index.qmd"
    assert config["execute"] == {"enabled": False}


def test_without_a_campaign_the_book_has_the_bare_notebooks(whole: Path) -> None:
    title, books = added(whole)
    assert title == "Notebooks, not executed"
    assert len(books) == len(sorted((whole / "notebooks").glob("[0-9]*.ipynb"))) > 40
    assert not [cell for book in books for cell in book.cells if cell.get("outputs")]
    prose = "".join(cell.source for book in books for cell in book.cells if cell.cell_type == "markdown")
    assert "@fig-" not in prose, "no figure is there"
    assert "@sec-" in prose


def executed(folder: Path, created: str, text: str) -> None:
    """A campaign with an executed notebook, and one in its report with the picture of the figure."""
    out = new_output("display_data", data={"text/plain": "words", "text/html": "<script>", "text/markdown": text})
    cells = [
        new_raw_cell("---\nfilters: [evil.lua]\n---"),
        new_markdown_cell("---\nfilters: [evil.lua]\n---\n\n```{dot}\n//| file: /etc/passwd\n```\n\n--- | ---"),
        new_markdown_cell("# Latency {#sec-latency}\n\n@fig-a and @fig-b, @sec-gone. {{< include /etc/passwd >}}"),
        new_code_cell('#| label: fig-a\n#| fig-cap: "C."\nshow()', outputs=[out]),
        new_code_cell("#| label: fig-b\nshow()"),
    ]
    (folder / "notebooks").mkdir(parents=True)
    (folder / "campaign.json").write_text(json.dumps({"created": created}))
    nbformat.write(new_notebook(cells=cells), folder / "notebooks/10-latency.ipynb")
    out.data["image/svg+xml"] = "<svg/>"
    (folder / "report").mkdir()
    nbformat.write(new_notebook(cells=cells), folder / "report/10-latency.ipynb")


def test_the_book_has_the_latest_campaign_as_executed_and_nothing_that_acts(whole: Path) -> None:
    campaigns = whole / "data/campaigns"
    executed(campaigns / "new", "2026-11-20T10:00:00+00:00", "new @tbl-gone {{< env HOME >}}")
    executed(campaigns / "old", "2026-11-19T10:00:00+00:00", "old")
    (campaigns / "empty").mkdir()
    (campaigns / "empty/campaign.json").write_text('{"created": "2026-11-21"}')
    (campaigns / "broken").mkdir()
    (campaigns / "broken/campaign.json").write_text("{")
    title, (book,) = added(whole)
    assert title == "Campaign new"
    assert book.cells[0].source == "\u200b---\nfilters: [evil.lua]\n\u200b---"
    assert book.cells[1].source.endswith("\u200b---\n\n```\u200b{dot}\n//| file: /etc/passwd\n```\n\n--- | ---")
    assert book.cells[2].source.startswith(
        "# Latency {#sec-latency}\n\n@fig-a and a figure, another section. {{\u200b<"
    )
    assert book.cells[3].outputs[0].data == {
        "text/plain": "words",
        "text/markdown": "new a table {{\u200b< env HOME >}}",
        "image/svg+xml": "<svg/>",
    }
    (campaigns / "new/report/10-latency.ipynb").unlink()
    assert "image/svg+xml" not in added(whole)[1][0].cells[3].outputs[0].data


@pytest.mark.slow
def test_quarto_renders_the_book_of_the_folder(whole: Path) -> None:
    if obstacle := quarto.usable():
        pytest.skip(obstacle)
    executed(whole / "data/campaigns/new", "2026-11-20T10:00:00+00:00", "measured")
    (whole / "data/campaigns/derived/book").mkdir(parents=True)
    (whole / "data/campaigns/derived/book/evil.lua").write_text('error("run")')
    done = subprocess.run(["quarto", "render"], cwd=whole, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert not [line for line in done.stderr.splitlines() if "WARN" in line]
    pages = {path.stem: path.read_text() for path in (whole / "_book").rglob("*.html")}
    assert sorted(pages) == ["10-latency", "guide", "index"]
    assert "measured" in pages["10-latency"]
    assert "root:" not in pages["10-latency"]
    assert all("script-src 'self';" in page for page in pages.values())
    subprocess.run(["quarto", "inspect"], cwd=whole, capture_output=True, check=True)


def test_settings_of_reports_in_the_place_of_the_book_are_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.init("mine").folder)
    Path("report/book.yml").rename("_quarto.yml")
    with pytest.raises(SpecError, match=r"_quarto\.yml holds settings of reports.*belong into .*report/book\.yml"):
        project.config()
    Path("_quarto.yml").rename("report/book.yml")
    shutil.copy(ROOT / "_quarto.yml", ".")
    assert project.config() == Path("report/book.yml").resolve()


# ---- a project ---------------------------------------------------------------------------------------------------


def test_what_a_project_holds_comes_before_what_labkit_ships(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project.init("mine")
    (here / "mine/suites/own.toml").write_text('[[notebook]]\nname = "10-latency-mine"\n')
    shutil.copy(here / "mine/notebooks/10-latency.ipynb", here / "mine/notebooks/10-latency-mine.ipynb")
    (here / "mine/notebooks/11-message-rate.ipynb").unlink()
    assert project.current() is None
    monkeypatch.chdir(here / "mine" / "notebooks")
    assert project.current() == project.home() == here / "mine"
    assert project.suites()["own"] == here / "mine/suites/own.toml"
    assert project.notebooks()["10-latency"] == here / "mine/notebooks/10-latency.ipynb"
    assert project.notebooks()["11-message-rate"] == project.NOTEBOOKS / "11-message-rate.ipynb"
    assert project.config() == here / "mine/report/book.yml"
    assert project.to_edit() == here / "mine/notebooks"
    (entry,) = suites.load("own", ["launches=1"]).entries
    assert (entry.notebook, entry.parameters["launches"]) == (here / "mine/notebooks/10-latency-mine.ipynb", 1)


def test_a_project_of_another_user_counts_only_where_it_is_named(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project.init("mine")
    monkeypatch.chdir(here / "mine")
    monkeypatch.setattr(os, "geteuid", lambda: (here / "mine").stat().st_uid + 1)
    assert project.current() is None
    monkeypatch.setenv(project.PROJECT, str(here / "mine"))
    assert project.current() == here / "mine"


def test_a_variable_that_names_no_project_is_an_error(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(project.PROJECT, "/nowhere")
    with pytest.raises(SpecError, match=r"LABKIT_PROJECT=/nowhere, but that folder is not a labkit project"):
        project.home()


def test_examples_are_found_by_name_anywhere(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(campaign.HOME, str(here))
    for name in ("examples/two-cores", "data/campaigns/examples/two-cores"):
        assert campaign.find(name) == project.CAMPAIGNS / "examples" / "two-cores"
    with pytest.raises(DataError, match=r"There are: .*examples/two-cores, "):
        campaign.find("nothing")


# ---- what is the project's and what is labkit's ----------------------------------------------------------------------

VERBS = [  # that take a campaign by its name
    "show NAME", "lint NAME", "verify NAME", "compact NAME", "export NAME", "explain NAME", "report NAME",
    "compare NAME NAME", "gate NAME --against NAME", "merge NAME --into made", "status NAME", "attach NAME",
    "cancel NAME", "explore NAME --no-browser",
]  # fmt: skip


@pytest.fixture
def brought(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, and a labkit whose folder has the campaign quick beside its examples."""
    shipped = here / "shipped" / "data" / "campaigns"
    shutil.copytree(project.CAMPAIGNS / "examples" / "two-cores-labs", shipped / "examples" / "two-cores")
    shutil.copytree(shipped / "examples" / "two-cores", shipped / "quick")
    project.init("mine")
    monkeypatch.setattr(project, "CAMPAIGNS", shipped)
    monkeypatch.delenv(campaign.HOME)
    monkeypatch.chdir(here / "mine")
    return shipped


def test_a_project_reads_no_campaign_of_labkits_folder(brought: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tried = [(words, "quick") for words in VERBS]
    for words, name in [*tried, ("lint NAME", "data/campaigns/quick"), ("lint NAME", "examples/../quick")]:
        assert cli.main(words.replace("NAME", name).split()) == 1, words
        said = capsys.readouterr()
        assert f"There is no campaign '{name}'. There are: examples/two-cores." in said.err, words
        assert not said.out, words


def test_every_verb_that_takes_a_campaign_is_tried() -> None:
    takes = {
        word: verb
        for word, verb in next(iter(cli.parser()._subparsers._group_actions)).choices.items()  # type: ignore[union-attr]
        if any(action.dest == "campaign" for action in verb.filled()._actions)
    }
    assert set(takes) == {words.split()[0] for words in VERBS}


@pytest.mark.parametrize("name", ["examples/two-cores", "data/campaigns/examples/two-cores"])
def test_the_path_of_an_example_is_printed_until_the_project_has_one_of_that_name(
    brought: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["verify", name]) == 0
    assert (
        f"labkit: {name} is an example that labkit brings: {brought / 'examples/two-cores'}" in capsys.readouterr().err
    )
    shutil.copytree(brought / "examples", campaign.root() / "examples")
    assert cli.main(["verify", name]) == 0
    said = capsys.readouterr()
    assert "brings" not in said.err
    assert str(brought) not in said.out


def test_a_suite_and_a_notebook_that_the_project_lacks_are_named_with_their_paths(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project.init("mine")
    monkeypatch.chdir(here / "mine")
    words = ["plan", "quick", "-p", "launches=1"]
    cli.main(words)
    assert "takes its own" not in capsys.readouterr().err
    lacking = project.SUITES / "quick.toml", project.NOTEBOOKS / "10-latency.ipynb"
    (here / "mine/suites/quick.toml").unlink()
    (here / "mine/notebooks/10-latency.ipynb").unlink()
    cli.main(words)
    assert [line for line in capsys.readouterr().err.splitlines() if "takes its own" in line] == [
        f"labkit: the project {here / 'mine'} has no {path.name}, so labkit takes its own: {path}" for path in lacking
    ]


# ---- a wheel ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of this checkout without kernels, so that it is there soon."""
    return built.wheel(tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist"), CC="false")


@pytest.mark.slow
def test_the_folders_of_the_repository_travel_in_a_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name.partition("labkit/_shipped/")[2] for name in archive.namelist() if "/_shipped/" in name}
    tracked = subprocess.run(
        ["git", "ls-files", "notebooks", "templates", "docs", "data", "_quarto.yml", "index.qmd"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if tracked.returncode == 0:
        wanted = {name for name in tracked.stdout.splitlines() if not name.startswith("templates/setup/")}
        assert wanted == names
    assert {"_quarto.yml", "templates/suites/quick.toml", "data/reference/ethernet-scientific-2020.toml"} <= names
    assert not [name for name in names if "run-" in name]


@pytest.mark.slow
def test_the_page_of_the_package_index_links_to_files_that_are_there(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        page = message_from_bytes(archive.read(name))
    urls = dict(line.split(", ") for line in page.get_all("Project-URL", []))
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} <= set(urls)
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in range(11, 15)} <= {*page.get_all("Classifier")}
    assert page["Description-Content-Type"] == "text/markdown"
    text = str(page.get_payload())
    assert text.startswith("# labkit")
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", text)
    assert len(links) > 20
    for picture, link in links:
        if not link.startswith("#"):
            begin = f"{urls['Source']}/{'raw' if picture else 'blob'}/main/"
            assert link.startswith(begin), link
            assert (ROOT / link.removeprefix(begin).partition("#")[0]).exists(), link


def test_the_source_archive_holds_what_a_packager_reads(wheel: Path) -> None:
    (archive,) = wheel.parent.glob("labkit-*.tar.gz")
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    locks = {str(path.relative_to(ROOT)) for path in (ROOT / "templates/setup").glob("*.lock")}
    assert locks
    assert {*built.BESIDE, *locks, "LICENSE", "README.md", "setup.py", "labkit/kernels/programs/rpc_grpc.cc"} <= names


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's content in a folder of its own."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def labkit(installed: Path, folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What the installed labkit says in a folder."""
    return python(installed, folder, "-m", "labkit", *words, **variables)


def python(installed: Path, folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What this Python prints, with the installed labkit in place of the checkout's."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("LABKIT_")}
    env |= {"PYTHONPATH": str(installed), **variables}
    return subprocess.run([sys.executable, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=240)


@pytest.mark.slow
def test_an_installed_labkit_finds_its_folders(installed: Path, tmp_path: Path) -> None:
    program = (
        "from labkit.store import campaign; from labkit.io import project; print(project.SHIPPED, campaign.root())"
    )
    printed = python(installed, tmp_path, "-c", program)
    assert printed.stdout.split() == [str(installed / "labkit/_shipped"), str(tmp_path / "data/campaigns")], (
        printed.stderr
    )
    done = labkit(installed, tmp_path, "plan", "quick", "-p", "launches=1")
    assert "10-latency" in done.stdout, done.stderr
    done = labkit(installed, tmp_path, "show", "data/campaigns/examples/two-cores", "--benchmark", "mpi.latency")
    assert "latency" in done.stdout, done.stderr
    done = labkit(installed, tmp_path, "lab")
    assert done.returncode == 1
    assert "labkit init my-project" in done.stderr
    done = labkit(installed, tmp_path, "submit", "quick", "--nodes", "2", "--dry-run", "--site", "slurm-modules")
    assert f"cd {tmp_path} || exit" in done.stdout, done.stderr
    assert not (tmp_path / "data").exists(), "who only looks makes nothing"
    assert labkit(installed, tmp_path, "init", "mine").returncode == 0
    assert laid_out(tmp_path / "mine")["suites/quick.toml"] == (ROOT / "templates/suites/quick.toml").read_bytes()


@pytest.mark.slow
def test_advice_outside_a_checkout_names_what_pip_installs_and_no_make(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    none = {"PATH": str(tmp_path / "bin")}
    doctor = labkit(installed, tmp_path, "doctor", **none)
    assert "do: pip install 'labkit[mpich]'" in doctor.stdout, doctor.stderr
    assert "pip install --force-reinstall --no-deps labkit" in doctor.stdout
    said = [doctor.stdout]
    for words in (
        ["measure", "mpi.latency"],
        ["measure", "mpi.latency", "--launcher", ".venv-mpich"],
        ["run", "quick"],
    ):
        done = labkit(installed, tmp_path, *words, **none)
        assert done.returncode == 1, done.stdout
        assert "pip install 'labkit[mpich]'" in done.stdout + done.stderr
        said.append(done.stdout + done.stderr)
    for name in ("kv.ycsb", "kv.closed_loop", "rpc.latency", "pgas.coarray_put", "services.hdsearch"):
        said.append(labkit(installed, tmp_path, "measure", name, **none).stderr)
    assert not re.findall(r".*\bmake [a-z-]+\b.*", "\n".join(said))
    assert "Measured" not in said[3]


# ---- packages of a testbed -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("answer", "called"), [("y\n", True), ("\n", False)])
def test_a_testbed_offers_to_install_what_it_needs(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str, called: bool
) -> None:
    from labkit.apps.cli import testbed
    from labkit.testbeds import soft_roce

    packages = sorted(soft_roce.PURPOSES)
    apt = here / "apt-get"
    apt.write_text('#!/bin/sh\necho "$@" > called\nexit 7\n')
    apt.chmod(0o755)
    stdin = io.StringIO(answer)
    monkeypatch.setattr(stdin, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", stdin)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(soft_roce, "absent", lambda inside: packages)
    monkeypatch.setenv("PATH", str(here), prepend=os.pathsep)
    if called:
        with pytest.raises(LaunchError, match=r"(?s)apt could not install.*exit status: 7"):
            testbed._offer_packages("soft-roce")
        assert (here / "called").read_text().split() == ["install", "-y", "--no-install-recommends", *packages]
    else:
        testbed._offer_packages("soft-roce")
        assert not (here / "called").exists()
    said = capsys.readouterr().err
    assert all(f"{name}: {purpose}\n" in said for name, purpose in soft_roce.PURPOSES.items())


def test_every_package_of_a_testbed_has_a_purpose() -> None:
    from labkit.testbeds import _guest, soft_roce

    kernels = {f"linux-image-{processor}" for processor in ("amd64", "arm64")}
    assert {*soft_roce.NEEDS.values(), *_guest.needs().values(), *kernels} <= set(soft_roce.PURPOSES)
