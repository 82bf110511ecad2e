"""The decoder: self-attention, attention to the source, feed-forward, N times (paper 3.1)."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from keras_transformer.model.stack import Block, Stack

Cache = dict[str, Any]


@keras.saving.register_keras_serializable(package="keras_transformer")
class DecoderLayer(Block):
    """Causal self-attention, attention to the encoder's output, feed-forward.

    Call arguments:
      inputs: float [B, T, d].
      memory: float [B, S, d], the encoder's output.
      bias: float32, broadcasts to [B, H, T, T]; hides later positions.
      memory_bias: float32, broadcasts to [B, H, T, S]; hides the source's padding.
      training: dropout is applied only when true.

    Returns:
      [B, T, d] and the weights of self-attention, float32 [B, H, T, T], and of
      cross-attention, float32 [B, H, T, S].
    """

    def __init__(self, settings: Any, **kwargs: Any) -> None:
        super().__init__(settings, **kwargs)
        settings, dtype = self.settings, self.dtype_policy
        self.self_attention = settings.self_attention(dtype, causal=True)
        self.before_self_attention = settings.before("self_attention", dtype)
        self.after_self_attention = settings.after("self_attention", dtype)
        self.cross_attention = settings.cross_attention(dtype)
        self.before_cross_attention = settings.before("cross_attention", dtype)
        self.after_cross_attention = settings.after("cross_attention", dtype)
        self.feed_forward = settings.feed_forward(dtype)
        self.before_feed_forward = settings.before("feed_forward", dtype)
        self.after_feed_forward = settings.after("feed_forward", dtype)

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        for layer in (
            self.before_self_attention,
            self.self_attention,
            self.after_self_attention,
            self.before_cross_attention,
            self.cross_attention,
            self.after_cross_attention,
            self.before_feed_forward,
            self.feed_forward,
            self.after_feed_forward,
        ):
            layer.build(inputs_shape)

    def call(
        self,
        inputs: tf.Tensor,
        memory: tf.Tensor,
        bias: tf.Tensor | None = None,
        memory_bias: tf.Tensor | None = None,
        training: bool | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        x = inputs
        y, self_weights = self.self_attention(
            self.before_self_attention(x, training=training),
            bias=bias,
            training=training,
            return_weights=True,
        )
        x = self.after_self_attention(y, residual=x, training=training)
        y, cross_weights = self.cross_attention(
            self.before_cross_attention(x, training=training),
            memory=memory,
            bias=memory_bias,
            training=training,
            return_weights=True,
        )
        x = self.after_cross_attention(y, residual=x, training=training)
        y = self.feed_forward(self.before_feed_forward(x, training=training), training=training)
        x = self.after_feed_forward(y, residual=x, training=training)
        return x, self_weights, cross_weights

    def step(
        self,
        inputs: tf.Tensor,
        past: Cache,
        memory: Cache,
        memory_bias: tf.Tensor,
    ) -> tuple[tf.Tensor, Cache]:
        """The next position of K beams, [B, K, d], and the self-attention's grown cache."""
        x = inputs
        y, past = self.self_attention.attend_next(self.before_self_attention(x), past)
        x = self.after_self_attention(y, residual=x)
        y = self.cross_attention.attend_projected(
            self.before_cross_attention(x), memory, memory_bias
        )
        x = self.after_cross_attention(y, residual=x)
        y = self.feed_forward(self.before_feed_forward(x))
        return self.after_feed_forward(y, residual=x), past

    def step_weights(self) -> dict[str, tf.Tensor]:
        """The weights of `step` for `ready_weights`."""
        return {
            **self.self_attention.step_weights(joined=True),
            **self.cross_attention.step_weights(joined=False),
            **self.feed_forward.step_weights(),
        }


@keras.saving.register_keras_serializable(package="keras_transformer")
class Decoder(Stack):
    """A stack of decoder layers.

    Call arguments:
      inputs: float [B, T, d], embeddings shifted by one position, with positions.
      memory, bias, memory_bias, training: see `DecoderLayer`.

    Returns:
      [B, T, d] and, for each layer, its attention weights under `layer_0/self_attention`,
      [B, H, T, T], and `layer_0/cross_attention`, [B, H, T, S].
    """

    block_class = DecoderLayer

    def call(
        self,
        inputs: tf.Tensor,
        memory: tf.Tensor,
        bias: tf.Tensor | None = None,
        memory_bias: tf.Tensor | None = None,
        training: bool | None = None,
    ) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        x, weights = inputs, {}
        for block in self.blocks:
            x, self_weights, cross_weights = block(
                x, memory=memory, bias=bias, memory_bias=memory_bias, training=training
            )
            weights[f"{block.name}/self_attention"] = self_weights
            weights[f"{block.name}/cross_attention"] = cross_weights
        return self.close(x, training), weights

    def start(self, memory: tf.Tensor, memory_bias: tf.Tensor) -> Cache:
        """The cache before the first step: see `Transformer.start_decoding`."""
        projected = {
            block.name: block.cross_attention.project_memory(memory) for block in self.blocks
        }
        batch = tf.shape(memory)[0]
        return {
            "memory": {**projected, "bias": memory_bias},
            "self": {block.name: block.self_attention.empty_cache(batch) for block in self.blocks},
        }

    def step_weights(self) -> dict[str, tf.Tensor]:
        """The weights of `step` for `ready_weights`."""
        weights: dict[str, tf.Tensor] = {}
        for block in self.blocks:
            weights |= block.step_weights()
        return weights

    def step(self, inputs: tf.Tensor, cache: Cache) -> tuple[tf.Tensor, Cache]:
        """The next position of K beams [B, K, d], closed, and the grown cache."""
        x, grown = inputs, {}
        memory = cache["memory"]
        for block in self.blocks:
            x, grown[block.name] = block.step(
                x, cache["self"][block.name], memory[block.name], memory["bias"]
            )
        return self.close(x, training=False), {**cache, "self": grown}
