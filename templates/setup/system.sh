#!/usr/bin/env bash
# Installs missing system packages with apt if run as root; else lists them and what does not work without them.
#   system.sh                  what measuring and reporting need; APT=no only looks, NONFREE=no never adds a component
#   system.sh test             also what only the tests need: Slurm, a guest with soft-RoCE, a second MPI
#   system.sh non-free-source  prints the source it would add for netperf and iozone3
set -euo pipefail

MACHINE=$(uname -m)
case $MACHINE in
    aarch64) QEMU=qemu-system-arm IMAGE=linux-image-arm64 ;;
    *) QEMU=qemu-system-x86 IMAGE=linux-image-amd64 ;;
esac
# any of these commands | Debian package | what needs it
MEASURING=(
    "cc gcc|gcc libc6-dev|C kernels; without them, mpi4py loops measure latency, bandwidth, allreduce and bcast"
    "mpirun mpiexec|openmpi-bin|everything with MPI"
    "fio|fio|storage.read, storage.write, storage.mixed and sockets.unix_rr"
    "nbdkit|nbdkit|storage.network_read and storage.network_write"
    "iperf3|iperf3|sockets.tcp_bidirectional, UDP at a rate, several streams; replaces netperf for streams"
    "sockperf|sockperf|sockets.under_load; replaces netperf for round trips"
    "qperf|qperf|replaces netperf and perftest if those are missing"
    "hpcc|hpcc libopenblas0-pthread|compute.hpl, unless an xhpl is on the PATH"
    "redis-server|redis-server|kv.closed_loop and kv.open_loop on redis"
    "redis-benchmark|redis-tools|kv.redis_benchmark"
    "memcached|memcached|kv.closed_loop and kv.open_loop on memcached"
    "iperf|iperf|both directions over one TCP connection, and bounce-back"
    "NPtcp|netpipe-tcp|sockets.netpipe"
    "fi_pingpong|libfabric-bin|sockets.fabric_pingpong"
    "ib_write_lat|perftest|RDMA with perftest; without it, pyverbs loops measure"
    "ucx_perftest|ucx-utils|UCX, the layer below MPI"
    "ibv_devinfo|rdma-core ibverbs-utils ibverbs-providers|everything with RDMA"
    "numactl|numactl|binding tools to a NUMA node"
    "ip|iproute2|network namespaces and properties of interfaces"
    "nsenter|util-linux|the testbed virtual-cluster"
    "git|git|labkit's commit in every record"
    "qemu-system-$MACHINE|$QEMU|the guest of the testbed soft-roce (RDMA without an RDMA adapter)"
)
REPORTING=(
    "chromium chromium-browser google-chrome google-chrome-stable chrome|chromium|static figures, which the PDF needs"
)
TESTING=(
    "pdftotext|poppler-utils|the tests that read the PDF"
    "busybox|busybox-static|the guest of soft-roce"
    "cpio|cpio|the guest of soft-roce"
    "modprobe /usr/sbin/modprobe|kmod|the guest of soft-roce"
    "smpirun|libsimgrid-dev|the testbed simulated"
    "strace|strace|only the test that counts file system calls of a rank"
    "slurmctld /usr/sbin/slurmctld|slurmctld|only the tests that start Slurm on four virtual nodes"
    "slurmd /usr/sbin/slurmd|slurmd slurm-wlm-basic-plugins|only the Slurm tests"
    "sbatch|slurm-client|only the Slurm tests"
    "munged /usr/sbin/munged|munge|only the Slurm tests"
    "modulecmd|environment-modules|the test of a job that loads a module"
    "mpiexec.mpich mpiexec.hydra|mpich|a second MPI to compare with, and the tests of path mismatch"
)
NOT_FREE=(
    "netperf|netperf|sockets.*; without it, iperf3 measures streams, sockperf or qperf round trips"
    "iozone|iozone3|storage.iozone and storage.iozone_throughput"
)
CODES="|liberasurecode1 libisal2 libjerasure2|storage.encode and storage.decode"
GRPC="|g++ libgrpc++-dev libprotobuf-dev protobuf-compiler|rpc.* with gRPC"
THRIFT="|g++ libthrift-dev libevent-dev thrift-compiler|rpc.* with Apache Thrift"
COARRAYS="|gfortran libcoarrays-openmpi-dev|pgas.coarray_put and pgas.coarray_get"
PYVERBS="|python3-pyverbs|RDMA loops that keep every iteration; without them, perftest measures"
KERNEL="|$IMAGE|the kernel of the soft-roce guest; does not replace the running kernel"
RPC="|python3-grpcio python3-protobuf python3-thrift|rpc.* with language=python; optional for others"
TORCH="|python3-torch|learning.*; optional for others: 140 MB to download, 600 MB installed"
PMIX="|libpmix-dev|the Slurm tests with srun: Slurm's plugin loads libpmix.so, which is in no other package"
FONTS="|fonts-liberation|the fonts of static figures; other fonts replace them"
VENV="|python3-venv|Python environments if uv is missing"

