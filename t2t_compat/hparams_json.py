"""Settings out of a T2T run: its hparams.json of any release, or the name of its set.

The variables decide what they can tell (widths, depths, norm place, sharing); the rest (heads,
dropout, schedule, position form) comes from here. Keys of old releases are translated; a key
nobody knows is reported, never an error, unless its value would change the model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from keras_transformer import registry
from keras_transformer.config import FIELDS, HParams
from keras_transformer.config_checks import SCHEDULE_FACTORS
from keras_transformer.config_ignorable import IGNORABLE, RUN_KEYS
from keras_transformer.errors import UserError
from keras_transformer.t2t_compat.layout import Layout

# Old key → present key.
_RENAMED = {
    "residual_dropout": "layer_prepostprocess_dropout",
    "layer_norm_epsilon": "norm_epsilon",
}

# Keys whose other values mean another model than the one built here: key → values that are fine.
_DECISIVE: dict[str, tuple[Any, ...]] = {
    "area_key_mode": ("none",),
    "area_value_mode": ("none",),
    "attention_variables_3d": (False,),
    "causal_decoder_self_attention": (True,),
    "factored_logits": (False,),
    "ffn_layer": ("dense_relu_dense", "conv_hidden_relu"),
    "hard_attention_k": (0,),
    "num_area_layers": (0,),
    "parameter_attention_key_channels": (0,),
    "parameter_attention_value_channels": (0,),
    "prepend_mode": ("none",),
    "proximity_bias": (False,),
    "self_attention_type": ("dot_product",),
    "unidirectional_encoder": (False,),
}

# Keys that other releases carry and that change nothing in a Transformer.
_HARMLESS = {
    "batching_mantissa_bits", "input_modalities", "target_modality", "problem_choice",
    "symbol_modality_skip_top", "tpu_batch_size_per_shard", "problems", "problem",
    "input_modality", "modality", "model", "use_eager_mode", "use_tpu", "vocab_size",
}  # fmt: skip


def read_hparams_file(path: Path) -> dict[str, Any]:
    """The keys and values of a T2T hparams.json.

    Raises:
        UserError: the file is missing or is no JSON object.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise UserError(
            f"{path} is not JSON ({error}); restore it, or name the set with --hparams_set"
        ) from None
    if not isinstance(values, dict):
        raise UserError(f"{path} is not a JSON object; name the set with --hparams_set")
    return values


def translate_hparams(values: dict[str, Any], origin: str) -> tuple[HParams, list[str]]:
    """HParams from T2T's keys of any release.

    Returns:
        The settings, and notes for the report: keys that are not known here, old values that
        have another name now.

    Raises:
        UserError: a value means a model that is not offered here.
    """
    values = {_RENAMED.get(key, key): value for key, value in values.items()}
    for key, fine in _DECISIVE.items():
        if key in values and values[key] not in fine:
            raise UserError(
                f"{origin}: {key} is {values[key]!r}; only {' or '.join(map(repr, fine))} is"
                " offered here, so this model cannot be taken over"
            )
    changes: dict[str, Any] = {}
    unknown, notes = [], []
    for key, value in values.items():
        if key in FIELDS:
            changes[key] = _value(key, value)
        elif key not in IGNORABLE and key not in RUN_KEYS and key not in _HARMLESS:
            unknown.append(key)
    schedule = values.get("learning_rate_schedule", "legacy")
    if schedule != changes.get("learning_rate_schedule", schedule):
        changes["learning_rate_decay_scheme"] = "noam"
        notes.append(f"the schedule {schedule} of {origin} is read as legacy with noam")
    if unknown:
        notes.append(f"keys of {origin} that are not known here: {', '.join(sorted(unknown))}")
    return HParams().derive(origin, **changes), notes


