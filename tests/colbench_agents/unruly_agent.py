"""An agent over stdin and stdout that keeps every rule except for the one fault that its argument names."""

from __future__ import annotations

import json
import os
import sys
import time

FAULT = sys.argv[1]
CONCURRENT = {"none-concurrent", "knows-one-dialogue", "mixes-dialogues", "knows-ids-for-ever"}
READY = {"type": "ready", "protocol": "colbench-agent/1", "name": "unruly", "version": "7"}
FIELDS = {
    "start": {"type", "protocol", "episode"},
    "messages": {"type", "episode", "messages"},
    "end": {"type", "episode"},
}
requests: dict[str, str] = {}
"""The first request of each dialogue."""
seen: list[str] = []
"""The dialogues that were started, in order."""


def send(message: dict) -> None:
    if FAULT != "holds-back":
        print(json.dumps(message), flush=True)
        return
    held.write(json.dumps(message) + "\n")
    if message["type"] == "ready":
        held.flush()


def receive(line: str) -> dict:
    if FAULT == "reads-short-lines" and len(line) > 65536:
        raise ValueError("Separator is not found, and chunk exceed the limit")
    if FAULT == "reads-ascii":
        line.encode("ascii")
    message = json.loads(line)
    if FAULT == "knows-all-fields" and message.keys() != FIELDS[message["type"]]:
        raise TypeError("unexpected keyword argument")
    return message


def at_start() -> None:
    if FAULT == "shows-a-banner":
        print("Loading the model …", flush=True)
    ready = {**READY, "concurrent": FAULT in CONCURRENT, "accepts_images": "pictures" in FAULT}
    if FAULT == "is-never-the-same":
        ready["version"] = str(os.getpid())
    send(ready)
    if FAULT == "is-ready-twice":
        send(ready)


def when_started(episode: dict) -> None:
    if FAULT == "answers-start":
        send({"type": "reply", "episode": episode["id"], "content": "Hello!"})
    if FAULT == "knows-ids-for-ever" and episode["id"] in seen:
        raise ValueError("I had that dialogue")
    if FAULT == "knows-functions-alone" and episode["domain"] == "frontend":
        raise KeyError("def")
    seen.append(episode["id"])


def when_asked(episode: str, messages: list[dict]) -> None:
    if FAULT == "dies-at-pictures" and "images" in messages[-1]:
        raise TypeError("a picture")
    requests.setdefault(episode, messages[0]["content"])
    turn = (len(messages) + 1) // 2
    if FAULT == "dies-in-turn-2" and turn == 2:
        raise MemoryError
    send(
        {
            "type": "reply",
            "episode": episode_name(episode),
            "content": reply_text(episode, turn),
            **usage(),
        }
    )
    if FAULT == "says-it-again-later":
        time.sleep(0.05)
        send({"type": "reply", "episode": episode, "content": "And another thing."})


def episode_name(episode: str) -> str:
    if FAULT == "knows-one-dialogue":
        return seen[-1]
    return "x" if FAULT == "names-another" else episode


def reply_text(episode: str, turn: int) -> str:
    if FAULT == "says-nothing":
        return "  \n"
    if FAULT == "never-answers" or turn == 1:
        return "What else?"
    whose = next(reversed(requests)) if FAULT == "mixes-dialogues" else episode
    return f"I WANT TO ANSWER:\n{requests[whose]}"


def usage() -> dict:
    return {"usage": {"prompt_tokens": -1}} if FAULT == "counts-below-zero" else {}


def when_ended(episode: str) -> None:
    if FAULT == "says-goodbye":
        send({"type": "reply", "episode": episode, "content": "Goodbye."})


def main() -> None:
    at_start()
    for line in sys.stdin:
        message = receive(line)
        if message["type"] == "start":
            when_started(message["episode"])
        elif message["type"] == "messages":
            when_asked(message["episode"], message["messages"])
        else:
            when_ended(message["episode"])
            if FAULT == "ends-at-end-alone":
                return
    if FAULT == "says-goodbye-to-all":
        print("bye", flush=True)
    if FAULT in {"stays", "ends-at-end-alone"}:
        time.sleep(1000)


held = open(os.dup(1), "w", buffering=1 << 20)  # noqa: SIM115 - buffered like C's stdio and Node's pipes
main()
