"""Who may look at whom: biases added to attention logits, -1e9 where looking is forbidden.

All are float32 and broadcast to [B, H, Q, M]: B sentences, H heads, Q querying positions,
M positions looked at.
"""

from __future__ import annotations

import tensorflow as tf

FORBIDDEN = -1e9


def padding_bias(ids: tf.Tensor) -> tf.Tensor:
    """Hides positions whose id is 0: ids int [B, M] to [B, 1, 1, M]."""
    return _bias(tf.equal(ids, 0))[:, tf.newaxis, tf.newaxis, :]


def causal_bias(length: tf.Tensor) -> tf.Tensor:
    """Hides later positions: [1, 1, length, length]."""
    positions = tf.range(length)
    return _bias(positions[:, tf.newaxis] < positions)[tf.newaxis, tf.newaxis]


def neighbourhood_bias(length: tf.Tensor, reach: int) -> tf.Tensor:
    """Hides what is more than `reach` positions away: [1, 1, length, length].

    The paper's restricted self-attention (end of section 4) with a neighbourhood to both sides.
    """
    positions = tf.range(length)
    distance = tf.abs(positions[:, tf.newaxis] - positions)
    return _bias(distance > reach)[tf.newaxis, tf.newaxis]


def segment_bias(query_segments: tf.Tensor, memory_segments: tf.Tensor) -> tf.Tensor:
    """Keeps the sentences packed in one row apart.

    Args:
      query_segments: int [B, Q], the number of the sentence at each position, 0 at padding.
      memory_segments: int [B, M].

    Returns:
      [B, 1, Q, M].
    """
    differ = tf.not_equal(query_segments[:, :, tf.newaxis], memory_segments[:, tf.newaxis, :])
    return _bias(differ)[:, tf.newaxis]


def _bias(hidden: tf.Tensor) -> tf.Tensor:
    return tf.cast(hidden, tf.float32) * FORBIDDEN
