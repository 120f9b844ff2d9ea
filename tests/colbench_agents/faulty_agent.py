"""An agent over stdin and stdout that keeps the protocol except for the one fault that its argument names."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

FAULT, *MORE = sys.argv[1:]
STAYS = "stays" in (FAULT, *MORE)
READY = {"type": "ready", "protocol": "colbench-agent/1", "name": "faulty", "version": "7"}
FOREVER = 1000


def send(message: dict) -> None:
    print(json.dumps(message), flush=True)


def at_start() -> None:
    if FAULT == "crashes-at-start":
        raise SystemExit("no model here")
    if FAULT == "silent-at-start":
        signal.signal(signal.SIGTERM, lambda *_: send(READY))
        time.sleep(FOREVER)
    if FAULT == "has-no-key-at-start":
        send({"type": "error", "message": "set MY_KEY", "stop": True})
    if FAULT == "replies-first":
        send({"type": "reply", "episode": "x", "content": "hello"})
    if FAULT == "other-version":
        READY["protocol"] = "colbench-agent/2"
    READY["accepts_images"] = FAULT == "sees"
    if FAULT == "shared" or "shared" in MORE:
        READY["concurrent"] = True
    send(READY)


def break_down(line: str) -> None:
    """Cause the faults of the program."""
    if FAULT == "crashes":
        print("the weights are gone", file=sys.stderr)
        raise SystemExit(3)
    if FAULT == "crashes-once" and not os.path.exists(MORE[0]):
        os.mkdir(MORE[0])
        raise SystemExit(3)
    if FAULT == "exits-with-255":
        sys.exit(255)
    if FAULT == "is-killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if FAULT.startswith("half-a-line"):
        print(line[:20], end="", flush=True)
    if FAULT == "half-a-line":
        raise SystemExit
    if FAULT == "closes-output":
        os.close(1)
    if FAULT in {"hangs", "half-a-line-and-hangs", "closes-output"}:
        time.sleep(FOREVER)


def send_faulty_message(reply: dict[str, str]) -> None:
    """Send the one-line message of a fault; `wants-a-retry` is not a fault, but a valid request."""
    error = {"type": "error", "episode": reply["episode"]}
    lines = {
        "garbage": lambda: b"Loading checkpoint shards: 100%",
        "no-utf-8": lambda: b'{"type":"reply","episode":"\xff"}',
        "number-for-text": lambda: json.dumps({**reply, "content": 5}).encode(),
        "deep": lambda: b'{"x":' + b"[" * 100_000,
        "100-mb": lambda: json.dumps({**reply, "content": "x" * 100_000_000}).encode(),
        "other-episode": lambda: json.dumps({**reply, "episode": "another"}).encode(),
        "ready-again": lambda: json.dumps(READY).encode(),
        "gives-up": lambda: json.dumps({**error, "message": "too hard"}).encode(),
        "has-no-key": lambda: json.dumps({**error, "message": "set MY_KEY", "stop": True}).encode(),
        "wants-a-retry": lambda: json.dumps(
            {**error, "message": "no model server", "retry": True}
        ).encode(),
    }
    if FAULT in lines:
        sys.stdout.buffer.write(lines[FAULT]() + b"\n")
        sys.stdout.buffer.flush()


def when_asked(episode: str, turn: int) -> None:
    reply = {"type": "reply", "episode": episode, "content": "Is there a limit?"}
    break_down(json.dumps(reply))
    send_faulty_message(reply)
    answer = os.getpid() if FAULT in {"alone", "shared"} else "x = 1"
    send(reply if turn == 1 else {**reply, "content": f"I WANT TO ANSWER: {answer}"})
    if FAULT == "says-it-twice":
        send(reply)
    if FAULT == "closes-input":
        os.close(0)
    if FAULT in {"says-it-twice", "closes-input"}:
        time.sleep(FOREVER)


def children() -> None:
    """Start a child in its own session and one that ignores SIGTERM; both hold standard output open."""
    name, ignore = MORE[0], "import signal, time; signal.signal(15, 1); time.sleep(1000)"
    subprocess.Popen([sys.executable, "-c", ignore, name], start_new_session=True)
    subprocess.Popen([sys.executable, "-c", ignore, name])


def main() -> None:
    if FAULT == "has-children":
        children()
    if STAYS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if FAULT == "chatters":
        for n in range(int(MORE[0])):
            print(f"chatter {n}", file=sys.stderr)
    if FAULT == "floods":
        for _ in range(int(MORE[0]) // 1000):
            sys.stderr.write("x" * 999 + "\n")
    at_start()
    if FAULT == "never-reads":
        time.sleep(FOREVER)
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message["type"] == "messages":
            if FAULT == "sees":
                (picture,) = message["messages"][-1]["images"]
                send({"type": "reply", "episode": message["episode"], "content": picture})
                continue
            if FAULT == "tells-time":
                left = json.dumps(message.get("seconds"))
                send({"type": "reply", "episode": message["episode"], "content": left})
                continue
            when_asked(message["episode"], (len(message["messages"]) + 1) // 2)
    if STAYS:
        time.sleep(FOREVER)


main()
