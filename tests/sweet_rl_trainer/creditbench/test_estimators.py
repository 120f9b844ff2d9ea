"""Estimators, compared with independent computations of their formulas."""

from __future__ import annotations

import math
import shutil
from itertools import combinations
from statistics import fmean, pstdev

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")
pytest.importorskip("transformers", reason="transformers is not installed (colbench[train])")

from msgspec.structs import replace

from colbench.messages import ANSWER_MARKER
from sweet_rl_trainer.creditbench.estimators import critic, groups, policy, returns, rules
from sweet_rl_trainer.creditbench.estimators.groups import Dialogue
from sweet_rl_trainer.creditbench.estimators.readers import Reader, replies
from sweet_rl_trainer.creditbench.truths import COST
from sweet_rl_trainer.data.privileged import state as stated
from sweet_rl_trainer.methods.credit.facts import guess_table
from sweet_rl_trainer.methods.credit.scale import NoScaleError
from sweet_rl_trainer.model.load import load_model
from sweet_rl_trainer.model.lora import adapt
from sweet_rl_trainer.model.tiny import build
from sweet_rl_trainer.settings import LoraSettings, Shape

torch.set_num_threads(1)
A, B = frozenset({"a"}), frozenset({"b"})
NONE = frozenset[str]()


@pytest.fixture(scope="module")
def bench(benches):
    """Return a task with one state, in its second turn."""
    found = benches[0]
    place = next(n for n, state in enumerate(found.states) if state.said)
    return replace(
        found, states=found.states[place : place + 1], truths=found.truths[place : place + 1]
    )


@pytest.fixture(scope="module")
def state(bench):
    return bench.states[0]


@pytest.fixture(scope="module")
def folders(tmp_path_factory, benches):
    """Return the folders of two models of the same shape with different weights."""
    texts = [
        text for bench in benches for text in (bench.task.request, bench.task.hidden.reference)
    ]
    made = []
    for seed in (1, 2):
        made.append(tmp_path_factory.mktemp(f"model{seed}"))
        build(made[-1], Shape(width=32, inner=64, vocabulary=400, context=4096, seed=seed), texts)
    return made


@pytest.fixture
def readers(folders, tmp_path):
    base, other = folders
    return [Reader(each, base, tmp_path / "computed", system="") for each in (base, other)]


def plain_logprobs(folder, reader, messages, reply, preface=""):
    """Return the log-probability of each token of a reply, from the template's text and the full logits."""
    text = "<|begin_of_text|>"
    for number, (role, content) in enumerate(messages):
        before = f"{preface}\n\n" if preface and not number else ""
        text += f"<|start_header_id|>{role}<|end_header_id|>\n\n{before}{content.strip()}<|eot_id|>"
    text += "<|start_header_id|>assistant<|end_header_id|>\n\n"
    tokenizer = reader.chat.tokenizer
    prompt = tokenizer(text, add_special_tokens=False).input_ids
    ids = [*tokenizer(reply, add_special_tokens=False).input_ids, tokenizer.eos_token_id]
    model = load_model(folder).double()
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([[*prompt, *ids]])).logits[0].log_softmax(-1)
    return [logits[len(prompt) - 1 + n, token].item() for n, token in enumerate(ids)]


def dialogue(heard, said):
    turns = [("user", heard[0])]
    for agent, human in zip(said, heard[1:], strict=True):
        turns += [("assistant", agent), ("user", human)]
    return turns


def test_questions_first_separates_questions_from_answers(bench, state):
    (scores,) = rules.questions_first(bench)
    assert [each.reward is None for each in state.candidates] == [bool(each) for each in scores]


@pytest.mark.parametrize("told_later", [0.0, 0.5])
def test_facts_credit_a_question_with_the_rise_of_the_potential(bench, state, told_later):
    table = guess_table(bench.task)

    def potential(known):
        rest = [name for name in table.hidden if name not in known]
        return sum(
            told_later ** len(more)
            * (1 - told_later) ** (len(rest) - len(more))
            * table.share({*known, *more})
            for size in range(len(rest) + 1)
            for more in combinations(rest, size)
        )

    (scores,) = rules.facts(bench, told_later)
    for each, score in zip(state.candidates, scores, strict=True):
        if each.reward is None:
            gain = potential({*state.told, *each.told}) - potential(state.told)
            assert score == pytest.approx(gain - COST)
        else:
            assert score == pytest.approx(each.reward - potential(state.told))


def test_facts_told_credits_the_share_of_revealed_decisions(bench, state):
    hidden = len(guess_table(bench.task).hidden)
    (scores,) = rules.facts_told(bench)
    for each, score in zip(state.candidates, scores, strict=True):
        if each.reward is None:
            assert score == pytest.approx(len(each.told) / hidden - COST)
        else:
            assert score == pytest.approx(each.reward - len(state.told) / hidden)


