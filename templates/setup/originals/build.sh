#!/usr/bin/env bash
# Builds an original benchmark from the user's own source, which stays as it is.
#   build.sh NAME SOURCE FOLDER    NAME is that of a file here: npb, ior or hpl. The programs go to FOLDER.
# FLAGS are added to the compiler's options. MPICC, MPIFC, CC and FC name other compilers.
set -euo pipefail
unset MAKEFLAGS MFLAGS MAKELEVEL  # they would set variables in the makefiles of the originals

HERE=$(dirname "$(realpath "$0")") NAME=${1:?} SOURCE=${2/#\~/$HOME} FOLDER=$(realpath -m "${3:?}")
FLAGS=${FLAGS:-} MPICC=${MPICC:-mpicc} MPIFC=${MPIFC:-mpif90} CC=${CC:-gcc} FC=${FC:-gfortran}

WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

say() { printf '%s\n' "$*"; }
fail() { say "$*" >&2; exit 1; }
# The first complaint of the log; autoconf's own begins with the folder.
first() {
    awk 'tolower($0) ~ /(^|[^a-z_])error[: ]|fatal|cannot find|unknown|undefined reference|not found/ && !/error: in / {
            print; found = 1; exit
        }
        { last = $0 }
        END { if (!found) print last }' "$WORK/log"
}
# Requires a folder SOURCE: title $1, example $2, where to get it $3.
source_is() {
    TITLE=$1 EXAMPLE=$2
    [ -d "$SOURCE" ] || fail "SOURCE=${SOURCE:-(empty)} is not a folder. Unpack $1 from $3, and set SOURCE=$2."
}
lacks() { fail "SOURCE=$SOURCE holds no $1 of $TITLE. Set SOURCE to the unpacked folder, such as $EXAMPLE."; }
# Runs a step; packages $1 bring what it needs.
step() {
    "${@:2}" >"$WORK/log" 2>&1 || fail "$NAME was not built, because '${*:2}' failed: $(first). Packages that it needs: $1."
}
# Builds programs $3… of a source with configure: packages $1 that this needs, options of the compiler $2.
configured() {
    cp -r "$SOURCE" "$WORK/tree"
    cd "$WORK/tree"
    [ ! -e Makefile ] || [ ! -e config.status ] || step make make distclean
    [ -x configure ] || step "autoconf automake pkg-config" autoreconf -i
    step "$1" ./configure CC="$MPICC" CFLAGS="$2 $FLAGS" LIBS="${BLAS:-}"
    step "$1" make -j"$(nproc)"
    mkdir -p "$FOLDER"
    cp "${@:3}" "$FOLDER/"
    say "Built in $FOLDER: $(cd "$FOLDER" && echo *)"
}

# shellcheck source=/dev/null
. "$HERE/$NAME.sh"
