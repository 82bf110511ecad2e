"""The model as a whole: names, sharing, features, decoding, saving, where it runs."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_transformer as kt

TINY = "hidden_size=16,filter_size=32,num_heads=2,num_hidden_layers=1"
INPUTS = np.array([[5, 6, 7, 1, 0], [8, 1, 0, 0, 0]], "int32")
TARGETS = np.array([[4, 5, 6, 9, 8, 1], [3, 4, 1, 0, 0, 0]], "int32")
BATCH = {"inputs": INPUTS, "targets": TARGETS}


def make(name="transformer_base_v1", overrides="", source=12, target=12, **arguments):
    keras.utils.set_random_seed(1)
    hp = kt.hparams(name, TINY).override(overrides)
    return kt.Transformer.from_hparams(
        hp, source_vocab_size=source, target_vocab_size=target, **arguments
    )


ATTENTION = ["key/kernel", "output/kernel", "query/kernel", "value/kernel"]
FEED_FORWARD = ["hidden/bias", "hidden/kernel", "output/bias", "output/kernel"]
NORM = ["bias", "scale"]


def expected_names(pre_norm):
    names = ["shared_embedding/weights", "target_space_embedding/weights"]
    for stack, attentions in (
        ("encoder", ["self_attention"]),
        ("decoder", ["self_attention", "cross_attention"]),
    ):
        for sublayer in [*attentions, "feed_forward"]:
            parts = FEED_FORWARD if sublayer == "feed_forward" else ATTENTION
            parts = [*parts, *(f"layer_norm/{part}" for part in NORM)]
            names += [f"{stack}/layer_0/{sublayer}/{part}" for part in parts]
        if pre_norm:
            names += [f"{stack}/final_layer_norm/{part}" for part in NORM]
    return sorted(names)


@pytest.mark.parametrize(
    ("name", "pre_norm"), [("transformer_base_v1", False), ("transformer_base", True)]
)
def test_names_of_the_weights(name, pre_norm):
    model = make(name)
    assert sorted(model.named_weights()) == expected_names(pre_norm)
    assert len(model.named_weights()) == len(model.trainable_variables)
    # The same for a second model, and for one made inside another layer's scope.
    with keras.name_scope("outer"):
        assert sorted(make(name).named_weights()) == expected_names(pre_norm)


def test_names_where_both_sides_of_a_sublayer_normalise():
    hp = kt.hparams("transformer_base", TINY).replace(layer_postprocess_sequence="dan")
    names = kt.Transformer.from_hparams(hp, 12, 12).named_weights()
    assert "encoder/layer_0/feed_forward/layer_norm/scale" in names
    assert "encoder/layer_0/feed_forward/layer_norm_after/scale" in names


@pytest.mark.parametrize(
    ("overrides", "source", "target", "tables"),
    [
        ("", 12, 12, {"shared_embedding": 12}),
        # Vocabularies of two sizes share nothing, whatever the settings say.
        ("", 12, 14, {"inputs_embedding": 12, "targets_embedding": 14, "softmax": 14}),
        (
            "shared_embedding_and_softmax_weights=false",
            12,
            12,
            {"inputs_embedding": 12, "targets_embedding": 12, "softmax": 12},
        ),
        (
            "shared_embedding_and_softmax_weights=false,shared_embedding=true",
            12,
            12,
            {"shared_embedding": 12, "softmax": 12},
        ),
        ("vocab_divisor=8", 12, 12, {"shared_embedding": 16}),
    ],
)
def test_tables(overrides, source, target, tables):
    model = make(overrides=overrides, source=source, target=target)
    weights = model.named_weights()
    found = {
        name.partition("/")[0]: weight.shape[0]
        for name, weight in weights.items()
        if name.endswith("/weights") and not name.startswith("target_space")
    }
    assert found == tables
    width = tables.get("softmax", tables.get("shared_embedding"))
    assert model(BATCH).shape == (2, 6, width)


def test_biases_and_widths_of_attention():
    model = make(
        overrides="attention_bias=true,attention_key_channels=4,attention_value_channels=6"
    )
    weights = model.named_weights()
    for attention in ("encoder/layer_0/self_attention", "decoder/layer_0/cross_attention"):
        for name, shape in {
            "query/kernel": (16, 4),
            "key/bias": (4,),
            "value/kernel": (16, 6),
            "output/kernel": (6, 16),
            "output/bias": (16,),
        }.items():
            assert weights[f"{attention}/{name}"].shape == shape
    assert model(BATCH).shape == (2, 6, 12)


def test_depths_may_differ():
    names = make(overrides="num_encoder_layers=2,num_decoder_layers=1").named_weights()
    assert any(name.startswith("encoder/layer_1/") for name in names)
    assert not any(name.startswith("decoder/layer_1/") for name in names)


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


DROPOUT = "attention_dropout=0.1,relu_dropout=0.1,symbol_dropout=0.1"


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


def test_saving_and_loading(tmp_path):
    model = make("transformer_base", "attention_dropout_broadcast_dims=0,1", target=14)
    path = tmp_path / "model.keras"
    model.save(path)
    loaded = keras.saving.load_model(path)
    assert loaded.get_config() == model.get_config()
    np.testing.assert_array_equal(loaded(BATCH), model(BATCH))
    model.save_weights(tmp_path / "only.weights.h5")
    other = make("transformer_base", "attention_dropout_broadcast_dims=0,1", target=14)
    other.load_weights(tmp_path / "only.weights.h5")
    np.testing.assert_array_equal(other(BATCH), model(BATCH))


@pytest.mark.parametrize(
    ("overrides", "policy"),
    [
        ("", "float32"),
        ("activation_dtype=bfloat16", "mixed_bfloat16"),
        ("activation_dtype=float16", "mixed_float16"),
        ("gpu_automatic_mixed_precision=true", "mixed_float16"),
    ],
)
def test_precision_follows_the_settings(overrides, policy):
    model = make(overrides=overrides)
    assert model.dtype_policy.name == policy
    assert model(BATCH).dtype == tf.float32
    assert model.encode(INPUTS).dtype == model.compute_dtype
    assert {variable.dtype for variable in model.variables} == {"float32"}


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


@pytest.mark.parametrize("call", ["call", "encode", "decode"])
def test_ids_of_a_wrong_rank_are_refused(call):
    model = make()
    flat = INPUTS[0]
    with pytest.raises(kt.UserError, match=r"must be \[sentences, positions\]"):
        if call == "call":
            model({"inputs": flat, "targets": TARGETS})
        else:
            getattr(model, call)(flat)


def test_learned_positions_need_a_length():
    with pytest.raises(kt.UserError, match="max_length is 0"):
        make(overrides="pos=emb,max_length=0")


def test_an_unknown_position_signal_is_refused():
    with pytest.raises(kt.UserError, match="timing_paper"):
        kt.Transformer(12, 12, hidden_size=16, num_heads=2, positions="sine")
