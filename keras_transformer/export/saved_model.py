"""A run directory as one SavedModel that needs nothing of this project.

    <export_dir>/saved_model.pb              binary; functions, signatures, tokenizer
    <export_dir>/variables/                  weights in the chosen type
    <export_dir>/assets/<vocabulary>         for clients that send ids; the graph has its own copy
    <export_dir>/assets.extra/export.json    what was exported, and how it decodes

It is written under a temporary name beside its place, loaded again, tried, and only then renamed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.decoding.beam_search import INFINITY
from keras_transformer.decoding.loading import LoadedRun
from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.errors import UserError
from keras_transformer.export.serving_model import ServingModel
from keras_transformer.export.target_dir import written_whole
from keras_transformer.text.reserved_tokens import EOS_ID

# A served model searches; it has neither random numbers nor batches of its own.
_NOT_EXPORTED = ("batch_size", "n_best", "sample", "temperature", "top_k", "seed")


def serving_model(
    loaded: LoadedRun, options: DecodeOptions, weight_type: str = "float32"
) -> ServingModel:
    """The serving model of what `decoding.loading.load_models` gave.

    Raises:
        UserError: what cannot be exported, see `ServingModel`.
    """
    hp = loaded.run.hparams
    return ServingModel(
        loaded.models[0],
        loaded.encoders,
        options,
        weight_type,
        text_steps=loaded.run.problem.text_steps_in_graph(),
        most_positions=hp.max_length if hp.pos == "emb" else None,
    )


def save(
    model: ServingModel,
    signatures: Mapping[str, Any],
    export_dir: str | os.PathLike[str],
    vocabularies: Mapping[str, Path | None],
    description: Mapping[str, Any],
) -> None:
    """Writes a SavedModel; it appears whole or not at all.

    Args:
        model: what to write.
        signatures: what `model.signatures()` gave.
        export_dir: its folder, which must not hold anything yet.
        vocabularies: side → vocabulary file, copied to `assets`.
        description: becomes `assets.extra/export.json`.

    Raises:
        UserError: `export_dir` is taken or cannot be written, or the model gives not-a-number.
    """
    files = sorted({str(file) for file in vocabularies.values() if file is not None})
    resources = model.resources()
    resources.vocabularies = [tf.saved_model.Asset(file) for file in files]
    with written_whole(export_dir) as folder:
        try:
            with model.as_stored():
                tf.saved_model.save(resources, str(folder), signatures=dict(signatures))
        except tf.errors.OpError as error:
            raise UserError(f"{export_dir} cannot be written: {error.message}") from None
        _try(folder)
        extra = folder / "assets.extra"
        extra.mkdir()
        text = json.dumps(description, indent=2, ensure_ascii=False)
        (extra / "export.json").write_text(text + "\n", encoding="utf-8")


def describe(loaded: LoadedRun, options: DecodeOptions, weight_type: str) -> dict[str, Any]:
    """What `export.json` says, whatever the format."""
    decoding = {key: value for key, value in asdict(options).items() if key not in _NOT_EXPORTED}
    return {
        "problem": loaded.run.problem.full_name,
        "hparams_set": loaded.run.hparams_set,
        "checkpoints": [Path(prefix).name for prefix in loaded.checkpoints],
        "weights": weight_type,
        "decoding": decoding,
        "vocabulary_sizes": {side: encoder.vocab_size for side, encoder in loaded.encoders.items()},
    }


def translate(
    signatures: Mapping[str, Any], sources: Sequence[str], batch_size: int = 32
) -> list[str]:
    """The best output of each sentence, as the served model with these signatures gives it."""
    function = signatures["serving_default"]
    order = sorted(range(len(sources)), key=lambda place: len(sources[place]))
    found = [""] * len(sources)
    for start in range(0, len(order), batch_size):
        places = order[start : start + batch_size]
        outputs = function(tf.constant([sources[place] for place in places]))["outputs"]
        for place, text in zip(places, outputs.numpy(), strict=True):
            found[place] = text.decode("utf-8")
    return found


def _try(folder: Path) -> None:
    """Loads the model as a server would and decodes two rows of ids."""
    loaded = tf.saved_model.load(str(folder))
    rows = tf.constant([[EOS_ID + 1, EOS_ID], [EOS_ID, 0]], tf.int32)
    scores = loaded.signatures["tokens"](inputs=rows)["scores"].numpy()
    # A search among not-a-numbers finds nothing and scores it so.
    if not np.isfinite(scores).all() or (scores <= -INFINITY / 2).any():
        raise UserError(
            "the model gives not-a-number: its checkpoint is broken, or training had diverged;"
            " take an earlier checkpoint"
        )
