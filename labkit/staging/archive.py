"""What a rank needs, in one archive: labkit's worker, numpy, mpi4py, the kernels; with the interpreter if asked for.

The archive is a tar file with the layout of a Python prefix. Modules are in it as byte code, so that a rank neither
looks for sources nor writes byte code. It is named by its content, lies in the user's cache beside the scripts that use
it, and is made once.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import io
import json
import marshal
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from labkit import folders
from labkit.errors import LaunchError
from labkit.host import filesystems

PACKAGES = ("labkit", "mpi4py", "numpy")  # what a rank loads beside the standard library
ARCHIVE, NODE, RANK = "archive.tar", "node.py", "rank"  # files in the cache
SCRIPTS = ("node.py", "start.py", "rank.sh")  # files of this package that they are made from
BARE = ("-I", "-S", "-B")  # the interpreter looks at no variables, sets no packages up, writes no byte code
LEFT_OUT = ("__pycache__", "_pyinstaller", "_shipped", "distutils", "f2py", "test", "tests")  # folders of no use
PLACES = ("$TMPDIR", "/tmp", "/dev/shm")  # folders of a node that may hold a copy, the best first
PLACE = "LABKIT_STAGE_FOLDER"  # variable that names another
KEPT, IDLE = 4, 3600.0  # archives that stay in the cache; s for which one that is over this number is kept all the same
# what a rank may load, and the modules that Python loads without an import statement of ours
_PROBE = """
import json, sys
import labkit.worker.__main__, labkit.kernels.loops, mpi4py
import encodings.ascii, encodings.latin_1, encodings.idna, fcntl, pickle, site, traceback
from labkit import benchmarks
benchmarks.find()
found = {n: m.__file__ for n, m in sys.modules.items() if getattr(m, "__file__", None)}
found |= {n: m.__spec__.loader_state.filename for n, m in sys.modules.items()
    if getattr(getattr(m, "__spec__", None), "origin", "") == "frozen" and m.__spec__.loader_state.filename}
