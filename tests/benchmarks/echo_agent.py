"""An agent that repeats messages. It has its own file, because an agent's process loads it from a file."""

from __future__ import annotations


class Echo:
    """An agent that repeats the last message it received."""

    async def reply(self, dialogue):
        return dialogue[-1].content + " " + "word " * 60

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        return None
