"""Files of the Hugging Face hub at a pinned commit, and what is said when they cannot be had.

Without a network the hub's client tries for half a minute and logs each try. So where something is not cached,
`reach` asks the hub once, with a time limit, before anything is downloaded. Nothing of the user's settings is
changed: HF_HOME, HF_ENDPOINT, HF_HUB_OFFLINE and HF_DATASETS_OFFLINE mean here what they mean elsewhere.
COLBENCH_OFFICIAL_DIR may name a folder of the same files, which then comes before the hub.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import BinaryIO, Literal, cast

from msgspec import Struct

from colbench.errors import ColBenchError, UserError

LOCAL_DIR = "COLBENCH_OFFICIAL_DIR"
TIMEOUT = 10
"""Seconds within which the hub must answer the first request."""
BRANCH = "main"
"""Read, with a warning, where the pinned commit is not to be found."""

logger = logging.getLogger(__name__)


class HubFile(Struct, frozen=True):
    """A file of a data set, of which only those bytes are fetched that are read."""

    path: str
    """datasets/OWNER/NAME@COMMIT/…"""

    def __str__(self) -> str:
        return f"hf://{self.path}"

    def open(self, mode: Literal["rb"], /) -> BinaryIO:
        """Open it; nothing is read ahead."""
        from huggingface_hub import HfFileSystem

        return cast(BinaryIO, HfFileSystem().open(self.path, mode, cache_type="none"))


class UnreachableError(Exception):
    """What was asked for is not cached and the hub does not give it. The text is the reason, in a few words."""


def fetch(repository: str, commit: str, file: str) -> Path:
    """The path of a data set's file in the hub's cache, downloaded first if it is not there.

    `commit` is the beginning of the pinned commit's hash. Raises UnreachableError.
    """
    with _quiet(), _reasons():
        path = _cached(repository, commit, file) or _download(repository, commit, file)
    found = path.relative_to(_snapshots(repository)).parts[0]
    logger.info("%s: %s, commit %s", file, repository, found)
    if not found.startswith(commit):
        logger.warning("%s is not the pinned commit %s: numbers may differ", found, commit)
    return path


def list_files(repository: str, commit: str, pattern: str) -> list[HubFile]:
    """The files whose paths match a glob pattern, sorted."""
    from huggingface_hub import HfFileSystem

    found = HfFileSystem().glob(f"datasets/{repository}@{commit}/{pattern}")
    return [HubFile(str(path)) for path in sorted(found)]


@contextmanager
def reach(repository: str, commit: str) -> Iterator[None]:
    """Inside, the hub can be reached and has the commit, and its client is quiet. Raises UnreachableError."""
    with _quiet(), _reasons():
        _ask(repository, commit)
        yield


def local_folder() -> Path | None:
    """The folder that COLBENCH_OFFICIAL_DIR names. Raises UserError if there is none of that name."""
    named = os.environ.get(LOCAL_DIR)
    if not named:
        return None
    place = Path(named).expanduser()
    if not place.is_dir():
        raise UserError(f"{LOCAL_DIR}: there is no folder {place}")
    return place


@cache
def tell_licence(text: str) -> None:
    """Show a licence, once a process."""
    logger.warning(text)


def _snapshots(repository: str) -> Path:
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE, "datasets--" + repository.replace("/", "--"), "snapshots")


def _cached(repository: str, commit: str, file: str) -> Path | None:
    """The file at the pinned commit, or, offline, at the branch."""
    found = sorted(_snapshots(repository).glob(f"{commit}*/{file}"))
    if found or not _offline():
        return found[0] if found else None
    from huggingface_hub import try_to_load_from_cache

    other = try_to_load_from_cache(repository, file, repo_type="dataset", revision=BRANCH)
    return Path(other) if isinstance(other, str) else None


def _download(repository: str, commit: str, file: str) -> Path:
    from huggingface_hub import HfApi

    _ask(repository, BRANCH)
    history = HfApi().list_repo_commits(repository, repo_type="dataset")
    revision = next((one.commit_id for one in history if one.commit_id.startswith(commit)), BRANCH)
    return Path(HfApi().hf_hub_download(repository, file, repo_type="dataset", revision=revision))


def _ask(repository: str, revision: str) -> None:
    from huggingface_hub import HfApi

    if _offline():
        raise UnreachableError(
            "not cached, and HF_HUB_OFFLINE or HF_DATASETS_OFFLINE keeps from the network"
        )
    HfApi().dataset_info(repository, revision=revision, timeout=TIMEOUT)


def _offline() -> bool:
    from huggingface_hub.constants import HF_HUB_OFFLINE

    said = os.environ.get("HF_DATASETS_OFFLINE", "").upper()
    return HF_HUB_OFFLINE or said in ("1", "ON", "YES", "TRUE")


@contextmanager
def _reasons() -> Iterator[None]:
    """Turn the client's errors, whose classes differ by version, into UnreachableError; pass on ours."""
    try:
        yield
    except (ColBenchError, UnreachableError):
        raise
    except Exception as cause:
        raise UnreachableError(_reason(cause)) from cause


def _reason(cause: Exception) -> str:
    from huggingface_hub.constants import ENDPOINT

    said = str(cause).strip().split("\n")[0].split(". ")[0].strip(". ")
    return f"{ENDPOINT}: {said or type(cause).__name__}"


@contextmanager
def _quiet() -> Iterator[None]:
    """Only errors of the hub's client are logged inside."""
    client = logging.getLogger("huggingface_hub")
    level = client.level
    client.setLevel(logging.ERROR)
    try:
        yield
    finally:
        client.setLevel(level)
