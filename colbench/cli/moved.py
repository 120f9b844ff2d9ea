"""Old spellings of commands, each with the command line that replaces it."""

from __future__ import annotations

MOVED = {
    "validate": "colbench tasks validate",
    "sandbox attack": "colbench doctor --attack [code|pages]",
    "sandbox": "colbench doctor --attack [code|pages]",
}
