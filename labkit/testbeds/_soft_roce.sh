#!/bin/sh
# Two soft-RoCE devices, rxe0 on v0 (10.77.0.1) and rxe1 on v1 (10.77.1.1), at the two ends of one virtual cable.
#   _soft_roce.sh up MTU        makes them; what it cannot do it says, and ends with an error
#   _soft_roce.sh down          takes them away and gives the routes back
# rdma_rxe sends and looks up routes in the first network namespace only, so both ends stay there; rules make traffic
# to the other address leave by the cable, where the kernel would hand it over at once.
set -eu
up() {
    modprobe -a veth rdma_rxe ib_uverbs rdma_ucm
    ip link set lo up
    ip link add v0 address 02:00:00:00:00:10 mtu "$1" type veth peer name v1 address 02:00:00:00:00:11 mtu "$1"
    for one in all v0 v1; do
        sysctl -qw "net.ipv4.conf.$one.rp_filter=0" "net.ipv4.conf.$one.accept_local=1" \
            "net.ipv4.conf.$one.arp_ignore=1" "net.ipv4.conf.$one.arp_announce=2"
    done
    sysctl -qw net.ipv6.conf.v0.accept_dad=0 net.ipv6.conf.v1.accept_dad=0
    ip link set v0 up
    ip link set v1 up
    ip addr add 10.77.0.1/24 dev v0
    ip addr add 10.77.1.1/24 dev v1
    ip neigh replace 10.77.1.1 lladdr 02:00:00:00:00:11 dev v0 nud permanent
    ip neigh replace 10.77.0.1 lladdr 02:00:00:00:00:10 dev v1 nud permanent
    # what is sent from here goes by the cable, what arrives still finds the table "local"
    ip rule add pref 100 lookup local
    ip rule add pref 10 iif lo to 10.77.1.1 lookup 1001
    ip rule add pref 11 iif lo to 10.77.0.1 lookup 1002
    # rdma_cm looks up with the outgoing interface and no incoming one
    ip rule add pref 12 oif v0 to 10.77.1.1 lookup 1001
    ip rule add pref 13 oif v1 to 10.77.0.1 lookup 1002
    ip route add 10.77.1.1 dev v0 src 10.77.0.1 table 1001
    ip route add 10.77.0.1 dev v1 src 10.77.1.1 table 1002
    ip rule del pref 0 lookup local
    rdma link add rxe0 type rxe netdev v0
    rdma link add rxe1 type rxe netdev v1
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        [ "$(cat /sys/class/infiniband/rxe?/ports/1/state 2>/dev/null | grep -c ACTIVE)" = 2 ] && return 0
        sleep 0.2
    done
    echo "the devices rxe0 and rxe1 did not become active" >&2
    return 1
}
down() {
    set +e
    ip rule add pref 0 lookup local 2>/dev/null
    for pref in 10 11 12 13 100; do ip rule del pref "$pref" 2>/dev/null; done
    ip route flush table 1001 2>/dev/null
    ip route flush table 1002 2>/dev/null
    rdma link del rxe0 2>/dev/null
    rdma link del rxe1 2>/dev/null
    ip link del v0 2>/dev/null
    return 0
}
"$@"
