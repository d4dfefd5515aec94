#!/bin/sh
# First program of the guest: the host's root, read-only, below an overlay in memory; then `run` inside it.
mount -t proc proc /proc && mount -t sysfs sys /sys && mount -t devtmpfs dev /dev
for module in /modules/*.ko; do insmod "$module"; done
# nobody but the guest writes what it sees of the host, so it may keep what it has read
mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose,access=any hostroot /lower || exec poweroff -f
mount -t tmpfs memory /upper && mkdir /upper/data /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/data,workdir=/upper/work root /new
mount --move /dev /new/dev && mount --move /proc /new/proc && mount --move /sys /new/sys
mount -t tmpfs run /new/run
cp /run.sh /agent.py /new/run/
exec switch_root /new /bin/sh /run/run.sh
