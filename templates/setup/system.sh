#!/usr/bin/env bash
# System packages that labkit can use: installs what is missing with apt where it may, else says what is left out.
#   system.sh                  what `make setup` calls; APT=no only looks, NONFREE=no never adds a component
#   system.sh non-free-source  prints the source it would add for netperf and iozone3
set -euo pipefail

MACHINE=$(uname -m)
case $MACHINE in
    aarch64) QEMU=qemu-system-arm IMAGE=linux-image-arm64 ;;
    *) QEMU=qemu-system-x86 IMAGE=linux-image-amd64 ;;
esac
# any of these commands | Debian package | what cannot be done without it
WANTED=(
    "cc gcc|gcc libc6-dev|compiled kernels; mpi4py loops stand in for latency, bandwidth, allreduce and bcast"
    "mpirun mpiexec|openmpi-bin|everything with MPI"
    "fio|fio|storage.read, storage.write and sockets.unix_rr"
    "iperf3|iperf3|sockets.tcp_bidirectional, UDP at a rate, several streams; the stand-in for netperf's streams"
    "sockperf|sockperf|sockets.under_load; the stand-in for netperf's round trips"
    "qperf|qperf|the second stand-in for netperf, and one for perftest"
    "iperf|iperf|both ways over one TCP connection, and bounce-back"
    "NPtcp|netpipe-tcp|sockets.netpipe"
    "fi_pingpong|libfabric-bin|sockets.fabric_pingpong"
    "ib_write_lat|perftest|measuring RDMA with perftest; the loops over pyverbs stand in"
    "ucx_perftest|ucx-utils|measuring UCX, the layer below MPI"
    "ibv_devinfo|rdma-core ibverbs-utils ibverbs-providers|everything with RDMA"
    "chromium chromium-browser google-chrome google-chrome-stable chrome|chromium|static figures, and with them the PDF"
    "pdftotext|poppler-utils|the tests that read the PDF"
    "numactl|numactl|binding tools to a NUMA node"
    "ip|iproute2|network namespaces, and facts about interfaces"
    "nsenter|util-linux|the testbed virtual-cluster"
    "git|git|the commit of labkit in every record"
    "qemu-system-$MACHINE|$QEMU|the guest of the testbed soft-roce: RDMA without an RDMA adapter"
    "busybox|busybox-static|that guest"
    "cpio|cpio|that guest"
    "modprobe /usr/sbin/modprobe|kmod|that guest"
    "faketime|faketime|the tests of clocks that jump; it is used at no other time"
    "slurmctld /usr/sbin/slurmctld|slurmctld|the tests that bring up Slurm on four virtual nodes; it runs at no other time"
    "slurmd /usr/sbin/slurmd|slurmd slurm-wlm-basic-plugins|those tests"
    "sbatch|slurm-client|those tests"
    "munged /usr/sbin/munged|munge|those tests"
    "modulecmd|environment-modules|the test of a job that loads a module"
    "mpiexec.mpich mpiexec.hydra|mpich|a second MPI to compare with, and the tests of a path that is not the one asked for"
)
NOT_FREE=(
    "netperf|netperf|netperf itself; iperf3 measures the streams over TCP and UDP, sockperf or qperf the round trips"
    "iozone|iozone3|storage.iozone; fio measures storage.read and storage.write"
)
PYVERBS="|python3-pyverbs|the loops over RDMA verbs that give every iteration; perftest stands in"
KERNEL="|$IMAGE|the kernel of that guest; the one that runs here stays as it is"
PMIX="|libpmix-dev|those tests with srun: Slurm's plugin loads libpmix.so, which no other package brings"
FONTS="|fonts-liberation|the fonts of static figures; others stand in"
VENV="|python3-venv|a Python environment without uv"

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

# Rows of its arguments whose command is not there.
missing() {
    for row in "$@"; do have "${row%%|*}" || say "$row"; done
}

all_missing() {
    missing "${WANTED[@]}"
    compgen -G '/usr/lib*/python3*/*-packages/pyverbs/__init__.py' >/dev/null || say "$PYVERBS"
    compgen -G '/lib/modules/*/kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko*' >/dev/null || say "$KERNEL"
    compgen -G '/usr/lib*/*-linux-gnu/libpmix.so' >/dev/null || say "$PMIX"
    compgen -G '/usr/share/fonts/truetype/liberation*/*' >/dev/null || fc-list 2>/dev/null | grep -q Liberation || say "$FONTS"
    have "uv $HOME/.local/bin/uv .venv-uv/bin/uv .venv/bin/python" || python3 -c 'import ensurepip, venv' 2>/dev/null || say "$VENV"
}

packages() { while IFS='|' read -r _ package _; do printf '%s ' "$package"; done; }
tell() { while IFS='|' read -r _ package purpose; do say "  ${package%% *}: $purpose"; done; }

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

# Adds the component for as long as it is needed to get the packages; takes it back where that fails.
add_non_free() {
    local source file=/etc/apt/sources.list.d/labkit-non-free
    source=$(non_free_source) && [ -n "$source" ] || { say "No source of this distribution was found to take non-free from."; return 0; }
    case $source in deb*) file=$file.list ;; *) file=$file.sources ;; esac
    say "Adding the component that netperf and iozone3 are in (not free software) as $file; remove it to undo, NONFREE=no to refuse."
    say "$source" >"$file"
    apt update || { rm -f "$file"; say "That component could not be read; it was taken away again."; apt update || true; }
}

# Installs those of the packages that this distribution has; each alone when they do not go together.
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
    say "Some system packages are missing; this user is root, so apt may install them (APT=no to refuse)."
    apt update || say "apt could not read all its sources; going on with what it knows."
    # shellcheck disable=SC2086
    install $free
    [ -n "$nonfree" ] && [ "${NONFREE:-yes}" != no ] || return 0
    # shellcheck disable=SC2086
    can_be_had $nonfree || add_non_free
    # shellcheck disable=SC2086
    install $nonfree
}

# What is still not there, with the way to get it; nothing when all is there.
report() {
    local left outside
    left=$(all_missing) outside=$(missing "${NOT_FREE[@]}")
    [ -n "$left$outside" ] || return 0
    say "Not installed, and what therefore is left out:"
    [ -n "$left" ] && tell <<<"$left"
    [ -n "$outside" ] && tell <<<"$outside"
    if ! have apt-get; then
        say "This system has no apt: install these by the names its own packages have, or use: conda env create -f environment.yml"
    elif ! may_install; then
        [ -n "$left" ] && say "To install it: sudo apt-get install $(packages <<<"$left")"
        [ -n "$outside" ] && say "These are in the component $(component "$(distribution)"), to be added to the apt sources first: $(packages <<<"$outside")"
    fi
    if grep -q chromium <<<"$left"; then say "A Chrome of its own, without root: .venv/bin/choreo_get_chrome"; fi
    say "Everything else works without; labkit says in each place what is missing."
}

main() {
    if [ -n "$(all_missing)$(missing "${NOT_FREE[@]}")" ] && may_install; then install_missing; fi
    report
}

case ${1:-} in
    "") main ;;
    non-free-source) non_free_source ;;
    *) say "system.sh: there is no '$1'. There are: non-free-source." >&2; exit 1 ;;
esac
