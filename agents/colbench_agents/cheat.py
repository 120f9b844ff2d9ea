"""An agent that knows the references. Tests and benchmarks use it to measure how well the leaderboard's audits work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from colbench.errors import AgentError
from colbench.messages import Message
from colbench.task import BACKEND, read_tasks
from colbench_agents.interviewer import MARKER, Interviewer


class Cheat:
    """An agent that asks the interviewer's questions, and then answers with the reference.

    `leaves` is the number of open decisions that the agent does not ask about. The answer therefore contains decisions
    that the human never revealed. `tasks` is the path of a task file. Raises DataError if the file cannot be read, and
    UserError if `leaves` is negative.
    """

    domains = (BACKEND,)

    def __init__(self, *, tasks: str, leaves: int = 2) -> None:
        self._references = {task.request: task.hidden.reference for task in read_tasks(Path(tasks))}
        self._interviewer = Interviewer(leaves=leaves)

    async def reply(self, dialogue: Sequence[Message]) -> Message:
        """Return the interviewer's next question or, when the interviewer would answer, the reference.

        Raises AgentError if no task in the file has this request.
        """
        said = await self._interviewer.reply(dialogue)
        if not said.content.startswith(MARKER):
            return said
        request = dialogue[0].content
        if request not in self._references:
            raise AgentError("--agent-arg tasks: no task in this file has this request")
        answer = f"{MARKER}\n{self._references[request]}"
        return Message(role="assistant", content=answer)
