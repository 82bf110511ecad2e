from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from keras_transformer.cli.frozen_weights import freeze_weights
from keras_transformer.errors import UserError
from keras_transformer.layers.ready_weights import FROZEN_WEIGHTS
from keras_transformer.training.trainer import Trainer


@pytest.mark.parametrize(
    "dtype, batch_size, frozen",
    [("bfloat16", 32, True), ("bfloat16", 1, True), ("float32", 1, True), ("float32", 32, False)],
)
def test_weights_are_frozen_where_one_packing_serves(monkeypatch, dtype, batch_size, frozen):
    monkeypatch.delenv(FROZEN_WEIGHTS, raising=False)
    freeze_weights(dtype, batch_size)
    assert os.environ.pop(FROZEN_WEIGHTS, "0") == ("1" if frozen else "0")


def test_the_user_has_the_last_word(monkeypatch):
    monkeypatch.setenv(FROZEN_WEIGHTS, "0")
    freeze_weights("bfloat16", 1)
    assert os.environ[FROZEN_WEIGHTS] == "0"


OUTPUTS = """
import json
import keras, numpy as np
import keras_transformer as kt
from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.decoding.search_graph import SearchGraph

keras.utils.set_random_seed(1)
hp = kt.hparams("tiny", "hidden_size=64,num_heads=2,filter_size=128")
graph = SearchGraph([kt.Transformer.from_hparams(hp, 200, 200)], keeps_weights=True)
random = np.random.RandomState(1)
for sentences in (1, 9, 1, 30, 5):
    rows = random.randint(2, 200, (sentences, 7)).astype("int32")
    limits = random.randint(1, 20, sentences)
    ids, scores = graph.search(rows, limits, DecodeOptions())
    print(json.dumps([ids.tolist(), scores.tolist()]))
"""


def test_frozen_weights_change_no_output():
    """Batches of every size, of which sentences leave, in processes with and without packing."""
    plain, packed = (
        subprocess.run(
            [sys.executable, "-c", OUTPUTS],
            env={**os.environ, FROZEN_WEIGHTS: frozen, "TF_CPP_MIN_LOG_LEVEL": "3"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for frozen in "01"
    )
    assert len(plain) == len(packed) == 5
    for one, other in zip(map(json.loads, plain), map(json.loads, packed), strict=True):
        assert one[0] == other[0]
        np.testing.assert_allclose(one[1], other[1], atol=1e-4)


def test_a_process_of_frozen_weights_does_not_train(monkeypatch):
    monkeypatch.setenv(FROZEN_WEIGHTS, "1")
    with pytest.raises(UserError, match="unset it"):
        Trainer(SimpleNamespace(), "", SimpleNamespace())
