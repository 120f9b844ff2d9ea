"""The submission bundle: the transcripts and pins of a run, without anything that could be a score.

    submission.json         `Submission`: the system and the people behind it
    lock.json               `Lock`: the public part of the run's configuration and pins
    trajectories/NNN.jsonl  `Trajectory`: canonical JSON, one per line, sorted by task and trial
    blobs/SHA256            texts longer than `LONG` bytes, named by the SHA-256 of their UTF-8
    MANIFEST.sha256         `SHA256  PATH` of every other file, sorted; its own SHA-256 is the bundle's digest

A bundle is a folder with these files, or a `.tar.gz` archive of such a folder. It contains no tests, references or
rewards.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from colbench.messages import Usage
from colbench.rollout import Failure
from colbench_leaderboard.bundle.refused import shown

SUBMISSION, LOCK, MANIFEST = "submission.json", "lock.json", "MANIFEST.sha256"
TRAJECTORIES, BLOBS = "trajectories", "blobs"
SCHEMA = "colbench.bundle/1"
LONG = 16 * 1024
PER_FILE = 1000
"""Maximum number of trajectories in a file."""

Track = Literal["standard", "open"]
"""`standard`: a domain's test tasks, the rule-based human, 10 turns, unmodified ColBench.

`open`: any complete run on tasks of one domain, except a run with `--told all`.
"""
MOST_TEXT = 2000
"""Maximum number of characters of a long text, such as a description or a reason."""
Text = Annotated[str, Meta(max_length=MOST_TEXT)]
Line = Annotated[str, Meta(min_length=1, max_length=120, pattern=r"^[^\x00-\x1f\x7f]+$")]
Short = Annotated[str, Meta(max_length=120)]
Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]


class Model(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model that the system uses."""

    name: Line
    revision: Short = ""
    """A version, or the hash of the weights."""
    open_weights: bool = False
    license: Short = ""


class Disclosures(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Facts that readers of the board must know; only `training_notes` may be omitted."""

    trained_on_colbench: bool
    """True if the system was trained on any task, dialogue or generator of ColBench, even outside the test sets."""
    training_notes: Text = ""
    human_in_the_loop: bool
    tools: Annotated[str, Meta(min_length=1, max_length=MOST_TEXT)]
    """Tools of the agent besides its model, such as search; "none" if it has no tools."""


class Submission(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `submission.json`; people write it as a TOML file with the same keys."""

    schema: str = SCHEMA
    name: Line
    """Name of the system, as shown on the board."""
    organization: Line
    authors: Annotated[tuple[Line, ...], Meta(min_length=1, max_length=100)]
    contact: Line
    track: Track
    description: Text
    link: Annotated[str, Meta(max_length=500)] = ""
    """An `https://` URL, or ""."""
    models: Annotated[tuple[Model, ...], Meta(max_length=20)]
    """Empty if the system uses no model."""
    disclosures: Disclosures
    license: Literal["CC-BY-4.0", "CC0-1.0"] = "CC-BY-4.0"
    """License of the transcripts."""


class LockedTasks(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The grid of a run: its tasks, with `trials` trials of each."""

    source: str
    count: int
    hash: str
    """The hash over the tasks, as recorded in `run.json`."""
    domain: str
    trials: int


class Lock(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `lock.json`."""

    schema: str = SCHEMA
    colbench: str
    commit: str
    python: str
    started: str
    config: dict[str, Any]
    """The public part of the configuration in `run.json`; see `redaction`."""
    pins: dict[str, Any]
    digest: str
    """Digest of `pins`, equal to the digest in `run.json` unless private data was removed."""
    sandbox: str
    environment: str = field(name="browser")
    """Version and settings of the tools that produced the scores, such as a browser.

    The key in lock.json is `browser`.
    """
    tasks: LockedTasks

    @property
    def agent_process(self) -> str:
        """The kind of process that ran the agent, such as "own process, isolated (bubblewrap)", or "not stated"."""
        pinned = self.pins.get("agent")
        stated = pinned.get("process") if isinstance(pinned, dict) else None
        return shown(stated) if isinstance(stated, str) else "not stated"

    @property
    def domain_package(self) -> str:
        """The pinned name and version of the package that provides the domain; "" if ColBench itself provides it."""
        pinned = self.pins.get("domains")
        return shown(str(pinned.get(self.tasks.domain, ""))) if isinstance(pinned, dict) else ""


class Blob(Struct, frozen=True, forbid_unknown_fields=True):
    """A reference to a long text in `blobs/`."""

    blob: Digest


Words = str | Blob
"""Text of a dialogue: inline or, if it is long, a reference to a blob."""


class Turn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One message of the agent and the human's reply; the fields are explained in `colbench.rollout.Turn`."""

    raw: Words
    said: Words
    human: Words | None = None
    agent_usage: Usage | None = None
    human_usage: Usage | None = None


class Trajectory(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One dialogue; a bundle has at most one for each trial of a task."""

    task_id: str
    task_hash: Digest
    trial: Annotated[int, Meta(ge=0)]
    seed: int
    request: Words
    turns: tuple[Turn, ...]
    answer: Words | None = None
    ended_by: Literal["answer", "limit", "failure"]
    failure: Failure | None = None
