"""The shipped hostile pages: attacks on the rendering of pages, and honest pages as controls."""

from __future__ import annotations

from colbench.sandbox.browser.attacks.campaign import Budget, PageFinding, attack_renderer
from colbench.sandbox.browser.attacks.canary import Canary, shows_canary
from colbench.sandbox.browser.attacks.corpus import PageAttack, page_attacks, page_controls

__all__ = [
    "Budget",
    "Canary",
    "PageAttack",
    "PageFinding",
    "attack_renderer",
    "page_attacks",
    "page_controls",
    "shows_canary",
]