mapped = {line.split(None, 5)[5].strip() for line in open("/proc/self/maps") if line.count(" /") and ".so" in line}
print(json.dumps([found, sorted(mapped)]))
"""


@dataclass(frozen=True)
class Archive:
    """An archive in the cache.

    Parameters
    ----------
    folder : that holds it and the scripts.
    name : of its content, 16 hex digits.
    size : B
    """

    folder: Path
    name: str
    size: int

    @property
    def path(self) -> Path:
        """The archive itself."""
        return self.folder / ARCHIVE

    @property
    def rank(self) -> Path:
        """The script that starts a rank."""
        return self.folder / RANK

    def on_node(self, *words: str) -> list[str]:
        """Command that runs `labkit.staging.node` on a node."""
        return [str(_python()), *BARE, str(self.folder / NODE), *words]


def _python() -> Path:
    """The interpreter itself, which knows of no environment."""
    return Path(getattr(sys, "_base_executable", "") or sys.executable).resolve()


@cache
def made(*, interpreter: bool) -> Archive:
    """The archive for this labkit and this environment; made if it is not in the cache.

    Parameters
    ----------
    interpreter : whether Python itself and its standard library are in it.

    Raises
    ------
    LaunchError
        If what a rank loads cannot be found, or the cache cannot be written.
    """
    content = contents(interpreter=interpreter)
    try:
        return _kept(content, interpreter)
    except OSError as error:
        raise LaunchError(f"the archive cannot be written to {_cache()}: {error.strerror}") from error


def _cache() -> Path:
    return folders.cache() / "staged"


def contents(*, interpreter: bool) -> dict[str, Path]:
    """Name in the archive → file that it comes from.

    Parameters
    ----------
    interpreter : as of `made`.
    """
    modules, mapped = _loaded()
    library, base = Path(sysconfig.get_path("stdlib")), Path(sys.base_prefix)
    beside = modules["numpy"].parents[1]
    site = beside.relative_to(sys.prefix) if beside.is_relative_to(sys.prefix) else _usual()
    found: dict[Path, Path] = {}
    for name, path in modules.items():
        if name in PACKAGES:
            found |= {site / one.relative_to(path.parents[1]): one for one in whole(path)}
        elif interpreter and path.is_relative_to(library) and "site-packages" not in path.parts:
            found |= {one.relative_to(base): one for one in whole(path)}
    known = {path.resolve() for path in found.values()}
    for path in mapped - known:
        if path.is_relative_to(beside.resolve()):  # numpy.libs; paths of libraries to one another are relative
            found[site / path.relative_to(beside.resolve())] = path
        elif interpreter and path.is_relative_to(base.resolve()):
            found[path.relative_to(base.resolve())] = path
    if interpreter:
        found[Path("bin", _python().name)] = _python()
    return {str(name): path for name, path in sorted(found.items())}


def _usual() -> Path:
    """Where packages are below a prefix."""
    return Path("lib", f"python{sysconfig.get_python_version()}", "site-packages")


def whole(path: Path) -> list[Path]:
    """Files of a module; of a package those of all its modules, since the rest is looked for beside what is loaded."""
    if not path.name.startswith("__init__."):
        return [path]
    found = []
    for place, inner, files in os.walk(path.parent):
        inner[:] = [one for one in inner if one not in LEFT_OUT]
        found += [Path(place, file) for file in files if inspect.getmodulename(file)]
    return found


@cache
def _loaded() -> tuple[dict[str, Path], set[Path]]:
    """Modules that ranks load with their files, and the libraries that they map."""
    done = subprocess.run([sys.executable, "-c", _PROBE], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no reason"])[-1]
        raise LaunchError(f"the modules of a rank cannot be loaded: {said}")
    modules, mapped = json.loads(done.stdout.splitlines()[-1])
    return {name: Path(path) for name, path in modules.items()}, set(map(Path, mapped))


def _kept(content: Mapping[str, Path], interpreter: bool) -> Archive:
    """The archive of some files in the cache; written if it is not there."""
    read = {name: path.read_bytes() for name, path in content.items()}
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in read.items()}
    parameters = _parameters(content, interpreter)
    scripts = {name: (Path(__file__).parent / name).read_text() for name in SCRIPTS}
    words = json.dumps([sums, parameters, scripts, sys.version], sort_keys=True)
    name = hashlib.sha256(words.encode()).hexdigest()[:16]
    folder = _cache() / name
    if not (folder / ARCHIVE).is_file():
        fresh = folder.with_name(f".{name}.{os.uname().nodename}.{os.getpid()}")
        fresh.mkdir(mode=0o700, parents=True)
        try:
            _write(fresh, folder, read, content, parameters, scripts)
            with suppress(OSError):  # somebody else was faster
                fresh.rename(folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    os.utime(folder)
    _tidy(keep=folder)
    return Archive(folder, name, (folder / ARCHIVE).stat().st_size)


def _parameters(content: Mapping[str, Path], interpreter: bool) -> dict[str, Any]:
    """What the scripts must know beside the archive."""
    own = next(name for name in content if name.endswith("/labkit/__init__.py"))
    behind = [
        path for path in (*sys.path, str(content[own].parents[1])) if Path(path).is_absolute() and Path(path).is_dir()
    ]
    names = {inspect.getmodulename(name) or name for path in behind for name in os.listdir(path)}  # noqa: PTH208
    library = next((name for name in content if re.fullmatch(r"lib\w*/libpython\d.*", name)), "")
    return {
        "site": str(Path(own).parents[1]),
        "prefix": sys.prefix,
        "base": sys.base_prefix,
        "behind": list(dict.fromkeys(behind)),
        "names": sorted(filter(str.isidentifier, names)),
        "interpreter": f"bin/{_python().name}" if interpreter else "",
        "library": library,
        "mpi": _mpi_beside(content),
        "environment": [sys.executable, "-m", "labkit.worker"],
        "places": [os.environ[PLACE]] if os.environ.get(PLACE) else list(PLACES),
        "folder": f"labkit-staged-{os.geteuid()}",
    }


def _mpi_beside(content: Mapping[str, Path]) -> str:
    """Folder of an MPI library in the environment that mpi4py finds by a path relative to its own, as conda's does."""
    lib = Path(sys.prefix, "lib")
    relative = any(b"$ORIGIN" in path.read_bytes() for name, path in content.items() if "/mpi4py/MPI" in name)
    return str(lib) if relative and any(lib.glob("libmpi*.so*")) else ""


