"""What a translator gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Hypothesis:
    """One output of a sentence.

    Attributes:
        text: the output, one line without line ends.
        score: natural logarithm of its probability over the length penalty; for greedy decoding,
            samples and outputs cut off by the length limit, the logarithm itself. Negative; nearer
            to 0 is better. Scores of cut-off outputs are not comparable with others.
        log_probability: natural logarithm of the probability the model gives the output, its end
            of sentence included.
        length: subtokens of the output, its end of sentence included.
        ids: the subtokens, without end of sentence.
        finished: the model ended the sentence itself, within the length limit.
    """

    text: str
    score: float
    log_probability: float
    length: int
    ids: tuple[int, ...]
    finished: bool


EMPTY = Hypothesis(text="", score=0.0, log_probability=0.0, length=0, ids=(), finished=True)


@dataclass(frozen=True)
class Translation:
    """The outputs of one sentence, best first.

    Attributes:
        source: the sentence as it was given.
        n_best: at least one hypothesis; fewer than asked for if the search found fewer.
        attention: where asked for, name → weights of the best hypothesis as float32 arrays,
            [heads, positions, positions]: see `Translator.translate`.
    """

    source: str
    n_best: tuple[Hypothesis, ...]
    attention: dict[str, Any] | None = None

    @property
    def best(self) -> Hypothesis:
        """The first hypothesis."""
        return self.n_best[0]

    @property
    def text(self) -> str:
        """Text of the best hypothesis."""
        return self.best.text

    @property
    def score(self) -> float:
        """Score of the best hypothesis."""
        return self.best.score

    @property
    def log_probability(self) -> float:
        """Log-probability of the best hypothesis."""
        return self.best.log_probability

    @property
    def length(self) -> int:
        """Length of the best hypothesis in subtokens, its end of sentence included."""
        return self.best.length

    @property
    def ids(self) -> tuple[int, ...]:
        """Subtokens of the best hypothesis."""
        return self.best.ids
