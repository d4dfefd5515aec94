"""Redacted archives: no original name in any member, the same numbers, the same pseudonym for the same name."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import nbformat
import pyarrow.parquet as pq
import pytest

from labkit.apps.cli import main
from labkit.point.spec import Reported, Spec
from labkit.read import columnar
from labkit.run import importing
from labkit.store import archive, redaction
from labkit.store.campaign import Campaign
from labkit.store.pseudonyms import Pseudonyms
from labkit.store.samples.start import Start
from tests import made
from tests.test_gate import META
from tests.test_gate import campaign as night

HOSTS = [f"zeus{number:02}" for number in range(1, 41)]
USER, CLUSTER, ACCOUNT = "hephaistos", "olympus", "forge77"
PATHS = ["/lustre/smithy/hammer/data.bin", "/home/hephaistos/anvil/run", "/gpfs/smithy/tools/openmpi-5"]
ADDRESSES = ["172.31.97.41", "2a02:1234:5678::77", "b8:59:9f:aa:bb:cc", "0xb8599f0300aabbcc", "fe80::ba59:9fff:feaa:1"]
SPELT = ["b859:9f03:00aa:bbcc", "B8:59:9F:AA:BB:CC"]  # the same in another form
NAMES = [*HOSTS, "zeus[", "zeus", USER, CLUSTER, ACCOUNT, *PATHS, "smithy", "anvil", *ADDRESSES, *SPELT, "ibsw-aegis"]
TEXT = f"""connected to {HOSTS[0]}.{CLUSTER}.example.org ({ADDRESSES[0]}) as {USER}@{HOSTS[1]}
listening on [{ADDRESSES[1]}]:5201, link {ADDRESSES[2]}, port {ADDRESSES[3]} is {SPELT[0]}; {ADDRESSES[4]}: unreachable
read {PATHS[0]}, wrote file://{PATHS[1]} -I{PATHS[2]}/include on zeus[01-40]
UCX 1.14.0, 8 B in 1.5 us at 12:34:56, 3/4 of 100 MB/s, /usr/bin/env and /proc/self, 127.0.0.1, ::1
"""
SVG = f"<svg xmlns='http://www.w3.org/2000/svg'><text x='1'>{HOSTS[2]} – {HOSTS[3]}</text></svg>"


def notebook() -> str:
    """An executed notebook whose outputs have names in text, HTML, a figure, its drawing and a picture."""
    figure = {"data": [{"name": f"{HOSTS[0]} over TCP", "y": {"dtype": "f8", "bdata": "AAAAAAAA8D8="}}], "layout": {}}
    bundle = {
        "text/plain": TEXT,
        "text/html": f"<p>{HOSTS[1]} &amp; <b>{ADDRESSES[0]}</b></p>",
        "application/vnd.plotly.v1+json": figure,
        "image/svg+xml": SVG,
        "image/png": "iVBORw0KGgo=",
    }
    cell = nbformat.v4.new_code_cell("study.figure()", outputs=[nbformat.v4.new_output("display_data", data=bundle)])
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(f"On {CLUSTER}."), cell])
    book.metadata["papermill"] = {"input_path": f"/home/{USER}/labkit/notebooks/10-latency.ipynb"}
    return str(nbformat.writes(book))


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """A campaign of a real cluster: every place that can hold a name holds one."""
    one = Campaign(tmp_path / "quick")
    host = {"hostname": f"{HOSTS[0]}.{CLUSTER}.example.org", "cpu_model": "EPYC", "rdma_devices": [
        {"name": "mlx5_0", "node_guid": SPELT[0], "firmware": "20.35.1012.4"}]}  # fmt: skip
    one.update({"host": host, "suite": "quick", "parameters": {"10-latency": {"hosts": "zeus[01-40]"}}})
    allocation = {"system": "slurm", "job": "71", "hosts": HOSTS, "leaves": dict.fromkeys(HOSTS, "ibsw-aegis"),
                  "account": ACCOUNT}  # fmt: skip
    meta = META | {
        "rank_hosts": [name for name in HOSTS for _ in range(4)],
        "allocation": allocation,
        "command": ["mpirun", "--host", ",".join(HOSTS[:2]), f"{PATHS[2]}/bin/python"],
        "address": ADDRESSES[0],
        "library": "Open MPI 5.0.8.2",
        "warnings": [f"{HOSTS[5]} was slow"],
    }
    start = Start.of(host, {name: meta[name] for name in ("rank_hosts", "allocation", "command")}, {})
    for point in night(3):
        spec = Spec(benchmark="mpi.latency", size=point.spec.size, hosts=[f"{name}:4" for name in HOSTS[:3]], launcher=PATHS[2],
                    environment={"OMPI_MCA_x": PATHS[0]})  # fmt: skip
        facts = {**meta, "fingerprint": point.meta["fingerprint"], "timing": "each"}
        one.save(
            made.samples(spec, point.time_ns, launch=point.launch, host=host, meta=facts, source=TEXT, start=start),
            facts["fingerprint"],
        )
    pair = (Reported("latency_us", "µs", "p50", 2.5, labels={"pair": f"{HOSTS[7]}–{HOSTS[8]}"}),)
    one.save(made.samples("mpi.all_pairs", reported=pair, host=host, meta=META), "c" * 16)
    log = tmp_path / USER / "smithy" / "zeus09-osu.txt"
    log.parent.mkdir(parents=True)
    log.write_text("# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n1                       1.52\n")
    importing.bring([log], into=one)
    one.tell("failed", what="mpi.latency 8 B", reason=f"no route to {HOSTS[9]} ({ADDRESSES[0]})", stderr=TEXT)
    one.tell("left_out", host=HOSTS[10], reason=f"does not answer {USER}")
    one.log(f"job 71 begins on {', '.join(HOSTS)}")
    for name, text in {
        "notebooks/10-latency.ipynb": notebook(),
        "jobs/1-71.json": json.dumps({"allocation": allocation, "start": 1.0}),
        "jobs/slurm.sbatch": f"#!/bin/sh\n#SBATCH --account={ACCOUNT}\ncd {PATHS[1]}\n",
        f"gpcnet/{HOSTS[3]}-0.txt": TEXT,
    }.items():
        (one.path / name).parent.mkdir(exist_ok=True)
        (one.path / name).write_text(text)
    (one.path / "picture.bin").write_bytes(b"\x00\xff" + HOSTS[0].encode())
    return one


def contents(archived: Path) -> Iterator[tuple[str, str]]:
    """The text of every member of an archive, unpacked, and of all that is compressed inside of it; member names too."""
    with zipfile.ZipFile(archived) as members:
        yield "names", "\n".join(members.namelist())
        for name in members.namelist():
            content = members.read(name)
            yield name, content.decode("latin-1")
            if name.endswith(".parquet"):
                table = pq.read_table(BytesIO(content))
                yield name, repr(table.schema.metadata)
                for column in table.columns:
                    if "int" not in str(column.type) and str(column.type) != "double":
                        yield name, repr(column.to_pylist())
            if name.endswith(".pdf"):
                import pypdf

                for page in pypdf.PdfReader(BytesIO(content)).pages:
                    yield name, page.extract_text()
            if name.endswith((".zip", ".docx")):
                with zipfile.ZipFile(BytesIO(content)) as inner:
                    for each in inner.namelist():
                        yield f"{name}/{each}", inner.read(each).decode("latin-1")


def found(archived: Path) -> set[tuple[str, str]]:
    """Members with the original names in them."""
    return {
        (member, name)
        for member, text in contents(archived)
        for name in NAMES
        if name.lower() in text.lower() and not member.endswith((".js", ".woff2"))
    }


@pytest.mark.parametrize("compact", [False, True])
def test_no_original_name_is_in_any_member(
    campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str], compact: bool
) -> None:
    if compact:
        campaign.compact()
    plain, hidden = tmp_path / "plain.zip", tmp_path / "hidden.zip"
    assert main(["export", str(campaign.path), "--output", str(plain)]) == 0
    there = {name for _, name in found(plain)}
    assert there >= {*HOSTS, USER, CLUSTER, ACCOUNT, *PATHS, *ADDRESSES, "smithy", "ibsw-aegis"}  # the search finds
    words = ["--redact", "--hide", CLUSTER, "--output", str(hidden)]
    assert main(["export", str(campaign.path), *words]) == 0
    assert "the redacted archive lacks picture.bin" in capsys.readouterr().err
    assert found(hidden) == set()
    assert main(["verify", str(hidden)]) == 0
    told = capsys.readouterr().out
    assert "all intact" in told
    assert re.search(r"redacted on 20\d\d-\d\d-\d\d: pseudonyms stand for hosts, users, paths and addresses", told)
    assert main(["verify", str(plain)]) == 0
    assert "redacted" not in capsys.readouterr().out


def test_the_numbers_and_the_settings_are_the_same(campaign: Campaign, tmp_path: Path) -> None:
    copy = redaction.copy(campaign, tmp_path / "copy", [CLUSTER]).campaign
    assert copy.identity == campaign.identity
    assert copy.done() == campaign.done()
    for before, after in zip(campaign.samples(), copy.samples(), strict=True):
        assert after.time_ns.tolist() == before.time_ns.tolist()
        assert after.effort == before.effort
        assert [one.value for one in after.reported] == [one.value for one in before.reported]
        assert after.meta.get("library") == before.meta.get("library")
    own, other = (columnar.read_campaigns(one).records for one in (campaign, copy))
    numbers = own.select_dtypes("number").columns
    assert own[numbers].equals(other[numbers])
    assert archive.verify(copy.path)[1] == []


def test_the_same_name_has_the_same_pseudonym_everywhere(campaign: Campaign, tmp_path: Path) -> None:
    copy = redaction.copy(campaign, tmp_path / "copy").campaign
    first = copy.facts["host"]["hostname"]
    assert re.fullmatch(r"host-\d+", first)
    points = {one.host["hostname"] for one in copy.samples("mpi.*") if one.host}
    assert points == {first}
    (point, *_) = copy.samples("mpi.latency")
    assert point.spec.hosts[0] == f"{first}:4"
    assert point.meta["rank_hosts"][:5] == [first] * 4 + [point.meta["allocation"]["hosts"][1]]
    assert len(set(point.meta["rank_hosts"])) == len(HOSTS)
    lines = point.source.splitlines()
    assert lines[0].startswith(f"connected to {first}")
    assert point.meta["address"] in lines[0]
    assert lines[-1] == TEXT.splitlines()[-1]  # versions, times, shares, system folders, addresses of every machine
    port, spelt = re.search(r"port (\S+) is ([^;]+);", lines[1]).groups()  # type: ignore[union-attr]
    assert port == spelt
    assert f"job 71 begins on {first}, host-" in (copy.path / "log.txt").read_text()
    (text,) = (copy.path / "gpcnet").iterdir()
    assert text.read_text().splitlines()[0] == lines[0]
    (imported,) = (one for one in copy.samples() if one.origin == "imported")
    assert re.fullmatch(r"/redacted/path-\d+\.txt", str(imported.meta["file"]))


def test_a_notebook_keeps_its_figures_and_loses_its_pictures(campaign: Campaign, tmp_path: Path) -> None:
    copy = redaction.copy(campaign, tmp_path / "copy").campaign
    book = nbformat.read(copy.path / "notebooks" / "10-latency.ipynb", as_version=4)
    nbformat.validate(book)
    data = book.cells[1].outputs[0]["data"]
    assert data.keys() == {"text/plain", "text/html", "application/vnd.plotly.v1+json", "image/svg+xml"}
    (trace,) = data["application/vnd.plotly.v1+json"]["data"]
    assert trace["y"]["bdata"] == "AAAAAAAA8D8="
    assert re.fullmatch(r"host-\d+ over TCP", trace["name"])
    assert "</text></svg>" in data["image/svg+xml"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.1.2.3", "198.18.0.1"),
        ("10.1.2.3:80 and 10.1.2.3/24", "198.18.0.1:80 and 198.18.0.1/24"),
        ("firmware 20.35.1012", "firmware 20.35.1012"),
        ("fe80::1: unreachable", "2001:db8::1: unreachable"),
        ("src:fe80::1%eth0", "src:2001:db8::1%eth0"),
        ("2a00:0db8:85a3:0000:0000:8a2e:0370:7334", "2001:db8::1"),
        ("at 12:34:56, 0000:3b:00.0, std::string", "at 12:34:56, 0000:3b:00.0, std::string"),
        ("aa:bb:cc:dd:ee:ff", "02:00:00:00:00:01"),
        ("80:00:02:08:fe:80:00:00:00:00:00:00:b8:59:9f:03:00:aa:bb:cc", "02:00:00:00:00:01"),
        (
            "GID: 254:128:00:00:00:00:00:00:184:89:159:255:254:170:187:204 is fe80::b859:9fff:feaa:bbcc",
            "GID: 32:01:13:184:00:00:00:00:00:00:00:00:00:00:00:01 is 2001:db8::1",
        ),
        ("guid 0x0002c903000e0b72", "guid 0x0200000000000001"),
        ("in /scratch/a/b.c.", "in /redacted/path-1."),
        ("/data/a/x.zeus01 /data/a/x.txt", "/redacted/path-1 /redacted/path-2.txt"),
        ("-L/opt/x/lib -o/opt/x/y", "-L/redacted/path-1 -o/redacted/path-2"),
        ("PATH=/opt/x/bin:/usr/bin", "PATH=/redacted/path-1:/usr/bin"),
        ("/usr/local/site/bin", "/redacted/path-1"),
        ("</div> 1/2 MB/s a/b/c ./x/y ~/x/y https://example.org/a/b", ""),
        ("97e4f69e-aad4-4b43-af47-022216ffab59 2026-11-26T09:14:48+00:00", ""),
    ],
)
def test_addresses_and_paths_are_told_from_other_texts(text: str, expected: str) -> None:
    names = Pseudonyms()
    assert names.text(text) == (expected or text)
    assert names.text(text) == (expected or text)
    if expected:
        assert names.text(expected) == expected  # a pseudonym stays as it is


def test_a_version_is_no_address() -> None:
    value = {"library": "UCX 1.2.3.4", "versions": {"mlnx": "5.8.1.2"}, "address": "1.2.3.4"}
    assert Pseudonyms().value(value) == {**value, "address": "198.18.0.1"}


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ('"system_info": "Linux apollo7 6.1.0-30 #1 SMP", "hostname": "apollo7"', "apollo7"),
        ('"hostname": "delphi.example.org", "x": 1', "delphi"),
        ('"job_nodelist": "delphi"', "delphi"),
        ("Hostname=delphi", "delphi"),
        ('"hostname": null', ""),
        ("Linux kernel, hostname: unknown", ""),
    ],
)
def test_a_host_that_a_tool_printed_is_learned(text: str, host: str) -> None:
    names = Pseudonyms()
    names.learn_printed(text)
    if host:
        assert host not in names.text(f"{text} on {host}")
    else:
        assert names.text(text) == text


def test_hosts_of_an_emulated_network_are_no_names() -> None:
    names = Pseudonyms()
    names.learn({"rank_hosts": ["h1", "h2"]}, hosts=False)
    assert names.text("<h1>h1 and h2</h1>") == "<h1>h1 and h2</h1>"
    names.learn({"rank_hosts": ["h1"]})
    assert re.fullmatch(r"<h1>host-\d+ and h2</h1>", names.text("<h1>h1 and h2</h1>"))


def test_a_word_is_hidden_only_in_a_redacted_archive(campaign: Campaign, capsys: Any) -> None:
    assert main(["export", str(campaign.path), "--hide", "x"]) == 1
    assert "--hide without --redact" in capsys.readouterr().err


def test_a_campaign_in_use_is_not_redacted(campaign: Campaign, tmp_path: Path, capsys: Any) -> None:
    with campaign.lease():
        assert main(["export", str(campaign.path), "--redact", "--output", str(tmp_path / "x.zip")]) == 1
    assert "is in use by a run" in capsys.readouterr().err


@pytest.mark.slow
def test_a_report_is_made_anew_from_pseudonyms(campaign: Campaign, tmp_path: Path, capsys: Any) -> None:
    (campaign.path / "picture.bin").unlink()
    assert main(["report", str(campaign.path), "--engine", "plain"]) == 0
    hidden = tmp_path / "hidden.zip"
    assert main(["export", str(campaign.path), "--redact", "--hide", CLUSTER, "--output", str(hidden)]) == 0
    with zipfile.ZipFile(hidden) as members:
        names = members.namelist()
    assert {"report/report.pdf", "report/html/index.html"} <= {*names}
    assert found(hidden) == set()
    assert main(["verify", str(hidden)]) == 0
