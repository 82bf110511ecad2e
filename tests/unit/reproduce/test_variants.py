"""Rows of Table 3 over the paper's base, and in proportion over smaller ones."""

from __future__ import annotations

import pytest

import keras_transformer as kt
from keras_transformer.errors import UserError
from keras_transformer.hparams.table3 import ROWS
from keras_transformer.reproduce.variants import variant


@pytest.mark.parametrize("row", ROWS)
def test_over_the_papers_base_a_row_is_the_registered_set(row):
    found = variant(row)
    assert found.hparams == kt.hparams(f"table3_{row}")
    assert found.hparams_set == f"table3_{row}" and not found.rounded


def changes(row: str, base: str, overrides: str = "") -> dict:
    found = variant(row, base, overrides)
    return {n: mine for n, mine, _ in found.hparams.differences(kt.hparams(base, overrides))}


@pytest.mark.parametrize(
    ("row", "expected"),
    {
        "base": {},
        "A1": {"num_heads": 1},
        "A2": {"num_heads": 2},
        "A3": {"num_heads": 8},
        "A4": {"num_heads": 16},
        # A quarter and a half of the width 256.
        "B1": {"attention_key_channels": 64},
        "B2": {"attention_key_channels": 128},
        # A third, two thirds and four thirds of three layers.
        "C1": {"num_hidden_layers": 1},
        "C2": {"num_hidden_layers": 2},
        "C3": {"num_hidden_layers": 4},
        "C4": {"hidden_size": 128},
        "C5": {"hidden_size": 512},
        "C6": {"filter_size": 512},
        "C7": {"filter_size": 2048},
        # Rates are no sizes.
        "D1": {"layer_prepostprocess_dropout": 0.0},
        "D2": {"layer_prepostprocess_dropout": 0.2},
        "D3": {"label_smoothing": 0.0},
        "D4": {"label_smoothing": 0.2},
        "E": {"pos": "emb"},
        "big": {
            **{"hidden_size": 512, "filter_size": 2048, "num_heads": 8},
            "layer_prepostprocess_dropout": 0.3,
        },
    }.items(),
)
def test_over_small_sizes_change_by_the_papers_factor(row, expected):
    assert changes(row, "small") == expected
    assert not variant(row, "small").rounded


def test_what_has_to_be_rounded_is_said():
    found = variant("C1", "tiny")
    assert found.hparams.num_hidden_layers == 1 and found.change == "N=1"
    assert found.rounded == "2/6 of N=2 is 0.67: 1"


def test_rows_that_a_base_cannot_tell_apart_are_refused():
    with pytest.raises(UserError, match="C2 over tiny would be the same as row C1"):
        variant("C2", "tiny")
    with pytest.raises(UserError, match="A1 over tiny would be tiny itself"):
        variant("A1", "tiny", "num_heads=1")
    with pytest.raises(UserError, match="D1 over tiny would be tiny itself"):
        variant("D1", "tiny", "layer_prepostprocess_dropout=0.0")
    with pytest.raises(UserError, match="'F1' is not in Table 3"):
        variant("F1")


def test_overrides_change_the_base_and_the_row_wins():
    assert changes("B1", "tiny", "hidden_size=64") == {"attention_key_channels": 16}
    assert variant("D3", "base", "label_smoothing=0.05,batch_size=1000").hparams == kt.hparams(
        "base", "label_smoothing=0.0,batch_size=1000"
    )


@pytest.mark.parametrize(
    ("row", "words"),
    [("B1", "d_k=16"), ("C6", "d_ff=1024"), ("E", "learned positions"), ("base", "")],
)
def test_changes_in_the_papers_symbols(row, words):
    assert variant(row).change == words