def _value(key: str, value: Any) -> Any:
    """An old release's value in the present form."""
    kind = str(FIELDS[key].type)
    if kind == "bool":
        return bool(value)
    if value is None and not kind.endswith("None"):
        return FIELDS[key].default
    if key in ("layer_preprocess_sequence", "layer_postprocess_sequence"):
        return value or "none"
    if key == "norm_type":
        return "layer"  # 1.0.14 says none although its model normalises
    if key == "optimizer":
        return {"Adam": "adam", "LazyAdam": "adam", "Adafactor": "adafactor"}.get(value, value)
    if key == "learning_rate_decay_scheme":
        return value if value in ("noam", "none") else "none"
    if key == "learning_rate_schedule" and not _is_schedule(value):
        return "legacy"  # 1.4 calls noam linear_warmup_rsqrt_decay
    if key == "activation_dtype":
        return "float32"  # the weights are float32; --precision chooses anew
    return value


def _is_schedule(text: str) -> bool:
    return all(factor.strip() in SCHEDULE_FACTORS for factor in str(text).split("*"))


def settings_of_set(name: str, layout: Layout) -> HParams:
    """The named set as the release that wrote the checkpoint meant it.

    `transformer_base` and its kin were post-norm until 1.2.4 (today's base_v1), then base_v2, and
    base_v3 from 1.10 on; the norm place in the variables decides between them.
    """
    historic = {
        "transformer_base": "transformer_base_v1",
        "transformer_base_v3": "transformer_base",
    }
    if not layout.pre_norm and name in ("transformer_base", "transformer_base_single_gpu"):
        return registry.hparams(historic.get(name, "transformer_base_v1"))
    if layout.pre_norm and name == "transformer_base" and layout.era == "B":
        return registry.hparams("transformer_base_v2")
    return registry.hparams(name)


def fit_to_layout(hp: HParams, layout: Layout, origin: str) -> HParams:
    """The settings with everything the variables tell put in its place.

    Raises:
        UserError: a setting that decides the model contradicts the variables.
    """
    changes: dict[str, Any] = {
        "hidden_size": layout.hidden_size,
        "filter_size": layout.filter_size,
        "attention_key_channels": 0,
        "attention_value_channels": 0,
        "attention_bias": layout.attention_bias,
        "layer_preprocess_sequence": "n" if layout.pre_norm else "none",
        "layer_postprocess_sequence": "da" if layout.pre_norm else "dan",
        "use_target_space_embedding": layout.target_space_rows > 0,
        "shared_embedding_and_softmax_weights": set(layout.tables) == {"shared"},
        "shared_embedding": set(layout.tables) == {"shared", "softmax"},
        "symbol_modality_num_shards": next(iter(layout.shard_counts.values())),
    }
    if (hp.encoder_layers, hp.decoder_layers) != (layout.encoder_layers, layout.decoder_layers):
        changes["num_hidden_layers"] = layout.encoder_layers
        differ = layout.encoder_layers != layout.decoder_layers
        changes["num_encoder_layers"] = layout.encoder_layers if differ else 0
        changes["num_decoder_layers"] = layout.decoder_layers if differ else 0
    if layout.key_size != layout.hidden_size:
        changes["attention_key_channels"] = layout.key_size
    if layout.value_size != layout.hidden_size:
        changes["attention_value_channels"] = layout.value_size
    if layout.max_length:
        changes["pos"] = "emb"
        changes["max_length"] = layout.max_length
    elif hp.pos == "emb":
        raise UserError(
            f"{origin} says pos=emb, but the checkpoint has no inputs_positional_embedding; these"
            " settings belong to another model"
        )
    told = "use_pad_remover" in dict(hp.sources)
    if layout.feed_forward_at_padding is not None and not told:
        changes["use_pad_remover"] = not layout.feed_forward_at_padding
    for width in (layout.key_size, layout.value_size):
        if width % hp.num_heads:
            raise UserError(
                f"{origin} says num_heads={hp.num_heads}, but the checkpoint's attention is {width}"
                " wide, which that does not divide; these settings belong to another model"
            )
    return hp.derive("found in the checkpoint's variables", **changes)
