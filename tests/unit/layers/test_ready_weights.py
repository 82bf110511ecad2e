from __future__ import annotations

import threading

import numpy as np
import tensorflow as tf

from keras_transformer.layers.linear import Linear
from keras_transformer.layers.ready_weights import read, ready, ready_weights


def layer(use_bias: bool, dtype: str = "float32") -> Linear:
    made = Linear(3, use_bias=use_bias, dtype=dtype)
    made.build((None, 2))
    return made


def test_nothing_is_ready_outside():
    linear = layer(use_bias=True)
    assert ready(linear.kernel.path) is None
    with ready_weights(linear.step_weights()):
        assert ready(linear.kernel.path) is not None
        seen = []
        other = threading.Thread(target=lambda: seen.append(ready(linear.kernel.path)))
        other.start()
        other.join()
        assert seen == [None]
        with ready_weights({}):
            assert ready(linear.kernel.path) is None
        assert ready(linear.kernel.path) is not None
    assert ready(linear.kernel.path) is None


def test_a_layer_reads_what_was_made_ready_and_no_longer_its_variable():
    linear = layer(use_bias=True)
    inputs = tf.constant([[1.0, 2.0]])
    expected = linear(inputs)
    weights = linear.step_weights()
    linear.kernel.assign(tf.zeros([2, 3]))
    linear.bias.assign(tf.ones([3]))
    with ready_weights(weights):
        np.testing.assert_array_equal(linear(inputs), expected)
    np.testing.assert_array_equal(linear(inputs), np.ones((1, 3)))


def test_weights_are_cast_once():
    linear = layer(use_bias=True, dtype="mixed_bfloat16")
    assert {each.dtype for each in linear.step_weights().values()} == {tf.bfloat16}
    with ready_weights({linear.kernel.path: tf.ones([2, 3], tf.bfloat16)}):
        assert read(linear.kernel, tf.bfloat16).dtype == tf.bfloat16
    assert read(linear.kernel, tf.float32).dtype == tf.float32


def test_a_product_without_a_bias_gets_one_of_zeros_where_weights_are_frozen(monkeypatch):
    linear = layer(use_bias=False)
    assert list(linear.step_weights()) == [linear.kernel.path]
    monkeypatch.setenv("TF_ONEDNN_ASSUME_FROZEN_WEIGHTS", "1")
    weights = linear.step_weights()
    assert len(weights) == 2
    inputs = tf.constant([[1.0, 2.0]])
    with ready_weights(weights):
        np.testing.assert_array_equal(linear(inputs), linear.call(inputs))
    graph = tf.Graph()
    with (
        graph.as_default(),
        ready_weights({path: tf.zeros(each.shape) for path, each in weights.items()}),
    ):
        linear.call(tf.zeros([1, 2]))
    assert "BiasAdd" in {each.type for each in graph.get_operations()}
