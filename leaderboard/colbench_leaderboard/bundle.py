"""The submission bundle: what is sent in, and nothing that could be a score.

    submission.json         `Submission`: who and what
    lock.json               `Lock`: every pin of the run
    trajectories/NNN.jsonl  `Trajectory`, canonical JSON, a line each, by task and trial
    blobs/SHA256            texts of more than `LONG` bytes, by the SHA-256 of their UTF-8
    MANIFEST.sha256         `SHA256  PATH` of every other file, by path; its SHA-256 is the bundle's digest

A bundle is a folder, or a `.tar.gz` of it. No task's body, tests, reference or reward is in it.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from colbench.messages import Usage
from colbench.rollout import Failure

SUBMISSION, LOCK, MANIFEST = "submission.json", "lock.json", "MANIFEST.sha256"
TRAJECTORIES, BLOBS = "trajectories", "blobs"
SCHEMA = "colbench.bundle/1"
LONG = 16 * 1024
PER_FILE = 1000
"""Trajectories in a file, at most."""

Track = Literal["standard", "open"]
"""`standard`: bundled or official test tasks, the prescribed human, 10 turns, a clean harness. `open`: anything."""
Text = Annotated[str, Meta(max_length=2000)]
Line = Annotated[str, Meta(min_length=1, max_length=120, pattern=r"^[^\x00-\x1f\x7f]+$")]
Short = Annotated[str, Meta(max_length=120)]
Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]


class Model(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model that the system uses."""

    name: Line
    revision: Short = ""
    """A version, or the hash of the weights."""
    open_weights: bool = False
    licence: Short = ""


class Disclosures(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a reader must know; all have to be answered."""

    trained_on_colbench: bool
    """On any task, dialogue or generator of ColBench, its test tasks included or not."""
    training_notes: Text = ""
    human_in_the_loop: bool
    tools: Annotated[str, Meta(min_length=1, max_length=2000)]
    """What the agent may use beside its model, such as search; "none"."""


class Submission(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`submission.json`; on disk before packing, the same keys in TOML."""

    schema: str = SCHEMA
    name: Line
    """Of the system, as the board shows it."""
    organisation: Line
    authors: Annotated[tuple[Line, ...], Meta(min_length=1, max_length=100)]
    contact: Line
    track: Track
    description: Text
    link: Annotated[str, Meta(max_length=500)] = ""
    """An `https://` address."""
    models: Annotated[tuple[Model, ...], Meta(max_length=20)]
    """None where no model is asked."""
    disclosures: Disclosures
    licence: Literal["CC-BY-4.0", "CC0-1.0"] = "CC-BY-4.0"
    """Of the transcripts."""


class LockedTasks(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The grid: every one of these tasks, `trials` times."""

    source: str
    count: int
    hash: str
    """As in `run.json`."""
    domain: str
    trials: int


class Lock(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`lock.json`."""

    schema: str = SCHEMA
    colbench: str
    commit: str
    python: str
    started: str
    config: dict[str, Any]
    """What of `run.json` is for everybody; see `private`."""
    pins: dict[str, Any]
    digest: str
    """Of these pins: that of `run.json`, but where something private was left out of them."""
    sandbox: str
    browser: str
    tasks: LockedTasks


class Blob(Struct, frozen=True, forbid_unknown_fields=True):
    """A long text, in `blobs/`."""

    blob: Digest


Words = str | Blob


class Turn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One reply of the agent and what the human said to it."""

    raw: Words
    said: Words
    human: Words | None = None
    agent_usage: Usage | None = None
    human_usage: Usage | None = None


class Trajectory(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One dialogue: a cell of the grid."""

    task_id: str
    task_hash: Digest
    trial: Annotated[int, Meta(ge=0)]
    seed: int
    request: Words
    turns: tuple[Turn, ...]
    answer: Words | None = None
    ended_by: Literal["answer", "limit", "failure"]
    failure: Failure | None = None


def canonical(value: Any) -> bytes:
    """One line of JSON that is the same for the same value: keys sorted, no space, UTF-8."""
    return msgspec.json.encode(msgspec.to_builtins(value), order="sorted")


def sha256(content: bytes) -> str:
    """In hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()
