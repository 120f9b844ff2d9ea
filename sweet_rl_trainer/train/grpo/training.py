"""A GRPO run in a folder. The run starts or resumes as in `sweet_rl_trainer.train.run`.

FOLDER/run.json            the definition: settings, adapters, digests of environment, tasks and initial model
FOLDER/rollouts/           the dialogues of each batch, a rollout file for each process (`colbench.rollout`)
FOLDER/checkpoint-STEP/    transformers' checkpoints
FOLDER/log.jsonl           a line for each logged step
FOLDER/model/              the trained model (or adapters), once training is over

TRL calls one function to run the dialogues (`rollout_func`, an experimental feature) and another function to get the
dialogues' scores. See docs/grpo.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import torch
from accelerate import PartialState
from msgspec import Struct
from torch import nn

from colbench.config import ArgValue, RunConfig, digest
from colbench.errors import UserError
from colbench.rollout import Rollout, encode_rollout
from colbench.task import Task
from sweet_rl_trainer.console import no_bars
from sweet_rl_trainer.data.chat import Chat
from sweet_rl_trainer.data.dialogue_measures import dialogue_measures
from sweet_rl_trainer.model.lora import adapt
from sweet_rl_trainer.settings import LoraSettings, require_trackers
from sweet_rl_trainer.train.arguments import tracked_as
from sweet_rl_trainer.train.callbacks import Alarms, LogCheckpoints, LogFile, OnConsole
from sweet_rl_trainer.train.grpo.credit import REWARD, SETTLED, TURNS, shares_told
from sweet_rl_trainer.train.grpo.environment import Environment, system_prompts
from sweet_rl_trainer.train.grpo.policy import Policy, Sampler, continues
from sweet_rl_trainer.train.grpo.samplers import Server, in_process
from sweet_rl_trainer.train.grpo.sequences import DialogueRow, dialogue_row
from sweet_rl_trainer.train.grpo.settings import GrpoSettings, check, require_trl
from sweet_rl_trainer.train.history import LOG
from sweet_rl_trainer.train.run import MODEL, open_folder, save_whole
from sweet_rl_trainer.train.sharding import use_cpu

if TYPE_CHECKING:
    from sweet_rl_trainer.train.grpo.trainer import DialogueTrainer

SEQUENCES = "sequences"
"""Name of a logged value: the mean number of sequences per dialogue (see the module `sequences`)."""


class GrpoRecord(Struct, frozen=True, kw_only=True):
    """The content of `run.json`. A run resumes only if this content is the same."""

    settings: GrpoSettings
    environment: str
    """Digest of everything that dialogues and scores depend on (`RunConfig.pins`)."""
    tasks: str
    """Digest of the tasks."""
    origin: str
    """`model.digest.model_digest` of the model that training starts from."""
    adapters: LoraSettings | None


def train_grpo(
    model: nn.Module,
    tokenizer: Any,
    tasks: Sequence[Task],
    settings: GrpoSettings,
    *,
    folder: Path,
    origin: str,
    config: RunConfig | None = None,
    adapters: LoraSettings | None = None,
    template_args: Mapping[str, ArgValue] | None = None,
    callbacks: Sequence[Any] = (),
) -> Path:
    """Train a model, or `adapters` for it, by GRPO on dialogues about tasks, and return the folder of the result.

    The reward of a dialogue is the value of the harness's default score. `config` defines the human and the other
    settings of the dialogues (`environment.Environment`); `template_args` are variables of the chat template.
    `model` is the initial model, even when a run resumes; `origin` is its digest (`model_digest`). Under
    `accelerate launch` each process calls this function and runs its share of the dialogues. Raises UserError if TRL is
    missing, if the folder contains another run or other files, if the model, the template or the settings are
    unsuitable, or if none of the dialogues that a process runs for a batch is scored. Raises EndpointError if a model
    server fails.
    """
    require_trl()
    state = PartialState(cpu=use_cpu())
    check(settings, tasks=len(tasks), processes=state.num_processes)
    config = config or RunConfig()
    run = _Run(Chat(tokenizer, template_args=template_args), tasks, settings, config, folder)
    record = GrpoRecord(
        settings=settings,
        environment=digest(config.pins()),
        tasks=digest([[task.id, task.hash] for task in tasks]),
        origin=origin,
        adapters=adapters,
    )
    with state.main_process_first():
        kept = open_folder(folder, record)
    done = folder / MODEL
    if done.is_dir():
        return done
    torch.manual_seed(settings.seed)
    trained = adapt(model, adapters) if adapters else model
    _check_model(trained, settings, adapters)
    console = OnConsole()
    try:
        with no_bars(), _as_we_know(), Environment(config, tasks) as run.environment:
            trainer = _trainer(
                trained,
                run,
                [Alarms(), LogCheckpoints(), LogFile(folder / LOG), console, *callbacks],
            )
            trainer.train(resume_from_checkpoint=str(kept) if kept else None)
            save_whole(trainer, done)
    finally:
        console.stop()
    return done


def _check_model(model: Any, settings: GrpoSettings, adapters: LoraSettings | None) -> None:
    narrow = {str(p.dtype) for p in model.parameters() if p.requires_grad} - {"torch.float32"}
    if narrow:
        raise UserError(
            f"the weights to train are {', '.join(sorted(narrow))}; load the model in float32"
        )
    if adapters or not settings.beta:
        return  # with adapters, the reference model is the base model
    source = model.config.name_or_path
    if not (source and Path(source).is_dir()):
        raise UserError(
            f"beta {settings.beta}: needs a reference model, which TRL loads from the model's folder, but the model "
            f"was {f'loaded from {source}' if source else 'made without a folder'}; load the model from a folder, or "
            "set beta to 0"
        )


class _Run:
    """The functions that TRL calls to run dialogues and to get their rewards."""

    environment: Environment

    def __init__(
        self,
        chat: Chat,
        tasks: Sequence[Task],
        settings: GrpoSettings,
        config: RunConfig,
        folder: Path,
    ) -> None:
        self.chat, self.settings, self.config, self.folder = chat, settings, config, folder
        self.tasks = {task.id: task for task in tasks}
        self.measured: dict[str, float] = {}
        """Measures of the latest dialogues."""
        if len(self.tasks) < len(tasks):
            raise UserError(
                "two tasks have the same ID; make the IDs unique with colbench.task.distinguish"
            )
        self._prompts = system_prompts(config)
        for domain in {task.domain for task in tasks}:
            continues(chat, self._prompts[domain])  # fail now if the template rejects the prompt

    def rollouts(self, names: Sequence[str], trainer: DialogueTrainer) -> dict[str, Any]:
        """Run a dialogue for each of these task IDs, and return tokens, masks and rewards in TRL's format."""
        step, rank = trainer.state.global_step, trainer.accelerator.process_index
        agent = Policy(self.chat, self._sampler(trainer, len(names)), self._prompts)
        tasks = [self.tasks[name] for name in names]
        rollouts = self.environment.play(tasks, agent, name=f"{step:06d}.{rank:03d}")
        self._keep(rollouts, f"{step:06d}-{rank:03d}.jsonl")
        found = [dialogue_row(each) for each in rollouts]
        trainer.hold([each.parts for each in found])
        sequences = fmean(len(each.parts) for each in found)
        self.measured = {**dialogue_measures(rollouts), SEQUENCES: sequences}
        known = all(each.logprobs for each in found)
        return {
            "prompt_ids": [each.prompt for each in found],
            "completion_ids": [each.completion for each in found],
            "logprobs": [each.logprobs for each in found] if known else None,
            "env_mask": [each.mask for each in found],
            REWARD: _some([reward(each) for each in rollouts], rollouts),
            **(self._by_turn(rollouts, found) if self.settings.credit == "turn" else {}),
        }

    def _by_turn(
        self, rollouts: Sequence[Rollout], rows: Sequence[DialogueRow]
    ) -> dict[str, list[Any]]:
        """Return the fields from which `TurnTrainer` computes the advantages of turns."""
        return {
            SETTLED: [self._settled(each) for each in rollouts],
            TURNS: [each.turns for each in rows],
        }

    def _settled(self, rollout: Rollout) -> list[float]:
        told = shares_told(rollout, self.tasks[rollout.task_id], self.config.max_turns)
        return [self.settings.facts_weight * share for share in told]

    def reward(
        self, *, reward: list[float | None], log_metric: Callable[[str, float], None], **_: Any
    ) -> list[float | None]:
        """Return the rewards that TRL passes on from `rollouts`, and log the other measures of these dialogues."""
        for name, value in self.measured.items():
            log_metric(name, value)
        return reward

    def _sampler(self, trainer: Any, dialogues: int) -> Sampler:
        settings, address = self.settings, self.settings.server
        if not address:
            model = trainer.accelerator.unwrap_model(trainer.model)
            return in_process(model, self.chat, settings, dialogues=dialogues)
        served = self._served(trainer)
        return Server(address, served, self.chat, settings, concurrency=self.config.concurrency)

    def _served(self, trainer: Any) -> str:
        """Return the model's name on the server, which the main process reads from TRL's client and broadcasts."""
        from accelerate.utils import broadcast_object_list

        main = trainer.accelerator.is_main_process
        names = [trainer.vllm_generation.vllm_client.model if main else ""]
        return str(broadcast_object_list(names, from_process=0)[0])

    def _keep(self, rollouts: Sequence[Rollout], name: str) -> None:
        path = self.folder / "rollouts" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"".join(map(encode_rollout, rollouts)))


