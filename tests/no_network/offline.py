"""Run ``python offline.py NAMESPACED FILE``: a script, then how many packets had nowhere to go.

With NAMESPACED = 1 the process stands in an empty network namespace. Its loopback is switched on
first, for Dask; at the end the kernel says how often anything in the namespace, compiled code too,
tried an address outside.
"""

from __future__ import annotations

import fcntl
import runpy
import socket
import struct
import sys
from pathlib import Path

SIOCSIFFLAGS = 0x8914
IFF_UP = 1


def loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def unroutable() -> int:
    """Attempts to leave the namespace so far, over IPv4 and IPv6."""
    names, values = [
        line.split()
        for line in Path("/proc/net/snmp").read_text().splitlines()
        if line.startswith("Ip: ")
    ]
    total = int(values[names.index("OutNoRoutes")])
    if (six := Path("/proc/net/snmp6")).exists():
        counts = dict(line.split() for line in six.read_text().splitlines())
        total += int(counts["Ip6OutNoRoutes"])
    return total


if __name__ == "__main__":
    namespaced, script = sys.argv[1] == "1", sys.argv[2]
    if namespaced:
        loopback_up()
    runpy.run_path(script, run_name="__main__")
    print(f"unroutable: {unroutable() if namespaced else 'not counted'}")
