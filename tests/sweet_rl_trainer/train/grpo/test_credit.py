"""The credit of turns: its expectation, by enumeration of all groups of dialogues, and its parts."""

from __future__ import annotations

import itertools
import math

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (colbench[train])")

from msgspec.structs import replace

from colbench.rollout import Rollout, Turn
from colbench.task import Fact
from sweet_rl_trainer.train.grpo.credit import shares_told, turn_advantages

TURNS = 3
DIALOGUES = [
    # the actions with their states, the reward, and the share of facts told before each turn
    ((("start", "right"),), 0.9, (0.0, 0.0, 0.0)),
    ((("start", "wrong"),), 0.1, (0.0, 0.0, 0.0)),
    ((("start", "good"), ("told", "right")), 1.0, (0.0, 1.0, 1.0)),
    ((("start", "good"), ("told", "wrong")), 0.3, (0.0, 1.0, 1.0)),
    ((("start", "bad"), ("untold", "right")), 0.7, (0.0, 0.0, 0.0)),
    ((("start", "bad"), ("untold", "wrong")), 0.0, (0.0, 0.0, 0.0)),
    ((("start", "bad"), ("untold", "good"), ("late", "right")), 0.8, (0.0, 0.0, 0.5)),
    ((("start", "bad"), ("untold", "good"), ("late", "wrong")), 0.2, (0.0, 0.0, 0.5)),
]
"""All dialogues of a policy that ends them itself: by a right or wrong answer instead of a question."""
STATES = {
    "start": ("right", "wrong", "good", "bad"),
    "told": ("right", "wrong"),
    "untold": ("right", "wrong", "good"),
    "late": ("right", "wrong"),
}


class Policy:
    """A softmax over the actions of each state."""

    def __init__(self):
        generator = torch.Generator().manual_seed(3)
        actions = [(state, action) for state, names in STATES.items() for action in names]
        self.logits = torch.randn(len(actions), generator=generator, dtype=torch.float64)
        self.logits.requires_grad_()
        self._places = {action: place for place, action in enumerate(actions)}

    def logprob(self, state, action):
        places = [self._places[state, name] for name in STATES[state]]
        chosen = self.logits[self._places[state, action]]
        return chosen - self.logits[places].logsumexp(0)

    def probabilities(self):
        """Return the probabilities of all possible dialogues."""
        logprobs = [sum(self.logprob(*action) for action in actions) for actions, *_ in DIALOGUES]
        return torch.stack(logprobs).exp()

    def gradient(self, value):
        (found,) = torch.autograd.grad(value, self.logits, retain_graph=True)
        return found

    def turn_gradients(self):
        """Return ∇ log π of each turn of each dialogue, 0 after its end: [dialogues, TURNS, logits]."""
        found = torch.zeros(len(DIALOGUES), TURNS, len(self.logits), dtype=torch.float64)
        for number, (actions, *_) in enumerate(DIALOGUES):
            for turn, action in enumerate(actions):
                found[number, turn] = self.gradient(self.logprob(*action))
        return found


REWARDS = torch.tensor([reward for _, reward, _ in DIALOGUES], dtype=torch.float64)
TOLD = torch.tensor([told for *_, told in DIALOGUES], dtype=torch.float64)
LENGTHS = torch.tensor([len(actions) for actions, *_ in DIALOGUES])


def estimates(advantages_of, size):
    """Return the estimates from all groups of a size, the groups' probabilities, and ∇ E[R].

    `advantages_of` maps dialogue numbers, [groups, size], to advantages, [groups, size, TURNS].
    """
    policy = Policy()
    chances = policy.probabilities()
    assert chances.sum().item() == pytest.approx(1)
    groups = torch.tensor(list(itertools.product(range(len(DIALOGUES)), repeat=size)))
    advantages = advantages_of(groups)
    by_turn = advantages.unsqueeze(-1) * policy.turn_gradients()[groups]
    return (
        by_turn.sum(dim=(1, 2)) / size,
        chances.detach()[groups].prod(dim=1),
        policy.gradient((chances * REWARDS).sum()),
    )


def credited(weight):
    """Return a function that computes the advantages that training uses."""

    def advantages(groups):
        size = groups.shape[1]
        settled = weight * TOLD[groups.flatten()]
        found = turn_advantages(REWARDS[groups.flatten()], settled, group_size=size, scale="none")
        return found.view(*groups.shape, TURNS)

    return advantages


def remaining(groups, weight=1.0):
    """Return the reward that remains in each turn, 0 after a dialogue's end, and the mask of turns before the end."""
    lasting = torch.arange(TURNS) < LENGTHS[groups].unsqueeze(-1)
    return (REWARDS[groups].unsqueeze(-1) - weight * TOLD[groups]) * lasting, lasting


def mean(values, chances):
    return (chances.unsqueeze(-1) * values).sum(0)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0, 2.5])
def test_the_mean_estimate_is_a_fixed_multiple_of_the_reward_gradient(weight, size):
    values, chances, gradient = estimates(credited(weight), size)
    assert gradient.norm() > 0.1
    torch.testing.assert_close(mean(values, chances), (1 - 1 / size) * gradient)


def relative_bias(expected, gradient):
    """Return the distance of an expectation from the nearest multiple of the gradient, as a share of its norm."""
    along = (expected @ gradient) / (gradient @ gradient) * gradient
    return ((expected - along).norm() / expected.norm()).item()


