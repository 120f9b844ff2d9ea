"""The trainer and TRL's `DPOTrainer` on the same pairs, model and batches, for the training benchmarks.

A `Job` describes the training, a `Contestant` the trainer. `measure` runs a contestant in the current process.
`in_child` runs it in its own process, whose peak memory is then the contestant's.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from array import array
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

PAD = 0


class Job(Struct, frozen=True, kw_only=True):
    """The model, data and optimizer steps of a training."""

    vocabulary: int = 128_256
    hidden: int = 256
    intermediate: int = 1024
    layers: int = 4
    heads: int = 8
    kv_heads: int = 2
    tied: bool = True
    """True if the output layer is the embedding, as in Llama 3.2 1B."""
    shortest: int = 400
    longest: int = 1600
    """Smallest and largest number of tokens in a side of a pair."""
    batch: int = 4
    """Number of pairs in an optimizer step."""
    steps: int = 3
    """Number of optimizer steps; the first is a warm-up."""
    epochs: int = 1
    """Number of steps in which each pair occurs."""
    learning_rate: float = 1e-4
    precision: Literal["float32", "bfloat16"] = "float32"
    """The number type of the matrix products; trained weights are float32."""
    optimizer: str = "adamw_torch_fused"
    lora: bool = False
    checkpointing: bool = True
    attention: str = "sdpa"
    device: str = "cpu"
    seed: int = 0


class Contestant(Struct, frozen=True, kw_only=True):
    """A trainer and its options."""

    trainer: Literal["ours", "trl"]
    rows: int = 2048
    """For ours: number of tokens that are packed into a row."""
    share: bool = False
    """For ours: compute the common beginning of a pair's sides only once."""
    full_logits: bool = False
    """For ours, as a comparison: compute the logits of all positions at once."""
    micro: int = 1
    """For TRL: number of pairs in a micro-batch."""
    precompute: bool = True
    """For TRL: compute reference log-probabilities before training, so that no second model is held."""
    compact: bool = False
    """For TRL, as a comparison: compute only the needed logits on the CPU, as on GPUs; TRL has no setting for this."""


class Measured(Struct, kw_only=True):
    """The measurements of one contestant; memory is in bytes."""

    losses: list[float]
    """The loss of each step."""
    norms: list[float]
    """The gradient norm of each step."""
    seconds: float
    """Wall time of the steps after the first, in seconds."""
    cpu: float
    """CPU time of the same steps, in seconds."""
    tokens: int
    """Number of tokens in the pairs of these steps, without padding; each token counts once, even if recomputed."""
    before: int
    """Memory after loading libraries, pairs and model."""
    peak: int
    """Peak memory until the last step is done, including reference log-probabilities."""

    @property
    def rate(self) -> float:
        """Return tokens per second."""
        return self.tokens / self.seconds

    @property
    def cpu_rate(self) -> float:
        """Return tokens per CPU second."""
        return self.tokens / self.cpu

    @property
    def above(self) -> int:
        """Return the peak memory beyond that of libraries, pairs and model."""
        return self.peak - self.before


