"""The conversion of our settings to the training arguments of transformers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from torch import nn

from colbench.errors import UserError
from sweet_rl_trainer.settings import TrainSettings, require_trackers
from sweet_rl_trainer.train.sharding import backend, use_cpu

PROJECT = "colbench"
"""The tracker's project for training runs, unless the tracker's environment variable names another project."""
CHOICE = "choice"
"""The metric for comparing checkpoints of training on pairs; see `Trainer.evaluate`."""


def arguments(settings: TrainSettings, folder: Path, count: int, best: str | None) -> Any:
    """Build transformers' TrainingArguments for `count` examples.

    `best` is the metric for comparing checkpoints; None turns off evaluation. For transformers, the training has a
    single epoch, in which each "batch" is a whole optimizer step (`collator.Plan`). Raises UserError if a library is
    not installed, or transformers rejects a value.
    """
    from transformers import TrainingArguments

    require_trackers(settings.report_to)
    total = settings.steps(count)
    try:
        found = TrainingArguments(
            output_dir=str(folder),
            use_cpu=use_cpu(),
            ddp_backend=backend(),
            max_steps=total,
            per_device_train_batch_size=1,
            learning_rate=settings.learning_rate,
            lr_scheduler_type="cosine_with_min_lr",
            lr_scheduler_kwargs={"min_lr_rate": settings.final_rate},
            warmup_steps=min(math.ceil(settings.warmup * total), total - 1),
            optim=settings.optimizer,
            adam_beta1=settings.adam[0],
            adam_beta2=settings.adam[1],
            weight_decay=settings.weight_decay,
            max_grad_norm=settings.clip,
            seed=settings.seed,
            logging_steps=settings.log_every,
            logging_nan_inf_filter=False,
            report_to=list(settings.report_to) or "none",
            **tracked_as(folder),
            eval_strategy="steps" if best else "no",
            eval_steps=settings.save_every,
            save_strategy="steps",
            save_steps=settings.save_every,
            save_total_limit=settings.keep,
            load_best_model_at_end=best is not None,
            metric_for_best_model=best,
            greater_is_better=best == CHOICE,
            restore_callback_states_from_checkpoint=True,
            remove_unused_columns=False,
            disable_tqdm=True,
            log_level="error",
            ddp_find_unused_parameters=False,
        )
    except (ValueError, ImportError) as cause:
        raise UserError(
            f"these settings do not work on this machine: {' '.join(str(cause).split())}"
        ) from cause
    found.mixed_precision = "no"  # `Trainer` sets the precision itself, for any number of processes
    return found


def tracked_as(folder: Path) -> dict[str, Any]:
    """Return the names under which trackers show a run: its project, and the last two parts of the run's path."""
    return {"run_name": "/".join(folder.resolve().parts[-2:]), "project": PROJECT}


def enable_checkpointing(model: nn.Module) -> None:
    """Make the model recompute activations in the backward pass.

    The name of the model's method for this depends on the version of transformers.
    """
    given: Any = model
    enable = getattr(given, "activation_checkpointing_enable", None)
    (enable or given.gradient_checkpointing_enable)({"use_reentrant": False})
