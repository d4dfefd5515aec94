#!/usr/bin/env bash
# Installs missing system packages with apt if run as root; else lists them and what does not work without them.
#   system.sh                  what the suite quick and its report need
#   system.sh all              what every benchmark and testbed needs, except PyTorch
#   system.sh test             also what only the tests need: Slurm, a second MPI, PyTorch
#   system.sh non-free-source  prints the source that NONFREE=yes adds for netperf and iozone3
# APT=no only looks. NONFREE=yes with all or test also installs netperf and iozone3, which are not free software.
set -euo pipefail

MACHINE=$(uname -m)
case $MACHINE in
    aarch64) QEMU=qemu-system-arm IMAGE=linux-image-arm64 ;;
    *) QEMU=qemu-system-x86 IMAGE=linux-image-amd64 ;;
esac
# any of these commands | Debian package | what needs it
QUICK=(
    "cc gcc|gcc libc6-dev|C kernels; without them, mpi4py loops measure latency, bandwidth, allreduce and bcast"
    "mpirun mpiexec|openmpi-bin|everything with MPI"
    "fio|fio|storage.read, storage.write, storage.mixed and sockets.unix_rr"
    "iperf3|iperf3|streams of TCP and UDP"
    "sockperf|sockperf|round trips of TCP and UDP, sockets.under_load"
    "qperf|qperf|round trips of messages below 14 B; replaces perftest if that is missing"
    "chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable chrome|chromium-headless-shell|static figures, which the PDF needs"
)
MEASURING=(
    "nbdkit|nbdkit|storage.network_read and storage.network_write"
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
    "smpirun|libsimgrid-dev|the testbed simulated"
    "qemu-system-$MACHINE|$QEMU|the guest of the testbed soft-roce (RDMA without an RDMA adapter)"
    "busybox|busybox-static|the guest of soft-roce"
    "cpio|cpio|the guest of soft-roce"
    "modprobe /usr/sbin/modprobe|kmod|the guest of soft-roce"
    "sysctl /usr/sbin/sysctl|procps|the guest of soft-roce"
    "mkfs.ext4 /usr/sbin/mkfs.ext4|e2fsprogs|the testbeds file-system:ext4 and file-system:fuse2fs"
    "mkfs.xfs /usr/sbin/mkfs.xfs|xfsprogs|the testbed file-system:xfs"
    "mkfs.btrfs /usr/sbin/mkfs.btrfs|btrfs-progs|the testbed file-system:btrfs"
    "fuse2fs|fuse2fs|the testbed file-system:fuse2fs"
)
TESTING=(
    "chromium chromium-browser google-chrome google-chrome-stable chrome|chromium|the tests that open pages in a browser"
    "pdftotext|poppler-utils|the tests that read the PDF"
    "strace|strace|only the test that counts file system calls of a rank"
    "slurmctld /usr/sbin/slurmctld|slurmctld|the testbed slurm, and the tests that use it"
    "slurmd /usr/sbin/slurmd|slurmd slurm-wlm-basic-plugins|the testbed slurm"
    "sbatch|slurm-client|the testbed slurm"
    "munged /usr/sbin/munged|munge|the testbed slurm"
    "modulecmd|environment-modules|the test of a job that loads a module"
    "mpiexec.mpich mpiexec.hydra|mpich|a second MPI to compare with, and the tests of path mismatch"
)
NOT_FREE=(
    "netperf|netperf|sockets.*; without it, iperf3 measures streams, sockperf or qperf round trips"
    "iozone|iozone3|storage.iozone and storage.iozone_throughput"
)
CODES="|liberasurecode1 libisal2 libjerasure2|storage.encode and storage.decode"
GRPC="|g++ libgrpc++-dev libprotobuf-dev protobuf-compiler|rpc.* with gRPC"
THRIFT="|g++ libthrift-dev libboost-dev libevent-dev thrift-compiler|rpc.* with Apache Thrift"
COARRAYS="|gfortran libcoarrays-openmpi-dev|pgas.coarray_put and pgas.coarray_get"
PYVERBS="|python3-pyverbs|RDMA loops that keep every iteration; without them, perftest measures"
KERNEL="|$IMAGE|the kernel of the soft-roce guest; does not replace the running kernel"
RPC="|python3-grpcio python3-protobuf python3-thrift|rpc.* with language=python"
TORCH="|python3-torch|learning.*: 240 MB to download, 1 GB installed"
PMIX="|libpmix-dev|the Slurm tests with srun: Slurm's plugin loads libpmix.so, which is in no other package"
FONTS="|fonts-liberation|the fonts of static figures; other fonts replace them"
PYTHON="|python3 python3-venv|labkit itself"
VENV="|python3-venv|Python environments if uv is missing"

say() { printf '%s\n' "$*"; }
have() { for name in $1; do command -v "$name" >/dev/null 2>&1 && return 0; done; return 1; }
found() { for pattern in "$@"; do compgen -G "$pattern" >/dev/null && return 0; done; return 1; }
python_has() { python3 -c "import $1" 2>/dev/null; }

