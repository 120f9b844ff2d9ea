"""`gain`: the likelihood of the privileged information under the reference model, after the dialogue so far.

    Φ(o) = (1/|c|) Σ_i log π_ref(c_i | o, c_{<i})

c is the task's reference, read as the agent's answer to the dialogue: the chat template's prompt for the state o, the
answer marker, and then c. The mean is over the tokens of c only. This potential applies to any task with a reference.
It needs no critic, only one forward pass per uncached state. The gain of a question, Φ(o_{t+1}) − Φ(o_t), is the
information about c in the human's answer. PMI, log π(a|o,c) − log π(a|o), instead measures how well c predicts the
question.

Closest published work: information gain as a turn's reward in IGPO (arXiv 2510.14967) and InfoPO (arXiv 2603.00656).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain, groupby

from colbench.messages import ANSWER_MARKER
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.examples import Example
from sweet_rl_trainer.data.token_weights import weigh
from sweet_rl_trainer.data.tokens import OUTSIDE
from sweet_rl_trainer.methods.credit.state import State
from sweet_rl_trainer.train.scorer import Scorer, group_values

MARKER = f"{ANSWER_MARKER}\n"


class GainPotential:
    """A function that computes the potential Φ of states with a reference model.

    Φ is None for a state that has more than `max_length` tokens together with the task's reference c.
    """

    def __init__(self, reference: Scorer, chat: Chat, *, budget: int, max_length: int) -> None:
        """Create the function.

        Args:
            reference: Scorer for π_ref; its cache finds values by the content of the input.
            chat: The tokenizer and chat template of π_ref.
            budget: Maximum number of tokens in one row of a batch; this number determines memory use.
            max_length: Maximum number of tokens of a state plus the privileged information c.
        """
        self._reference = reference
        self._chat = chat
        self._budget = budget
        self._max_length = max_length

    def __call__(self, states: Sequence[State]) -> list[float | None]:
        """Return Φ (0 or less) of each state. A prefix that consecutive states of a task share is computed once."""
        examples = [told_example(state, self._chat) for state in states]
        fit = [number for number, each in enumerate(examples) if len(each.ids) <= self._max_length]
        groups = [
            group
            for _, numbers in groupby(fit, key=lambda number: states[number].task.hash)
            for group in rows([examples[number] for number in numbers], self._budget)
        ]
        computed = group_values(groups, self._reference, self._budget, "states")
        found = dict(zip(fit, chain.from_iterable(computed), strict=True))
        return [found.get(number) for number in range(len(states))]


def rows(examples: Sequence[Example], budget: int) -> Iterator[list[list[Example]]]:
    """Yield groups of consecutive examples, each example as `packing.Parts`.

    A group has at most `budget` tokens, unless it is a single longer example. A prefix that an example shares with the
    previous example is counted once.
    """
    from sweet_rl_trainer.model.packing import common_beginning

    group, tokens = list[list[Example]](), 0
    for each in examples:
        added = len(each.ids)
        if group:
            added -= common_beginning(group[-1][0].ids, each.ids)
        if group and tokens + added > budget:
            yield group
            group, tokens, added = [], 0, len(each.ids)
        group.append([each])
        tokens += added
    if group:
        yield group


def told_example(state: State, chat: Chat) -> Example:
    """Return the tokens of a state, followed by the tokens of the task's reference as the agent's answer.

    The token weights give a mean over the tokens of the reference.
    """
    where = f"{state.task.id}, turn {len(state.said) + 1}"
    before = [*chat.prompt(state.messages, where=where), *chat.encode(MARKER)]
    reference = chat.encode(state.task.hidden.reference.strip("\n"))
    weights = weigh([OUTSIDE] * len(before) + [0] * len(reference), "turn-mean")
    return Example(ids=array("i", [*before, *reference]), token_weights=array("f", weights))
