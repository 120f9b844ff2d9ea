"""The rule-based human for pages, who compares two pages by their visible blocks; see docs/frontend.md."""

from __future__ import annotations

from colbench.domains.frontend.human.human import PageHuman

__all__ = ["PageHuman"]
