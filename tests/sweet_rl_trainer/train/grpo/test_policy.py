"""The model as an agent: prompts that continue earlier ones, and replies from rounds and from a server."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from inspect import isawaitable

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from aiohttp import web

from colbench.clock import Clock
from colbench.errors import AgentError, DataError, EndpointError
from colbench.interfaces import Episode, StatefulAgent
from colbench.messages import Message, Sampled
from colbench.rollout import Failure, Rollout, Turn
from sweet_rl_trainer.train.grpo.policy import Policy, continues
from sweet_rl_trainer.train.grpo.samplers import Rounds, Server
from sweet_rl_trainer.train.grpo.sequences import dialogue_row
from sweet_rl_trainer.train.grpo.settings import GrpoSettings

torch.set_num_threads(1)

MOVING = """{%- for message in messages %}
{{- '<|im_start|>' + message['role'] + '\n' + message['content'] }}
{{- ' Be brief.' if loop.last else '' }}{{- '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}"""


def rounds(replies, *, dialogues, room=1000):
    """Return rounds that give all prompts the next reply, and the list of prompts."""
    asked = []

    def generate(prompts):
        asked.append(prompts)
        return [replies[len(asked) - 1] for _ in prompts]

    return Rounds(generate, dialogues=dialogues, room=room), asked


def user(text):
    return Message(role="user", content=text)


async def test_a_prompt_continues_the_sampled_tokens_with_template_text(make_chat):
    chat = make_chat()
    size = len(chat.tokenizer)
    question = [size - 1, size - 1]  # "How late? " twice, truncated before an end token
    sampler, asked = rounds([question, [size - 1, chat.end]], dialogues=1)
    policy = Policy(chat, sampler, {"backend": "Ask.", "frontend": ""})
    assert isinstance(policy, StatefulAgent)
    episode = Episode(id="1", seed=0, max_turns=3)
    async with policy as entered, entered.open(episode) as agent:
        first = await agent.reply([user("Write it.")])
        said = Message(role="assistant", content="How late? How late?")
        second = await agent.reply([user("Write it."), said, user("Very.")])
    assert (first.content, second.content) == ("How late? How late? ", "How late? ")
    start = "<|im_start|>system\nAsk.<|im_end|>\n<|im_start|>user\nWrite it.<|im_end|>\n"
    start += "<|im_start|>assistant\n"
    between = "<|im_end|>\n<|im_start|>user\nVery.<|im_end|>\n<|im_start|>assistant\n"
    ids = chat.tokenizer(start, add_special_tokens=False).input_ids
    after = chat.tokenizer(between, add_special_tokens=False).input_ids
    assert asked == [[ids], [[*ids, *question, *after]]]
    assert second.sampled == Sampled(
        prompt=(*ids, *question, *after), ids=(size - 1, chat.end), logprobs=()
    )


async def test_the_end_token_of_a_turn_is_written_once(make_chat):
    chat = make_chat()
    sampler, asked = rounds([[chat.end], [chat.end]], dialogues=1)
    policy = Policy(chat, sampler, {"backend": ""})
    async with policy, policy.open(Episode(id="1", seed=0, max_turns=3)) as agent:
        await agent.reply([user("One.")])
        await agent.reply([user("One."), Message(role="assistant", content=""), user("Two.")])
    whole = "<|im_start|>user\nOne.<|im_end|>\n<|im_start|>assistant\n<|im_end|>\n"
    whole += "<|im_start|>user\nTwo.<|im_end|>\n<|im_start|>assistant\n"
    assert chat.tokenizer.decode(asked[1][0]) == whole


def test_templates_that_continue_their_prompts_are_recognized(make_chat, thinking_templates):
    qwen3, deepseek = thinking_templates["qwen3"], thinking_templates["deepseek"]
    chatml = make_chat().tokenizer.chat_template
    known = {chatml: True, MOVING: False, qwen3: True, deepseek: False}
    for template, expected in known.items():
        assert [continues(make_chat(template), system) for system in ("Ask.", "")] == [expected] * 2


def test_an_error_names_the_template_that_rejects_the_system_prompt(make_chat):
    refusing = "{{- raise_exception('no') if messages[0].role == 'system' else '' }}"
    with pytest.raises(DataError, match="the chat template of words rejects"):
        continues(make_chat(refusing), "Ask.")


@pytest.mark.parametrize("name", ["qwen3", "deepseek", "moving"])
async def test_a_prompt_is_rendered_again_if_the_template_changes_the_last_reply(
    name, make_chat, thinking_templates
):
    chat = make_chat({**thinking_templates, "moving": MOVING}[name], thoughts=True)
    question = len(chat.tokenizer) - 1
    sampler, asked = rounds([[question, chat.end]] * 3, dialogues=1)
    policy = Policy(chat, sampler, {"backend": "Ask."})
    said = [user("Write it.")]
    async with policy, policy.open(Episode(id="1", seed=0, max_turns=3)) as agent:
        for heard in ("Very.", "Two days.", "Yes."):
            reply = await agent.reply(said)
            said += [Message(role="assistant", content=reply.content), user(heard)]
    assert reply.content == "<think>c</think>How late? "
    for turn, (prompt,) in enumerate(asked):
        messages = [Message(role="system", content="Ask."), *said[: 1 + 2 * turn]]
        assert prompt == chat.prompt(messages, where="")
        assert ("<think>c" in chat.tokenizer.decode(prompt)) == (name == "moving" and turn > 0)


async def test_a_thinking_models_prompts_continue_after_replies_without_thoughts(
    make_chat, thinking_templates
):
    chat = make_chat(thinking_templates["qwen3"])
    question = len(chat.tokenizer) - 1
    sampler, asked = rounds([[question, chat.end]] * 2, dialogues=1)
    policy = Policy(chat, sampler, {"backend": "Ask."})
    async with policy, policy.open(Episode(id="1", seed=0, max_turns=3)) as agent:
        reply = await agent.reply([user("Write it.")])
        await agent.reply([user("Write it."), reply, user("Very.")])
    first = [*asked[0][0], question, chat.end]
    assert asked[1][0][: len(first)] == first


async def test_a_round_has_all_unfinished_dialogues_in_order():
    sampler, asked = rounds([[1], [2]], dialogues=3)

    async def talk(name, turns):
        for _ in range(turns):
            await asyncio.sleep(0.01 * (3 - int(name)))
            await sampler.sample([int(name)], name)
        sampler.left()

    async with sampler:
        await asyncio.gather(talk("0", 2), talk("1", 1), talk("2", 2))
    assert asked == [[[0], [1], [2]], [[0], [2]]]


async def test_an_error_in_a_round_is_raised_when_the_sampler_closes():
    def generate(prompts):
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        async with Rounds(generate, dialogues=1, room=9) as sampler:
            assert (await sampler.sample([1], "0")).ids == ()


async def test_a_dialogue_that_is_too_long_is_an_agent_error():
    sampler, asked = rounds([[1]], dialogues=1, room=2)
    async with sampler:
        with pytest.raises(
            AgentError, match="3 tokens leave no room for a reply of max_new_tokens"
        ):
            await sampler.sample([1, 2, 3], "0")
    assert asked == []


def is_paused(clock):
    before = clock.seconds
    time.sleep(0.01)
    return clock.seconds == before


async def test_waiting_for_a_round_does_not_count_as_agent_time():
    clock, paused = Clock(60.0), []

    def generate(prompts):
        paused.append(is_paused(clock))
        return [[1]]

    async with Rounds(generate, dialogues=1, room=9) as sampler:
        assert (await clock.hear(lambda: sampler.sample([1], "0"))).ids == (1,)
    assert paused == [True]


async def test_waiting_for_a_server_does_not_count_as_agent_time(make_chat):
    clock, paused = Clock(60.0), []

    def answer(_):
        paused.append(is_paused(clock))
        return web.json_response(
            {"choices": [{"token_ids": [7], "logprobs": {"token_logprobs": [-0.5]}}]}
        )

    async with completions(answer) as (address, _), server(address, make_chat()) as sampler:
        assert (await clock.hear(lambda: sampler.sample([1], "0"))).ids == (7,)
    assert paused == [True]


@asynccontextmanager
async def completions(answer):
    """Yield the address of a server that completes token ids, and the requests that it received."""
    requests = []

    async def reply(request):
        requests.append(await request.json())
        reply = answer(requests[-1])
        return await reply if isawaitable(reply) else reply

    app = web.Application()
    app.router.add_post("/v1/completions", reply)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"http://{host}:{port}/", requests
    finally:
        await runner.cleanup()


def server(address, chat):
    given = GrpoSettings(temperature=0.7, max_new_tokens=5)
    return Server(address, "tiny", chat, given, concurrency=2)


async def test_a_server_gets_prompt_tokens_and_returns_tokens_with_logprobs(make_chat):
    def answer(_):
        choice = {"token_ids": [7, 3], "logprobs": {"token_logprobs": [-0.5, -0.25]}, "text": "x"}
        return web.json_response({"choices": [choice]})

    chat = make_chat()
    async with completions(answer) as (address, requests), server(address, chat) as sampler:
        said = await sampler.sample([4, 5, 6], "0")
    assert (said.ids, said.logprobs) == ((7, 3), (-0.5, -0.25))
    (asked,) = requests
    assert asked["prompt"] == [4, 5, 6]
    assert asked["stop_token_ids"] == [chat.end]
    assert (asked["model"], asked["temperature"], asked["max_tokens"]) == ("tiny", 0.7, 5)


@pytest.mark.parametrize(
    ("status", "error"), [(400, AgentError), (500, EndpointError), (200, EndpointError)]
)
async def test_status_400_is_an_agent_error_and_other_failures_are_endpoint_errors(
    status, error, make_chat
):
    def answer(_):
        return web.json_response({"error": "no"}, status=status)

    async with completions(answer) as (address, _), server(address, make_chat()) as sampler:
        with pytest.raises(error):
            await sampler.sample([4], "0")


async def test_an_unreachable_server_is_an_endpoint_error(make_chat):
    async with server("http://127.0.0.1:9", make_chat()) as sampler:
        with pytest.raises(EndpointError, match="127.0.0.1:9"):
            await sampler.sample([4], "0")


def rollout(*sampled, **fields):
    turns = tuple(Turn(raw="a", said="a", sampled=each) for each in sampled)
    given = {"key": "0", "task_id": "late", "task_hash": "a", "domain": "backend", "trial": 0}
    given |= {"seed": 0, "request": "r", "turns": turns, "answer": "a", "ended_by": "limit"}
    return Rollout(**{**given, **fields})


def test_a_dialogue_whose_prompts_continue_is_one_masked_sequence():
    found = dialogue_row(
        rollout(
            Sampled(prompt=(1, 2), ids=(3, 4), logprobs=(-0.1, -0.2)),
            Sampled(prompt=(1, 2, 3, 4, 5, 6), ids=(7,), logprobs=(-0.3,)),
        )
    )
    assert (found.prompt, found.completion) == ([1, 2], [3, 4, 5, 6, 7])
    assert found.mask == [1, 1, 0, 0, 1]
    assert found.logprobs == [-0.1, -0.2, 0.0, 0.0, -0.3]
    assert found.turns == [0, 0, 0, 0, 1]
    assert found.parts == [(2, 5)]


def test_a_dialogue_whose_prompts_do_not_continue_has_a_sequence_per_turn():
    found = dialogue_row(
        rollout(
            Sampled(prompt=(1, 2), ids=(3, 4), logprobs=(-0.1, -0.2)),
            Sampled(prompt=(1, 2, 4, 5), ids=(7,), logprobs=(-0.3,)),
        )
    )
    assert (found.prompt, found.completion) == ([1, 2], [3, 4, 1, 2, 4, 5, 7])
    assert found.mask == [1, 1, 0, 0, 0, 0, 1]
    assert found.logprobs == [-0.1, -0.2, 0.0, 0.0, 0.0, 0.0, -0.3]
    assert found.parts == [(2, 2), (4, 1)]


@pytest.mark.parametrize(("boundary", "error"), [("agent", DataError), ("endpoint", EndpointError)])
def test_a_failed_dialogue_without_turns_is_an_error(boundary, error):
    failure = Failure(boundary=boundary, reason="no room")
    with pytest.raises(error, match="late: its dialogue cannot be trained on: no room"):
        dialogue_row(rollout(failure=failure))


WITHOUT = """
import sys
sys.modules["trl"] = None
from sweet_rl_trainer.train.grpo.settings import require_trl
try:
    require_trl()
except Exception as error:
    print(type(error).__name__, error)
"""


def test_the_error_for_missing_trl_names_the_extra():
    command = [sys.executable, "-c", WITHOUT]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.stdout.startswith("UserError GRPO needs TRL"), said.stderr
    assert "colbench[train,grpo]" in said.stdout
