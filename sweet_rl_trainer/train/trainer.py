"""One trainer for critic, actor, multi-turn DPO and RFT: transformers' Trainer with the objective of `loss.py`.

These four trainings differ only in a few settings and in their examples: pairs or successes, the token weights, and
whether the examples state the privileged information c. An optimizer step covers `batch_size` examples. Its loss is the
mean of the examples' losses, however the examples are packed into rows and divided among processes. The entry point is
`run.train`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor
from torch.utils.data import DataLoader
from transformers import EarlyStoppingCallback, PrinterCallback
from transformers import Trainer as BaseTrainer

from colbench.errors import UserError
from sweet_rl_trainer.data.examples import Examples
from sweet_rl_trainer.model.attention import can_share, check_isolation
from sweet_rl_trainer.model.logprobs import check_head
from sweet_rl_trainer.model.packing import Row
from sweet_rl_trainer.model.value_head import has_value_head, sees
from sweet_rl_trainer.model.vision import Pixels
from sweet_rl_trainer.settings import TrainSettings
from sweet_rl_trainer.train.arguments import CHOICE, arguments, enable_checkpointing
from sweet_rl_trainer.train.checkpoints import last_checkpoint
from sweet_rl_trainer.train.collator import Packed, Packer, Plan, Step, group
from sweet_rl_trainer.train.loss import (
    READERS,
    imitated,
    negative_log_likelihoods,
    pair_losses,
    row_logprobs,
    row_statistics,
    scores,
)
from sweet_rl_trainer.train.measures import EntropyByTurn, length_metrics, pair_metrics
from sweet_rl_trainer.train.reference_cache import ReferenceCache
from sweet_rl_trainer.train.sharding import share_on_cpu

TIE = 1e-6
"""The weight of the held-out loss in the choice of a checkpoint, so small that it only breaks ties in accuracy."""
STEP = "step"
"""The only key of the `inputs` that transformers' Trainer passes to `training_step`."""


