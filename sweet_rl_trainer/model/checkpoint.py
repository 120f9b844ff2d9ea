"""Checkpoints and their tokenizers, found by name: a folder, or an ID on the Hugging Face Hub.

OWNER/NAME             the newest version, or the cached version if the Hub cannot be reached
OWNER/NAME@REVISION    a branch, tag or commit
FOLDER                 written by `save_pretrained`
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from colbench.errors import UserError, describe_exception
from sweet_rl_trainer.model.digest import WEIGHT_FILES, is_whole

ADAPTER_WEIGHTS = "adapter_model.safetensors"
FILES = ("*.json", "*.txt", "*.jinja", "*.model", WEIGHT_FILES[0], ADAPTER_WEIGHTS)
"""Patterns of the files to download; copies of the weights in other formats do not match."""
ADAPTERS = "adapter_config.json"
NAME = r"(?![^/@]{97})\w([\w.-]*\w)?"
HUB_ID = re.compile(rf"(?![^@]*(--|\.\.|\.git(@|$))){NAME}(/{NAME})?(@[^@\s]+)?", re.ASCII)
"""The IDs that the Hub's client accepts. The client raises an error for `..`, for `--`, and for a final `.git`."""


def resolve(name: str) -> Path:
    """Return the folder of a model, downloading the model if the name is a Hub ID.

    Raises UserError, whose message gives the fix, if the model cannot be found or downloaded.
    """
    if folder := _folder(name):
        return folder
    return _download(*_hub_id(name))


def find_local(name: str) -> Path | None:
    """Return the folder of a model on this machine, including the Hub's cache; None if the model is not there.

    Nothing is downloaded.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    if folder := _folder(name):
        return folder
    if not is_hub_id(name):
        return None
    repository, revision = _hub_id(name)
    try:
        found = Path(snapshot_download(repository, revision=revision, local_files_only=True))
    except LocalEntryNotFoundError:
        return None
    return found if is_whole(found) else None


def _folder(name: str) -> Path | None:
    folder = Path(name).expanduser()
    return folder if name and folder.is_dir() else None


def is_hub_id(name: str) -> bool:
    """Return True if a name has the form of a Hub ID: NAME or OWNER/NAME, with or without @REVISION."""
    return HUB_ID.fullmatch(name) is not None


def _hub_id(name: str) -> tuple[str, str | None]:
    """Return the repository and the revision of a Hub ID."""
    if not is_hub_id(name):
        raise UserError(
            f"model {name!r}: neither an existing folder nor a Hub ID (OWNER/NAME, "
            "OWNER/NAME@REVISION)"
        )
    repository, _, revision = name.partition("@")
    return repository, revision or None


def _download(repository: str, revision: str | None) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.constants import ENDPOINT
    from huggingface_hub.errors import (
        GatedRepoError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    where = f"model {repository}"
    try:
        return Path(snapshot_download(repository, revision=revision, allow_patterns=list(FILES)))
    except GatedRepoError as cause:
        raise UserError(
            f"{where}: accept its license at {ENDPOINT}/{repository}, then log in with `hf auth "
            "login`"
        ) from cause
    except RepositoryNotFoundError as cause:
        raise UserError(
            f"{where}: neither a folder nor a model at {ENDPOINT} has this name; private models "
            "need `hf auth login`"
        ) from cause
    except RevisionNotFoundError as cause:
        raise UserError(f"{where}: the model has no revision {revision}") from cause
    except LocalEntryNotFoundError as cause:
        raise UserError(
            f"{where}: not in the cache, and {ENDPOINT} cannot be reached (HF_HUB_OFFLINE is "
            f"{os.environ.get('HF_HUB_OFFLINE') or 'not set'}); run `hf download {repository}"
            f"{f' --revision {revision}' if revision else ''}` where it can be reached, or use a folder"
        ) from cause
    except Exception as cause:  # the error classes of the client differ by version
        raise UserError(f"{where}: {describe_exception(cause)}") from cause


def load_tokenizer(folder: Path) -> Any:
    """Return the tokenizer of a checkpoint. Raises UserError if it cannot be read."""
    from transformers import AutoTokenizer

    with readable(folder, "tokenizer"):
        return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def load_processor(folder: Path) -> Any:
    """Return the processor of a vision model's checkpoint. Raises UserError if it cannot be read."""
    from transformers import AutoProcessor

    made: Any = AutoProcessor
    with readable(folder, "processor"):
        return made.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def is_adapters(folder: Path) -> bool:
    """Return True if a folder contains adapters rather than a whole model."""
    return (folder / ADAPTERS).is_file()


@contextmanager
def readable(folder: Path, what: str) -> Iterator[None]:
    """Convert the errors that transformers raises about a folder to UserError."""
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, ImportError, SafetensorError) as cause:
        said = " ".join(str(cause).split())
        if isinstance(cause, KeyError) or not said:
            said = f"{type(cause).__name__}: {said}".removesuffix(": ")
        raise UserError(f"{folder}: the {what} cannot be loaded: {said}") from cause
