"""Candidates from any OpenAI-compatible server, mainly vLLM: many requests in flight, one for each reply.

All replies of a turn are requested together, so a server with a prefix cache computes their context once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

from colbench.config import derive_seed
from colbench.errors import TooLongError, UserError
from colbench.messages import Message
from colbench.models.openai_chat import OpenAIChat
from sweet_rl_trainer.console import progress
from sweet_rl_trainer.methods.ranking.candidates import CandidateFile, Found, Record, Sampler
from sweet_rl_trainer.methods.ranking.turns import Reply, Turn

AHEAD = 2
"""Number of started requests for each allowed request in flight. The surplus waits, so that no slot stays free."""


async def sample_from_server(
    turns: Sequence[Turn],
    chat: OpenAIChat,
    sampler: Sampler,
    file: CandidateFile,
    *,
    tokens: bool = True,
    dropped: Counter[str] | None = None,
) -> Found:
    """Return the candidates of the turns, in order; candidates in the file are not requested again.

    `chat` must already be open. With `tokens`, the IDs of prompts and replies are recorded; vLLM returns them since
    0.10.2. Without `tokens`, scoring tokenizes the replies again, and adds an end token even if a reply was cut at
    `max_tokens`. The server renders the messages with its own template: if a trajectory's recorded prompts have another
    format, record tokens or sample in-process. Turns whose context is too long for the server are left out and counted
    in `dropped`. Raises EndpointError if the server does not answer after all retries. Raises UserError if the server
    refuses requests or, with `tokens`, returns no tokens or different prompts for the same messages. After an error,
    the finished candidates stay in the file.
    """
    asker = _Asker(chat, sampler, tokens)
    keys = [asker.key(turn) for turn in turns]
    refused: set[str] = set()
    with file.writing():
        missing = {key: turn for key, turn in zip(keys, turns, strict=True) if key not in file}
        with progress("candidates", len(missing)) as advance:

            def done(key: str, record: Record | None) -> None:
                if record is None:
                    refused.add(key)
                else:
                    file.add(record)
                advance()

            await asker.ask(missing, done)
    if dropped is not None and refused:
        dropped["context too long for the server"] += sum(key in refused for key in keys)
    return file.collect(turns, keys)


class _Asker:
    def __init__(self, chat: OpenAIChat, sampler: Sampler, tokens: bool) -> None:
        self._chat = chat
        self._sampler = sampler
        self._tokens = tokens
        self._slots = asyncio.Semaphore(max(1, AHEAD * chat.concurrency // sampler.count))

    def key(self, turn: Turn) -> str:
        context = [[each.role, each.content] for each in turn.trajectory.context(turn.number)]
        return self._sampler.key({"messages": context, "tokens": self._tokens})

    async def ask(self, turns: dict[str, Turn], done: Callable[[str, Record | None], None]) -> None:
        """Call `done` with each turn's candidates, or with None if the turn's context is too long."""

        async def settle(key: str, turn: Turn) -> None:
            try:
                done(key, await self._record(key, turn))
            finally:
                self._slots.release()

        try:
            async with asyncio.TaskGroup() as group:
                for key, turn in turns.items():
                    await self._slots.acquire()
                    group.create_task(settle(key, turn))
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def _record(self, key: str, turn: Turn) -> Record | None:
        messages = turn.trajectory.context(turn.number)
        tasks = [
            asyncio.ensure_future(self._reply(messages, derive_seed("candidate", key, number)))
            for number in range(self._sampler.count)
        ]
        try:
            replies = await asyncio.gather(*tasks)
        except TooLongError:
            return None
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if self._tokens:
            return _with_tokens(key, turn, replies)
        return Record(key=key, replies=tuple(Reply(text=each.content) for each in replies))

    async def _reply(self, messages: Sequence[Message], seed: int) -> Message:
        return await self._chat.chat(
            messages,
            temperature=self._sampler.temperature,
            max_tokens=self._sampler.max_tokens,
            seed=seed,
            tokens=self._tokens,
        )


def _with_tokens(key: str, turn: Turn, replies: Sequence[Message]) -> Record:
    sampled = [each.sampled for each in replies if each.sampled]
    prompts = {each.prompt for each in sampled}
    if len(prompts) != 1:
        raise UserError(
            f"{turn.name}: the server turned the same messages into {len(prompts)} different prompts, perhaps because "
            "its chat template states the time; serve the model with a template that does not, or sample in-process "
            '(sample.server = "in-process")'
        )
    said = zip(replies, sampled, strict=True)
    return Record(
        key=key,
        replies=tuple(Reply(text=each.content, ids=tokens.ids) for each, tokens in said),
        prompt=prompts.pop(),
    )
