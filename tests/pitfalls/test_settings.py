"""Overrides that other programs ignored or could not take."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import keras_transformer as kt
from keras_transformer.cli import trainer

DATA = Path(__file__).parent / "data" / "hparam_override.tsv"
# What the second column asks the message to say.
SAYS = {
    "unknown name, suggest": "did you mean learning_rate_decay_scheme?",
    "not an integer": "not an integer",
    "given twice": "given twice",
    "no value": "has no value",
}


def _cases() -> list[list[str]]:
    with DATA.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.parametrize(("overrides", "wanted"), _cases())
def test_each_override_does_what_it_says_or_is_refused(overrides, wanted):
    base = kt.hparams("transformer_base")
    if wanted.startswith("ok"):
        changed = base.override(overrides)
        pairs = (pair.split("=") for pair in overrides.replace(" ", "").split(","))
        for name, text in pairs:
            assert float(getattr(changed, name)) == float(text)
        assert len(base.differences(changed)) == overrides.count("=")
    else:
        with pytest.raises(kt.UserError) as error:
            base.override(overrides)
        assert SAYS[wanted.removeprefix("error: ")] in str(error.value)


def test_a_hyperparameter_whose_default_is_none_can_be_set():
    hp = kt.hparams("transformer_base", "learning_rate_minimum=0.001")
    assert hp.learning_rate_minimum == 0.001


def test_the_log_shows_each_change_with_both_values(tmp_path, capsys):
    overrides = "learning_rate_minimum=0.001, batch_size=1024,num_heads=8"
    flags = [f"--output_dir={tmp_path / 'run'}", f"--hparams=transformer_base,{overrides}"]
    assert trainer.main(flags) == 2  # there is no problem to train on
    assert capsys.readouterr().err.splitlines()[:-1] == [
        "batch_size: 4096 in transformer_base, 1024 on the command line",
        "learning_rate_minimum: None in transformer_base, 0.001 on the command line",
    ]
