"""The human played by a model: what its prompt contains, and how its replies are used."""

from __future__ import annotations

import pytest

from colbench.errors import SimulatorError, UserError
from colbench.messages import Message
from colbench.models.human import fill
from colbench.models.scripted_server import ScriptedServer
from colbench.simulators.model import ModelHuman
from colbench.task import Hidden, Task

TASK = Task(
    id="t",
    domain="backend",
    request="a function, please {hidden_information}",
    hidden=Hidden(reference="def f(): return 1", tests=("f()",), information="it returns 1"),
)
DIALOGUE = [Message(role="user", content="please"), Message(role="assistant", content="what?")]


async def reply_and_request(script, **options):
    async with ScriptedServer(script) as server:
        async with ModelHuman(f"scripted@{server.base_url}", **options) as human:
            return await human.respond(TASK, DIALOGUE), server.requests[0]


async def test_the_prompt_contains_the_hidden_information_and_the_dialogue():
    reply, request = await reply_and_request(lambda _: "It returns one.")
    assert reply.content == "It returns one."
    assert reply.role == "user"
    prompt = request["messages"][0]["content"]
    assert "it returns 1" in prompt
    assert "Person: please\nProgrammer: what?" in prompt
    assert (request["temperature"], request["seed"]) == (0.0, 0)


async def test_a_long_reply_is_cut_at_400_characters():
    reply, _ = await reply_and_request(lambda _: "x" * 399 + " yz")
    assert reply.content == "x" * 399


async def test_an_empty_reply_is_a_simulator_error():
    with pytest.raises(SimulatorError, match="the human's model gave an empty reply"):
        await reply_and_request(lambda _: "  ")


@pytest.mark.parametrize("refusals", [2, 3])
async def test_a_human_that_refuses_is_asked_again_with_another_seed(refusals):
    seeds = []

    def script(_):
        seeds.append(server.requests[-1]["seed"])
        return {"content": None, "refusal": "No."} if len(seeds) <= refusals else "It returns one."

    async with ScriptedServer(script) as server:
        async with ModelHuman(f"scripted@{server.base_url}") as human:
            if refusals == 2:
                assert (await human.respond(TASK, DIALOGUE)).content == "It returns one."
            else:
                with pytest.raises(SimulatorError, match="refused to reply: No."):
                    await human.respond(TASK, DIALOGUE)
    assert seeds == [0, 1, 2]


def test_inserted_text_is_not_searched_for_placeholders():
    assert fill("{a}|{b}|{c}", {"a": "{b}", "b": r"\1"}) == r"{b}|\1|{c}"


async def test_a_custom_prompt_replaces_the_built_in_one(tmp_path):
    file = tmp_path / "prompt.txt"
    file.write_text("{problem_description}: {hidden_information} / {dialogue_history} {other}")
    _, request = await reply_and_request(lambda _: "yes", prompt=str(file))
    assert request["messages"][0]["content"].endswith("Person: please\nProgrammer: what? {other}")


async def test_a_prompt_without_a_required_placeholder_is_refused(tmp_path):
    file = tmp_path / "prompt.txt"
    file.write_text("say something about {hidden_information}")
    with pytest.raises(UserError, match=r"lacks the placeholder \{dialogue_history\}"):
        ModelHuman("m@http://h:1/v1", prompt=str(file))
    with pytest.raises(UserError, match="--human-prompt: .*none.txt cannot be read"):
        ModelHuman("m@http://h:1/v1", prompt=str(tmp_path / "none.txt"))
    file.write_text("{dialogue_history} of a page, perhaps")
    with pytest.raises(UserError, match=r"lacks the placeholder \{hidden_information\}"):
        await reply_and_request(lambda _: "yes", prompt=str(file))


def test_the_recorded_settings_differ_between_backend_and_frontend():
    human, wider = (ModelHuman("m@http://h:1/v1", max_image_edge=edge) for edge in (1024, 4096))
    assert human.describe() == wider.describe() == {"model": "m"}
    backend, frontend = (human.describe_domain(name) for name in ("backend", "frontend"))
    assert backend.keys() == {"prompt", "temperature", "max_tokens", "max_chars"}
    assert backend == wider.describe_domain("backend")
    assert (backend["max_chars"], frontend["max_chars"]) == ("400", "1000")
    assert backend["prompt"] != frontend["prompt"]
    assert wider.describe_domain("frontend") == frontend | {"max_image_edge": "4096"}
