"""The spec of a model, `MODEL[@URL[,URL…]]`, and the key that may be sent to each server."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from colbench.errors import UserError

OPENAI_URL = "https://api.openai.com/v1"
HOST_KEYS = {
    "api.anthropic.com": "ANTHROPIC_API_KEY",
    "api.deepseek.com": "DEEPSEEK_API_KEY",
    "api.fireworks.ai": "FIREWORKS_API_KEY",
    "api.groq.com": "GROQ_API_KEY",
    "api.mistral.ai": "MISTRAL_API_KEY",
    "api.together.xyz": "TOGETHER_API_KEY",
    "api.x.ai": "XAI_API_KEY",
    "generativelanguage.googleapis.com": "GEMINI_API_KEY",
    "openrouter.ai": "OPENROUTER_API_KEY",
}
"""Environment variables that providers document for their keys. Each key is sent only to that provider's host."""
SERVER_VARIABLES = (
    "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_VERSION",
    "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN", *HOST_KEYS.values(),
)  # fmt: skip
"""All variables that can contain URLs and keys of model servers, except variables that a user names (`api_key_env`)."""
KEY_FLAGS = "--agent-arg api_key_env=NAME (for the human, --human-arg)"
"""Text for error messages: the arguments that name the environment variable with a key."""
LOOKS_LIKE_AN_ADDRESS = re.compile(r"localhost|.*[:/.].*")


def parse_spec(spec: str) -> tuple[str, tuple[str, ...]]:
    """Return the model and the base URLs of a spec `MODEL[@URL[,URL…]]`.

    If the spec has no URL, the base URL is the value of OPENAI_BASE_URL or, if it is not set, OpenAI's URL. Raises
    UserError if the spec names no model or has nothing after the `@`, or if a URL is invalid (`require_url`).

    A text after the last `@` that looks like an address (`localhost`, or a text with `:`, `/` or `.`) but lacks
    `http://` or `https://` is refused. If it counted as part of the model's name, the key would be sent to the default
    server. Any other text after an `@`, as in `model@main`, belongs to the model's name.
    """
    model, at, address = _split(spec)
    if not model:
        raise UserError(
            f"`{spec}` does not name a model; put the model's name first, as in gpt-4o or "
            "llama@http://host:8000/v1"
        )
    if model.endswith("@"):
        raise UserError(f"`{spec}` has no URL after the `@`; add one, such as http://host:8000/v1")
    if not at:
        return model, (_default_url(),)
    urls = tuple(url.strip().rstrip("/") for url in address.split(","))
    for url in urls:
        require_url(url, model)
    return model, urls


def require_url(url: str, place: str) -> None:
    """Raise UserError unless a text is the URL of a server's API.

    The URL has no user name, password, query or fragment, and ends neither in `/` nor in `/chat/completions`. The
    error's message starts with `place`.
    """
    require_no_password(url, place)
    try:
        parts = urlsplit(url)
        well = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise UserError(f"{place}: `{url}` is not a URL; write http://host:port/v1") from None
    if not well:
        raise UserError(f"{place}: `{url}` is not a URL; write {_suggest(url)}")
    base = re.sub(r"(/chat/completions)?/*([?#].*)?$", "", url, count=1)
    if base != url:
        raise UserError(
            f"{place}: the URL of the API ends before `?`, `#` and `/chat/completions`; write {base}"
        )


def require_no_password(url: str, place: str) -> None:
    """Raise UserError if a URL contains a user name or a password. The error's message starts with `place`.

    A run records its URLs, so a password would become public with the run.
    """
    if "@" in re.sub(r"^\w+:/*", "", url).partition("/")[0]:
        raise UserError(
            f"{place}: the URL contains a user name or a password; remove it, put the server's key into an "
            f"environment variable, and pass the variable's name with {KEY_FLAGS}"
        )


def api_key_for(base_url: str, variable: str | None) -> str | None:
    """Return the key for a server; None if no key is found.

    The key is read from `variable`. If `variable` is None or empty, the key is read from the provider's variable. For
    OpenAI's server and for the server in OPENAI_BASE_URL, this is OPENAI_API_KEY. For another host, it is the variable
    in `HOST_KEYS`, if any.

    Raises UserError if the key is invalid (`read_key`). Also raises UserError if no key is found, but `variable` is
    given or the server is OpenAI's.
    """
    name = variable or _variable_of(base_url)
    key = read_key(name) if name else None
    if key is None and (variable or base_url == OPENAI_URL):
        raise UserError(f"{base_url} needs a key; set the environment variable {name}")
    return key


def azure_key(variable: str | None) -> str | None:
    """Return the key in a variable, by default AZURE_OPENAI_API_KEY; None if the default variable is not set.

    Raises UserError if the variable is given but not set, or if the key is invalid (`read_key`).
    """
    key = read_key(variable or "AZURE_OPENAI_API_KEY")
    if variable and not key:
        raise UserError(f"azure: the key is missing; set the environment variable {variable}")
    return key


def azure_endpoint(given: str) -> str:
    """Return the URL of Azure's server: the given URL, else the value of AZURE_OPENAI_ENDPOINT; "" if neither is set.

    Raises UserError if it is not a valid URL (`require_url`).
    """
    url = (given or os.environ.get("AZURE_OPENAI_ENDPOINT", "")).strip().rstrip("/")
    if url:
        require_url(url, "azure" if given else "AZURE_OPENAI_ENDPOINT")
    return url


def read_key(variable: str) -> str | None:
    """Return the key in an environment variable, without surrounding spaces; None if the variable is empty or not set.

    Raises UserError if the key has a character that a request cannot contain.
    """
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise UserError(
            f"{variable}: the key contains a control character or a non-ASCII character; "
            "set the environment variable to the key alone"
        )
    return key or None


def _split(spec: str) -> tuple[str, bool, str]:
    """Return three parts of a spec: the model, True if `@` and URLs follow the model (else False), and the URLs."""
    model, at, rest = spec.partition("@http")
    if at and rest.startswith(("://", "s://")):
        return model, True, "http" + rest
    model, at, rest = spec.rpartition("@")
    if at and model and LOOKS_LIKE_AN_ADDRESS.fullmatch(rest):
        return model, True, rest
    return spec if spec != "@" else "", False, ""


def _suggest(address: str) -> str:
    """Return the URL that an invalid address most likely means; `http://host:port/v1` if this cannot be guessed."""
    url = "http://" + re.sub(r"^\w+:(//|$)", "", address)
    try:
        parts = urlsplit(url)
        guessed = bool(parts.hostname) and parts.port != 0
    except ValueError:
        guessed = False
    if not guessed:
        return "http://host:port/v1"
    return url if parts.path else f"{url}/v1"


def _default_url() -> str:
    url = os.environ.get("OPENAI_BASE_URL", "").strip().rstrip("/")
    if not url:
        return OPENAI_URL
    require_url(url, "OPENAI_BASE_URL")
    return url


def _variable_of(base_url: str) -> str | None:
    if base_url in {OPENAI_URL, _default_url()}:
        return "OPENAI_API_KEY"
    return HOST_KEYS.get(urlsplit(base_url).hostname or "")
