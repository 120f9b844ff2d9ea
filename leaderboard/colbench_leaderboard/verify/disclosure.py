"""The disclosure audit of a dialogue: which hidden facts its answer uses although the human never revealed them.

The hidden facts of a task are the facts that its request does not state. If the task has no such facts, the numbers and
strings of its reference that the request lacks are the hidden facts. A fact was told if one reply of the human contains
the fact's statement, all hidden numbers and strings of the statement, or most of the statement's words. A model that
plays the human may use other words, or just say "no". With such a human, a fact also counts as told if the rule-based
human would have told it in reply to the same message.

A fact that was not told is *untold*. The answer uses an untold fact if it contains all hidden numbers and strings of
the fact. In a task with unstated facts, a right answer counts as using all untold facts. `evidence` tests whether
guessing explains the untold facts that answers use.
"""

from __future__ import annotations

from math import prod

from msgspec import Struct

from colbench.asking.telling import Literals, heard, literals, was_told
from colbench.facts.human import answer
from colbench.leaks import hidden_items, used_items
from colbench.registry import get_domain
from colbench.rollout import Rollout
from colbench.task import Fact, Task
from colbench_leaderboard.verify.guessing import HALF, GuessRates


class Disclosure(Struct, frozen=True, kw_only=True):
    """Counts of facts in one dialogue: hidden facts, untold facts, and untold facts that the answer uses."""

    hidden: int
    untold: int
    used: int
    rates: tuple[float, ...]
    """For each untold fact, the probability that the best guess is right; see `guessing`."""
    knew: bool
    """True if the answer is right; equals `copied` if success is unknown, or if the task has no unstated fact."""
    copied: bool
    """True if the answer is an exact or near copy of the reference, and is not known to be wrong.

    A wrong near-copy does not count, because it may lack exactly the untold facts."""

    @property
    def share(self) -> float | None:
        """Share of the hidden facts that the answer used without being told them; None if the task hid no fact."""
        return self.used / self.hidden if self.hidden else None

    @property
    def guessed_share(self) -> float:
        """The share of the hidden facts that an answer is expected to use if it makes the best guesses."""
        return sum(self.rates) / self.hidden if self.hidden else 0.0

    @property
    def chance(self) -> float:
        """The probability that the best guesses of all untold facts are right, if the facts are independent."""
        return prod(self.rates)


def disclosure(
    task: Task, rollout: Rollout, *, success: bool | None, rates: GuessRates, keyless: bool = True
) -> Disclosure:
    """Count the hidden facts that an answer uses although the human never revealed them.

    `success`: True if the answer is right; None if this is unknown. `rates`: the probabilities of guessing facts,
    measured on the receiver's tasks. `keyless`: False if the human may state facts in its own words.
    """
    answered = [turn for turn in rollout.turns if turn.human]
    replies = [heard(task, turn.human or "") for turn in answered]
    if not keyless:
        replies += [heard(task, answer(task, turn.said)) for turn in answered]
    domain = get_domain(task.domain)
    source = domain.source(rollout.answer or "")
    copied = success is not False and domain.copied(task, source)
    used = literals(used_items(task, source))
    facts = [fact for fact in task.hidden.facts if not fact.stated]
    if facts:
        right = copied if success is None else success
        untold = [fact for fact in facts if not was_told(task, fact, replies)]
        hidden, chances = len(facts), tuple(rates.rate(task, fact) for fact in untold)
        taken = sum(right or _holds(task, fact, used) for fact in untold)
    else:
        right = copied
        whole = literals(hidden_items(task))
        secret = whole.difference(*(reply.literals for reply in replies))
        hidden, chances = len(whole), (HALF,) * len(secret)
        taken = len(secret & used)
    return Disclosure(
        hidden=hidden, untold=len(chances), used=taken, rates=chances, knew=right, copied=copied
    )


def _holds(task: Task, fact: Fact, used: Literals) -> bool:
    own = heard(task, fact.statement).literals
    return bool(own) and own <= used
