"""Several models as one step function: the mean of their probabilities.

A sum of probabilities, not of log-probabilities, so that a subtoken one model rules out can still
be said when the others want it (Sutskever et al. 2014, section 3.6, average this way).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf


def start(models: Sequence[Any], inputs: Any) -> Any:
    """One cache for all models; of a single model, its own.

    Args:
        models: with `start_decoding(inputs)`, see ARCHITECTURE.md.
        inputs: int32 [B, S].
    """
    caches = [model.start_decoding(inputs) for model in models]
    if len(models) == 1:
        return caches[0]
    return {part: [cache[part] for cache in caches] for part in ("memory", "self")}


def step_function(
    models: Sequence[Any], weights: Sequence[Any] | None = None
) -> Callable[[Any, Any, Any], tuple[Any, Any]]:
    """Step function over the cache of `start`: logits are log-probabilities of the mean.

    To be made outside the decoding loop, in the function that holds it.

    Args:
        models: as for `start`.
        weights: what `step_weights` of each model gave, for models that do not change.
    """
    if weights is None:
        steps = [model.step_function() for model in models]
    else:
        steps = [model.step_function(own) for model, own in zip(models, weights, strict=True)]
    if len(models) == 1:
        return steps[0]

    def step_fn(ids: Any, step: Any, cache: Any) -> tuple[Any, Any]:
        log_probs, caches = [], []
        for number, own_step in enumerate(steps):
            own = {part: cache[part][number] for part in ("memory", "self")}
            logits, own = own_step(ids, step, own)
            log_probs.append(tf.nn.log_softmax(tf.cast(logits, tf.float32)))
            caches.append(own)
        mean = tf.reduce_logsumexp(tf.stack(log_probs), axis=0) - math.log(len(models))
        return mean, {part: [own[part] for own in caches] for part in ("memory", "self")}

    return step_fn


def losses(models: Sequence[Any], inputs: np.ndarray, targets: np.ndarray) -> list[float]:
    """The mean cross-entropy per subtoken of given outputs under the mean of the probabilities.

    Args:
        models: at least one.
        inputs: int32 [B, S], end of sentence included, padded with 0.
        targets: int32 [B, T], likewise.
    """
    log_probs = [
        tf.nn.log_softmax(model({"inputs": inputs, "targets": targets}, training=False))
        for model in models
    ]
    mean = tf.reduce_logsumexp(tf.stack(log_probs), axis=0) - math.log(len(log_probs))
    said = tf.gather(mean, targets, batch_dims=2).numpy()
    real = targets != 0
    means: list[float] = (-(said * real).sum(axis=1) / real.sum(axis=1)).tolist()
    return means
