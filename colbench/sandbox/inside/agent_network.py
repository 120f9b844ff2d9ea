"""The only way out of an agent's network: a socket that listens inside the sandbox and is served by a process outside.

The agent's network namespace has a loopback device and nothing else. A child of the outside process joins the
namespace, creates the socket there, and passes it to the outside process, which forwards every connection to the
endpoint. See setns(2), ioctl_ns(2), netdevice(7).
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
import time
from contextlib import suppress
from ipaddress import ip_address
from threading import BoundedSemaphore, Thread

from .system import setns

_MOST = 256
"""Maximum number of concurrent connections; further ones wait."""
_CONNECT_SECONDS = 30.0
_BIND_SECONDS = 5.0
_PAUSE_SECONDS = 0.1
"""Seconds to wait after a connection could not be accepted."""
_CHUNK = 65536
_OWNER = 0xB701
"""Number of the ioctl NS_GET_USERNS."""
_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_GET_FLAGS, _SET_ADDRESS, _UP, _LOOPBACK_INDEX = 0x8913, 0x8916, 1, 1


def listen(process: int, host: str, port: int) -> socket.socket:
    """Return a socket that listens at the endpoint's address in the network namespace of a process.

    If `host` is a name, the address is 127.0.0.1, to which the name resolves in the sandbox. If `host` is an IP
    address, it is first added to the loopback device, unless it is a loopback or wildcard address. Raises OSError if
    the kernel refuses, or if the process ends.
    """
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            _join(process)
            _await_loopback(process)
            listener = _listener(host, port)
            socket.send_fds(theirs, [b"ok"], [listener.fileno()])
        except OSError as error:
            theirs.send(str(error).encode())
        finally:
            os._exit(0)
    theirs.close()
    with ours:
        said, files, _flags, _address = socket.recv_fds(ours, 1024, 1)
    os.waitpid(child, 0)
    if not files:
        why = said.decode() or "the process that opens the socket ended"
        raise OSError(
            f"the sandbox cannot listen at the endpoint's address ({host}, port {port}): {why}"
        )
    return socket.socket(fileno=files[0])


def forward(door: socket.socket, host: str, port: int) -> None:
    """Serve the socket forever: forward each connection to the endpoint, byte for byte."""
    free = BoundedSemaphore(_MOST)
    while True:
        free.acquire()
        try:
            inner, _ = door.accept()
        except OSError:  # for example, too many open files
            free.release()
            time.sleep(_PAUSE_SECONDS)
            continue
        Thread(target=_serve, args=(inner, host, port, free), daemon=True).start()


def _serve(inner: socket.socket, host: str, port: int, free: BoundedSemaphore) -> None:
    try:
        with inner, socket.create_connection((host, port), timeout=_CONNECT_SECONDS) as outer:
            outer.settimeout(None)
            back = Thread(target=_pump, args=(outer, inner), daemon=True)
            back.start()
            _pump(inner, outer)
            back.join()
    except OSError:
        """The endpoint does not answer: the agent sees its connection closed."""
    finally:
        free.release()


def _pump(source: socket.socket, target: socket.socket) -> None:
    """Copy bytes until the source ends, then close the target for sending; after an error, shut down both sockets."""
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
        return
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def _join(process: int) -> None:
    network = os.open(f"/proc/{process}/ns/net", os.O_RDONLY)
    setns(fcntl.ioctl(network, _OWNER), _NEW_USER)
    setns(network, _NEW_NET)


def _await_loopback(process: int) -> None:
    """Wait until bubblewrap has set up the loopback device.

    Bubblewrap reports the ID of `process` earlier than that. Raises OSError if bubblewrap exits.
    """
    request = struct.pack("16s24x", b"lo")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        while not struct.unpack_from("16xh", fcntl.ioctl(any_socket, _GET_FLAGS, request))[0] & _UP:
            if not os.path.exists(f"/proc/{process}"):
                raise OSError("bubblewrap has exited")
            time.sleep(0.001)


def _listener(host: str, port: int) -> socket.socket:
    try:
        address = ip_address(host)
    except ValueError:
        address = ip_address("127.0.0.1")
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    listener = socket.socket(family, socket.SOCK_STREAM)
    if not (address.is_loopback or address.is_unspecified):
        if address.version == 4:
            request = struct.pack("16sH2x4s16x", b"lo:1", family, address.packed)
        else:
            request = struct.pack("16sIi", address.packed, 128, _LOOPBACK_INDEX)
        fcntl.ioctl(listener, _SET_ADDRESS, request)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    _bind(listener, str(address), port)
    listener.listen()
    return listener


def _bind(listener: socket.socket, address: str, port: int) -> None:
    """Bind the socket. If the kernel is still setting up a new IPv6 address, wait for the kernel.

    Raises OSError if the kernel refuses.
    """
    deadline = time.monotonic() + _BIND_SECONDS
    while True:
        try:
            return listener.bind((address, port))
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL or time.monotonic() > deadline:
                raise
        time.sleep(0.005)
