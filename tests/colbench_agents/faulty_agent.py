"""An agent over stdin and stdout that keeps the protocol, but for the one fault that its argument names."""

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
        time.sleep(FOREVER)
    if FAULT == "replies-first":
        send({"type": "reply", "episode": "x", "content": "hello"})
    if FAULT == "other-version":
        READY["protocol"] = "colbench-agent/2"
    if FAULT == "shared" or "shared" in MORE:
        READY["concurrent"] = True
    send(READY)


def when_asked(episode: str, turn: int) -> None:
    reply = {"type": "reply", "episode": episode, "content": "Is there a limit?"}
    line = json.dumps(reply)
    if FAULT == "crashes":
        print("the weights are gone", file=sys.stderr)
        raise SystemExit(3)
    if FAULT == "is-killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if FAULT == "hangs":
        time.sleep(FOREVER)
    if FAULT == "half-a-line":
        print(line[:20], end="", flush=True)
        raise SystemExit
    if FAULT == "half-a-line-and-hangs":
        print(line[:20], end="", flush=True)
        time.sleep(FOREVER)
    if FAULT == "garbage":
        print("Loading checkpoint shards: 100%")
    if FAULT == "no-utf-8":
        sys.stdout.buffer.write(b'{"type":"reply","episode":"\xff"}\n')
    if FAULT == "number-for-text":
        send({**reply, "content": 5})
    if FAULT == "deep":
        print('{"x":' + "[" * 100_000, flush=True)
    if FAULT == "100-mb":
        send({**reply, "content": "x" * 100_000_000})
    if FAULT == "other-episode":
        send({**reply, "episode": "another"})
    if FAULT == "ready-again":
        send(READY)
    if FAULT == "closes-output":
        os.close(1)
        time.sleep(FOREVER)
    if FAULT == "gives-up":
        send({"type": "error", "episode": episode, "message": "too hard"})
    if FAULT == "wants-a-retry":
        send({"type": "error", "episode": episode, "message": "no model server", "retry": True})
    if FAULT == "shared" and turn > 1:
        send({**reply, "content": f"I WANT TO ANSWER: {os.getpid()}"})
        return
    send(reply if turn == 1 else {**reply, "content": "I WANT TO ANSWER: x = 1"})
    if FAULT == "says-it-twice":
        send(reply)
        time.sleep(FOREVER)
    if FAULT == "closes-input":
        os.close(0)
        time.sleep(FOREVER)


def children() -> None:
    """One in a session of its own, one that will not hear SIGTERM; both hold standard output open."""
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
            when_asked(message["episode"], (len(message["messages"]) + 1) // 2)
    if STAYS:
        time.sleep(FOREVER)


main()
