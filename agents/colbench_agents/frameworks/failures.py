"""Attribution of exceptions in another framework's agent: to the agent, its model server, or the user.

Exceptions are recognized by the names of their classes, so that no client of a model server has to be imported. Several
clients use the same names.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from colbench.errors import ColBenchError, EndpointError, Kind, UserError, describe_exception

UNANSWERED = {
    "APIConnectionError",  # openai, anthropic, litellm
    "TransportError",  # httpx
    "ConnectionError",  # Python, requests
    "Timeout",  # requests
    "ClientConnectionError",  # aiohttp
    "URLError",  # urllib
    "ClientPayloadError",  # aiohttp
    "ChunkedEncodingError",  # requests
    "IncompleteRead",  # http.client, urllib3
}
"""Exceptions that mean that a server was not reached, did not answer in time, or broke the connection."""
REFUSED = {"AuthenticationError", "PermissionDeniedError", "NotFoundError"}
"""Exceptions of openai, anthropic and litellm for a wrong key or model, which would fail in every dialogue."""
LOADED = {408, 409, 425, 429}
"""Status codes below 500 of a server that is temporarily unable to process a request."""
LATE = {"APITimeoutError", "TimeoutException", "Timeout", "TimeoutError"}
"""Exceptions of openai, anthropic, litellm, httpx, requests and Python for a timeout."""
CLIENTS = {"aiohttp", "http", "socket", "ssl", "urllib"}
"""Packages whose code raises a plain TimeoutError if a server does not answer."""


@contextmanager
def attributed(*, answered: bool) -> Iterator[None]:
    """Convert errors of a model server's client to EndpointError or UserError; pass the agent's own errors unchanged.

    A refusal of the key or the model becomes a UserError or, if `answered` (the server has answered before), an
    EndpointError.
    """
    try:
        yield
    except ColBenchError:
        raise
    except Exception as error:
        for cause in _chain(error):
            if isinstance(cause, ColBenchError):
                raise cause from error
            if server_failed(cause):
                raise EndpointError(describe_exception(cause), kind=_kind(cause)) from error
            if _named(cause, REFUSED) and _status(cause):
                if answered:
                    raise EndpointError(describe_exception(cause), kind="rejected") from error
                raise UserError(
                    f"--agent: its model server rejects the key or the model: {cause}"
                ) from error
        raise


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, the errors in it if it is an exception group, and the error that caused it.

    The same is then done for each of these further errors.
    """
    yield error
    members = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    for each in (*members, error.__cause__):
        if each is not None:
            yield from _chain(each)


def server_failed(error: BaseException) -> bool:
    """Return True if the error means that a server did not answer or was temporarily unable to process the request."""
    status = _status(error)
    if status is not None:
        return status in LOADED or status >= 500
    return _named(error, UNANSWERED) or (isinstance(error, TimeoutError) and _of_a_client(error))


def _of_a_client(error: TimeoutError) -> bool:
    """Return True if a network client raised the error, False if the agent's code did (as with `asyncio.timeout`)."""
    if error.errno is not None:
        return True
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    packages = (frame.f_globals.get("__name__", "").partition(".")[0] for frame in frames)
    return any(package in CLIENTS for package in packages)


def _kind(error: BaseException) -> Kind:
    """Return the kind of a server's failure."""
    status = _status(error)
    if status is None:
        return "timeout" if _named(error, LATE) else "connection"
    return "overload" if status in LOADED else "server_error"


def _named(error: BaseException, names: set[str]) -> bool:
    return any(cls.__name__ in names for cls in type(error).__mro__)


def _status(error: BaseException) -> int | None:
    """Return an error's HTTP status; the attribute's name depends on the client (aiohttp: `status`, urllib: `code`)."""
    names = ("status_code", "status", "code")
    holders = (error, getattr(error, "response", None))
    found = (getattr(each, name, None) for each in holders for name in names)
    return next((status for status in found if isinstance(status, int)), None)
