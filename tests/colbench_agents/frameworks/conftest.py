"""Fixtures that make agents from the text of a file and hold dialogues with them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest

from colbench.interfaces import Agent, Episode
from colbench.messages import Message
from colbench.plugins import resolve

Opener = Callable[..., AbstractAsyncContextManager[Any]]


@pytest.fixture
def needs() -> Callable[[str], None]:
    """Return a function that skips the test if a package, by its name on the index, is not installed."""

    def check(package: str) -> None:
        try:
            version(package)
        except PackageNotFoundError:
            pytest.skip(f"{package} is not installed; see tests/e2e/frameworks.sh")

    return check


@pytest.fixture
def agent_of(tmp_path: Path) -> Callable[..., Any]:
    """Return a function that makes the agent that `--agent FILE:agent` means, from the text of the file."""

    def make(text: str, **args: Any) -> Any:
        file = tmp_path / f"agent_{tmp_path.name}.py"
        file.write_text(text, "utf-8")
        return resolve("agent", f"{file}:agent", args)

    return make


@pytest.fixture
def dialogues() -> Opener:
    """Return a context manager that opens a number of dialogues with an agent at once."""

    @asynccontextmanager
    async def open_all(agent: Any, count: int = 1) -> AsyncIterator[list[Talk]]:
        async with agent:
            talks = [Talk(agent, n) for n in range(count)]
            for talk in talks:
                await talk.__aenter__()
            yield talks
            for talk in talks:
                await talk.__aexit__(None, None, None)

    return open_all


class Talk:
    """One dialogue: `say` returns the agent's reply to the person's next message, and `usage` what it cost."""

    def __init__(self, agent: Any, n: int) -> None:
        self._opened = agent.open(Episode(id=f"e{n}", seed=n, max_turns=7))
        self._speaker: Agent | None = None
        self.messages: list[Message] = []

    async def __aenter__(self) -> Talk:
        self._speaker = await self._opened.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._opened.__aexit__(*error)

    async def say(self, words: str, *images: bytes) -> str:
        assert self._speaker
        self.messages.append(Message(role="user", content=words, images=images))
        reply = await self._speaker.reply(tuple(self.messages))
        message = reply if isinstance(reply, Message) else Message(role="assistant", content=reply)
        self.messages.append(message)
        return message.content

    @property
    def usage(self) -> tuple[int, int, int] | None:
        """Return the tokens in, tokens out and requests of the last reply."""
        counted = self.messages[-1].usage
        if counted is None:
            return None
        return counted.prompt_tokens, counted.completion_tokens, counted.requests
