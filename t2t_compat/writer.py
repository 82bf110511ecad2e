"""Our run directory → a T2T 1.15 checkpoint and hparams.json, so that a team can move back too."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.config import HParams
from keras_transformer.errors import UserError
from keras_transformer.run_dir import HPARAMS_FILE, RunDir, write_text_atomically
from keras_transformer.t2t_compat.checkpoint_files import CheckpointReader
from keras_transformer.t2t_compat.layout import Layout, detect_layout
from keras_transformer.t2t_compat.moments import SCALARS, SLOTS
from keras_transformer.t2t_compat.report import account
from keras_transformer.t2t_compat.weights import Source, shard_rows, weight_sources
from keras_transformer.training import checkpoints

_TABLES = {
    "shared_embedding/weights": "shared",
    "inputs_embedding/weights": "input_emb",
    "targets_embedding/weights": "target_emb",
    "softmax/weights": "softmax",
}


# Scalars that T2T 1.15's trainer wants to find, with the values it leaves in them.
_UNUSED: dict[str, Any] = {
    "losses_avg/problem_0/extra_loss": np.float32(100.0),
    "losses_avg/problem_0/total_loss": np.float32(100.0),
    "losses_avg/problem_0/training_loss": np.float32(100.0),
    "train_stats/problem_0_steps": np.int32(0),
}


def reverse_run(run: RunDir, prefix: str, output_dir: str | os.PathLike[str]) -> Path:
    """Writes a run directory of T2T 1.15: checkpoint, `hparams.json` and vocabularies.

    Args:
        run: ours.
        prefix: the checkpoint of it.
        output_dir: a new or empty folder.

    Returns:
        The prefix written.

    Raises:
        UserError: the folder holds a run already, or the model has a part that T2T 1.15 has no
            place for.
    """
    folder = Path(output_dir)
    if run.is_t2t:
        raise UserError(f"{run.path} is a Tensor2Tensor run directory already")
    if (folder / HPARAMS_FILE).is_file() or (folder / checkpoints.LIST_FILE).is_file():
        raise UserError(f"{folder} holds a run already; give a new or empty --t2t_model_dir")
    written = write_t2t_checkpoint(prefix, run.hparams, folder)
    for path in run.vocabulary_paths().values():
        if path is not None:
            shutil.copyfile(path, folder / path.name)
    return written


def write_t2t_checkpoint(
    prefix: str | os.PathLike[str], hparams: HParams, output_dir: str | os.PathLike[str]
) -> Path:
    """Writes `model.ckpt-<step>`, `checkpoint` and `hparams.json` as T2T 1.15's trainer would.

    Adam's moments and powers go along where the checkpoint has them, so that T2T can train on. The
    file is read back by the layout table before it counts as written.

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
    tensors: dict[str, Any] = dict(_weights(reader, shapes, sources, ""))
    slots = SLOTS.get(hparams.optimizer, {})
    scalars = SCALARS.get(hparams.optimizer, {})
    ours = [f"{checkpoints.OPTIMIZER}{slot}/{name}" for slot in slots for name in shapes]
    ours += [checkpoints.OPTIMIZER + name for name in scalars]
    if slots and all(name in reader for name in ours):
        for slot, theirs in slots.items():
            tensors.update(_weights(reader, shapes, sources, theirs, slot))
        for name, variable in scalars.items():
            tensors[f"training/{variable}"] = reader.tensor(checkpoints.OPTIMIZER + name)
    tensors |= _UNUSED
    written = checkpoints.save(output_dir, reader.global_step, tensors)
    _check_layout(written, layout, shapes)
    write_text_atomically(Path(output_dir) / HPARAMS_FILE, _t2t_hparams(hparams))
    return Path(written)


def _check_layout(written: str, wanted: Layout, shapes: Mapping[str, tuple[int, ...]]) -> None:
    reader = CheckpointReader(written)
    found = detect_layout(reader.shapes, written)
    if found != wanted:
        raise UserError(f"{written} reads back as {found}, not as {wanted}; do not use it")
    account(written, found, reader.shapes, weight_sources(found), shapes)


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
        pre_norm=hp.layer_preprocess_sequence not in ("none", "d"),
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
