"""The position-wise feed-forward layer."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.linear import Linear, Shape, restore_rows


@keras.saving.register_keras_serializable(package="keras_transformer")
class FeedForward(keras.layers.Layer):
    """relu(x W1 + b1) W2 + b2 at every position (paper 3.3).

    Args:
      filter_size: width inside, f.
      dropout: share of the values after the relu set to 0 in training.
      dropout_broadcast_axes: axes of [B, L, f] along which they share one decision.
      initializer_gain: scale of the kernels' initial variance.

    Call arguments:
      inputs: float [..., d].
      keep: bool [...] or None. Where it is false the output is 0: T2T takes padding out of the
        encoder's feed-forward layer and puts zeros back (`use_pad_remover`). Output at the
        other positions does not depend on it.
      training: dropout is applied only when true.

    Returns:
      [..., d].
    """

    def __init__(
        self,
        filter_size: int,
        dropout: float = 0.0,
        dropout_broadcast_axes: tuple[int, ...] = (),
        initializer_gain: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        self.filter_size = filter_size
        self.initializer_gain = initializer_gain
        self.supports_masking = True
        self.hidden = Linear(
            filter_size, initializer_gain=initializer_gain, dtype=self.dtype_policy, name="hidden"
        )
        self.dropout = Dropout(dropout, dropout_broadcast_axes, dtype=self.dtype_policy)

    def build(self, input_shape: Shape) -> None:
        self.output_linear = Linear(
            input_shape[-1],
            initializer_gain=self.initializer_gain,
            dtype=self.dtype_policy,
            name="output",
        )
        self.hidden.build(input_shape)
        self.output_linear.build((*input_shape[:-1], self.filter_size))

    def call(
        self, inputs: tf.Tensor, keep: tf.Tensor | None = None, training: bool | None = None
    ) -> tf.Tensor:
        rows = inputs
        if not self.dropout.broadcast_axes:  # their numbers speak of all axes
            rows = tf.reshape(inputs, [-1, inputs.shape[-1]])
        hidden = self.dropout(tf.nn.relu(self.hidden(rows)), training=training)
        outputs = restore_rows(self.output_linear(hidden), inputs)
        if keep is not None:
            outputs *= tf.cast(keep, outputs.dtype)[..., tf.newaxis]
        return outputs

    def step_weights(self) -> dict[str, tf.Tensor]:
        """Its weights for `ready_weights`."""
        return {**self.hidden.step_weights(), **self.output_linear.step_weights()}

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "filter_size": self.filter_size,
            "dropout": self.dropout.rate,
            "dropout_broadcast_axes": list(self.dropout.broadcast_axes),
            "initializer_gain": self.initializer_gain,
        }
