"""What the guards must catch: calls outward from a worker process, and past Python's sockets."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import socket
import struct
import sys

OUTSIDE = "192.0.2.1"  # reserved for documentation; nobody answers there


def from_python() -> None:
    with contextlib.suppress(OSError), socket.socket() as s:
        s.settimeout(1)
        s.connect((OUTSIDE, 9))
    with contextlib.suppress(OSError):
        socket.getaddrinfo("name.invalid", 80)
    with contextlib.suppress(OSError), socket.socket() as s:
        s.bind(("", 0))
    with contextlib.suppress(OSError), socket.socket(type=socket.SOCK_DGRAM) as s:
        s.sendto(b"", (OUTSIDE, 9))
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))


def from_compiled_code() -> None:
    """A UDP connect by the C library; it sends nothing, and no audit event tells of it."""
    libc = ctypes.CDLL(None)
    address = struct.pack("=HH4s8x", socket.AF_INET, 9, socket.inet_aton(OUTSIDE))
    libc.connect(libc.socket(socket.AF_INET, socket.SOCK_DGRAM, 0), address, len(address))


if __name__ == "__main__":
    worker = multiprocessing.get_context("spawn").Process(target=from_python)
    worker.start()
    worker.join()
    assert worker.exitcode == 0
    if sys.argv[1] == "1":
        from_compiled_code()
