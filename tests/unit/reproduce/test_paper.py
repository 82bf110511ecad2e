"""The paper's own numbers, against each other."""

from __future__ import annotations

import pytest

import keras_transformer as kt
from keras_transformer.reproduce.paper import (
    DEVICES,
    SUSTAINED_FLOPS,
    TABLE2,
    TABLE4,
    TRAINING_SECONDS,
    estimated_flops,
)


@pytest.mark.parametrize("row", TABLE2.values(), ids=TABLE2)
def test_printed_flops_are_hours_times_cards_times_their_speed(row):
    seconds = TRAINING_SECONDS["big" if "big" in row.name else "base"]
    found = estimated_flops(seconds, DEVICES, SUSTAINED_FLOPS["P100"])
    assert f"{found:.1e}" == f"{row.flops:.1e}"


@pytest.mark.parametrize("row", TABLE2.values(), ids=TABLE2)
def test_ten_minutes_between_checkpoints(row):
    seconds_per_step = {"base": 0.4, "big": 1.0}["big" if "big" in row.name else "base"]
    assert row.save_steps * seconds_per_step == 600
    # The averaged part is at most a twentieth to a ninth of the run.
    assert row.averaged * row.save_steps < row.steps / 9


@pytest.mark.parametrize("row", TABLE2.values(), ids=TABLE2)
def test_sets_and_problems_are_there(row):
    hp = kt.hparams(row.hparams_set)
    assert hp.hidden_size == (1024 if "big" in row.name else 512)
    if row.name == "big_enfr":
        assert hp.layer_prepostprocess_dropout == 0.1
    assert kt.problem(row.problem).languages == tuple(row.languages.split("-"))


def test_parsers():
    assert [row.f1 for row in TABLE4.values()] == [91.3, 92.7]
