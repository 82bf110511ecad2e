"""Pictures of attention: which, of what, and the colour of every weight."""

from __future__ import annotations

import numpy as np
import pytest

from keras_transformer.config import HParams
from keras_transformer.model.transformer import Transformer
from keras_transformer.training import attention_images

PAIR = {"inputs": [[4, 5, 6, 1], [7, 1, 0, 0]], "targets": [[8, 9, 1, 0, 0], [8, 1, 0, 0, 0]]}
BATCH = {name: np.array(ids, np.int32) for name, ids in PAIR.items()}


def test_the_last_layers_look_at_the_first_pair():
    hparams = HParams(num_hidden_layers=2, hidden_size=8, filter_size=8, num_heads=2)
    model = Transformer.from_hparams(hparams, 12, 12)
    images = attention_images.attention_images(model, BATCH)
    square = attention_images.LARGEST_SQUARE
    # Positions that look, positions looked at; padding of the batch left out.
    sizes = {"encoder/layer_1/self_attention": (4, 4), "decoder/layer_1/self_attention": (3, 3)}
    sizes["decoder/layer_1/cross_attention"] = (3, 4)
    assert {name: image.shape for name, image in images.items()} == {
        name: (rows * square, columns * square, 3) for name, (rows, columns) in sizes.items()
    }
    # The decoder never looks ahead, so above the diagonal all is black, and below nothing is.
    strongest = images["decoder/layer_1/self_attention"][::square, ::square].max(axis=2)
    np.testing.assert_array_equal(strongest > 0, np.tri(3, dtype=bool))
    assert strongest[0, 0] == 255


def test_first_pair_of_packed_rows_keeps_its_features_together():
    batch = {**BATCH, "targets_position": np.array([[0, 1, 2, 0, 0], [0, 1, 0, 0, 0]])}
    pair = attention_images.first_pair(batch)
    assert {name: ids.tolist() for name, ids in pair.items()} == {
        "inputs": [[4, 5, 6, 1]],
        "targets": [[8, 9, 1]],
        "targets_position": [[0, 1, 2]],
    }
    padding = attention_images.first_pair({name: ids * 0 for name, ids in BATCH.items()})
    assert padding["inputs"].shape == (1, 1)


def test_heads_are_dealt_to_red_green_and_blue():
    weights = np.zeros([4, 1, 2], np.float32)
    weights[0, 0], weights[1, 0], weights[2, 0], weights[3, 0] = [0, 1], [1, 0], [0.5, 0.5], [1, 0]
    pixels = attention_images.picture(weights)[0, :: attention_images.LARGEST_SQUARE]
    half = round(255 * 0.5**attention_images.BRIGHTENING)
    # Red shows the heads 0 and 3, green 1, blue 2.
    np.testing.assert_array_equal(pixels, [[255, 255, half], [255, 0, half]])


@pytest.mark.parametrize("length", [1, 40, 500])
def test_size_is_bounded(length):
    height, width, _ = attention_images.picture(np.full([8, length, 7], 0.1)).shape
    assert max(height, width) <= attention_images.MOST_PIXELS