# apt says little, unless it fails.
apt() {
    local log
    log=$(DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
        -o APT::Keep-Downloaded-Packages=false "$@" 2>&1) && return
    tail -n 5 <<<"$log" >&2
    return 1
}
# Whether apt knows all of the packages.
can_be_had() { for one in "$@"; do [[ $(apt-cache policy "$one") =~ Candidate:\ [^\(] ]] || return 1; done; }
may_install() { [ "${APT:-yes}" != no ] && [ "$(id -u)" = 0 ] && have apt-get; }

# Prints the rows whose command is missing.
missing() {
    for row in "$@"; do have "${row%%|*}" || say "$row"; done
}

# Rows of this run's groups that are missing.
all_missing() {
    if ! have "uv $HOME/.local/bin/uv .venv-uv/bin/uv .venv/bin/python"; then
        if ! have python3; then say "$PYTHON"; else python_has "ensurepip, venv" || say "$VENV"; fi
    fi
    missing "${QUICK[@]}"
    found '/usr/share/fonts/truetype/liberation*/*' || fc-list 2>/dev/null | grep -q Liberation || say "$FONTS"
    [ "$LEVEL" != quick ] || return 0
    missing "${MEASURING[@]}"
    found '/usr/lib*/*-linux-gnu/liberasurecode.so.1' '/usr/lib*/liberasurecode.so.1' || say "$CODES"
    { have protoc && have c++ && found /usr/include/grpcpp/grpcpp.h; } || say "$GRPC"
    { have thrift && have c++ && found /usr/include/thrift/Thrift.h && found /usr/include/boost/version.hpp; } || say "$THRIFT"
    { have gfortran && found '/usr/lib*/*-linux-gnu/libcaf_openmpi.so'; } || say "$COARRAYS"
    found '/usr/lib*/python3*/*-packages/pyverbs/__init__.py' || say "$PYVERBS"
    found '/lib/modules/*/kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko*' || say "$KERNEL"
    { found '/usr/lib*/python3*/*-packages/grpc/__init__.py' && found '/usr/lib*/python3*/*-packages/thrift/__init__.py'; } \
        || python_has "google.protobuf, grpc, thrift" || say "$RPC"
    [ "$LEVEL" != all ] || return 0
    missing "${TESTING[@]}"
    found '/usr/lib*/python3*/*-packages/torch/__init__.py' || python_has torch || say "$TORCH"
    found '/usr/lib*/*-linux-gnu/libpmix.so' || say "$PMIX"
}
not_free_missing() { [ "$LEVEL" = quick ] || missing "${NOT_FREE[@]}"; }

# The packages of rows, each once.
packages() { while IFS='|' read -r _ package _; do printf '%s\n' $package; done | awk '!seen[$0]++' | tr '\n' ' '; }
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
    say "Adding the apt component of netperf and iozone3 (non-free software) in $file. Remove that file to undo this."
    say "$source" >"$file"
    apt update || { rm -f "$file"; say "apt could not read that component. It is removed again."; apt update || true; }
}

# What apt would install for some packages: their number, MB to download, MB on disk.
cost() {
    local names
    names=$(LC_ALL=C apt-get -s install --no-install-recommends "$@" 2>/dev/null | awk '$1 == "Inst" { print $2 }')
    # shellcheck disable=SC2086
    apt-cache show --no-all-versions $names 2>/dev/null | awk -v count="$(wc -w <<<"$names")" '
        $1 == "Size:" { size += $2 / 1e6 } $1 == "Installed-Size:" { disk += $2 / 1e3 }
        END { printf "%d %d %d\n", count, size, disk }'
}

# Says what the packages cost, and what the browser alone adds to them.
tell_cost() {
    local browser count size disk others fetched kept
    read -r count size disk <<<"$(cost "$@")"
    say "System packages, with those that they need: $count ($size MB to download, $disk MB on disk)."
    for browser in "$@"; do
        case $browser in
            chromium*)
                read -r others fetched kept <<<"$(cost $(printf '%s\n' "$@" | grep -vx "$browser"))"
                say "Of these, $((count - others)) are for $browser alone ($((size - fetched)) MB to download, $((disk - kept)) MB on disk)." ;;
        esac
    done
    [ -e .venv/.packages ] || say "Then about 0.7 GB of Python packages go to .venv."
}

ETC=/etc POLICY=/usr/sbin/policy-rc.d KEPT=/usr/sbin/policy-rc.d.before-labkit
# Names of the services that are here, and of those that start with the machine.
services() { find $ETC/init.d $ETC/systemd/system /lib/systemd/system /usr/lib/systemd/system -printf '%f\n' 2>/dev/null | sed 's/\.service$//' | sort -u; }
enabled() {
    {
        find $ETC/systemd/system -type l \( -path '*.wants/*' -o -path '*.requires/*' \) -printf '%f\n'
        find $ETC/rc[2-5].d -name 'S[0-9][0-9]*' -printf '%f\n' | sed 's/^S[0-9][0-9]//'
    } 2>/dev/null | sed 's/\.service$//' | sort -u
}

