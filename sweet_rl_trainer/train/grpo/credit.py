"""The credit of each turn of a dialogue, from the rewards of a group of dialogues about a task.

    r_t     = w (Φ(s_{t+1}) − Φ(s_t))  for a question,   r_T = R − w Φ(s_T)  for the last turn T
    G_t     = r_t + … + r_T = R − w Φ(s_t)
    A_{i,t} = G_{i,t} − (1/n) Σ_j G_{j,t}        over all n dialogues j of the group

R is the dialogue's reward, and w the setting `facts_weight`. Φ(s_t) is the share of the task's hidden facts that the
human has revealed before turn t (`shares_told`), so Φ(s_1) = 0. The turn rewards add up to R, so E[R] is the objective
for every w and Φ (shaping by a potential: Ng, Harada & Russell 1999). A dialogue that ended before turn t keeps the
value of its end, G_{j,t} = R_j − w Φ(its last state). In the first turn, A is GRPO's advantage of the whole dialogue,
R_i − mean R; in a task without facts, A is the same in all turns.

The estimate of the gradient is unbiased, up to a constant factor that the learning rate can absorb:

    E[(1/n) Σ_i Σ_t A_{i,t} ∇ log π(a_{i,t} | s_{i,t})] = (1 − 1/n) ∇ E[R]

1. A_{i,t} = (1 − 1/n) (G_{i,t} − b), where b is the mean of G_{j,t} over the other dialogues j ≠ i. Each dialogue has a
   value for each t. Therefore, the factor is the same for all turns, and b does not depend on dialogue i at all.
2. Given s_{i,t}, neither b nor w Φ(s_{i,t}) depends on a_{i,t}. Because E[∇ log π(a | s) | s] = 0, the terms with b
   and with w Φ(s_{i,t}) vanish.
3. What is left is E[Σ_t R_i ∇ log π(a_{i,t} | s_{i,t})] = ∇ E[R].

Because the policy itself ends the dialogue, by answering, two usual forms of A are biased (verl #7244):

- Σ_{k=t..T} (r_k − mean of r_k over the dialogues that have a turn k): the number of means that are subtracted depends
  on when the dialogue ends, so each further turn is charged or credited with the mean reward of a turn.
- A mean over the dialogues that have a turn t: the factor 1 − 1/(their number) scales later turns down.

A third form, which counts a dialogue as 0 after its end, is unbiased (`test_credit`). But with this form, tasks without
facts would not have GRPO's advantages, and rewards of late turns would not be centered.

Φ affects the variance, never the bias. It lowers the variance to the extent that w Φ(s) follows the expected reward in
s. Consider how the expected reward rises with the share of facts told: the best w is about the slope of this curve. The
slope is between 0 (facts do not help) and 1 (only facts matter); the default is halfway. If a human reveals a fact in
words other than the fact's statement, Φ does not count the fact.

The settings `scale` and `loss` apply as in GRPO. The estimate is exactly unbiased only with the scale "none" and the
loss "dr_grpo", in the first of the `iterations`. The scales "group" and "batch" divide by one standard deviation for
all turns (`_deviation`), and the other losses divide by numbers of sampled tokens (arXiv 2503.20783 discusses both).
With a vLLM server, TRL leaves out dialogues that the trained model finds more than 3 times as probable as vLLM does.
"""

from __future__ import annotations

from torch import Tensor

from colbench.rollout import Rollout
from colbench.task import Task
from sweet_rl_trainer.data.facts import still_hidden
from sweet_rl_trainer.train.grpo.settings import Scale

REWARD, SETTLED, TURNS = "reward", "settled", "turns"
"""Fields that rollouts pass to TRL for each dialogue: R, w Φ before each turn, and each token's turn (from 0)."""
SMALL = 1e-4
"""Constant added to standard deviations, as in TRL."""


def shares_told(rollout: Rollout, task: Task, turns: int) -> list[float]:
    """Return Φ before each of `turns` turns: the share of the hidden facts that have been revealed by then.

    Φ stays constant after the dialogue's end, and is 0 if no fact is hidden after the first message.
    """
    heard = [rollout.request, *(turn.human or "" for turn in rollout.turns)]
    _, first, *later = still_hidden(task, heard)
    told = [0.0, *(1 - hidden / first if first else 0.0 for hidden in later)]
    return [told[min(turn, len(told) - 1)] for turn in range(turns)]


def turn_advantages(rewards: Tensor, settled: Tensor, *, group_size: int, scale: Scale) -> Tensor:
    """Return the advantage A for each of N dialogues and H turns, [N, H].

    Args:
        rewards: R of each dialogue, [N], group after group; nan for an unscored dialogue, whose A is 0.
        settled: w Φ before each turn, [N, H].
        group_size: Number n of dialogues in a group.
        scale: The divisor of A (`GrpoSettings.scale`).
    """
    returns = rewards.unsqueeze(1) - settled
    groups = returns.view(-1, group_size, returns.shape[1])
    centered = groups - groups.nanmean(dim=1, keepdim=True)
    if scale == "group":
        centered = centered / (_deviation(groups) + SMALL)
    elif scale == "batch":
        centered = centered / (_deviation(returns.unsqueeze(0)) + SMALL)
    return centered.reshape(returns.shape).nan_to_num(0.0)


def _deviation(groups: Tensor) -> Tensor:
    """Return the standard deviation in each group, [groups, 1, 1]: the root of the turns' mean variance.

    Without potentials, this is the standard deviation of the rewards.
    """
    known = (~groups.isnan()).sum(dim=1, keepdim=True)
    squares = (groups - groups.nanmean(dim=1, keepdim=True)).square().nansum(dim=1, keepdim=True)
    return (squares / (known - 1)).mean(dim=2, keepdim=True).sqrt()
