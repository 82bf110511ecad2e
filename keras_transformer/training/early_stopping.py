"""Stop when an evaluation figure has not improved for a while (T2T `eval_early_stopping_*`)."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class EarlyStopping:
    """Remembers the best value of one figure and the step it was reached at.

    Attributes:
        metric: name of the figure, e.g. `loss` or `bleu_sacrebleu`.
        patience: steps without improvement after which training stops; 0: never.
        delta: least change that counts as an improvement.
        minimize: whether smaller is better.
    """

    metric: str = "loss"
    patience: int = 0
    delta: float = 0.1
    minimize: bool = True
    best: float = math.nan
    best_step: int = 0

    def is_over(self, step: int, figures: dict[str, float]) -> bool:
        """Takes in the figures of a step; True if training should stop.

        Raises:
            KeyError: the figure is not among them.
        """
        if not self.patience:
            return False
        value = figures[self.metric]
        gain = self.best - value if self.minimize else value - self.best
        if math.isnan(self.best) or gain >= self.delta:
            self.best, self.best_step = value, step
        return step - self.best_step >= self.patience
