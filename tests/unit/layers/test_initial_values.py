from __future__ import annotations

import numpy as np

from keras_transformer.layers.embedding import Embedding
from keras_transformer.layers.initial_values import weights_to_be_loaded
from keras_transformer.layers.linear import Linear


def built() -> list[np.ndarray]:
    linear, embedding = Linear(4), Embedding(10, 4)
    linear.build((None, 3))
    embedding.build()
    return [linear.kernel.numpy(), embedding.table.numpy()]


def test_no_random_numbers_are_drawn_for_weights_that_are_read_from_a_file():
    with weights_to_be_loaded():
        assert not any(each.any() for each in built())
    assert all(each.any() for each in built())


def test_layers_made_before_keep_their_values():
    before = built()
    with weights_to_be_loaded():
        built()
    assert all(each.any() for each in before)
