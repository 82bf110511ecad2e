from __future__ import annotations

import keras
import numpy as np
import pytest

import keras_transformer as kt
from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.decoding.search_graph import SearchGraph

INPUTS = np.array([[3, 4, 5, 1], [6, 1, 0, 0]], "int32")


def small_model(seed: int) -> kt.Transformer:
    keras.utils.set_random_seed(seed)
    hp = kt.hparams("tiny", "hidden_size=16,num_heads=2,filter_size=32,num_hidden_layers=1")
    return kt.Transformer.from_hparams(hp, 12, 12)


def scores(graph: SearchGraph) -> np.ndarray:
    return graph.search(INPUTS, [6, 6], DecodeOptions(beam_size=3, n_best=3))[1]


@pytest.mark.parametrize("number", [1, 2])
def test_kept_weights_are_those_of_the_first_search(number):
    models = [small_model(seed) for seed in range(number)]
    fresh, kept = SearchGraph(models), SearchGraph(models, keeps_weights=True)
    before = scores(fresh)
    np.testing.assert_allclose(scores(kept), before, atol=1e-5)
    for model in models:
        kernel = model.decoder.blocks[0].feed_forward.hidden.kernel
        kernel.assign(2 * kernel.value)
    # Without the promise that nothing changes, a search sees the weights as they are.
    assert np.abs(scores(fresh) - before).max() > 1e-3
    np.testing.assert_allclose(scores(kept), before, atol=1e-5)
