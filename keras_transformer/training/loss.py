"""T2T's loss: cross-entropy with smoothed labels, less the least value it can take.

Shapes: N target positions of a batch in any arrangement, V vocabulary entries.

With smoothing ε the gold label has probability on = 1 − ε and every other entry, padding included,
off = ε / (V − 1) (paper 5.4; T2T `smoothing_cross_entropy`). Since these add up to one,

    cross-entropy = log Σ exp z − (on − off) · z_gold − off · Σ z

needs no [N, V] array of labels. From it the constant

    C = −(on · ln on + (V − 1) · off · ln(off + 1e-20))

is taken off, so that a perfect prediction costs 0. A position counts if its label is not 0.
"""

from __future__ import annotations

import math

import tensorflow as tf


def smoothing_constant(vocab_size: int, label_smoothing: float) -> float:
    """The least cross-entropy that smoothed labels allow, in nats per subtoken (C above)."""
    if not label_smoothing:
        return 0.0
    on = 1.0 - label_smoothing
    off = label_smoothing / (vocab_size - 1)
    return -(on * math.log(on) + (vocab_size - 1) * off * math.log(off + 1e-20))


def token_cross_entropy(
    logits: tf.Tensor, labels: tf.Tensor, label_smoothing: float = 0.0
) -> tf.Tensor:
    """Cross-entropy of each position, unweighted.

    Args:
        logits: [..., V]; computed in float32 whatever their type.
        labels: [...] int; 0 = padding (which gets a value too: weigh it).
        label_smoothing: ε; 0 in evaluation.

    Returns:
        [...] float32, nats per subtoken.
    """
    vocab_size = int(logits.shape[-1])
    flat_labels = tf.reshape(labels, [-1])
    flat_logits = tf.cast(tf.reshape(logits, [-1, vocab_size]), tf.float32)
    return tf.reshape(
        _flat_cross_entropy(flat_logits, flat_labels, label_smoothing), tf.shape(labels)
    )


def _flat_cross_entropy(logits: tf.Tensor, labels: tf.Tensor, label_smoothing: float) -> tf.Tensor:
    """[N, V] float32 and [N] → [N]; one gradient array in place of the four of autodiff."""
    vocab_size = int(logits.shape[-1])
    off = label_smoothing / (vocab_size - 1) if label_smoothing else 0.0
    on_less_off = 1.0 - label_smoothing - off

    @tf.custom_gradient
    def compute(z: tf.Tensor) -> tuple[tf.Tensor, object]:
        # The fused kernel gives log Σ exp z − z_gold and its gradient, softmax − one-hot, at once.
        unsmoothed, gradient = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(
            features=z, labels=labels
        )
        if not label_smoothing:
            return unsmoothed, lambda upstream: gradient * upstream[:, None]
        gold = tf.gather(z, labels, batch_dims=1)
        loss = unsmoothed + (1.0 - on_less_off) * gold - off * tf.reduce_sum(z, axis=-1)

        def backward(upstream: tf.Tensor) -> tf.Tensor:
            rows = tf.range(tf.shape(labels)[0], dtype=labels.dtype)
            places = tf.stack([rows, labels], axis=-1)
            smoothed = (gradient - off) * upstream[:, None]
            return tf.tensor_scatter_nd_add(smoothed, places, (1.0 - on_less_off) * upstream)

        return loss - smoothing_constant(vocab_size, label_smoothing), backward

    return compute(logits)


def same_length(logits: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Pads the shorter of logits [B, T, V] and labels [B, T] with zeros along T, as T2T does."""
    missing = tf.shape(logits)[1] - tf.shape(labels)[1]
    logits = tf.pad(logits, [[0, 0], [0, tf.maximum(-missing, 0)], [0, 0]])
    labels = tf.pad(labels, [[0, 0], [0, tf.maximum(missing, 0)]])
    return logits, labels


def padded_cross_entropy(
    logits: tf.Tensor, labels: tf.Tensor, label_smoothing: float = 0.0
) -> tuple[tf.Tensor, tf.Tensor]:
    """Sum of the cross-entropy over real target positions, and their number.

    Both are to be summed over all replicas before they are divided (`max(1, number)`): the loss is
    a mean over the tokens of the global batch (T2T `padded_cross_entropy`).

    Args:
        logits: [B, T, V].
        labels: [B, T]; the shorter of both is padded with zeros.
        label_smoothing: ε.

    Returns:
        float32 scalars: nats, subtokens.
    """
    logits, labels = same_length(logits, labels)
    weights = tf.cast(tf.not_equal(labels, 0), tf.float32)
    losses = token_cross_entropy(logits, labels, label_smoothing)
    return tf.reduce_sum(losses * weights), tf.reduce_sum(weights)
