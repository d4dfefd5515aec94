"""What JupyterLab starts as the Explorer's kernel: hands its connection file to the kernel that waits, or becomes one.

    python -S attach.py FOLDER CONNECTION_FILE

It needs the standard library alone, and lives as long as the kernel; each ends with the other. After a restart no
kernel waits, and this process becomes the new one.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys


def main(folder: str, connection: str) -> None:
    """Attach, and wait for the kernel's end."""
    before = os.getcwd()  # noqa: PTH109
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as channel:
        os.chdir(folder)
        try:
            channel.connect("kernel")
        finally:
            os.chdir(before)
        channel.sendall(f"{connection}\n".encode())
        with contextlib.suppress(OSError):
            channel.recv(1)
        return
    os.execv(sys.executable, [sys.executable, "-m", "labkit.explorer.kernel", folder, connection])


if __name__ == "__main__":
    main(*sys.argv[1:3])
