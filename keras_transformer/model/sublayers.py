"""The settings that all sub-layers of a stack share, and the makers of its parts."""

from __future__ import annotations

import dataclasses
from typing import Any

from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.sublayer import SublayerSteps, letters


@dataclasses.dataclass(frozen=True)
class SublayerSettings:
    """What encoder and decoder layers are made of; plain numbers.

    Widths count all heads together; rates are shares in [0, 1); axes are those of
    `layers.dropout.Dropout`.
    """

    hidden_size: int
    filter_size: int
    num_heads: int
    key_width: int
    value_width: int
    preprocess: str = "none"
    postprocess: str = "dan"
    residual_dropout: float = 0.0
    residual_dropout_axes: tuple[int, ...] = ()
    attention_dropout: float = 0.0
    attention_dropout_axes: tuple[int, ...] = ()
    relu_dropout: float = 0.0
    relu_dropout_axes: tuple[int, ...] = ()
    attention_bias: bool = False
    neighbourhood: int = 0
    norm_epsilon: float = 1e-6
    initializer_gain: float = 1.0

    def self_attention(self, dtype: Any, causal: bool) -> MultiHeadAttention:
        """A self-attention sub-layer; with a neighbourhood it is restricted to it."""
        return self._attention("self_attention", dtype, self.neighbourhood, causal)

    def cross_attention(self, dtype: Any) -> MultiHeadAttention:
        """A sub-layer of attention to another sequence."""
        return self._attention("cross_attention", dtype)

    def _attention(
        self, name: str, dtype: Any, neighbourhood: int = 0, causal: bool = False
    ) -> MultiHeadAttention:
        return MultiHeadAttention(
            self.num_heads,
            self.key_width,
            self.value_width,
            dropout=self.attention_dropout,
            dropout_broadcast_axes=self.attention_dropout_axes,
            use_bias=self.attention_bias,
            initializer_gain=self.initializer_gain,
            neighbourhood=neighbourhood,
            causal=causal,
            dtype=dtype,
            name=name,
        )

    def feed_forward(self, dtype: Any) -> FeedForward:
        """A feed-forward sub-layer."""
        return FeedForward(
            self.filter_size,
            dropout=self.relu_dropout,
            dropout_broadcast_axes=self.relu_dropout_axes,
            initializer_gain=self.initializer_gain,
            dtype=dtype,
            name="feed_forward",
        )

    def before(self, name: str, dtype: Any) -> SublayerSteps:
        """The steps before the sub-layer `name`; its scope is the sub-layer's."""
        return self._steps(self.preprocess, name, "layer_norm", dtype)

    def after(self, name: str, dtype: Any) -> SublayerSteps:
        """The steps after the sub-layer `name`; its scope is the sub-layer's."""
        both = "n" in letters(self.preprocess)
        return self._steps(
            self.postprocess, name, "layer_norm_after" if both else "layer_norm", dtype
        )

    def _steps(self, sequence: str, name: str, norm_name: str, dtype: Any) -> SublayerSteps:
        return SublayerSteps(
            sequence,
            dropout=self.residual_dropout,
            dropout_broadcast_axes=self.residual_dropout_axes,
            epsilon=self.norm_epsilon,
            norm_name=norm_name,
            dtype=dtype,
            name=name,
        )
