"""Ctrl-C and SIGTERM: finish the step, save, then leave."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any


class Interruption:
    """While it is entered, the first SIGINT or SIGTERM is only noted; a second one strikes at once.

    Attributes:
        signal_number: the signal that came, or None.
    """

    def __init__(self) -> None:
        self.signal_number: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interruption:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.signal_number = number
        for each, handler in self._before.items():
            signal.signal(each, handler)

    @property
    def requested(self) -> bool:
        """A signal has come."""
        return self.signal_number is not None

    @property
    def exit_status(self) -> int:
        """What shells show for a program ended by that signal: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + (self.signal_number or 0)
