"""Without what libraries say of themselves."""

from __future__ import annotations

import logging
import sys


def quiet() -> None:
    """Silence bitsandbytes, and the progress bars of transformers where standard error is no terminal.

    It must be called before what imports them.
    """
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
    if not sys.stderr.isatty():
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()  # type: ignore[no-untyped-call]