def pairs(job: Job) -> list[Any]:
    """Return enough random pairs for all steps: dialogues of several turns with the same request, random in length.

    The agent's tokens are in the upper half of the vocabulary and have weight 1. The last token of the vocabulary ends
    the agent's turns.
    """
    from sweet_rl_trainer.data.examples import PairExample

    chance = random.Random(job.seed)
    found = []
    for number in range(job.batch * job.steps // job.epochs):
        request = _words(job, chance, chance.randint(job.shortest // 4, job.shortest // 2))
        chosen, rejected = (
            _side(job, chance, request, f"{kind}-{number}") for kind in ("chosen", "rejected")
        )
        found.append(PairExample(chosen=chosen, rejected=rejected, task_hash=str(number)))
    return found


def _words(job: Job, chance: random.Random, count: int, *, agent: bool = False) -> list[int]:
    half = job.vocabulary // 2
    first, last = (half, job.vocabulary - 2) if agent else (1, half - 1)
    words = [chance.randint(first, last) for _ in range(count)]
    return [*words[:-1], job.vocabulary - 1] if agent else words


def _side(job: Job, chance: random.Random, request: list[int], name: str) -> Any:
    """Return a side with questions, replies and an answer; after the request, the answer is a third of the length."""
    from sweet_rl_trainer.data.examples import Example, Side

    length = chance.randint(job.shortest, job.longest)
    unit = max(2, job.longest // 24)
    ids, turns = list(request), 1
    answer = (length - len(ids)) // 3
    while (room := length - answer - len(ids)) > 1:
        asked = min(room // 2 + room % 2, chance.randint(unit // 2, unit))
        ids += _words(job, chance, asked, agent=True)
        ids += _words(job, chance, min(room - asked, chance.randint(unit // 2, unit)))
        turns += 1
    ids += _words(job, chance, length - len(ids), agent=True)
    weights = [float(token >= job.vocabulary // 2) for token in ids]
    example = Example(ids=array("i", ids), token_weights=array("f", weights))
    said = int(sum(weights))
    return Side(examples=(example,), trajectory=name, reward=1.0, turns=turns, reply_tokens=said)


def _model(job: Job) -> Any:
    """Return a Llama with random weights; weights that are trained are float32."""
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig

    config = LlamaConfig(
        vocab_size=job.vocabulary,
        hidden_size=job.hidden,
        intermediate_size=job.intermediate,
        num_hidden_layers=job.layers,
        num_attention_heads=job.heads,
        num_key_value_heads=job.kv_heads,
        tie_word_embeddings=job.tied,
        max_position_embeddings=max(8192, job.longest),
        pad_token_id=PAD,
        bos_token_id=None,
        eos_token_id=job.vocabulary - 1,
    )
    dtype = torch.bfloat16 if job.lora and job.precision == "bfloat16" else torch.float32
    torch.manual_seed(job.seed)
    with torch.device(job.device):
        return AutoModelForCausalLM.from_config(
            config, dtype=dtype, attn_implementation=job.attention
        )


def _settings(job: Job, contestant: Contestant) -> Any:
    from sweet_rl_trainer.settings import TrainSettings

    return TrainSettings(
        likelihood_weight=0.0,
        learning_rate=job.learning_rate,
        warmup=0.0,
        optimizer=job.optimizer,
        batch_size=job.batch,
        epochs=job.epochs,
        row_tokens=contestant.rows,
        share_beginnings=contestant.share,
        precision=job.precision,
        gradient_checkpointing=job.checkpointing,
        save_every=10**6,
        seed=job.seed,
    )


def measure(job: Job, contestant: Contestant) -> Measured:
    """Train, and return the measurements."""
    with tempfile.TemporaryDirectory() as folder:
        return (_ours if contestant.trainer == "ours" else _trl)(job, contestant, Path(folder))


def _ours(job: Job, contestant: Contestant, folder: Path) -> Measured:
    from sweet_rl_trainer.model.lora import adapt
    from sweet_rl_trainer.settings import LoraSettings
    from sweet_rl_trainer.train import loss
    from sweet_rl_trainer.train.reference_cache import ReferenceCache
    from sweet_rl_trainer.train.trainer import Trainer

    if contestant.full_logits:
        loss.token_logprobs = _full_logits
    examples = pairs(job)
    model = _model(job)
    clock = _clock(job)
    cache = ReferenceCache(folder / "reference", model="random", precision=job.precision)
    trainer = Trainer(
        adapt(model, LoraSettings()) if job.lora else model,
        examples,
        _settings(job, contestant),
        folder=folder / "run",
        reference=cache,
        callbacks=[clock],
    )
    trainer.fill_reference()
    trainer.train()
    return clock.measured(
        [examples[n] for step in range(job.steps) for n in trainer.plan.numbers(step)]
    )


def _full_logits(model: Any, inputs: Any, predictors: Any, targets: Any) -> Any:
    logits = model(**inputs, use_cache=False).logits[0].float()
    return logits.log_softmax(-1)[predictors, targets]


def _trl(job: Job, contestant: Contestant, folder: Path) -> Measured:
    """Train with TRL: texts through a tokenizer with one token per word, and TRL's own trainer and collator.

    A subclass of the collator leaves out the human's messages.
    """
    import copy

    import datasets
    import torch
    from trl import DPOTrainer

    datasets.disable_progress_bars()
    if contestant.compact:
        from trl.trainer import utils

        utils._use_triton = lambda _: True
    examples = in_order(job)
    tokenizer = _tokenizer(job)
    data = datasets.Dataset.from_list([_texts(job, pair) for pair in examples])
    model = _model(job)
    clock = _clock(job)
    reference = None if contestant.precompute or job.lora else copy.deepcopy(model)
    trainer = DPOTrainer(
        model,
        ref_model=reference,
        args=_config(job, contestant, folder),
        train_dataset=data,
        data_collator=_collator(job),
        processing_class=tokenizer,
        callbacks=[clock],
        peft_config=_adapters() if job.lora else None,
    )
    torch.manual_seed(job.seed)
    trainer.train()
    return clock.measured(examples)


def _adapters() -> Any:
    """Return the LoRA configuration that `lora.adapt` uses."""
    from peft import LoraConfig

    from sweet_rl_trainer.settings import LoraSettings

    given = LoraSettings()
    return LoraConfig(
        r=given.rank,
        lora_alpha=given.alpha,
        lora_dropout=given.dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )


def in_order(job: Job) -> list[Any]:
    """Return the pairs in the order in which our trainer uses them."""
    from sweet_rl_trainer.train.collator import Packer, Plan

    examples, known = pairs(job), _settings(job, Contestant(trainer="ours"))
    plan = Plan(Packer(examples, None, known), known)
    return [examples[number] for step in range(job.steps) for number in plan.numbers(step)]


def _tokenizer(job: Job) -> Any:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import PreTrainedTokenizerFast

    words = {_word(job, token): token for token in range(job.vocabulary)}
    inner = Tokenizer(WordLevel(words, unk_token=_word(job, PAD)))
    inner.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token=_word(job, PAD), eos_token=_word(job, job.vocabulary - 1)
    )


def _word(job: Job, token: int) -> str:
    return {PAD: "<pad>", job.vocabulary - 1: "<end>"}.get(token, str(token))


def _texts(job: Job, pair: Any) -> dict[str, str]:
    chosen, rejected = (list(side.examples[0].ids) for side in (pair.chosen, pair.rejected))
    start = next(i for i, token in enumerate(chosen) if token >= job.vocabulary // 2)
    parts = {"prompt": chosen[:start], "chosen": chosen[start:], "rejected": rejected[start:]}
    return {
        name: " " * (name != "prompt") + " ".join(_word(job, token) for token in ids)
        for name, ids in parts.items()
    }


def _collator(job: Job) -> Any:
    from trl.trainer.dpo_trainer import DataCollatorForPreference

    class AgentTokensCollator(DataCollatorForPreference):
        def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
            batch = super().torch_call(examples)
            batch["completion_mask"] *= batch["input_ids"] >= job.vocabulary // 2
            return batch

    return AgentTokensCollator(pad_token_id=PAD)


def _config(job: Job, contestant: Contestant, folder: Path) -> Any:
    from trl import DPOConfig

    known = _settings(job, Contestant(trainer="ours"))
    return DPOConfig(
        output_dir=str(folder),
        use_cpu=job.device == "cpu",
        max_steps=job.steps,
        per_device_train_batch_size=contestant.micro,
        gradient_accumulation_steps=job.batch // contestant.micro,
        train_sampling_strategy="sequential",
        max_length=None,
        beta=known.beta,
        loss_type=["sigmoid"],
        precompute_ref_log_probs=contestant.precompute,
        learning_rate=known.learning_rate,
        lr_scheduler_type="cosine_with_min_lr",
        lr_scheduler_kwargs={"min_lr_rate": known.final_rate},
        optim=job.optimizer,
        adam_beta1=known.adam[0],
        adam_beta2=known.adam[1],
        weight_decay=known.weight_decay,
        max_grad_norm=known.clip,
        bf16=job.precision == "bfloat16",
        gradient_checkpointing=job.checkpointing,
        gradient_checkpointing_kwargs={"use_reentrant": False},
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        seed=job.seed,
    )


def _clock(job: Job) -> Any:
    """Return a callback that measures memory from now on, and time from the end of the first step."""
    import torch
    from transformers import TrainerCallback

    cuda = job.device == "cuda"

    def peak() -> int:
        if cuda:
            return torch.cuda.max_memory_allocated()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    class Clock(TrainerCallback):
        def __init__(self) -> None:
            if cuda:
                torch.cuda.reset_peak_memory_stats()
            self.before = torch.cuda.memory_allocated() if cuda else _resident()
            self.ends: list[tuple[float, float]] = []
            self.losses: list[float] = []
            self.norms: list[float] = []

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if cuda:
                torch.cuda.synchronize()
            self.ends.append((time.perf_counter(), time.process_time()))
            self.peak = peak()
            control.should_save = False

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if "loss" in logs:
                self.losses.append(float(logs["loss"]))
                self.norms.append(float(logs["grad_norm"]))

        def measured(self, examples: list[Any]) -> Measured:
            timed = examples[job.batch :]
            seconds, cpu = (
                last - first for first, last in zip(self.ends[0], self.ends[-1], strict=True)
            )
            return Measured(
                losses=self.losses,
                norms=self.norms,
                seconds=seconds,
                cpu=cpu,
                tokens=sum(each.chosen.tokens + each.rejected.tokens for each in timed),
                before=self.before,
                peak=self.peak,
            )

    return Clock()


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def in_child(job: Job, contestant: Contestant) -> Measured:
    """Run `measure` in its own process. Raises CalledProcessError if that fails."""
    given = msgspec.json.encode([job, contestant]).decode()
    run = subprocess.run(
        [sys.executable, __file__, given], check=True, stdout=subprocess.PIPE, env=_environment()
    )
    return msgspec.json.decode(run.stdout.splitlines()[-1], type=Measured)


def _environment() -> dict[str, str]:
    root = str(Path(__file__).parents[2])
    paths = [root, os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONWARNINGS": "ignore",
        "TQDM_DISABLE": "1",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }


if __name__ == "__main__":
    job, contestant = msgspec.json.decode(sys.argv[1], type=tuple[Job, Contestant])
    print(msgspec.json.encode(measure(job, contestant)).decode())
