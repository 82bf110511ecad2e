"""The encoder: self-attention and feed-forward, N times (paper 3.1)."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from keras_transformer.model.stack import Block, Stack


@keras.saving.register_keras_serializable(package="keras_transformer")
class EncoderLayer(Block):
    """Self-attention, then feed-forward, each with its steps before and after.

    Call arguments:
      inputs: float [B, S, d].
      bias: float32, broadcasts to [B, H, S, S]; -1e9 hides a position.
      keep: bool [B, S] or None; the feed-forward output is 0 where it is false.
      training: dropout is applied only when true.

    Returns:
      [B, S, d] and the attention weights, float32 [B, H, S, S].
    """

    def __init__(self, settings: Any, **kwargs: Any) -> None:
        super().__init__(settings, **kwargs)
        settings, dtype = self.settings, self.dtype_policy
        self.self_attention = settings.self_attention(dtype, causal=False)
        self.before_self_attention = settings.before("self_attention", dtype)
        self.after_self_attention = settings.after("self_attention", dtype)
        self.feed_forward = settings.feed_forward(dtype)
        self.before_feed_forward = settings.before("feed_forward", dtype)
        self.after_feed_forward = settings.after("feed_forward", dtype)

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        for layer in (
            self.before_self_attention,
            self.self_attention,
            self.after_self_attention,
            self.before_feed_forward,
            self.feed_forward,
            self.after_feed_forward,
        ):
            layer.build(inputs_shape)

    def call(
        self,
        inputs: tf.Tensor,
        bias: tf.Tensor | None = None,
        keep: tf.Tensor | None = None,
        training: bool | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        x = inputs
        y, weights = self.self_attention(
            self.before_self_attention(x, training=training),
            bias=bias,
            training=training,
            return_weights=True,
        )
        x = self.after_self_attention(y, residual=x, training=training)
        y = self.feed_forward(
            self.before_feed_forward(x, training=training), keep=keep, training=training
        )
        return self.after_feed_forward(y, residual=x, training=training), weights


@keras.saving.register_keras_serializable(package="keras_transformer")
class Encoder(Stack):
    """A stack of encoder layers.

    Call arguments:
      inputs: float [B, S, d], embeddings with positions.
      bias, keep, training: see `EncoderLayer`.

    Returns:
      [B, S, d] and, for each layer, its attention weights [B, H, S, S] under the layer's path
      (`layer_0/self_attention` …).
    """

    block_class = EncoderLayer

    def call(
        self,
        inputs: tf.Tensor,
        bias: tf.Tensor | None = None,
        keep: tf.Tensor | None = None,
        training: bool | None = None,
    ) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        x, weights = inputs, {}
        for block in self.blocks:
            x, weights[f"{block.name}/self_attention"] = block(
                x, bias=bias, keep=keep, training=training
            )
        return self.close(x, training), weights
