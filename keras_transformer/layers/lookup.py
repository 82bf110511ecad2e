"""Rows of a table by number."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


@tf.custom_gradient
def lookup_rows(table: tf.Tensor, ids: tf.Tensor) -> Any:
    """`table[ids]`, with a dense gradient as T2T's optimizer sees it.

    Where the table also makes the logits its gradient is dense anyway; TensorFlow would turn the
    dense part into slices to add the sparse one, and copy the whole table several times.

    Args:
      table: float [V, d].
      ids: int [...], below V.

    Returns:
      [..., d].
    """

    def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, None]:
        rows = tf.reshape(upstream, [-1, table.shape[1]])
        return tf.math.unsorted_segment_sum(rows, tf.reshape(ids, [-1]), table.shape[0]), None

    return tf.gather(table, ids), gradient
