"""The trained model as a checkpoint to serve: FOLDER/model."""

from __future__ import annotations

from typing import Any

from sweet_rl_trainer.model.digest import model_digest
from sweet_rl_trainer.pipeline.base import MODEL, model_in, trained
from sweet_rl_trainer.pipeline.stage import Job
from sweet_rl_trainer.settings import Precision


def write(job: Job, dtype: Precision) -> dict[str, Any]:
    """Merge adapters, round the weights, and write everything that a server needs."""
    from sweet_rl_trainer.model import export

    folder = job.folder / MODEL
    if not folder.is_dir():
        export.export(
            trained(job.inputs["trained"]), model_in(job.inputs["model"]), folder, dtype=dtype
        )
    return {"model": model_digest(folder)}
