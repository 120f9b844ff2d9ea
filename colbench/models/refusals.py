"""Classification of a model server's refusals: overload, temporary failure, or a mistake of the user."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from colbench.errors import Kind, UserError
from colbench.models.address import KEY_FLAGS
from colbench.models.reply import error_fields, error_text
from colbench.models.transports import Answer

NOT_NOW = {429, 502, 503, 504, 529}
"""Status codes of overload, or of a gateway that does not reach the server. Repeating the request uses up no try."""
NO_CREDIT = 402
"""Status code with which OpenRouter and DeepSeek refuse requests of an account without credit."""
LOAD = {429, 503, 529}
RETRIED = {408, 409, 425}
"""Status codes of temporary refusals. Codes from 500 on have the same meaning, except 501 and codes in `NOT_NOW`."""
NOT_IMPLEMENTED = 501
"""Status code of a request with a part that the server does not implement, such as a schema for the reply."""
PASSING = {300, 301, 302, 303, 307, 308, 401, 403, 404, 405}
"""Status codes of a refused key or URL: the user's mistake or, if the server answered before, a temporary fault."""
LONGEST_BACKOFF = 10.0


class RefusedError(Exception):
    """A request failed in a way that may be temporary. The request is repeated, which uses up a try."""

    def __init__(self, reason: str, kind: Kind, *, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.kind: Kind = kind
        self.retry_after = retry_after


class NotNowError(RefusedError):
    """The server was overloaded, or a gateway did not reach it. The request is repeated without using up a try."""


class PassingError(RefusedError):
    """The server refused the key or the URL, although it has answered earlier requests of this or another client.

    A client that has never had an answer from the server raises `mistake` after its last try.
    """

    def __init__(self, reason: str, mistake: UserError) -> None:
        super().__init__(reason, "server_error")
        self.mistake = mistake


class OtherRequestError(Exception):
    """The server refused the request, and the response showed how to change the next request."""


def refusal(url: str, answer: Answer, *, has_answered: bool) -> Exception | None:
    """Return the error for a refusal; None if the cause is the content of the request.

    `has_answered`: True if the server has already answered a request.
    """
    status, said = answer.status, words(answer)
    empty = status == 429 and error_fields(answer.content).get("code") == "insufficient_quota"
    if empty or status == NO_CREDIT:
        return UserError(f"{url}: the account has no quota left ({said})")
    if status in NOT_NOW:
        kind: Kind = "overload" if status in LOAD else "server_error"
        return NotNowError(said, kind, retry_after=retry_after(answer.headers))
    if status in RETRIED or (status >= 500 and status != NOT_IMPLEMENTED):
        return RefusedError(said, "server_error", retry_after=retry_after(answer.headers))
    if status in PASSING:
        error = mistake(url, answer)
        return PassingError(said, error) if has_answered else error
    return None


def mistake(url: str, answer: Answer) -> UserError:
    """Return the error for a refused key or a wrong URL."""
    said = words(answer)
    if answer.status in {401, 403}:
        return UserError(
            f"{url} rejects the API key, or needs one; pass {KEY_FLAGS}, where NAME is the environment variable "
            f"with the right key ({said})"
        )
    if "location" in answer.headers:
        return UserError(
            f"{url} redirects to {answer.headers['location']}; correct the URL of the server ({said})"
        )
    complete = "/v1/" in url or "/openai/deployments/" in url
    hint = "" if complete else "; if the server's API is under /v1, add /v1 to the URL"
    return UserError(f"{url} does not exist, or does not have the model{hint} ({said})")


def words(answer: Answer) -> str:
    """Describe a refusal in one line."""
    text = " ".join(error_text(answer.content).split())
    return f"HTTP {answer.status}: {text}" if text else f"HTTP {answer.status}"


def retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds to wait that the header `Retry-After` gives (a number or a date); 0 if missing or invalid."""
    given = headers.get("retry-after", "")
    try:
        seconds = float(given)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(given).timestamp() - time.time()
        except (ValueError, TypeError):
            return 0.0
    return seconds if 0.0 <= seconds < float("inf") else 0.0


def backoff(attempt: int, at_least: float = 0.0) -> float:
    """Return the seconds to wait: a random number, or `at_least` if that is greater.

    The bound of the random number doubles with each attempt, up to `LONGEST_BACKOFF`.
    """
    longest = min(LONGEST_BACKOFF, 0.5 * 2.0 ** min(attempt, 16))
    return max(random.uniform(0, longest), at_least)  # noqa: S311 - jitter, no secret
