#!/bin/sh
# Run a command on a memory disk of the guest: on the disk itself, or through NVMe over Fabrics across the cable.
#   _nvme.sh local|tcp|rdma KiB COMMAND...      the command gets --filename=DEVICE; its latency log follows its output
# The kernel is target (on v1) and host (on v0). Nothing of it is left afterwards.
set -eu
[ -e /run/agent.py ] || { echo "NVMe over Fabrics is set up in the guest of the testbed soft-roce only" >&2; exit 1; }
fabric=$1 size=$2 name=nqn.2026-01.labkit:memory; shift 2
nvmet=/sys/kernel/config/nvmet folder=$(mktemp -d)
clear() {
    set +e
    cd /
    for one in /sys/class/nvme/nvme*; do
        [ "$(cat "$one/subsysnqn" 2>/dev/null)" = "$name" ] && echo 1 >"$one/delete_controller"
    done
    if [ -d "$nvmet/subsystems/$name" ]; then
        rm -f "$nvmet/ports/1/subsystems/$name"
        rmdir "$nvmet/ports/1"
        echo 0 >"$nvmet/subsystems/$name/namespaces/1/enable"
        rmdir "$nvmet/subsystems/$name/namespaces/1" "$nvmet/subsystems/$name"
    fi
    modprobe -r brd
    rm -rf "$folder"
} 2>/dev/null
trap clear EXIT
trap 'exit 143' TERM INT HUP
modprobe brd rd_nr=1 rd_size="$size"
dd if=/dev/zero of=/dev/ram0 bs=64k count=$((size / 64)) 2>/dev/null # a block that was never written costs nothing
device=/dev/ram0
if [ "$fabric" != local ]; then
    for module in configfs nvmet "nvmet-$fabric" "nvme-$fabric"; do modprobe "$module"; done
    [ -d "$nvmet" ] || mount -t configfs none /sys/kernel/config
    mkdir "$nvmet/subsystems/$name" "$nvmet/subsystems/$name/namespaces/1" "$nvmet/ports/1"
    echo 1 >"$nvmet/subsystems/$name/attr_allow_any_host"
    printf %s /dev/ram0 >"$nvmet/subsystems/$name/namespaces/1/device_path"
    echo 1 >"$nvmet/subsystems/$name/namespaces/1/enable"
    cd "$nvmet/ports/1"
    echo ipv4 >addr_adrfam
    echo "$fabric" >addr_trtype
    echo 10.77.1.1 >addr_traddr
    echo 4420 >addr_trsvcid
    ln -s "$nvmet/subsystems/$name" "subsystems/$name"
    way="transport=$fabric,traddr=10.77.1.1,trsvcid=4420,host_traddr=10.77.0.1,nqn=$name,nr_io_queues=1"
    echo "$way" >/dev/nvme-fabrics
    device=
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        for one in /dev/nvme*n1; do [ -b "$one" ] && device=$one; done
        [ "$device" ] && break
        sleep 0.5
    done
    [ "$device" ] || { echo "no device came up over $fabric" >&2; exit 1; }
fi
cd "$folder"
"$@" "--filename=$device"
echo "== log =="
cat ./*_lat.1.log
