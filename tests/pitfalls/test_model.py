"""Masks: rows of nothing but padding, and whose padding hides what."""

from __future__ import annotations

import json
from pathlib import Path

import keras
import numpy as np
import pytest

import keras_transformer as kt

DATA = Path(__file__).parent / "data"
TINY = "hidden_size=16,filter_size=32,num_heads=2,num_hidden_layers=2"


def tiny_model(name, overrides=""):
    keras.utils.set_random_seed(1)
    hp = kt.hparams(name, f"{TINY}{overrides}")
    return kt.Transformer.from_hparams(hp, source_vocab_size=12, target_vocab_size=12)


def read(name):
    return json.loads((DATA / name).read_text(encoding="utf-8"))


def arrays(batch):
    return {name: np.array(ids, "int32") for name, ids in batch.items()}


@pytest.mark.parametrize("name", ["transformer_base_v1", "transformer_base"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a_source_of_nothing_but_padding_is_finite_and_harms_no_other(name, dtype):
    batch = arrays(read("all_padding_row.json"))
    model = tiny_model(name, f",activation_dtype={dtype}")
    logits = model(batch).numpy()
    assert np.isfinite(logits).all()
    assert np.isfinite(model.encode(batch["inputs"]).numpy().astype("float32")).all()
    assert np.isfinite(model(batch, training=True).numpy()).all()
    alone = model({side: ids[1:] for side, ids in batch.items()}).numpy()
    tolerance = 1e-5 if dtype == "float32" else 0.05
    np.testing.assert_allclose(logits[1:], alone, atol=tolerance)


@pytest.mark.parametrize("name", ["transformer_base_v1", "transformer_base"])
@pytest.mark.parametrize("at_padding", ["true", "false"])
def test_the_source_is_masked_by_its_own_padding(name, at_padding):
    model = tiny_model(name, f",use_pad_remover={at_padding}")
    batches = [arrays(batch) for batch in read("cross_mask.json")["batches"]]
    real = int((batches[0]["targets"] != 0).sum())
    first, *others = [model(batch).numpy()[:, :real] for batch in batches]
    assert np.abs(first).max() > 0.1
    for other in others:
        np.testing.assert_allclose(other, first, atol=1e-5)