# Until allow_services, a package that is installed starts no service. Those that were here before obey the policy of before.
hold_services() {
    allow_services
    trap allow_services EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    if [ -e $POLICY ]; then mv $POLICY $KEPT; fi
    {
        say "#!/bin/sh"
        say "# made by labkit's set-up, which removes it when apt has finished"
        say "[ \"\$1\" != --quiet ] || shift"
        say "case ' $(services | tr '\n' ' ')' in *\" \${1%.service} \"*) [ ! -x $KEPT ] || exec $KEPT \"\$@\"; exit 0 ;; esac"
        say "exit 101"
    } >$POLICY
    chmod 755 $POLICY
}
allow_services() {
    if grep -qs "made by labkit's set-up" $POLICY; then rm -f $POLICY; fi
    if [ -e $KEPT ]; then mv $KEPT $POLICY; fi
}

# Disables the services that packages enabled since the list $1, unless the system itself is made of these packages.
disable_new() {
    local unit priority off=()
    for unit in $(enabled | comm -13 "$1" -); do
        priority=$(dpkg-query -W -f '${Priority} ' $(dpkg -S "/etc/init.d/$unit" "/lib/systemd/system/$unit"{,.service} \
            "/usr/lib/systemd/system/$unit"{,.service} 2>/dev/null | sed 's/:.*//' | sort -u) 2>/dev/null || true)
        case $priority in *required* | *important* | *standard*) continue ;; esac
        find $ETC/systemd/system -type l \( -name "$unit" -o -name "$unit.service" -o -lname "*/$unit.service" \) -delete
        if [ -e "$ETC/init.d/$unit" ]; then update-rc.d "$unit" disable >/dev/null 2>&1 || true; fi
        off+=("$unit")
    done
    [ "${#off[@]}" = 0 ] || say "Installed, but neither started nor enabled: ${off[*]}. labkit starts servers of its own when it measures."
}

# Installs packages; one by one if they conflict.
install() {
    [ $# != 0 ] || return 0
    say "Installing with apt: $*"
    apt install -y --no-install-recommends "$@" && return
    for package in "$@"; do
        apt install -y --no-install-recommends "$package" || say "apt could not install $package."
    done
}

# Those of the packages that this distribution has.
known() {
    for package in "$@"; do
        # Ubuntu's chromium is a snap, which needs a running snapd and cannot read below hidden folders
        [ "$package" != chromium ] || [ "$(distribution)" != ubuntu ] || continue
        if can_be_had "$package"; then printf '%s ' "$package"; fi
    done
}

install_missing() {
    local rows free nonfree='' before
    rows=$(all_missing)
    if wants_not_free; then nonfree=$(not_free_missing | packages); fi
    [ -n "$rows$nonfree" ] || return 0
    say "Some system packages are missing. You are root: labkit installs them with apt (set APT=no to prevent this):"
    [ -z "$rows" ] || tell <<<"$rows"
    [ -z "$nonfree" ] || not_free_missing | tell
    apt update || say "apt could not read all of its sources. Set-up continues with the packages that apt knows."
    # shellcheck disable=SC2046,SC2086
    free=$(known $([ -z "$rows" ] || packages <<<"$rows"))
    # shellcheck disable=SC2086
    [ -z "$free" ] || tell_cost $free
    before=$(mktemp)
    enabled >"$before"
    hold_services
    # shellcheck disable=SC2086
    install $free
    if [ -n "$nonfree" ]; then
        # shellcheck disable=SC2086
        can_be_had $nonfree || add_non_free
        # shellcheck disable=SC2046,SC2086
        install $(known $nonfree)
    fi
    allow_services
    disable_new "$before"
    rm -f "$before"
}

# Lists what is still missing and how to install it; prints nothing if all is there.
report() {
    local left outside
    left=$(all_missing) outside=$(not_free_missing)
    if [ -n "$left" ]; then
        say "Not installed, and what needs it:"
        tell <<<"$left"
        if ! have apt-get; then
            say "This system has no apt. Install these with your package manager (names may differ), or use: conda env create -f environment.yml"
        elif ! may_install; then
            say "To install them: sudo apt-get install --no-install-recommends $(packages <<<"$left")"
        fi
        if grep -q '|openmpi-bin|' <<<"$left"; then say "Without root: make mpich installs an MPI library into .venv."; fi
        if grep -q '|chromium-headless-shell|' <<<"$left"; then say "Without root, after set-up: .venv/bin/choreo_get_chrome downloads Chrome. It needs libraries of a desktop, such as libnss3."; fi
    fi
    if [ -n "$outside" ]; then
        if may_install && wants_not_free; then say "Not free software, and apt does not have it here:"
        else say "Not free software, which root installs with NONFREE=yes make $GOAL:"; fi
        tell <<<"$outside"
    fi
}
wants_not_free() { [ "${NONFREE:-no}" = yes ]; }

main() {
    LEVEL=$1 GOAL=$2
    if may_install; then install_missing; fi
    report
}

case ${1:-} in
    "") main quick setup ;;
    all) main all setup-all ;;
    test) main test testing ;;
    non-free-source) non_free_source ;;
    *) say "system.sh: there is no '$1'. Write: system.sh, system.sh all, system.sh test, or system.sh non-free-source." >&2; exit 1 ;;
esac
