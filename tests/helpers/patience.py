"""Page limits for tests in which no page should run out of time."""

from __future__ import annotations

from colbench.sandbox.browser.limits import Limits

PATIENT = Limits(wall_seconds=120.0)
"""If many tests run at once, an ordinary page can take longer than the default limit."""
