"""Weights stored smaller and widened again."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.errors import UserError
from keras_transformer.export.weights import StoredWeights, quantize
from tests.unit.decoding.small_translator import small_model

FEATURES = {"inputs": np.array([[5, 6, 7, 1]]), "targets": np.array([[8, 9, 1]])}


def logits_with(stored: StoredWeights, model) -> np.ndarray:
    with keras.StatelessScope(state_mapping=stored.replacements()):
        return model(FEATURES, training=False).numpy()


def test_a_row_keeps_its_largest_value_and_moves_by_half_a_step_at_most():
    value = np.random.default_rng(1).normal(size=(7, 5)).astype(np.float32)
    value[2] = 0
    for per_row, axis in ((True, 1), (False, 0)):
        whole, factors = quantize(value, per_row)
        assert whole.dtype == np.int8 and factors.size == value.shape[1 - axis]
        back = whole * factors
        assert (np.abs(back - value) <= factors / 2 + 1e-7).all()
        np.testing.assert_allclose(
            np.abs(back).max(axis=axis), np.abs(value).max(axis=axis), rtol=1e-6
        )


def test_float32_weights_give_the_same_numbers():
    model = small_model()
    own = model(FEATURES, training=False).numpy()
    np.testing.assert_array_equal(logits_with(StoredWeights(model), model), own)


@pytest.mark.parametrize(
    ("weight_type", "share_of_bytes", "most"),
    [("float16", 0.5, 0.02), ("bfloat16", 0.5, 0.2), ("int8", 0.36, 0.3)],
)
def test_smaller_weights_are_smaller_and_near(weight_type, share_of_bytes, most):
    model = small_model()
    stored = StoredWeights(model, weight_type)
    assert stored.num_bytes <= share_of_bytes * StoredWeights(model).num_bytes
    off = np.abs(logits_with(stored, model) - model(FEATURES, training=False).numpy())
    assert 0 < off.mean() < most


def test_the_model_computes_with_what_is_stored_and_not_with_its_own():
    model, other = small_model(1), small_model(2)
    stored = StoredWeights(other)
    for own, name in zip(model.weights, model.named_weights(), strict=True):
        assert own.shape == other.named_weights()[name].shape
    mapping = [
        (own, value)
        for own, (_, value) in zip(
            model.named_weights().values(), stored.replacements(), strict=True
        )
    ]
    with keras.StatelessScope(state_mapping=mapping):
        found = model(FEATURES, training=False).numpy()
    np.testing.assert_array_equal(found, other(FEATURES, training=False).numpy())


def test_int8_leaves_vectors_alone():
    stored = StoredWeights(small_model(), "int8")
    for name, variable in stored.variables_by_name.items():
        vector = variable.shape.rank == 1
        assert variable.dtype == (tf.float32 if vector else tf.int8), name


def test_what_does_not_fit_float16_is_refused_by_name():
    model = small_model()
    weight = model.named_weights()["encoder/layer_0/self_attention/query/kernel"]
    weight.assign(np.full(weight.shape, 1e6))
    with pytest.raises(UserError, match="self_attention/query/kernel holds 1e\\+06, too large"):
        StoredWeights(model, "float16")
    StoredWeights(model, "bfloat16")


def test_an_unknown_type_is_refused():
    with pytest.raises(UserError, match="give one of float32, float16, bfloat16, int8"):
        StoredWeights(small_model(), "int4")
