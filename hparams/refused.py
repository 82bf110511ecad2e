"""Names of T2T's sets that are known and not offered, each with the reason and the way out."""

from __future__ import annotations

from keras_transformer.registry import refuse_hparams

_PREPEND = (
    "it trains one stack on source and target written one after the other (prepend_mode), which is"
    " another model; take transformer_base, or transformer_base_v1 for its older recipe"
)
_RELATIVE = (
    "relative self-attention is another model than the paper's; take the set of the same size"
    " without relative (transformer_base, transformer_big, transformer_tiny)"
)
_TPU = (
    "it is tuned for TPUs (Adafactor, dropout masks shared over axes, padded to fixed lengths);"
    " take the set of the same size without tpu, and override single values where wanted, for"
    " instance optimizer=adafactor,learning_rate_schedule=rsqrt_decay"
)
_OTHER = "it belongs to another model than the Transformer of the paper"

for _name in ("transformer_prepend", "transformer_prepend_v1", "transformer_prepend_v2"):
    refuse_hparams(_name, _PREPEND)
for _name in ("transformer_relative", "transformer_relative_big", "transformer_relative_tiny"):
    refuse_hparams(_name, _RELATIVE)
for _name in (
    "transformer_tpu",
    "transformer_big_tpu",
    "transformer_packed_tpu",
    "transformer_tiny_tpu",
    "transformer_mlperf_tpu",
):
    refuse_hparams(_name, _TPU)
for _name in (
    "evolved_transformer_base",
    "evolved_transformer_big",
    "imagetransformer_base",
    "transformer_librispeech",
    "transformer_librispeech_v1",
    "transformer_librispeech_v2",
    "transformer_moe_2k",
    "transformer_moe_8k",
    "transformer_moe_12k",
    "transformer_moe_base",
    "universal_transformer_base",
    "universal_transformer_big",
):
    refuse_hparams(_name, _OTHER)
refuse_hparams(
    "basic_1",
    "it is the parent of T2T's sets and has none of the Transformer's own hyperparameters; take"
    " transformer_base_v1",
)
