"""The one endpoint of an isolated agent: it is reached as from outside, by name or address, and nothing else is."""

from __future__ import annotations

import json
import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from colbench.errors import UserError
from colbench.sandbox.agent import AgentSandbox, Endpoint, Hidden, read_endpoint

NOTHING = Hidden(places=(), checkouts=())
CLIENT = """
import http.client, json, socket, sys, urllib.request
url, others = sys.argv[1], json.loads(sys.argv[2])
body = bytes(range(256)) * 20_000
print(urllib.request.urlopen(urllib.request.Request(url, body)).read() == body[::-1])
for host, port in others:
    try:
        socket.create_connection((host, port), timeout=5).close()
        print(host, port)
    except OSError:
        pass
"""


class Mirror(BaseHTTPRequestHandler):
    """A handler that sends back what it receives, reversed."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body[::-1])

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def own_address() -> str:
    """Return an address of this machine other than the loopback address, if it has one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            any_socket.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return any_socket.getsockname()[0]


class Server6(ThreadingHTTPServer):
    address_family = socket.AF_INET6


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "machine"])
def test_only_the_endpoint_is_reached(run, tmp_path, host):
    """Use an address other than loopback for `machine`, if this machine has one."""
    host = own_address() if host == "machine" else host
    with (
        Server6(("::", 0), Mirror) as server,
        socket.create_server(("::", 0), family=socket.AF_INET6) as other,
    ):
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://{host}:{server.server_port}/v1/chat"
        endpoint = read_endpoint(url)
        others = [(endpoint.host, other.getsockname()[1]), ("127.0.0.2", server.server_port)]
        command = [sys.executable, "-I", "-c", CLIENT, url, json.dumps(others)]
        box = AgentSandbox(command, hidden=NOTHING, endpoint=endpoint)
        assert run(command, tmp_path, box).splitlines() == ["True"]
        server.shutdown()


def test_many_connections_at_once_are_forwarded(run, tmp_path):
    client = """
import sys, urllib.request
from concurrent.futures import ThreadPoolExecutor
ask = lambda n: urllib.request.urlopen(sys.argv[1], str(n).encode()).read()[::-1].decode()
print(*ThreadPoolExecutor(50).map(ask, range(400)))
"""
    with Server6(("::", 0), Mirror) as server:
        server.socket.listen(200)
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        command = [sys.executable, "-I", "-c", client, url]
        box = AgentSandbox(command, hidden=NOTHING, endpoint=read_endpoint(url))
        assert run(command, tmp_path, box).split() == [str(n) for n in range(400)]
        server.shutdown()


@pytest.mark.parametrize(
    ("host", "port", "at"),
    [
        ("api.example.com", 443, "127.0.0.1"),
        ("192.0.2.7", 80, "192.0.2.7"),
        ("fd00::7", 80, "fd00::7"),
    ],
)
def test_a_host_name_resolves_to_loopback_and_an_address_is_kept(run, tmp_path, host, port, at):
    code = f"import socket; print(socket.create_connection(({host!r}, {port})).getpeername()[0])"
    command = [sys.executable, "-I", "-c", code]
    box = AgentSandbox(command, hidden=NOTHING, endpoint=Endpoint(host, port))
    assert run(command, tmp_path, box).strip() == at


def test_an_unreachable_endpoint_closes_the_connection(run, tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        code = f"import socket; print(socket.create_connection(('127.0.0.1', {port})).recv(9))"
        command = [sys.executable, "-I", "-c", code]
        box = AgentSandbox(command, hidden=NOTHING, endpoint=Endpoint("127.0.0.1", port))
        assert run(command, tmp_path, box) == "b''\n"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("127.0.0.1:8000", "127.0.0.1:8000"),
        ("http://model:8000/v1", "model:8000"),
        ("http://model", "model:80"),
        ("https://key@api.example.com/v1?x=1", "api.example.com:443"),
        ("[::1]:80", "[::1]:80"),
    ],
)
def test_an_endpoint_is_read_from_an_address_or_a_url(text, read):
    assert str(read_endpoint(text)) == read


@pytest.mark.parametrize(
    "text", ["", "model", "model:x", "model:99999", "a b:1", "unix:/a", "http://model:0"]
)
def test_an_invalid_endpoint_is_refused(text):
    with pytest.raises(UserError, match="--agent-endpoint"):
        read_endpoint(text)
