"""A model that replies with the result of a function: a test double for tests and experiments."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from colbench.messages import Message, Usage

Script = Callable[[Sequence[Message]], str]


class ScriptedModel:
    """A chat model that answers from a script; it counts words as tokens."""

    def __init__(self, script: Script) -> None:
        self.script = script

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        temperature: float,  # noqa: ARG002 - the protocol's
        max_tokens: int,
        seed: int | None,  # noqa: ARG002 - the protocol's
        tokens: bool = False,  # noqa: ARG002 - the protocol's; this model returns none
    ) -> Message:
        """Return the script's reply to the messages, cut at `max_tokens` words."""
        words = self.script(messages).split(" ")[:max_tokens]
        prompt = sum(len(m.content.split()) for m in messages)
        usage = Usage(prompt_tokens=prompt, completion_tokens=len(words), requests=1)
        return Message(role="assistant", content=" ".join(words), usage=usage)
