"""Settings for a CPU: the shape of T2T's v3 recipe, small and quickly warmed up.

They are for looking at the whole way from text to BLEU in minutes, for tests, and for comparing
variants on a laptop; for a model to be used, take `base` or `big` and a GPU.
"""

from __future__ import annotations

from keras_transformer.config import HParams
from keras_transformer.registry import register_hparams

from .transformer import transformer_base


@register_hparams
def tiny() -> HParams:
    """Two layers of width 128, for the embedded sample: minutes on two cores."""
    return transformer_base().derive(
        "this project, for a CPU",
        num_hidden_layers=2,
        hidden_size=128,
        filter_size=512,
        num_heads=4,
        # Few updates leave no time for the regularisation and the long warm-up of large models.
        attention_dropout=0.0,
        relu_dropout=0.0,
        batch_size=2048,
        max_length=128,
        learning_rate_constant=1.0,
        learning_rate_warmup_steps=400,
        symbol_modality_num_shards=1,
    )


@register_hparams
def small() -> HParams:
    """Three layers of width 256, for 100,000 pairs and more of everyday text: an hour."""
    return tiny().derive(
        "this project, for a CPU",
        num_hidden_layers=3,
        hidden_size=256,
        filter_size=1024,
        learning_rate_constant=1.2,
        learning_rate_warmup_steps=1000,
    )
