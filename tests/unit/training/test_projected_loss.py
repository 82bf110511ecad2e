"""The loss without logits equals the one with them, gradients included."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.training import loss, projected_loss


def both(states, table, labels, smoothing):
    results = []
    for projected in (False, True):
        with tf.GradientTape() as tape:
            tape.watch([states, table])
            if projected:
                total, number = projected_loss.projected_cross_entropy(
                    states, table, labels, smoothing
                )
            else:
                logits = tf.matmul(tf.cast(states, tf.float32), table, transpose_b=True)
                total, number = loss.padded_cross_entropy(logits, labels, smoothing)
            scaled = 0.25 * total  # the gradient that comes from above must count
        results.append((total, number, *tape.gradient(scaled, [states, table])))
    return results


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("chunk", [3, 1024])
@pytest.mark.parametrize("in_graph", [False, True])
def test_equal(monkeypatch, smoothing, chunk, in_graph):
    monkeypatch.setattr(projected_loss, "CHUNK", chunk)
    generator = np.random.default_rng(5)
    states = tf.constant(generator.normal(size=(3, 4, 8)), tf.float32)
    table = tf.constant(generator.normal(size=(11, 8)), tf.float32)
    labels = tf.constant([[3, 10, 3, 1], [2, 1, 0, 0], [7, 7, 1, 0]])
    compare = tf.function(both) if in_graph else both
    plain, ours = compare(states, table, labels, smoothing)
    assert float(ours[1]) == float(plain[1]) == 9
    for one, other in zip(ours, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def test_nothing_but_padding():
    states, table = tf.ones([2, 3, 4]), tf.ones([5, 4])
    _, (total, number, states_gradient, table_gradient) = both(
        states, table, tf.zeros([2, 3], tf.int32), 0.1
    )
    assert (float(total), float(number)) == (0.0, 0.0)
    assert not states_gradient.numpy().any() and not table_gradient.numpy().any()


@pytest.mark.parametrize("dtype", [tf.bfloat16, tf.float16])
def test_lower_precision_is_near(dtype):
    generator = np.random.default_rng(6)
    states = tf.cast(generator.normal(size=(2, 5, 16)), dtype)
    table = tf.constant(generator.normal(size=(40, 16)) * 0.25, tf.float32)
    labels = tf.constant(generator.integers(1, 40, (2, 5)), tf.int32)
    plain, ours = both(states, table, labels, 0.1)
    assert ours[2].dtype == dtype
    for one, other in zip(ours, plain, strict=True):
        np.testing.assert_allclose(tf.cast(one, tf.float32), tf.cast(other, tf.float32), atol=0.05)
    assert float(ours[0]) == pytest.approx(float(plain[0]), rel=5e-3)
