"""Assets that a page gets from this package instead of the network: Tailwind, pictures, fonts.

`prepare` changes a page before the browser loads it, `respond` answers the page's requests, and `fonts_environment`
restricts the browser to the vendored fonts. See docs/frontend.md.
"""

from __future__ import annotations

from colbench.sandbox.browser.assets.addresses import Asset, respond
from colbench.sandbox.browser.assets.fonts import fonts_environment
from colbench.sandbox.browser.assets.page import HOME, SCRIPT_READY, Prepared, prepare
from colbench.sandbox.browser.assets.vendored import VERSION

__all__ = [
    "HOME",
    "SCRIPT_READY",
    "VERSION",
    "Asset",
    "Prepared",
    "fonts_environment",
    "prepare",
    "respond",
]
