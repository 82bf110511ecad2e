"""The parsing recipes."""

from __future__ import annotations

import functools

import pytest

import keras_transformer as kt
from keras_transformer.training.schedule import learning_rate


def test_parsing_is_the_papers_parser():
    hp = kt.hparams("parsing")
    # Section 6.3: 4 layers, d_model 1024; all not tuned is the base model's.
    assert (hp.num_hidden_layers, hp.hidden_size) == (4, 1024)
    assert (hp.layer_preprocess_sequence, hp.optimizer_adam_beta2) == ("none", 0.98)
    # T2T 1.0.14: dropouts, lengths, a slow warm-up to half the paper's rate, two vocabularies.
    assert (hp.attention_dropout, hp.layer_prepostprocess_dropout) == (0.2, 0.2)
    assert (hp.max_length, hp.learning_rate_warmup_steps) == (512, 16000)
    assert (hp.learning_rate, hp.learning_rate_schedule) == (0.05, "legacy")
    assert not hp.shared_embedding_and_softmax_weights


def test_t2ts_parser_keeps_a_learning_rate_that_nothing_reads():
    hp = kt.hparams("transformer_parsing_base")
    assert hp.num_hidden_layers == 6
    assert "legacy" not in hp.learning_rate_schedule
    assert (hp.learning_rate, hp.learning_rate_constant) == (0.05, 2.0)


def test_the_big_parser_shares_where_vocabularies_agree():
    assert kt.hparams("transformer_parsing_big").shared_embedding_and_softmax_weights


def test_the_small_parser_takes_long_linearised_trees():
    hp = kt.hparams("parsing_tiny")
    assert hp.max_length == 512
    assert not hp.shared_embedding_and_softmax_weights


@pytest.mark.parametrize(
    ("name", "peak_step", "halves_every"),
    [
        ("parsing_tiny", 400, 2500),
        ("parsing_small", 1000, 3000),
    ],
)
def test_the_small_parsers_anneal(name, peak_step, halves_every):
    hp = kt.hparams(name)
    rate = functools.partial(learning_rate, hp)
    at = [rate(peak_step + n * halves_every) for n in range(3)]
    assert at[1] == pytest.approx(at[0] / 2, rel=1e-3)
    assert at[2] == pytest.approx(at[0] / 4, rel=1e-3)
    assert rate(peak_step // 2) < at[0]
