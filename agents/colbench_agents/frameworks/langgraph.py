"""The adapter for LangGraph graphs (`pip install langgraph`) whose state has the key `messages`.

`create_agent` makes such graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from langchain_core.callbacks import BaseCallbackHandler
from langgraph.types import Command

from colbench.errors import UserError
from colbench.interfaces import Agent, Episode
from colbench.messages import Message
from colbench_agents.frameworks.adapter import Adapter, said
from colbench_agents.frameworks.functions import as_openai


class LangGraphAgent(Adapter):
    """An agent that calls a graph's `ainvoke` in every turn.

    The reply is the last message or, if the graph was interrupted, the value of the interrupt. A graph with a
    checkpointer keeps its own state, under a `thread_id` for each dialogue; for other graphs, the adapter keeps the
    messages. An uncompiled graph is compiled first. Raises UserError if the graph's state has no key `messages`.
    """

    def __init__(self, own: Any, file: str | None) -> None:
        super().__init__(own, file)
        self.graph = own.compile() if hasattr(own, "compile") else own
        if "messages" not in self.graph.channels:
            raise UserError(
                "the state of the graph has no `messages`; instead of the graph, pass a function that "
                "calls it"
            )

    def converse(self, episode: Episode) -> Agent:
        """Return an agent that runs the graph with a separate `thread_id` for this dialogue."""
        return _Thread(self.graph, episode)


class _Thread:
    def __init__(self, graph: Any, episode: Episode) -> None:
        self._graph = graph
        self._keeps = bool(graph.checkpointer)
        self._messages: list[Any] = []
        self._interrupted = False
        self._configurable = {
            "thread_id": f"{episode.id}-{uuid4().hex}",  # new, because the graph may remember an earlier attempt
            "seed": episode.seed,
            "max_turns": episode.max_turns,
        }

    async def reply(self, dialogue: Sequence[Message]) -> Message:
        counter = _Counter()
        config = {"configurable": self._configurable, "callbacks": [counter]}
        state = await self._graph.ainvoke(self._input(dialogue[-1]), config)
        if not self._keeps:
            self._messages = state["messages"]
        interrupts = state.get("__interrupt__", ())
        self._interrupted = bool(interrupts)
        text = interrupts[0].value if interrupts else state["messages"][-1].text
        return said(
            str(text),
            prompt=counter.prompt,
            completion=counter.completion,
            requests=counter.requests,
        )

    def _input(self, message: Message) -> Any:
        if self._interrupted:
            return Command(resume=message.content)
        return {"messages": [*self._messages, as_openai(message)]}


class _Counter(BaseCallbackHandler):  # type: ignore[misc]
    """A counter of the tokens of every model called anywhere in a graph."""

    def __init__(self) -> None:
        self.prompt = self.completion = self.requests = 0

    def on_llm_end(self, response: Any, **_: Any) -> None:
        """Count the tokens of a model's answer, if it reports them."""
        for generation, *_others in response.generations:
            usage = getattr(getattr(generation, "message", None), "usage_metadata", None)
            if usage:
                self.prompt += usage["input_tokens"]
                self.completion += usage["output_tokens"]
                self.requests += 1
