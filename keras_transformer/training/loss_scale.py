"""The dynamic factor on the loss that float16 gradients need (T2T's exponential loss scaler)."""

from __future__ import annotations

import tensorflow as tf

GROWTH = 2.0
GOOD_STEPS = 2000
BACKOFF = 0.5
BAD_STEPS = 2


class LossScale:
    """Doubled after 2,000 updates with finite gradients, halved after 2 without.

    Args:
        start: first factor (T2T: 32,768).
    """

    def __init__(self, start: float):
        self.scale = tf.Variable(float(start), trainable=False, name="loss_scale")
        self.good_steps = tf.Variable(0, trainable=False, dtype=tf.int64, name="good_steps")
        self.bad_steps = tf.Variable(0, trainable=False, dtype=tf.int64, name="bad_steps")

    def state(self) -> dict[str, tf.Variable]:
        """Name → variable, for the checkpoint."""
        return {
            "loss_scale": self.scale,
            "loss_scale_good_steps": self.good_steps,
            "loss_scale_bad_steps": self.bad_steps,
        }

    def factor(self) -> tf.Tensor:
        """float32 scalar to multiply the loss with."""
        return tf.convert_to_tensor(self.scale)

    def update(self, finite: tf.Tensor) -> tf.Tensor:
        """Counts one update; `finite` says whether its gradients were, and is given back."""
        zero = tf.zeros([], tf.int64)
        good = tf.where(finite, self.good_steps + 1, zero)
        bad = tf.where(finite, zero, self.bad_steps + 1)
        grows, shrinks = good >= GOOD_STEPS, bad >= BAD_STEPS
        change = tf.where(grows, GROWTH, tf.where(shrinks, BACKOFF, 1.0))
        self.scale.assign(tf.maximum(self.scale * change, 1.0))
        self.good_steps.assign(tf.where(grows, zero, good))
        self.bad_steps.assign(tf.where(shrinks, zero, bad))
        return tf.identity(finite)
