"""A trained model for CTranslate2, through that library's own model specification.

What CTranslate2 does in another way is put into the weights, so that the same ids come out:

- Positions are a table made from the model's own signal, with `MOST_POSITIONS` rows (learned
  positions: as many as there are); the encoder's has the target-space vector added to each row.
- The first decoder input is the zero vector: CTranslate2's `start_from_zero_embedding`.
- The row of padding is zero on the way in and not on the way out, so the logits have a table of
  their own.
- Queries, keys and values of self-attention are one matrix, keys and values of the source another.

Each id is one CTranslate2 token, `tokens.json` says which: clients encode with the model's own
vocabulary and hand over the tokens of the ids, without the end of sentence, which is added.

CTranslate2 scores with log-probability / length ^ alpha, not with ((5 + length) / 6) ^ alpha. Of
the 2K best candidates of a step it lets the first K end an output, where T2T lets all: with
`DecodeOptions(alpha=0, ending_rule="ctranslate2")` the search here gives its outputs, with T2T's
rule a more probable one here and there, and at alpha 0.6 most are the same. (Its options for a
longer search, `patience` and `num_hypotheses`, do not change which candidates may end an output.)

`export.json` says what was exported, and which options of `translate_batch` are those of the
search here.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.decoding.loading import LoadedRun
from keras_transformer.errors import UserError
from keras_transformer.export.target_dir import written_whole
from keras_transformer.layers.position import paper_timing_signal, timing_signal
from keras_transformer.layers.sublayer import letters
from keras_transformer.text.reserved_tokens import EOS_ID, PAD_ID
from keras_transformer.text.subword_encoder import SubwordTextEncoder
from keras_transformer.text.token_encoder import TokenTextEncoder

MOST_POSITIONS = 2048  # of source and output, in subtokens; CTranslate2 refuses longer ones


def require_ctranslate2() -> None:
    """Ends at once if the library is not there.

    Raises:
        UserError: it is not installed.
    """
    try:
        import ctranslate2.specs  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"ctranslate2 cannot be imported ({error}): pip install"
            " 'keras-transformer-t2t[ctranslate2]'"
        ) from None


def save(
    loaded: LoadedRun,
    export_dir: Path,
    weight_type: str = "float32",
    vocabularies: Mapping[str, Path | None] | None = None,
    description: Mapping[str, Any] | None = None,
) -> None:
    """Writes a folder for `ctranslate2.Translator`; it appears whole or not at all.

    Args:
        loaded: one model.
        export_dir: its folder, which must not hold anything yet.
        weight_type: float32, float16, bfloat16 or int8, in CTranslate2's own quantisation.
        vocabularies: side → vocabulary file, copied to the folder.
        description: becomes `export.json`.

    Raises:
        UserError: a model that CTranslate2 cannot compute, or the folder cannot be written.
    """
    if len(loaded.models[0]) > 1:
        raise UserError(
            "CTranslate2 has no ensembles: give one --checkpoint_path (kt-avg makes one of many)"
        )
    model = loaded.models[0][0]
    spec = specification(model)
    tokens = {
        side: tokens_of(loaded.encoders[side], size)
        for side, size in zip(("inputs", "targets"), _table_sizes(spec), strict=True)
    }
    spec.register_source_vocabulary(tokens["inputs"])
    spec.register_target_vocabulary(tokens["targets"])
    spec.config.unk_token = tokens["targets"][PAD_ID]
    spec.config.bos_token = tokens["targets"][PAD_ID]
    spec.config.eos_token = tokens["targets"][EOS_ID]
    spec.config.decoder_start_token = tokens["targets"][PAD_ID]
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = model.encoder.settings.norm_epsilon
    spec.validate()
    spec.optimize(quantization=weight_type)
    with written_whole(export_dir) as folder:
        spec.save(str(folder))
        text = json.dumps(tokens, ensure_ascii=False, indent=0)
        (folder / "tokens.json").write_text(text + "\n", encoding="utf-8")
        about = json.dumps(dict(description or {}), indent=2, ensure_ascii=False)
        (folder / "export.json").write_text(about + "\n", encoding="utf-8")
        for path in {path for path in (vocabularies or {}).values() if path is not None}:
            shutil.copyfile(path, folder / Path(path).name)


def tokens_of(encoder: Any, rows: int) -> list[str]:
    """One token for each id, all different: the vocabulary's entries where it has any.

    Args:
        encoder: of the side.
        rows: ids of the model; more than the vocabulary's where `vocab_divisor` added some.
    """
    entries: list[str] = []
    if isinstance(encoder, SubwordTextEncoder):
        entries = list(encoder.subtokens)
    elif isinstance(encoder, TokenTextEncoder):
        entries = list(encoder.tokens)
    tokens: list[str] = []
    seen: set[str] = set()
    for number in range(rows):
        token = entries[number] if number < len(entries) else f"ID_{number}"
        while not token or token in seen:
            token += f"#{number}"
        seen.add(token)
        tokens.append(token)
    return tokens


def specification(model: Any) -> Any:
    """`ctranslate2.specs.TransformerSpec` with the weights of a `Transformer`.

    Raises:
        UserError: a form of the model that CTranslate2 does not have.
    """
    from ctranslate2 import specs

    settings = model.encoder.settings
    _check(settings)
    heads = settings.num_heads
    pre_norm = "n" in letters(settings.preprocess)
    encoder = specs.TransformerEncoderSpec(model.encoder.num_layers, heads, pre_norm=pre_norm)
    decoder = specs.TransformerDecoderSpec(model.decoder.num_layers, heads, pre_norm=pre_norm)
    weights = {
        name: np.ascontiguousarray(weight.numpy(), np.float32)
        for name, weight in model.named_weights().items()
    }

    inputs, targets, softmax = _tables(model, weights)
    encoder.embeddings[0].weight = inputs
    decoder.embeddings.weight = targets
    decoder.projection.weight = softmax
    scaled = bool(model.get_config()["scale_embedding"])
    encoder.scale_embeddings = decoder.scale_embeddings = scaled
    decoder.start_from_zero_embedding = True
    encoder.position_encodings.encodings = _positions(model, weights, "inputs")
    decoder.position_encodings.encodings = _positions(model, weights, "targets")
    if pre_norm:
        _layer_norm(encoder.layer_norm, weights, "encoder/final_layer_norm")
        _layer_norm(decoder.layer_norm, weights, "decoder/final_layer_norm")
    for number, layer in enumerate(encoder.layer):
        name = f"encoder/layer_{number}"
        _self_attention(layer.self_attention, weights, f"{name}/self_attention")
        _feed_forward(layer.ffn, weights, f"{name}/feed_forward")
    for number, layer in enumerate(decoder.layer):
        name = f"decoder/layer_{number}"
        _self_attention(layer.self_attention, weights, f"{name}/self_attention")
        _cross_attention(layer.attention, weights, f"{name}/cross_attention")
        _feed_forward(layer.ffn, weights, f"{name}/feed_forward")
    return specs.TransformerSpec(encoder, decoder)


def _check(settings: Any) -> None:
    before = letters(settings.preprocess).replace("d", "")
    after = letters(settings.postprocess).replace("d", "")
    if (before, after) not in (("", "an"), ("n", "a")):
        raise UserError(
            f"layer_preprocess_sequence is {settings.preprocess!r}, layer_postprocess_sequence"
            f" {settings.postprocess!r}: CTranslate2 computes none and dan (post-norm), or n and da"
            " (pre-norm); export a SavedModel"
        )
    widths = {settings.hidden_size, settings.key_width, settings.value_width}
    if len(widths) > 1:
        raise UserError(
            f"attention_key_channels is {settings.key_width}, attention_value_channels"
            f" {settings.value_width}: CTranslate2 wants both to be hidden_size"
            f" ({settings.hidden_size}); export a SavedModel"
        )
    if settings.neighbourhood:
        raise UserError(
            f"self_attention_neighbourhood is {settings.neighbourhood}: CTranslate2's"
            " self-attention sees all positions; export a SavedModel"
        )


def _table_sizes(spec: Any) -> tuple[int, int]:
    return spec.encoder.embeddings[0].weight.shape[0], spec.decoder.embeddings.weight.shape[0]


def _tables(
    model: Any, weights: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of the source, of the target, and of the logits."""

    def table(name: str) -> np.ndarray:
        shared = model.shares_softmax or (model.shares_embedding and name != "softmax")
        return weights[f"{'shared_embedding' if shared else name}/weights"]

    def without_padding(rows: np.ndarray) -> np.ndarray:
        rows = rows.copy()
        rows[PAD_ID] = 0
        return rows

    inputs, targets = table("inputs_embedding"), table("targets_embedding")
    return without_padding(inputs), without_padding(targets), table("softmax")


