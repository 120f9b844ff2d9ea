"""The compared arms, each as changes to the shared recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from colbench.errors import UserError


class Arm(Struct, frozen=True, kw_only=True):
    """A row of the report's tables: a training method, its settings, and how many times the method is applied."""

    name: str
    label: str
    """Name of the arm in the report."""
    what: str
    """A one-sentence description for readers who know the methods by name."""
    goal: str = ""
    """The goal of a method (`pipeline.method.goals`) that trains the policy; "" for the base itself, which is not
    trained further."""
    changes: Mapping[str, Any] = {}
    """Changes to the shared recipe, by key."""
    rate_of: str = ""
    """The arm whose chosen learning rate this arm uses; "" if a rate is chosen for this arm."""
    iterations: int = 3
    """Number of iterations; a lower `World.iterations` takes precedence.

    Each iteration runs new dialogues with the current policy, which is also the reference model.
    """
    dialogues: int = 1
    """Factor for `World.trials`, the number of dialogues on each task in an iteration."""


def _consequences(scores: str, **changes: Any) -> dict[str, Any]:
    """Return the settings of an arm that credits replies by their consequences; `changes` override these settings.

    Unless overridden, the arm trains by DPO, and imitates successful answers.
    """
    return {
        "sample.all_answers": True,
        "rank.scores": scores,
        "rank.pairs": "margin",
        "rank.margin": 0.02,
        "actor.imitate": "successes",
        "actor.train.likelihood_weight": 1.0,
        "actor.train.batch_size": 38,  # pairs of answers are longer than those of questions
        **changes,
    }


IMITATED = {"actor.loss": "nll", "actor.imitate": "chosen", "actor.train.batch_size": 72}
ANCHORED = {"actor.imitate": "chosen"}
UNFILTERED = {"rft.at_least": 0.0, "rft.answered": True}
BY_TURN = {"grpo.train.credit": "turn", "grpo.train.loss": "dr_grpo", "grpo.train.scale": "none"}

ARMS: tuple[Arm, ...] = (
    Arm(name="zero-shot", label="Zero-shot", what="the base model without further training"),
    Arm(
        name="rft",
        label="Rejection fine-tuning",
        what="imitates successful dialogues of the policy",
        goal="rft",
    ),
    Arm(
        name="mtdpo",
        label="Multi-turn DPO",
        what="DPO on pairs of a successful and an unsuccessful dialogue about the same task",
        goal="mtdpo",
    ),
    Arm(
        name="sweet",
        label="SWEET-RL",
        what=(
            "a critic with privileged information learns from the same pairs and scores "
            "candidate replies; DPO on pairs of candidates"
        ),
        goal="actor",
    ),
    Arm(
        name="gain",
        label="Gain",
        what=(
            "a question is credited with what its answer adds to the reference model's log-likelihood of "
            "the hidden code, and an answer with its tests; DPO on pairs of replies"
        ),
        goal="actor",
        changes=_consequences("gain"),
    ),
    Arm(
        name="facts",
        label="Facts",
        what=(
            "exact credit: a question is credited with the expected gain in tests passed from what its answer "
            "reveals, minus the cost of a question, and an answer with its tests; DPO on pairs of replies"
        ),
        goal="actor",
        changes=_consequences("facts"),
    ),
    Arm(
        name="facts-nll",
        label="Facts, imitated",
        what="the pairs of facts; the chosen replies are imitated, and the rejected ones are not used",
        goal="actor",
        changes=_consequences("facts", **IMITATED),
    ),
    Arm(
        name="gain-nll",
        label="Gain, imitated",
        what="the pairs of gain; the chosen replies are imitated, and the rejected ones are not used",
        goal="actor",
        rate_of="facts-nll",
        changes=_consequences("gain", **IMITATED),
    ),
    Arm(
        name="sweet-nll",
        label="SWEET-RL, imitated",
        what="the pairs of SWEET-RL; the chosen replies are imitated, and the rejected ones are not used",
        goal="actor",
        rate_of="facts-nll",
        changes=IMITATED,
    ),
    Arm(
        name="facts-anchored",
        label="Facts, all chosen replies in the NLL",
        what="the pairs of facts; DPO, and the NLL of all chosen replies instead of successful answers",
        goal="actor",
        rate_of="facts-nll",
        changes=_consequences("facts", **ANCHORED),
    ),
    Arm(
        name="grpo",
        label="GRPO",
        what="learns online from the outcomes of groups of dialogues about a task",
        goal="grpo",
        iterations=1,
    ),
    Arm(
        name="grpo-turn",
        label="GRPO, credit by turn",
        what="a turn is credited with what the dialogue gains from it and later turns, by the facts revealed; unbiased",
        goal="grpo",
        rate_of="grpo",
        iterations=1,
        changes=BY_TURN,
    ),
    Arm(
        name="fic",
        label="Self-teacher",
        what="at the answer turn, imitates the answers of the same model told everything",
        goal="fic",
    ),
    Arm(
        name="turn-rft",
        label="Turn-wise RFT",
        what="RFT that filters turns: imitates questions with positive exact credit (facts), and successful answers",
        goal="turn-rft",
        changes={"turn-rft.scores": "facts"},
    ),
    Arm(
        name="turn-rft-gain",
        label="Turn-wise RFT, gain",
        what="turn-wise RFT with the credit of gain",
        goal="turn-rft",
        rate_of="turn-rft",
        changes={"turn-rft.scores": "gain"},
    ),
    Arm(
        name="rft-1",
        label="Rejection fine-tuning, one iteration",
        what="imitates successful dialogues of the base, a third of the dialogues and steps",
        goal="rft",
        rate_of="rft",
        iterations=1,
    ),
    Arm(
        name="turn-rft-1",
        label="Turn-wise RFT, one iteration",
        what="turn-wise RFT on the same dialogues",
        goal="turn-rft",
        rate_of="turn-rft",
        iterations=1,
        changes={"turn-rft.scores": "facts"},
    ),
    Arm(
        name="rft-unfiltered",
        label="Unfiltered RFT",
        what="imitates all dialogues of the policy that have an answer",
        goal="rft",
        rate_of="rft",
        changes=UNFILTERED,
    ),
    Arm(
        name="rft-once",
        label="Rejection fine-tuning once, same dialogues and steps",
        what="imitates successful dialogues of the base in one iteration",
        goal="rft",
        rate_of="rft",
        iterations=1,
        dialogues=3,
        changes={"rft.train.max_steps": 48},
    ),
    Arm(
        name="pmi",
        label="PMI scorer",
        what="scores a candidate by the increase in its log-likelihood given the privileged "
        "information",
        goal="actor",
        rate_of="sweet",
        changes={"rank.scores": "pmi"},
    ),
)

NAMED = {arm.name: arm for arm in ARMS}


def chosen(names: tuple[str, ...], only: tuple[str, ...] = ()) -> list[Arm]:
    """Return the arms in `names` or, if `only` is not empty, just the arms in `only`.

    Raises UserError if a name in `only` is missing from `names`.
    """
    for name in only:
        if name not in names:
            raise UserError(f"--only {name}: expected one of {', '.join(names)}")
    return [NAMED[name] for name in names if not only or name in only]
