#!/usr/bin/env bash
# Builds the NAS Parallel Benchmarks 3.4 from the user's own source, which stays as it is.
#   npb.sh SOURCE FOLDER    programs go to FOLDER/mpi, FOLDER/openmp and FOLDER/serial
# SOURCE is the unpacked archive: NPB3.4.3, NPB3.4.3-MZ, or a folder that holds both.
# CLASSES (S W A), PROGRAMS (all) and MODELS (mpi openmp) choose what is built. FLAGS are added to the optimisation -O3.
# MPIFC, MPICC, FC and CC name other compilers.
set -euo pipefail

SOURCE=${1:-} FOLDER=${2:?}
CLASSES=${CLASSES:-S W A} MODELS=${MODELS:-mpi openmp} FLAGS=${FLAGS:-}
PROGRAMS=${PROGRAMS:-ep is cg mg ft bt sp lu dt ua dc bt-mz sp-mz lu-mz}
MPIFC=${MPIFC:-mpif90} MPICC=${MPICC:-mpicc} FC=${FC:-gfortran} CC=${CC:-gcc}

say() { printf '%s\n' "$*"; }
fail() { say "$*" >&2; exit 1; }

[ -d "$SOURCE" ] || fail "SOURCE=${SOURCE:-(empty)} is no folder. Unpack NPB from https://www.nas.nasa.gov/software/npb.html, and set SOURCE=~/NPB3.4.3."
mapfile -t TREES < <(find "$SOURCE" -maxdepth 4 -path '*/config/make.def.template' -printf '%h\n' | xargs -rn1 dirname | sort)
[ "${#TREES[@]}" != 0 ] || fail "SOURCE=$SOURCE holds no config/make.def.template of NPB. Set SOURCE to the unpacked folder, such as ~/NPB3.4.3."

WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

# Flags of a Fortran compiler that let it take the sources of NPB 3.4.0.
tolerant() {
    local flag
    for flag in -fallow-argument-mismatch -fallow-invalid-boz; do
        if echo end | "$1" "$flag" -x f95 -c - -o "$WORK/asked.o" 2>/dev/null; then printf ' %s' "$flag"; fi
    done
}

# Builds the kernels of one source tree: trees $1, model $2.
build() {
    local tree=$WORK/$2 compiler=$FC kernel class log
    if [ "$2" = mpi ]; then compiler=$MPIFC; fi
    command -v "$compiler" >/dev/null || fail "$compiler is not installed. Run: sudo apt-get install gfortran libopenmpi-dev. MODELS=openmp needs no MPI."
    rm -rf "$tree"
    cp -r "$1" "$tree"
    sed -E -e "s%^((MPI)?FC[[:blank:]]*=[[:blank:]]*).*%\1$compiler%" \
        -e "s%^((MPICC|CC)[[:blank:]]*=[[:blank:]]*)mpicc%\1$MPICC%" -e "s%^((U?CC)[[:blank:]]*=[[:blank:]]*)gcc%\1$CC%" \
        -e "s%^(FFLAGS[[:blank:]]*=.*)%\1 $FLAGS$(tolerant "$compiler")%" -e "s%^(CFLAGS[[:blank:]]*=.*)%\1 $FLAGS%" \
        -e "$([ "$2" != serial ] || echo 's% -fopenmp%%')" "$tree/config/make.def.template" >"$tree/config/make.def"
    mkdir -p "$tree/bin" "$FOLDER/$2"
    for kernel in $PROGRAMS; do
        [ -d "$tree/${kernel^^}" ] || continue
        for class in $CLASSES; do
            log=$WORK/log
            if make -C "$tree" SHELL="$BASH" "$kernel" CLASS="$class" >"$log" 2>&1 && [ -x "$tree/bin/$kernel.$class.x" ]; then
                mv "$tree/bin/$kernel.$class.x" "$FOLDER/$2/"
                BUILT+=("$2/$kernel.$class.x")
            else
                say "not built: $2/$kernel.$class.x: $(grep -iEm1 'error|unknown|invalid|undefined' "$log" || tail -n 1 "$log")"
            fi
        done
    done
}

BUILT=()
for tree in "${TREES[@]}"; do
    case $(basename "$tree") in
        *-MPI) if grep -q NPROCS= "$tree/Makefile"; then
                say "left out: $tree fixes the number of ranks when it is compiled. Take NPB 3.4."
            elif [[ " $MODELS " = *" mpi "* ]]; then build "$tree" mpi; fi ;;
        *-OMP) for model in openmp serial; do if [[ " $MODELS " = *" $model "* ]]; then build "$tree" "$model"; fi; done ;;
    esac
done
[ "${#BUILT[@]}" != 0 ] || fail "Nothing was built."
say "Built in $FOLDER: ${BUILT[*]}"
