"""A page made ready for the browser: only the CSS it can use, inline, and a policy of what it may load.

A link to Tailwind's stylesheet becomes a style element in the same place, so the order of the cascade holds. A
Tailwind script is asked for by one known address. Everything else in the page is left as it is; links in comments
and in text (`<textarea>`, `<script>`) are not links.
"""

from __future__ import annotations

import base64
import html
import re
from hashlib import sha256

from msgspec import Struct

from colbench.sandbox.browser.assets.addresses import is_stylesheet, tailwind_script
from colbench.sandbox.browser.assets.stylesheet import purge

SCRIPT_READY = """new Promise(resolve => {
  const made = style => style.textContent.includes('! tailwindcss v');
  const look = left => {
    if (!left || [...document.querySelectorAll('head > style')].some(made)) resolve(true);
    else setTimeout(look, 50, left - 1);
  };
  look(20);
})"""
"""A JavaScript expression: a promise kept when the Tailwind script has made its styles, or after a second without any.
A script that fails (`@apply` of an unknown class) makes none, and the page stays without, as on the web."""

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline' http: https:; img-src http: https: data:; "
    "font-src data:; form-action 'none'"
)
_MARKUP = re.compile(
    r"""<!--.*?(?:-->|\Z)
    |<script(?P<attributes>(?=[\s/>])(?:"[^"]*"|'[^']*'|[^>"'])*+)>(?P<script>.*?)(?:</script\b[^>]*>?|\Z)
    |<(?P<text>textarea|title|style|xmp|iframe|noembed|noframes)(?=[\s/>]).*?(?:</(?P=text)\b|\Z)
    |<link(?P<link>(?=[\s/])(?:"[^"]*"|'[^']*'|[^>"'])*+)>
    """,
    re.I | re.S | re.X,
)
_ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'=<>`]+))?""")
_CONFIG = re.compile(
    r"""(?:\s|//[^\n\u2028\u2029]*+|/\*.*?\*/)*+(?:window\s*\.\s*)?tailwind\s*\.\s*config\s*=\s*\{
    (?:"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|//[^\n\u2028\u2029]*+|/\*.*?\*/|[\w\s$.,:;{}\[\]-])*+""",
    re.S | re.X,
)
"""A configuration that holds data only: without parentheses, backticks and another `=` nothing is called or set."""


class Prepared(Struct, frozen=True, kw_only=True):
    """A page as the browser gets it."""

    page: str
    needs_script: bool
    """Whether it must run with JavaScript, for the Tailwind script and nothing else."""
    csp: str
    """Value of the Content-Security-Policy header to send with it."""


def prepare(page: str) -> Prepared:
    """The page with the CSS that it can use, and the policy under which it is shown."""
    scripts: set[str] = set()
    configs: set[str] = set()

    def replaced(match: re.Match[str]) -> str:
        if match["link"] is not None:
            return _inlined(match["link"], page) or match[0]
        if match["attributes"] is None:
            return match[0]
        return _known_script(match, scripts, configs) or match[0]

    ready = _MARKUP.sub(replaced, page)
    allowed = f"; script-src {' '.join(sorted(scripts | configs))}" if scripts else ""
    return Prepared(page=ready, needs_script=bool(scripts), csp=_POLICY + allowed)


def _inlined(link: str, page: str) -> str | None:
    """The style element in place of a link with these attributes; None if the link is another one."""
    attributes = _attributes(link)
    kinds = attributes.get("rel", "").lower().split()
    if "stylesheet" not in kinds or "alternate" in kinds or "disabled" in attributes:
        return None
    if not is_stylesheet(attributes.get("href", "")):
        return None
    media = html.escape(attributes.get("media", ""))
    return f'<style media="{media}">{purge(page)}</style>'


def _known_script(match: re.Match[str], scripts: set[str], configs: set[str]) -> str | None:
    """The element that asks for the Tailwind script, noted in `scripts`; a configuration is noted in `configs`."""
    source = _attributes(match["attributes"]).get("src")
    if source is None:
        script = match["script"].replace("\r\n", "\n").replace("\r", "\n")
        if _CONFIG.fullmatch(script):
            digest = sha256(script.encode()).digest()
            configs.add(f"'sha256-{base64.b64encode(digest).decode()}'")
        return None
    address = tailwind_script(source)
    if address is None:
        return None
    scripts.add(address.partition("?")[0])
    return f'<script src="{address}"></script>'


def _attributes(text: str) -> dict[str, str]:
    """Attributes of a tag by name in lower case; the first of a name counts, as in a browser."""
    found: dict[str, str] = {}
    for name, value in _ATTRIBUTE.findall(text):
        quoted = value[:1] in {'"', "'"}
        found.setdefault(name.lower(), html.unescape(value[1:-1] if quoted else value))
    return found
