"""The dialogues of GRPO, which follow the settings of the human as those of `colbench eval` do."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from msgspec.structs import replace

from colbench.config import RunConfig
from colbench.errors import UserError
from sweet_rl_trainer.train.grpo.environment import Environment
from sweet_rl_trainer.train.grpo.policy import Policy
from sweet_rl_trainer.train.grpo.samplers import Rounds


def play(chat, task, **settings):
    """Return a dialogue of one turn in which the agent says nothing."""
    config = RunConfig(max_turns=1, sandbox_workers=1, allow_unsafe_sandbox=True, **settings)
    sampler = Rounds(lambda prompts: [[chat.end] for _ in prompts], dialogues=1, room=1000)
    with Environment(config, [task]) as environment:
        (found,) = environment.play([task], Policy(chat, sampler, {"backend": ""}), name="0")
    return found


def test_the_request_includes_the_facts_that_the_settings_tell(make_chat, late):
    chat = make_chat()
    (fact,) = late.hidden.facts
    asked, told = (play(chat, late, told=what) for what in ("asked", "all"))
    assert asked.request == late.request
    assert told.request == f"{late.request} {fact.statement}"
    assert fact.statement in chat.tokenizer.decode(told.turns[0].sampled.prompt)


def test_telling_all_decisions_is_refused_if_they_are_unknown(late):
    task = replace(late, domain="frontend", hidden=replace(late.hidden, facts=()))
    with pytest.raises(UserError, match="the hidden decisions of late are not known"):
        Environment(RunConfig(told="all", allow_unsafe_sandbox=True), [task])


def test_a_dialogues_seed_depends_on_the_seed_of_the_settings(make_chat, late):
    chat = make_chat()
    one, same, other = (play(chat, late, seed=seed).seed for seed in (0, 0, 1))
    assert one == same != other
