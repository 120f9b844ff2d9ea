"""The agents of the SQL example, in dialogues with the rule-based human."""

from __future__ import annotations

from colbench.facts.human import answer
from colbench.messages import ANSWER_MARKER, Message
from colbench.task import Task
from colbench_sql.agents import Asker, Guesser
from colbench_sql.tasks import load


async def talk(agent: Asker, task: Task) -> list[str]:
    """Return what the agent says, its answer last."""
    dialogue = [Message(role="user", content=task.request)]
    while True:
        said = await agent.reply(dialogue)
        dialogue.append(Message(role="assistant", content=said))
        if said.startswith(ANSWER_MARKER):
            return [each.content for each in dialogue if each.role == "assistant"]
        dialogue.append(Message(role="user", content=answer(task, said)))


def has_query(answer: str, query: str) -> bool:
    return answer == f"{ANSWER_MARKER}\n```sql\n{query}\n```"


async def test_the_asker_asks_about_each_hidden_decision_and_finds_the_query():
    for task in load("test"):
        *questions, last = await talk(Asker(), task)
        assert len(questions) == task.difficulty, task.id
        assert has_query(last, task.hidden.reference), task.id


async def test_the_guesser_asks_nothing_and_seldom_finds_the_query():
    talks = [(task, await talk(Guesser(), task)) for task in load("test")]
    assert all(len(said) == 1 for _, said in talks)
    assert sum(has_query(said[-1], task.hidden.reference) for task, said in talks) <= 3


async def test_the_asker_answers_other_requests_immediately():
    asked = [Message(role="user", content="Please write a function.")]
    assert (await Asker().reply(asked)).startswith(ANSWER_MARKER)
