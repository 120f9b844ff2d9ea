"""Candidates from the shipped scripted server, from a tiny model, and from disk."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from colbench.errors import DataError, EndpointError, UserError
from colbench.messages import Sampled
from colbench.models.openai_chat import OpenAIChat
from colbench.models.scripted_server import Fault, ScriptedServer
from sweet_rl_trainer.data.tokens import encode_prompt
from sweet_rl_trainer.methods.ranking.candidates import CandidateFile, Sampler
from sweet_rl_trainer.methods.ranking.local import sample_in_process as sample_lazily
from sweet_rl_trainer.methods.ranking.server import sample_from_server
from sweet_rl_trainer.methods.ranking.turns import encode_candidates, turns_of

torch.set_num_threads(1)

FOUR = Sampler(model="scripted", count=4, max_tokens=6)


def counting():
    """Return a script that adds a different number to each reply."""
    numbers = itertools.count()
    return lambda messages: f"{messages[-1].content} {next(numbers)}"


async def ask(server, turns, file, sampler=FOUR, retries=0, **options):
    async with OpenAIChat(f"scripted@{server.base_url}", retries=retries, concurrency=8) as chat:
        return list(await sample_from_server(turns, chat, sampler, file, **options))


@pytest.fixture
def file(tmp_path):
    return CandidateFile(tmp_path / "candidates.jsonl")


def sample_in_process(*values, **options):
    return list(sample_lazily(*values, **options))


def reopened(file):
    return CandidateFile(file.path)


async def test_each_turn_has_n_candidates_from_the_context_of_the_agent(dialogue, file):
    turns = turns_of([dialogue()])
    async with ScriptedServer(counting()) as server:
        found = await ask(server, turns, file)
    assert [each.turn for each in found] == turns
    assert [len({reply.text for reply in each.replies}) for each in found] == [4, 4]
    assert {reply.text.rpartition(" ")[0] for reply in found[1].replies} == {"No."}
    contexts = [[m["content"] for m in body["messages"]] for body in server.requests]
    assert contexts == [["Write it."]] * 4 + [["Write it.", "Late?", "No."]] * 4
    assert len({body["seed"] for body in server.requests}) == 8
    assert {(body["temperature"], body["max_tokens"]) for body in server.requests} == {(1.0, 6)}


async def test_prompt_and_reply_tokens_are_those_of_the_server(dialogue, file):
    async with ScriptedServer(lambda _: "hi") as server:
        (found,) = await ask(server, turns_of([dialogue()])[:1], file)
    assert bytes(found.prompt) == b"user: Write it."
    assert [bytes(reply.ids) for reply in found.replies] == [b"hi\0"] * 4


async def test_candidates_on_disk_are_not_requested_again(dialogue, file):
    turns = turns_of([dialogue()])
    async with ScriptedServer(counting()) as server:
        first = await ask(server, turns[:1], file)
        both = await ask(server, turns, reopened(file))
        assert len(server.requests) == 8
        assert await ask(server, turns, reopened(file)) == both
        assert len(server.requests) == 8
    assert both[0] == first[0]


@pytest.mark.parametrize(
    "changes",
    [{"seed": 1}, {"count": 3}, {"temperature": 0.5}, {"max_tokens": 7}, {"model": "other"}],
)
async def test_another_sampler_shares_neither_candidates_nor_seeds(changes, dialogue, file):
    given = {"model": "scripted", "count": 4, "max_tokens": 6, **changes}
    turns = turns_of([dialogue()])[:1]
    async with ScriptedServer(counting()) as server:
        await ask(server, turns, file)
        before = {body["seed"] for body in server.requests}
        (found,) = await ask(server, turns, file, Sampler(**given))
    assert len(found.replies) == given["count"]
    assert before.isdisjoint(body["seed"] for body in server.requests[4:])


async def test_turns_with_the_same_context_share_their_candidates(dialogue, file):
    turns = [turns_of([dialogue(name)])[0] for name in ("one", "other")]
    async with ScriptedServer(counting()) as server:
        one, other = await ask(server, turns, file)
    assert len(server.requests) == 4
    assert one.replies == other.replies
    assert other.turn.trajectory.id == "other"


async def test_candidates_finished_before_a_server_failure_are_kept(dialogue, file):
    turns = turns_of([dialogue(str(n), heard=(f"Task {n}.", "No.")) for n in range(3)])

    def fails(number):
        return Fault(status=500, body="out of order") if number > 14 else None

    async with ScriptedServer(counting(), fault=fails) as server:
        with pytest.raises(EndpointError, match="out of order"):
            await ask(server, turns, file)
    kept = file.path.read_bytes().splitlines()
    assert 0 < len(kept) < 6
    async with ScriptedServer(counting()) as server:
        found = await ask(server, turns, reopened(file))
    assert len(server.requests) == 4 * (6 - len(kept))
    assert [each.turn for each in found] == turns
    assert file.path.read_bytes().splitlines()[: len(kept)] == kept


async def test_a_context_too_long_for_the_server_is_left_out_and_counted(dialogue, file):
    turns, dropped = turns_of([dialogue()]), Counter()
    server = ScriptedServer(counting())

    def fault(n):
        long = len(server.requests[n - 1]["messages"]) == max(
            len(turn.trajectory.context(turn.number)) for turn in turns
        )
        return Fault(status=400, body="maximum context length") if long else None

    server.fault = fault
    async with server:
        found = await ask(server, turns, file, dropped=dropped)
    assert len(found) == 1
    assert dropped == {"context too long for the server": 1}


async def test_a_server_without_token_ids_is_refused_unless_tokens_is_false(dialogue, file):
    body = '{"choices": [{"message": {"content": "hi"}}]}'
    turns = turns_of([dialogue()])[:1]
    async with ScriptedServer(counting(), fault=lambda _: Fault(status=200, body=body)) as server:
        with pytest.raises(UserError, match="does not return the token IDs"):
            await ask(server, turns, file)
        (found,) = await ask(server, turns, file, tokens=False)
    assert [(reply.text, reply.ids) for reply in found.replies] == [("hi", ())] * 4
    assert found.prompt == ()


def test_an_incomplete_line_is_removed_and_sampled_again(dialogue, file, byte_model, chat):
    turns = turns_of([dialogue()])
    whole = sample_in_process(turns, byte_model(), chat, FOUR, file)
    content = file.path.read_bytes()
    file.path.write_bytes(content[:-9])
    assert sample_in_process(turns, byte_model(), chat, FOUR, reopened(file)) == whole
    assert file.path.read_bytes() == content


def test_a_damaged_line_is_named(file):
    file.path.write_bytes(b'{"key": "a", "replies": []}\n{]\n')
    with pytest.raises(DataError, match=r"candidates\.jsonl:2: .*remove the line"):
        reopened(file)


def test_two_writers_of_one_file_are_refused(file):
    with (
        file.writing(),
        pytest.raises(UserError, match="in use by another"),
        reopened(file).writing(),
    ):
        pass


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"count": 1}, "count 1: expected at least 2 candidates"),
        ({"max_tokens": 0}, "max_tokens 0: must be at least 1"),
        ({"temperature": 0.0}, "temperature 0: must be above 0"),
    ],
)
def test_a_sampler_with_invalid_settings_is_refused(changes, words):
    with pytest.raises(UserError, match=f"^{words}"):
        Sampler(model="m", **changes)


def test_candidates_of_a_turn_do_not_depend_on_the_other_turns(
    dialogue, file, byte_model, chat, tmp_path
):
    turns = turns_of([dialogue()])
    both = sample_in_process(turns, byte_model(), chat, FOUR, file)
    torch.manual_seed(5)
    state = torch.get_rng_state()
    alone = CandidateFile(tmp_path / "alone.jsonl")
    assert sample_in_process(turns[1:], byte_model(), chat, FOUR, alone) == both[1:]
    assert torch.equal(torch.get_rng_state(), state)
    assert len({reply.ids for each in both for reply in each.replies}) > 4


def test_a_reply_ends_at_its_first_end_token(dialogue, file, byte_model, chat):
    model = byte_model(tie_word_embeddings=False)
    with torch.no_grad():
        model.lm_head.weight[[chat.end, 1]] = model.lm_head.weight.mean(0) * 0
    model.generation_config.eos_token_id = 1
    sampler = Sampler(model="m", count=256, max_tokens=40)
    (found,) = sample_in_process(turns_of([dialogue()])[:1], model, chat, sampler, file)
    ended = [reply for reply in found.replies if {chat.end, 1} & set(reply.ids)]
    assert len(ended) > 5
    assert {reply.ids[-1] for reply in ended} == {chat.end, 1}
    assert all(not {chat.end, 1} & set(reply.ids[:-1]) for reply in found.replies)
    assert all(len(reply.ids) == 40 for reply in found.replies if reply not in ended)
    encode_candidates(found, chat, "turn-mean")  # it compares words with tokens


def test_sampling_ignores_the_generation_config_of_the_checkpoint(
    dialogue, file, byte_model, chat, tmp_path
):
    turns = turns_of([dialogue()])[:1]
    plain = sample_in_process(turns, byte_model(), chat, FOUR, file)
    model = byte_model()
    own = model.generation_config
    own.update(top_k=1, top_p=0.1, repetition_penalty=5.0, min_p=0.9)
    other = CandidateFile(tmp_path / "other.jsonl")
    assert sample_in_process(turns, model, chat, FOUR, other) == plain
    assert model.generation_config is own


def test_replies_follow_the_distribution_of_the_model(dialogue, file, byte_model, chat):
    model = byte_model()
    sampler = Sampler(model="m", count=4000, max_tokens=1)
    (turn,) = turns_of([dialogue()])[:1]
    (found,) = sample_in_process([turn], model, chat, sampler, file)
    drawn = torch.bincount(torch.tensor([each.ids[0] for each in found.replies]), minlength=260)
    prompt = torch.tensor([encode_prompt(turn.trajectory, 0, chat)])
    with torch.no_grad():
        expected = model(input_ids=prompt).logits[0, -1].softmax(-1) * 4000
    common = expected > 40
    assert common.sum() > 5
    deviation = (drawn - expected)[common] / expected[common].sqrt()
    assert deviation.abs().max() < 4.5


def test_replies_continue_the_recorded_prompt_tokens(dialogue, file, byte_model, chat):
    recorded = Sampled(prompt=(7, 8, 9), ids=(*chat.encode("Late?"), chat.end), logprobs=())
    told = dialogue(sampled=(recorded, None))
    (found,) = sample_in_process(turns_of([told])[:1], byte_model(), chat, FOUR, file)
    assert found.prompt == (7, 8, 9)
    (example, *_) = encode_candidates(found, chat, "sum")
    assert example.ids[:3].tolist() == [7, 8, 9]


def test_a_context_without_room_for_a_reply_is_left_out_and_counted(
    dialogue, file, byte_model, chat
):
    long = dialogue("long", heard=("x" * 1000, "No."))
    dropped = Counter()
    found = sample_in_process(
        turns_of([long, dialogue()]), byte_model(), chat, FOUR, file, dropped=dropped
    )
    assert [each.turn.trajectory.id for each in found] == ["d", "d"]
    assert dropped == {"no room for a reply of 6 tokens": 2}


def test_a_data_fraction_takes_whole_dialogues_and_larger_ones_contain_it(dialogue):
    dialogues = [dialogue(str(n)) for n in range(50)]
    tenth = turns_of(dialogues, data_fraction=0.1)
    assert len(tenth) == 10
    assert [turn.number for turn in tenth] == [0, 1] * 5
    half = turns_of(dialogues, data_fraction=0.5)
    assert {turn.name for turn in tenth} < {turn.name for turn in half}
    names = [turn.trajectory.id for turn in half]
    assert names == sorted(names, key=int)
    assert turns_of(dialogues, data_fraction=0.1, seed=1) != tenth
    assert len(turns_of(dialogues)) == 100
    assert len(turns_of(dialogues[:3], data_fraction=0.1)) == 2


@pytest.mark.parametrize("share", [0.0, -1.0, 1.5])
def test_an_invalid_data_fraction_is_refused(share):
    with pytest.raises(UserError, match="data_fraction"):
        turns_of([], data_fraction=share)
