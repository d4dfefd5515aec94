#!/usr/bin/env bash
# Makes a virtual environment from a lock file and installs labkit in it.
#   python.sh packages VENV LOCK…   makes VENV if it is missing, installs the locked packages
#   python.sh labkit VENV           installs this checkout as labkit, editable, and builds its kernels and programs
#   python.sh programs VENV         builds those that are missing although what they are built from is installed
#   python.sh quarto VENV           installs Quarto from its Python package, which needs internet
#   python.sh wheelhouse LOCK…      fetches the locked packages into the folder wheelhouse, for a machine without internet
# uv where there is one, else a uv of its own in .venv-uv, else venv and pip. PYTHON names another interpreter.
# Where there is a folder wheelhouse, packages come from it, and no network is asked.
set -euo pipefail

say() { printf '%s\n' "$*"; }
fail() { say "$*" >&2; exit 1; }

find_uv() {
    for found in uv "$HOME/.local/bin/uv" .venv-uv/bin/uv; do
        if "$found" --version >/dev/null 2>&1; then say "$found"; return 0; fi
    done
    return 1
}

recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# The first interpreter that is recent enough.
interpreter() {
    for found in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.14}; do
        if recent "$found"; then say "$found"; return 0; fi
    done
    return 1
}

its_python() {
    if ! command -v python3 >/dev/null; then say "this machine has no python3"; else say "python3 here is $(python3 -V 2>&1)"; fi
}

# fail_without WHAT: ends with the ways to get a Python that can make virtual environments.
fail_without() {
    fail "$1 Do one of these, then run make setup again:
  with root, on Debian 12, Ubuntu 24.04 or newer: apt-get install python3 python3-venv
  without root: curl -LsSf https://astral.sh/uv/install.sh | sh   # uv, which downloads a Python for you
  with conda, in place of make setup: conda env create -f environment.yml"
}

# A uv inside the checkout; without network or venv there is none, and pip does. Then pip has done its work: 25 MB less.
own_uv() {
    if python3 -m venv .venv-uv \
        && .venv-uv/bin/python -m pip install -q --no-cache-dir --require-hashes -r templates/setup/uv.lock; then
        .venv-uv/bin/uv pip uninstall -q --python .venv-uv/bin/python pip setuptools || true
        return 0
    fi >/dev/null 2>&1
    rm -rf .venv-uv
    return 1
}

make_venv() {
    [ -x "$1/bin/python" ] && recent "$1/bin/python" && return
    local python why="labkit needs Python 3.11 or newer, but $(its_python)"
    if [ -n "$uv_path" ]; then
        interpreter >/dev/null || say "$why: uv takes another one that is here, or downloads one to your home folder."
        "$uv_path" venv -q --clear --python "${PYTHON:->=3.11}" "$1" || fail_without "$why, and uv could not download one."
    else
        python=$(interpreter) || fail_without "$why."
        "$python" -m venv --clear "$1" >/dev/null 2>&1 && return
        rm -rf "$1"  # half an environment would count as one
        fail_without "$python cannot make virtual environments, because venv or ensurepip is missing."
    fi
}

# Wheels for the interpreter that set-up would take, checked against the lock; uv downloads none, pip does.
wheelhouse() {
    local venv locks=()
    venv=$(mktemp -d)
    trap 'rm -rf "'"$venv"'"' EXIT
    uv_path=$(find_uv) || uv_path=
    if [ -n "$uv_path" ]; then "$uv_path" venv -q --clear --seed --python "${PYTHON:->=3.11}" "$venv"; else make_venv "$venv"; fi
    for lock in "$@"; do locks+=(-r "$lock"); done
    local fetch=("$venv/bin/python" -m pip download -q --disable-pip-version-check --only-binary :all: -d wheelhouse)
    "${fetch[@]}" --require-hashes "${locks[@]}"
    # 3.11.2 there takes other versions of a few than 3.11.7 here; installing compares their checksums too
    for pinned in $(sed -nE "s/^([^ ]+) ; .*python_full_version [<>=]+ '[0-9]+\.[0-9]+\.[0-9]+'.*/\1/p" "$@"); do
        "${fetch[@]}" --no-deps --ignore-requires-python "$pinned"
    done
    say "wheelhouse: $(find wheelhouse -name '*.whl' | wc -l) wheels, $(du -sh wheelhouse | cut -f1), for $("$venv/bin/python" -V) on $(uname -m)."
}

# Installs into venv $1 with the rest of the arguments.
install() {
    local venv=$1; shift
    if [ -n "$uv_path" ]; then
        "$uv_path" pip install -q --python "$venv/bin/python" "$@"
        # every rank, notebook and tool starts a Python: compiled once here, pandas alone comes a second sooner
        "$venv/bin/python" -m compileall -q -j 0 -x '/tests/' "$venv"/lib/python3*/site-packages || true
    else "$venv/bin/python" -m pip install -q --disable-pip-version-check --root-user-action=ignore "$@"; fi
}

packages() {
    local venv=$1; shift
    uv_path=$(find_uv) || { own_uv && uv_path=$(find_uv); } || uv_path=
    make_venv "$venv"
    say "Installing $(cat "$@" | grep -c '^[^ #].*==') Python packages into $venv with ${uv_path:-pip}${UV_OFFLINE:+ from wheelhouse}: $*"
    local locks=(); for lock in "$@"; do locks+=(-r "$lock"); done
    install "$venv" --require-hashes "${locks[@]}"
}

labkit() {
    uv_path=$(find_uv) || uv_path=
    # the lock holds setuptools, so that building needs no network
    local again=(--force-reinstall); [ -z "$uv_path" ] || again=(--reinstall-package labkit)
    rm -f labkit/kernels/_kernels_*.so
    if command -v cc >/dev/null; then say "Compiling labkit's C kernels"; fi
    install "$1" --no-deps --no-build-isolation "${again[@]}" -e .
    "$1/bin/python" -m compileall -q labkit || true
}

# Installing is quiet. This builds again what is missing, one after the other, and shows what the compiler says.
programs() {
    local unbuilt said
    unbuilt=$("$1/bin/python" -m labkit.kernels.programs)
    [ -n "$unbuilt" ] || return 0
    say "Building" $unbuilt
    said=$("$1/bin/python" setup.py -q build_ext --inplace 2>&1) || true
    unbuilt=$("$1/bin/python" -m labkit.kernels.programs)
    [ -n "$unbuilt" ] || return 0
    say "Not built:" $unbuilt". This is what the compiler said first:"
    grep -E -m 12 -A 2 'was not built:|error:' <<<"$said" || tail -n 5 <<<"$said"
    say "Correct what these lines name, then run make setup again. Until then, labkit doctor lists what is not built."
}

quarto() {
    uv_path=$(find_uv) || uv_path=
    install "$1" 'quarto-cli>=1.9.20'
}

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [ -d wheelhouse ] && [ "${1:-}" != wheelhouse ]; then
    export PIP_NO_INDEX=1 PIP_FIND_LINKS=$PWD/wheelhouse UV_OFFLINE=1 UV_NO_INDEX=1 UV_FIND_LINKS=$PWD/wheelhouse
fi
case ${1:-} in
    packages | labkit | programs | quarto | wheelhouse) "$@" ;;
    *) fail "python.sh: unknown command '${1:-}'. Commands: packages VENV LOCK…, labkit VENV, programs VENV, quarto VENV, wheelhouse LOCK…." ;;
esac
