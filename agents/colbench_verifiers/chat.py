"""The verifiers harness for a chat-only model: one completion per turn, without tools and without a program.

As in ColBench's own runs, the private part of a reply (the text before `OUTPUT:`) is not sent back to the model. If a
model writes such a part, the next prompt therefore does not begin with the preceding prompt and the complete reply, and
the trace branches there.
"""

from __future__ import annotations

from typing import Any

import verifiers.v1 as vf
from openai import AsyncOpenAI
from verifiers.v1.dialects.chat import message_to_wire

from colbench.dialogue import read_move


class Chat(vf.Harness[vf.HarnessConfig]):
    """A harness that sends the dialogue to a model; the verifiers library sets the sampling parameters."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def session(self, *given: Any, **named: Any) -> vf.HarnessSession:
        """Return the session of one dialogue."""
        return _Dialogue(self, *given, **named)

    async def launch(self, *given: Any, **named: Any) -> vf.ProgramResult:
        """Raise NotImplementedError: sessions do not use this method, but verifiers requires it."""
        raise NotImplementedError("dialogues need an open session")


class _Dialogue(vf.HarnessSession):
    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        system, request = self.harness.resolve_prompt(self.data)
        self._client = AsyncOpenAI(base_url=self.endpoint, api_key=self.secret)
        self._said: list[vf.Message] = [vf.SystemMessage(content=system)] if system else []
        self._request = vf.UserMessage(content=request)

    async def _run(self, messages: vf.Messages | None) -> vf.ProgramResult:
        self._said += messages or [self._request]
        completion = await self._client.chat.completions.create(
            model=self.ctx.model, messages=list(map(message_to_wire, self._said))
        )
        reply = completion.choices[0].message.content or ""
        self._said.append(vf.AssistantMessage(content=read_move(reply).said))
        return vf.ProgramResult(exit_code=0, stdout=reply, stderr="")

    async def close(self) -> None:
        """Release the connection."""
        await super().close()
        await self._client.close()
