"""Several corpora in one training."""

from __future__ import annotations

import functools
from collections import Counter

import numpy as np
import pytest
import tensorflow as tf

import keras_transformer as kt
from keras_transformer.data import mixing, pipeline
from keras_transformer.data.text_problem import Text2TextProblem
from keras_transformer.errors import UserError

SPLITS = [{"split": "train", "shards": 2}, {"split": "dev", "shards": 1}]
WORDS = ("a", "b", "c", "d", "e")


class First(Text2TextProblem):
    approx_vocab_size = 200
    dataset_splits = SPLITS
    marker = "first"
    count = 300

    def generate_samples(self, data_dir, tmp_dir, dataset_split):
        for number in range(self.count if dataset_split == "train" else 5):
            words = " ".join(WORDS[: number % 5 + 1])
            yield {"inputs": f"{self.marker} {words}", "targets": words}


class Second(First):
    marker = "second"
    count = 100
    dataset_splits = SPLITS


class SecondPacked(Second):
    packed_length = 64


MAKE = {"second": Second, "second_rev": functools.partial(Second, True), "first": First}
MAKE["second_packed"] = SecondPacked


def make(name, **options):
    assert not options
    return MAKE[name]()


@pytest.fixture
def data_dir(tmp_path):
    # "second" must be in the vocabulary, or be spelt; the first problem does not have it.
    First().generate_data(str(tmp_path), "")
    return str(tmp_path)


def _mixture(data_dir, records, main=None):
    mixture = mixing.from_records(main or First(), records, make)
    mixture.make_data(data_dir, "")
    return mixture


def _hp():
    return kt.hparams("tiny", "batch_size=64,max_length=64,batch_shuffle_size=4")


def _drawn(data_dir, mixture, batches=150, seed=3):
    """How many sentences of each corpus there are in the first batches."""
    dataset = pipeline.training_dataset(
        mixture.main, data_dir, _hp(), seed=seed, mixed_in=mixture.weighted(data_dir)
    )
    encoder = mixture.main.encoders(data_dir)["inputs"]
    counts = Counter()
    for batch in dataset.take(batches):
        for row in batch["inputs"].numpy():
            counts[encoder.decode([i for i in row.tolist() if i > 1]).split()[0]] += 1
    return counts


def test_flags_say_problems_and_files_with_weights(tmp_path):
    records = mixing.records_from_flags("a=2x,b,c=0.25", "x.en,y.en", "x.de,y.de", "1,3x")
    assert [record["weight"] for record in records] == ["2x", "1x", "0.25", "1", "3x"]
    assert [record["problem"] for record in records[:3]] == ["a", "b", "c"]
    assert records[3]["source"].endswith("/x.en")
    assert records[4]["target"].endswith("/y.de")
    assert mixing.records_from_flags("") == []
    assert mixing.describe(records).startswith("a=2x, b=1x, c=0.25, /")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("a=0",), "'0' is not a weight"),
        (("a=x",), "'x' is not a weight"),
        (("a=nan",), "'nan' is not a weight"),
        (("a=",), "a has no weight"),
        (("", "x.en", ""), "1 files and --mix_target 0"),
        (("", "x.en", "x.de", "1,2"), "2 weights for 1 pairs"),
    ],
)
def test_flags_that_are_wrong(flags, message):
    with pytest.raises(UserError, match=message):
        mixing.records_from_flags(*flags)


def test_a_number_is_how_many_are_drawn_for_one_of_the_first(data_dir):
    mixture = _mixture(data_dir, [{"problem": "second", "options": {}, "weight": "0.5"}])
    counts = _drawn(data_dir, mixture)
    assert counts["second"] / counts["first"] == pytest.approx(0.5, rel=0.3)
    first, second = mixture.shares(data_dir)
    assert (first.records, second.records) == (300, 100)
    assert first.sentence_share == pytest.approx(2 / 3)
    assert second.passes == pytest.approx(1.5)
    # Both have targets of the same lengths.
    assert second.token_share == pytest.approx(1 / 3)
    assert "second: 33.3% of the sentences" in second.as_text()


def test_times_of_a_pass(data_dir):
    mixture = _mixture(data_dir, [{"problem": "second", "options": {}, "weight": "3x"}])
    counts = _drawn(data_dir, mixture)
    assert counts["second"] / counts["first"] == pytest.approx(1, rel=0.3)
    assert mixture.shares(data_dir)[1].passes == pytest.approx(3)


