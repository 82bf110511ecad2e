"""The steps before and after a sub-layer."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.layers.dropout import dropout_noise
from keras_transformer.layers.layer_norm import LayerNorm
from keras_transformer.layers.sublayer import SublayerSteps

RANDOM = np.random.default_rng(1)
X = RANDOM.normal(size=(2, 3, 8)).astype("float32")
RESIDUAL = RANDOM.normal(size=(2, 3, 8)).astype("float32")


@pytest.mark.parametrize(
    ("sequence", "arrays"),
    [
        ("none", {"inputs": X}),
        ("n", {"inputs": X}),
        ("nd", {"inputs": X}),
        ("da", {"inputs": X, "residual": RESIDUAL}),
        ("dan", {"inputs": X, "residual": RESIDUAL}),
    ],
)
def test_contract(check_layer, sequence, arrays):
    check_layer(SublayerSteps, {"sequence": sequence, "dropout": 0.1}, arrays)


@pytest.mark.parametrize(
    ("sequence", "expected"),
    [
        ("none", X),
        ("", X),
        ("a", X + RESIDUAL),
        ("n", LayerNorm()(X)),
        ("dan", LayerNorm()(X + RESIDUAL)),
        ("na", LayerNorm()(X) + RESIDUAL),
    ],
)
def test_letters_apply_from_left_to_right(sequence, expected):
    outputs = SublayerSteps(sequence, dropout=0.5)(X, residual=RESIDUAL)
    np.testing.assert_allclose(outputs, expected, atol=1e-6)


def test_dropout_falls_on_the_sublayer_and_not_on_the_residual():
    steps = SublayerSteps("da", dropout=0.5)
    with dropout_noise(tf.constant([1, 2])):
        outputs = steps(X, residual=RESIDUAL, training=True).numpy()
    dropped = np.isclose(outputs, RESIDUAL)
    assert 0.2 < dropped.mean() < 0.8
    np.testing.assert_allclose(outputs[~dropped], (2 * X + RESIDUAL)[~dropped], atol=1e-6)


def test_a_residual_that_is_missing_is_named():
    with pytest.raises(ValueError, match="adds a residual"):
        SublayerSteps("da")(X)


@pytest.mark.parametrize("sequence", ["x", "nn", "dandan"])
def test_unknown_and_repeated_letters_are_refused(sequence):
    with pytest.raises(ValueError, match="at most once"):
        SublayerSteps(sequence)
