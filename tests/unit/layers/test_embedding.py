"""The table of symbols."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.layers.embedding import Embedding, TargetSpaceEmbedding
from keras_transformer.layers.ready_weights import ready_weights

IDS = np.array([[3, 0, 2, 2], [1, 4, 0, 0]], "int32")


def test_contract(check_layer):
    outputs = check_layer(Embedding, {"vocab_size": 5, "width": 8}, {"inputs": IDS})
    assert outputs.shape == (2, 4, 8)


def test_contract_of_the_target_space(check_layer):
    outputs = check_layer(
        TargetSpaceEmbedding, {"width": 8}, {"inputs": np.array([3, 31, 3], "int32")}
    )
    assert outputs.shape == (3, 1, 8)


@pytest.mark.parametrize(("scale", "factor"), [(True, 2.0), (False, 1.0)])
def test_rows_times_the_root_of_the_width(scale, factor):
    layer = Embedding(5, 4, scale=scale)
    layer.build()
    table = layer.table.numpy()
    expected = table[IDS] * factor * (IDS != 0)[..., None]
    np.testing.assert_allclose(layer(IDS), expected, rtol=1e-6)


def test_padding_is_zero_whatever_its_row_holds_and_is_masked():
    layer = Embedding(5, 4)
    outputs = layer(IDS)
    assert np.abs(layer.table[0]).max() > 0
    np.testing.assert_array_equal(outputs.numpy()[IDS == 0], np.zeros((3, 4)))
    np.testing.assert_array_equal(layer.compute_mask(IDS), IDS != 0)


def test_initial_values():
    layer = Embedding(1000, 400)
    layer.build()
    values = layer.table.numpy()
    assert values.std() == pytest.approx(400**-0.5, rel=0.01)
    # Not truncated: of 400,000 normal values some lie beyond four deviations.
    assert np.abs(values).max() > 4 * 400**-0.5


def test_logits_use_the_table_without_the_factor():
    layer = Embedding(5, 4)
    layer.build()
    inputs = np.random.default_rng(1).normal(size=(2, 3, 4)).astype("float32")
    expected = inputs @ layer.table.numpy().T
    np.testing.assert_allclose(layer.logits(tf.constant(inputs)), expected, atol=1e-5)
    with ready_weights(layer.step_weights()):
        layer.table.assign(np.zeros((5, 4)))  # so that it is seen which one is read
        np.testing.assert_allclose(layer.logits(tf.constant(inputs)), expected, atol=1e-5)


def test_logits_are_float32_under_mixed_precision():
    layer = Embedding(5, 4, dtype="mixed_bfloat16")
    outputs = layer(IDS)
    assert outputs.dtype == tf.bfloat16
    assert layer.logits(outputs).dtype == tf.float32


def test_gradient_adds_up_over_equal_ids_and_spares_padding():
    layer = Embedding(5, 4, scale=False)
    layer.build()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(IDS))
    gradient = tape.gradient(loss, layer.table.value)
    assert isinstance(gradient, tf.Tensor)  # dense, not slices
    counts = [0, 1, 2, 1, 1]  # id 2 occurs twice, id 0 gives no gradient
    np.testing.assert_array_equal(gradient, np.repeat(counts, 4).reshape(5, 4))


def test_gradient_of_a_shared_table_is_the_sum_of_its_uses():
    layer = Embedding(5, 4)
    layer.build()

    def loss(lookup):
        inputs = lookup(layer.table.value, IDS) * 2.0 * (IDS != 0)[..., None]
        return tf.reduce_sum(tf.square(tf.matmul(inputs, layer.table.value, transpose_b=True)))

    with tf.GradientTape() as tape:
        ours = tf.reduce_sum(tf.square(layer.logits(layer(IDS))))
    with tf.GradientTape() as plain_tape:
        plain = loss(tf.gather)
    np.testing.assert_allclose(
        tape.gradient(ours, layer.table.value),
        tf.convert_to_tensor(plain_tape.gradient(plain, layer.table.value)),
        rtol=1e-4,
    )


def test_one_target_space_for_all_or_one_each():
    layer = TargetSpaceEmbedding(4)
    layer.build()
    table = layer.table.numpy()
    assert table.shape == (32, 4)
    np.testing.assert_array_equal(layer(tf.constant(8)), table[8:9])
    np.testing.assert_array_equal(layer(tf.constant([8, 0]))[:, 0], table[[8, 0]])