def _positions(model: Any, weights: Mapping[str, np.ndarray], side: str) -> np.ndarray:
    """What is added to the embeddings, float32 [positions, d]."""
    positions, width = tf.range(MOST_POSITIONS), model.hidden_size
    if model.positions == "emb":
        rows = weights[f"{side}_positional_embedding/weights"]
    elif model.positions == "none":
        rows = np.zeros((MOST_POSITIONS, width), np.float32)
    else:
        signal = paper_timing_signal if model.positions == "timing_paper" else timing_signal
        rows = signal(positions, width).numpy()
    if side == "inputs" and model.target_space_embedding is not None:
        rows = rows + weights["target_space_embedding/weights"][model.target_space_id]
    return rows.astype(np.float32)


def _layer_norm(spec: Any, weights: Mapping[str, np.ndarray], name: str) -> None:
    spec.gamma, spec.beta = weights[f"{name}/scale"], weights[f"{name}/bias"]


def _linear(spec: Any, weights: Mapping[str, np.ndarray], *names: str) -> None:
    """One matrix [outputs, inputs], the kernels side by side."""
    kernels = [weights[f"{name}/kernel"] for name in names]
    spec.weight = np.ascontiguousarray(np.concatenate(kernels, axis=1).T)
    if f"{names[0]}/bias" in weights:
        spec.bias = np.concatenate([weights[f"{name}/bias"] for name in names])


def _self_attention(spec: Any, weights: Mapping[str, np.ndarray], name: str) -> None:
    _layer_norm(spec.layer_norm, weights, f"{name}/layer_norm")
    _linear(spec.linear[0], weights, f"{name}/query", f"{name}/key", f"{name}/value")
    _linear(spec.linear[1], weights, f"{name}/output")


def _cross_attention(spec: Any, weights: Mapping[str, np.ndarray], name: str) -> None:
    _layer_norm(spec.layer_norm, weights, f"{name}/layer_norm")
    _linear(spec.linear[0], weights, f"{name}/query")
    _linear(spec.linear[1], weights, f"{name}/key", f"{name}/value")
    _linear(spec.linear[2], weights, f"{name}/output")


def _feed_forward(spec: Any, weights: Mapping[str, np.ndarray], name: str) -> None:
    _layer_norm(spec.layer_norm, weights, f"{name}/layer_norm")
    _linear(spec.linear_0, weights, f"{name}/hidden")
    _linear(spec.linear_1, weights, f"{name}/output")
