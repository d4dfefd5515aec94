# The NAS Parallel Benchmarks 3.3 or 3.4: NPB3.4.3, NPB3.4.3-MZ, or a folder that holds both.
# Programs go to mpi, openmp and serial. CLASSES (S W A), PROGRAMS (all) and MODELS (mpi openmp) choose what is built,
# RANKS (1 2 4) the numbers of ranks that NPB 3.3 compiles into each program for MPI.
CLASSES=${CLASSES:-S W A} MODELS=${MODELS:-mpi openmp} RANKS=${RANKS:-1 2 4}
PROGRAMS=${PROGRAMS:-ep is cg mg ft bt sp lu dt ua dc bt-mz sp-mz lu-mz}

source_is NPB '~/NPB3.4.3' https://www.nas.nasa.gov/software/npb.html
mapfile -t TREES < <(find "$SOURCE" -maxdepth 4 -path '*/config/make.def.template' | sed 's%/config/make.def.template$%%' | sort)
[ "${#TREES[@]}" != 0 ] || lacks config/make.def.template
for model in $MODELS; do
    case $model in mpi | openmp | serial) ;; *) fail "MODELS names $model. Set MODELS to some of mpi, openmp and serial." ;; esac
done
echo end >"$WORK/asked.f90"

# Flags of a Fortran compiler that let it take the sources before NPB 3.4.1.
tolerant() {
    local flag
    for flag in -fallow-argument-mismatch -fallow-invalid-boz; do
        if $1 "$flag" -c "$WORK/asked.f90" -o "$WORK/asked.o" 2>/dev/null; then printf ' %s' "$flag"; fi
    done
}

# Prints config/make.def for one source tree: tree $1, model $2. NPB 3.3 and the multi-zone versions have other names.
definitions() {
    local fortran=$FC c=$CC openmp=
    if [ "$2" = mpi ]; then fortran=$MPIFC c=$MPICC; fi
    case $2:$(basename "$1") in openmp:* | mpi:*-MZ-*) openmp=' -fopenmp' ;; esac
    printf '%s = %s\n' FC "$fortran" MPIFC "$fortran" F77 "$fortran" MPIF77 "$fortran" FLINK "$fortran" \
        FFLAGS "-O3$openmp $FLAGS$(tolerant "$fortran")" FLINKFLAGS "-O3$openmp $FLAGS" \
        CC "$c" MPICC "$c" CLINK "$c" CFLAGS "-O3$openmp $FLAGS" CLINKFLAGS "-O3$openmp $FLAGS" C_LIB -lm UCC "$CC" \
        BINDIR ../bin RAND randi8 WTIME wtime.c
}

# Builds the kernels of one source tree: tree $1, model $2.
build() {
    local tree=$WORK/$2 compiler=$FC numbers=x kernel class ranks
    if [ "$2" = mpi ]; then compiler=$MPIFC; fi
    $compiler "$WORK/asked.f90" -o "$WORK/asked" >"$WORK/log" 2>&1 ||
        fail "$compiler cannot build a program: $(first). Packages that it needs: gfortran libopenmpi-dev. MODELS=openmp needs no MPI."
    if grep -q '^NPROCS *=' "$1/Makefile"; then numbers=$RANKS; fi
    rm -rf "$tree"
    cp -r "$1" "$tree"
    definitions "$1" "$2" >"$tree/config/make.def"
    mkdir -p "$FOLDER/$2"
    for kernel in $PROGRAMS; do
        [ -d "$tree/${kernel^^}" ] || continue
        for class in $CLASSES; do
            for ranks in $numbers; do program "$tree" "$FOLDER/$2" "$kernel.$class.$ranks"; done
        done
    done
}

# Builds one program: tree $1, folder of the result $2, its name $3 of kernel, class, and ranks or x.
program() {
    local kernel=${3%%.*} class ranks=${3##*.} made
    class=${3#*.} class=${class%.*}
    rm -rf "$1/bin"
    mkdir "$1/bin"
    if make -C "$1" SHELL="$BASH" "$kernel" CLASS="$class" NPROCS="${ranks/x/1}" >"$WORK/log" 2>&1; then
        made=$(find "$1/bin" -type f -name "$kernel.$class*" -executable -print -quit)
        if [ -n "$made" ]; then
            case $made in *."$class") ranks=x ;; *) ranks=${made##*.} ;; esac  # DT of NPB 3.3 takes its ranks from mpirun
            mv "$made" "$2/$kernel.$class.$ranks"
            BUILT+=("$(basename "$2")/$kernel.$class.$ranks")
            return
        fi
    fi
    say "not built: $(basename "$2")/$3: $(first)"
}

wants() { [[ " $MODELS " = *" $1 "* ]]; }

BUILT=()
for tree in "${TREES[@]}"; do
    case $(basename "$tree") in
        *-MPI) if wants mpi; then build "$tree" mpi; fi ;;
        *-OMP)
            if wants openmp; then build "$tree" openmp; fi
            if wants serial && [ ! -d "${tree%OMP}SER" ]; then build "$tree" serial; fi ;;
        *-SER) if wants serial; then build "$tree" serial; fi ;;
    esac
done
[ "${#BUILT[@]}" != 0 ] || fail "Nothing was built from $SOURCE for MODELS=\"$MODELS\". The lines above name the first error of each program."
say "Built in $FOLDER: ${BUILT[*]}"