def reward(rollout: Rollout) -> float | None:
    """Return the value of the default score; None for an unscored dialogue, which TRL leaves out of its group."""
    score = rollout.scores.get("default")
    return score.value if score else None


def _some(rewards: list[float | None], rollouts: Sequence[Rollout]) -> list[float | None]:
    """Return `rewards`. Raises UserError, with the first dialogue's failure or note, if all rewards are None."""
    if any(each is not None for each in rewards):
        return rewards
    first = rollouts[0]
    why = first.failure.reason if first.failure else first.scores["default"].note
    raise UserError(f"none of {len(rollouts)} dialogues was scored; {first.task_id}: {why}")


def _trainer(model: Any, run: _Run, callbacks: Sequence[Any]) -> Any:
    from datasets import Dataset
    from transformers import PrinterCallback

    from sweet_rl_trainer.train.grpo.trainer import DialogueTrainer
    from sweet_rl_trainer.train.grpo.turn_trainer import TurnTrainer

    kind = TurnTrainer if run.settings.credit == "turn" else DialogueTrainer
    trainer = kind(
        model=model,
        reward_funcs=[run.reward],
        args=arguments(run.settings, run.folder),
        train_dataset=Dataset.from_dict({"prompt": list(run.tasks)}),
        processing_class=run.chat.tokenizer,
        callbacks=list(callbacks),
        rollout_func=run.rollouts,
    )
    trainer.remove_callback(PrinterCallback)
    _widen(model)
    if run.settings.server is None and trainer.accelerator.distributed_type.value in SHARDED:
        raise UserError(
            "with FSDP or DeepSpeed, the processes share the model, so dialogues of different "
            "lengths cannot be sampled from it; set a vLLM server (`server`)"
        )
    return trainer


