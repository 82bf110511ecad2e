"""The loss: T2T's values, its constant, and the gradient against automatic differentiation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.training import loss

GOLDEN = np.load(Path(__file__).parents[2] / "golden" / "metrics" / "tensor_metrics.npz")


@pytest.mark.parametrize(
    ("vocab_size", "expected"), [(37000, 1.376948), (33708, 1.367629), (8192, 1.226162)]
)
def test_constant(vocab_size, expected):
    assert loss.smoothing_constant(vocab_size, 0.1) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("smoothing", "expected"), [(0.1, 1.1350315), (0.0, 1.5237441)])
def test_one_position(smoothing, expected):
    logits = tf.constant([[[2.0, 1.0, 0.0, -1.0, 0.0]]])
    value = loss.token_cross_entropy(logits, tf.constant([[1]]), smoothing)
    assert float(value[0, 0]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("situation", ["same_length", "predictions_longer", "labels_longer"])
@pytest.mark.parametrize("smoothing", ["0", "0.1", "0.3"])
def test_as_t2t(situation, smoothing):
    recorded = f"{situation}.padded_cross_entropy_{smoothing}"
    logits, labels = GOLDEN[f"{situation}.logits"], GOLDEN[f"{situation}.labels"]
    total, number = loss.padded_cross_entropy(
        tf.constant(logits), tf.constant(labels), float(smoothing)
    )
    assert float(total) == pytest.approx(float(GOLDEN[f"{recorded}.num"]), rel=1e-5)
    assert float(number) == float(GOLDEN[f"{recorded}.den"])


def test_a_perfect_prediction_costs_nothing():
    # Smoothed labels as probabilities: log 0.9 on the label, log (0.1 / 3) on the other three.
    logits = tf.math.log([[[0.9, 0.1 / 3, 0.1 / 3, 0.1 / 3]]])
    assert float(loss.token_cross_entropy(logits, tf.constant([[0]]), 0.1)[0, 0]) == pytest.approx(
        0.0, abs=1e-6
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradient_equals_that_of_dense_labels(smoothing):
    generator = np.random.default_rng(3)
    logits = tf.constant(generator.normal(size=(2, 4, 7)), tf.float32)
    labels = tf.constant([[3, 6, 1, 0], [2, 2, 0, 0]])
    weights = tf.cast(labels != 0, tf.float32)

    with tf.GradientTape() as tape:
        tape.watch(logits)
        value = loss.padded_cross_entropy(logits, labels, smoothing)[0]
    gradient = tape.gradient(value, logits)

    soft = tf.one_hot(labels, 7, on_value=1 - smoothing, off_value=smoothing / 6)
    expected = (tf.nn.softmax(logits) - soft) * weights[..., None]
    np.testing.assert_allclose(gradient, expected, atol=1e-6)


def test_float16_logits_are_raised_to_float32():
    logits = tf.constant([[[10.0, 0.0, -10.0]]], tf.float16)
    assert loss.token_cross_entropy(logits, tf.constant([[2]])).dtype == tf.float32


def test_nothing_but_padding():
    total, number = loss.padded_cross_entropy(tf.zeros([2, 3, 5]), tf.zeros([2, 3], tf.int32), 0.1)
    assert (float(total), float(number)) == (0.0, 0.0)
