"""Blocks and their windows."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.neighbourhood import SHORTEST_BLOCK, Neighbourhood
from keras_transformer.model import masks


def test_blocks_and_windows_by_hand():
    near = Neighbourhood(1, shortest_block=2)
    row = tf.constant([[1, 2, 3, 4, 5]])
    np.testing.assert_array_equal(near.blocks(row), [[1, 2], [3, 4], [5, 0]])
    np.testing.assert_array_equal(near.windows(row), [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 0, 0]])
    causal = Neighbourhood(1, causal=True, shortest_block=2)
    np.testing.assert_array_equal(causal.windows(row), [[0, 1, 2], [2, 3, 4], [4, 5, 0]])
    # The first block: 1 sees itself and 2; 2 sees 1, itself and 3.
    np.testing.assert_array_equal(near.is_seen(5)[0], [[0, 1, 1, 0], [0, 1, 1, 1]])
    np.testing.assert_array_equal(causal.is_seen(5)[0], [[0, 1, 0], [0, 1, 1]])


@pytest.mark.parametrize("length", [1, 3, 4, 5, 8, 11])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("reach", [1, 3, 4, 20])
def test_every_position_sees_its_neighbourhood_and_nothing_else(reach, causal, length):
    near = Neighbourhood(reach, causal, shortest_block=4)
    seen = near.is_seen(length)
    rows = tf.tile(tf.cast(seen, tf.float32)[:, tf.newaxis], [2, 3, 1, 1])
    square = near.square(rows, length)
    distance = np.arange(length) - np.arange(length)[:, np.newaxis]
    expected = (abs(distance) <= reach) & ((distance <= 0) | (not causal))
    assert square.shape == (2, 3, length, length)
    np.testing.assert_array_equal(square, np.broadcast_to(expected, square.shape))
    x = tf.random.stateless_normal([2, length, 3], [1, 2])
    np.testing.assert_array_equal(near.sequence(near.blocks(x), length), x)


def test_a_short_sequence_is_one_block_without_sides():
    near = Neighbourhood(3)
    row = tf.ones([2, SHORTEST_BLOCK, 5])
    assert near.blocks(row).shape == near.windows(row).shape == row.shape


def restricted(reach, causal, **arguments):
    tf.random.set_seed(1)
    return MultiHeadAttention(2, 8, 12, neighbourhood=reach, causal=causal, **arguments)


def banded(length, reach, causal):
    """What the restricted attention hides, as a square."""
    distance = np.arange(length) - np.arange(length)[:, np.newaxis]
    hidden = (abs(distance) > reach) | ((distance > 0) & causal)
    return tf.constant(np.where(hidden, -1e9, 0.0)[np.newaxis, np.newaxis], tf.float32)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("reach", "length"), [(3, 150), (70, 150), (20, 64), (400, 300)])
def test_outputs_weights_and_gradients_are_those_of_full_attention_that_is_masked(
    reach, causal, length
):
    layer = restricted(reach, causal)
    x = tf.random.stateless_normal([2, length, 8], [3, 4])
    padding = np.where(np.arange(length) < [[length], [length - 40]], 1, 0)
    near = layer.neighbourhood
    bias = masks.padding_bias(near.windows(tf.constant(padding)))
    bias += masks.neighbourhood_bias(near, x)
    full = MultiHeadAttention(2, 8, 12)
    full.build(x.shape)
    layer.build(x.shape)
    full.set_weights(layer.get_weights())
    full_bias = masks.padding_bias(tf.constant(padding)) + banded(length, reach, causal)
    # Nothing but padding is left to see for padding, which then looks anywhere: left out here.
    real = tf.cast(padding, tf.float32)[..., tf.newaxis]

    def run(model, **arguments):
        with tf.GradientTape() as tape:
            tape.watch(x)
            outputs, weights = model(x, return_weights=True, **arguments)
            outputs *= real
            loss = tf.reduce_sum(outputs**2)
        return outputs, weights, tape.gradient(loss, [x, *model.trainable_variables])

    outputs, weights, gradients = run(layer, bias=bias)
    expected, expected_weights, expected_gradients = run(full, bias=full_bias)
    np.testing.assert_allclose(outputs, expected, atol=1e-5)
    np.testing.assert_allclose(
        near.square(weights, length) * real[:, tf.newaxis],
        expected_weights * real[:, tf.newaxis],
        atol=1e-6,
    )
    for mine, theirs in zip(gradients, expected_gradients, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=2e-4)
    if length <= max(SHORTEST_BLOCK, reach):
        np.testing.assert_array_equal(outputs, expected)  # the same operations


def test_memory_grows_with_the_length_not_its_square():
    length, reach = 2**16, 4  # its square: 32 GiB for each of the arrays
    layer = restricted(reach, causal=True)
    x = tf.ones([1, length, 8])
    with tf.GradientTape() as tape:
        bias = masks.neighbourhood_bias(layer.neighbourhood, x)
        outputs, weights = layer(x, bias=bias, return_weights=True)
        loss = tf.reduce_sum(outputs)
    assert outputs.shape == x.shape
    blocks, window = length // SHORTEST_BLOCK, SHORTEST_BLOCK + reach
    assert tuple(weights.shape) == (blocks, 2, SHORTEST_BLOCK, window)
    # All positions hold the same, so what each gets is the value itself.
    np.testing.assert_allclose(outputs - outputs[:, :1], np.zeros(x.shape), atol=1e-5)
    assert all(gradient is not None for gradient in tape.gradient(loss, layer.weights))


def test_it_is_self_attention_with_a_bias():
    layer = restricted(2, causal=False)
    x = tf.zeros([1, 5, 8])
    with pytest.raises(ValueError, match="self-attention"):
        layer(x)
    with pytest.raises(ValueError, match="self-attention"):
        layer(x, memory=x, bias=masks.neighbourhood_bias(layer.neighbourhood, x))


def test_the_layer_is_made_again_from_its_configuration():
    config = restricted(7, causal=True).get_config()
    again = MultiHeadAttention.from_config(config)
    assert again.neighbourhood == Neighbourhood(7, causal=True)
    assert (
        MultiHeadAttention.from_config(MultiHeadAttention(2, 4, 4).get_config()).neighbourhood
        is None
    )
