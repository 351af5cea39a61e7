"""Every Python process with this folder on PYTHONPATH notes and refuses all but loopback addresses.

Python imports ``sitecustomize`` before anything else, so worker processes are watched too. Whatever
library asks, a Python socket ends in one of these audit events; sockets of compiled code do not, for
them the kernel counts (see ``offline.py``).
"""

import ipaddress
import os
import socket
import sys

LOG = os.environ["PRIVGMM_NETWORK_LOG"]
WITH_SOCKET = {"socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"}
BY_NAME = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}


def loopback(host: object) -> bool:
    if host in (None, "localhost", b"localhost"):
        return True
    try:
        return ipaddress.ip_address(str(host)).is_loopback
    except ValueError:
        return False


def watch(event: str, arguments: tuple) -> None:
    if event in WITH_SOCKET:
        asked, address = arguments[0], arguments[-1]
        # A connected socket sends without an address, which was seen when it connected.
        if asked.family == socket.AF_UNIX or address is None or loopback(address[0]):
            return
    elif event not in BY_NAME or loopback(arguments[0]):
        return
    with open(LOG, "a", encoding="utf-8") as log:
        log.write(f"{event} {arguments[-1] if event in WITH_SOCKET else arguments[0]}\n")
    raise PermissionError(f"{event} is forbidden in this process")


sys.addaudithook(watch)
