"""Two models design a page: the agent's model is shown its own page, the human's model that page and the target."""

from __future__ import annotations

import pytest

from colbench.clock import Clock
from colbench.dialogue import play
from colbench.errors import EndpointError
from colbench.interfaces import Episode
from colbench.models.scripted_server import ScriptedServer
from colbench.simulators.model import ModelHuman
from colbench.task import Hidden, Task
from colbench_agents.model import ModelAgent

TASK = Task(
    id="t",
    domain="frontend",
    request="a page for boats",
    hidden=Hidden(reference="<html><body style='background: navy'>Boats</body></html>"),
)
PAGES = [f"<html><body style='background: {color}'>Boats</body></html>" for color in ("tan", "sky")]


def designs(messages):
    """Return a page per turn; in the third turn, answer with the second page."""
    turn = len([message for message in messages if message.role == "assistant"])
    return PAGES[turn] if turn < 2 else f"I WANT TO ANSWER:\n{PAGES[1]}"


async def talk(renderer, *, agent_sees=True, **options):
    """Return the dialogue's end, and the image counts of the requests to the agent's model and to the human's."""
    designer = ScriptedServer(designs, sees=agent_sees)
    person = ScriptedServer(lambda _: "It has to be blue.")
    episode = Episode(id="e", seed=1, max_turns=5, domain="frontend")
    async with designer, person:
        async with (
            ModelAgent(f"scripted@{designer.base_url}", **options) as agent,
            ModelHuman(f"scripted@{person.base_url}") as human,
            agent.open(episode) as speaker,
        ):
            human.use_renderer(renderer)
            clock = Clock(60)
            ending = await play(TASK, speaker, human, max_turns=5, clock=clock, turns=[])
    return ending, pictures(designer), pictures(person)


def pictures(server):
    """Return the number of images in each request."""
    return [str(request).count("'type': 'image_url'") for request in server.requests]


async def test_an_agent_that_accepts_images_is_shown_its_newest_page(renderer):
    ending, agent, human = await talk(renderer, pictures=True)
    assert (ending.answer, ending.ended_by) == (PAGES[1], "answer")
    assert agent == [0, 1, 1]
    assert human == [2, 2]


async def test_an_agent_that_accepts_no_images_is_shown_none(renderer):
    ending, agent, human = await talk(renderer, agent_sees=False)
    assert ending.answer == PAGES[1]
    assert agent == [0, 0, 0]
    assert human == [2, 2]


async def test_a_server_that_refuses_the_agents_image_is_an_endpoint_error(renderer):
    with pytest.raises(EndpointError, match=r"with pictures .* is not a multimodal model"):
        await talk(renderer, agent_sees=False, pictures=True)
