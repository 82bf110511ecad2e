"""Dropout whose noise can be a function of a seed alone.

A training loop that must give the same numbers after a resume cannot use noise whose state lies
hidden in the program. Inside `dropout_noise(seed)` every use of dropout draws from `seed` and
its own number, so the same seed gives the same noise: across runs, after a resume, and in a
function compiled once. Outside, noise comes from TensorFlow's global generator.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import keras
import tensorflow as tf

# Named, since the usual choice depends on the device.
_ALGORITHM = "philox"


class _Noise:
    """One seed and the number of uses drawn from it so far."""

    def __init__(self, seed: tf.Tensor) -> None:
        # Hashed once, so that nearby seeds (step 7, step 8) share no noise below.
        self._base = tf.random.experimental.stateless_fold_in(
            tf.cast(seed, tf.int32), 0, alg=_ALGORITHM
        )
        self._uses = 0

    def next_seed(self) -> tf.Tensor:
        self._uses += 1
        return self._base + tf.constant([0, self._uses], self._base.dtype)


# By thread, since MirroredStrategy builds the replicas' graphs in threads of their own.
_current = threading.local()


@contextlib.contextmanager
def dropout_noise(seed: tf.Tensor | None) -> Iterator[None]:
    """Every dropout inside draws its noise from `seed` (int32 [2]); None changes nothing."""
    if seed is None:
        yield
        return
    outer = getattr(_current, "noise", None)
    _current.noise = _Noise(seed)
    try:
        yield
    finally:
        _current.noise = outer


def drop_symbols(ids: tf.Tensor, rate: float) -> tf.Tensor:
    """`ids` with a share of them replaced by 0 (T2T's `symbol_dropout`)."""
    return tf.where(_kept(tf.shape(ids), _units(rate)), ids, tf.zeros([], ids.dtype))


def _units(rate: float) -> int:
    """The share in units of 1 / 65536, to which it is rounded."""
    return round(rate * 2**16)


def _kept(shape: tf.Tensor, units: int) -> tf.Tensor:
    """bool of `shape`; a share of `units` / 65536 is false.

    Each decision takes 16 bits: half the random words, and half the time, that numbers between 0
    and 1 would take, and the same bits on every device and under XLA.
    """
    size = tf.reduce_prod(shape)
    words = tf.random.stateless_uniform(
        [(size + 1) // 2], _next_seed(), minval=None, maxval=None, dtype=tf.int32, alg=_ALGORITHM
    )
    bits = tf.reshape(tf.bitcast(words, tf.int16), [-1])[:size]
    return tf.reshape(bits, shape) >= units - 2**15


def _next_seed() -> tf.Tensor:
    noise = getattr(_current, "noise", None)
    if noise is not None:
        return noise.next_seed()
    limits = tf.int32.limits
    return tf.random.uniform([2], limits[0], limits[1], dtype=tf.int32)


@keras.saving.register_keras_serializable(package="keras_transformer")
class Dropout(keras.layers.Layer):
    """Zeroes a share of the values in training and scales the rest up.

    Args:
      rate: share set to 0, in [0, 1), kept to 1 / 65536.
      broadcast_axes: axes along which all values share one decision (T2T's
        `…_dropout_broadcast_dims`); negative axes count from the end.

    Call arguments:
      inputs: float, any shape.
      training: noise is applied only when true.

    Returns:
      The shape of `inputs`, in the compute dtype.
    """

    def __init__(self, rate: float, broadcast_axes: tuple[int, ...] = (), **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        if not 0 <= rate < 1:
            raise ValueError(f"rate is {rate}: it must be in [0, 1)")
        self.rate = rate
        self.broadcast_axes = tuple(broadcast_axes)
        self.supports_masking = True
        self.built = True

    def call(self, inputs: tf.Tensor, training: bool | None = None) -> tf.Tensor:
        inputs = tf.cast(inputs, self.compute_dtype)
        if not training or not self.rate:
            return inputs
        shape = tf.shape(inputs)
        if self.broadcast_axes:
            rank = inputs.shape.rank
            shared = {axis % rank for axis in self.broadcast_axes}
            shape = tf.stack([1 if axis in shared else shape[axis] for axis in range(rank)])
        units = _units(self.rate)
        scale = tf.constant(2**16 / (2**16 - units), inputs.dtype)
        return tf.where(_kept(shape, units), inputs * scale, tf.zeros([], inputs.dtype))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "rate": self.rate,
            "broadcast_axes": list(self.broadcast_axes),
        }
