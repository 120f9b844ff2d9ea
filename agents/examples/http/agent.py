"""An agent for ColBench over HTTP, with only Python's standard library. It asks one question, then answers.

python agents/examples/http/agent.py 8000 &
colbench eval --agent http://127.0.0.1:8000 --limit 20
"""

import json
import re
from argparse import ArgumentParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

READY = {
    "type": "ready",
    "protocol": "colbench-agent/1",
    "name": "http-example",
    "version": "1",
    "concurrent": True,
}


def reply(messages: list[dict[str, str]]) -> str:
    """Return the agent's next message. Every request contains the whole dialogue, so no state is needed."""
    if len(messages) == 1:
        return "Which special cases or limits are there?"
    found = re.search(r"def\s+(\w+)", messages[0]["content"])
    name = found.group(1) if found else "answer"
    return f"I WANT TO ANSWER:\ndef {name}(*args):\n    return None"


class Handler(BaseHTTPRequestHandler):
    """A handler for the four requests of the protocol."""

    def do_GET(self) -> None:
        """Answer GET /v1/agent with the agent's description."""
        self.send(200, READY)

    def do_POST(self) -> None:
        """Answer POST /v1/episodes and POST /v1/episodes/ID/reply."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if body["type"] == "messages":
            said = reply(body["messages"])
            self.send(200, {"type": "reply", "episode": body["episode"], "content": said})
        else:
            self.send(201)

    def do_DELETE(self) -> None:
        """Answer DELETE /v1/episodes/ID; there is no state to delete."""
        self.send(204)

    def send(self, status: int, body: object = None) -> None:
        """Send a response."""
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


class Server(ThreadingHTTPServer):
    """A server with a thread for each request, and a queue for many simultaneous connections."""

    request_queue_size = 256


if __name__ == "__main__":
    options = ArgumentParser(description="An agent for ColBench over HTTP, on 127.0.0.1.")
    options.add_argument("port", type=int, nargs="?", default=8000, help="0: any free port")
    with Server(("127.0.0.1", options.parse_args().port), Handler) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()