def test_means_over_only_the_dialogues_that_have_a_turn_are_biased():
    """Check the two usual forms that `credit.py` describes: the test above would detect their bias."""

    def charged_by_turn(groups):
        left, lasting = remaining(groups)
        rewards = left - torch.nn.functional.pad(left, (0, 1))[..., 1:]
        means = (rewards * lasting).sum(1, keepdim=True) / lasting.sum(1, keepdim=True).clamp(min=1)
        return ((rewards - means) * lasting).flip(-1).cumsum(-1).flip(-1)

    def among_those_that_last(groups):
        left, lasting = remaining(groups)
        return left - left.sum(1, keepdim=True) / lasting.sum(1, keepdim=True).clamp(min=1)

    for form in (charged_by_turn, among_those_that_last):
        values, chances, gradient = estimates(form, 3)
        assert relative_bias(mean(values, chances), gradient) > 0.02
    values, chances, gradient = estimates(credited(1.0), 3)
    assert relative_bias(mean(values, chances), gradient) < 1e-12


def test_counting_an_ended_dialogue_as_0_is_unbiased_too():
    def ended_as_0(groups):
        left, _ = remaining(groups)
        return left - left.mean(1, keepdim=True)

    values, chances, gradient = estimates(ended_as_0, 3)
    torch.testing.assert_close(mean(values, chances), (2 / 3) * gradient)


def dialogue_advantages(rewards, scale):
    """Return GRPO's advantages for groups of three."""
    groups = rewards.view(-1, 3)
    centered = groups - groups.mean(1, keepdim=True)
    match scale:
        case "group":
            centered = centered / (groups.std(1, keepdim=True) + 1e-4)
        case "batch":
            centered = centered / (rewards.std() + 1e-4)
    return centered.flatten()


@pytest.mark.parametrize("scale", ["none", "group", "batch"])
def test_each_turn_has_its_dialogues_advantage_if_no_facts_are_revealed(scale):
    rewards = torch.tensor([0.0, 0.5, 1.0, 0.2, 0.2, 0.8])
    found = turn_advantages(rewards, torch.zeros(6, 4), group_size=3, scale=scale)
    expected = dialogue_advantages(rewards, scale).unsqueeze(1).expand(6, 4)
    torch.testing.assert_close(found, expected)
    one_turn = turn_advantages(rewards, torch.zeros(6, 1), group_size=3, scale=scale)
    torch.testing.assert_close(one_turn, expected[:, :1])


def test_the_first_turn_has_the_full_advantage_and_later_turns_the_rest():
    rewards = torch.tensor([1.0, 0.0])
    settled = torch.tensor([[0.0, 0.5, 1.0], [0.0, 0.0, 0.0]])
    found = turn_advantages(rewards, settled, group_size=2, scale="none")
    assert found.tolist() == [[0.5, 0.25, 0.0], [-0.5, -0.25, 0.0]]


def test_group_scale_divides_all_turns_by_one_number_that_is_never_0():
    rewards = torch.zeros(2)
    settled = torch.tensor([[0.0, 1.0], [0.0, 0.0]])
    found = turn_advantages(rewards, settled, group_size=2, scale="group")
    deviation = math.sqrt((0 + 0.5) / 2)
    expected = [[0.0, -0.5 / deviation], [0.0, 0.5 / deviation]]
    torch.testing.assert_close(found, torch.tensor(expected), atol=1e-3, rtol=0)
    assert turn_advantages(rewards, 0 * settled, group_size=2, scale="group").tolist() == [
        [0.0, 0.0],
        [0.0, 0.0],
    ]


@pytest.mark.parametrize("scale", ["none", "group", "batch"])
def test_an_unscored_dialogue_has_advantage_0_and_does_not_affect_the_others(scale):
    rewards = torch.tensor([0.0, float("nan"), 1.0])
    settled = torch.tensor([[0.0, 0.2], [0.0, 0.9], [0.0, 0.6]])
    found = turn_advantages(rewards, settled, group_size=3, scale=scale)
    others = turn_advantages(rewards[[0, 2]], settled[[0, 2]], group_size=2, scale=scale)
    assert found[1].tolist() == [0.0, 0.0]
    torch.testing.assert_close(found[[0, 2]], others)


def told(task, *replies, turns=4, request=""):
    said = [Turn(raw="?", said="?", human=reply) for reply in replies]
    rollout = Rollout(
        key="0",
        task_id=task.id,
        task_hash=task.hash,
        domain=task.domain,
        trial=0,
        seed=0,
        request=request or task.request,
        turns=(*said, Turn(raw="x", said="x")),
        answer="x",
        ended_by="answer",
    )
    return shares_told(rollout, task, turns)


def test_shares_told_count_facts_before_each_turn_and_last_after_the_end(late):
    (fact,) = late.hidden.facts
    other = Fact(name="other", topics=("other",), statement="Orders are counted in days.")
    known = replace(other, name="known", statement="A day has 24 hours.", stated=True)
    task = replace(late, hidden=replace(late.hidden, facts=(fact, other, known)))
    assert told(task) == [0, 0, 0, 0]
    assert told(task, "I don't know.", fact.statement) == [0, 0, 0.5, 0.5]
    assert told(task, f"{other.statement} {fact.statement}", turns=3) == [0, 1, 1]
    assert told(replace(late, hidden=replace(late.hidden, facts=())), "Hm.") == [0, 0, 0, 0]
    opened = f"{late.request} {fact.statement}"
    assert told(task, fact.statement, other.statement, request=opened) == [0, 0, 1, 1]
    assert told(late, fact.statement, request=opened) == [0, 0, 0, 0]
