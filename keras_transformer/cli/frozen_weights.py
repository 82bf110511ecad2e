"""Lets TensorFlow keep packed weights in a program that only decodes."""

from __future__ import annotations

import os

from keras_transformer.layers.ready_weights import FROZEN_WEIGHTS


def freeze_weights(dtype: str, batch_size: int) -> None:
    """Says that no weight of this process changes any more, where that makes decoding faster.

    TensorFlow's oneDNN build packs the weights of a product anew at each call unless it is told so:
    a fifth to a half of the time of decoding one sentence at once. It keeps one packing for each
    product, and in float32 the best one depends on the number of rows, so that batches which
    shrink while they are decoded would be packed anew after all, at twice the cost. A variable that
    is set already is left as it is; GPUs do not look at it.

    Must be called before anything is decoded, and never in a process that trains: it would go on
    with the packed weights of its first update. `Trainer` refuses such a process.

    Args:
        dtype: of the activations.
        batch_size: sentences decoded at once.
    """
    if dtype == "bfloat16" or batch_size == 1:
        os.environ.setdefault(FROZEN_WEIGHTS, "1")
