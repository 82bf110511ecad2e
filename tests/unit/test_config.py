"""HParams: types, bounds, overrides, and T2T's hparams.json."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from keras_transformer.config import FIELDS, HParams
from keras_transformer.config_ignorable import IGNORABLE
from keras_transformer.errors import UserError

GOLDEN = Path(__file__).parents[1] / "golden" / "hparams"
# The shape of the tiny models beside which T2T wrote the files.
TINY = {"num_hidden_layers": 2, "hidden_size": 32, "filter_size": 64, "num_heads": 4}


def test_instances_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        HParams().batch_size = 1  # type: ignore[misc]


def test_every_field_has_a_meaning_a_source_and_a_known_type():
    for name, field in FIELDS.items():
        assert field.metadata["meaning"], name
        assert field.metadata["source"], name
        assert str(field.type).removesuffix(" | None") in ("int", "float", "bool", "str"), name


def test_no_name_is_both_live_and_ignorable():
    assert not FIELDS.keys() & IGNORABLE.keys()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"hidden_size": 130, "num_heads": 4},
            "hidden_size is 130, num_heads is 4: the first must be a multiple of the second",
        ),
        ({"attention_key_channels": 100}, "attention_key_channels is 100, num_heads is 8"),
        ({"attention_value_channels": 12}, "attention_value_channels is 12, num_heads is 8"),
        ({"num_heads": 0}, "num_heads is 0: it must be at least 1"),
        ({"relu_dropout": 1.0}, "relu_dropout is 1.0: it must be below 1.0"),
        ({"label_smoothing": -0.1}, "label_smoothing is -0.1: it must be at least 0.0"),
        ({"norm_epsilon": 0.0}, "norm_epsilon is 0.0: it must be above 0.0"),
        ({"length_bucket_step": 1.0}, "length_bucket_step is 1.0: it must be above 1.0"),
        ({"pos": "timimg"}, "did you mean timing?"),
        ({"optimizer": "Adam"}, "did you mean adam?"),
        ({"norm_type": "batch"}, "norm_type is 'batch': only layer is offered"),
        ({"layer_preprocess_sequence": "na"}, "made of the letters nd"),
        ({"layer_postprocess_sequence": "dza"}, "made of the letters nda"),
        ({"attention_dropout_broadcast_dims": "0;1"}, "write axes with commas"),
        ({"learning_rate_schedule": "constant*linear_warmp"}, "did you mean linear_warmup?"),
        ({"pos": "emb", "max_length": 0}, "learned positions need a max_length"),
        ({"min_length": 300}, "min_length is 300, max_length is 256"),
        ({"batch_size": 10.5}, "batch_size is 10.5, which is not an integer"),
        ({"batch_size": True}, "batch_size is True, which is not an integer"),
        ({"learning_rate": float("nan")}, "learning_rate is nan, which is not a number"),
        ({"shared_embedding": 1}, "shared_embedding is 1, which is not true or false"),
        ({"pos": None}, "pos is None, which is not a string"),
        ({"hiden_size": 64}, "hiden_size is not a hyperparameter; did you mean hidden_size?"),
    ],
)
def test_a_bad_value_is_refused_with_the_rule(changes, message):
    with pytest.raises(UserError) as error:
        HParams().replace(**changes)
    assert message in str(error.value)


def test_whole_numbers_pass_between_int_and_float():
    hp = HParams(learning_rate=1, batch_size=2048.0)  # type: ignore[arg-type]
    assert (hp.learning_rate, hp.batch_size) == (1.0, 2048)
    assert type(hp.learning_rate) is float
    assert type(hp.batch_size) is int


@pytest.mark.parametrize(
    ("overrides", "changed"),
    [
        ("", {}),
        ("batch_size=1024,num_heads=4", {"batch_size": 1024, "num_heads": 4}),
        ("learning_rate=1", {"learning_rate": 1.0}),
        ("learning_rate=2e-1", {"learning_rate": 0.2}),
        (
            "shared_embedding=true,use_pad_remover=0",
            {"shared_embedding": True, "use_pad_remover": False},
        ),
        # The default is None, so only the declared type can tell how to read it.
        ("learning_rate_minimum=1e-5", {"learning_rate_minimum": 1e-5}),
        ("learning_rate_minimum=None", {}),
        # The string none, not the null value.
        ("pos=none", {"pos": "none"}),
        # Values with commas of their own.
        (
            "relu_dropout_broadcast_dims=0,1,batch_size=8",
            {"relu_dropout_broadcast_dims": "0,1", "batch_size": 8},
        ),
        ("relu_dropout_broadcast_dims=[0, 1]", {"relu_dropout_broadcast_dims": "0,1"}),
        (
            "learning_rate_schedule=constant*rsqrt_decay",
            {"learning_rate_schedule": "constant*rsqrt_decay"},
        ),
        # Checked only when all are applied: neither alone would pass.
        ("hidden_size=130,num_heads=13", {"hidden_size": 130, "num_heads": 13}),
        # T2T's own hyperparameters that change nothing here.
        ("dropout=0.2,moe_num_experts=16", {}),
    ],
)
def test_overrides(overrides, changed):
    base = HParams()
    differences = base.differences(base.override(overrides))
    assert {name: theirs for name, _, theirs in differences} == changed


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ("dropout=0.3", "dropout is 0.3: only 0.2 is offered"),
        ("data_dir=x", "data_dir is not a hyperparameter"),
        ("batch_size=", "batch_size is '', which is not an integer"),
        ("use_pad_remover=maybe", "which is not true or false"),
        ("relu_dropout_broadcast_dims=1,batch_size", "'batch_size' has no value"),
        ("=3", "'' is not a hyperparameter's name"),
        ("num_heads[0]=3", "'num_heads[0]' is not a hyperparameter's name"),
        ("learning_rate=inf", "learning_rate is 'inf', which is not a number"),
    ],
)
def test_bad_overrides(overrides, message):
    with pytest.raises(UserError) as error:
        HParams().override(overrides)
    assert message in str(error.value)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_t2t_hparams_json_comes_back_with_every_key_and_value(path):
    theirs = json.loads(path.read_text())
    run = {
        key: theirs.pop(key) for key in sorted(theirs) if key not in FIELDS and key not in IGNORABLE
    }
    ours = json.loads(HParams.from_json(path.read_text()).to_json())
    assert {name: ours[name] for name in theirs} == theirs
    # What is written besides: our own few fields and nothing else.
    assert ours.keys() - theirs.keys() == {"attention_bias", "self_attention_neighbourhood"}
    assert {"data_dir"} <= run.keys()


def test_the_defaults_are_t2ts_base_v1():
    theirs = HParams.from_json((GOLDEN / "base_v1.json").read_text())
    assert HParams().replace(**TINY) == theirs


def test_json_is_sorted_and_makes_the_round_trip():
    hp = HParams().replace(pos="emb", learning_rate_minimum=1e-6)
    text = hp.to_json(data_dir="/data", train_steps=10)
    assert list(json.loads(text)) == sorted(json.loads(text))
    assert json.loads(text)["train_steps"] == 10
    assert HParams.from_json(text) == hp


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "must be one JSON object"),
        ('{"hidden_sizes": 3}', "hidden_sizes is not a hyperparameter; did you mean hidden_size?"),
        ('{"unidirectional_encoder": true}', "is True: only False is offered"),
        ('{"dropout": "0.2"}', "dropout is '0.2': only 0.2 is offered"),
        ('{"batch_size": "many"}', "batch_size is 'many', which is not an integer"),
    ],
)
def test_bad_json(text, message):
    with pytest.raises(UserError) as error:
        HParams.from_json(text)
    assert message in str(error.value)


def test_sources_follow_a_value_and_do_not_count_in_comparisons():
    base = HParams()
    wide = base.derive("paper Table 3, C5", hidden_size=1024)
    assert wide.source_of("hidden_size") == "paper Table 3, C5"
    assert wide.source_of("num_heads") == base.source_of("num_heads") == "paper 3.2.2"
    assert wide.override("num_heads=4").source_of("num_heads") == "override"
    assert wide == base.replace(hidden_size=1024)


def test_derived_shape():
    hp = HParams(num_decoder_layers=2, attention_key_channels=128)
    assert (hp.encoder_layers, hp.decoder_layers) == (6, 2)
    assert (hp.key_width, hp.value_width) == (128, 512)
    assert HParams(relu_dropout_broadcast_dims="0,1").broadcast_axes(
        "relu_dropout_broadcast_dims"
    ) == (0, 1)
