"""TRL's trainer with an advantage for each turn (`credit`) instead of one for each dialogue."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sweet_rl_trainer.train.grpo.credit import REWARD, SETTLED, TURNS, turn_advantages
from sweet_rl_trainer.train.grpo.trainer import DialogueTrainer


class TurnTrainer(DialogueTrainer):
    """A GRPO trainer with an advantage for each turn; TRL's loss gets it as the advantage of each token in the turn."""

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        turns = torch.zeros_like(output["completion_ids"])
        for row, each in zip(turns, inputs, strict=True):
            row[: len(each[TURNS])] = torch.tensor(each[TURNS])
        output["advantages"] = self._by_turn(inputs).gather(1, turns)
        return output

    def _by_turn(self, inputs: list[dict[str, Any]]) -> Tensor:
        """Return the advantages of this process's turns. Groups may span processes, so rewards are gathered first."""
        rows = [
            [float("nan") if each[REWARD] is None else each[REWARD], *each[SETTLED]]
            for each in inputs
        ]
        own = torch.tensor(rows, device=self.accelerator.device)
        known = self.accelerator.gather(own)
        advantages = turn_advantages(
            known[:, 0], known[:, 1:], group_size=self.num_generations, scale=self.scale_rewards
        )
        return advantages[len(own) * self.accelerator.process_index :][: len(own)]
