"""An agent that only repeats what it hears, in its own file, which an agent's process loads."""

from __future__ import annotations


class Echo:
    """An agent that repeats the last message it received."""

    async def reply(self, dialogue):
        return dialogue[-1].content + " " + "word " * 60

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        return None
