"""Layer normalisation with T2T's numbers."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="keras_transformer")
class LayerNorm(keras.layers.Layer):
    """(x - mean) · rsqrt(variance + epsilon) · scale + bias over the last axis.

    The variance is the population's. The sums are made in float32 under every dtype policy (T2T
    computes in the dtype of x), the result is in the compute dtype. [1, 2, 3, 6] becomes
    [-1.0690448, -0.5345224, 0, 1.6035672]. Ba et al. 2016; T2T `layer_norm`.

    Args:
      epsilon: added to the variance inside the root.

    Call arguments:
      inputs: float [..., d].

    Returns:
      [..., d].
    """

    def __init__(self, epsilon: float = 1e-6, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self.epsilon = epsilon
        self.supports_masking = True

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        shape = (input_shape[-1],)
        self.scale = self.add_weight(name="scale", shape=shape, initializer="ones", autocast=False)
        self.bias = self.add_weight(name="bias", shape=shape, initializer="zeros", autocast=False)

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        x = tf.cast(inputs, tf.float32)
        centered = x - tf.reduce_mean(x, axis=-1, keepdims=True)
        variance = tf.reduce_mean(tf.square(centered), axis=-1, keepdims=True)
        normalized = centered * tf.math.rsqrt(variance + self.epsilon)
        outputs = normalized * tf.cast(self.scale, x.dtype) + tf.cast(self.bias, x.dtype)
        return tf.cast(outputs, self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "epsilon": self.epsilon}
