#!/bin/sh
# Run a command on a host of a virtual cluster.
#   _virtual_host.sh PROCESS COMMAND...          on the host that this process holds
#   _virtual_host.sh [-options] NAME COMMAND...  what ssh would do, from another host of the same cluster
while :; do
    case $1 in
        -[lpioFbcDEeIJLmOQRSWw]) shift 2 ;;
        -*) shift ;;
        *) break ;;
    esac
done
host=$1
shift
case $host in
    *[!0-9]*)
        pid=$(sed -n "s/^[^#]*[[:space:]]$host[[:space:]]*# process \([0-9]*\)\$/\1/p" /etc/hosts)
        [ -n "$pid" ] || { echo "There is no host $host in this virtual cluster." >&2; exit 255; }
        set -- sh -c "$*"
        ;;
    *) pid=$host ;;
esac
[ /proc/self/ns/user -ef "/proc/$pid/ns/user" ] || user="--user --preserve-credentials"
# shellcheck disable=SC2086
exec nsenter --target "$pid" $user --net --uts --ipc --mount -- sh -c 'cd "$0" && exec "$@"' "$PWD" "$@"