def test_more_continuations_come_closer_to_the_exact_value(benches):
    def error(count):
        gaps = []
        for bench in benches:
            for scores, truth in zip(returns.returns(bench, count), bench.truths, strict=True):
                exact = truth.candidates["hindsight tests"]
                gaps += [abs(one - other) for one, other in zip(scores, exact, strict=True)]
        return fmean(gaps)

    assert error(64) < error(16) < error(4)


def test_group_advantages_match_their_formulas():
    own = Dialogue(0.9, (A, NONE, B))
    group = [own, Dialogue(0.5, (A,)), Dialogue(0.1, (NONE, NONE)), Dialogue(0.3, (A, B))]
    rewards = [0.9, 0.5, 0.1, 0.3]
    outcome = (0.9 - fmean(rewards)) / (pstdev(rewards) + 1e-4)
    assert groups.grpo([group], 2, 2) == pytest.approx([outcome])
    turn = [0.0, 0.0, 0.5]  # of those that ask in turn 1
    told = (0.0 - fmean(turn)) / (pstdev(turn) + 1e-4)
    assert groups.mt_grpo([group], 1, 2) == pytest.approx([outcome + told])
    assert groups.mt_grpo([group], 3, 2) == pytest.approx([outcome]), "the answer's turn"


def test_the_unbiased_advantage_averages_over_ended_dialogues_too():
    group = [Dialogue(0.9, (A, NONE, B)), Dialogue(0.5, (A,))]
    group += [Dialogue(0.1, (NONE, NONE))] * (groups.SIZE - 2)
    returns_ = [0.9 - 0.5 * 0.5, 0.5 - 0.5 * 0.5, *[0.1] * (groups.SIZE - 2)]
    expected = returns_[0] - fmean(returns_)
    assert groups.unbiased([group], 2, 2) == pytest.approx([expected])


def test_group_estimators_score_each_candidate_reproducibly(bench, state):
    for estimator in groups.ESTIMATORS:
        (scores,) = estimator.score(bench)
        assert len(scores) == len(state.candidates)
        assert all(map(math.isfinite, scores))
        assert estimator.score(bench) == [scores], "the draws are the same"


def test_pmi_and_likelihood_match_mean_log_probabilities(bench, state, folders, readers):
    reader = readers[0]
    messages = dialogue(state.heard, state.said)
    preface = stated(bench.task.hidden.reference, bench.task.domain, "preamble").text
    (likely,), (found,) = policy.likelihood(bench, reader), policy.pmi(bench, reader)
    for number in (0, len(state.candidates) - 1):
        text = state.candidates[number].text
        plain = plain_logprobs(folders[0], reader, messages, text)
        told = plain_logprobs(folders[0], reader, messages, text, preface)
        assert likely[number] == pytest.approx(fmean(plain), abs=1e-4)
        assert found[number] == pytest.approx(fmean(told) - fmean(plain), abs=1e-4)


def test_the_self_teacher_reads_a_request_with_every_hidden_decision(
    bench, state, folders, readers
):
    facts = [fact.statement for fact in bench.task.hidden.facts if not fact.stated]
    start, _, signature = bench.task.request.rpartition(" The signature")
    opening = f"{start} {' '.join(facts)} The signature{signature}"
    told = dialogue((opening, *state.heard[1:]), state.said)
    (found,) = policy.self_teacher(bench, readers[0])
    text = state.candidates[0].text
    plain = plain_logprobs(folders[0], readers[0], dialogue(state.heard, state.said), text)
    informed = plain_logprobs(folders[0], readers[0], told, text)
    assert found[0] == pytest.approx(fmean(informed) - fmean(plain), abs=1e-4)


def test_gain_and_igpo_compare_the_reference_before_and_after_the_reply(
    bench, state, folders, readers
):
    def potential(heard, said):
        code = f"{ANSWER_MARKER}\n{bench.task.hidden.reference.strip()}"
        values = plain_logprobs(folders[0], readers[0], dialogue(heard, said), code)
        counted = len(
            readers[0]
            .chat.tokenizer(bench.task.hidden.reference.strip("\n"), add_special_tokens=False)
            .input_ids
        )
        return fmean(values[-1 - counted : -1])

    here = potential(state.heard, state.said)
    (gains,), (shares,) = policy.gain(bench, readers[0]), policy.igpo(bench, readers[0])
    question = state.candidates[0]
    after = potential(*state.after(question))
    assert gains[0] == pytest.approx(after - here - COST, abs=2e-4)
    assert shares[0] == pytest.approx(math.exp(after) - math.exp(here), abs=2e-4)
    answer = next(n for n, each in enumerate(state.candidates) if each.kind == "answer")
    assert gains[answer] == pytest.approx(state.candidates[answer].reward - here, abs=2e-4)
    assert shares[answer] == state.candidates[answer].reward


