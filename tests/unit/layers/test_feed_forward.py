"""The position-wise feed-forward layer."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.layers.dropout import dropout_noise
from keras_transformer.layers.feed_forward import FeedForward

INPUTS = np.random.default_rng(1).normal(size=(2, 3, 8)).astype("float32")
KEEP = np.array([[True, True, False], [True, False, False]])


@pytest.mark.parametrize("arrays", [{"inputs": INPUTS}, {"inputs": INPUTS, "keep": KEEP}])
def test_contract(check_layer, arrays):
    outputs = check_layer(FeedForward, {"filter_size": 16, "dropout": 0.1}, arrays)
    assert outputs.shape == INPUTS.shape


def test_two_products_and_a_relu():
    layer = FeedForward(2)
    layer.build((None, None, 1))
    layer.hidden.kernel.assign([[1.0, -1.0]])
    layer.hidden.bias.assign([0.0, 0.5])
    layer.output_linear.kernel.assign([[2.0], [3.0]])
    layer.output_linear.bias.assign([1.0])
    # x = 2: relu(2, -1.5) → 2·2 + 1 = 5; x = -2: relu(-2, 2.5) → 3·2.5 + 1 = 8.5
    np.testing.assert_allclose(layer(tf.constant([[[2.0], [-2.0]]])), [[[5.0], [8.5]]])


def test_padding_gives_zero_and_changes_nothing_else():
    layer = FeedForward(16)
    plain, kept = layer(INPUTS), layer(INPUTS, keep=KEEP)
    layer.output_linear.bias.assign(np.ones(8))
    plain, kept = layer(INPUTS), layer(INPUTS, keep=KEEP)
    np.testing.assert_array_equal(kept[~KEEP], np.zeros((3, 8)))
    np.testing.assert_array_equal(kept[KEEP], plain[KEEP])


def test_dropout_shares_its_decision_along_the_named_axes():
    layer = FeedForward(64, dropout=0.5, dropout_broadcast_axes=(1,))
    inputs = np.repeat(INPUTS[:, :1], 5, axis=1)
    with dropout_noise(tf.constant([1, 2])):
        outputs = layer(inputs, training=True).numpy()
    np.testing.assert_allclose(outputs, np.repeat(outputs[:, :1], 5, axis=1), atol=1e-6)
    assert np.abs(outputs - layer(inputs).numpy()).max() > 1e-3
