"""The structure of a model, read off its variables."""

from __future__ import annotations

import json

import pytest

from keras_transformer.errors import UserError
from keras_transformer.t2t_compat.checkpoint_files import CheckpointReader
from keras_transformer.t2t_compat.layout import detect_layout, is_bookkeeping
from tests.unit.t2t_compat.bundles import MODELS

NAMES = sorted(path.name for path in MODELS.iterdir() if path.is_dir())


def shapes_of(name):
    return CheckpointReader(MODELS / name).shapes


@pytest.mark.parametrize("name", NAMES)
def test_every_era_is_recognised(name):
    layout = detect_layout(shapes_of(name))
    hparams = json.loads((MODELS / name / "hparams.json").read_text())
    problem = json.loads((MODELS / name / "problem.json").read_text())
    layers = hparams["num_hidden_layers"]
    divisor = hparams.get("vocab_divisor", 1)
    assert layout.hidden_size == hparams["hidden_size"]
    assert layout.filter_size == hparams["filter_size"]
    assert layout.key_size == (hparams["attention_key_channels"] or layout.hidden_size)
    assert layout.value_size == (hparams["attention_value_channels"] or layout.hidden_size)
    assert layout.encoder_layers == (hparams.get("num_encoder_layers") or layers)
    assert layout.decoder_layers == (hparams.get("num_decoder_layers") or layers)
    assert layout.pre_norm == (hparams.get("layer_preprocess_sequence", "none") == "n")
    assert layout.padded_vocab_sizes == {
        "inputs": -(-problem["input_vocab_size"] // divisor) * divisor,
        "targets": -(-problem["target_vocab_size"] // divisor) * divisor,
    }
    assert set(layout.shard_counts.values()) == {hparams["symbol_modality_num_shards"]}
    assert bool(layout.max_length) == (hparams["pos"] == "emb")


@pytest.mark.parametrize(
    ("name", "era", "bias", "at_padding"),
    [
        ("t2t_1.0.14_post_norm_shared", "A", True, True),
        ("t2t_1.1.9_post_norm_shared", "B", True, True),
        ("t2t_1.2.9_post_norm_shared", "B", True, False),
        ("t2t_1.2.9_pre_norm_two_vocabs", "B", True, False),
        ("t2t_1.3.2_post_norm_shared", "D", False, None),
        ("base_v1", "D", False, None),
    ],
)
def test_what_parts_the_releases(name, era, bias, at_padding):
    layout = detect_layout(shapes_of(name))
    assert (layout.era, layout.attention_bias) == (era, bias)
    assert layout.feed_forward_at_padding is at_padding


@pytest.mark.parametrize("scope", ["mine/", "a/b/transformer/"])
def test_any_prefix_is_found(scope):
    renamed = {
        scope + name.removeprefix("transformer/"): s for name, s in shapes_of("base_v2").items()
    }
    assert detect_layout(renamed).prefix == scope


def test_missing_shard_is_named():
    shapes = shapes_of("base_v2")
    del shapes["transformer/symbol_modality_199_32/shared/weights_7"]
    with pytest.raises(UserError, match=r"shared table lacks a shard: .*/weights_7 \(15 of 16"):
        detect_layout(shapes)


def test_missing_last_shards_show_in_the_rows():
    shapes = shapes_of("base_v2")
    del shapes["transformer/symbol_modality_199_32/shared/weights_15"]
    with pytest.raises(UserError, match="187 rows in 15 shards, but its name says 199"):
        detect_layout(shapes)


@pytest.mark.parametrize(
    ("left_out", "message"),
    [
        ("/symbol_modality_", "holds no T2T Transformer"),
        ("/decoder/layer_", "has no decoder layers"),
        ("/encoder/layer_0/", "encoder/layer_0 is missing"),
        ("/encoder/layer_0/.*/q/kernel", "self_attention/multihead_attention/q/kernel is missing"),
        ("/multihead_attention/", "none of T2T's Transformer layouts"),
        ("/conv1/", "no feed-forward kernel"),
    ],
)
def test_what_is_no_transformer_or_not_whole(left_out, message):
    import re

    shapes = {n: s for n, s in shapes_of("base_v2").items() if not re.search(left_out, n)}
    with pytest.raises(UserError, match=message):
        detect_layout(shapes)


def test_foreign_variables_are_named():
    with pytest.raises(UserError, match="the first are bert/embeddings, bert/pooler"):
        detect_layout({"bert/embeddings": (5, 3), "bert/pooler": (3, 3)}, "x")


@pytest.mark.parametrize(
    ("name", "is_no_weight"),
    [
        ("global_step", True),
        ("max_nonpadding", True),
        ("training/transformer/body/x/kernel/Adam_1", True),
        ("training/beta1_power", True),
        ("losses_avg/problem_0/total_loss", True),
        ("train_stats/problem_0_steps", True),
        ("train_state", True),
        ("transformer/body/encoder/layer_0/ffn/conv1/kernel", False),
        ("transformer/symbol_modality_199_32/shared/weights_0", False),
    ],
)
def test_bookkeeping(name, is_no_weight):
    assert is_bookkeeping(name) == is_no_weight