def test_infopo_compares_the_next_answer_with_and_without_the_reply(bench, state, folders, readers):
    from colbench_tasks import designs

    question = next(each for each in state.candidates if each.kind == "relevant")
    number = state.candidates.index(question)
    design = designs.of(bench.task)
    known = {*state.told, *question.told}
    known |= {fact.name for fact in bench.task.hidden.facts if fact.stated}
    choices = {n: (design.chosen if n in known else design.usual)[n] for n in design.chosen}
    answer = f"{ANSWER_MARKER}\n{design.source(choices)}"
    means = [
        fmean(
            plain_logprobs(
                folders[0],
                readers[0],
                dialogue((*state.heard, reply), (*state.said, question.text)),
                answer,
            )
        )
        for reply in (question.reply, policy.NO_REPLY)
    ]
    (found,) = policy.infopo(bench, readers[0])
    assert found[number] == pytest.approx(means[0] - means[1], abs=1e-4)


def test_critic_estimators_weight_the_same_log_ratios(bench, state, folders, readers):
    reference, trained = readers
    preface = stated(bench.task.hidden.reference, bench.task.domain, "preamble").text
    messages = dialogue(state.heard, state.said)

    def ratios(before, text, told):
        both = [
            plain_logprobs(folder, reference, before, text, preface if told else "")
            for folder in reversed(folders)
        ]
        return [one - other for one, other in zip(*both, strict=True)]

    text = state.candidates[0].text
    rho, blind = ratios(messages, text, True), ratios(messages, text, False)
    earlier = [
        each
        for turn, said in enumerate(state.said)
        for each in ratios(messages[: 2 * turn + 1], said, True)
    ]
    found = {
        each.name: each.score(bench)[0][0]
        for each in critic.estimators("SWEET", trained, reference)
    }
    expected = {
        "SWEET": fmean(rho),
        "SWEET, sum": sum(rho),
        "SWEET, one mean over tokens": fmean([*earlier, *rho]),
        "SWEET, without c": fmean(blind),
    }
    assert found == pytest.approx(expected, abs=2e-4)


def test_an_untrained_critic_scores_zero(bench, readers):
    reference = readers[0]
    for each in critic.estimators("SWEET", reference, reference):
        assert set(each.score(bench)[0]) == {0.0}


def test_a_value_head_gives_one_estimator_whose_scores_vary(bench, folders, tmp_path):
    from sweet_rl_trainer.model.value_head import load_value_model

    model = load_value_model(folders[1])
    with torch.no_grad():
        model.score.weight.normal_(generator=torch.Generator().manual_seed(1))
    model.save_pretrained(tmp_path / "value")
    reader = Reader(tmp_path / "value", folders[0], tmp_path / "computed", system="")
    reference = Reader(folders[0], folders[0], tmp_path / "computed", system="")
    (estimator,) = critic.estimators("value head", reader, reference)
    (scores,) = estimator.score(bench)
    assert len(set(scores)) > 1


@pytest.mark.parametrize("score", ["log-ratio", "value"])
def test_adapters_are_read_like_the_merged_model(score, bench, folders, tmp_path):
    base = folders[0]
    model = adapt(load_model(base, score=score), LoraSettings(rank=2))
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in (each for each in model.parameters() if each.requires_grad):
            weight.normal_(generator=generator, std=0.1)
    model.save_pretrained(tmp_path / "adapters")
    model.merge_and_unload().save_pretrained(tmp_path / "merged")
    adapters, merged = (
        Reader(tmp_path / name, base, tmp_path / "computed", system="")
        for name in ("adapters", "merged")
    )
    assert adapters.score == merged.score == score
    assert len({each.digest for each in (adapters, merged, Reader(base, base, tmp_path))}) == 3
    examples = replies(bench, adapters, told=True)
    (found,), (expected,) = adapters.sums(examples), merged.sums(examples)
    assert len(set(found)) > 1
    assert found == pytest.approx(expected, abs=1e-4)


def test_a_changed_chat_template_changes_the_key_of_a_model(folders, tmp_path):
    shutil.copytree(folders[0], tmp_path / "model")
    (tmp_path / "model" / "chat_template.jinja").write_text("{{ messages }}")
    one, other = (Reader(each, each, tmp_path) for each in (folders[0], tmp_path / "model"))
    assert one.digest == other.digest
    assert one.key != other.key


def test_scaled_gain_is_refused_with_too_few_answered_dialogues(bench, readers):
    with pytest.raises(NoScaleError, match="^only 1 answers have a potential"):
        policy.scaled_gain(bench, readers[0], [bench])
