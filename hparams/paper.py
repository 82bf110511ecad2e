"""The recipes of "Attention Is All You Need" (arXiv 1706.03762v7) for translation.

Post-norm, no dropout on attention weights or inside the feed-forward layer, beta2 0.98, warm-up
4000, as the text has it and as T2T's `transformer_base_v1` wrote it down. What the text leaves open
is T2T's: lengths up to 256, the target-space vector, its position signal (`pos=timing_paper` is the
formula as printed), and 4096 padded positions a replica, which on the paper's 8 GPUs is its 25,000
source and 25,000 target tokens.
"""

from __future__ import annotations

from keras_transformer.config import HParams
from keras_transformer.registry import register_hparams

from .transformer import transformer_base_v1


@register_hparams
def base() -> HParams:
    """The paper's base model: 6 layers, width 512, 8 heads; 100,000 steps."""
    return transformer_base_v1()


@register_hparams
def big() -> HParams:
    """The paper's big model: width 1024, 16 heads, dropout 0.3; 300,000 steps."""
    return base().derive(
        "paper Table 3, big",
        hidden_size=1024,
        filter_size=4096,
        num_heads=16,
        layer_prepostprocess_dropout=0.3,
    )


@register_hparams
def big_enfr() -> HParams:
    """The paper's big model for English-French: dropout 0.1 in place of 0.3."""
    return big().derive("paper 6.1", layer_prepostprocess_dropout=0.1)