def _widen(model: nn.Module) -> None:
    """Convert the trained weights to float32, because TRL makes adapters bfloat16 if the base model has 4 bits."""
    for weight in model.parameters():
        if weight.requires_grad:
            weight.data = weight.data.float()


SHARDED = {"FSDP", "DEEPSPEED"}


@contextmanager
def _as_we_know() -> Iterator[None]:
    """Silence two warnings: that `rollout_func` is experimental, and that TRL uses deprecated names of transformers."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*rollout_func.*experimental", UserWarning)
        warnings.filterwarnings("ignore", ".*gradient_checkpointing.* is deprecated", FutureWarning)
        yield


def arguments(settings: GrpoSettings, folder: Path) -> Any:
    """Build TRL's GRPOConfig.

    Raises UserError if a library is not installed, or TRL rejects a value.
    """
    from trl import GRPOConfig

    require_trackers(settings.report_to)
    processes = PartialState().num_processes
    try:
        return GRPOConfig(
            output_dir=str(folder),
            use_cpu=use_cpu(),
            max_steps=settings.steps,
            per_device_train_batch_size=settings.rows,
            gradient_accumulation_steps=settings.batch_size // (settings.rows * processes),
            num_generations=settings.group_size,
            num_iterations=settings.iterations,
            max_completion_length=settings.max_new_tokens,
            temperature=settings.temperature,
            learning_rate=settings.learning_rate,
            lr_scheduler_type="constant",
            beta=settings.beta,
            epsilon=settings.epsilon,
            loss_type=settings.loss,
            scale_rewards=settings.scale,
            optim=settings.optimizer,
            adam_beta1=settings.adam[0],
            adam_beta2=settings.adam[1],
            weight_decay=settings.weight_decay,
            max_grad_norm=settings.clip,
            bf16=settings.precision == "bfloat16",
            **{_checkpointing(GRPOConfig): settings.gradient_checkpointing},
            use_vllm=settings.server is not None,
            vllm_mode="server",
            vllm_server_base_url=settings.server,
            seed=settings.seed,
            logging_steps=settings.log_every,
            report_to=list(settings.report_to) or "none",
            **tracked_as(folder),
            save_steps=settings.save_every,
            save_total_limit=settings.keep,
            restore_callback_states_from_checkpoint=True,
            disable_tqdm=True,
            log_level="error",
        )
    except (ValueError, ImportError) as cause:
        raise UserError(
            f"these settings do not work on this machine: {' '.join(str(cause).split())}"
        ) from cause


def _checkpointing(config: Any) -> str:
    """Return the name of TRL's option for gradient checkpointing.

    The new name is used if TRL has it, because the old name causes a warning.
    """
    names = ("activation_checkpointing", "gradient_checkpointing")
    return next(name for name in names if name in config.__dataclass_fields__)
