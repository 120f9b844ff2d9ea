"""The one network address that an agent may reach, as set by `--agent-endpoint`."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from msgspec import Struct

from colbench.errors import UserError

_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[A-Za-z0-9._-]{1,253}|[0-9A-Fa-f:.]{2,45}")


class Endpoint(Struct, frozen=True):
    """A host and a TCP port."""

    host: str
    """A name, or an IPv4 or IPv6 address without brackets."""
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_endpoint(text: str) -> Endpoint:
    """Return the host and port in HOST:PORT or in a URL; a URL without a port has the default port of http or https.

    Raises UserError if the text has neither form, if the host is missing, or if the port is missing or 0.
    """
    address = text if "://" in text else f"//{text}"
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
        port = _PORTS.get(parts.scheme) if parts.port is None else parts.port
    except ValueError:
        host, port = "", None
    if not port or not _HOST.fullmatch(host):
        raise UserError(
            f"--agent-endpoint: `{text}` does not give a valid host and port; write HOST:PORT or a URL, such as "
            "127.0.0.1:8000 or https://api.example.com"
        )
    return Endpoint(host, port)
