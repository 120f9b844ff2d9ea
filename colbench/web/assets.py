"""Style sheets and scripts of packages, written into a page or next to it."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from importlib.resources import files

from markupsafe import Markup


def read_asset(package: str, name: str) -> Markup:
    """Return a style sheet or script of a package, to be written into a page unescaped."""
    return Markup(files(package).joinpath(name).read_text("utf-8"))  # noqa: S704


def csp_hash(text: str) -> str:
    """Return the expression by which a content security policy allows this inline style or script."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}'"


def content_security_policy(**sources: str) -> str:
    """Return a policy that allows these sources (`style_src`, `img_src`, `form_action`, ...) and nothing else."""
    allowed = {"default_src": "'none'", **sources}
    for kind in ("base_uri", "form_action"):  # these do not fall back on `default-src`
        allowed.setdefault(kind, "'none'")
    return "; ".join(f"{kind.replace('_', '-')} {source}" for kind, source in allowed.items())