say() { printf '%s\n' "$*"; }
have() { for name in $1; do command -v "$name" >/dev/null 2>&1 && return 0; done; return 1; }

# apt says little, unless it fails.
apt() {
    local log
    log=$(DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" 2>&1) && return
    tail -n 5 <<<"$log" >&2
    return 1
}
can_be_had() { [[ $(apt-cache policy "$@") =~ Candidate:\ [^\(] ]]; }
may_install() { [ "${APT:-yes}" != no ] && [ "$(id -u)" = 0 ] && have apt-get; }

# Prints the rows whose command is missing.
missing() {
    for row in "$@"; do have "${row%%|*}" || say "$row"; done
}

# Rows of this run's groups that are missing.
all_missing() {
    missing "${MEASURING[@]}" "${REPORTING[@]}"
    compgen -G '/usr/lib*/*-linux-gnu/liberasurecode.so.1' >/dev/null || compgen -G '/usr/lib*/liberasurecode.so.1' >/dev/null || say "$CODES"
    { have protoc && have c++ && [ -e /usr/include/grpcpp/grpcpp.h ]; } || say "$GRPC"
    { have thrift && have c++ && [ -e /usr/include/thrift/Thrift.h ]; } || say "$THRIFT"
    { have gfortran && compgen -G '/usr/lib*/*-linux-gnu/libcaf_openmpi.so' >/dev/null; } || say "$COARRAYS"
    compgen -G '/usr/lib*/python3*/*-packages/pyverbs/__init__.py' >/dev/null || say "$PYVERBS"
    compgen -G '/usr/share/fonts/truetype/liberation*/*' >/dev/null || fc-list 2>/dev/null | grep -q Liberation || say "$FONTS"
    have "uv $HOME/.local/bin/uv .venv-uv/bin/uv .venv/bin/python" || python3 -c 'import ensurepip, venv' 2>/dev/null || say "$VENV"
    [ -n "$TESTS" ] || return 0
    missing "${TESTING[@]}"
    compgen -G '/lib/modules/*/kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko*' >/dev/null || say "$KERNEL"
    { compgen -G '/usr/lib*/python3*/*-packages/grpc/__init__.py' && compgen -G '/usr/lib*/python3*/*-packages/thrift/__init__.py'; } >/dev/null \
        || python3 -c 'import google.protobuf, grpc, thrift' 2>/dev/null || say "$RPC"
    compgen -G '/usr/lib*/python3*/*-packages/torch/__init__.py' >/dev/null || python3 -c 'import torch' 2>/dev/null || say "$TORCH"
    compgen -G '/usr/lib*/*-linux-gnu/libpmix.so' >/dev/null || say "$PMIX"
}

packages() { while IFS='|' read -r _ package _; do printf '%s ' "$package"; done; }
tell() { while IFS='|' read -r _ package purpose; do say "  $package: $purpose"; done; }

# shellcheck disable=SC1091
distribution() { (. /etc/os-release && say "$ID"); }

# Debian calls it non-free, Ubuntu multiverse.
component() { if [ "$1" = ubuntu ]; then say multiverse; else say non-free; fi; }

# The machine's own source of main, once more with another component. Reads deb822 (.sources) and one-line (.list)
# files; which of them is the distribution's own is what apt makes of them.
non_free_source() {
    local id entries file uri release
    id=$(distribution)
    entries=$(apt-get indextargets --format '$(SOURCESENTRY)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)' \
        'Created-By: Packages' | grep -iE "\|[a-z]+\|main\|$id\$") || return 1
    IFS='|' read -r file uri release _ <<<"$entries"
    case $file in
        *.sources:*) deb822_source "${file%:*}" "${uri%/}" "$release" "$(component "$id")" ;;
        *) sed -n "${file##*:}s/\($release\) .*/\1 $(component "$id")/p" "${file%:*}" ;;
    esac
}

