"""Our run directory → a T2T 1.15 checkpoint and hparams.json, so that a team can move back too."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from keras_transformer.config import HParams
from keras_transformer.errors import UserError
from keras_transformer.run_dir import HPARAMS_FILE, write_text_atomically
from keras_transformer.t2t_compat.layout import Layout
from keras_transformer.t2t_compat.weights import Source, shard_rows, weight_sources
from keras_transformer.training import checkpoints

_TABLES = {
    "shared_embedding/weights": "shared",
    "inputs_embedding/weights": "input_emb",
    "targets_embedding/weights": "target_emb",
    "softmax/weights": "softmax",
}


def write_t2t_checkpoint(
    prefix: str | os.PathLike[str], hparams: HParams, output_dir: str | os.PathLike[str]
) -> Path:
    """Writes `model.ckpt-<step>`, `checkpoint` and `hparams.json` as T2T 1.15's trainer would.

    Adam's moments and powers go along where the checkpoint has them, so that T2T can train on.

    Args:
        prefix: one of our checkpoints.
        hparams: the run's settings.
        output_dir: a folder; made if need be.

    Returns:
        The prefix written.

    Raises:
        UserError: the model has a part T2T 1.15 has no place for.
    """
    _check_offered(hparams)
    reader = checkpoints.read(prefix)
    shapes = {
        name: reader.shape(name)
        for name in reader.names()
        if not name.startswith((checkpoints.OPTIMIZER, *checkpoints.OTHERS))
    }
    layout = _layout(hparams, shapes)
    sources = weight_sources(layout)
    tensors = dict(_weights(reader, shapes, sources, ""))
    slots = {"m": "Adam", "v": "Adam_1"}
    if all(f"{checkpoints.OPTIMIZER}m/{name}" in reader for name in shapes):
        for ours, theirs in slots.items():
            tensors.update(_weights(reader, shapes, sources, theirs, ours))
        for power in ("beta1_power", "beta2_power"):
            tensors[f"training/{power}"] = reader.tensor(checkpoints.OPTIMIZER + power)
    folder = Path(output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    written = checkpoints.save(folder, reader.global_step, tensors)
    write_text_atomically(folder / HPARAMS_FILE, _t2t_hparams(hparams))
    return Path(written)


def _check_offered(hp: HParams) -> None:
    for name, fine, why in (
        ("attention_bias", False, "its releases have no biases there since 1.3"),
        ("pos", ("timing", "emb", "none", "timing_from_features"), "it has only its own signal"),
        ("self_attention_neighbourhood", 0, "it has no restricted self-attention"),
    ):
        value = getattr(hp, name)
        if value != fine and not (isinstance(fine, tuple) and value in fine):
            raise UserError(f"{name} is {value!r}, which T2T 1.15 cannot hold: {why}")


def _t2t_hparams(hp: HParams) -> str:
    values = json.loads(hp.to_json())
    for own in ("attention_bias", "self_attention_neighbourhood"):
        values.pop(own, None)
    return json.dumps(values, indent=1, sort_keys=True) + "\n"


def _layout(hp: HParams, shapes: Mapping[str, tuple[int, ...]]) -> Layout:
    tables = {role: shapes[name] for name, role in _TABLES.items() if name in shapes}
    source = tables.get("shared", tables.get("input_emb", (0, 0)))[0]
    target = tables.get("softmax", tables.get("shared", (0, 0)))[0]
    rows = {"shared": source, "input_emb": source, "target_emb": target, "softmax": target}
    return Layout(
        era="D",
        prefix="transformer/",
        tables={
            role: f"transformer/symbol_modality_{rows[role]}_{hp.hidden_size}/{role}"
            for role in tables
        },
        shard_counts=dict.fromkeys(tables, hp.symbol_modality_num_shards),
        padded_vocab_sizes={"inputs": source, "targets": target},
        hidden_size=hp.hidden_size,
        filter_size=hp.filter_size,
        key_size=hp.key_width,
        value_size=hp.value_width,
        encoder_layers=hp.encoder_layers,
        decoder_layers=hp.decoder_layers,
        pre_norm="n" in hp.layer_preprocess_sequence,
        target_space_rows=shapes.get("target_space_embedding/weights", (0, 0))[0],
        max_length=shapes.get("inputs_positional_embedding/weights", (0, 0))[0],
        feed_forward_at_padding=None,
    )


def _weights(
    reader: checkpoints.Reader,
    shapes: Mapping[str, tuple[int, ...]],
    sources: Mapping[str, Source],
    suffix: str,
    slot: str = "",
) -> Iterator[tuple[str, np.ndarray]]:
    for name in shapes:
        if name not in sources:
            raise UserError(f"{reader.prefix}: the weight {name} has no place in T2T's layout")
        value = reader.tensor(f"{checkpoints.OPTIMIZER}{slot}/{name}" if slot else name)
        names = sources[name].slot_names(suffix)
        start = 0
        for part, rows in zip(names, shard_rows(value.shape[0], len(names)), strict=True):
            yield part, value if len(names) == 1 else value[start : start + rows]
            start += rows
