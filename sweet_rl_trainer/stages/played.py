"""Who plays on after what was said in a stage's dialogues."""

from __future__ import annotations

from msgspec.structs import replace

from colbench.run_folder import RunFolder
from sweet_rl_trainer.critic.continuations import HarnessContinuations
from sweet_rl_trainer.stages import data
from sweet_rl_trainer.stages.stage import Job

FOLDER = "continuations"


def continuations(job: Job, agent: str = "") -> HarnessContinuations:
    """By the agent of the first run among the inputs, or another one, and that run's human."""
    config = RunFolder(data.run_folders(job.inputs)[0]).record().config
    if agent:
        config = replace(config, agent=agent, agent_args={}, agent_prompt=None)
    return HarnessContinuations(job.folder / FOLDER, config)
