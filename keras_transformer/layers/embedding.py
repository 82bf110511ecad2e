"""The table of symbols: ids to vectors, and vectors to logits."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from keras_transformer.layers.initial_values import normal, scaled_uniform
from keras_transformer.layers.linear import (
    multiply_rows,
    no_bias,
    ready_bias,
    restore_rows,
)
from keras_transformer.layers.lookup import lookup_rows
from keras_transformer.layers.ready_weights import ready


@keras.saving.register_keras_serializable(package="keras_transformer")
class Embedding(keras.layers.Layer):
    """A table of V symbols, d wide.

    As T2T's symbol modality: rows are multiplied by sqrt(d) on the way in (paper 3.4), id 0
    (padding) gives zeros whatever its row holds, and the same table without the factor makes the
    logits. Initial values are normal with standard deviation d^-0.5, not truncated.

    Args:
      vocab_size: V, rows of the table.
      width: d.
      scale: whether rows are multiplied by sqrt(d) (`multiply_embedding_mode=sqrt_depth`).

    Call arguments:
      inputs: int [...], ids below V.

    Returns:
      [..., d] in the compute dtype. The Keras mask of the output is true where the id is not 0.
    """

    def __init__(self, vocab_size: int, width: int, scale: bool = True, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self.vocab_size = vocab_size
        self.width = width
        self.scale = scale
        self.supports_masking = True

    def build(self, input_shape: tuple[int | None, ...] | None = None) -> None:
        self.table = self.add_weight(
            name="weights",
            shape=(self.vocab_size, self.width),
            initializer=normal(self.width**-0.5),
            autocast=False,
        )

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        rows = lookup_rows(tf.convert_to_tensor(self.table), inputs)
        factor = tf.cast(tf.not_equal(inputs, 0), rows.dtype)
        if self.scale:
            factor *= self.width**0.5
        return tf.cast(rows * factor[..., tf.newaxis], self.compute_dtype)

    def compute_mask(self, inputs: tf.Tensor, previous_mask: Any = None) -> tf.Tensor:
        return keras.ops.not_equal(inputs, 0)

    def logits(self, inputs: tf.Tensor) -> tf.Tensor:
        """`inputs` [..., d] against every row: float32 [..., V].

        The product is made in the dtype of `inputs`.
        """
        kernel = ready(self._kernel_path)
        if kernel is not None:
            logits = multiply_rows(inputs, kernel, ready_bias(self._kernel_path))
        else:
            rows = tf.reshape(inputs, [-1, self.width])
            table = tf.cast(self.table, inputs.dtype)
            logits = restore_rows(tf.matmul(rows, table, transpose_b=True), inputs)
        return tf.cast(logits, tf.float32)

    def step_weights(self) -> dict[str, tf.Tensor]:
        """The table for `logits` within `ready_weights`: turned round, [d, V].

        A step of decoding has few rows, and their product with it takes a third less time.
        """
        dtype = self.compute_dtype
        kernel = tf.transpose(tf.cast(self.table, dtype))
        return {self._kernel_path: kernel, **no_bias(self._kernel_path, self.vocab_size, dtype)}

    @property
    def _kernel_path(self) -> str:
        return f"{self.table.path}/transposed"

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "vocab_size": self.vocab_size,
            "width": self.width,
            "scale": self.scale,
        }


@keras.saving.register_keras_serializable(package="keras_transformer")
class TargetSpaceEmbedding(keras.layers.Layer):
    """One learned vector for each kind of output, added to the encoder's input.

    T2T's `target_space_embedding`: 32 rows, default initializer, no factor. T2T's translation
    problems use id 0 since release 1.5.2.

    Args:
      width: d.
      spaces: rows of the table.
      initializer_gain: scale of the initial variance.

    Call arguments:
      inputs: int, one id for all sentences or [B].

    Returns:
      [1, d] or [B, 1, d], to be added to [B, S, d], in the compute dtype.
    """

    def __init__(
        self, width: int, spaces: int = 32, initializer_gain: float = 1.0, **kwargs: Any
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        self.width = width
        self.spaces = spaces
        self.initializer_gain = initializer_gain

    def build(self, input_shape: tuple[int | None, ...] | None = None) -> None:
        self.table = self.add_weight(
            name="weights",
            shape=(self.spaces, self.width),
            initializer=scaled_uniform(self.initializer_gain),
            autocast=False,
        )

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        rows = lookup_rows(tf.convert_to_tensor(self.table), tf.convert_to_tensor(inputs))
        return tf.cast(rows, self.compute_dtype)[..., tf.newaxis, :]

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "width": self.width,
            "spaces": self.spaces,
            "initializer_gain": self.initializer_gain,
        }
