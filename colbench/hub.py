"""Uploads to the Hugging Face Hub, with actionable errors."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from colbench.errors import ColBenchError, EndpointError, UserError

if TYPE_CHECKING:
    import datasets

LOGIN = "log in with `hf auth login`, or set HF_TOKEN"
OFFLINE = "HF_HUB_OFFLINE is set; unset it"
CLIENTS = ("httpx", "httpcore", "requests", "urllib3")
"""Prefixes of the names of HTTP packages, such as `httpx2`, that versions of the hub's client use."""


def check_repository(repository: str) -> None:
    """Raise UserError unless `repository` is a valid name of the form OWNER/NAME."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    wrong = UserError(f"{repository}: expected OWNER/NAME, such as me/my-data")
    if "/" not in repository:
        raise wrong
    try:
        validate_repo_id(repository)
    except HFValidationError as cause:
        raise wrong from cause


def push(dataset: datasets.Dataset, repository: str, *, private: bool | None = None) -> str:
    """Upload a dataset to a dataset repository, and return the repository's URL. Create the repository if necessary.

    `private`: visibility of a new repository. With None, the owner's settings decide, and the default is public. Raises
    UserError if `repository` is malformed, if the hub refuses the upload, or if the upload fails on this machine.
    Raises EndpointError if the hub cannot be reached or answers with HTTP 5xx.
    """
    check_repository(repository)
    try:
        with _quiet():
            return str(dataset.push_to_hub(repository, private=private).repo_url)
    except Exception as cause:
        raise _explain(repository, cause) from cause


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence progress bars and log messages of the hub's client and of `datasets`."""
    import datasets
    from huggingface_hub import utils as client

    bars = [library for library in (datasets, client) if not library.are_progress_bars_disabled()]
    loggers = [logging.getLogger(name) for name in ("datasets", "huggingface_hub")]
    levels = [logger.level for logger in loggers]
    for library in bars:
        library.disable_progress_bars()
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for library in bars:
            library.enable_progress_bars()
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _explain(repository: str, cause: Exception) -> ColBenchError:
    from huggingface_hub.constants import ENDPOINT
    from huggingface_hub.errors import (
        HfHubHTTPError,
        LocalTokenNotFoundError,
        OfflineModeIsEnabled,
    )

    if isinstance(cause, OfflineModeIsEnabled):
        return UserError(f"{repository}: {OFFLINE}")
    if isinstance(cause, LocalTokenNotFoundError):
        return UserError(f"{repository}: the hub needs a token; {LOGIN}")
    reason = str(cause).strip().split("\n")[0] or type(cause).__name__
    status = cause.response.status_code if isinstance(cause, HfHubHTTPError) else None
    if status is None and not _is_connection_error(cause):
        return UserError(f"{repository}: the upload failed: {type(cause).__name__}: {reason}")
    if status is None or status >= 500:
        problem = "cannot be reached" if status is None else "failed"
        return EndpointError(f"{repository}: {ENDPOINT} {problem}: {reason}")
    remedy = f"; {LOGIN}" if status in (401, 403) else ""
    return UserError(f"{repository}: {ENDPOINT} refused the upload: {reason}{remedy}")


def _is_connection_error(error: Exception) -> bool:
    """Return True if an error means that a request got no response. Its class depends on the client's version."""
    of_client = any(cls.__module__.startswith(CLIENTS) for cls in type(error).__mro__)
    return of_client or isinstance(error, ConnectionError | TimeoutError)
