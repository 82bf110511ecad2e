"""Layer normalisation against Tensor2Tensor's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tensorflow as tf

from keras_transformer.layers.layer_norm import LayerNorm

GOLDEN = Path(__file__).parents[2] / "golden" / "attention" / "attention.npz"


def test_contract(check_layer):
    inputs = np.random.default_rng(1).normal(size=(2, 3, 8)).astype("float32")
    check_layer(LayerNorm, {}, {"inputs": inputs})


def test_population_variance():
    # mean 3, variance (4 + 1 + 0 + 9) / 4 = 3.5
    outputs = LayerNorm()(tf.constant([[1.0, 2.0, 3.0, 6.0]]))
    np.testing.assert_allclose(outputs, [[-1.0690448, -0.5345224, 0.0, 1.6035672]], atol=1e-6)


def test_numbers_of_t2t():
    expected = np.load(GOLDEN)
    layer = LayerNorm(1e-6)
    layer.build((None, None, 8))
    layer.scale.assign(expected["layer_norm.scale"])
    layer.bias.assign(expected["layer_norm.bias"])
    np.testing.assert_allclose(
        layer(expected["layer_norm.x"]), expected["layer_norm.eps1e-6.out"], atol=1e-5
    )


def test_gradient_is_that_of_the_formula():
    layer = LayerNorm(1e-3)
    x = tf.constant(np.random.default_rng(2).normal(size=(4, 6)), tf.float32)
    weight = tf.constant(np.random.default_rng(3).normal(size=(4, 6)), tf.float32)
    layer.build(x.shape)
    layer.scale.assign(np.linspace(0.5, 2.0, 6))
    variables = [layer.scale.value, layer.bias.value]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        ours = tf.reduce_sum(layer(x) * weight)
        mean, variance = tf.nn.moments(x, -1, keepdims=True)
        plain = (x - mean) / tf.sqrt(variance + 1e-3) * variables[0] + variables[1]
        theirs = tf.reduce_sum(plain * weight)
    for ours_gradient, theirs_gradient in zip(
        tape.gradient(ours, [x, *variables]), tape.gradient(theirs, [x, *variables]), strict=True
    ):
        np.testing.assert_allclose(ours_gradient, theirs_gradient, atol=1e-5)


def test_sums_are_made_in_float32():
    # 4096 values near 300: their sum would overflow float16, their squares by far.
    inputs = np.linspace(200, 400, 4096)[np.newaxis].astype("float16")
    outputs = LayerNorm(dtype="mixed_float16")(inputs)
    expected = LayerNorm()(inputs.astype("float32"))
    np.testing.assert_allclose(outputs, expected, atol=2e-3)
