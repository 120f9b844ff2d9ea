"""Estimators that use a language model that was not trained to estimate credit.

a is the candidate, L its number of tokens, o the dialogue, o_1 the request alone, o′ the dialogue with the human's
reply, c the task's reference, R the reward of an answer, and κ the cost of a question.

| estimator | score of a question | score of an answer |
|---|---|---|
| `likelihood` | log π(a|o) / L | the same |
| `PMI` | (log π(a|o,c) − log π(a|o)) / L | the same |
| `self-teacher` | (log π(a|o,f) − log π(a|o)) / L, f: the request with every open decision | the same |
| `gain` | Φ(o′) − Φ(o) − κ, Φ = log π(c|o) / the number of c's tokens (`credit.gain`) | R − Φ(o) |
| `gain, scaled` | as `gain`, with Φ′(o) = α + β (Φ(o) − Φ(o_1)) in place of Φ, fitted to the reward | R − Φ′(o) |
| `IGPO-like` | exp Φ(o′) − exp Φ(o); exp Φ is the geometric mean of the probabilities of c's tokens | R |
| `InfoPO-like` | log π(b|o′) − log π(b|o′ without the reply), a mean over the tokens of the next answer b | R |

Sources: IGPO, arXiv 2510.14967; InfoPO, arXiv 2603.00656; self-teacher (the same model with more information), arXiv
2601.20802 and 2605.24432. Only the scores are taken from these papers, not the rest of their training methods.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import exp

from colbench.asking.opening import opening
from colbench.messages import ANSWER_MARKER
from colbench.task import Task
from colbench_tasks import designs
from sweet_rl_trainer.creditbench.estimators.estimator import Estimator, Score, Scores
from sweet_rl_trainer.creditbench.estimators.readers import (
    BUDGET,
    MAX_LENGTH,
    Examples,
    Reader,
    informed_replies,
    replies,
)
from sweet_rl_trainer.creditbench.states import Bench, BenchState, Candidate, messages
from sweet_rl_trainer.creditbench.truths import COST
from sweet_rl_trainer.data.examples import Example
from sweet_rl_trainer.data.token_weights import weigh
from sweet_rl_trainer.data.tokens import OUTSIDE
from sweet_rl_trainer.methods.credit.advantage import answer_advantage, question_advantage
from sweet_rl_trainer.methods.credit.gain import GainPotential
from sweet_rl_trainer.methods.credit.scale import Line, Scaled, fit
from sweet_rl_trainer.methods.credit.state import Potential, State

NO_REPLY = "(no reply)"
"""Placeholder for the human's reply in the second term of `InfoPO-like`."""


def likelihood(bench: Bench, policy: Reader) -> list[Scores]:
    """Return the mean log-probability per token of each candidate."""
    return _rows(policy.sums(replies(bench, policy, told=False)))


def pmi(bench: Bench, policy: Reader) -> list[Scores]:
    """Return how much the mean log-probability of each candidate's tokens rises if the policy reads the reference c."""
    return _differences(bench, policy, replies(bench, policy, told=True))


def self_teacher(bench: Bench, policy: Reader) -> list[Scores]:
    """Return how much the mean log-probability of each candidate's tokens rises with an informed prompt.

    In this prompt, the request tells the model every open decision.
    """
    told = opening(bench.task, "all")
    return _differences(bench, policy, informed_replies(bench, policy, told))


def _differences(bench: Bench, policy: Reader, informed: Examples) -> list[Scores]:
    plain = policy.sums(replies(bench, policy, told=False))
    return [
        tuple(one - other for one, other in zip(*both, strict=True))
        for both in zip(policy.sums(informed), plain, strict=True)
    ]


def gain(bench: Bench, policy: Reader) -> list[Scores]:
    """Return the advantages that follow from the unscaled gain potential (`GainPotential`)."""
    return _advantages(bench, policy, _potential(policy))


def scaled_gain(bench: Bench, policy: Reader, benches: Sequence[Bench]) -> list[Scores]:
    """Return the advantages that follow from the gain potential, scaled to fit the rewards of the answers in `benches`.

    Raises NoScaleError if too few answers have a potential, or if the answers' rewards do not increase with the
    potential.
    """
    scaled = Scaled(_potential(policy), line(policy, benches), relative=True)
    return _advantages(bench, policy, scaled)


def line(policy: Reader, benches: Sequence[Bench]) -> Line:
    """Return the reward as a linear function of the gain Φ(o) − Φ(o_1), fitted to the best answers in all states.

    Raises NoScaleError in the same cases as `scaled_gain`.
    """
    ends = [
        (_state(bench.task, state, policy), each.reward)
        for bench in benches
        for state in bench.states
        for each in state.candidates
        if each.kind == "answer" and each.reward is not None
    ]
    return fit(_potential(policy), ends, relative=True)


def _advantages(bench: Bench, policy: Reader, potential: Potential) -> list[Scores]:
    return [
        tuple(
            _advantage(each, here, after)
            for each, after in zip(state.candidates, later, strict=True)
        )
        for state, here, later in _potentials(bench, policy, potential)
    ]


