"""The location of files that ColBench can create again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder for files that can be recreated.

    The environment variable COLBENCH_CACHE names this folder. The default is `colbench` in XDG_CACHE_HOME or, if this
    variable is not set, in ~/.cache.
    """
    own = os.environ.get("COLBENCH_CACHE")
    caches = os.environ.get("XDG_CACHE_HOME")
    return Path(own) if own else (Path(caches) if caches else Path.home() / ".cache") / "colbench"
