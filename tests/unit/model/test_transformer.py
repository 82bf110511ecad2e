"""The model put together: names, sharing, widths, saving, precision."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_transformer as kt
from tests.unit.model.tiny_model import BATCH, INPUTS, TINY, make

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


def test_learned_positions_need_a_length():
    with pytest.raises(kt.UserError, match="max_length is 0"):
        make(overrides="pos=emb,max_length=0")


def test_an_unknown_position_signal_is_refused():
    with pytest.raises(kt.UserError, match="timing_paper"):
        kt.Transformer(12, 12, hidden_size=16, num_heads=2, positions="sine")
