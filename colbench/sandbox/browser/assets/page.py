"""Preparation of a page for the browser: changes to its HTML, and a policy that limits what it may load.

A link to Tailwind's stylesheet becomes a style element with the rules that the page can use, in the same place, which
keeps the order of the cascade. A Tailwind script is requested from a canonical URL. A page that refreshes itself might
do so before or after the picture is taken. Therefore, a refresh to a position on the same page is removed, and frames
are sandboxed so that nothing in them refreshes. Everything else in the page is unchanged. What looks like a link in a
comment or in text (`<textarea>`, `<script>`) does not count.
"""

from __future__ import annotations

import base64
import html
import re
from hashlib import sha256
from itertools import count
from urllib.parse import urldefrag, urljoin

from msgspec import Struct

from colbench.sandbox.browser.assets.addresses import is_stylesheet, tailwind_script
from colbench.sandbox.browser.assets.stylesheet import purge

HOME = "https://page.invalid/"
"""The URL of every page."""
SCRIPT_READY = """new Promise(resolve => {
  const made = style => style.textContent.includes('! tailwindcss v');
  const look = left => {
    if (!left || [...document.querySelectorAll('head > style')].some(made)) resolve(true);
    else setTimeout(look, 50, left - 1);
  };
  look(20);
})"""
"""A JavaScript expression: a promise that resolves when the Tailwind script has created its styles, or after one second
without styles.

A script that fails, as with `@apply` of an unknown class, creates no styles. The page remains unstyled, as on the web.
"""

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline' http: https:; img-src http: https: data:; "
    "font-src data:; base-uri 'none'; form-action 'none'"
)
_TAG_REST = r"""(?=[\s/>])(?:"[^"]*(?:"|\Z)|'[^']*(?:'|\Z)|[^>"'])*+"""
_MARKUP = re.compile(
    rf"""<!--.*?(?:-->|\Z)
    |<script(?P<attributes>{_TAG_REST})(?:>(?P<script>.*?)(?:</script\b[^>]*>?|\Z)|\Z)
    |<(?P<text>textarea|title|style|xmp|iframe|noembed|noframes)(?=[\s/>]).*?(?:</(?P=text)\b|\Z)
    |<link(?P<link>{_TAG_REST})(?:>|\Z)
    |<meta(?P<meta>{_TAG_REST})(?:>|\Z)
    """,
    re.I | re.S | re.X,
)
"""Links, scripts and meta elements; also comments and elements with raw text, so that links in them do not match.

An unclosed part extends to the end of the page, so matching takes linear time.
"""
_MOST_INLINED = 4
"""Maximum number of links that become styles. Further links remain, so that a page cannot grow a thousandfold."""
_MOST_CONFIGS = 8
"""Maximum number of scripts with Tailwind's configuration that may run. Most pages have one.

Each adds its hash to the Content-Security-Policy header.
"""
_ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>][^\s>]*))?""")
_CONFIG = re.compile(
    r"""(?:\s|//[^\n\u2028\u2029]*+|/\*.*?\*/)*+(?:window\s*\.\s*)?tailwind\s*\.\s*config\s*=\s*\{
    (?:"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|//[^\n\u2028\u2029]*+|/\*.*?\*/|[\w\s$.,:;{}\[\]-])*+""",
    re.S | re.X,
)
"""A script that only sets Tailwind's configuration to data. It can do nothing else, because it has neither parentheses
nor backticks nor a second `=`."""


_FRAME = re.compile(r"\A<iframe", re.I)
_SANDBOXED = r'\g<0> sandbox="allow-same-origin"'
"""The start of a frame's tag with a `sandbox` attribute, which forbids refreshes in this frame and in nested frames.

The attribute comes first because the first of several attributes with the same name counts.
"""
_REFRESH = re.compile(r"""\s*[\d.]*\s*[;,\s]\s*(?:url\s*=)?\s*["']?([^"']*)""", re.I)
"""Time and target of a refresh, in the `content` of a meta element."""


class Prepared(Struct, frozen=True, kw_only=True):
    """A page in the form that the browser receives."""

    page: str
    needs_script: bool
    """True if the page must run with JavaScript, for the Tailwind script and nothing else."""
    csp: str
    """Value of the Content-Security-Policy header to send with the page."""


def prepare(page: str) -> Prepared:
    """Return a page with the Tailwind CSS that it can use, and the content security policy under which it is shown."""
    scripts: set[str] = set()
    configs: set[str] = set()
    inlined = count()

    def replaced(match: re.Match[str]) -> str:
        if match["meta"] is not None:
            return "" if _stays_here(match["meta"]) else match[0]
        if match["link"] is not None:
            media = _tailwind_media(match["link"])
            if media is None or next(inlined) >= _MOST_INLINED:
                return match[0]
            return f'<style media="{html.escape(media)}">{purge(page)}</style>'
        if match["script"] is not None:
            return _known_script(match, scripts, configs) or match[0]
        return _FRAME.sub(_SANDBOXED, match[0])

    ready = _MARKUP.sub(replaced, page)
    allowed = f"; script-src {' '.join(sorted(scripts | configs))}" if scripts else ""
    return Prepared(page=ready, needs_script=bool(scripts), csp=_POLICY + allowed)


def _tailwind_media(link: str) -> str | None:
    """Return the `media` attribute of a link to Tailwind's stylesheet ("" if it has none); None for any other link."""
    attributes = _attributes(link)
    kinds = attributes.get("rel", "").lower().split()
    if "stylesheet" not in kinds or "alternate" in kinds or "disabled" in attributes:
        return None
    return attributes.get("media", "") if is_stylesheet(attributes.get("href", "")) else None


def _stays_here(meta: str) -> bool:
    """Return True if a meta element with these attributes only jumps to an anchor on the same page."""
    attributes = _attributes(meta)
    refresh = _REFRESH.match(attributes.get("content", ""))
    if attributes.get("http-equiv", "").strip().lower() != "refresh" or not refresh:
        return False
    try:
        address, fragment = urldefrag(urljoin(HOME, refresh[1].strip()))
    except ValueError:
        return False
    return address == HOME and bool(fragment)


def _known_script(match: re.Match[str], scripts: set[str], configs: set[str]) -> str | None:
    """Return the element that replaces a Tailwind script, and add the new URL to `scripts`.

    Return None for any other script. If an inline script only configures Tailwind, add its hash to `configs`.
    """
    source = _attributes(match["attributes"]).get("src")
    if source is None:
        script = match["script"].replace("\r\n", "\n").replace("\r", "\n")
        if len(configs) < _MOST_CONFIGS and _CONFIG.fullmatch(script):
            digest = sha256(script.encode("utf-8", "replace")).digest()
            configs.add(f"'sha256-{base64.b64encode(digest).decode()}'")
        return None
    address = tailwind_script(source)
    if address is None:
        return None
    scripts.add(address.partition("?")[0])
    return f'<script src="{address}"></script>'


def _attributes(text: str) -> dict[str, str]:
    """Return the attributes of a tag by lowercase name. If a name is repeated, the first counts, as in a browser."""
    found: dict[str, str] = {}
    for name, value in _ATTRIBUTE.findall(text):
        quoted = value[:1] in {'"', "'"}
        found.setdefault(name.lower(), html.unescape(value[1:-1] if quoted else value))
    return found
