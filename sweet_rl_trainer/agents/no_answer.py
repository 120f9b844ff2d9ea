"""A chat model that avoids answers, so that the sampled dialogues reach the turn limit (`Recipe.negatives`)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from colbench.config import derive_seed
from colbench.interfaces import ChatModel
from colbench.messages import ANSWER_MARKER, Message, Usage

DRAWS = 16
"""Maximum number of replies drawn for one turn."""


class NoAnswerModel:
    """A chat model that draws up to `DRAWS` replies from another model, until one of them is not an answer."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        temperature: float,
        max_tokens: int,
        seed: int | None,
        tokens: bool = False,
    ) -> Message:
        """Draw up to `DRAWS` replies until one is not an answer; return the last reply, with the usage of all draws."""
        usage = Usage()
        for draw in range(DRAWS):
            said = await self._model.chat(
                messages,
                temperature=temperature,
                max_tokens=max_tokens,
                seed=derive_seed("asks on", seed, draw),
                tokens=tokens,
            )
            usage += said.usage or Usage()
            if ANSWER_MARKER not in said.content:
                break
        return replace(said, usage=usage)
