"""URLs that a page may request, and the responses.

- Tailwind's stylesheet, versions 0 to 2, from any host: the response is version 2.2.19. Later versions have no
  stylesheet to link, so such a link fails as it would on the web.
- Tailwind's scripts: `@tailwindcss/browser` (version 4) and `cdn.tailwindcss.com` (version 3, which has other defaults
  and colors). Version 3 has no official package, so the response is the copy of that script in the npm package
  `tailwindcss-cdn`. If the URL contains `?plugins=`, the response is the build with all four plugins.
- Pictures of placeholder services, which are drawn here: see `pictures`.
- Google's font stylesheets: the response is empty, so the page uses the vendored fonts.

Everything else is refused, including Bootstrap and icon fonts, which none of the released pages uses.
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec import Struct

from colbench.sandbox.browser.assets.pictures import picture
from colbench.sandbox.browser.assets.stylesheet import SHEET
from colbench.sandbox.browser.assets.vendored import unpacked

SCRIPT_V3 = "https://cdn.tailwindcss.com/"
SCRIPT_V3_PLUGINS = "https://cdn.tailwindcss.com/?plugins=all"
SCRIPT_V4 = "https://cdn.jsdelivr.net/npm/@tailwindcss/browser@4"

_STYLESHEET = re.compile(r"/tailwindcss[@/][\^~v]?[012](\.[\w.-]*)?/(dist/)?tailwind(\.min)?\.css$")
_BROWSER_SCRIPT = re.compile(
    r"/(@tailwindcss/browser(@[\^~v]?(4[\w.-]*|latest|next))?|tailwindcss-browser/4[\w.-]*)(/|(/dist)?/index\.global(\.min)?\.js)?$"
)
_SCRIPT_FILES = {
    SCRIPT_V3: "play-3.4.10.js",
    SCRIPT_V3_PLUGINS: "play-3.4.10-plugins.js",
    SCRIPT_V4: "browser-4.3.4.js",
}
_MOST_CHARACTERS = 2048


class Asset(Struct, frozen=True, kw_only=True):
    """A response to a page's request."""

    body: bytes
    content_type: str


def respond(url: str) -> Asset | None:
    """Return the response for this URL; None if the request is refused. Never raises, whatever the URL."""
    address = _split(url)
    if address is None:
        return None
    if _is_stylesheet(address):
        return Asset(body=unpacked(SHEET), content_type="text/css; charset=utf-8")
    script = _script(address)
    if script:
        body = unpacked(_SCRIPT_FILES[script])
        return Asset(body=body, content_type="text/javascript; charset=utf-8")
    if address.hostname == "fonts.googleapis.com":
        return Asset(body=b"", content_type="text/css; charset=utf-8")
    drawn = picture(address)
    return Asset(body=drawn, content_type="image/png") if drawn else None


def is_stylesheet(url: str) -> bool:
    """Return True if this is the URL of Tailwind's stylesheet."""
    address = _split(url)
    return address is not None and _is_stylesheet(address)


def tailwind_script(url: str) -> str | None:
    """Return the canonical URL of the Tailwind script at this URL; None for any other script."""
    address = _split(url)
    return _script(address) if address else None


def _is_stylesheet(address: SplitResult) -> bool:
    return bool(_STYLESHEET.search(unquote(address.path)))


def _script(address: SplitResult) -> str | None:
    if address.hostname == "cdn.tailwindcss.com":
        return SCRIPT_V3_PLUGINS if "plugins=" in address.query else SCRIPT_V3
    return SCRIPT_V4 if _BROWSER_SCRIPT.search(unquote(address.path)) else None


def _split(url: str) -> SplitResult | None:
    """Split a web URL, which may lack a scheme (`//host/path`); return None for any other URL."""
    if len(url) > _MOST_CHARACTERS:
        return None
    try:
        address = urlsplit(url.strip().encode("utf-8", "replace").decode(), scheme="https")
        return address if address.scheme in {"http", "https"} and address.hostname else None
    except ValueError:
        return None
