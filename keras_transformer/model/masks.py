"""Who may look at whom: biases added to attention logits, -1e9 where looking is forbidden.

All are float32 and broadcast to [B, H, Q, M]: B sentences, H heads, Q querying positions,
M positions looked at.
"""

from __future__ import annotations

import tensorflow as tf

from keras_transformer.layers.neighbourhood import Neighbourhood

FORBIDDEN = -1e9


def padding_bias(ids: tf.Tensor) -> tf.Tensor:
    """Hides positions whose id is 0: ids int [B, M] to [B, 1, 1, M]."""
    return _bias(tf.equal(ids, 0))[:, tf.newaxis, tf.newaxis, :]


def causal_bias(length: tf.Tensor) -> tf.Tensor:
    """Hides later positions: [1, 1, length, length]."""
    positions = tf.range(length)
    return _bias(positions[:, tf.newaxis] < positions)[tf.newaxis, tf.newaxis]


def neighbourhood_bias(neighbourhood: Neighbourhood, like: tf.Tensor) -> tf.Tensor:
    """Hides what is out of reach in restricted self-attention.

    Args:
      neighbourhood: how far it sees.
      like: any tensor [B, L, …].

    Returns:
      [B · b, 1, w, W], b blocks of w positions, W positions of a window. The other biases fit it
      when they are made of `neighbourhood.blocks` and `neighbourhood.windows` of ids or segments.
    """
    shape = tf.shape(like)
    hidden = tf.logical_not(neighbourhood.is_seen(shape[1]))
    return tf.tile(_bias(hidden)[:, tf.newaxis], [shape[0], 1, 1, 1])


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


def own_sentence_bias(segments: tf.Tensor, neighbourhood: Neighbourhood | None = None) -> tf.Tensor:
    """`segment_bias` of a row's sentences for self-attention, in blocks with a neighbourhood."""
    if neighbourhood is None:
        return segment_bias(segments, segments)
    return segment_bias(neighbourhood.blocks(segments), neighbourhood.windows(segments))


def _bias(hidden: tf.Tensor) -> tf.Tensor:
    return tf.cast(hidden, tf.float32) * FORBIDDEN
