"""Run a command with the network cut: `python tests/offline.py COMMAND ...` inside `unshare --net`.

The new network namespace has nothing but its own loopback, which Jupyter needs; this brings it up, makes
sure that nothing else can be reached, and becomes the command.
"""

import fcntl
import os
import socket
import struct
import sys

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1  # linux/sockios.h, linux/if.h
ELSEWHERE = ("192.0.2.1", 9)  # RFC 5737: an address for documentation


def bring_up_loopback() -> None:
    """Set the flag IFF_UP of the interface `lo`."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh", b"lo", 0)
        (flags,) = struct.unpack_from("h", fcntl.ioctl(any_socket, SIOCGIFFLAGS, request), 16)
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | IFF_UP))


def network_is_cut() -> bool:
    """Whether the kernel knows no way to another machine. (UDP's connect sends nothing.)"""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            any_socket.connect(ELSEWHERE)
        except OSError:
            return True
    return False


if __name__ == "__main__":
    bring_up_loopback()
    if not network_is_cut():
        sys.exit("offline.py: the network is not cut; run it inside `unshare --net`")
    os.execvp(sys.argv[1], sys.argv[1:])
