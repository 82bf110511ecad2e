"""Checkpoint to model: prefixes, settings, vocabularies, target space, and what does not fit."""

from __future__ import annotations

import json

import numpy as np
import pytest

from keras_transformer.errors import UserError
from keras_transformer.t2t_compat.loader import describe_checkpoint, load_described, load_model
from keras_transformer.t2t_compat.weight_reader import T2TWeights
from tests.unit.t2t_compat.bundles import BASE_V3, MODELS, changed_copy, without


def logits(model, folder):
    expected = np.load(folder / "expected.npz")
    features = {"inputs": expected["inputs"][:2, :9], "targets": expected["targets"][:2, :9]}
    return model(features).numpy()


def test_a_users_variable_scope_changes_nothing(tmp_path):
    moved = changed_copy(tmp_path / "run", lambda name: name.replace("transformer/", "mine/net/"))
    np.testing.assert_array_equal(
        logits(load_model(moved), BASE_V3), logits(load_model(BASE_V3), BASE_V3)
    )


def test_hparams_json_is_found_here_or_beside_the_checkpoint(tmp_path, monkeypatch):
    prefix = next(BASE_V3.glob("*.index")).with_suffix("")
    monkeypatch.chdir(tmp_path)
    beside = describe_checkpoint(prefix, "hparams.json", target_space_id=0).hparams
    assert beside.num_heads == 4
    values = json.loads((BASE_V3 / "hparams.json").read_text())
    (tmp_path / "hparams.json").write_text(json.dumps({**values, "num_heads": 2}))
    here = describe_checkpoint(prefix, "hparams.json", target_space_id=0).hparams
    assert here.num_heads == 2
    with pytest.raises(UserError, match=r"other\.json cannot be read"):
        describe_checkpoint(prefix, "other.json")


@pytest.mark.parametrize(
    ("left_out", "message"),
    [
        ("^transformer/.*/weights_7$", "lacks a shard: transformer/symbol_modality_199_32/shared"),
        (
            "^transformer/.*decoder/layer_1/ffn/conv2/bias$",
            "without a variable.*decoder/layer_1/feed_forward/output/bias",
        ),
        ("^transformer/.*layer_0/.*/layer_norm/layer_norm_scale$", "norm place"),
    ],
)
def test_what_is_missing_is_named(tmp_path, left_out, message):
    broken = changed_copy(tmp_path / "run", without(left_out))
    with pytest.raises(UserError, match=f"(?s){message}"):
        load_model(broken)


def test_a_variable_without_a_place_is_an_error(tmp_path):
    broken = changed_copy(
        tmp_path / "run",
        lambda name: name.replace("transformer/body/target_space", "transformer/body/mystery"),
    )
    with pytest.raises(UserError, match="(?s)without a place.*mystery_embedding/kernel"):
        load_model(broken)


def test_every_variable_and_every_weight_is_accounted_for():
    loaded = load_described(describe_checkpoint(BASE_V3, target_space_id=0))
    report = loaded.report
    assert {*report.taken, *report.left} == set(loaded.reader.shapes)
    assert not set(report.taken) & set(report.left)
    assert set(report.weights) == set(loaded.model.named_weights())
    assert "optimizer state" in report.left["training/beta1_power"]


def test_another_vocabulary_is_refused():
    with pytest.raises(
        UserError, match="inputs has 200 entries, but the checkpoint's table has 199"
    ):
        load_model(BASE_V3, vocab_sizes={"inputs": 200, "targets": 200})


def test_the_table_may_be_rounded_up():
    folder = MODELS / "one_shard_divisor"
    problem = json.loads((folder / "problem.json").read_text())
    size = problem["input_vocab_size"]
    assert (
        load_model(folder, vocab_sizes={"inputs": size, "targets": size}).source_vocab_size == size
    )
    with pytest.raises(UserError, match="not the vocabulary"):
        load_model(folder, vocab_sizes={"inputs": 3, "targets": 3})


def test_settings_of_another_model_are_refused():
    with pytest.raises(UserError, match="hidden_size=512, but the checkpoint's is 32"):
        load_model(BASE_V3, "transformer_base")
    model = load_model(BASE_V3, "transformer_base", overrides="num_heads=4")
    np.testing.assert_array_equal(logits(model, BASE_V3), logits(load_model(BASE_V3), BASE_V3))


def test_without_any_settings_they_are_asked_for(tmp_path):
    run = changed_copy(tmp_path / "run", lambda name: name)
    (run / "hparams.json").unlink()
    with pytest.raises(UserError, match="--hparams_set"):
        load_model(run)


@pytest.mark.parametrize(
    ("name", "given", "known", "chosen"),
    [
        # Adam's moments show the row that was trained.
        ("base_v3", None, None, 0),
        ("t2t_1.0.14_post_norm_shared", None, 0, 8),
        # Weights alone do not; then the problem's own, then the user's.
        ("base_v1_space8", None, 8, 8),
        ("base_v1_space8", 8, 0, 8),
    ],
)
def test_the_target_space(name, given, known, chosen):
    found = describe_checkpoint(MODELS / name, target_space_id=given, known_target_space_id=known)
    assert found.target_space_id == chosen


def test_a_target_space_that_cannot_be_told_is_asked_for_by_name():
    with pytest.raises(UserError, match="give --target_space_id"):
        describe_checkpoint(MODELS / "base_v1_space8")


def test_a_target_space_against_the_weights_is_warned_of():
    found = describe_checkpoint(BASE_V3, target_space_id=8)
    assert any(
        "WARNING: the checkpoint was trained with target space [0], not 8" in n for n in found.notes
    )


def test_a_target_space_out_of_the_table():
    with pytest.raises(UserError, match="the table has rows 0 to 31"):
        describe_checkpoint(BASE_V3, target_space_id=32)


def test_weights_by_our_names_are_the_models():
    reader, model = T2TWeights(BASE_V3), load_model(BASE_V3)
    weights = model.named_weights()
    assert reader.names() == sorted(weights)
    for name, variable in weights.items():
        assert reader.shape(name) == tuple(variable.shape)
        np.testing.assert_array_equal(reader.tensor(name), variable.numpy())
