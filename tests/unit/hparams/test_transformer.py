"""T2T's registered sets against the values read from the release itself."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from keras_transformer import registry
from keras_transformer.config import HParams
from keras_transformer.errors import UserError

GOLDEN = Path(__file__).parents[2] / "golden" / "hparams"
FACTORS = {
    "C": "constant",
    "W": "linear_warmup",
    "R": "rsqrt_decay",
    "H": "rsqrt_hidden_size",
    "legacy": "legacy",
}


def _golden_columns() -> dict[str, dict[str, str]]:
    with (GOLDEN / "named_sets.tsv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    names = [name for name in rows[0] if name != "hparam"]
    return {name: {row["hparam"]: row[name] for row in rows} for name in names}


@pytest.mark.parametrize(("name", "values"), _golden_columns().items())
def test_values_of_the_release(name, values):
    hp = registry.hparams(name)
    for key, value in values.items():
        if key == "learning_rate_schedule":
            value = "*".join(FACTORS[factor] for factor in value.split("*"))
        assert str(getattr(hp, key)) == value, key


def test_a_derived_set_differs_in_nothing_but_its_row():
    """All else equals base_v1, whose whole file T2T wrote."""
    varying = set(next(iter(_golden_columns().values())))
    for name in _golden_columns():
        differing = {name for name, _, _ in registry.hparams(name).differences(HParams())}
        assert differing <= varying


@pytest.mark.parametrize(
    ("file", "name", "also"),
    [
        ("base_v1", "transformer_base_v1", ""),
        ("base_v2", "transformer_base_v2", ""),
        ("base_v3", "transformer_base", ""),
        ("parsing_base", "transformer_parsing_base", ""),
        ("learned_positions", "transformer_base_v1", "pos=emb,max_length=160"),
    ],
)
def test_files_t2t_wrote(file, name, also):
    tiny = "num_hidden_layers=2,hidden_size=32,filter_size=64,num_heads=4"
    theirs = HParams.from_json((GOLDEN / f"{file}.json").read_text())
    assert registry.hparams(name, f"{tiny},{also}").differences(theirs) == []


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("transformer_l10", {"num_hidden_layers": 10}),
        ("transformer_h32", {"num_heads": 32}),
        ("transformer_k128", {"attention_key_channels": 128}),
        ("transformer_ff4096", {"filter_size": 4096}),
        ("transformer_hs256", {"hidden_size": 256}),
        # Attention and ReLU dropout keep v3's 0.1.
        ("transformer_dr0", {"layer_prepostprocess_dropout": 0.0}),
        ("transformer_ls2", {"label_smoothing": 0.2}),
        (
            "transformer_base_multistep8",
            {"optimizer": "multistep_adam", "optimizer_multistep_accumulate_steps": 8},
        ),
        (
            "transformer_test",
            {"num_hidden_layers": 2, "hidden_size": 16, "filter_size": 8, "num_heads": 2},
        ),
        (
            "transformer_big_dr2",
            {
                "hidden_size": 1024,
                "filter_size": 4096,
                "num_heads": 16,
                "layer_prepostprocess_dropout": 0.2,
            },
        ),
    ],
)
def test_other_sets_state_only_what_differs_from_base(name, changed):
    differences = registry.hparams("transformer_base").differences(registry.hparams(name))
    assert {key: theirs for key, _, theirs in differences} == changed


@pytest.mark.parametrize(
    "name",
    [
        "transformer_prepend",
        "transformer_prepend_v1",
        "transformer_prepend_v2",
        "transformer_relative",
        "transformer_relative_big",
        "transformer_relative_tiny",
        "transformer_tpu",
        "transformer_big_tpu",
        "transformer_packed_tpu",
        "transformer_tiny_tpu",
        "transformer_mlperf_tpu",
        "basic_1",
    ],
)
def test_refused_sets_say_why_and_what_to_take(name):
    with pytest.raises(UserError, match=f"'{name}' is not offered: .*(take|override)"):
        registry.hparams(name)


@pytest.mark.parametrize(
    "name",
    [
        "evolved_transformer_base",
        "imagetransformer_base",
        "transformer_librispeech",
        "transformer_moe_8k",
        "universal_transformer_base",
    ],
)
def test_sets_of_other_models_are_known_and_refused(name):
    with pytest.raises(UserError, match=f"'{name}' is not offered: .*another model"):
        registry.hparams(name)


def test_an_unknown_set_ends_with_the_nearest_one():
    with pytest.raises(UserError, match="transformer_bse.*'transformer_base'"):
        registry.hparams("transformer_bse")
