#!/usr/bin/env python3
"""A stand-in for the `vllm` executable: the same command line, no model.

Like vLLM, it starts another process besides the server. This process has its own session and ignores
SIGTERM, so that only a thorough cleanup ends it. Additional flags: `--seconds-to-start=S`,
`--dies` (exits before the server starts, with a message on stderr), `--stubborn` (ignores SIGTERM).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def flag(name: str, default: str = "") -> str:
    """Return the value of `--name=value`."""
    values = [arg.partition("=")[2] for arg in sys.argv if arg.startswith(f"--{name}=")]
    return values[-1] if values else default


class Handler(BaseHTTPRequestHandler):
    """A handler that answers the requests of the tests like vLLM."""

    def do_GET(self) -> None:
        """Answer `/health` and `/v1/models`."""
        known = {"/health": {}, "/v1/models": {"data": [{"id": sys.argv[2]}]}}
        self.answer(200 if self.path in known else 404, known.get(self.path, {}))

    def do_POST(self) -> None:
        """Answer a chat completion by repeating the last message."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = {"role": "assistant", "content": "You said: " + body["messages"][-1]["content"]}
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        self.answer(200, {"choices": [{"index": 0, "message": message}], "usage": usage})

    def answer(self, status: int, body: object) -> None:
        """Send a JSON body."""
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def main() -> None:
    """Start like vLLM: a second process, a delay without answers, then a server."""
    print("stand-in:", *sys.argv[1:], flush=True)
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    if "--stubborn" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(float(flag("seconds-to-start", "0")))
    if "--dies" in sys.argv:
        print("\x1b[31mout of memory\x1b[0m: no room for the weights", file=sys.stderr)
        sys.exit(3)
    ThreadingHTTPServer((flag("host"), int(flag("port"))), Handler).serve_forever()


if __name__ == "__main__":
    main()
