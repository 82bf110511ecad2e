"""A translator with a small random model, whose outputs are far from ties."""

from __future__ import annotations

import functools
from typing import Any

import keras
import numpy as np

from keras_transformer.decoding.translator import Translator
from keras_transformer.model.transformer import Transformer
from keras_transformer.text.subword_encoder import SubwordTextEncoder

WORDS = [
    "a",
    "red",
    "blue",
    "green",
    "white",
    "door",
    "house",
    "garden",
    "sun",
    "moon",
    "stars",
    "sets",
    "rises",
    "stays",
    "and",
    "is",
    "the",
]


@functools.cache
def small_encoder() -> SubwordTextEncoder:
    return SubwordTextEncoder.learn([" ".join(WORDS)] * 20, target_size=120)


def small_model(seed: int = 1, **changes: Any) -> Transformer:
    """Two heads of width 8, one layer each; weights stretched so that it prefers some subtokens."""
    keras.utils.set_random_seed(seed)
    size = small_encoder().vocab_size
    model = Transformer(
        size,
        size,
        **{
            "hidden_size": 16,
            "filter_size": 32,
            "num_heads": 2,
            "encoder_layers": 1,
            "decoder_layers": 1,
            **changes,
        },
    )
    generator = np.random.default_rng(seed)
    for name, weight in model.named_weights().items():
        if "norm" not in name:
            weight.assign(generator.normal(size=weight.shape) * 0.5)
    return model


@functools.cache
def small_translator(seed: int = 1, **options: Any) -> Translator:
    encoder = small_encoder()
    return Translator([[small_model(seed)]], encoder, encoder, **options)
