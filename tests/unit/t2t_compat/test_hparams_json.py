"""Settings of every release, and sets by name as that release meant them."""

from __future__ import annotations

import json

import pytest

from keras_transformer import registry
from keras_transformer.errors import UserError
from keras_transformer.t2t_compat.checkpoint_files import CheckpointReader
from keras_transformer.t2t_compat.hparams_json import (
    fit_to_layout,
    read_hparams_file,
    settings_of_set,
    translate_hparams,
)
from keras_transformer.t2t_compat.layout import detect_layout
from tests.unit.t2t_compat.bundles import MODELS


def layout_of(name):
    return detect_layout(CheckpointReader(MODELS / name).shapes)


def test_keys_of_2017():
    values = json.loads((MODELS / "t2t_1.0.14_post_norm_shared" / "hparams.json").read_text())
    assert values["norm_type"] == "none" and values["shared_embedding_and_softmax_weights"] == 1
    hp, notes = translate_hparams(values, "hparams.json")
    assert hp.layer_prepostprocess_dropout == values["residual_dropout"] == 0.1
    assert hp.shared_embedding_and_softmax_weights is True
    assert (hp.optimizer, hp.optimizer_adam_beta2) == ("adam", 0.98)
    assert notes == []


def test_unknown_keys_and_paths_are_noted_and_no_error():
    values = {"num_heads": 4, "frobnicate": 3, "data_dir": "/home/someone/gone"}
    hp, notes = translate_hparams(values, "hparams.json")
    assert hp.num_heads == 4
    assert notes == ["keys of hparams.json that are not known here: frobnicate"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("self_attention_type", "dot_product_relative"),
        ("ffn_layer", "local_moe"),
        ("proximity_bias", True),
        ("unidirectional_encoder", True),
        ("hard_attention_k", 5),
    ],
)
def test_a_value_that_means_another_model_is_refused(key, value):
    with pytest.raises(UserError, match=f"{key} is {value!r}"):
        translate_hparams({key: value}, "hparams.json")


@pytest.mark.parametrize(
    ("text", "message"), [("{", "is not JSON"), ("[1]", "is not a JSON object")]
)
def test_a_broken_file(tmp_path, text, message):
    path = tmp_path / "hparams.json"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        read_hparams_file(path)


@pytest.mark.parametrize(
    ("name", "checkpoint", "meant"),
    [
        # Post-norm until 1.2.4.
        ("transformer_base", "t2t_1.0.14_post_norm_shared", "transformer_base_v1"),
        ("transformer_base", "t2t_1.2.9_pre_norm_two_vocabs", "transformer_base_v2"),
        ("transformer_base", "base_v3", "transformer_base"),
        ("transformer_base_v1", "base_v1", "transformer_base_v1"),
    ],
)
def test_a_set_means_what_its_release_meant(name, checkpoint, meant):
    found = settings_of_set(name, layout_of(checkpoint))
    assert found.differences(registry.hparams(meant)) == []


def test_variables_overrule_the_settings():
    hp = fit_to_layout(registry.hparams("transformer_base"), layout_of("base_v1"), "the set")
    assert (hp.hidden_size, hp.filter_size, hp.num_hidden_layers) == (32, 64, 2)
    assert (hp.layer_preprocess_sequence, hp.layer_postprocess_sequence) == ("none", "dan")


def test_heads_that_do_not_divide_the_width():
    hp = registry.hparams("transformer_base", "num_heads=8").override("num_heads=64")
    with pytest.raises(UserError, match="num_heads=64.*32 wide"):
        fit_to_layout(hp, layout_of("base_v1"), "the set")


def test_learned_positions_that_are_not_there():
    hp = registry.hparams("transformer_base", "pos=emb")
    with pytest.raises(UserError, match="no inputs_positional_embedding"):
        fit_to_layout(hp, layout_of("base_v1"), "the set")
