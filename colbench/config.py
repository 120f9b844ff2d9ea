"""The configuration of a run: every choice that the user can make, as one frozen value."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from colbench.errors import UserError
from colbench.options import Effect, Option, Setting, read_settings

ArgValue = str | int | float | bool
AtLeastOne = Annotated[int, Meta(ge=1)]
Positive = Annotated[float, Meta(gt=0)]
NotNegative = Annotated[int, Meta(ge=0)]
Workers = Annotated[int, Meta(ge=0, le=1024)]
ScoringMode = Literal["default", "official"]
"""The scoring modes of backend and frontend; other domains may have other modes (`Domain.modes`)."""
Told = Literal["asked", "all"]
Shard = tuple[AtLeastOne, AtLeastOne]
"""Part I of N of a run, where I is counted from 1; see `colbench.shards`."""
Price = tuple[Annotated[float, Meta(ge=0)], Annotated[float, Meta(ge=0)]]

EXECUTION_ARGS = {
    "concurrency", "timeout", "retries", "port", "startup_timeout", "log", "api_key_env", "client",
}  # fmt: skip
"""Arguments that are not pinned (`RunConfig.pins`), because they cannot change the results of built-in participants."""


class RunConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The configuration of one run. Its fields are the keys of a `--config` file and, with dashes, the flags."""

    agent: Annotated[
        str,
        Option(
            "agent",
            "agent to evaluate: an installed name, openai:MODEL[@URL,…], azure:DEPLOYMENT, vllm:MODEL, local:MODEL, "
            "cmd:COMMAND, http://HOST:PORT, file.py:NAME or module:NAME",
            metavar="SPEC",
            default="the domain's rule-based agent: interviewer for backend, designer for frontend",
        ),
    ] = ""
    agent_args: Annotated[
        dict[str, ArgValue],
        Option("agent", "argument of the agent (repeatable)", metavar="NAME=VALUE"),
    ] = {}
    agent_prompt: Annotated[
        str | None,
        Option("agent", "file with the system prompt, for agents that take one", metavar="FILE"),
    ] = None
    in_process: Annotated[
        bool,
        Option("agent", "run a Python agent in this process, for debugging", effect="execution"),
    ] = False
    agent_write: Annotated[
        tuple[str, ...],
        Option(
            "agent",
            "folders that your Python agent may write to; it may read most files, but not tasks and runs",
            metavar="FOLDER,…",
            effect="execution",
        ),
    ] = ()
    agent_sandbox: Annotated[
        bool,
        Option("agent", "run the agent in a sandbox with only its own files and no network"),
    ] = False
    agent_endpoint: Annotated[
        str | None,
        Option(
            "agent",
            "the one HOST:PORT (or URL) that a sandboxed agent may connect to",
            metavar="HOST:PORT",
        ),
    ] = None
    agent_env: Annotated[
        tuple[str, ...],
        Option(
            "agent",
            "environment variables to pass to a sandboxed agent, such as its API key",
            metavar="NAME,…",
            effect="execution",
        ),
    ] = ()
    agent_price: Annotated[
        Price | None,
        Option(
            "agent",
            "price of the agent's model, in US dollars per million prompt and completion tokens",
            metavar="IN,OUT",
            effect="execution",
        ),
    ] = None

    human: Annotated[
        str,
        Option(
            "human",
            "simulated human: keyless, openai:MODEL[@URL,…], azure:DEPLOYMENT, vllm:MODEL, local:MODEL, "
            "file.py:NAME or module:NAME",
            metavar="SPEC",
        ),
    ] = "keyless"
    human_args: Annotated[
        dict[str, ArgValue],
        Option("human", "argument of the human (repeatable)", metavar="NAME=VALUE"),
    ] = {}
    human_prompt: Annotated[
        str | None,
        Option("human", "file with the prompt, for humans that are models", metavar="FILE"),
    ] = None
    told: Annotated[
        Told,
        Option(
            "human",
            "when the human reveals hidden decisions: when asked (asked), or in the first message (all)",
            metavar="WHAT",
        ),
    ] = "asked"
    human_price: Annotated[
        Price | None,
        Option(
            "human",
            "price of the human's model, as for --agent-price",
            metavar="IN,OUT",
            effect="execution",
        ),
    ] = None

    tasks: Annotated[
        str,
        Option(
            "tasks",
            "task source: bundled:…, generated:…, official:…, websight:…, or a JSONL or Parquet file",
            metavar="SOURCE",
            default="the bundled tasks of --domain, else bundled:backend",
        ),
    ] = ""
    domain: Annotated[
        str | None,
        Option(
            "tasks",
            "use only tasks of this domain: backend, frontend or an installed one",
            metavar="NAME",
            effect="selection",
        ),
    ] = None
    limit: Annotated[
        AtLeastOne | None,
        Option("tasks", "use only the first N tasks", metavar="N", effect="selection"),
    ] = None
    task_ids: Annotated[
        tuple[str, ...],
        Option("tasks", "use only these tasks", metavar="ID,…", effect="selection"),
    ] = ()

    trials: Annotated[
        AtLeastOne,
        Option("run", "dialogues per task", metavar="K", effect="selection"),
    ] = 1
    shard: Annotated[
        Shard | None,
        Option(
            "run",
            "run only part I of N of the dialogues; `colbench merge` joins the parts",
            metavar="I/N",
            effect="selection",
            separator="/",
        ),
    ] = None
    max_turns: Annotated[AtLeastOne, Option("run", "maximum turns per dialogue", metavar="N")] = 10
    seed: Annotated[int, Option("run", "seed for the agent's random choices", metavar="N")] = 0
    concurrency: Annotated[
        AtLeastOne,
        Option("run", "dialogues in parallel", metavar="N", effect="execution"),
    ] = 64
    processes: Annotated[
        AtLeastOne | Literal["auto"],
        Option(
            "run",
            "processes for dialogues, scoring and rendering; auto: one per core if there are enough dialogues",
            metavar="N",
            effect="execution",
        ),
    ] = 1
    executor: Annotated[
        str,
        Option(
            "run",
            "where dialogues run: local, or ray[:ADDRESS] for a cluster; limits such as --concurrency are per node",
            metavar="NAME",
            effect="execution",
        ),
    ] = "local"
    dialogue_timeout: Annotated[
        Positive,
        Option(
            "run",
            "limit on the agent's total time in a dialogue, and on the time for each human reply; excludes waiting for "
            "model servers",
            metavar="SECONDS",
        ),
    ] = 1800.0
    endpoint_patience: Annotated[
        Annotated[float, Meta(ge=0)],
        Option(
            "run",
            "time to wait for a model server that is down or overloaded",
            metavar="SECONDS",
            effect="execution",
        ),
    ] = 900.0
    record_tokens: Annotated[
        bool,
        Option(
            "run",
            "record token IDs and log-probabilities for training; the server must return them, as vLLM does",
        ),
    ] = False

    scorers: Annotated[
        tuple[str, ...],
        Option(
            "scoring", "extra scorers from other packages", metavar="NAME,…", effect="execution"
        ),
    ] = ()
    scoring: Annotated[
        str,
        Option(
            "scoring",
            "scoring mode that the report shows first, such as official",
            metavar="MODE",
            effect="execution",
        ),
    ] = "default"
    baseline: Annotated[
        str | None,
        Option(
            "scoring",
            "run folder or rollout file to compute the win rate against",
            metavar="RUN",
            effect="execution",
        ),
    ] = None
    ceiling: Annotated[
        str | None,
        Option(
            "scoring",
            "run folder of the same agent with --told all, whose score the report shows as the ceiling",
            metavar="RUN",
            effect="execution",
        ),
    ] = None
    clip_weights: Annotated[
        str | None,
        Option(
            "scoring",
            "file or folder with CLIP weights for the cosine similarity of pages",
            metavar="PATH",
            effect="execution",
            default="the paper's weights, downloaded at first use",
        ),
    ] = None
    clip_device: Annotated[
        str,
        Option(
            "scoring",
            "device for the cosine similarity: auto, cpu, cuda, cuda:1 …",
            metavar="NAME",
            effect="execution",
        ),
    ] = "auto"
    allow_other_clip: Annotated[
        bool,
        Option(
            "scoring",
            "accept CLIP weights other than the paper's; cosines are then not comparable",
            effect="execution",
        ),
    ] = False

    sandbox_workers: Annotated[
        Workers,
        Option(
            "sandbox",
            "answers scored in parallel",
            metavar="N",
            effect="execution",
            default="0, one per core",
        ),
    ] = 0
    sandbox_tier: Annotated[
        str | None,
        Option(
            "sandbox",
            "sandbox tier for answers that are code: T0 (strongest), T0b, T1, T1b or T2 (weakest)",
            metavar="T",
            effect="execution",
            default="the strongest that works",
        ),
    ] = None
    sandbox_packages: Annotated[
        tuple[str, ...],
        Option(
            "sandbox",
            "installed packages that answers may import, such as numpy,pandas",
            metavar="NAME,…",
        ),
    ] = ()
    allow_unsafe_sandbox: Annotated[
        bool, Option("sandbox", "run answers even without a secure sandbox")
    ] = False

    browser: Annotated[
        str | None,
        Option(
            "browser",
            "browser that renders pages",
            metavar="PATH",
            effect="execution",
            default="the first one found",
        ),
    ] = None
    browser_workers: Annotated[
        Workers,
        Option(
            "browser",
            "pages rendered in parallel",
            metavar="N",
            effect="execution",
            default="0, one per core",
        ),
    ] = 0

    def pins(self) -> dict[str, Any]:
        """Return the fields on which results can depend; a run can be resumed only if they are unchanged.

        Prompt files are replaced by the hash of their content. Arguments in `EXECUTION_ARGS` and URLs of model servers
        are left out: a resumed run may use another server. Raises UserError if a prompt file cannot be read.
        """
        pins = self._having("pinned")
        for role in ("agent", "human"):
            pins[role] = without_address(pins[role])
            args = pins[f"{role}_args"]
            pins[f"{role}_args"] = {k: args[k] for k in args.keys() - EXECUTION_ARGS}
        if self.told == "asked":  # as in runs made before this setting existed
            del pins["told"]
        for name in ("agent_prompt", "human_prompt"):
            pins[name] = _file_hash(pins[name], name) if pins[name] else None
        return pins

    def selection(self) -> dict[str, Any]:
        """Return the fields that select a run's dialogues; a run can be resumed with other values of these fields."""
        return self._having("selection")

    def _having(self, effect: Effect) -> dict[str, Any]:
        values: dict[str, Any] = msgspec.to_builtins(self)
        return {name: values[name] for name, each in settings().items() if each.effect == effect}


@cache
def settings() -> dict[str, Setting]:
    """Return the fields of RunConfig by name, each with everything that its `Option` declares."""
    return read_settings(RunConfig)


def without_address(spec: str) -> str:
    """Return a spec without a server's URL: `openai:MODEL` for `openai:MODEL@URL`, `http` for `http://host:port`."""
    kind, model = spec.partition(":")[0], spec.partition("@http")[0]
    return {"http": "http", "https": "http", "cmd": spec}.get(kind, model)


def _file_hash(path: str, field: str) -> str:
    try:
        return "sha256:" + hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as cause:
        raise UserError(
            f"{settings()[field].flag}: {path} cannot be read: {cause.strerror}"
        ) from cause


def digest(value: object) -> str:
    """Return the SHA-256 (hex) of a value's canonical JSON: keys sorted, no spaces."""
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()


def workers(asked: int) -> int:
    """Return the number of workers for a setting: 0 means one worker for each core that this process may use."""
    return asked or len(os.sched_getaffinity(0))


def derive_seed(*names: object) -> int:
    """Return a seed in [0, 2**31) that depends on the given names alone."""
    return int(digest([str(name) for name in names])[:8], 16) & 0x7FFFFFFF
