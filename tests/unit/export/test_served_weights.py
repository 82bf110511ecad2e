"""Weights made when a model is loaded: nothing left to make in a call, nothing more in the file."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.export import saved_model
from keras_transformer.export.served_weights import ServedWeights
from keras_transformer.export.serving_model import ServingModel
from keras_transformer.export.weights import StoredWeights
from tests.unit.decoding.small_translator import small_encoder, small_model

OPTIONS = DecodeOptions(extra_length=9)
ROWS = np.array([[5, 6, 7, 1], [8, 9, 1, 0]], np.int32)
D = 16


def serve(models, weight_type="float32") -> ServingModel:
    encoders = {"inputs": small_encoder(), "targets": small_encoder()}
    return ServingModel(models, encoders, OPTIONS, weight_type)


def answers(function) -> list[np.ndarray]:
    found = function(inputs=tf.constant(ROWS))
    return [found["outputs"].numpy(), found["scores"].numpy()]


def assert_same(found, wanted) -> None:
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-6)


def search_operations(model: ServingModel) -> list[tf.Operation]:
    """Of the graph that holds a search, without its loop, which hands out what it was given."""
    graph = model._search_graphs[1].get_concrete_function().graph
    return [op for op in graph.get_operations() if "While" not in op.type]


@pytest.mark.parametrize("weight_type", ["float32", "int8"])
def test_a_call_neither_turns_the_table_round_nor_joins_or_widens_kernels(weight_type):
    operations = search_operations(serve([small_model(encoder_layers=2)], weight_type))
    entries = small_encoder().vocab_size
    makers = {
        shape: [
            op.type for op in operations for output in op.outputs if output.shape == list(shape)
        ]
        for shape in ((D, entries), (D, 3 * D))
    }
    assert set(makers[D, entries]) == {"EnsureShape"}
    # The encoder's own, which is once for a sentence whatever is kept.
    assert makers[D, 3 * D].count("ConcatV2") == 2
    assert set(makers[D, 3 * D]) == {"ConcatV2", "EnsureShape"}
    casts = [op for op in operations if op.type == "Cast"]
    assert not [op for op in casts if op.inputs[0].dtype == tf.int8]


def test_only_what_differs_from_the_stored_is_made():
    model = small_model(decoder_layers=2)
    made = ServedWeights(model, StoredWeights(model)).resources()[:-1]
    entries = small_encoder().vocab_size
    shapes = sorted(tuple(each.value().shape) for each in made)
    assert shapes == sorted([(D, entries), (D, 3 * D), (D, 3 * D)])


def test_they_are_what_the_model_makes_of_its_weights():
    model = small_model(dtype="mixed_bfloat16")
    served = ServedWeights(model, StoredWeights(model))
    _, step_weights = served.in_graph()
    wanted = model.step_weights()
    assert list(step_weights) == list(wanted)
    for path, value in wanted.items():
        assert step_weights[path].dtype == value.dtype
        np.testing.assert_array_equal(step_weights[path], value)


def test_what_is_emptied_is_filled_again():
    model = serve([small_model()])
    wanted = answers(model.tokens)
    with model.as_stored(), pytest.raises(tf.errors.InvalidArgumentError):
        model.tokens(ROWS)
    assert_same(answers(model.tokens), wanted)


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> dict[str, tuple[Path, list[np.ndarray]]]:
    """Name → where a model lies and what it said before it was saved."""
    above = tmp_path_factory.mktemp("saved")
    models = {
        "float32": serve([small_model()]),
        "ensemble": serve([small_model(n, dtype="mixed_bfloat16") for n in (3, 4)], "int8"),
    }
    found = {}
    for name, model in models.items():
        signatures = model.signatures()
        wanted = answers(model.tokens)
        saved_model.save(model, signatures, above / name, {}, {})
        assert_same(answers(signatures["tokens"]), wanted)
        found[name] = above / name, wanted
    return found


@pytest.mark.slow
def test_the_file_holds_none_of_them(saved):
    folder, _ = saved["float32"]
    shapes = tf.train.list_variables(str(folder / "variables" / "variables"))
    numbers = sum(int(np.prod(shape)) for name, shape in shapes if "VARIABLE_VALUE" in name)
    model = small_model()
    assert numbers == sum(int(np.prod(each.shape)) for each in model.named_weights().values())


@pytest.mark.slow
def test_several_models_and_one_of_them_twice_in_one_process(saved):
    loaded = {name: tf.saved_model.load(str(folder)) for name, (folder, _) in saved.items()}
    twice = tf.saved_model.load(str(saved["float32"][0]))
    for name, each in loaded.items():
        assert_same(answers(each.signatures["tokens"]), saved[name][1])
    del loaded
    gc.collect()
    assert_same(answers(twice.signatures["tokens"]), saved["float32"][1])


@pytest.mark.slow
def test_a_signature_outlives_the_model_it_was_taken_from(saved):
    folder, wanted = saved["float32"]
    function = tf.saved_model.load(str(folder)).signatures["tokens"]
    gc.collect()
    assert_same(answers(function), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["float32", "ensemble"])
def test_a_session_as_tensorflow_serving_has_it(saved, name):
    folder, wanted = saved[name]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.load(session, ["serve"], str(folder))
        signature = meta.signature_def["tokens"]
        fetched = session.run(
            [signature.outputs[each].name for each in ("outputs", "scores")],
            {signature.inputs["inputs"].name: ROWS},
        )
    assert_same(fetched, wanted)
