"""What is done if the user leaves everything to the paper, and what may be asked for instead."""

from __future__ import annotations

import pytest

from keras_transformer.errors import UserError
from keras_transformer.hparams.table3 import ROWS
from keras_transformer.reproduce.recipes import Request, plans


def test_table_3_is_the_papers():
    made = plans(Request(table=3, data_dir="data"))
    assert [plan.row for plan in made] == list(ROWS)
    for plan in made:
        assert plan.steps == (300_000 if plan.row == "big" else 100_000)
        assert (plan.beam_size, plan.alpha, plan.extra_length) == (4, 0.6, 50)
        assert plan.averaged == 0 and plan.test_set == "dev" and plan.notes == []
        assert plan.problem == "translate_ende_wmt32k" and plan.target_language == "de"


def test_table_2_is_the_papers():
    made = {plan.row: plan for plan in plans(Request(table=2, data_dir="data"))}
    assert list(made) == ["base_ende", "big_ende", "base_enfr", "big_enfr"]
    assert {(plan.averaged, plan.save_steps, plan.steps) for plan in made.values()} == {
        (5, 1500, 100_000),
        (20, 600, 300_000),
    }
    assert all(plan.test_set == "wmt14/full" and plan.notes == [] for plan in made.values())
    assert [plan.target_language for plan in made.values()] == ["de", "de", "fr", "fr"]
    assert made["big_enfr"].settings.layer_prepostprocess_dropout == 0.1


def test_checkpoints_of_a_shorter_run_lie_as_far_apart_in_proportion():
    (plan,) = plans(Request(table=2, rows=("base_ende",), data_dir="d", steps=1000))
    assert plan.save_steps == 15
    with pytest.raises(UserError, match="5 checkpoints are to be averaged, but 1000 steps"):
        plans(Request(table=2, rows=("base_ende",), data_dir="d", steps=1000, save_steps=251))


def test_table_2_in_the_small_has_a_big_row_in_proportion():
    request = Request(table=2, base_hparams="small", problem="sample_ende", data_dir="data")
    base, big = plans(request)
    assert (base.row, big.row) == ("base_ende", "big_ende")
    assert (base.settings.hidden_size, big.settings.hidden_size) == (256, 512)
    assert base.test_set == "test" and "hidden_size 256 for 512" in base.notes[0]


def test_table_4_is_the_papers():
    options = {"machine_trees": "a.trees=1", "gold_weight": 10.0}
    wsj, semi = plans(Request(table=4, problem_options=options, data_dir="data"))
    assert (wsj.row, semi.row) == ("wsj", "semi")
    assert wsj.problem_options == {} and semi.problem_options == options
    assert (wsj.data_dir, semi.data_dir) == ("data/wsj", "data/semi")
    for plan in (wsj, semi):
        assert (plan.beam_size, plan.alpha, plan.extra_length) == (21, 0.3, 300)
        assert plan.settings.num_hidden_layers == 4 and plan.settings.hidden_size == 1024
        assert plan.test_set == "test" and plan.averaged == 5
    assert [plan.row for plan in plans(Request(table=4, data_dir="data"))] == ["wsj"]
