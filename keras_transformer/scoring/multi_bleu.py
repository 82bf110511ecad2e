"""The figures of `multi-bleu.perl` for one reference: BLEU of text that is tokenised already."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from keras_transformer.scoring.ngrams import MatchCounts

# What the script adds to the reference length for a hypothesis line that has no reference.
_LENGTH_OF_A_MISSING_REFERENCE = 9999


@dataclass(frozen=True)
class MultiBleu:
    """BLEU and its parts; fractions from 0 to 1, lengths in words.

    Attributes:
        matches: clipped matches of orders 1 to 4.
        totals: n-grams of the hypothesis of orders 1 to 4.
    """

    score: float
    precisions: tuple[float, ...]
    brevity_penalty: float
    hypothesis_length: int
    reference_length: int
    matches: tuple[int, ...]
    totals: tuple[int, ...]

    @property
    def printed(self) -> str:
        """The line that the script prints."""
        if not self.reference_length:
            return "BLEU = 0, 0/0/0/0 (BP=0, ratio=0, hyp_len=0, ref_len=0)"
        precisions = "/".join(f"{100 * precision:.1f}" for precision in self.precisions)
        return (
            f"BLEU = {100 * self.score:.2f}, {precisions} (BP={self.brevity_penalty:.3f}, "
            f"ratio={self.hypothesis_length / self.reference_length:.3f}, "
            f"hyp_len={self.hypothesis_length}, ref_len={self.reference_length})"
        )


def multi_bleu(
    hypotheses: Sequence[str], references: Sequence[str], lowercase: bool = False
) -> MultiBleu:
    """BLEU-4 without smoothing: an order without a match makes it 0.

    Words are what stands between ASCII blanks, compared byte by byte. Surplus references are left
    out; a surplus hypothesis adds 9999 to the reference length, as in the script. A hypothesis
    without any word, where the script ends in a division by zero, scores 0.

    Args:
        hypotheses: tokenised lines.
        references: tokenised lines, in the same order.
        lowercase: the script's `-lc`: ASCII letters only.
    """
    counts = MatchCounts()
    for index, hypothesis in enumerate(hypotheses):
        reference = references[index] if index < len(references) else ""
        counts.add(_words(hypothesis, lowercase), _words(reference, lowercase))
    surplus = max(0, len(hypotheses) - len(references))
    reference_length = counts.reference_length + surplus * _LENGTH_OF_A_MISSING_REFERENCE

    precisions = tuple(
        matches / total if total else 0.0
        for matches, total in zip(counts.matches, counts.totals, strict=True)
    )
    penalty = _brevity_penalty(counts.hypothesis_length, reference_length)
    score = 0.0
    if reference_length and all(precisions):
        score = penalty * math.exp(sum(map(math.log, precisions)) / len(precisions))
    return MultiBleu(
        score=score,
        precisions=precisions,
        brevity_penalty=penalty,
        hypothesis_length=counts.hypothesis_length,
        reference_length=reference_length,
        matches=tuple(counts.matches),
        totals=tuple(counts.totals),
    )


def _words(line: str, lowercase: bool) -> list[bytes]:
    encoded = line.encode("utf-8")
    return (encoded.lower() if lowercase else encoded).split()


def _brevity_penalty(hypothesis_length: int, reference_length: int) -> float:
    if not hypothesis_length or not reference_length:
        return 0.0
    if hypothesis_length >= reference_length:
        return 1.0
    return math.exp(1 - reference_length / hypothesis_length)
