"""Properties of model servers' replies: recorded in each turn, counted in the report, shown during the run."""

from __future__ import annotations

import msgspec
import pytest

from colbench import evaluate_async
from colbench.cli.evaluate import retry_advice
from colbench.evaluation import Observer
from colbench.models.scripted_server import Fault, ScriptedServer
from colbench.report.console import print_report

ANSWER = "I WANT TO ANSWER: def f(x): return x"
FEW = {"tasks": "bundled:backend", "limit": 4, "concurrency": 4}


def asks_once(messages):
    return "Is it rounded?" if len(messages) < 3 else ANSWER


def reply(finish="stop", **fields):
    message = {"role": "assistant", "content": "Is it rounded?"} | fields
    body = {"choices": [{"message": message, "finish_reason": finish}]}
    return Fault(status=200, body=msgspec.json.encode(body).decode())


async def run(server, *, role="agent", **options):
    spec = f"openai:scripted@{server.base_url}"
    sides = {"agent": spec} if role == "agent" else {"agent": "interviewer", "human": spec}
    return await evaluate_async(**{**FEW, **sides, **options})


def first_of_dialogue(server, fault):
    """Return a function that gives the fault only for the first turn of each dialogue."""
    return lambda n: fault if len(server.requests[n - 1]["messages"]) == 2 else None


async def test_cut_replies_are_marked_counted_and_warned_about():
    server = ScriptedServer(asks_once)
    server.fault = first_of_dialogue(server, reply("length"))
    async with server:
        done = await run(server)
        report = done.write_report()
    first, last = done.rollouts[0].turns
    assert first.agent_delivery
    assert last.agent_delivery
    assert (first.agent_delivery.cut, last.agent_delivery.cut) == (True, False)
    found = report.domains["backend"].replies["agent"]
    assert (found.total, found.cut, found.empty) == (8, 4, 0)
    assert any("4 of the agent's 8 replies (50.0%) were cut" in each for each in report.warnings)
    assert "cut 4 (50.0%)" in (done.path / "report.html").read_text()


async def test_an_empty_reply_among_others_is_accepted_and_counted():
    server = ScriptedServer(asks_once)
    server.fault = first_of_dialogue(server, reply("content_filter", content=None))
    async with server:
        report = (await run(server)).write_report()
    found = report.domains["backend"].replies["agent"]
    assert (found.total, found.empty, found.filtered) == (8, 4, 4)
    assert report.domains["backend"].unscored == 0


async def test_a_dialogue_of_only_empty_replies_is_unscored_with_a_reason():
    async with ScriptedServer(asks_once, fault=lambda _: reply("length", content="")) as server:
        done = await run(server, max_turns=2)
    assert all(each.failure and each.failure.boundary == "endpoint" for each in done.rollouts)
    assert {each.failure.kind for each in done.rollouts if each.failure} == {"empty"}
    assert done.report.domains["backend"].unscored == 4
    assert done.rollouts[0].failure
    assert "finish_reason: length (2)" in done.rollouts[0].failure.reason


@pytest.mark.parametrize("role", ["agent", "human"])
async def test_advice_on_replies_cut_before_any_word_names_the_token_limit_flag(role, capsys):
    async with ScriptedServer(asks_once, fault=lambda _: reply("length", content="")) as server:
        done = await run(server, role=role, max_turns=2)
    flag = f"--{role}-arg max_tokens=N"
    assert retry_advice(done.report) == (
        f"replies reached the token limit before any word; use {flag} with a higher limit, and another --out"
    )
    print_report(done.report, done.path, short=True)
    assert f"raise the token limit with {flag}" in " ".join(capsys.readouterr().out.split())


