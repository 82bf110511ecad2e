"""Biases written out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tensorflow as tf

from keras_transformer.layers.neighbourhood import Neighbourhood
from keras_transformer.model import masks

GOLDEN = np.load(Path(__file__).parents[2] / "golden" / "attention" / "attention.npz")


def test_padding():
    bias = masks.padding_bias(tf.constant([[3, 1, 0], [0, 0, 0]]))
    assert bias.shape == (2, 1, 1, 3)
    np.testing.assert_array_equal(bias[:, 0, 0] / -1e9, [[0, 0, 1], [1, 1, 1]])


def test_padding_is_that_of_t2t():
    ids = (np.abs(GOLDEN["embedding_to_padding.emb"]).sum(-1) != 0).astype("int32")
    np.testing.assert_allclose(
        masks.padding_bias(tf.constant(ids)), GOLDEN["attention_bias_ignore_padding"]
    )


def test_causal_is_that_of_t2t():
    for length in (1, 5):
        expected = GOLDEN[f"attention_bias_lower_triangle.{length}"]
        np.testing.assert_allclose(masks.causal_bias(length), expected)


def test_neighbourhood():
    near = Neighbourhood(1, shortest_block=2)
    bias = masks.neighbourhood_bias(near, tf.zeros([2, 3]))
    assert bias.shape == (4, 1, 2, 4)
    # Two blocks, the second with one position and one outside the sentence; alike for both rows.
    first, second = [[1, 0, 0, 1], [1, 0, 0, 0]], [[0, 0, 1, 1], [1, 0, 1, 1]]
    np.testing.assert_array_equal(bias[:, 0] / -1e9, [first, second] * 2)


def test_sentences_of_a_row_in_blocks():
    near = Neighbourhood(1, shortest_block=2)
    bias = masks.own_sentence_bias(tf.constant([[1, 1, 2, 2]]), near)
    hidden = [[[1, 0, 0, 1], [1, 0, 0, 1]], [[1, 0, 0, 1], [1, 0, 0, 1]]]
    np.testing.assert_array_equal(bias[:, 0] / -1e9, hidden)


def test_segments():
    # Two sentences and padding, looked at by a target of the same two.
    bias = masks.segment_bias(tf.constant([[1, 2, 2, 0]]), tf.constant([[1, 1, 2, 0, 0]]))
    assert bias.shape == (1, 1, 4, 5)
    np.testing.assert_array_equal(
        bias[0, 0] / -1e9,
        [
            [0, 0, 1, 1, 1],
            [1, 1, 0, 1, 1],
            [1, 1, 0, 1, 1],
            [1, 1, 1, 0, 0],
        ],
    )
