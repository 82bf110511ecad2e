"""A model of one layer of width 16, and a batch of two sentences for it."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

import keras_transformer as kt

TINY = "hidden_size=16,filter_size=32,num_heads=2,num_hidden_layers=1"
INPUTS = np.array([[5, 6, 7, 1, 0], [8, 1, 0, 0, 0]], "int32")
TARGETS = np.array([[4, 5, 6, 9, 8, 1], [3, 4, 1, 0, 0, 0]], "int32")
BATCH = {"inputs": INPUTS, "targets": TARGETS}
DROPOUT = "attention_dropout=0.1,relu_dropout=0.1,symbol_dropout=0.1"


def make(
    name: str = "transformer_base_v1",
    overrides: str = "",
    source: int = 12,
    target: int = 12,
    **arguments: Any,
) -> kt.Transformer:
    """The model of the set `name`, its weights the same each time."""
    keras.utils.set_random_seed(1)
    hp = kt.hparams(name, TINY).override(overrides)
    return kt.Transformer.from_hparams(
        hp, source_vocab_size=source, target_vocab_size=target, **arguments
    )
