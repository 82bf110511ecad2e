"""The contract that every layer keeps."""

from __future__ import annotations

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")
# One rounding of the result's own size, and some on the way.
TOLERANCE = {"mixed_bfloat16": 4e-2, "mixed_float16": 5e-3}


@pytest.fixture
def check_layer(tmp_path):
    """A function that puts a layer through its contract and returns its float32 output.

    Arguments: the layer's class, its constructor's arguments, and the call's arrays by name, the
    first of them the layer's first argument. Checked: the compute dtype of each dtype policy and
    the same numbers in it; the configuration as JSON and back; a finite gradient for every
    weight; the same numbers in a graph of unknown sizes and under XLA; saving and loading.
    """

    def check(layer_class, arguments, arrays):
        layer = layer_class(**arguments, name="checked")
        expected = _first(_call(layer, arrays))
        assert expected.dtype == tf.float32
        assert np.isfinite(expected).all()
        _same_in_every_policy(layer, arrays, expected)
        _same_after_configuration(layer, arrays, expected)
        _gradients_are_finite(layer, arrays)
        _same_in_graphs(layer, arrays, expected)
        _same_after_saving(layer, arrays, expected, tmp_path / "model.keras")
        return expected.numpy()

    return check


def _call(layer, arrays, **arguments):
    first, *others = arrays
    return layer(arrays[first], **{name: arrays[name] for name in others}, **arguments)


def _first(outputs):
    return outputs[0] if isinstance(outputs, tuple) else outputs


def _twin(layer, arrays, **changes):
    config = json.loads(json.dumps(layer.get_config()))
    twin = type(layer).from_config({**config, **changes})
    _call(twin, arrays)
    twin.set_weights(layer.get_weights())
    return twin


def _same_in_every_policy(layer, arrays, expected):
    for policy in POLICIES:
        twin = _twin(layer, arrays, dtype=policy)
        outputs = _first(_call(twin, arrays))
        assert outputs.dtype == twin.compute_dtype, policy
        assert all(each.dtype == "float32" for each in twin.variables), policy
        tolerance = TOLERANCE.get(policy, 0)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(
            tf.cast(outputs, tf.float32), expected, rtol=0, atol=tolerance * scale, err_msg=policy
        )


def _same_after_configuration(layer, arrays, expected):
    twin = _twin(layer, arrays)
    assert twin.get_config() == layer.get_config()
    paths = [each.path for each in layer.variables]
    assert [each.path for each in twin.variables] == paths
    assert len(set(paths)) == len(paths)
    np.testing.assert_array_equal(_first(_call(twin, arrays)), expected)


def _gradients_are_finite(layer, arrays):
    weights = [each.value for each in layer.trainable_variables]
    with tf.GradientTape() as tape:
        outputs = _first(_call(layer, arrays, **_training(layer)))
        # Squares, so that a norm's sum is not constant.
        loss = tf.reduce_sum(tf.square(outputs + 1.0))
    for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
        assert gradient is not None, weight.name
        assert np.isfinite(gradient).all(), weight.name
        assert np.abs(gradient).max() > 0, weight.name


def _training(layer):
    return {"training": True} if layer._call_has_training_arg else {}


def _same_in_graphs(layer, arrays, expected):
    def unknown(array):
        array = np.asarray(array)
        shape = [None] * array.ndim
        if array.dtype.kind == "f" and array.ndim == 3:
            shape[-1] = array.shape[-1]
        return tf.TensorSpec(shape, array.dtype)

    signature = [{name: unknown(array) for name, array in arrays.items()}]
    graph = tf.function(lambda given: _first(_call(layer, given)), input_signature=signature)
    np.testing.assert_allclose(graph(arrays), expected, rtol=0, atol=1e-5)
    compiled = tf.function(lambda given: _first(_call(layer, given)), jit_compile=True)
    tensors = {name: tf.constant(array) for name, array in arrays.items()}
    np.testing.assert_allclose(compiled(tensors), expected, rtol=0, atol=1e-5)


def _same_after_saving(layer, arrays, expected, path):
    inputs = {
        name: keras.Input(array.shape[1:], dtype=array.dtype, name=name)
        for name, array in arrays.items()
    }
    model = keras.Model(inputs, _first(_call(_twin(layer, arrays), inputs)))
    model.save(path)
    loaded = keras.saving.load_model(path)
    np.testing.assert_allclose(loaded(arrays), expected, rtol=0, atol=1e-6)
