"""Settings for constituency parsing: the paper's recipe (section 6.3) and T2T's registered sets."""

from __future__ import annotations

from typing import Any

from keras_transformer.config import HParams
from keras_transformer.registry import register_hparams

from .paper import base
from .small import small, tiny
from .transformer import (
    transformer_base,
    transformer_base_single_gpu,
    transformer_big,
)

# Of the small parsers. The rate rises linearly, then halves each so many steps, however long the
# run is; the vocabularies of the two sides have nothing in common.
_ANNEALED: dict[str, Any] = {
    "learning_rate_schedule": "constant*linear_warmup*exp_decay*rsqrt_hidden_size",
    "learning_rate_decay_rate": 0.5,
    "learning_rate_minimum": 5e-5,
    "shared_embedding_and_softmax_weights": False,
}


@register_hparams
def parsing() -> HParams:
    """The paper's parser: 4 layers of width 1024; decode with beam 21, alpha 0.3.

    The paper tuned dropout and learning rate without printing them; these are the values of T2T
    1.0.14's `transformer_parsing_base`, whose learning_rate of 0.5 in that release's unit is 0.5
    times the paper's formula, hence 0.05 here.
    """
    return base().derive(
        "T2T 1.0.14 transformer_parsing_base; 4 layers and width: paper 6.3",
        num_hidden_layers=4,
        hidden_size=1024,
        attention_dropout=0.2,
        layer_prepostprocess_dropout=0.2,
        max_length=512,
        learning_rate_warmup_steps=16000,
        learning_rate=0.05,
        shared_embedding_and_softmax_weights=False,
    )


@register_hparams
def parsing_tiny() -> HParams:
    """A parser for a CPU: 2 layers of width 128, made-up sentences in ten minutes.

    The rate rises to 0.0018 at step 400 and halves every 2500 steps from there: to keep count of
    the words, and brackets that close in the right order, are learnt late and only at a low rate.
    """
    return tiny().derive(
        "this project",
        hidden_size=128,
        filter_size=512,
        max_length=512,
        learning_rate_constant=0.02,
        learning_rate_decay_steps=2500,
        **_ANNEALED,
    )


@register_hparams
def parsing_small() -> HParams:
    """A parser for a CPU and a real treebank: width 192, some 20,000 trees in an hour or two.

    Four layers that read and two that write: outputs are three times as long as sentences, and
    it is the sentence that has to be understood. The rate rises to 0.0015 at step 1000 and halves
    every 3000 steps from there.
    """
    return small().derive(
        "this project",
        hidden_size=192,
        filter_size=768,
        num_heads=6,
        num_encoder_layers=4,
        num_decoder_layers=2,
        max_length=512,
        learning_rate_constant=0.021,
        learning_rate_decay_steps=3000,
        **_ANNEALED,
    )


@register_hparams
def transformer_parsing_base() -> HParams:
    """T2T's parser on WSJ alone; 6 layers, and a learning_rate its schedule no longer reads."""
    return transformer_base().derive(
        "T2T transformer_parsing_base",
        attention_dropout=0.2,
        layer_prepostprocess_dropout=0.2,
        max_length=512,
        learning_rate_warmup_steps=16000,
        hidden_size=1024,
        learning_rate=0.05,
        shared_embedding_and_softmax_weights=False,
    )


@register_hparams
def transformer_parsing_big() -> HParams:
    """T2T's semi-supervised parser on the big shape; one matrix if both vocabularies agree.

    T2T meant to keep the two sides apart but set a name that nothing reads.
    """
    return transformer_big().derive(
        "T2T transformer_parsing_big",
        max_length=512,
        learning_rate_warmup_steps=4000,
        layer_prepostprocess_dropout=0.1,
        batch_size=2048,
        learning_rate=0.05,
    )


@register_hparams
def transformer_parsing_ice() -> HParams:
    """T2T's parser for Icelandic."""
    return transformer_base_single_gpu().derive(
        "T2T transformer_parsing_ice",
        batch_size=4096,
        shared_embedding_and_softmax_weights=False,
    )