def test_one_pass_without_repeat_has_every_sentence_once(data_dir):
    mixture = _mixture(data_dir, [{"problem": "second", "options": {}, "weight": "0.1"}])
    dataset = pipeline.training_dataset(
        First(), data_dir, _hp(), repeat=False, mixed_in=mixture.weighted(data_dir)
    )
    assert sum(batch["inputs"].shape[0] for batch in dataset) == 400


def test_a_stored_position_goes_on_with_the_same_batches(data_dir, tmp_path):
    """Position, buffers and draws of the mixture come back bit for bit, in the middle of a pass."""
    records = [{"problem": "second", "options": {}, "weight": "0.5"}]
    mixture = _mixture(data_dir, records)

    def iterator():
        return iter(
            pipeline.training_dataset(
                First(), data_dir, _hp(), seed=7, mixed_in=mixture.weighted(data_dir)
            )
        )

    whole = iterator()
    for _ in range(37):
        next(whole)
    state = tf.raw_ops.SerializeIterator(resource_handle=whole._iterator_resource)
    expected = [next(whole) for _ in range(80)]
    resumed = iterator()
    tf.raw_ops.DeserializeIterator(resource_handle=resumed._iterator_resource, serialized=state)
    for batch in expected:
        again = next(resumed)
        assert all(np.array_equal(batch[name], again[name]) for name in ("inputs", "targets"))


def test_the_seed_alone_decides_the_order(data_dir):
    mixture = _mixture(data_dir, [{"problem": "second", "options": {}, "weight": "1"}])
    first, again, other = (
        [
            batch["inputs"].numpy().tolist()
            for batch in pipeline.training_dataset(
                First(), data_dir, _hp(), seed=seed, mixed_in=mixture.weighted(data_dir)
            ).take(20)
        ]
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_another_vocabulary_is_refused_with_both_digests(tmp_path, data_dir):
    path = tmp_path / "vocab.second.200.subwords"
    original = (tmp_path / "vocab.first.200.subwords").read_bytes()
    path.write_bytes(original + b"'more_'\n")
    with pytest.raises(UserError, match=r"sha256 [0-9a-f]{64}, .*first.* [0-9a-f]{64}"):
        _mixture(data_dir, [{"problem": "second", "options": {}, "weight": "1"}])


def test_what_is_missing_is_made_with_the_first_ones_vocabulary(tmp_path, data_dir):
    _mixture(data_dir, [{"problem": "second", "options": {}, "weight": "1"}])
    ours, theirs = (tmp_path / f"vocab.{name}.200.subwords" for name in ("first", "second"))
    assert ours.read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("second_rev", "not the same direction"),
        ("second_packed", "second_packed is packed and first is not"),
        ("first", "there twice"),
    ],
)
def test_parts_that_do_not_fit(name, message):
    with pytest.raises(UserError, match=message):
        mixing.from_records(First(), [{"problem": name, "options": {}, "weight": "1"}], make)


@pytest.mark.parametrize("is_reversed", [False, True])
def test_files_beside_a_problem(tmp_path, data_dir, is_reversed):
    """Files are named in the problem's direction; only their training split is made."""
    (tmp_path / "bt.src").write_text("second a\nsecond b\n" * 30, "utf-8")
    (tmp_path / "bt.tgt").write_text("a\nb\n" * 30, "utf-8")
    names = ("bt.tgt", "bt.src") if is_reversed else ("bt.src", "bt.tgt")
    records = mixing.records_from_flags("", *(str(tmp_path / name) for name in names), "1")
    mixture = _mixture(data_dir, records, First(is_reversed))
    dataset = pipeline.training_dataset(
        mixture.main, data_dir, _hp(), mixed_in=mixture.weighted(data_dir)
    )
    marked, encoder = "targets" if is_reversed else "inputs", First().encoders(data_dir)["inputs"]
    texts = Counter(
        encoder.decode([i for i in row.tolist() if i > 1]).split()[0]
        for batch in dataset.take(60)
        for row in batch[marked].numpy()
    )
    assert texts["first"] > 50
    assert texts["second"] > 50
    assert set(texts) == {"first", "second"}
    # The same files again are taken as they are; others under the same name are not.
    mixture.make_data(data_dir, "")
    (tmp_path / "bt.tgt").write_text("a\nc\n" * 30, "utf-8")
    with pytest.raises(UserError, match="made from other files"):
        mixture.make_data(data_dir, "")


def test_files_that_are_missing(tmp_path, data_dir):
    records = mixing.records_from_flags("", str(tmp_path / "no"), str(tmp_path / "none"))
    with pytest.raises(UserError, match="there is no such file to mix in"):
        _mixture(data_dir, records)
