"""The configuration of a run: every choice that the user can make, as one frozen value."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from colbench.config_errors import field_of, in_words
from colbench.errors import UserError

ArgValue = str | int | float | bool
AtLeastOne = Annotated[int, Meta(ge=1)]
Positive = Annotated[float, Meta(gt=0)]
NotNegative = Annotated[int, Meta(ge=0)]
Price = tuple[Annotated[float, Meta(ge=0)], Annotated[float, Meta(ge=0)]]
ScoringMode = Literal["default", "official"]

SELECTION = {"domain", "limit", "task_ids", "trials"}
"""Which cells a run has; a run may be extended by changing these."""
EXECUTION = {
    "concurrency",
    "sandbox_workers",
    "agent_env",
    "agent_price",
    "human_price",
    "scoring",
    "browser",
    "browser_workers",
    "clip_weights",
    "clip_device",
    "allow_other_clip",
    "baseline",
}
"""How the cells are worked off and shown; no verdict depends on these."""
EXECUTION_ARGS = {
    "concurrency",
    "timeout",
    "retries",
    "port",
    "startup_timeout",
    "log",
    "api_key_env",
}
"""Arguments of the built-in agents and humans for which the same holds."""


class RunConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run. The fields are the keys of a `--config` file and, with dashes, the flags."""

    domain: str | None = None
    """Only the tasks of this domain; where no tasks are named, its bundled ones."""
    agent: str = ""
    """Empty: the keyless agent of the tasks' domain."""
    agent_args: dict[str, ArgValue] = {}
    agent_prompt: str | None = None
    """File with the agent's system prompt, for agents that take one."""
    agent_sandbox: bool = False
    """Shut a `cmd:` agent in: no network, and no file that holds tasks."""
    agent_endpoint: str | None = None
    """HOST:PORT that it may reach all the same."""
    agent_env: tuple[str, ...] = ()
    """Environment variables that it gets in there."""
    tasks: str = ""
    """Empty: the bundled tasks of `domain`, or of backend programming."""
    human: str = "keyless"
    human_args: dict[str, ArgValue] = {}
    human_prompt: str | None = None
    """File with the human's prompt, for humans that are models."""
    scoring: ScoringMode = "default"
    """Which of the stored verdicts the report leads with."""
    record_tokens: bool = False
    """Keep prompt and sampled token ids and log-probabilities of every turn, for training."""
    max_turns: AtLeastOne = 10
    trials: AtLeastOne = 1
    seed: int = 0
    limit: AtLeastOne | None = None
    task_ids: tuple[str, ...] = ()
    concurrency: AtLeastOne = 64
    """Dialogues in flight."""
    dialogue_timeout: Positive = 1800.0
    """Seconds that the agent may take for one dialogue, and the human for one reply."""
    sandbox_workers: NotNegative = 0
    """Candidates scored at once; 0: one for each core."""
    sandbox_packages: tuple[str, ...] = ()
    """Installed packages that answers may import; the standard library is always there."""
    allow_unsafe_sandbox: bool = False
    browser: str | None = None
    """Path of the browser that renders pages; None: the first that is found."""
    browser_workers: NotNegative = 0
    """Pages rendered at once; 0: one for each core."""
    clip_weights: str | None = None
    """File or folder with the weights for the cosine; None: those of the paper, downloaded at first use."""
    clip_device: str = "auto"
    """Where the cosine is computed: auto, cpu, cuda, cuda:1 …"""
    allow_other_clip: bool = False
    """Take weights that are not the paper's; such cosines compare with nothing else."""
    baseline: str | None = None
    """Run folder or rollout file that the win rate is against."""
    agent_price: Price | None = None
    """US dollars for a million prompt tokens and for a million completion tokens."""
    human_price: Price | None = None

    def pins(self) -> dict[str, Any]:
        """The fields on which a number can depend.

        Files are replaced by the hash of their content, and a model server's address is left out:
        the same model may be served elsewhere when the run goes on.
        """
        pins: dict[str, Any] = msgspec.to_builtins(self)
        for name in SELECTION | EXECUTION:
            del pins[name]
        for role in ("agent", "human"):
            pins[role] = without_address(pins[role])
            args = pins[f"{role}_args"]
            pins[f"{role}_args"] = {k: args[k] for k in args.keys() - EXECUTION_ARGS}
        for name in ("agent_prompt", "human_prompt"):
            pins[name] = _file_hash(pins[name], name) if pins[name] else None
        return pins


def config_of(settings: Mapping[str, Any]) -> RunConfig:
    """Build a configuration from fields by name, as given in Python. Raises UserError that names a wrong field."""
    for name in settings:
        if name not in RunConfig.__struct_fields__:
            near = get_close_matches(name, RunConfig.__struct_fields__, 1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise UserError(f"{name}: unknown setting{hint}")
    try:
        return msgspec.convert(dict(settings), RunConfig, strict=False)
    except msgspec.ValidationError as cause:
        raise UserError(f"{field_of(cause) or 'settings'}: {in_words(str(cause))}") from cause


def without_address(spec: str) -> str:
    """What a spec means, wherever it is served: `openai:MODEL` of `openai:MODEL@URL`, `http` of `http://host:port`."""
    return "http" if spec.startswith(("http://", "https://")) else spec.partition("@http")[0]


def _file_hash(path: str, field: str) -> str:
    try:
        return "sha256:" + hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as cause:
        flag = "--" + field.replace("_", "-")
        raise UserError(f"{flag}: {path} cannot be read: {cause.strerror}") from cause


def digest(value: object) -> str:
    """SHA-256 (hex) of a value's canonical JSON: keys sorted, no spaces."""
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()


def cache_folder() -> Path:
    """Where things are kept that can be made again: COLBENCH_CACHE, or ~/.cache/colbench (see XDG_CACHE_HOME)."""
    own = os.environ.get("COLBENCH_CACHE")
    caches = os.environ.get("XDG_CACHE_HOME")
    return Path(own) if own else (Path(caches) if caches else Path.home() / ".cache") / "colbench"


def workers(asked: int) -> int:
    """Return how many workers a setting means: 0 is one for each core."""
    return asked or os.cpu_count() or 1


def derive_seed(*names: object) -> int:
    """A seed in [0, 2**31) that depends on nothing but the given names."""
    return int(digest([str(name) for name in names])[:8], 16) & 0x7FFFFFFF
