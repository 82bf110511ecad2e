"""A step at a time, against whole sequences; searching with the model."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import keras_transformer as kt
from tests.unit.model.tiny_model import BATCH, INPUTS, TARGETS, make


def test_decoding_without_a_cache_agrees():
    """Greedy decoding by whole passes over the growing target, against `decode`."""
    model = make(overrides="num_hidden_layers=2,initializer_gain=3.0")
    ids, scores = model.decode(INPUTS, beam_size=1, decode_length=7)
    assert ids.dtype == tf.int32
    expected, total = np.zeros((2, 0), "int32"), np.zeros(2)
    ended = np.zeros(2, bool)
    for _ in range(7):
        padded = np.pad(expected, [[0, 0], [0, 1]])
        logits = model({"inputs": INPUTS, "targets": padded}).numpy()[:, -1]
        best = np.where(ended, 0, logits.argmax(-1))
        gain = tf.nn.log_softmax(logits).numpy()[range(2), best]
        total += np.where(ended, 0, gain)
        ended |= best == 1
        expected = np.concatenate([expected, best[:, None].astype("int32")], axis=1)
    length = ids.shape[2]
    np.testing.assert_array_equal(ids[:, 0], expected[:, :length])
    np.testing.assert_allclose(scores[:, 0], total, atol=1e-4)


def test_beams_come_best_first_and_do_not_depend_on_the_batch():
    model = make(overrides="num_hidden_layers=2,initializer_gain=3.0")
    ids, scores = model.decode(INPUTS, beam_size=4, decode_length=[5, 7])
    assert ids.shape[:2] == (2, 4)
    assert (np.diff(scores, axis=1) <= 0).all()
    alone, alone_scores = model.decode(INPUTS[1:, :2], beam_size=4, decode_length=7)
    np.testing.assert_allclose(scores[1:], alone_scores, atol=1e-5)
    for row in range(4):
        one, other = (np.trim_zeros(each.numpy(), "b") for each in (ids[1, row], alone[0, row]))
        np.testing.assert_array_equal(one, other)
    best, _ = model.decode(INPUTS, beam_size=4, decode_length=7, top_beams=1)
    assert best.shape[:2] == (2, 1)


@pytest.mark.parametrize("frozen", ["0", "1"])
@pytest.mark.parametrize("attention_bias", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_the_step_function_is_the_step(monkeypatch, dtype, attention_bias, frozen):
    monkeypatch.setenv("TF_ONEDNN_ASSUME_FROZEN_WEIGHTS", frozen)
    model = make(overrides=f"attention_bias={attention_bias}", dtype=dtype)
    cache, ids = model.start_decoding(INPUTS), tf.zeros([2, 3], tf.int32)
    plain, _ = model.decode_step(ids, tf.constant(0), cache)
    prepared, grown = model.step_function()(ids, tf.constant(0), cache)
    # Two kernels that multiply by the table may round a sum to neighbouring bfloat16 numbers.
    tolerance = 1e-6 if dtype == "float32" else 2**-6
    np.testing.assert_allclose(prepared, plain, atol=tolerance)
    assert grown["self"]["layer_0"]["keys"].shape == (2, 3, 2, 1, 8)
    assert grown["memory"]["layer_0"]["keys"].shape == (2, 2, 5, 8)
    assert grown["memory"]["bias"].shape == (2, 1, 1, 5)


@pytest.mark.parametrize("reach", [1, 3, 6])
def test_restricted_self_attention(reach):
    restricted = make(overrides=f"self_attention_neighbourhood={reach}")
    full = make()
    logits = restricted(BATCH)
    if reach >= TARGETS.shape[1]:
        np.testing.assert_array_equal(logits, full(BATCH))
    else:
        assert np.abs(logits - full(BATCH)).max() > 1e-4
    # One layer: what is further away than `reach` has no influence on the encoder.
    changed = INPUTS.copy()
    changed[0, -1] = 9
    before, after = (restricted.encode(ids).numpy()[0] for ids in (INPUTS, changed))
    moved = np.abs(before - after).max(-1) > 1e-6
    assert moved.tolist() == [4 - position <= reach for position in range(5)]
    cache, ids = restricted.start_decoding(INPUTS), np.zeros((2, 2), "int32")
    for step in range(TARGETS.shape[1]):
        stepped, cache = restricted.decode_step(tf.constant(ids), tf.constant(step), cache)
        np.testing.assert_allclose(stepped[:, 0], logits[:, step], atol=1e-5)
        ids = np.repeat(TARGETS[:, step : step + 1], 2, axis=1)
    assert cache["self"]["layer_0"]["keys"].shape[3] == min(reach + 1, TARGETS.shape[1])


def test_restricted_self_attention_in_blocks():
    """Rows long enough for several blocks, packed: decoding and each sentence alone agree."""
    model = make(overrides="self_attention_neighbourhood=5")
    random = np.random.default_rng(1)
    inputs, targets = random.integers(2, 12, (2, 2, 150)).astype("int32")
    logits, weights = model({"inputs": inputs, "targets": targets}, return_attention=True)
    for name in ("encoder/layer_0/self_attention", "decoder/layer_0/self_attention"):
        assert weights[name].shape == (2, 2, 150, 150)
        np.testing.assert_allclose(
            tf.reduce_sum(weights[name], -1), np.ones((2, 2, 150)), atol=1e-5
        )
        far = np.abs(np.arange(150) - np.arange(150)[:, None]) > 5
        assert not weights[name].numpy()[:, :, far].any()
    cache, ids = model.start_decoding(inputs), np.zeros((2, 1), "int32")
    for step in range(150):
        stepped, cache = model.decode_step(tf.constant(ids), tf.constant(step), cache)
        np.testing.assert_allclose(stepped[:, 0], logits[:, step], atol=2e-5)
        ids = targets[:, step : step + 1]
    # The same two sentences in one row of 300, and with padding behind them.
    packed = {
        "inputs": inputs.reshape(1, -1),
        "targets": targets.reshape(1, -1),
        "inputs_segmentation": np.repeat([[1, 2]], 150, axis=1).astype("int32"),
        "targets_segmentation": np.repeat([[1, 2]], 150, axis=1).astype("int32"),
        "inputs_position": np.tile(np.arange(150, dtype="int32"), 2)[None],
        "targets_position": np.tile(np.arange(150, dtype="int32"), 2)[None],
    }
    # The second sentence's first position reads what stands before it in the row, not zeros.
    joined = model(packed)
    np.testing.assert_allclose(joined[0, :150], logits[0], atol=2e-5)
    padded = model({"inputs": np.pad(inputs, [(0, 0), (0, 90)]), "targets": targets})
    np.testing.assert_allclose(padded, logits, atol=2e-5)


def test_ids_of_a_wrong_rank_are_refused():
    with pytest.raises(kt.UserError, match=r"must be \[sentences, positions\]"):
        make().decode(INPUTS[0])
