"""Plans: what a restart compares, and what it may change."""

from __future__ import annotations

import dataclasses
import json

import pytest

from keras_transformer.errors import UserError
from keras_transformer.reproduce.plan import PLAN_FILE, read_plan, require_same
from keras_transformer.reproduce.recipes import Request, plans


@pytest.fixture
def plan():
    return plans(Request(table=3, rows=("A1",), data_dir="here", steps=10))[0]


def test_read_back_as_written(plan, tmp_path):
    assert read_plan(tmp_path) is None
    plan.save(tmp_path / "A1")
    assert read_plan(tmp_path / "A1") == plan
    require_same(tmp_path / "A1", read_plan(tmp_path / "A1"), plan)


def test_places_and_speed_may_change(plan):
    other = dataclasses.replace(
        plan, data_dir="there", gpus=1, jit=True, save_steps=7, sustained_tflops=9.5, notes=["x"]
    )
    assert plan.differences(other) == []


def test_what_figures_depend_on_is_compared(plan):
    settings = plan.settings.replace(label_smoothing=0.0).to_dict()
    other = dataclasses.replace(plan, steps=11, seed=2, hparams=settings)
    assert plan.differences(other) == [
        ("seed", 1, 2),
        ("steps", 10, 11),
        ("label_smoothing", 0.1, 0.0),
    ]
    averaged, wider = (dataclasses.replace(plan, averaged=2, save_steps=n) for n in (1, 2))
    assert averaged.differences(wider) == [("save_steps", 1, 2)]


def test_a_setting_that_is_newer_than_the_plan_has_its_default(plan, tmp_path):
    plan.save(tmp_path)
    stored = json.loads((tmp_path / PLAN_FILE).read_text())
    del stored["hparams"]["relu_dropout"]
    (tmp_path / PLAN_FILE).write_text(json.dumps(stored))
    assert read_plan(tmp_path).differences(plan) == []


def test_damaged_settings_are_named_with_their_file(plan, tmp_path):
    plan.save(tmp_path)
    stored = json.loads((tmp_path / PLAN_FILE).read_text())
    for hparams in (5, {"no_such": 1}, {**stored["hparams"], "num_heads": 0}):
        (tmp_path / PLAN_FILE).write_text(json.dumps({**stored, "hparams": hparams}))
        with pytest.raises(UserError, match=f"{PLAN_FILE} is not what kt-reproduce writes"):
            read_plan(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"table": 3}', '{"table": 3, "no_such": 1}'])
def test_a_damaged_plan_is_named(text, tmp_path):
    (tmp_path / PLAN_FILE).write_text(text)
    with pytest.raises(UserError, match="is not what kt-reproduce writes"):
        read_plan(tmp_path)
