"""Beam search of this project with a random model, which is written for CTranslate2 too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import protocol
import tensorflow as tf
from equal_lengths import equal_lengths
from one_device import keep_to

import keras_transformer as kt
from keras_transformer.decoding.search_graph import SearchGraph


def prepare(job: dict[str, Any]) -> tuple[Callable[[], Any], dict[str, str]]:
    keep_to(job["threads"])
    hp = kt.hparams(job["hparams"], job["overrides"])
    model = kt.Transformer.from_hparams(hp, job["vocab_size"], job["vocab_size"])
    if job.get("ctranslate2_dir"):
        save_for_ctranslate2(model, Path(job["ctranslate2_dir"]), job["vocab_size"])
    graph = SearchGraph([model], keeps_weights=True)
    options = equal_lengths(job["beam_size"], job["length"])

    def search(rows: list[list[int]]) -> None:
        limits = [job["length"]] * len(rows)
        ids, _ = graph.search(np.array(rows, "int32"), limits, options)
        if ids.shape[-1] != job["length"]:
            raise SystemExit(f"the search took {ids.shape[-1]} steps, not {job['length']}")

    def one_round() -> dict[str, tuple[int, float]]:
        return {
            figure: (len(rows), protocol.cpu_seconds(functools.partial(search, rows)))
            for figure, rows in job["batches"].items()
        }

    return one_round, {"tensorflow": tf.__version__}


def save_for_ctranslate2(model: kt.Transformer, folder: Path, vocab_size: int) -> None:
    """The same weights for `workers/ctranslate2_decoding.py`."""
    from keras_transformer.export import ctranslate2_model

    specification = ctranslate2_model.specification(model)
    tokens = [str(number) for number in range(vocab_size)]
    specification.register_source_vocabulary(tokens)
    specification.register_target_vocabulary(tokens)
    config = specification.config
    config.unk_token, config.bos_token, config.eos_token = "0", "0", "1"
    config.decoder_start_token = "0"
    specification.validate()
    folder.mkdir(exist_ok=True)
    specification.save(str(folder))


if __name__ == "__main__":
    protocol.serve(prepare)
