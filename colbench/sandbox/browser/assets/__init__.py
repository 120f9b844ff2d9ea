"""What a page may ask for and gets from the package instead of the network: Tailwind, pictures, fonts.

`prepare` makes a page ready for the browser, `respond` answers what it then asks for, and
`fonts_environment` lets the browser see the vendored fonts alone. See docs/frontend.md.
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
