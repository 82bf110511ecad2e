"""The smoothed loss straight from the decoder's output, without logits of the whole batch.

Shapes: N real target positions, V vocabulary entries, d model width.

On a vocabulary of 32,000 the logits and what hangs on them are the largest arrays and a third of
the work of a training step. Here positions of padding are left out before the product with the
table, the rest is taken in chunks, and each chunk's gradient is computed with its loss, so that its
[C, V] arrays can be forgotten at once. With p = softmax(z) and the labels of `loss.py`,

    d loss / d z = (p − onehot) + (1 − on + off) · onehot − off

Only the first term is an array of V columns; the kernel that computes the cross-entropy gives it
for free. What the other two do to states and table are a gather, a scatter and a sum of columns.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from keras_transformer.training.loss import smoothing_constant

# Positions of a chunk: large enough for a product of matrices at full speed.
CHUNK = 1024


def projected_cross_entropy(
    states: tf.Tensor, table: tf.Tensor, labels: tf.Tensor, label_smoothing: float = 0.0
) -> tuple[tf.Tensor, tf.Tensor]:
    """As `loss.padded_cross_entropy(states · tableᵀ, labels)`, with a gradient for both.

    Args:
        states: float [B, T, d]; products are made in their type, the rest in float32.
        table: float32 [V, d].
        labels: int [B, T], 0 = padding.
        label_smoothing: ε.

    Returns:
        float32 scalars: sum of the cross-entropy over real positions in nats, their number.
    """
    flat = tf.reshape(labels, [-1])
    real = tf.where(tf.not_equal(flat, 0))[:, 0]
    width = states.shape[-1]
    gold = tf.gather(flat, real)

    @tf.custom_gradient
    def compute(states: tf.Tensor, table: tf.Tensor) -> tuple[tf.Tensor, Any]:
        rows = tf.gather(tf.reshape(states, [-1, width]), real)
        total, rows_gradient, table_gradient = _loss_and_gradients(
            rows, table, gold, label_smoothing
        )

        def backward(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            shape = tf.shape(states)
            back = tf.scatter_nd(
                real[:, None],
                tf.cast(rows_gradient * upstream, states.dtype),
                tf.cast([shape[0] * shape[1], width], real.dtype),
            )
            return tf.reshape(back, shape), table_gradient * upstream

        return total, backward

    return compute(states, table), tf.cast(tf.size(real), tf.float32)


def _loss_and_gradients(
    rows: tf.Tensor, table: tf.Tensor, gold: tf.Tensor, label_smoothing: float
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Sum of the losses of N positions, its gradient for them [N, d] and for the table [V, d].

    Args:
        rows: [N, d].
        table: [V, d].
        gold: int [N].
    """
    vocab_size = int(table.shape[0])
    off = label_smoothing / (vocab_size - 1) if label_smoothing else 0.0
    lifted = label_smoothing + off  # 1 − (on − off)
    weights = tf.cast(table, rows.dtype)
    column_sums = tf.reduce_sum(table, axis=0)
    number = tf.shape(rows)[0]

    def chunk(
        start: tf.Tensor, total: tf.Tensor, back: tf.TensorArray, table_gradient: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.TensorArray, tf.Tensor]:
        states, labels = rows[start : start + CHUNK], gold[start : start + CHUNK]
        logits = tf.cast(tf.matmul(states, weights, transpose_b=True), tf.float32)
        losses, gradient = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(
            features=logits, labels=labels
        )
        exact = tf.cast(states, tf.float32)
        gradient = tf.cast(gradient, rows.dtype)
        states_gradient = tf.cast(tf.matmul(gradient, weights), tf.float32)
        table_part = tf.cast(tf.matmul(gradient, states, transpose_a=True), tf.float32)
        if label_smoothing:
            gold_rows = tf.gather(table, labels)
            losses += lifted * tf.reduce_sum(exact * gold_rows, axis=-1)
            losses -= off * tf.linalg.matvec(exact, column_sums)
            states_gradient += lifted * gold_rows - off * column_sums
            table_part = tf.tensor_scatter_nd_add(table_part, labels[:, None], lifted * exact)
        return (
            start + CHUNK,
            total + tf.reduce_sum(losses),
            back.write(start // CHUNK, states_gradient),
            table_gradient + table_part,
        )

    width = rows.shape[-1]
    # One chunk at least, since nothing cannot be joined.
    chunks = tf.maximum(-(-number // CHUNK), 1)
    _, total, back, table_gradient = tf.while_loop(
        lambda start, *_: start < chunks * CHUNK,
        chunk,
        (
            tf.constant(0),
            tf.zeros([]),
            tf.TensorArray(tf.float32, size=chunks, infer_shape=False, element_shape=[None, width]),
            tf.zeros_like(table),
        ),
        parallel_iterations=1,
    )
    states_gradient = tf.reshape(back.concat(), [number, width])
    if label_smoothing:
        # The constant term of d loss / d z, the same for every entry of the table.
        table_gradient -= off * tf.reduce_sum(tf.cast(rows, tf.float32), axis=0)
        total -= smoothing_constant(vocab_size, label_smoothing) * tf.cast(number, tf.float32)
    return total, states_gradient, table_gradient
