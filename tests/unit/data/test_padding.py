"""Share of padding in buckets and packed rows."""

from __future__ import annotations

import pytest

import keras_transformer as kt
from keras_transformer.data.padding import padding_report
from keras_transformer.data.text_problem import Text2TextProblem, VocabType
from keras_transformer.errors import UserError

SPLITS = [{"split": "train", "shards": 1}, {"split": "dev", "shards": 1}]


class Letters(Text2TextProblem):
    vocab_type = VocabType.CHARACTER
    dataset_splits = SPLITS

    def generate_samples(self, data_dir, tmp_dir, dataset_split):
        for number in range(200):
            yield {"inputs": "a" * (number % 13 + 1), "targets": "b" * (number % 13 + 2)}


class LettersPacked(Letters):
    packed_length = 64


class LettersSpaced(LettersPacked):
    packed_spacing = 3


def _report(problem, folder, max_length=64, **options):
    problem.generate_data(str(folder), "")
    hp = kt.hparams("tiny", f"batch_size=128,max_length={max_length}")
    return padding_report(problem, str(folder), hp, **options)


def test_packing_saves_padding(tmp_path):
    report = _report(Letters(), tmp_path)
    tokens = sum((n % 13 + 2) + (n % 13 + 3) for n in range(200))
    assert report.examples == 200
    assert report.bucketed.rows == 200
    assert report.bucketed.tokens == report.packed.tokens == tokens
    assert report.packed.rows < 200 / 3
    assert report.packed_length == 64
    assert not report.is_packed


def test_packed_records_are_counted_as_they_are(tmp_path):
    plain = _report(Letters(), tmp_path / "plain")
    packed = _report(LettersPacked(), tmp_path / "packed")
    assert packed.is_packed
    assert packed.packed_length == 64
    assert packed.examples == 200
    # The same examples, in whatever order.
    assert packed.bucketed.tokens == packed.packed.tokens == plain.bucketed.tokens
    assert packed.packed.padding_share < packed.bucketed.padding_share / 2
    before, after = packed.bucketed.padding_share, packed.packed.padding_share
    expected = 1 - (after / (1 - after)) / (before / (1 - before))
    assert packed.saved_share == pytest.approx(expected)
    assert packed.as_json()["padding_saved_share"] == packed.saved_share
    assert f"{after:.1%} packed into rows of 64" in packed.as_text()


def test_the_gaps_between_packed_examples_are_padding(tmp_path):
    dense = _report(LettersPacked(), tmp_path)
    spaced = _report(LettersSpaced(), tmp_path)
    assert spaced.packed.tokens == dense.packed.tokens
    assert spaced.packed.padding > dense.packed.padding + 3 * 2 * (200 - spaced.packed.rows) / 2


def test_limits_of_length_hold(tmp_path):
    report = _report(Letters(), tmp_path, max_length=10)
    # Target lengths 3 to 15, of which those above 10 are dropped.
    assert report.bucketed.dropped == sum(n % 13 + 3 > 10 for n in range(200))
    # Of the packed rows, all but the last, which is not full, are too long.
    report = _report(LettersPacked(), tmp_path, max_length=30)
    assert report.bucketed.rows == 200
    assert (report.packed.rows, report.packed.batches) == (1, 1)
    assert report.packed.dropped > 20


def test_at_most_so_many_records(tmp_path):
    assert _report(Letters(), tmp_path, max_examples=7).examples == 7


def test_data_must_be_there(tmp_path):
    with pytest.raises(UserError, match="kt-datagen"):
        padding_report(Letters(), str(tmp_path), kt.hparams("tiny"))
