"""What the programs' parts log, on standard error: one plain line a message."""

from __future__ import annotations

import logging
import sys
from typing import TextIO


class _StandardErrorHandler(logging.StreamHandler):
    """Writes to whatever `sys.stderr` is at that moment."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stderr


def show_log() -> None:
    """Shows what this package logs from level INFO on; other packages' logs stay as they are."""
    ours = logging.getLogger("keras_transformer")
    if not any(isinstance(handler, _StandardErrorHandler) for handler in ours.handlers):
        ours.addHandler(_StandardErrorHandler())
    ours.setLevel(logging.INFO)
    # absl's handler at the root would print warnings a second time.
    ours.propagate = False
