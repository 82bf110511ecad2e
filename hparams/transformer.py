"""Tensor2Tensor 1.15.7's registered Transformer sets, under its names and with its values.

    base_v1 → base_v2 → base_v3 = base → big → big_single_gpu, parsing_big
    base → base_single_gpu → parsing_ice; base → parsing_base, small, tiny
    base → big_dr1 → big_enfr

`transformer_base` is not the paper's recipe in any release after 1.2.5; `base` of `paper.py` is.
"""

from __future__ import annotations

from typing import Any

from keras_transformer.config import HParams
from keras_transformer.registry import register_hparams

WARMUP_RSQRT = "constant*linear_warmup*rsqrt_decay"
WARMUP_RSQRT_HIDDEN = f"{WARMUP_RSQRT}*rsqrt_hidden_size"


@register_hparams
def transformer_base_v1() -> HParams:
    """T2T's `transformer_base` of releases 1.0.3 to 1.2.4: the paper's base model, post-norm."""
    return HParams()


@register_hparams
def transformer_base_v2() -> HParams:
    """T2T's `transformer_base` of releases 1.2.5 to 1.4.2: pre-norm, more dropout."""
    return transformer_base_v1().derive(
        "T2T transformer_base_v2",
        layer_preprocess_sequence="n",
        layer_postprocess_sequence="da",
        layer_prepostprocess_dropout=0.1,
        attention_dropout=0.1,
        relu_dropout=0.1,
        learning_rate_warmup_steps=8000,
        learning_rate=0.2,
    )


@register_hparams
def transformer_base_v3() -> HParams:
    """T2T's `transformer_base` since release 1.5.3: v2 with beta2 0.997 and the new schedule."""
    return transformer_base_v2().derive(
        "T2T transformer_base_v3",
        optimizer_adam_beta2=0.997,
        learning_rate_schedule=WARMUP_RSQRT_HIDDEN,
        learning_rate_constant=2.0,
    )


@register_hparams
def transformer_base() -> HParams:
    """T2T's base model today: `transformer_base_v3`."""
    return transformer_base_v3()


@register_hparams
def transformer_big() -> HParams:
    """T2T's big model; batch 2048 since release 1.11.0, for cards of 12 GB."""
    return transformer_base().derive(
        "T2T transformer_big",
        batch_size=2048,
        hidden_size=1024,
        filter_size=4096,
        num_heads=16,
        layer_prepostprocess_dropout=0.3,
    )


@register_hparams
def transformer_big_single_gpu() -> HParams:
    """T2T's big model on one GPU: slower warm-up, less dropout."""
    return transformer_big().derive(
        "T2T transformer_big_single_gpu",
        layer_prepostprocess_dropout=0.1,
        learning_rate_warmup_steps=16000,
    )


@register_hparams
def transformer_base_single_gpu() -> HParams:
    """T2T's base model on one GPU: batch 1024, a rate that does not depend on the width."""
    return transformer_base().derive(
        "T2T transformer_base_single_gpu",
        batch_size=1024,
        learning_rate_schedule=WARMUP_RSQRT,
        learning_rate_constant=0.1,
        learning_rate_warmup_steps=16000,
    )


@register_hparams
def transformer_base_multistep8() -> HParams:
    """T2T's base model, gradients of eight micro-steps to one update."""
    return transformer_base().derive(
        "T2T transformer_base_multistep8",
        optimizer="multistep_adam",
        optimizer_multistep_accumulate_steps=8,
    )


@register_hparams
def transformer_small() -> HParams:
    """T2T's small model: 2 layers of width 256."""
    return transformer_base().derive(
        "T2T transformer_small",
        num_hidden_layers=2,
        hidden_size=256,
        filter_size=1024,
        num_heads=4,
    )


@register_hparams
def transformer_tiny() -> HParams:
    """T2T's tiny model: 2 layers of width 128."""
    return transformer_base().derive(
        "T2T transformer_tiny",
        num_hidden_layers=2,
        hidden_size=128,
        filter_size=512,
        num_heads=4,
    )


@register_hparams
def transformer_test() -> HParams:
    """T2T's model for its own tests: 2 layers of width 16."""
    return transformer_base().derive(
        "T2T transformer_test",
        num_hidden_layers=2,
        hidden_size=16,
        filter_size=8,
        num_heads=2,
    )


def _big_dropout(name: str, dropout: float) -> HParams:
    return transformer_base().derive(
        f"T2T {name}",
        hidden_size=1024,
        filter_size=4096,
        num_heads=16,
        layer_prepostprocess_dropout=dropout,
    )


@register_hparams
def transformer_big_dr1() -> HParams:
    """T2T's big shape on the base batch, residual dropout 0.1."""
    return _big_dropout("transformer_big_dr1", 0.1)


@register_hparams
def transformer_big_dr2() -> HParams:
    """T2T's big shape on the base batch, residual dropout 0.2."""
    return _big_dropout("transformer_big_dr2", 0.2)


@register_hparams
def transformer_big_enfr() -> HParams:
    """T2T's En-Fr model; not the paper's, which is `big_enfr`."""
    return transformer_big_dr1().derive(
        "T2T transformer_big_enfr",
        filter_size=8192,
        shared_embedding_and_softmax_weights=False,
    )


# Sets that are T2T's base with one value changed. A width in k128 and k256 is the total of all
# heads (d_k of 16 and 32); dr0 and dr2 leave attention and ReLU dropout at 0.1.
ONE_VALUE: dict[str, dict[str, Any]] = {
    "transformer_l2": {"num_hidden_layers": 2},
    "transformer_l4": {"num_hidden_layers": 4},
    "transformer_l8": {"num_hidden_layers": 8},
    "transformer_l10": {"num_hidden_layers": 10},
    "transformer_h1": {"num_heads": 1},
    "transformer_h4": {"num_heads": 4},
    "transformer_h16": {"num_heads": 16},
    "transformer_h32": {"num_heads": 32},
    "transformer_k128": {"attention_key_channels": 128},
    "transformer_k256": {"attention_key_channels": 256},
    "transformer_ff1024": {"filter_size": 1024},
    "transformer_ff4096": {"filter_size": 4096},
    "transformer_hs256": {"hidden_size": 256},
    "transformer_hs1024": {"hidden_size": 1024},
    "transformer_dr0": {"layer_prepostprocess_dropout": 0.0},
    "transformer_dr2": {"layer_prepostprocess_dropout": 0.2},
    "transformer_ls0": {"label_smoothing": 0.0},
    "transformer_ls2": {"label_smoothing": 0.2},
}


def _register_one_value(name: str, changes: dict[str, Any]) -> None:
    def one_value() -> HParams:
        return transformer_base().derive(f"T2T {name}", **changes)

    stated = ", ".join(f"{key}={value}" for key, value in changes.items())
    one_value.__doc__ = f"T2T's base model with {stated}."
    one_value.__name__ = name
    register_hparams(name)(one_value)


for _name, _changes in ONE_VALUE.items():
    _register_one_value(_name, _changes)