async def test_the_advice_distinguishes_token_limit_failures_from_others():
    def fault(number):
        first, this = (server.requests[n]["messages"][1] for n in (0, number - 1))
        return reply("length", content="") if this == first else Fault(status=400, body="no")

    async with ScriptedServer(asks_once, fault=fault) as server:
        advice = retry_advice((await run(server, max_turns=2)).report)
    assert "--agent-arg max_tokens=N" in advice
    assert advice.endswith("; to retry the other unscored dialogues, repeat the command")
    async with ScriptedServer(asks_once, fault=lambda _: reply(content="")) as server:
        done = await run(server, max_turns=2)
    assert retry_advice(done.report) == "repeat the command to retry unscored dialogues"
    reasons = {each.failure.reason for each in done.rollouts if each.failure}
    assert reasons == {"every reply was empty (finish_reason: stop (2))"}


async def test_replies_with_only_private_text_are_scored():
    async with ScriptedServer(lambda _: "I think about the rounding.\nOUTPUT:") as server:
        done = await run(server, max_turns=2)
    assert [(each.answer, each.failure) for each in done.rollouts] == [("", None)] * 4


async def test_thoughts_of_agent_and_human_are_recorded_but_never_said():
    def thinks(messages):
        return f"<think>The secret. {ANSWER}</think>{asks_once(messages)}"

    async with ScriptedServer(thinks) as server:
        turn = (await run(server)).rollouts[0].turns[0]
    assert (turn.said, turn.thoughts) == ("Is it rounded?", f"The secret. {ANSWER}")
    assert turn.generated == turn.raw == f"<think>The secret. {ANSWER}</think>Is it rounded?"
    apart = reply(reasoning_content="The secret.")
    async with ScriptedServer(asks_once, fault=lambda _: apart) as server:
        turn = (await run(server, max_turns=1)).rollouts[0].turns[0]
    assert (turn.said, turn.raw, turn.thoughts) == ("Is it rounded?",) * 2 + ("The secret.",)
    assert turn.generated == "<think>\nThe secret.\n</think>\n\nIs it rounded?"
    async with ScriptedServer(lambda _: "<think>The secret.</think>No.") as server:
        turn = (await run(server, role="human")).rollouts[0].turns[0]
    assert (turn.human, turn.human_thoughts) == ("No.", "The secret.")


async def test_a_human_that_refuses_or_says_nothing_is_a_simulator_failure():
    for said, words in (
        (reply(content=None, refusal="I cannot."), "refused to reply: I cannot."),
        (reply("length", content=""), "raise the token limit with --human-arg max_tokens=N"),
        (reply("content_filter", content=""), "the provider's filter withheld"),
    ):
        async with ScriptedServer(asks_once, fault=lambda _, said=said: said) as server:
            done = await run(server, role="human", limit=1)
        (failure,) = [each.failure for each in done.rollouts]
        assert failure
        assert (failure.boundary, failure.kind) == ("simulator", "empty")
        assert words in failure.reason


async def test_a_field_that_a_server_rejects_is_recorded_and_warned_about():
    words = "Unsupported value: 'temperature' does not support 1.0 with this model."
    server = ScriptedServer(asks_once)
    server.fault = lambda n: (
        Fault(status=400, body=words) if "temperature" in server.requests[n - 1] else None
    )
    async with server:
        done = await run(server)
        report = done.write_report()
        again = await run(server, out=done.path)
    learned = ["it rejects `temperature`, so this field is not sent"]
    assert done.folder.record().learned == again.folder.record().learned == {"agent": learned}
    assert (
        "the agent's model: it rejects `temperature`, so this field is not sent" in report.warnings
    )


async def test_an_observer_is_notified_of_waiting_requests():
    class Listener(Observer):
        def __init__(self):
            self.told = []

        def on_wait(self, waits):
            self.told.append(list(waits))

    limited = Fault(status=429, body="slow down", headers={"Retry-After": "4"})
    listener = Listener()
    async with ScriptedServer(asks_once, fault=lambda n: limited if n <= 4 else None) as server:
        await run(server, observer=listener)
    assert "requests waiting for" in listener.told[0][0]
    assert "HTTP 429: slow down" in listener.told[0][0]
