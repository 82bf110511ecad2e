"""Shapes of batches that the buckets of the input pipeline give: the largest, and a few for XLA.

XLA compiles once for each shape of batch, and a batch is padded to its own longest sentences, so
there could be thousands. Padded to the longest sentence that its bucket may hold, on both sides,
batches have as many shapes as there are buckets.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence

import tensorflow as tf

from keras_transformer.config import HParams
from keras_transformer.data import batching


def bucket_shapes(
    hparams: HParams, replicas: int = 1, length_multiplier: int = 1
) -> list[tuple[int, int]]:
    """(sentences, subtokens) of a full batch of the longest sentences of each bucket.

    Args:
        hparams: `batch_size`, `max_length` and what else makes the buckets.
        replicas: devices that share each batch.
        length_multiplier: the problem's factor on the lengths.

    Returns:
        One for each bucket, the shortest sentences first.
    """
    scheme = batching.scheme_from_hparams(hparams, True, replicas, length_multiplier)
    lengths = [min(boundary - 1, scheme.max_length) for boundary in scheme.boundaries]
    return list(zip(scheme.batch_sizes, [*lengths, scheme.max_length], strict=True))


def largest(shapes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The shapes that need the most memory.

    The one with the most pairs of positions, which the attention weights grow with, and the one
    with the most positions, which the logits and layers grow with.
    """
    most_pairs = max(shapes, key=lambda shape: shape[0] * shape[1] ** 2)
    most_positions = max(shapes, key=lambda shape: shape[0] * shape[1])
    return list(dict.fromkeys([most_pairs, most_positions]))


def pad_to_bucket(batch: Mapping[str, tf.Tensor], lengths: Sequence[int]) -> dict[str, tf.Tensor]:
    """A batch with every feature as long as its bucket's longest sentence.

    Args:
        batch: name → int32 [B, positions], of one B.
        lengths: the longest sentence of each bucket in subtokens, ascending.

    Returns:
        name → int32 [B, L], filled up with zeros; L the first of `lengths` that holds the longest
        feature. A batch longer than all of them is given back as it is.
    """
    longest = max(tensor.shape[1] for tensor in batch.values())
    bucket = bisect.bisect_left(lengths, longest)
    if bucket == len(lengths):
        return dict(batch)
    return {
        name: tf.pad(tensor, [[0, 0], [0, lengths[bucket] - tensor.shape[1]]])
        for name, tensor in batch.items()
    }
