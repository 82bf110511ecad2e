"""Dropout: rate, scale, shared decisions, noise from a seed alone."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.layers.dropout import Dropout, drop_symbols, dropout_noise


def noise(layer, inputs, seed, times=1):
    with dropout_noise(tf.constant(seed)):
        for _ in range(times):
            outputs = layer(inputs, training=True)
    return outputs.numpy()


def test_contract(check_layer):
    check_layer(Dropout, {"rate": 0.5}, {"inputs": np.ones((2, 3, 8), "float32")})


def test_rate_and_scale():
    outputs = noise(Dropout(0.2), tf.ones([200, 500]), [7, 1])
    np.testing.assert_allclose(np.unique(outputs), [0, 1.25], rtol=1e-5)
    assert outputs.mean() == pytest.approx(1, abs=0.005)
    assert (outputs == 0).mean() == pytest.approx(0.2, abs=0.005)


@pytest.mark.parametrize(("rate", "training"), [(0.5, False), (0.5, None), (0.0, True)])
def test_nothing_is_dropped(rate, training):
    inputs = tf.random.normal([4, 4])
    np.testing.assert_array_equal(Dropout(rate)(inputs, training=training), inputs)


def test_axes_share_one_decision():
    outputs = noise(Dropout(0.5, broadcast_axes=(0, -2)), tf.ones([3, 40, 50]), [7, 1])
    np.testing.assert_array_equal(outputs, np.broadcast_to(outputs[:1, :1], outputs.shape))
    assert 0 < (outputs == 0).mean() < 1


def test_noise_is_a_function_of_the_seed():
    layer, inputs = Dropout(0.5), tf.ones([31, 31])
    first = noise(layer, inputs, [7, 1])
    np.testing.assert_array_equal(first, noise(layer, inputs, [7, 1]))
    compiled = tf.function(lambda seed: _with_seed(layer, inputs, seed))
    np.testing.assert_array_equal(first, compiled(tf.constant([7, 1])))
    xla = tf.function(lambda seed: _with_seed(layer, inputs, seed), jit_compile=True)
    np.testing.assert_array_equal(first, xla(tf.constant([7, 1])))
    others = [noise(layer, inputs, seed) for seed in ([7, 2], [8, 1], [7, 0])]
    # The second use under one seed, and the first under the next: no noise is met twice.
    others.append(noise(layer, inputs, [7, 1], times=2))
    for other in others:
        assert (first == other).mean() == pytest.approx(0.5, abs=0.1)


def _with_seed(layer, inputs, seed):
    with dropout_noise(seed):
        return layer(inputs, training=True)


def test_noise_without_a_seed_differs_from_call_to_call():
    layer, inputs = Dropout(0.5), tf.ones([30, 30])
    assert np.any(layer(inputs, training=True) != layer(inputs, training=True))


def test_inner_noise_leaves_the_outer_one_alone():
    layer, inputs = Dropout(0.5), tf.ones([30, 30])
    with dropout_noise(tf.constant([7, 1])):
        with dropout_noise(None):
            first = layer(inputs, training=True).numpy()
        with dropout_noise(tf.constant([9, 9])):
            layer(inputs, training=True)
        second = layer(inputs, training=True).numpy()
    np.testing.assert_array_equal(first, noise(layer, inputs, [7, 1]))
    np.testing.assert_array_equal(second, noise(layer, inputs, [7, 1], times=2))


def test_symbols_become_padding():
    ids = tf.fill([100, 100], 9)
    with dropout_noise(tf.constant([7, 1])):
        dropped = drop_symbols(ids, 0.3).numpy()
    assert set(np.unique(dropped)) == {0, 9}
    assert (dropped == 0).mean() == pytest.approx(0.3, abs=0.02)


@pytest.mark.parametrize("rate", [-0.1, 1.0])
def test_a_rate_out_of_range_is_refused(rate):
    with pytest.raises(ValueError, match="must be in"):
        Dropout(rate)
