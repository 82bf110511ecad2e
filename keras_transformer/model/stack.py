"""What encoder and decoder share: a pile of layers and the step that closes it."""

from __future__ import annotations

import dataclasses
from typing import Any

import keras
import tensorflow as tf

from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.layer_norm import LayerNorm
from keras_transformer.layers.sublayer import letters
from keras_transformer.model.sublayers import SublayerSettings


class Block(keras.layers.Layer):
    """One layer of a stack, made from shared settings (or their dictionary)."""

    def __init__(self, settings: SublayerSettings | dict[str, Any], **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self.settings = _settings(settings)
        self.supports_masking = True

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "settings": dataclasses.asdict(self.settings)}


class Stack(keras.layers.Layer):
    """N blocks named `layer_0` …, then the pre-processing steps once more.

    The closing steps make the output of a pre-norm stack normalised; with `none` there is
    nothing to do and no variable. T2T `transformer_encoder`, `transformer_decoder`.

    Args:
      num_layers: N.
      settings: of every block.
    """

    block_class: type[Block]

    def __init__(
        self, num_layers: int, settings: SublayerSettings | dict[str, Any], **kwargs: Any
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        self.settings = settings = _settings(settings)
        self.num_layers = num_layers
        self.supports_masking = True
        self.blocks = [
            self.block_class(settings, dtype=self.dtype_policy, name=f"layer_{number}")
            for number in range(num_layers)
        ]
        self.final_layer_norm: LayerNorm | None = None
        if "n" in letters(settings.preprocess):
            self.final_layer_norm = LayerNorm(
                settings.norm_epsilon, dtype=self.dtype_policy, name="final_layer_norm"
            )
        self.final_dropout = Dropout(
            settings.residual_dropout, settings.residual_dropout_axes, dtype=self.dtype_policy
        )

    def build(self, inputs_shape: tuple[int | None, ...]) -> None:
        for block in self.blocks:
            block.build(inputs_shape)
        if self.final_layer_norm is not None:
            self.final_layer_norm.build(inputs_shape)

    def close(self, x: tf.Tensor, training: bool | None) -> tf.Tensor:
        """The closing steps on [B, L, d]."""
        for letter in letters(self.settings.preprocess):
            if letter == "n" and self.final_layer_norm is not None:
                x = self.final_layer_norm(x)
            else:
                x = self.final_dropout(x, training=training)
        return x

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_layers": self.num_layers,
            "settings": dataclasses.asdict(self.settings),
        }


def _settings(settings: SublayerSettings | dict[str, Any]) -> SublayerSettings:
    return settings if isinstance(settings, SublayerSettings) else SublayerSettings(**settings)
