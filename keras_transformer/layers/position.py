"""Signals that tell positions apart, added to the embeddings."""

from __future__ import annotations

import math
from typing import Any

import keras
import tensorflow as tf

from keras_transformer.layers.initial_values import scaled_uniform
from keras_transformer.layers.lookup import lookup_rows


def timing_signal(
    positions: tf.Tensor,
    width: int,
    min_timescale: float = 1.0,
    max_timescale: float = 1.0e4,
) -> tf.Tensor:
    """T2T's signal: all sines, then all cosines (`get_timing_signal_1d`).

    k = floor(d / 2) frequencies fall from 1 / min_timescale to exactly 1 / max_timescale; an
    odd width ends in a 0. Position 1 at width 8: 0.841471, 0.046399, 0.002154, 0.0001, 0.540302,
    0.998923, 0.999998, 1.0. It is no permutation of the paper's signal.

    Args:
      positions: int or float [...], counted from 0.
      width: d.

    Returns:
      float32 [..., d].
    """
    count = width // 2
    step = math.log(max_timescale / min_timescale) / max(count - 1, 1)
    frequencies = min_timescale * tf.exp(tf.range(count, dtype=tf.float32) * -step)
    angles = tf.cast(positions, tf.float32)[..., tf.newaxis] * frequencies
    parts = [tf.sin(angles), tf.cos(angles)]
    if width % 2:
        parts.append(tf.zeros_like(tf.cast(positions, tf.float32))[..., tf.newaxis])
    return tf.concat(parts, axis=-1)


def paper_timing_signal(positions: tf.Tensor, width: int) -> tf.Tensor:
    """The signal of paper 3.5: sin(p / 10000^(2i/d)) at 2i, the cosine at 2i + 1.

    Args and result as for `timing_signal`.
    """
    pairs = (width + 1) // 2
    exponents = tf.range(pairs, dtype=tf.float32) * (2.0 / width)
    frequencies = tf.exp(exponents * -math.log(1.0e4))
    angles = tf.cast(positions, tf.float32)[..., tf.newaxis] * frequencies
    pairs_of_signals = tf.stack([tf.sin(angles), tf.cos(angles)], axis=-1)
    shape = tf.concat([tf.shape(angles)[:-1], [2 * pairs]], axis=0)
    return tf.reshape(pairs_of_signals, shape)[..., :width]


@keras.saving.register_keras_serializable(package="keras_transformer")
class TimingSignal(keras.layers.Layer):
    """Adds sines and cosines of the position.

    Args:
      paper: the paper's formula in place of T2T's.

    Call arguments:
      inputs: float [B, L, d].
      positions: int [L], [B, L] or None for 0 … L-1.

    Returns:
      [B, L, d] in the compute dtype.
    """

    def __init__(self, paper: bool = False, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self.paper = paper
        self.supports_masking = True
        self.built = True

    def call(self, inputs: tf.Tensor, positions: tf.Tensor | None = None) -> tf.Tensor:
        if positions is None:
            positions = tf.range(tf.shape(inputs)[1])
        signal = paper_timing_signal if self.paper else timing_signal
        x = tf.cast(inputs, self.compute_dtype)
        return x + tf.cast(signal(positions, inputs.shape[-1]), x.dtype)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "paper": self.paper}


@keras.saving.register_keras_serializable(package="keras_transformer")
class LearnedPositions(keras.layers.Layer):
    """Adds a learned vector for each position (T2T's `pos=emb`).

    Args:
      max_length: rows of the table; positions from there on add zeros, as in T2T.
      initializer_gain: scale of the table's initial variance.

    Call arguments:
      inputs: float [B, L, d].
      positions: int [L], [B, L] or None for 0 … L-1.

    Returns:
      [B, L, d] in the compute dtype.
    """

    def __init__(self, max_length: int, initializer_gain: float = 1.0, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self.max_length = max_length
        self.initializer_gain = initializer_gain
        self.supports_masking = True

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        self.table = self.add_weight(
            name="weights",
            shape=(self.max_length, inputs_shape[-1]),
            initializer=scaled_uniform(self.initializer_gain),
            autocast=False,
        )

    def call(self, inputs: tf.Tensor, positions: tf.Tensor | None = None) -> tf.Tensor:
        if positions is None:
            positions = tf.range(tf.shape(inputs)[1])
        known = tf.minimum(positions, self.max_length - 1)
        inside = tf.cast(positions < self.max_length, tf.float32)
        rows = lookup_rows(tf.convert_to_tensor(self.table), known) * inside[..., tf.newaxis]
        x = tf.cast(inputs, self.compute_dtype)
        return x + tf.cast(rows, x.dtype)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "max_length": self.max_length,
            "initializer_gain": self.initializer_gain,
        }
