#!/usr/bin/env bash
# Builds labkit for others into a folder and checks it: a source archive, and a wheel for each processor.
#   dist.sh PYTHON FOLDER [PROCESSOR…]   PYTHON has what dist.lock holds; processors: x86_64 and aarch64 unless named
# The wheels hold kernels for Python's stable ABI and for glibc 2.17 (manylinux2014). They need no MPI to be built, and
# serve any: see docs/architecture.md. zig, a C compiler from PyPI, compiles for both processors and that old glibc.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

say() { printf '%s\n' "$*"; }
fail() { say "$*" >&2; exit 1; }

python=$(realpath -s "$1") target=$(realpath -m "$2"); shift 2
[ $# != 0 ] || set -- x86_64 aarch64
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export PATH=$(dirname "$python"):$PATH SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
quiet() {
    "$@" >"$scratch/log" 2>&1 && return
    { grep -m 5 -A 2 'error:' "$scratch/log" && say '[…]'; tail -n 20 "$scratch/log"; } >&2
    fail "This failed, and the lines above are what it said: $*
Correct what they name. If a compiler was killed, stop other programs, or add memory. Then run it again."
}

# Without Git, everything that is here; with it, what it tracks and what is new, but nothing that it ignores.
mkdir "$scratch/source"
if git rev-parse --git-dir >/dev/null 2>&1; then
    git ls-files -z --cached --others --exclude-standard
else
    find . -name '.venv*' -prune -o -name dist -prune -o -type f -printf '%P\0'
fi | xargs -0 ls -d 2>/dev/null | tar cf - -T - | tar xf - -C "$scratch/source"
quiet "$python" -m build --no-isolation --sdist -o "$scratch/out" "$scratch/source"
mkdir "$scratch/unpacked"
tar xf "$scratch"/out/*.tar.gz -C "$scratch/unpacked" --strip-components 1

# A wheel from the unpacked source archive, so that the archive is known to be whole.
for processor in "$@"; do
    export LABKIT_KERNELS=required CC="$python -m ziglang cc -target $processor-linux-gnu.2.17" CFLAGS="-g0" LDFLAGS="-Wl,-s"
    export LDSHARED="$CC -shared -Wl,-s" _PYTHON_HOST_PLATFORM=linux-$processor
    rm -rf "$scratch/unpacked/build" "$scratch/wheel"
    quiet "$python" -m build --no-isolation --wheel -o "$scratch/wheel" "$scratch/unpacked"
    quiet auditwheel repair --plat auto -w "$scratch/out" "$scratch"/wheel/*.whl
    compgen -G "$scratch/out/*manylinux*_2_17_$processor*.whl" >/dev/null || compgen -G "$scratch/out/*manylinux2014_$processor*.whl" >/dev/null \
        || fail "The wheel for $processor asks for more than glibc 2.17: $(auditwheel show "$scratch"/wheel/*.whl)"
done
quiet twine check --strict "$scratch"/out/*
mkdir -p "$target"
rm -f "$target"/labkit-*
cp "$scratch"/out/* "$target"
for file in "$target"/labkit-*; do say "$file  $(du -h "$file" | cut -f1)"; done
say "Checked with auditwheel (manylinux2014: glibc 2.17 or newer) and twine. To install: pip install 'FILE[mpich,report]'"
