"""Packs what a rank needs into one archive: labkit, numpy, mpi4py, the kernels; the interpreter too if asked for.

The archive is a tar file with the layout of a Python prefix. Modules are in it as byte code, so that a rank neither
looks for sources nor writes byte code. The archive is named by its content and is made once. It is in the user's
cache, beside the scripts that use it.
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

from labkit.errors import LaunchError
from labkit.io import folders, mounts

PACKAGES = ("labkit", "mpi4py", "numpy")  # what a rank loads beside the standard library
ARCHIVE, NODE, RANK = "archive.tar", "node.py", "rank"  # files in the cache
TEMPLATES = ("node.py", "start.py", "rank.sh")  # files of this package that the scripts are made from
BARE = ("-I", "-S", "-B")  # the interpreter reads no variables, sets no packages up and writes no byte code
UNUSED = ("__pycache__", "_pyinstaller", "_shipped", "distutils", "f2py", "test", "tests")  # folders that stay out
PLACES = ("$TMPDIR", "/tmp", "/dev/shm")  # folders of a node that may hold a copy, the best first
PLACE = "LABKIT_STAGE_FOLDER"  # variable that names another place
MOST_ARCHIVES, RECENT_S = 4, 3600.0  # how many stay in the cache; more do if they were used in the last so many s
# prints the files of the modules that a rank may load, the libraries that these map, and where Python looks for modules
_PROBE = """
import json, sys
import labkit.worker.__main__, labkit.kernels.loops, mpi4py
import encodings.ascii, encodings.latin_1, encodings.idna, fcntl, pickle, site, traceback
from labkit import benchmarks
benchmarks.find()
modules = {n: m.__file__ for n, m in sys.modules.items() if getattr(m, "__file__", None)}
modules |= {n: m.__spec__.loader_state.filename for n, m in sys.modules.items()
    if getattr(getattr(m, "__spec__", None), "origin", "") == "frozen" and m.__spec__.loader_state.filename}
mapped = {line.split(None, 5)[5].strip() for line in open("/proc/self/maps") if line.count(" /") and ".so" in line}
about = {"path": sys.path, "user_site": site.ENABLE_USER_SITE, "user_base": site.USER_BASE}
print(json.dumps({"modules": modules, "libraries": sorted(mapped)} | about))
"""


@dataclass(frozen=True)
class Archive:
    """An archive in the cache.

    Parameters
    ----------
    folder : folder that holds it and its scripts.
    name : name of its content, 16 hex digits.
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
        """Script that starts a rank."""
        return self.folder / RANK

    def on_node(self, *words: str) -> list[str]:
        """Return the command that runs `labkit.run.staging.node` on a node."""
        return [str(_interpreter()), *BARE, str(self.folder / NODE), *words]


def _interpreter() -> Path:
    """Return the interpreter itself, which knows of no environment."""
    return Path(getattr(sys, "_base_executable", "") or sys.executable).resolve()


@cache
def made(*, interpreter: bool) -> Archive:
    """Return the archive of this labkit and this environment, and make it if it is not in the cache.

    Parameters
    ----------
    interpreter : whether it holds Python itself and the standard library.

    Raises
    ------
    LaunchError
        If a rank's modules cannot be loaded here, or the cache cannot be written.
    """
    files = contents(interpreter=interpreter)
    try:
        return _cached(files, interpreter)
    except OSError as error:
        raise LaunchError(f"the archive cannot be written to {_cache()}: {error.strerror}") from error


def _cache() -> Path:
    return folders.cache() / "staged"


def contents(*, interpreter: bool) -> dict[str, Path]:
    """Return the files of an archive: name in it → source path.

    Parameters
    ----------
    interpreter : as of `made`.
    """
    modules, libraries = _loaded()
    stdlib, base = Path(sysconfig.get_path("stdlib")), Path(sys.base_prefix)
    packages = modules["numpy"].parents[1]
    usual = Path("lib", f"python{sysconfig.get_python_version()}", "site-packages")
    site = packages.relative_to(sys.prefix) if packages.is_relative_to(sys.prefix) else usual
    files: dict[Path, Path] = {}
    for name, path in modules.items():
        if name in PACKAGES:
            files |= {site / file.relative_to(path.parents[1]): file for file in module_files(path)}
        elif interpreter and path.is_relative_to(stdlib) and "site-packages" not in path.parts:
            files |= {file.relative_to(base): file for file in module_files(path)}
    for path in libraries - {path.resolve() for path in files.values()}:
        if path.is_relative_to(packages.resolve()):  # numpy.libs; libraries find one another by relative paths
            files[site / path.relative_to(packages.resolve())] = path
        elif interpreter and path.is_relative_to(base.resolve()):
            files[path.relative_to(base.resolve())] = path
    if interpreter:
        files[Path("bin", _interpreter().name)] = _interpreter()
    return {str(name): path for name, path in sorted(files.items())}


