"""Scaled dot-product attention for several heads (paper 3.2), with T2T's numbers.

With a neighbourhood it is the restricted self-attention of the paper's section 4.

Shapes: B sentences, Q querying positions, M positions looked at, H heads, d model width,
a and c the total widths of keys and of values; K beams and L cached positions in decoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.linear import (
    Linear,
    Shape,
    multiply_rows,
    no_bias,
    ready_bias,
    restore_rows,
)
from keras_transformer.layers.neighbourhood import Neighbourhood
from keras_transformer.layers.ready_weights import ready


@keras.saving.register_keras_serializable(package="keras_transformer")
class MultiHeadAttention(keras.layers.Layer):
    """Several heads of attention between two sequences, or within one.

    Queries are multiplied by (a / H)^-0.5 after their projection, the bias is added to the
    logits, the softmax is made in float32 under every dtype policy, dropout falls on its
    weights. Heads split the last axis in consecutive blocks. Query, key and value kernels are
    separate variables, each with the initial limits of its own shape, and are joined for one
    product where they meet the same rows. T2T `multihead_attention`.

    Args:
      num_heads: H.
      key_width: total width of queries and of keys over all heads, a.
      value_width: total width of values, c.
      dropout: share of the attention weights set to 0 in training.
      dropout_broadcast_axes: axes of [B, H, Q, M] along which they share one decision.
      use_bias: biases in the four projections, as in T2T's checkpoints of 2017.
      initializer_gain: scale of the kernels' initial variance.
      neighbourhood: positions to each side that self-attention sees, r, in time and memory of
        r · M; 0: all.
      causal: with a neighbourhood: only the positions before are seen.

    Call arguments:
      queries: float [B, Q, d].
      memory: float [B, M, d], looked at by all queries; None for self-attention.
      bias: float32, added to the logits, of a shape that broadcasts to [B, H, Q, M]: -1e9 where
        a query must not look, 0 elsewhere. A row of nothing but -1e9 gives uniform weights, so
        all outputs are finite. With a neighbourhood the bias is made of blocks, [B · b, 1, w, W],
        and holds `masks.neighbourhood_bias`; b blocks, w positions in each, W in its window.
      training: dropout is applied only when true.
      return_weights: whether the weights are returned too.

    Returns:
      [B, Q, d] in the compute dtype; with `return_weights` also the weights, float32
      [B, H, Q, M], before dropout; with a neighbourhood those of blocks, [B · b, H, w, W], see
      `Neighbourhood.square`.

    Raises:
      ValueError: a width is no multiple of the number of heads; a neighbourhood meets another
        sequence as memory, or no bias.
    """

    def __init__(
        self,
        num_heads: int,
        key_width: int,
        value_width: int,
        dropout: float = 0.0,
        dropout_broadcast_axes: tuple[int, ...] = (),
        use_bias: bool = False,
        initializer_gain: float = 1.0,
        neighbourhood: int = 0,
        causal: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        for name, width in (("key_width", key_width), ("value_width", value_width)):
            if width % num_heads:
                raise ValueError(
                    f"{name} is {width}, num_heads is {num_heads}: "
                    "the first must be a multiple of the second"
                )
        self.num_heads = num_heads
        self.key_width = key_width
        self.value_width = value_width
        self.use_bias = use_bias
        self.initializer_gain = initializer_gain
        self.neighbourhood = Neighbourhood(neighbourhood, causal) if neighbourhood else None
        self.supports_masking = True
        self.query = self._linear(key_width, "query")
        self.key = self._linear(key_width, "key")
        self.value = self._linear(value_width, "value")
        self.dropout = Dropout(dropout, dropout_broadcast_axes, dtype=self.dtype_policy)

    def _linear(self, units: int, name: str) -> Linear:
        return Linear(
            units, self.use_bias, self.initializer_gain, dtype=self.dtype_policy, name=name
        )

    def build(
        self,
        queries_shape: Shape,
        memory_shape: Shape | None = None,
    ) -> None:
        memory_shape = memory_shape or queries_shape
        self.output_linear = self._linear(queries_shape[-1], "output")
        self.query.build(queries_shape)
        self.key.build(memory_shape)
        self.value.build(memory_shape)
        self.output_linear.build((*queries_shape[:-1], self.value_width))

    def call(
        self,
        queries: tf.Tensor,
        memory: tf.Tensor | None = None,
        bias: tf.Tensor | None = None,
        training: bool | None = None,
        return_weights: bool = False,
    ) -> Any:
        near = self.neighbourhood
        if near and (memory is not None or bias is None):
            raise ValueError("with a neighbourhood attention is self-attention and needs a bias")
        queries = tf.cast(queries, self.compute_dtype)
        if memory is None:
            query, key, value = self._project(queries, self.query, self.key, self.value)
        else:
            query = self.query(queries)
            memory = tf.cast(memory, self.compute_dtype)
            key, value = self._project(memory, self.key, self.value)
        if near:
            query, key, value = near.blocks(query), near.windows(key), near.windows(value)
        outputs, weights = self._attend(
            self._split_heads(query),
            self._split_heads(key),
            self._split_heads(value),
            bias,
            training,
        )
        outputs = self._join_heads(outputs)
        if near:
            outputs = near.sequence(outputs, tf.shape(queries)[1])
        return (outputs, weights) if return_weights else outputs

    def project_memory(self, memory: tf.Tensor) -> dict[str, tf.Tensor]:
        """Keys [B, H, M, a/H] and values [B, H, M, c/H] of `memory` [B, M, d], for decoding."""
        key, value = self._project(tf.cast(memory, self.compute_dtype), self.key, self.value)
        return {"keys": self._split_heads(key), "values": self._split_heads(value)}

    def attend_projected(
        self, queries: tf.Tensor, projected: dict[str, tf.Tensor], bias: tf.Tensor
    ) -> tf.Tensor:
        """Attention to what `project_memory` gave, without dropout.

        The K beams of a sentence stand where query positions stand in training, so the memory
        is never repeated for them.

        Args:
          queries: [B, K, d].
          projected: keys and values of the memory.
          bias: float32 [B, 1, 1, M].

        Returns:
          [B, K, d].
        """
        query = self._split_heads(self.query(tf.cast(queries, self.compute_dtype)))
        outputs, _ = self._attend(query, projected["keys"], projected["values"], bias, False)
        return self._join_heads(outputs)

    def empty_cache(self, batch: tf.Tensor) -> dict[str, tf.Tensor]:
        """Keys and values of no position for one beam of each sentence, see `attend_next`."""
        return {
            "keys": tf.zeros(
                [batch, 1, self.num_heads, 0, self.key_width // self.num_heads], self.compute_dtype
            ),
            "values": tf.zeros(
                [batch, 1, self.num_heads, 0, self.value_width // self.num_heads],
                self.compute_dtype,
            ),
        }

    def step_weights(self, joined: bool) -> dict[str, tf.Tensor]:
        """The weights of `attend_next` (`joined`) or `attend_projected`, for `ready_weights`."""
        if not joined:
            return {**self.query.step_weights(), **self.output_linear.step_weights()}
        linears = (self.query, self.key, self.value)
        path = self._joined_path(linears)
        weights = {path: self._join(linears), **self.output_linear.step_weights()}
        if not self.use_bias:
            weights |= no_bias(path, sum(each.units for each in linears), self.compute_dtype)
        return weights

    def attend_next(
        self,
        inputs: tf.Tensor,
        cache: dict[str, tf.Tensor],
    ) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        """Self-attention of the next position of each beam to itself and all before it.

        Args:
          inputs: [B, K, d].
          cache: keys [B, K, H, L, a/H] and values [B, K, H, L, c/H] of the positions before.

        Returns:
          [B, K, d], and the cache grown to L + 1.
        """
        inputs = tf.cast(inputs, self.compute_dtype)
        query, key, value = self._project(inputs, self.query, self.key, self.value)
        cache = {
            "keys": self._grow(cache["keys"], key),
            "values": self._grow(cache["values"], value),
        }
        query = self._one_position(query)
        outputs, _ = self._attend(query, cache["keys"], cache["values"], None, False)
        rows = tf.reshape(outputs, [-1, self.value_width])
        return restore_rows(self.output_linear(rows), inputs), cache

    def _join(self, linears: Sequence[Linear]) -> tf.Tensor:
        """Kernels side by side, in the compute dtype."""
        return tf.cast(tf.concat([each.kernel for each in linears], axis=1), self.compute_dtype)

    def _joined_path(self, linears: Sequence[Linear]) -> str:
        return "+".join(each.kernel.path for each in linears)

    def _project(self, inputs: tf.Tensor, *linears: Linear) -> list[tf.Tensor]:
        """The projections of the same rows as one product."""
        path = self._joined_path(linears)
        kernels = ready(path)
        if self.use_bias:
            bias = tf.concat([each.bias for each in linears], axis=0)
        else:
            bias = ready_bias(path)
        outputs = multiply_rows(inputs, self._join(linears) if kernels is None else kernels, bias)
        return tf.split(outputs, [each.units for each in linears], axis=-1)

    def _split_heads(self, inputs: tf.Tensor) -> tf.Tensor:
        """[B, L, H · e] to [B, H, L, e]."""
        shape = tf.shape(inputs)
        depth = inputs.shape[-1] // self.num_heads
        heads = tf.reshape(inputs, [shape[0], shape[1], self.num_heads, depth])
        return tf.transpose(heads, [0, 2, 1, 3])

    def _join_heads(self, inputs: tf.Tensor) -> tf.Tensor:
        """[B, H, Q, c/H] through the output projection: [B, Q, d]."""
        joined = tf.transpose(inputs, [0, 2, 1, 3])
        shape = tf.shape(joined)
        joined = tf.reshape(joined, [shape[0], shape[1], self.value_width])
        return self.output_linear(joined)

    def _one_position(self, inputs: tf.Tensor) -> tf.Tensor:
        """[B, K, H · e] to [B, K, H, 1, e]."""
        shape = tf.shape(inputs)
        depth = inputs.shape[-1] // self.num_heads
        return tf.reshape(inputs, [shape[0], shape[1], self.num_heads, 1, depth])

    def _grow(self, past: tf.Tensor, new: tf.Tensor) -> tf.Tensor:
        new = self._one_position(new)
        # An empty cache has one beam; nothing of it can be repeated, so it takes any number.
        shape = tf.shape(new)
        past = tf.reshape(
            past, [shape[0], shape[1], self.num_heads, tf.shape(past)[3], new.shape[-1]]
        )
        return tf.concat([past, new], axis=3)

    def _attend(
        self,
        query: tf.Tensor,
        key: tf.Tensor,
        value: tf.Tensor,
        bias: tf.Tensor | None,
        training: bool | None,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Outputs [..., Q, c/H] and weights [..., Q, M] of queries [..., Q, a/H]."""
        scale = (self.key_width // self.num_heads) ** -0.5
        logits = tf.cast(tf.matmul(query * scale, key, transpose_b=True), tf.float32)
        if bias is not None:
            # Not `+ bias`: outside training TensorFlow's oneDNN build would fuse product and sum
            # into one kernel, and it takes a hundred times as long as the product.
            logits -= -bias
        weights = tf.nn.softmax(logits)
        return tf.matmul(self.dropout(weights, training=training), value), weights

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "key_width": self.key_width,
            "value_width": self.value_width,
            "dropout": self.dropout.rate,
            "dropout_broadcast_axes": list(self.dropout.broadcast_axes),
            "use_bias": self.use_bias,
            "initializer_gain": self.initializer_gain,
            "neighbourhood": self.neighbourhood.reach if self.neighbourhood else 0,
            "causal": self.neighbourhood is not None and self.neighbourhood.causal,
        }
