"""Learning rates: T2T's recorded ones, and the other factors by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from keras_transformer.config import HParams
from keras_transformer.errors import UserError
from keras_transformer.training.schedule import learning_rate

GOLDEN = Path(__file__).parents[2] / "golden" / "optimizer" / "schedules.json"
RECORDED = json.loads(GOLDEN.read_text())


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_rates_of_every_recorded_set(name):
    given = RECORDED[name]["hparams"]
    keys = [key for key in given if key.startswith("learning_rate") or key == "hidden_size"]
    keys += ["optimizer_multistep_accumulate_steps"]
    optimizer = given["optimizer"].lower()
    hparams = HParams(optimizer=optimizer, **{key: given[key] for key in keys})
    for step, expected in RECORDED[name]["learning_rate_at_global_step"].items():
        assert learning_rate(hparams, int(step)) == pytest.approx(expected, rel=1e-5), step


def test_the_paper_s_formula_is_the_default():
    # Paper 5.3, eq. 3, at the peak of the base model: 512^-0.5 · 4000^-0.5.
    assert learning_rate(HParams(), 3999) == pytest.approx(512**-0.5 * 4000**-0.5)


@pytest.mark.parametrize(
    ("schedule", "step", "expected"),
    [
        ("linear_decay", 0, 1.0),  # clipped: (1000 − 0) / 100
        ("linear_decay", 950, 0.5),
        ("linear_decay", 2000, 0.0),
        ("cosdecay", 10, 1.0),  # still warming up
        ("cosdecay", 50, 0.5),
        ("single_cycle_cos_decay", 10, 1.0),
        ("single_cycle_cos_decay", 505, 0.5),  # half of the 990 steps after the warm-up
        ("single_cycle_cos_decay", 1000, 0.0),
        ("multi_cycle_cos_decay", 60, 0.5),  # half of 100 after the warm-up of 10
        ("exp_decay", 10, 1.0),
        ("exp_decay", 160, 0.5**1.5),
        ("rsqrt_normalized_decay", 40, 0.5),
        ("constant*rsqrt_normalized_decay", 40, 1.5),
    ],
)
def test_factors(schedule, step, expected):
    hparams = HParams(
        learning_rate_schedule=schedule,
        learning_rate_constant=3.0,
        learning_rate_warmup_steps=10,
        learning_rate_decay_steps=100,
        learning_rate_decay_rate=0.5,
    )
    assert learning_rate(hparams, step, train_steps=1000) == pytest.approx(expected, abs=1e-12)


def test_staircase():
    hparams = HParams(
        learning_rate_schedule="exp_decay",
        learning_rate_warmup_steps=10,
        learning_rate_decay_steps=100,
        learning_rate_decay_rate=0.5,
        learning_rate_decay_staircase=True,
    )
    assert learning_rate(hparams, 199) == 0.5


def test_legacy_without_decay_rises_from_a_hundredth():
    hparams = HParams(learning_rate_decay_scheme="none", learning_rate=1.0, optimizer="momentum")
    assert learning_rate(hparams, 0) == pytest.approx(0.01)
    assert learning_rate(hparams, 2000) == pytest.approx(0.1)
    assert learning_rate(hparams, 4000) == 1.0
    assert learning_rate(hparams, 9000) == 1.0


def test_lower_bound():
    assert learning_rate(HParams(learning_rate_minimum=1e-3), 0) == 1e-3


@pytest.mark.parametrize("factor", ["linear_decay", "single_cycle_cos_decay"])
def test_factors_that_need_the_total(factor):
    with pytest.raises(UserError, match=f"{factor} needs --train_steps"):
        learning_rate(HParams(learning_rate_schedule=factor), 5)


def test_cosine_shape_is_symmetric():
    hparams = HParams(learning_rate_schedule="single_cycle_cos_decay", learning_rate_warmup_steps=1)
    early, late = learning_rate(hparams, 26, 101), learning_rate(hparams, 76, 101)
    assert early + late == pytest.approx(1.0)
    assert early == pytest.approx(0.5 + 0.5 * math.cos(math.pi / 4))
