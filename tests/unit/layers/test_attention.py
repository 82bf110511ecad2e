"""Attention for several heads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.dropout import dropout_noise

GOLDEN = np.load(Path(__file__).parents[2] / "golden" / "attention" / "attention.npz")
RANDOM = np.random.default_rng(1)
QUERIES = RANDOM.normal(size=(2, 3, 8)).astype("float32")
MEMORY = RANDOM.normal(size=(2, 5, 8)).astype("float32")
# The second sentence has two positions of padding.
BIAS = np.where([[0, 0, 0, 0, 0], [0, 0, 0, 1, 1]], -1e9, 0.0).astype("float32")[:, None, None]
SIZES = {"num_heads": 2, "key_width": 4, "value_width": 6}


@pytest.mark.parametrize("use_bias", [False, True])
@pytest.mark.parametrize(
    "arrays",
    [
        {"queries": QUERIES},
        {"queries": QUERIES, "memory": MEMORY},
        {"queries": QUERIES, "memory": MEMORY, "bias": BIAS},
    ],
)
def test_contract(check_layer, arrays, use_bias):
    outputs = check_layer(
        MultiHeadAttention, {**SIZES, "use_bias": use_bias, "dropout": 0.1}, arrays
    )
    assert outputs.shape == QUERIES.shape


def plain(layer, queries, memory, bias):
    """The formula, head by head, in float64."""
    query, key, value = (
        np.float64(rows) @ np.float64(linear.kernel)
        for rows, linear in ((queries, layer.query), (memory, layer.key), (memory, layer.value))
    )
    a, c = layer.key_width // layer.num_heads, layer.value_width // layer.num_heads
    heads = []
    for head in range(layer.num_heads):
        logits = query[..., head * a : (head + 1) * a] * a**-0.5
        logits = logits @ np.swapaxes(key[..., head * a : (head + 1) * a], 1, 2) + bias[:, 0]
        weights = np.exp(logits - logits.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        heads.append(weights @ value[..., head * c : (head + 1) * c])
    return np.concatenate(heads, -1) @ np.float64(layer.output_linear.kernel)


def test_formula():
    layer = MultiHeadAttention(**SIZES)
    outputs, weights = layer(QUERIES, memory=MEMORY, bias=BIAS, return_weights=True)
    np.testing.assert_allclose(outputs, plain(layer, QUERIES, MEMORY, BIAS), atol=1e-5)
    assert weights.shape == (2, 2, 3, 5)
    np.testing.assert_allclose(tf.reduce_sum(weights, -1), np.ones((2, 2, 3)), atol=1e-6)
    np.testing.assert_array_equal(weights[1, :, :, 3:], np.zeros((2, 3, 2)))
    np.testing.assert_allclose(
        layer(QUERIES), plain(layer, QUERIES, QUERIES, np.zeros((2, 1, 1, 3))), atol=1e-5
    )


@pytest.mark.parametrize("masked", ["", "_all_masked"])
def test_numbers_of_t2t(masked):
    """T2T's function takes split heads and does not scale: identity projections, scale undone."""
    query, key, value = (GOLDEN[f"dot_product_attention.{name}"] for name in "qkv")
    heads, depth = query.shape[1], query.shape[3]

    def joined(tensor):
        return tensor.transpose(0, 2, 1, 3).reshape(len(tensor), -1, heads * depth)

    # Keys and values differ, so the memory's kernels pick them out of a wider row.
    layer = MultiHeadAttention(heads, heads * depth, heads * depth)
    layer.build((None, None, heads * depth), (None, None, 2 * heads * depth))
    eye, zeros = np.eye(heads * depth), np.zeros((heads * depth, heads * depth))
    layer.query.kernel.assign(eye * depth**0.5)
    layer.key.kernel.assign(np.concatenate([eye, zeros]))
    layer.value.kernel.assign(np.concatenate([zeros, eye]))
    layer.output_linear.kernel.assign(eye)
    outputs = layer(
        joined(query),
        memory=np.concatenate([joined(key), joined(value)], axis=-1),
        bias=GOLDEN[f"dot_product_attention.bias{masked}"],
    )
    np.testing.assert_allclose(
        outputs, joined(GOLDEN[f"dot_product_attention.out{masked}"]), atol=1e-5
    )


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_a_row_that_may_look_nowhere_looks_everywhere_alike(policy):
    layer = MultiHeadAttention(**SIZES, dtype=policy)
    _, weights = layer(
        QUERIES, memory=MEMORY, bias=np.full((2, 1, 1, 5), -1e9, "float32"), return_weights=True
    )
    assert weights.dtype == tf.float32
    np.testing.assert_allclose(weights, np.full((2, 2, 3, 5), 0.2), atol=1e-6)


def test_each_projection_has_the_initial_limits_of_its_own_shape():
    layer = MultiHeadAttention(8, 512, 256)
    layer.build((None, None, 512))
    for linear, limit in (
        (layer.query, (3 / 512) ** 0.5),
        (layer.key, (3 / 512) ** 0.5),
        (layer.value, (3 / 384) ** 0.5),
        (layer.output_linear, (3 / 384) ** 0.5),
    ):
        assert 0.999 * limit < np.abs(linear.kernel).max() <= 1.00001 * limit, linear.name
    assert layer.query.bias is None


def test_dropout_falls_on_the_weights():
    layer = MultiHeadAttention(**SIZES, dropout=0.5, dropout_broadcast_axes=(0, 1))
    with dropout_noise(tf.constant([1, 2])):
        outputs, weights = layer(QUERIES, training=True, return_weights=True)
    np.testing.assert_allclose(tf.reduce_sum(weights, -1), np.ones((2, 2, 3)), atol=1e-6)
    assert np.abs(outputs - layer(QUERIES)).max() > 1e-3


@pytest.mark.parametrize("use_bias", [False, True])
def test_step_by_step_is_the_same_as_all_at_once(use_bias):
    layer = MultiHeadAttention(**SIZES, use_bias=use_bias)
    hidden = np.triu(np.ones((3, 3)), 1) * -1e9
    expected = layer(QUERIES, bias=hidden[None, None].astype("float32"))
    cache, outputs = layer.empty_cache(2), []
    for position in range(3):
        # Three beams, all alike.
        inputs = np.repeat(QUERIES[:, position : position + 1], 3, axis=1)
        output, cache = layer.attend_next(tf.constant(inputs), cache)
        outputs.append(output)
    assert cache["keys"].shape == (2, 3, 2, 3, 2)
    assert cache["values"].shape == (2, 3, 2, 3, 3)
    for beam in range(3):
        stepped = tf.stack([output[:, beam] for output in outputs], axis=1)
        np.testing.assert_allclose(stepped, expected, atol=1e-5)


def test_a_projected_memory_is_the_same_as_the_memory():
    layer = MultiHeadAttention(**SIZES)
    expected = layer(QUERIES, memory=MEMORY, bias=BIAS)
    projected = layer.project_memory(tf.constant(MEMORY))
    np.testing.assert_allclose(
        layer.attend_projected(tf.constant(QUERIES), projected, BIAS), expected, atol=1e-6
    )


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"key_width": 130, "value_width": 128}, "key_width is 130, num_heads is 4"),
        ({"key_width": 128, "value_width": 130}, "value_width is 130, num_heads is 4"),
    ],
)
def test_a_width_that_does_not_divide_is_named(sizes, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(4, **sizes)