def module_files(path: Path) -> list[Path]:
    """Return the files of a module. All modules of a package belong to it, as a rank may load any of them later."""
    if not path.name.startswith("__init__."):
        return [path]
    files = []
    for parent, inner, names in os.walk(path.parent):
        inner[:] = [name for name in inner if name not in UNUSED]
        files += [Path(parent, name) for name in names if inspect.getmodulename(name)]
    return files


def _loaded() -> tuple[dict[str, Path], set[Path]]:
    """Return the files of the modules that ranks may load, and of the libraries that these map."""
    found = probed()
    return {name: Path(path) for name, path in found["modules"].items()}, set(map(Path, found["libraries"]))


@cache
def probed(*flags: str) -> Mapping[str, Any]:
    """Return the modules that ranks may load, from a fresh interpreter.

    Parameters
    ----------
    flags : flags of the interpreter.

    Raises
    ------
    LaunchError
        If they cannot be loaded.
    """
    words = [sys.executable, *flags, "-c", _PROBE]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason"])[-1]
        raise LaunchError(f"the modules of a rank cannot be loaded: {last}")
    found: Mapping[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _cached(files: Mapping[str, Path], interpreter: bool) -> Archive:
    """Return the archive of some files from the cache, and write it if it is not there."""
    data = {name: path.read_bytes() for name, path in files.items()}
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in data.items()}
    parameters = _parameters(files, interpreter)
    templates = {name: (Path(__file__).parent / name).read_text() for name in TEMPLATES}
    identity = json.dumps([sums, parameters, templates, sys.version], sort_keys=True)
    name = hashlib.sha256(identity.encode()).hexdigest()[:16]
    folder = _cache() / name
    if not (folder / ARCHIVE).is_file():
        fresh = folder.with_name(f".{name}.{os.uname().nodename}.{os.getpid()}")
        fresh.mkdir(mode=0o700, parents=True)
        try:
            _write(fresh, folder, data, files, parameters, templates)
            with suppress(OSError):  # another process was faster
                fresh.rename(folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    os.utime(folder)
    remove_old(_cache(), keep=folder)
    return Archive(folder, name, (folder / ARCHIVE).stat().st_size)


def _parameters(files: Mapping[str, Path], interpreter: bool) -> dict[str, Any]:
    """Return the facts that the scripts need beside the archive."""
    package = next(name for name in files if name.endswith("/labkit/__init__.py"))
    searched = [*sys.path, str(files[package].parents[1])]
    outside = [path for path in searched if Path(path).is_absolute() and Path(path).is_dir()]
    names = {inspect.getmodulename(name) or name for path in outside for name in os.listdir(path)}  # noqa: PTH208
    library = next((name for name in files if re.fullmatch(r"lib\w*/libpython\d.*", name)), "")
    return {
        "site": str(Path(package).parents[1]),
        "prefix": sys.prefix,
        "base": sys.base_prefix,
        "folders": list(dict.fromkeys(outside)),
        "names": sorted(filter(str.isidentifier, names)),
        "interpreter": f"bin/{_interpreter().name}" if interpreter else "",
        "library": library,
        "mpi": _mpi_beside(files),
        "environment": [sys.executable, "-m", "labkit.worker"],
        "places": [os.environ[PLACE]] if os.environ.get(PLACE) else list(PLACES),
        "folder": f"labkit-staged-{os.geteuid()}",
    }


def _mpi_beside(files: Mapping[str, Path]) -> str:
    """Return the folder of the environment's MPI library if mpi4py finds it by a relative path, as conda's does."""
    folder = Path(sys.prefix, "lib")
    relative = any(b"$ORIGIN" in path.read_bytes() for name, path in files.items() if "/mpi4py/MPI" in name)
    return str(folder) if relative and any(folder.glob("libmpi*.so*")) else ""


def _write(
    fresh: Path,
    folder: Path,
    data: Mapping[str, bytes],
    files: Mapping[str, Path],
    parameters: Mapping[str, Any],
    templates: Mapping[str, str],
) -> None:
    """Write the archive and its scripts into a fresh folder that the caller renames."""
    rank = str(folder / RANK)
    start = templates["start.py"] + call("sys.exit(main({}))", {**parameters, "rank": rank})
    with tarfile.open(fresh / ARCHIVE, "w", format=tarfile.USTAR_FORMAT) as archive:
        _add(archive, "start.py", start.encode(), 0o600)
        for name, content in data.items():
            if name.endswith(".py"):
                _add(archive, f"{name}c", byte_code(files[name], content), 0o600)
            else:
                _add(archive, name, relocated(content, name), 0o700)
    size, members = (fresh / ARCHIVE).stat().st_size, len(data) + 1
    more = {
        "name": folder.name,
        "archive": str(folder / ARCHIVE),
        "size": size,
        "members": members,
        "needs": size + 4096 * members,
        "rank": rank,
        "network": sorted(mounts.NETWORK),
        "local": list(mounts.LOCAL_FUSE),
    }
    node = templates["node.py"] + call("sys.exit(main(sys.argv[1:], {}))", {**parameters, **more})
    (fresh / NODE).write_text(node)
    (fresh / RANK).write_text(_script(templates["rank.sh"], parameters, folder))


def call(line: str, parameters: Mapping[str, Any]) -> str:
    """Return the last line of a script, with its parameters."""
    return f"\n\n{line.format(repr(dict(parameters)))}\n"


def _script(template: str, parameters: Mapping[str, Any], folder: Path) -> str:
    """Return the script that starts a rank."""
    places = [f'"${{{word[1:]}:-}}"' if word.startswith("$") else shlex.quote(word) for word in parameters["places"]]
    variables = []
    if parameters["library"]:
        variables += [f"LABKIT_PRELOADED=$copy/{parameters['library']}"]
        variables += ["LD_PRELOAD=$LABKIT_PRELOADED${LD_PRELOAD:+:$LD_PRELOAD}", "export LABKIT_PRELOADED LD_PRELOAD"]
    if parameters["mpi"]:
        variables += [f"LD_LIBRARY_PATH=${{LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}}{shlex.quote(parameters['mpi'])}"]
        variables += ["export LD_LIBRARY_PATH"]
    copied = f'"$copy/{parameters["interpreter"]}"'
    values = {
        "PLACES": " ".join(places),
        "FOLDER": parameters["folder"],
        "NAME": folder.name,
        "VARIABLES": "\n        ".join(variables) or ":",
        "PYTHON": copied if parameters["interpreter"] else shlex.quote(str(_interpreter())),
        "NODE": shlex.join([str(_interpreter()), *BARE, str(folder / NODE)]),
    }
    for name, value in values.items():
        template = template.replace(f"@{name}@", value)
    return template


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    """Add a file to an archive."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))


def byte_code(path: Path, source: bytes) -> bytes:
    """Return a module as a file of byte code that needs no source. Python's own file is used if it is up to date."""
    header = importlib.util.MAGIC_NUMBER + bytes(12)
    with suppress(OSError, NotImplementedError):
        cached, status = Path(importlib.util.cache_from_source(str(path))).read_bytes(), path.stat()
        wanted = (status.st_mtime_ns // 10**9) & 0xFFFF_FFFF, status.st_size & 0xFFFF_FFFF
        stamps = tuple(int.from_bytes(cached[at : at + 4], "little") for at in (8, 12))
        if cached[:8] == header[:8] and stamps == wanted:
            return header + cached[16:]
    return header + marshal.dumps(compile(source, str(path), "exec", dont_inherit=True))


def relocated(content: bytes, name: str) -> bytes:
    """Return a library or program with a search path into the copy, if it pointed into its own Python.

    Else the loader would look there for the system's libraries. The length of the file stays, as with chrpath(1).

    Parameters
    ----------
    name : name of the file in the archive.
    """
    inside = os.path.relpath("lib", Path(name).parent)
    old, new = f"\0{sys.base_prefix}/lib\0".encode(), f"\0$ORIGIN/{inside}\0".encode()
    if not content.startswith(b"\x7fELF") or content.count(old) != 1 or len(new) > len(old):
        return content
    return content.replace(old, new.ljust(len(old), b"\0"))


def remove_old(folder: Path, keep: Path, most: int = MOST_ARCHIVES, recent: float = RECENT_S) -> None:
    """Remove from a folder of the cache what has not been used for `recent` s, except the last `most` files."""
    with suppress(OSError):
        entries = sorted(folder.iterdir(), key=lambda path: -path.stat().st_mtime)
        for path in entries[most:]:
            if path == keep or time.time() - path.stat().st_mtime <= recent:
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
