"""Clipped n-gram counts, the part that all BLEU variants share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field


def ngram_counts(tokens: Sequence[Hashable], max_order: int) -> list[Counter]:
    """How often each n-gram occurs, one Counter an order, orders 1 to `max_order`."""
    return [
        Counter(zip(*(tokens[start:] for start in range(order)), strict=False))
        for order in range(1, max_order + 1)
    ]


@dataclass
class MatchCounts:
    """Sums over segments: what BLEU needs of a corpus.

    Attributes:
        matches: clipped matches by order; a hypothesis n-gram counts at most as often as it stands
            in its reference (Papineni et al. 2002, section 2.1).
        totals: n-grams of the hypothesis by order.
        hypothesis_length: words of the hypothesis.
        reference_length: words of the reference.
    """

    max_order: int = 4
    matches: list[int] = field(default_factory=list)
    totals: list[int] = field(default_factory=list)
    hypothesis_length: int = 0
    reference_length: int = 0

    def __post_init__(self) -> None:
        self.matches = self.matches or [0] * self.max_order
        self.totals = self.totals or [0] * self.max_order

    def add(self, hypothesis: Sequence[Hashable], reference: Sequence[Hashable]) -> None:
        """Adds one segment, given as tokens."""
        self.hypothesis_length += len(hypothesis)
        self.reference_length += len(reference)
        hypothesis_counts = ngram_counts(hypothesis, self.max_order)
        reference_counts = ngram_counts(reference, self.max_order)
        for order in range(self.max_order):
            overlap = hypothesis_counts[order] & reference_counts[order]
            self.matches[order] += sum(overlap.values())
            self.totals[order] += sum(hypothesis_counts[order].values())
