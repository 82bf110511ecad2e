"""What stands before and after each sub-layer: normalise, dropout, add the residual.

A sequence of letters says what is done, from left to right: `n` normalise, `d` dropout, `a` add
the residual; `none` is nothing. The paper's post-norm is `none` before and `dan` after; T2T's
later pre-norm is `n` before and `da` after.
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.layer_norm import LayerNorm


def letters(sequence: str) -> str:
    """The letters of a sequence; none for `none` and for the empty one.

    Raises:
      ValueError: another letter than n, d, a, or one given twice.
    """
    if sequence in ("none", ""):
        return ""
    if not set(sequence) <= set("nda") or len(set(sequence)) < len(sequence):
        raise ValueError(f"sequence is {sequence!r}: none, or n, d and a at most once each")
    return sequence


@keras.saving.register_keras_serializable(package="keras_transformer")
class SublayerSteps(keras.layers.Layer):
    """The steps before or after one sub-layer.

    Args:
      sequence: letters as above.
      dropout: rate of `d`.
      dropout_broadcast_axes: axes of [B, L, d] along which dropout shares one decision.
      epsilon: of the normalisation.
      norm_name: name of the normalisation's scope.

    Call arguments:
      inputs: float [..., d]: what goes in, or the sub-layer's output.
      residual: float [..., d], the sub-layer's input, added by `a`.
      training: dropout is applied only when true.

    Returns:
      [..., d].

    Raises:
      ValueError: a sequence with `a` is called without a residual.
    """

    def __init__(
        self,
        sequence: str,
        dropout: float = 0.0,
        dropout_broadcast_axes: tuple[int, ...] = (),
        epsilon: float = 1e-6,
        norm_name: str = "layer_norm",
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        self.sequence = letters(sequence)
        self.epsilon = epsilon
        self.norm_name = norm_name
        self.supports_masking = True
        self.norm: LayerNorm | None = None
        if "n" in self.sequence:
            self.norm = LayerNorm(epsilon, dtype=self.dtype_policy, name=norm_name)
        self.dropout = Dropout(dropout, dropout_broadcast_axes, dtype=self.dtype_policy)

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        if self.norm is not None:
            self.norm.build(input_shape)

    def call(
        self,
        inputs: tf.Tensor,
        residual: tf.Tensor | None = None,
        training: bool | None = None,
    ) -> tf.Tensor:
        x = tf.cast(inputs, self.compute_dtype)
        for letter in self.sequence:
            if letter == "n" and self.norm is not None:
                x = self.norm(x)
            elif letter == "d":
                x = self.dropout(x, training=training)
            elif residual is None:
                raise ValueError(f"sequence {self.sequence} adds a residual, and none was given")
            else:
                x += tf.cast(residual, x.dtype)
        return x

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "sequence": self.sequence,
            "dropout": self.dropout.rate,
            "dropout_broadcast_axes": list(self.dropout.broadcast_axes),
            "epsilon": self.epsilon,
            "norm_name": self.norm_name,
        }
