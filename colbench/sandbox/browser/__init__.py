"""The browser that renders pages, isolated from the network and from files; see docs/frontend.md."""

from __future__ import annotations

from colbench.sandbox.browser.find import find_browser, slowness
from colbench.sandbox.browser.renderer import Renderer

__all__ = ["Renderer", "find_browser", "slowness"]