def _advantage(candidate: Candidate, here: float | None, after: float | None) -> float | None:
    if here is None or after is None:
        return None
    if candidate.reward is None:
        return question_advantage(here, after, cost=COST)
    return answer_advantage(here, candidate.reward)


def igpo(bench: Bench, policy: Reader) -> list[Scores]:
    """Score answers by their reward, and questions by how much they raise the reference's probability per token."""
    return [
        tuple(
            _gained(here, after) if each.reward is None else each.reward
            for each, after in zip(state.candidates, later, strict=True)
        )
        for state, here, later in _potentials(bench, policy, _potential(policy))
    ]


def _gained(here: float | None, after: float | None) -> float | None:
    return None if here is None or after is None else exp(after) - exp(here)


def _potential(policy: Reader) -> GainPotential:
    return GainPotential(policy.scorer, policy.chat, budget=BUDGET, max_length=MAX_LENGTH)


def _state(task: Task, state: BenchState, policy: Reader) -> State:
    return State(task=task, messages=messages(state.heard, state.said, policy.system(task)))


def _potentials(
    bench: Bench, policy: Reader, potential: Potential
) -> Iterator[tuple[BenchState, float | None, list[float | None]]]:
    """Yield each state, the state's potential Φ, and the potential after each of the state's candidates.

    A candidate that is an answer leaves the potential unchanged.
    """
    for state in bench.states:
        here = _state(bench.task, state, policy)
        later = [
            here.after(each.text, each.reply) if each.reward is None else here
            for each in state.candidates
        ]
        first, *others = potential([here, *later])
        yield state, first, others


def infopo(bench: Bench, policy: Reader) -> list[Scores]:
    """Score a question by how much the reply raises the mean log π of the next answer, and an answer by its reward."""
    groups = [
        [
            _next_answer(bench.task, state, each, policy, reply)
            for each in state.candidates
            if each.reward is None
            for reply in (each.reply, NO_REPLY)
        ]
        for state in bench.states
    ]
    sums = (iter(each) for each in policy.sums(groups))
    return [
        tuple(
            next(found) - next(found) if each.reward is None else each.reward
            for each in state.candidates
        )
        for state, found in zip(bench.states, sums, strict=True)
    ]


def _next_answer(
    task: Task, state: BenchState, candidate: Candidate, policy: Reader, reply: str
) -> Example:
    """Return the agent's answer after the human's `reply` to the candidate.

    The answer always uses what the recorded reply to the candidate reveals, even if `reply` is a different text.
    """
    design = designs.of(task)
    assert design  # noqa: S101 - every task with states has a design
    untold = {fact.name for fact in task.hidden.facts if not fact.stated}
    untold -= {*state.told, *candidate.told}
    choices = {
        name: (design.usual if name in untold else design.chosen)[name] for name in design.chosen
    }
    heard, said = (*state.heard, reply), (*state.said, candidate.text)
    before = messages(heard, said, policy.system(task))
    where = f"{state.id}, {candidate.text[:40]}"
    prompt = policy.chat.prompt(before, where=where)
    answer = policy.chat.reply(f"{ANSWER_MARKER}\n{design.source(choices)}", where=where)
    weights = weigh([OUTSIDE] * len(prompt) + [0] * len(answer), "turn-mean")
    return Example(ids=array("i", [*prompt, *answer]), token_weights=array("f", weights))


def _rows(sums: list[list[float]]) -> list[Scores]:
    return [tuple(each) for each in sums]


SCORES: dict[str, tuple[str, Callable[..., list[Scores]]]] = {
    "likelihood": ("`log π(a∣o) / L`", likelihood),
    "PMI": ("`(log π(a∣o,c) − log π(a∣o)) / L`", pmi),
    "self-teacher": (
        "`(log π(a∣o,f) − log π(a∣o)) / L`",
        self_teacher,
    ),
    "gain": ("as facts, but `Φ(o)` is the mean of `log π(c∣o)` over the tokens of `c`", gain),
    "IGPO-like": ("question: `exp Φ(o′) − exp Φ(o)`, `Φ` as in gain; answer: `R`", igpo),
    "InfoPO-like": (
        "question: how much the human's reply raises `log π(b∣o′)`, per token of `b`; answer: `R`",
        infopo,
    ),
}


def estimators(policy: Reader, benches: Sequence[Bench]) -> Iterator[Estimator]:
    """Yield the estimators that use a policy. The estimator `gain, scaled` is fitted to `benches`."""
    for name, (about, score) in SCORES.items():
        yield _estimator(policy, name, about, partial(score, policy=policy))
    scaled = partial(scaled_gain, policy=policy, benches=benches)
    about = "as gain, but `Φ(o)` is replaced by a linear function of `Φ(o) − Φ(o₁)` that is fitted to `R`"
    yield _estimator(policy, "gain, scaled", about, scaled)


def _estimator(policy: Reader, name: str, about: str, score: Score) -> Estimator:
    return Estimator(name=name, about=about, key=policy.key, costly=True, score=score)