def _write(
    fresh: Path,
    folder: Path,
    read: Mapping[str, bytes],
    content: Mapping[str, Path],
    parameters: Mapping[str, Any],
    scripts: Mapping[str, str],
) -> None:
    """Write the archive and its scripts into a folder that will be renamed."""
    rank = str(folder / RANK)
    start = scripts["start.py"] + _call({**parameters, "rank": rank}, "sys.exit(main({}))")
    with tarfile.open(fresh / ARCHIVE, "w", format=tarfile.USTAR_FORMAT) as archive:
        _add(archive, "start.py", start.encode(), 0o600)
        for target, data in read.items():
            if target.endswith(".py"):
                _add(archive, f"{target}c", byte_code(content[target], data), 0o600)
            else:
                _add(archive, target, relocated(data, target), 0o700)
    size, members = (fresh / ARCHIVE).stat().st_size, len(read) + 1
    more = {
        "name": folder.name,
        "archive": str(folder / ARCHIVE),
        "size": size,
        "members": members,
        "needs": size + 4096 * members,
        "rank": rank,
        "network": sorted(filesystems.NETWORK),
        "local": list(filesystems.LOCAL_FUSE),
    }
    text = scripts["node.py"] + _call({**parameters, **more}, "sys.exit(main(sys.argv[1:], {}))")
    (fresh / NODE).write_text(text)
    (fresh / RANK).write_text(_rank(scripts["rank.sh"], parameters, folder))


def _call(parameters: Mapping[str, Any], words: str) -> str:
    """Last line of a script."""
    return f"\n\n{words.format(repr(dict(parameters)))}\n"


def _rank(text: str, parameters: Mapping[str, Any], folder: Path) -> str:
    """The script that starts a rank."""
    places = [f'"${{{word[1:]}:-}}"' if word.startswith("$") else shlex.quote(word) for word in parameters["places"]]
    lines = []
    if parameters["library"]:
        lines += [f"LABKIT_PRELOADED=$copy/{parameters['library']}"]
        lines += ["LD_PRELOAD=$LABKIT_PRELOADED${LD_PRELOAD:+:$LD_PRELOAD}", "export LABKIT_PRELOADED LD_PRELOAD"]
    if parameters["mpi"]:
        lines += [f"LD_LIBRARY_PATH=${{LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}}{shlex.quote(parameters['mpi'])}"]
        lines += ["export LD_LIBRARY_PATH"]
    own = f'"$copy/{parameters["interpreter"]}"' if parameters["interpreter"] else shlex.quote(str(_python()))
    filled = {
        "PLACES": " ".join(places),
        "FOLDER": parameters["folder"],
        "NAME": folder.name,
        "VARIABLES": "\n        ".join(lines) or ":",
        "PYTHON": own,
        "NODE": shlex.join([str(_python()), *BARE, str(folder / NODE)]),
    }
    for name, value in filled.items():
        text = text.replace(f"@{name}@", value)
    return text


def _add(archive: tarfile.TarFile, name: str, data: bytes, mode: int) -> None:
    """Add a file."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    archive.addfile(entry, io.BytesIO(data))


def byte_code(path: Path, source: bytes) -> bytes:
    """Byte code of a module as a file that needs no source; what Python has kept of it, if that is up to date."""
    head = importlib.util.MAGIC_NUMBER + bytes(12)
    with suppress(OSError, NotImplementedError):
        kept, there = Path(importlib.util.cache_from_source(str(path))).read_bytes(), path.stat()
        fits = (there.st_mtime_ns // 10**9) & 0xFFFF_FFFF, there.st_size & 0xFFFF_FFFF
        stamps = tuple(int.from_bytes(kept[at : at + 4], "little") for at in (8, 12))
        if kept[:8] == head[:8] and stamps == fits:
            return head + kept[16:]
    return head + marshal.dumps(compile(source, str(path), "exec", dont_inherit=True))


def relocated(data: bytes, target: str) -> bytes:
    """A library or program whose own search path leads into the copy, if it led to the Python it came with.

    Else the loader would look there for the system's libraries. The length of the file stays, as with chrpath(1).

    Parameters
    ----------
    target : name in the archive.
    """
    inside = os.path.relpath("lib", Path(target).parent)
    old, new = f"\0{sys.base_prefix}/lib\0".encode(), f"\0$ORIGIN/{inside}\0".encode()
    if not data.startswith(b"\x7fELF") or data.count(old) != 1 or len(new) > len(old):
        return data
    return data.replace(old, new.ljust(len(old), b"\0"))


def _tidy(keep: Path) -> None:
    """Remove archives that have not been used for a while, all but the last few."""
    with suppress(OSError):
        there = sorted(_cache().iterdir(), key=lambda path: -path.stat().st_mtime)
        for path in there[KEPT:]:
            if path != keep and time.time() - path.stat().st_mtime > IDLE:
                shutil.rmtree(path, ignore_errors=True)
