"""BLEU as `t2t-bleu` prints it: on detokenised text, with a tokenisation like that of mteval-v14.

Source: Tensor2Tensor 1.15.7, `utils/bleu_hook.py`.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from keras_transformer.scoring import character_classes
from keras_transformer.scoring.ngrams import MatchCounts


@functools.cache
def _separations() -> tuple[tuple[re.Pattern[str], str], ...]:
    # T2T puts the punctuation marks into a bracket expression as they are. There a backslash
    # escapes the mark after it, so a backslash itself is never set apart.
    punctuation = rf"(?!\\)[{character_classes.UNICODE_11_PUNCTUATION}]"
    symbol = f"[{character_classes.UNICODE_11_SYMBOL}]"
    return (
        (re.compile(rf"(\D)({punctuation})"), r"\1 \2 "),
        (re.compile(rf"({punctuation})(\D)"), r" \1 \2"),
        (re.compile(rf"({symbol})"), r" \1 "),
    )


def bleu_tokenize(text: str) -> list[str]:
    """Words of one segment as T2T's BLEU counts them.

    A punctuation mark (category P) is set apart unless it stands between digits, or at an end of
    the line beside a digit; a symbol (category S) is set apart always. `It cost 3.5$.` gives
    `It cost 3.5 $ .`, `in 2014.` keeps its full stop. The classes are those of Unicode 11.
    """
    for pattern, replacement in _separations():
        text = pattern.sub(replacement, text)
    return text.split()


@dataclass(frozen=True)
class T2TBleu:
    """BLEU of a corpus; all fractions from 0 to 1, lengths in tokens."""

    score: float
    precisions: tuple[float, ...]
    brevity_penalty: float
    hypothesis_length: int
    reference_length: int


def compute_bleu(
    reference_corpus: Iterable[Sequence[Hashable]],
    translation_corpus: Iterable[Sequence[Hashable]],
    max_order: int = 4,
    use_bp: bool = True,
) -> T2TBleu:
    """Corpus BLEU over token lists, one reference a segment, smoothed as T2T smooths.

    The k-th order without a match (k counts such orders, from 1) gets the precision
    1 / (2^k * n-grams of that order). An order without any n-gram is left out of the sum of
    logarithms, which is divided by `max_order` all the same. The brevity penalty is 0 for a
    hypothesis without tokens; a reference without tokens, where T2T divides by zero, gives 1 if
    the hypothesis has tokens.

    Args:
        reference_corpus: tokens of each reference: words, ids or anything hashable.
        translation_corpus: tokens of each hypothesis, in the same order.
        max_order: the longest n-grams counted.
        use_bp: whether short hypotheses are punished.

    Raises:
        ValueError: if the two hold different numbers of segments.
    """
    counts = MatchCounts(max_order)
    for reference, translation in zip(reference_corpus, translation_corpus, strict=True):
        counts.add(translation, reference)

    precisions = []
    smoothing = 1.0
    for matches, total in zip(counts.matches, counts.totals, strict=True):
        if total and not matches:
            smoothing *= 2
            precisions.append(1.0 / (smoothing * total))
        else:
            precisions.append(matches / total if total else 0.0)

    mean = 0.0
    if any(precisions):
        mean = math.exp(sum(math.log(p) for p in precisions if p) / max_order)
    penalty = _brevity_penalty(counts) if use_bp else 1.0
    return T2TBleu(
        score=mean * penalty,
        precisions=tuple(precisions),
        brevity_penalty=penalty,
        hypothesis_length=counts.hypothesis_length,
        reference_length=counts.reference_length,
    )


def _brevity_penalty(counts: MatchCounts) -> float:
    if not counts.hypothesis_length:
        return 0.0
    if counts.hypothesis_length >= counts.reference_length:
        return 1.0
    return math.exp(1 - counts.reference_length / counts.hypothesis_length)


def t2t_bleu(
    hypotheses: Sequence[str], references: Sequence[str], case_sensitive: bool = False
) -> T2TBleu:
    """T2T's BLEU of detokenised lines, uncased by default as T2T's function is."""

    def tokens(lines: Sequence[str]) -> Iterable[list[str]]:
        return (bleu_tokenize(line if case_sensitive else line.lower()) for line in lines)

    return compute_bleu(tokens(references), tokens(hypotheses))
