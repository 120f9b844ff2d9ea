"""The rule-based human and designer on real renders: the human's messages bring the page closer to the target."""

from __future__ import annotations

import pytest

from colbench.domains.frontend.human.human import PageHuman
from colbench.domains.frontend.layout import compare_layout
from colbench.messages import Message
from colbench.pages.extract import extract_page
from colbench.pages.render import PageRenderer
from colbench.task import Task
from colbench_agents.designer import Draughtsman
from colbench_tasks.bundled import load

TURNS = 5


async def layouts(task: Task, renderer: PageRenderer) -> list[float]:
    """Return the layout agreement of each turn's page with the target."""
    human, agent = PageHuman(), Draughtsman(TURNS)
    human.use_renderer(renderer)
    target = await renderer.render(task.hidden.reference)
    dialogue = [Message(role="user", content=task.request)]
    found = []
    for _ in range(TURNS):
        reply = await agent.reply(tuple(dialogue))
        page = await renderer.render(extract_page(reply.content))
        found.append(compare_layout(page, target).layout)
        dialogue.append(reply)
        dialogue.append(await human.respond(task, tuple(dialogue)))
    return found


@pytest.mark.weekly
async def test_pages_get_closer_to_the_target_with_each_turn(renderer: PageRenderer) -> None:
    curves = [await layouts(task, renderer) for task in load("frontend")[:4]]
    means = [sum(values) / len(values) for values in zip(*curves, strict=True)]
    assert means == sorted(means)
    assert means[-1] > means[0] + 0.2