# The paragraph of file $1 with address $2 and suite $3, with component $4 alone.
deb822_source() {
    awk -v RS= -v uri="$2" -v suite="$3" -v component="$4" '
        function holds(field, word,   lines, i, j, n, words) {
            n = split($0, lines, "\n")
            for (i = 1; i <= n; i++) if (lines[i] ~ "^" field ":")
                for (j = split(lines[i], words, " "); j > 1; j--) { sub("/$", "", words[j]); if (words[j] == word) return 1 }
            return 0
        }
        holds("URIs", uri) && holds("Suites", suite) && holds("Components", "main") {
            gsub(/(^|\n)#[^\n]*/, ""); sub(/(^|\n)URIs:[^\n]*/, "\nURIs: " uri); sub(/\nSuites:[^\n]*/, "\nSuites: " suite)
            sub(/\nComponents:[^\n]*/, "\nComponents: " component); sub(/^\n/, ""); print; exit
        }' "$1"
}

# Adds the component to the apt sources; removes it again if apt cannot read it.
add_non_free() {
    local source file=/etc/apt/sources.list.d/labkit-non-free
    source=$(non_free_source) && [ -n "$source" ] || { say "labkit found no apt source of this distribution to add non-free to."; return 0; }
    case $source in deb*) file=$file.list ;; *) file=$file.sources ;; esac
    say "Adding the apt component of netperf and iozone3 (non-free software) in $file. Remove that file to undo this; set NONFREE=no to prevent it."
    say "$source" >"$file"
    apt update || { rm -f "$file"; say "apt could not read that component. It is removed again."; apt update || true; }
}

# Installs the packages that this distribution has; one by one if they conflict.
install() {
    local known=()
    for package in "$@"; do
        if can_be_had "$package"; then known+=("$package"); fi
    done
    [ "${#known[@]}" != 0 ] || return 0
    say "Installing with apt: ${known[*]}"
    apt install -y --no-install-recommends "${known[@]}" && return
    for package in "${known[@]}"; do
        apt install -y --no-install-recommends "$package" || say "apt could not install $package."
    done
}

install_missing() {
    local free nonfree
    free=$(all_missing | packages) nonfree=$(missing "${NOT_FREE[@]}" | packages)
    # Ubuntu's chromium is a snap, which needs a running snapd and cannot read below hidden folders
    if [ "$(distribution)" = ubuntu ]; then free=${free/chromium/}; fi
    say "Some system packages are missing. You are root: labkit installs them with apt (set APT=no to prevent this):"
    all_missing | tell
    missing "${NOT_FREE[@]}" | tell
    apt update || say "apt could not read all of its sources. Set-up continues with the packages that apt knows."
    # shellcheck disable=SC2086
    install $free
    [ -n "$nonfree" ] && [ "${NONFREE:-yes}" != no ] || return 0
    # shellcheck disable=SC2086
    can_be_had $nonfree || add_non_free
    # shellcheck disable=SC2086
    install $nonfree
}

# Lists what is still missing and how to install it; prints nothing if all is there.
report() {
    local left outside
    left=$(all_missing) outside=$(missing "${NOT_FREE[@]}")
    [ -n "$left$outside" ] || return 0
    say "Not installed, and what needs it:"
    [ -n "$left" ] && tell <<<"$left"
    [ -n "$outside" ] && tell <<<"$outside"
    if ! have apt-get; then
        say "This system has no apt. Install these with your package manager (names may differ), or use: conda env create -f environment.yml"
    elif ! may_install; then
        [ -n "$left" ] && say "To install them: sudo apt-get install $(packages <<<"$left")"
        [ -n "$outside" ] && say "Add the component $(component "$(distribution)") to the apt sources before you install these: $(packages <<<"$outside")"
    fi
    if grep -q chromium <<<"$left"; then say "To install Chrome without root: .venv/bin/choreo_get_chrome"; fi
    say "Everything else works. labkit names the missing package when a command needs it."
}

main() {
    if [ -n "$(all_missing)$(missing "${NOT_FREE[@]}")" ] && may_install; then install_missing; fi
    report
}

case ${1:-} in
    "") TESTS='' main ;;
    test) TESTS=yes main ;;
    non-free-source) non_free_source ;;
    *) say "system.sh: there is no '$1'. Write: system.sh, system.sh test, or system.sh non-free-source." >&2; exit 1 ;;
esac
