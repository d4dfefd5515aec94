#!/usr/bin/env bash
# A virtual environment from a lock, and labkit in it.
#   python.sh packages VENV LOCK…   makes VENV where it is not there, installs the locked packages
#   python.sh labkit VENV           builds the C kernels and installs this checkout as labkit, editable
# uv where there is one, else a uv of its own in .venv-uv, else venv and pip. PYTHON names another interpreter.
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

# A uv inside the checkout; without network or venv there is none, and pip does.
own_uv() {
    if python3 -m venv .venv-uv && .venv-uv/bin/python -m pip install -q --require-hashes -r templates/setup/uv.lock; then
        return 0
    fi 2>/dev/null
    rm -rf .venv-uv
    return 1
}

make_venv() {
    [ -x "$1/bin/python" ] && recent "$1/bin/python" && return
    if [ -n "$uv_path" ]; then
        "$uv_path" venv -q --clear --python "${PYTHON:->=3.11}" "$1" \
            || fail "No Python of at least 3.11 was found or could be had. Install python3.11 or newer, or use: conda env create -f environment.yml"
    else
        local python
        python=$(interpreter) || fail "python3 is $(python3 -V 2>&1 || true), but labkit needs at least 3.11. Install a newer one, or use: conda env create -f environment.yml"
        "$python" -m venv --clear "$1" || fail "$python cannot make virtual environments. Install python3-venv (Debian, Ubuntu), or uv: pip install --user uv"
    fi
}

# Installs into venv $1 with the rest of the arguments.
install() {
    local venv=$1; shift
    # every rank, notebook and tool starts a Python: compiled once here, pandas alone comes a second sooner
    if [ -n "$uv_path" ]; then "$uv_path" pip install -q --compile-bytecode --python "$venv/bin/python" "$@"
    else "$venv/bin/python" -m pip install -q --disable-pip-version-check --root-user-action=ignore "$@"; fi
}

packages() {
    local venv=$1; shift
    uv_path=$(find_uv) || { own_uv && uv_path=$(find_uv); } || uv_path=
    make_venv "$venv"
    say "Installing Python packages into $venv with ${uv_path:-pip}: $*"
    local locks=(); for lock in "$@"; do locks+=(-r "$lock"); done
    install "$venv" --require-hashes "${locks[@]}"
}

labkit() {
    uv_path=$(find_uv) || uv_path=
    # the lock holds setuptools, so that building needs no network
    local again=(--force-reinstall); [ -z "$uv_path" ] || again=(--reinstall-package labkit)
    rm -f labkit/kernels/_kernels_*.so
    install "$1" --no-deps --no-build-isolation "${again[@]}" -e .
    "$1/bin/python" -m compileall -q labkit || true
    compgen -G 'labkit/kernels/_kernels_*.so' >/dev/null \
        || say "The C kernels could not be compiled (is there a C compiler?). The mpi4py loops stand in: latency, bandwidth, allreduce, bcast."
}

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
case ${1:-} in
    packages | labkit) "$@" ;;
    *) fail "python.sh: ${1:-nothing} was asked, but it knows: packages VENV LOCK…, labkit VENV." ;;
esac
