"""Agents over HTTP; each keeps every rule except for the one fault that the first part of its path names."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event

READY = {"type": "ready", "protocol": "colbench-agent/1", "name": "unruly", "version": "7"}
FIELDS = {"start": {"type", "protocol", "episode"}, "messages": {"type", "episode", "messages"}}


OVER = Event()


class Begun:
    """The dialogues of one agent."""

    def __init__(self) -> None:
        self.open: set[str] = set()
        self.ever: set[str] = set()


BEGUN: defaultdict[str, Begun] = defaultdict(Begun)


class Handler(BaseHTTPRequestHandler):
    """A handler of the four requests of the protocol."""

    def do_GET(self) -> None:
        """Send the agent's description."""
        ready = {**READY, "concurrent": self.fault != "alone"}
        if self.fault == "is-never-the-same":
            ready["version"] = str(time.time_ns())
        if self.fault == "speaks-another-version":
            ready["protocol"] = "colbench-agent/2"
        if self.fault == "is-elsewhere":
            self.send(302)
        else:
            self.send(404 if self.fault == "has-no-such-page" else 200, ready)

    def do_POST(self) -> None:
        """Handle the start of a dialogue or a request for a reply."""
        length = int(self.headers["Content-Length"])
        body = json.loads(self.rfile.read(length))
        kind = body["type"]
        if self.fault == "takes-short-bodies" and length > 100_000:
            self.send(413)
        elif self.fault == "knows-all-fields" and body.keys() != FIELDS[kind]:
            self.send(422, {"detail": "Extra inputs are not permitted"})
        elif kind == "start":
            self.start(body["episode"]["id"])
        else:
            self.reply(body["episode"], len(body["messages"]))

    def start(self, episode: str) -> None:
        """Begin a dialogue."""
        if self.fault == "hangs-at-the-start":
            OVER.wait()
        taken = episode in self.begun.open or episode in self.begun.ever
        full = self.fault == "has-one-at-a-time" and self.begun.open - {episode}
        if full or (self.fault == "knows-ids-for-ever" and taken) or self.fault == "begins-nothing":
            self.send(409, {"detail": "conflict"})
            return
        self.begun.open.add(episode)
        self.begun.ever.add(episode)
        self.send(201)

    def reply(self, episode: str, messages: int) -> None:
        """Send the agent's next message."""
        said = "What else?" if messages == 1 else "I WANT TO ANSWER: x = 1"
        reply = {"type": "reply", "episode": episode, "content": said}
        if self.fault == "names-another":
            reply["episode"] = "another"
        if self.fault == "breaks-off":
            self.send(200, reply, more=10)
        elif self.fault == "hangs":
            OVER.wait()
        elif self.fault == "replies-in-chat-form":
            self.send(200, {"choices": [{"message": {"content": said}}]})
        else:
            self.send(500 if self.fault == "fails" else 200, reply)

    def do_DELETE(self) -> None:
        """End a dialogue."""
        self.begun.open.discard(self.path.rpartition("/")[2])
        if self.fault == "hangs-at-the-end":
            OVER.wait()
        self.send(204)

    @property
    def fault(self) -> str:
        """Return the fault of the requested agent."""
        return self.path.split("/")[1]

    @property
    def begun(self) -> Begun:
        """Return the dialogues of the requested agent."""
        return BEGUN[self.fault]

    def send(self, status: int, body: object = None, more: int = 0) -> None:
        """Send the response; with `more`, declare this many bytes more than are sent."""
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content) + more))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
