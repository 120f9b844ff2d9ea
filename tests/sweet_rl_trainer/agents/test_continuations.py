"""Continuations in real runs: the rule-based human, the rule-based agents and the sandbox, without a model."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from colbench.cli import main
from colbench.config import RunConfig
from colbench.errors import DataError, UserError
from colbench.messages import ANSWER_MARKER, Message
from colbench.models.scripted_server import ScriptedServer
from colbench.run_folder import RunFolder
from colbench.task import Task
from sweet_rl_trainer.agents.continuations import Consequence, HarnessContinuations
from sweet_rl_trainer.agents.replay import Plan, PrefixAgent, PrefixHuman, Script, distinguishable
from sweet_rl_trainer.data.runs import read_run
from sweet_rl_trainer.data.trajectories import Trajectory
from sweet_rl_trainer.methods.critic.montecarlo import agreement, compare, sample_turns
from sweet_rl_trainer.methods.ranking.turns import Candidates, Reply, Turn, opening

TASKS = 3


@pytest.fixture(scope="module")
def played(tmp_path_factory) -> tuple[RunConfig, dict[str, Task], list[Trajectory]]:
    """Return a run of the interviewer on a few bundled tasks, all of which it solves."""
    from colbench.plugins import resolve_tasks

    folder = tmp_path_factory.mktemp("played") / "run"
    main(["eval", "--limit", str(TASKS), "--max-turns", "12", "--out", str(folder)])
    tasks = {task.hash: task for task in resolve_tasks("bundled:backend")}
    trajectories = read_run(folder)
    assert [each.reward for each in trajectories] == [1.0] * TASKS
    return RunFolder(folder).record().config, tasks, trajectories


def scored(turn, replies):
    """Return a `ranking.turns.Scored`, whose module needs torch; earlier replies have higher scores."""
    pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
    from sweet_rl_trainer.methods.ranking.turns import Scored

    return Scored(
        candidates=Candidates(turn=turn, replies=tuple(Reply(text=text) for text in replies)),
        scores=tuple(float(len(replies) - n) for n in range(len(replies))),
        lengths=(1,) * len(replies),
    )


@pytest.mark.weekly
def test_a_good_question_returns_one_and_a_wrong_answer_zero(played, tmp_path):
    config, tasks, trajectories = played
    ranked = []
    for each in trajectories:
        wrong = (
            f"{ANSWER_MARKER}\ndef {tasks[each.task_hash].function_name}(*args):\n    return 'x'"
        )
        for number in (0, 2):
            replies = (each.replies[number], f"Let me think. OUTPUT: {each.replies[number]}", wrong)
            ranked.append(scored(Turn(trajectory=each, number=number), replies))
    sample = sample_turns(ranked, tasks, turns=10, candidates=3)
    continuations = HarnessContinuations(tmp_path, config)
    found = compare(sample, tasks, continuations, 2)
    assert [each.returns for each in found] == [(1.0, 1.0, 0.0)] * 2 * TASKS
    agreed = agreement(found)
    assert (agreed.pairwise.mean, agreed.turns, agreed.candidates) == (1.0, 2 * TASKS, 6 * TASKS)

    (folder,) = tmp_path.iterdir()
    rollouts = RunFolder(folder / "run").rollouts()
    assert len(rollouts) == 2 * TASKS * 3 * 2
    by_id = {(each.task_id, each.trial): each for each in rollouts}
    third = by_id[f"{trajectories[0].task_id}-opening-5", 1]  # the second candidate at its turn 3
    assert third.turns[2].raw.startswith("Let me think. OUTPUT: ")
    heard = [each.content for each in trajectories[0].messages if each.role == "user"]
    assert [turn.human for turn in third.turns[:-1]] == heard[1:]
    assert [turn.raw for turn in third.turns[3:]] == list(trajectories[0].replies[3:])

    lines = (folder / "run" / "rollouts.jsonl").read_bytes()
    again = compare(sample, tasks, continuations, 2)
    assert (again, list(tmp_path.iterdir())) == (found, [folder])
    assert (folder / "run" / "rollouts.jsonl").read_bytes() == lines


@pytest.mark.weekly
def test_returns_are_those_of_the_policy_that_continues(played, tmp_path):
    config, tasks, trajectories = played
    guessing = msgspec.structs.replace(config, agent="guesser")
    first, last = (
        opening(Turn(trajectory=trajectories[0], number=0), reply, tasks)
        for reply in (trajectories[0].replies[0], trajectories[0].replies[-1])
    )
    guessed, known = HarnessContinuations(tmp_path, guessing)([first, last], 1)
    assert guessed[0] < 1
    assert known == [1.0]
    assert HarnessContinuations(tmp_path, guessing)([], 1) == []


def test_the_consequence_of_a_reply_is_a_human_message_or_a_reward(played, tmp_path):
    config, tasks, trajectories = played
    whole = trajectories[0]
    first, last = Turn(trajectory=whole, number=0), Turn(trajectory=whole, number=2)
    heard = [each.content for each in whole.messages if each.role == "user"]
    openings = [
        opening(first, f"Hm. OUTPUT: {whole.replies[0]}", tasks),
        opening(first, whole.replies[-1], tasks),
        opening(last, f"{ANSWER_MARKER}\ndef nothing(): pass", tasks),
    ]
    once = msgspec.structs.replace(config, agent="blank", agent_args={})
    asked, right, wrong = HarnessContinuations(tmp_path, once).consequences(openings)
    assert asked == Consequence(said=whole.replies[0], heard=heard[1], reward=None)
    assert (right.heard, right.reward) == (None, 1.0)
    assert (wrong.heard, wrong.reward) == (None, 0.0)


@pytest.mark.weekly
def test_a_question_at_the_turn_limit_ends_the_dialogue(played, tmp_path):
    config, tasks, trajectories = played
    whole = trajectories[0]
    once = msgspec.structs.replace(config, agent="blank", agent_args={}, max_turns=1)
    begun = opening(Turn(trajectory=whole, number=0), whole.replies[0], tasks)
    (found,) = HarnessContinuations(tmp_path, once).consequences([begun])
    assert (found.heard, found.reward) == (None, 0.0)


@pytest.mark.weekly
def test_recorded_human_messages_are_replayed_before_the_human_continues(played, tmp_path):
    config, tasks, trajectories = played
    whole = trajectories[0]
    turn = Turn(trajectory=whole, number=2)
    begun = opening(turn, "OUTPUT: Hm?", tasks)
    other = msgspec.structs.replace(begun, heard=(begun.heard[0], "Who knows.", begun.heard[2]))
    HarnessContinuations(tmp_path, config)([begun, other], 1)
    (folder,) = tmp_path.iterdir()
    one, two = RunFolder(folder / "run").rollouts()
    assert {one.turns[0].human, two.turns[0].human} == {begun.heard[1], "Who knows."}
    assert one.turns[2].human == two.turns[2].human  # by the human itself


@pytest.mark.slow
async def test_a_model_continues_an_opening_with_its_prompt_and_new_seeds(played, tmp_path):
    config, tasks, trajectories = played
    whole = trajectories[0]
    turn = Turn(trajectory=whole, number=1)
    begun = opening(turn, f"A private thought. OUTPUT: {whole.replies[1]}", tasks)
    async with ScriptedServer(lambda _: whole.replies[-1]) as server:
        model = f"openai:{server.model}@{server.base_url}"
        prompt = tmp_path / "prompt.txt"
        prompt.write_text("You have {max_turns} messages.")
        then = msgspec.structs.replace(
            config, agent=model, agent_args={"temperature": 0.5}, agent_prompt=str(prompt)
        )
        play = HarnessContinuations(tmp_path / "played", then)
        assert await asyncio.to_thread(play, [begun], 2) == [[1.0, 1.0]]
    asked = [each["messages"] for each in server.requests]
    assert asked[0] == asked[1]
    assert [said["role"] for said in asked[0]] == ["system", *["user", "assistant"] * 2, "user"]
    heard = [each.content for each in whole.messages if each.role == "user"]
    expected = ["You have 12 messages.", heard[0], whole.replies[0], heard[1], whole.replies[1]]
    assert [said["content"] for said in asked[0]] == [*expected, heard[2]]
    assert {each["temperature"] for each in server.requests} == {0.5}
    assert len({each["seed"] for each in server.requests}) == 2


def test_a_failed_continuation_raises_an_error_with_the_log(played, tmp_path):
    config, tasks, trajectories = played
    begun = opening(Turn(trajectory=trajectories[0], number=0), "Hm?", tasks)
    nobody = msgspec.structs.replace(config, agent="nobody")
    with pytest.raises(
        UserError, match=r"produced no scored dialogue:\n(.|\n)*--agent nobody: unknown"
    ):
        HarnessContinuations(tmp_path, nobody)([begun], 1)


def plan(**changes):
    given = {"agent": "blank", "agent_args": {}, "human": "keyless", "human_args": {}}
    return Plan(**{**given, "seed": 0, "trials": 2, "scripts": (), **changes})


def test_an_invalid_plan_and_indistinguishable_dialogues_are_refused(tmp_path):
    path = tmp_path / "plan.json"
    with pytest.raises(DataError, match="plan.json is not a plan of continuations"):
        PrefixAgent(plan=str(path))
    path.write_text("{}")
    with pytest.raises(DataError, match="plan.json is not a plan of continuations"):
        PrefixHuman(plan=str(path))
    script = Script(task_id="a", task_hash="b", heard=("Write it.",), replies=("Late?",))
    path.write_bytes(msgspec.json.encode(plan(scripts=(script, script))))
    with pytest.raises(DataError, match="two of its dialogues have the same request and seed"):
        PrefixAgent(plan=str(path))
    path.write_bytes(msgspec.json.encode(plan(scripts=(script,))))
    agent, human = PrefixAgent(plan=str(path)), PrefixHuman(plan=str(path))
    assert agent.describe()["then_class"] == "colbench_agents.blank:Blank"
    assert agent.describe()["plan"] == human.describe()["plan"]


def test_a_plan_takes_the_next_seed_that_distinguishes_its_dialogues():
    few = plan(scripts=(Script(task_id="a", task_hash="b", heard=("Write it.",), replies=("?",)),))
    assert distinguishable(few) is few
    many = next(
        each
        for seed in range(100)
        if distinguishable(each := msgspec.structs.replace(few, seed=seed, trials=60_000)).seed
        != seed
    )
    assert distinguishable(many).seed > many.seed
    assert distinguishable(distinguishable(many)) == distinguishable(many)


async def test_the_continuing_agent_is_started_and_stopped(tmp_path):
    path = tmp_path / "plan.json"
    source = tmp_path / "counting.py"
    source.write_text(
        "calls = []\n"
        "class Agent:\n"
        "    domains = ('backend',)\n"
        "    async def __aenter__(self):\n"
        "        calls.append('in')\n"
        "    async def __aexit__(self, *error):\n"
        "        calls.append('out')\n"
        "    def use_renderer(self, renderer):\n"
        "        calls.append(renderer)\n"
        "    def use_resources(self, resources):\n"
        "        calls.append(resources)\n"
        "    async def reply(self, dialogue):\n"
        "        return calls\n"
    )
    path.write_bytes(msgspec.json.encode(plan(agent=f"{source}:Agent")))
    agent = PrefixAgent(plan=str(path))
    assert agent.domains == ("backend",)
    agent.use_renderer("a renderer")
    agent.use_resources("resources")
    async with agent:
        calls = await agent.then.reply([Message(role="user", content="Write it.")])
        assert calls == ["a renderer", "resources", "in"]
    assert calls == ["a renderer", "resources", "in", "out"]
