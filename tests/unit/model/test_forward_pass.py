"""Whole sequences: features, packing, dropout, gradients, where the model runs."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import keras_transformer as kt
from tests.unit.model.tiny_model import BATCH, DROPOUT, INPUTS, TARGETS, make


def test_a_position_sees_no_later_one():
    model = make()
    changed = TARGETS.copy()
    changed[:, 3:] = 2
    before, after = model(BATCH), model({"inputs": INPUTS, "targets": changed})
    # The target is shifted: the logits at 3 still see only positions 0 to 2.
    np.testing.assert_allclose(before[:, :4], after[:, :4], atol=1e-6)
    assert np.abs(before[0, 4] - after[0, 4]).max() > 1e-3


@pytest.mark.parametrize("overrides", ["", "pos=timing_paper", "pos=emb,max_length=6", "pos=none"])
def test_packed_sentences_keep_apart(overrides):
    """Packed in one row, each sentence gets the logits it has alone, but for its first position.

    As in T2T the target is shifted as a whole row, so a sentence's first position is told the
    last symbol of the sentence before it.
    """
    model = make("transformer_base", overrides)
    packed = {
        "inputs": [[5, 6, 7, 1, 8, 1, 0]],
        "inputs_segmentation": [[1, 1, 1, 1, 2, 2, 0]],
        "inputs_position": [[0, 1, 2, 3, 0, 1, 0]],
        "targets": [[4, 5, 6, 9, 8, 1, 3, 4, 1, 0]],
        "targets_segmentation": [[1, 1, 1, 1, 1, 1, 2, 2, 2, 0]],
        "targets_position": [[0, 1, 2, 3, 4, 5, 0, 1, 2, 0]],
    }
    second_told_an_end = {
        "inputs": [[8, 1]],
        "inputs_segmentation": [[2, 2]],
        "inputs_position": [[0, 1]],
        "targets": [[1, 3, 4, 1]],
        "targets_segmentation": [[1, 2, 2, 2]],
        "targets_position": [[0, 0, 1, 2]],
    }
    logits, second = (
        model({name: np.array(ids, "int32") for name, ids in batch.items()}).numpy()
        for batch in (packed, second_told_an_end)
    )
    assert np.isfinite(logits).all()
    first = model({"inputs": INPUTS[:1, :4], "targets": TARGETS[:1]})
    np.testing.assert_allclose(logits[:, :6], first, atol=1e-5)
    np.testing.assert_allclose(logits[:, 6:9], second[:, 1:], atol=1e-5)


def test_positions_from_features_must_be_there():
    model = make(overrides="pos=timing_from_features")
    with pytest.raises(kt.UserError, match="inputs_position"):
        model(BATCH)


def test_the_target_space_moves_every_position():
    model = make()
    default, zero, eight = (
        model.encode(INPUTS, target_space_id=space).numpy() for space in (None, 0, 8)
    )
    np.testing.assert_array_equal(default, zero)
    assert (np.abs(zero - eight).max(-1) > 1e-4).all()  # padding too
    each = model({**BATCH, "target_space_id": [0, 8]}).numpy()
    for row, space in enumerate((0, 8)):
        alone = model({**BATCH, "target_space_id": space}).numpy()
        np.testing.assert_allclose(each[row], alone[row], atol=1e-6)
    chosen = make(target_space_id=8)
    chosen.set_weights(model.get_weights())
    np.testing.assert_array_equal(chosen.encode(INPUTS), eight)


def test_attention_weights_on_request():
    model = make(overrides="num_encoder_layers=2")
    logits, weights = model(BATCH, return_attention=True)
    np.testing.assert_array_equal(logits, model(BATCH))
    assert {name: weight.shape for name, weight in weights.items()} == {
        "encoder/layer_0/self_attention": (2, 2, 5, 5),
        "encoder/layer_1/self_attention": (2, 2, 5, 5),
        "decoder/layer_0/self_attention": (2, 2, 6, 6),
        "decoder/layer_0/cross_attention": (2, 2, 6, 5),
    }
    cross = weights["decoder/layer_0/cross_attention"].numpy()
    np.testing.assert_allclose(cross.sum(-1), np.ones((2, 2, 6)), atol=1e-5)
    assert (cross[1, :, :, 2:] == 0).all()
    _, encoder_weights = model.encode(INPUTS, return_attention=True)
    assert sorted(encoder_weights) == [
        "encoder/layer_0/self_attention",
        "encoder/layer_1/self_attention",
    ]


def test_dropout_follows_its_seed_in_training_only():
    model = make(overrides=DROPOUT)

    @tf.function
    def train(seed):
        return model({**BATCH, "dropout_seed": seed}, training=True)

    one, again, other = (train(tf.constant(seed)) for seed in ([3, 1], [3, 1], [3, 2]))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 1e-3
    quiet = model({**BATCH, "dropout_seed": [3, 1]})
    np.testing.assert_array_equal(quiet, model(BATCH))


@pytest.mark.parametrize("name", ["transformer_base_v1", "transformer_base"])
def test_every_weight_has_a_finite_gradient(name):
    model = make(name, f"{DROPOUT},pos=emb,max_length=8")
    weights = [variable.value for variable in model.trainable_variables]
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.nn.log_softmax(model(BATCH, training=True))[..., 3])
    for path, gradient in zip(model.named_weights(), tape.gradient(loss, weights), strict=True):
        assert isinstance(gradient, tf.Tensor), path
        assert np.isfinite(gradient).all(), path
        assert np.abs(gradient).max() > 0, path


def test_graphs_of_unknown_sizes_and_xla():
    model = make()
    signature = {name: tf.TensorSpec([None, None], tf.int32) for name in BATCH}
    graph = tf.function(lambda batch: model(batch), input_signature=[signature])
    compiled = tf.function(lambda batch: model(batch, training=False), jit_compile=True)
    for batch in (BATCH, {name: ids[:1, :4] for name, ids in BATCH.items()}):
        expected = model(batch)
        np.testing.assert_allclose(graph(batch), expected, atol=1e-5)
        tensors = {name: tf.constant(ids) for name, ids in batch.items()}
        np.testing.assert_allclose(compiled(tensors), expected, atol=1e-5)


@pytest.mark.slow
def test_a_training_step_under_xla():
    model = make(overrides=DROPOUT)
    weights = [variable.value for variable in model.trainable_variables]

    def gradients(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(batch, training=True) ** 2)
        return tape.gradient(loss, weights)

    batch = {name: tf.constant(ids) for name, ids in BATCH.items()}
    batch["dropout_seed"] = tf.constant([1, 2])
    compiled = tf.function(gradients, jit_compile=True)(batch)
    for ours, theirs in zip(compiled, tf.function(gradients)(batch), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_replicas_see_their_own_rows():
    devices = tf.config.list_logical_devices("CPU")
    strategy = tf.distribute.MirroredStrategy([device.name for device in devices][:1])
    with strategy.scope():
        model = make(overrides=DROPOUT)

    @tf.function
    def run():
        def replica():
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(BATCH, training=True) ** 2)
            gradients = tape.gradient(loss, [each.value for each in model.trainable_variables])
            return model(BATCH), tf.linalg.global_norm(gradients)

        return strategy.run(replica)

    logits, norm = run()
    np.testing.assert_allclose(logits, model(BATCH), atol=1e-5)
    assert norm > 0


@pytest.mark.parametrize("call", ["call", "encode"])
def test_ids_of_a_wrong_rank_are_refused(call):
    model, flat = make(), INPUTS[0]
    with pytest.raises(kt.UserError, match=r"must be \[sentences, positions\]"):
        if call == "call":
            model({"inputs": flat, "targets": TARGETS})
        else:
            model.encode(flat)
