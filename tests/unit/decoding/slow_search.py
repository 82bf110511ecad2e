"""Beam search in plain Python, one sentence at a time, with nothing left out to save time.

Follows the description of Tensor2Tensor 1.15.7 literally: all K·V candidates are sorted, scores
are compared after the penalty, and the search stops by T2T's rule for one output or not at all.
"""

from __future__ import annotations

import math

import numpy as np

from tests.unit.decoding.table_model import FunctionModel, Prefix

END = 1


def slow_search(
    model: FunctionModel,
    sentence: int,
    beam_size: int,
    alpha: float,
    decode_length: int,
    as_ctranslate2: bool = False,
) -> list[tuple[Prefix, float]]:
    """The finished hypotheses, best first, or the unfinished ones if none finished.

    CTranslate2 lets the first `beam_size` candidates of a step finish, all of them at the limit.
    """
    alive: list[tuple[Prefix, float]] = [((), 0.0)]
    finished: list[tuple[Prefix, float]] = []
    for step in range(decode_length):
        penalty = ((5 + step + 1) / 6) ** alpha
        candidates = []
        for prefix, log_probability in alive:
            logits = model.logits_of(sentence, prefix).astype(np.float32).astype(np.float64)
            log_probs = logits - math.log(np.sum(np.exp(logits)))
            candidates += [
                ((*prefix, symbol), log_probability + float(value))
                for symbol, value in enumerate(log_probs)
            ]
        candidates.sort(key=lambda candidate: -candidate[1])  # stable: earlier beam, lower id
        best = candidates[: 2 * beam_size]
        alive = [candidate for candidate in best if candidate[0][-1] != END][:beam_size]
        ending = best[:beam_size] if as_ctranslate2 else best
        last = as_ctranslate2 and step == decode_length - 1
        finished += [(ids, value / penalty) for ids, value in ending if ids[-1] == END or last]
        finished.sort(key=lambda candidate: -candidate[1])
        finished = finished[:beam_size]
    return finished or alive
