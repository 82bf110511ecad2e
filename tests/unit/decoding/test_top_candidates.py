from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.decoding.top_candidates import block_width, log_normaliser, top_candidates


@pytest.mark.parametrize(
    ("length", "k", "width"),
    [
        (32768, 8, 64),
        (32000, 8, 64),
        (4128, 8, 32),
        (199, 8, None),
        (1000, 8, None),
        (None, 8, None),
    ],
)
def test_block_width(length, k, width):
    assert block_width(length, k) == width


@pytest.mark.parametrize("length", [4096, 4099])
@pytest.mark.parametrize("levels", [3, 50, 10**6])  # few levels: nearly everything is a tie
def test_same_as_top_k(length, levels):
    values = np.random.default_rng(levels).integers(levels, size=(3, 2, length)).astype(np.float32)
    expected = tf.math.top_k(values, 8)
    for call in (top_candidates, tf.function(top_candidates)):
        top, indices = call(tf.constant(values), 8)
        np.testing.assert_array_equal(top, expected.values)
        np.testing.assert_array_equal(indices, expected.indices)


def test_rows_of_unknown_number():
    @tf.function(input_signature=[tf.TensorSpec([None, 2, 4096])])
    def top(values):
        best, indices = top_candidates(values, 8)
        assert best.shape.as_list() == indices.shape.as_list() == [None, 2, 8]
        return indices

    assert top(tf.zeros([5, 2, 4096])).numpy().tolist() == [[list(range(8))] * 2] * 5


@pytest.mark.parametrize("scale", [0.1, 5.0, 60.0])
def test_the_normaliser_is_that_of_the_softmax(scale):
    logits = np.random.default_rng(1).normal(scale=scale, size=(3, 2, 1000)).astype("float32")
    exact = np.log(np.exp(logits.astype("float64")).sum(axis=-1))
    np.testing.assert_allclose(log_normaliser(tf.constant(logits)), exact, rtol=1e-6, atol=2e-6)


def test_the_normaliser_of_banned_entries_and_of_not_a_number():
    banned = tf.constant([[3.0, -1e9, -1e9]])
    np.testing.assert_allclose(log_normaliser(banned), [3.0])
    assert np.isnan(log_normaliser(tf.constant([[1.0, np.nan, 2.0]])).numpy()).all()
