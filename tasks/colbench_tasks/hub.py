"""Access to files of the Hugging Face Hub at a pinned commit, with clear errors for unavailable files.

Without a network, the Hub's client retries for half a minute and logs each attempt. Therefore, if a file is not
cached, this module sends the Hub one request with a timeout before it downloads anything. The user's settings are
respected: HF_HOME, HF_ENDPOINT, HF_HUB_OFFLINE and HF_DATASETS_OFFLINE have their usual meaning. COLBENCH_OFFICIAL_DIR
may name a folder with the same files, which takes precedence over the Hub.
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
"""Timeout of the first request to the Hub, in seconds."""
BRANCH = "main"
"""The branch from which `fetch` reads, with a warning, if the pinned commit is not found."""

logger = logging.getLogger(__name__)


class HubFile(Struct, frozen=True):
    """A file of a dataset on the Hub; only the bytes that are read are downloaded."""

    path: str
    """Path of the form datasets/OWNER/NAME@COMMIT/…"""

    def __str__(self) -> str:
        return f"hf://{self.path}"

    def open(self, mode: Literal["rb"], /) -> BinaryIO:
        """Open the file for reading, without reading ahead."""
        from huggingface_hub import HfFileSystem

        return cast(BinaryIO, HfFileSystem().open(self.path, mode, cache_type="none"))


class UnreachableError(Exception):
    """An error for a file that is not cached and cannot be downloaded from the Hub. Its text is a short reason."""


def fetch(repository: str, commit: str, file: str) -> Path:
    """Return the path of a dataset's file in the Hub's cache; download the file first if it is missing.

    `commit` is a prefix of the pinned commit's hash. If that commit is not found, the file is read from the branch
    `BRANCH`, and a warning is logged. Raises UnreachableError if the file is not cached and cannot be downloaded.
    """
    with _quiet(), _reasons():
        path = _cached(repository, commit, file) or _download(repository, commit, file)
    found = path.relative_to(_snapshots(repository)).parts[0]
    logger.info("%s: %s, commit %s", file, repository, found)
    if not found.startswith(commit):
        logger.warning(
            "%s: commit %s is not the pinned commit %s; the tasks, and so the metrics, may differ",
            file,
            found,
            commit,
        )
    return path


def list_files(repository: str, commit: str, pattern: str) -> list[HubFile]:
    """Return the files whose paths match a glob pattern, sorted."""
    from huggingface_hub import HfFileSystem

    found = HfFileSystem().glob(f"datasets/{repository}@{commit}/{pattern}")
    return [HubFile(str(path)) for path in sorted(found)]


@contextmanager
def reach(repository: str, commit: str) -> Iterator[None]:
    """Check that the Hub has the commit. Until the context ends, the Hub's client logs only errors.

    Raises UnreachableError if the check, or anything in the context, fails; ColBench's own errors pass unchanged.
    """
    with _quiet(), _reasons():
        _ask(repository, commit)
        yield


def local_folder() -> Path | None:
    """Return the folder that COLBENCH_OFFICIAL_DIR names; None if the variable is unset or empty.

    Raises UserError if the folder does not exist.
    """
    named = os.environ.get(LOCAL_DIR)
    if not named:
        return None
    place = Path(named).expanduser()
    if not place.is_dir():
        raise UserError(f"{LOCAL_DIR}: the folder {place} does not exist")
    return place


@cache
def tell_license(text: str) -> None:
    """Log a license as a warning, once per process."""
    logger.warning(text)


def _snapshots(repository: str) -> Path:
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE, "datasets--" + repository.replace("/", "--"), "snapshots")


def _cached(repository: str, commit: str, file: str) -> Path | None:
    """Return a cached file, from the pinned commit if possible; None if no suitable file is cached.

    Offline, a file from the branch `BRANCH` is also suitable.
    """
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
            "not cached, and HF_HUB_OFFLINE or HF_DATASETS_OFFLINE forbids downloads"
        )
    HfApi().dataset_info(repository, revision=revision, timeout=TIMEOUT)


def _offline() -> bool:
    from huggingface_hub.constants import HF_HUB_OFFLINE

    said = os.environ.get("HF_DATASETS_OFFLINE", "").upper()
    return HF_HUB_OFFLINE or said in ("1", "ON", "YES", "TRUE")


@contextmanager
def _reasons() -> Iterator[None]:
    """Convert the Hub client's errors to UnreachableError, because the classes of these errors vary by version.

    ColBench's own errors pass unchanged.
    """
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
    """Limit the log of the Hub's client to errors until the context ends."""
    client = logging.getLogger("huggingface_hub")
    level = client.level
    client.setLevel(logging.ERROR)
    try:
        yield
    finally:
        client.setLevel(level)
