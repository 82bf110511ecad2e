"""Full training steps of OpenNMT-tf 2.32 on the same batch of ids. Runs under Python 3.10.

Its Transformer with the same sizes: pre-norm, dropout 0.1 in all places, one table for both sides
and the logits, its own recipe of loss and optimizer (label smoothing 0.1, LazyAdam).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import opennmt
import protocol
import tensorflow as tf
from one_device import keep_to

START_OF_SENTENCE = 1


def prepare(job: dict[str, Any]) -> tuple[Callable[[], Any], dict[str, str]]:
    keep_to(job["threads"])
    sizes = job["sizes"]
    model = opennmt.models.Transformer(
        source_inputter=opennmt.inputters.WordEmbedder(embedding_size=sizes["hidden_size"]),
        target_inputter=opennmt.inputters.WordEmbedder(embedding_size=sizes["hidden_size"]),
        num_layers=sizes["layers"],
        num_units=sizes["hidden_size"],
        num_heads=sizes["num_heads"],
        ffn_inner_dim=sizes["filter_size"],
        share_embeddings=opennmt.models.EmbeddingsSharingLevel.ALL,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "vocabulary")
        with open(path, "w", encoding="utf-8") as stream:
            # One entry more, for unknown words, is added to those of the file.
            entries = ["<blank>", "<s>", "</s>"]
            entries += [f"t{number}" for number in range(3, job["vocab_size"] - 1)]
            stream.write("\n".join(entries) + "\n")
        vocabularies = {"source_vocabulary": path, "target_vocabulary": path}
        model.initialize(vocabularies, model.auto_config()["params"])
    optimizer = model.get_optimizer()
    features, labels = features_of(job["inputs"]), labels_of(job["targets"])
    tokens = int(np.count_nonzero(job["targets"]))

    specification = tf.nest.map_structure(tf.TensorSpec.from_tensor, (features, labels))
    # As its own training loop does: batches of every shape run in one graph.
    any_shape = tf.nest.map_structure(
        lambda spec: tf.TensorSpec([None] * spec.shape.rank, spec.dtype), specification
    )

    @tf.function(input_signature=any_shape)
    def train(features: Any, labels: Any) -> Any:
        return model.train(features, labels, optimizer)

    def step() -> None:
        if not np.isfinite(float(train(features, labels))):
            raise SystemExit("the loss is not finite")

    def one_round() -> dict[str, tuple[int, float]]:
        return {"target tokens": (tokens, protocol.cpu_seconds(step))}

    return one_round, {"OpenNMT-tf": opennmt.__version__, "tensorflow": tf.__version__}


def features_of(rows: list[list[int]]) -> dict[str, tf.Tensor]:
    return {
        "ids": tf.constant(rows, tf.int64),
        "length": tf.constant(np.count_nonzero(rows, axis=1), tf.int32),
    }


def labels_of(rows: list[list[int]]) -> dict[str, tf.Tensor]:
    """What the decoder reads (shifted to the right) and what it is to say."""
    shifted = np.pad(np.array(rows), [[0, 0], [1, 0]], constant_values=START_OF_SENTENCE)[:, :-1]
    shifted = np.where(np.array(rows) != 0, shifted, 0)
    out = features_of(rows)
    return {"ids": tf.constant(shifted, tf.int64), "ids_out": out["ids"], "length": out["length"]}


if __name__ == "__main__":
    protocol.serve(prepare)
