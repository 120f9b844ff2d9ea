"""An agent that gives an empty answer: the lower bound of every score."""

from __future__ import annotations

from collections.abc import Sequence

from colbench.messages import Message


class Blank:
    """An agent that answers at once, with nothing."""

    async def reply(self, dialogue: Sequence[Message]) -> Message:  # noqa: ARG002 - the protocol's
        """Return the empty answer."""
        return Message(role="assistant", content="I WANT TO ANSWER:")
