"""Speed, loss and time left of a running training, as one line.

On a terminal the line is rewritten in place; in a pipe or a log every line is printed whole, at the
steps asked for. Speed counts real tokens, padding left out, and leaves out the time of evaluations
and checkpoints.
"""

from __future__ import annotations

import shutil
import sys
import time
from dataclasses import dataclass, field
from typing import TextIO


@dataclass
class Meter:
    """Sums of the updates since the last report."""

    loss_sum: float = 0.0
    source_tokens: float = 0.0
    target_tokens: float = 0.0
    gradient_norm: float = 0.0
    updates: int = 0
    _began: float = field(default_factory=lambda: time.monotonic())

    def add(self, loss: float, source_tokens: float, target_tokens: float, norm: float) -> None:
        """Counts one update; `loss` is its mean over `target_tokens`."""
        self.loss_sum += loss * target_tokens
        self.source_tokens += source_tokens
        self.target_tokens += target_tokens
        self.gradient_norm = norm
        self.updates += 1

    def leave_out(self, seconds: float) -> None:
        """Takes time that was not training (a checkpoint, an evaluation) off the clock."""
        self._began += seconds

    def so_far(self) -> dict[str, float]:
        """Figures since the last report. Empty if there was no update."""
        if not self.updates:
            return {}
        seconds = max(time.monotonic() - self._began, 1e-9)
        return {
            "loss": self.loss_sum / max(self.target_tokens, 1.0),
            "gradient_norm": self.gradient_norm,
            "steps_per_second": self.updates / seconds,
            "source_tokens_per_second": self.source_tokens / seconds,
            "target_tokens_per_second": self.target_tokens / seconds,
            "source_tokens_per_update": self.source_tokens / self.updates,
            "target_tokens_per_update": self.target_tokens / self.updates,
        }

    def report(self) -> dict[str, float]:
        """As `so_far`, and begins anew."""
        figures = self.so_far()
        self.__init__()  # type: ignore[misc]
        return figures


def in_words(seconds: float) -> str:
    """A span of time: 42s, 3m05s, 2h07m, 5d03h."""
    whole = round(max(seconds, 0.0))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02d}h"


def line(step: int, train_steps: int, rate: float, figures: dict[str, float]) -> str:
    """The progress line of a step."""
    left = (train_steps - step) / max(figures["steps_per_second"], 1e-9)
    return (
        f"step {step}/{train_steps}  loss {figures['loss']:.4f}  lr {rate:.3e}"
        f"  {figures['source_tokens_per_second']:.0f} source"
        f" + {figures['target_tokens_per_second']:.0f} target tokens/s"
        f"  {figures['steps_per_second']:.2f} steps/s  {in_words(left)} left"
    )


class Screen:
    """Where lines go: standard error, rewritten in place if it is a terminal."""

    def __init__(self, stream: TextIO | None = None):
        self._stream = sys.stderr if stream is None else stream
        self._in_place = self._stream.isatty()
        self._open = False

    @property
    def is_terminal(self) -> bool:
        """Lines can be rewritten."""
        return self._in_place

    def progress(self, text: str) -> None:
        """Shows the newest progress line in place of the one before, if it is a terminal."""
        if self._in_place:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write("\r\033[K" + text[:width])
            self._open = True
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def note(self, text: str) -> None:
        """Prints a line that stays."""
        self._stream.write(("\n" if self._open else "") + text + "\n")
        self._stream.flush()
        self._open = False

    def close(self) -> None:
        """Ends a line left open."""
        if self._open:
            self._stream.write("\n")
            self._stream.flush()
            self._open = False


def evaluation_line(step: int, split: str, figures: dict[str, float]) -> str:
    """One line with the figures of an evaluation."""
    if not figures.get("batches"):
        return f"step {step}, {split}: there is nothing to evaluate"
    parts = [
        f"step {step}, {split}: loss {figures['loss']:.4f}",
        f"perplexity {figures['perplexity']:.3f}",
        f"accuracy {figures['accuracy']:.4f}",
        f"top-5 {figures['accuracy_top5']:.4f}",
        f"per sequence {figures['accuracy_per_sequence']:.4f}",
        f"approx_bleu {figures['approx_bleu_score']:.4f} (teacher-forced, not BLEU)",
    ]
    parts += [
        f"{name} {value:.2f}"
        for name, value in sorted(figures.items())
        if name.startswith(("bleu_", "bracket_"))
    ]
    return "  ".join(parts)
