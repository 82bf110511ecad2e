"""Dense products over the last axis."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.layers.initial_values import scaled_uniform
from keras_transformer.layers.linear import Linear, multiply_rows

RANDOM = np.random.default_rng(1)


@pytest.mark.parametrize("use_bias", [True, False])
def test_contract(check_layer, use_bias):
    inputs = RANDOM.normal(size=(2, 3, 8)).astype("float32")
    outputs = check_layer(Linear, {"units": 5, "use_bias": use_bias}, {"inputs": inputs})
    assert outputs.shape == (2, 3, 5)


def test_is_a_product_and_a_sum():
    layer = Linear(2)
    layer.build((None, 3))
    layer.kernel.assign([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    layer.bias.assign([10.0, 20.0])
    # 1·1 + 0·3 − 1·5 + 10 = 6; 1·2 + 0·4 − 1·6 + 20 = 16
    np.testing.assert_array_equal(layer(tf.constant([[1.0, 0.0, -1.0]])), [[6.0, 16.0]])


@pytest.mark.parametrize("shape", [(4, 8), (2, 3, 8), (2, 2, 2, 8)])
def test_leading_axes_come_back(shape):
    inputs = tf.constant(RANDOM.normal(size=shape).astype("float32"))
    kernel = tf.constant(RANDOM.normal(size=(8, 5)).astype("float32"))
    np.testing.assert_allclose(
        multiply_rows(inputs, kernel), np.matmul(inputs, kernel), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize(
    ("shape", "limit"),
    # sqrt(3 / ((in + out) / 2))
    [((512, 512), 0.0765466), ((512, 2048), 0.0484123), ((32, 512), 0.1050210)],
)
def test_initial_limits(shape, limit):
    values = np.abs(scaled_uniform()(shape))
    assert limit * 0.999 < values.max() <= limit * 1.00001
    assert values.mean() == pytest.approx(limit / 2, rel=0.02)


def test_gain_scales_the_variance():
    assert np.abs(scaled_uniform(4.0)((512, 512))).max() == pytest.approx(2 * 0.0765466, rel=1e-3)