class Trainer(BaseTrainer):
    """A trainer of a causal language model or of a value model.

    A value model is trained on pairs. A causal language model is trained on pairs if `reference` is given, otherwise on
    successes. If there are `held_out` examples, they are evaluated before each checkpoint, and the best checkpoint
    becomes the final model. For pairs, the best checkpoint has the highest accuracy and, among equals, the lowest loss.
    For successes, it has the lowest NLL. `patience` considers only the accuracy or the NLL, not the loss that breaks
    ties.

    The tokenizer is saved with each checkpoint. `pixels` computes the pixel values of the examples' pictures. Raises
    UserError if the model or the settings would give wrong values.
    """

    def __init__(
        self,
        model: nn.Module,
        examples: Examples,
        settings: TrainSettings,
        *,
        folder: Path,
        reference: ReferenceCache | None = None,
        held_out: Examples = (),
        tokenizer: Any = None,
        callbacks: Sequence[Any] = (),
        pixels: Pixels | None = None,
    ) -> None:
        self.settings = settings
        self._pixels = pixels
        self._folder = folder
        self.reference = reference
        self._values = settings.score == "value"
        self._paired = self._values or reference is not None
        self._examples, self._held_out = examples, held_out
        best = (CHOICE if self._paired else "nll") if held_out else None
        args = arguments(settings, folder, len(examples), best)
        self._rank, self._world = args.process_index, args.world_size
        args._n_gpu = min(1, args.n_gpu)  # one device per process
        self.plan = Plan(self._packer(examples), settings)
        self._sums: dict[str, Tensor] = {}
        stop = (
            [EarlyStoppingCallback(settings.patience, 10 * TIE)]
            if best and settings.patience
            else []
        )
        super().__init__(
            model=model,
            args=args,
            data_collator=_only,
            train_dataset=self.plan,
            eval_dataset=self.plan if held_out else None,  # only tested for being None
            processing_class=tokenizer,
            callbacks=[*callbacks, *stop],
        )
        self.remove_callback(PrinterCallback)
        self._check(model)
        if settings.gradient_checkpointing:
            enable_checkpointing(model)

    def create_accelerator_and_postprocess(self) -> None:
        """Create the accelerator as transformers does, then call `share_on_cpu`."""
        super().create_accelerator_and_postprocess()
        share_on_cpu(self.accelerator)
        self.is_fsdp_enabled = self.is_fsdp_enabled or self.accelerator.is_fsdp2

    def _packer(self, examples: Examples) -> Packer:
        return Packer(examples, self.reference, self.settings, rank=self._rank, world=self._world)

    def _check(self, model: Any) -> None:
        narrow = {str(p.dtype) for p in model.parameters() if p.requires_grad} - {"torch.float32"}
        if narrow:
            raise UserError(
                f"the weights to train are {', '.join(sorted(narrow))}, which rounds small "
                "updates to zero; load the model in float32 (precision bfloat16 applies only to "
                "matrix products)"
            )
        if self.settings.share_beginnings and not can_share(model.config):
            raise UserError(
                "share_beginnings: must be false, because this model's attention cannot share common prefixes "
                "(attention.can_share)"
            )
        if self._values != has_value_head(model):
            raise UserError(
                f"score {self.settings.score}: this model has {'no' if self._values else 'a'} value head; "
                f"load {'it with value_head.load_value_model' if self._values else 'a causal language model'}"
            )
        if not self._values:
            check_head(model)
        if not sees(model.config):
            check_isolation(model, model.config, share=self.settings.share_beginnings)

    def fill_reference(self) -> None:
        """Compute the reference values that the cache lacks, with the model as it is before training."""
        if self.reference is None:
            return
        model: Any = self.model
        model.to(self.args.device)
        groups = [group(each) for each in (*self._examples, *self._held_out)]

        def logprobs(row: Row) -> Tensor:
            with self._autocast():
                return row_logprobs(model, model.config, row.to(self.args.device))

        training = model.training
        model.eval()
        self.reference.fill(
            groups[self._rank :: self._world],
            logprobs,
            budget=self.settings.row_tokens,
            share=self.settings.share_beginnings,
        )
        model.train(training)
        self.accelerator.wait_for_everyone()
        self.reference.reload()

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Return a loader of all steps in order. Accelerate must not split it: each process builds its own rows."""
        return DataLoader(self.plan, batch_size=1, collate_fn=_only)

    def _run_epoch(self, *given: Any, **named: Any) -> None:
        """Train, unless the resumed run had already stopped early (`patience`) when it was killed."""
        stops = (e for e in self.callback_handler.callbacks if isinstance(e, EarlyStoppingCallback))
        if any(e.early_stopping_patience_counter >= e.early_stopping_patience for e in stops):
            self.control.should_training_stop = True
        else:
            super()._run_epoch(*given, **named)  # type: ignore[no-untyped-call]

    def training_step(self, model: nn.Module, inputs: dict[str, Any], *_: Any, **__: Any) -> Tensor:
        """Compute the gradients of the mean loss over the step's examples.

        Processes sum their gradients after the last row. With FSDP, they sum the gradients after each row, so that the
        gradients stay sharded. Raises UserError, which names the examples, if their loss is not finite.
        """
        model.train()
        step: Step = inputs[STEP]
        self._current = step
        total = torch.zeros((), device=self.args.device)
        wrong: list[str] = []
        for place, packed in enumerate(step.rows):
            last = place == len(step.rows) - 1
            self.accelerator.gradient_state._set_sync_gradients(last)
            with nullcontext() if last or self.is_fsdp_enabled else self.accelerator.no_sync(model):
                metrics, loss = self._run(model, packed)
                # times `_world`, because gradients are averaged over processes
                loss = loss * (packed.counts * self._world / step.size)
                self.accelerator.backward(loss)
            wrong += _not_finite(packed, metrics["loss"])
            _count(self._sums, metrics, packed.counts)
            total += loss.detach()
        self._stop_unless_finite(total, wrong or step.names, "loss")
        self.state.num_input_tokens_seen += step.tokens
        return total

    def _run(
        self, model: nn.Module, packed: Packed, entropies: EntropyByTurn | None = None
    ) -> tuple[dict[str, Tensor], Tensor]:
        """Return the values to log for each example, and the sum of the examples' losses.

        `nll` has values only for imitated examples. If `entropies` is given, it receives the entropies of the row's
        tokens, and the loss has no gradient.
        """
        row = self._pixels.of(packed.row) if self._pixels else packed.row
        row = row.to(self.args.device)
        bare: Any = self.model
        with self._autocast():
            if entropies is None:
                values = READERS[self.settings.score](model, bare.config, row)
            else:
                values, found = row_statistics(model, bare.config, row)
                if packed.counts:
                    entropies.add(row, found)
        return self._losses(row, values, packed)

    def _losses(self, row: Row, values: Tensor, packed: Packed) -> tuple[dict[str, Tensor], Tensor]:
        likelihoods = None if self._values else negative_log_likelihoods(row, values)
        if likelihoods is not None and self.reference is None:
            seen = likelihoods.detach()
            return {"loss": seen, "nll": seen, **length_metrics(row)}, likelihoods.sum()
        losses = pair_losses(
            scores(row, values, packed.reference.to(self.args.device) if self.reference else 0.0),
            likelihoods,
            beta=self.settings.beta,
            likelihood_weight=self.settings.likelihood_weight,
        )
        chosen, rejected = losses.chosen / self.settings.beta, losses.rejected / self.settings.beta
        measures = pair_metrics(row, chosen, rejected, referred=self.reference is not None)
        found = {**losses.metrics(), **measures}
        if "nll" in found:
            found["nll"] = found["nll"][imitated(row)[::2]]
        return found, losses.losses.sum()

    def _autocast(self) -> torch.autocast:
        narrow = self.settings.precision == "bfloat16"
        return torch.autocast(self.args.device.type, torch.bfloat16, enabled=narrow)

    def _get_grad_norm(self, model: nn.Module, grad_norm: Any = None) -> Any:
        """Return the gradient norm before clipping.

        Raises UserError, before a weight changes, if the norm is not finite.
        """
        norm = super()._get_grad_norm(model, grad_norm)  # type: ignore[no-untyped-call]
        norm = norm.full_tensor() if isinstance(norm, DTensor) else norm
        if norm is not None:
            self._stop_unless_finite(torch.as_tensor(norm), self._current.names, "gradient")
        return norm

    def _stop_unless_finite(self, value: Tensor, names: Sequence[str], what: str) -> None:
        checked = self.accelerator.reduce(value.clone()) if self._world > 1 else value
        if checked.isfinite():
            return
        kept = last_checkpoint(self._folder)
        raise UserError(
            f"step {self.state.global_step + 1}: the {what} is not finite; in the batch: {'; '.join(names)}. "
            f"{f'The last checkpoint is {kept}' if kept else 'No checkpoint has been written yet'}; look at these "
            "examples, or lower the learning rate and start in a new folder"
        )

    def _means(self, sums: dict[str, Tensor]) -> dict[str, float]:
        """Return the means over the examples of all processes; leave out a measure that no example has."""
        if not sums:
            return {}
        total = self.accelerator.reduce(torch.stack(list(sums.values()))).tolist()
        return {
            name: value / count for name, (value, count) in zip(sums, total, strict=True) if count
        }

    def log(self, logs: dict[str, float], *_: Any) -> None:
        """Log these values and the means of the measures since the last log (see `loss.PairLosses.metrics`)."""
        if "loss" in logs:
            means = self._means(self._sums)
            logs |= {**means, "loss": logs["loss"], "tokens": self.state.num_input_tokens_seen}
            self._sums = {}
        self.state.epoch = self.state.global_step / self.plan.per_epoch
        super().log(logs)

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Return the means over the held-out examples; each name has the prefix `eval_`."""
        model: nn.Module = self.model_wrapped
        packer = self._packer(self._held_out)
        sums: dict[str, Tensor] = {}
        entropies = None if self._values else EntropyByTurn(self.args.device)
        training = model.training
        model.eval()
        for numbers, counts in packer.bins(range(len(self._held_out)), seed=0):
            with torch.no_grad():
                metrics, _loss = self._run(model, packer.row(numbers, counts), entropies)
            _count(sums, metrics, counts)
        model.train(training)
        found = self._means(sums)
        if entropies:
            found |= EntropyByTurn.means(self.accelerator.reduce(entropies.sums))
        means = {f"eval_{name}": value for name, value in found.items()}
        self.log(dict(means))
        if "eval_accuracy" in means:
            means[f"eval_{CHOICE}"] = means["eval_accuracy"] - TIE * means["eval_loss"]
        self.control = self.callback_handler.on_evaluate(
            self.args, self.state, self.control, metrics=means
        )
        return means

    def floating_point_ops(self, *_: Any) -> int:
        """Return 0, because transformers' estimate would assume padded batches."""
        return 0


def _only(steps: list[Step]) -> dict[str, Step]:
    return {STEP: steps[0]}


def _count(sums: dict[str, Tensor], metrics: dict[str, Tensor], counts: bool) -> None:
    """Add, for each measure of a row, the sum and the number of its values to `sums`; add 0 if `counts` is false."""
    for name, values in metrics.items():
        added = torch.stack([values.float().sum(), values.new_tensor(len(values)).float()])
        sums[name] = sums.get(name, 0) + counts * added


def _not_finite(packed: Packed, losses: Tensor) -> list[str]:
    finite = losses.isfinite().tolist()
    return [name for name, fine in zip(packed.names, finite, strict=True) if not fine]
