"""Batches from shards, against Tensor2Tensor's."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import HParams
from keras_transformer.data import generation, pipeline
from keras_transformer.data.text_problem import Text2TextProblem, VocabType
from keras_transformer.errors import UserError

GOLDEN = Path(__file__).parents[2] / "golden" / "data_pipeline"
DATA = str(GOLDEN / "data")


class OracleToyEnde(Text2TextProblem):
    approx_vocab_size = 256


class Numbers(Text2TextProblem):
    """900 examples of four digits and 100 of three, as bytes."""

    vocab_type = VocabType.CHARACTER

    def generate_samples(self, data_dir, tmp_dir, dataset_split):
        for number in range(1000):
            yield {"inputs": "a", "targets": f"{number:04d}" if number < 900 else str(number)}


def _hp(**values):
    return HParams().replace(**{"batch_size": 256, "max_length": 64, **values})


def _without_empty_rows(rows):
    return [row for row in rows if any(row)]


@pytest.mark.parametrize("case", json.loads((GOLDEN / "eval_batches.json").read_text()))
def test_evaluation_batches_are_tensor2tensors(case):
    hp = _hp(batch_size=case["batch_size"], max_length=case["max_length"], **case["other_hparams"])
    batches = list(pipeline.evaluation_dataset(OracleToyEnde(), DATA, hp).as_numpy_iterator())
    assert len(batches) == len(case["batches"])
    for ours, theirs in zip(batches, case["batches"], strict=True):
        for side in ("inputs", "targets"):
            assert ours[side].dtype == np.int32
            # T2T fills a fixed-size batch up with empty rows.
            assert ours[side].tolist() == _without_empty_rows(theirs[side])


def _take(dataset, count):
    return [
        {name: value.copy() for name, value in batch.items()}
        for batch in dataset.take(count).as_numpy_iterator()
    ]


def _equal(left, right):
    return len(left) == len(right) and all(
        a.keys() == b.keys() and all(np.array_equal(a[k], b[k]) for k in a)
        for a, b in zip(left, right, strict=True)
    )


def _pairs(batches):
    return sorted(
        (tuple(s[s != 0]), tuple(t[t != 0]))
        for batch in batches
        for s, t in zip(batch["inputs"], batch["targets"], strict=True)
    )


def test_one_pass_gives_every_training_example_once():
    batches = list(
        pipeline.training_dataset(
            OracleToyEnde(), DATA, _hp(), seed=1, repeat=False
        ).as_numpy_iterator()
    )
    records = json.loads((GOLDEN / "records.json").read_text())["records_in_file_order"]
    expected = sorted(
        (tuple(r["inputs"]), tuple(r["targets"]))
        for name, shard in records.items()
        if "-train-" in name
        for r in shard
    )
    assert _pairs(batches) == expected


def test_the_order_is_a_function_of_the_seed():
    make = lambda seed: _take(  # noqa: E731
        pipeline.training_dataset(OracleToyEnde(), DATA, _hp(), seed=seed), 40
    )
    first = make(3)
    assert _equal(first, make(3))
    assert not _equal(first, make(4))


def test_epochs_differ():
    hp = _hp(batch_shuffle_size=0, use_fixed_batch_size=True, batch_size=100)
    batches = _take(pipeline.training_dataset(OracleToyEnde(), DATA, hp, seed=3), 10)
    assert _pairs(batches[:5]) == _pairs(batches[5:])
    assert not _equal(batches[:5], batches[5:])


def test_the_iterator_goes_on_exactly_where_it_was_saved(tmp_path):
    make = lambda: iter(  # noqa: E731
        pipeline.training_dataset(OracleToyEnde(), DATA, _hp(batch_shuffle_size=16), seed=3)
    )
    whole = make()
    expected = [next(whole) for _ in range(90)]  # more than one pass
    first = make()
    for _ in range(50):
        next(first)
    saved = tf.train.Checkpoint(iterator=first).save(str(tmp_path / "position"))
    for _ in range(5):
        next(first)
    second = make()
    tf.train.Checkpoint(iterator=second).restore(saved)
    for batch in expected[50:]:
        got = next(second)
        assert all(np.array_equal(got[k], batch[k]) for k in batch)


def test_long_examples_are_dropped_in_training_only():
    hp = _hp(max_length=10)
    training = pipeline.training_dataset(OracleToyEnde(), DATA, hp, repeat=False)
    longest = max(max(b["inputs"].shape[1], b["targets"].shape[1]) for b in training)
    assert longest == 10
    evaluation = pipeline.evaluation_dataset(OracleToyEnde(), DATA, hp)
    assert sum(b["inputs"].shape[0] for b in evaluation) == 120


def test_dropped_examples_are_counted_and_said(tmp_path, caplog):
    problem = Numbers()
    generation.generate(problem, str(tmp_path), str(tmp_path), num_workers=1)
    pipeline.training_dataset(problem, str(tmp_path), _hp(max_length=4))
    assert "900 of 1000 examples are longer than max_length=4 subtokens, the longest has 5" in (
        caplog.text
    )
    caplog.clear()
    pipeline.training_dataset(problem, str(tmp_path), _hp(max_length=5))
    pipeline.training_dataset(problem, str(tmp_path), _hp(max_length=4, max_target_seq_length=4))
    assert not caplog.text


def test_an_endless_dataset_of_nothing_is_refused():
    with pytest.raises(UserError, match="none of the 500 examples .* max_length 2"):
        pipeline.training_dataset(OracleToyEnde(), DATA, _hp(max_length=2))


def test_replicas_multiply_the_batches():
    hp = _hp(batch_shuffle_size=0)
    one = _take(pipeline.training_dataset(OracleToyEnde(), DATA, hp), 20)
    two = _take(pipeline.training_dataset(OracleToyEnde(), DATA, hp, num_replicas=2), 20)
    assert 2 * np.mean([len(b["inputs"]) for b in one]) == pytest.approx(
        np.mean([len(b["inputs"]) for b in two]), rel=0.3
    )
    assert all(len(b["inputs"]) % 2 == 0 for b in two)


def _worker(worker, workers, **values):
    """Batches of a problem whose sides have other lengths, for 4 replicas in so many processes."""
    hp = _hp(batch_size=64, **{"batch_shuffle_size": 4, **values})
    return pipeline.training_dataset(
        OracleToyEnde(was_reversed=True),
        DATA,
        hp,
        num_replicas=4,
        seed=3,
        repeat=False,
        worker=worker,
        workers=workers,
    )


@pytest.mark.parametrize(("workers", "values"), [(2, {}), (4, {"max_target_seq_length": 9})])
def test_workers_have_the_rows_of_the_global_batch(workers, values):
    whole = _take(_worker(0, 1, **values), 1000)
    shares = [_take(_worker(number, workers, **values), 1000) for number in range(workers)]
    assert {len(share) for share in shares} == {len(whole)}
    odd = 0
    for batch, *parts in zip(whole, *shares, strict=True):
        for side in ("inputs", "targets"):
            rows = len(batch[side])
            each = -(-rows // 4) * (4 // workers)
            assert {part[side].shape for part in parts} == {(each, batch[side].shape[1])}
            joined = np.concatenate([part[side] for part in parts])
            assert np.array_equal(joined[:rows], batch[side])
            assert not joined[rows:].any()
            odd += len(joined) > rows
    assert odd  # last batches of buckets that leave rows of padding


def test_a_worker_parses_only_its_own_rows(monkeypatch):
    parsed = []
    parse = pipeline._ragged

    def count(records):
        parsed.append(len(records))
        return records

    def counting(records, names):
        if names is not pipeline.SIDES:  # not those whose lengths are looked at
            records = tf.numpy_function(count, [records], tf.string)
            records.set_shape([None])
        return parse(records, names)

    monkeypatch.setattr(pipeline, "_ragged", counting)
    shares = []
    for worker in range(2):
        parsed.clear()
        batches = _take(_worker(worker, 2), 1000)
        shares.append(sum(parsed))
        assert shares[-1] == sum(len(_without_empty_rows(batch["inputs"])) for batch in batches)
    assert sum(shares) == 500  # every example once
    assert shares[1] <= shares[0] < 270


@pytest.mark.parametrize(
    ("saved_by", "workers_then", "restored_by", "workers_now"),
    [(0, 2, 0, 2), (0, 2, 1, 2), (0, 2, 0, 1), (0, 1, 1, 2), (0, 2, 3, 4)],
)
def test_one_position_serves_every_worker(
    tmp_path, saved_by, workers_then, restored_by, workers_now
):
    expected = _take(_worker(restored_by, workers_now), 1000)
    first = iter(_worker(saved_by, workers_then))
    for _ in range(7):
        next(first)
    saved = tf.train.Checkpoint(iterator=first).save(str(tmp_path / "position"))
    second = iter(_worker(restored_by, workers_now))
    tf.train.Checkpoint(iterator=second).restore(saved)
    rest = [{name: value.numpy() for name, value in batch.items()} for batch in second]
    assert len(rest) > 12
    assert _equal(rest, expected[7:])


def test_reversed_and_copied_features():
    plain = list(pipeline.evaluation_dataset(OracleToyEnde(), DATA, _hp()).as_numpy_iterator())
    turned = list(
        pipeline.evaluation_dataset(
            OracleToyEnde(was_reversed=True), DATA, _hp()
        ).as_numpy_iterator()
    )
    swapped = [{"inputs": b["targets"], "targets": b["inputs"]} for b in plain]
    assert _equal(turned, swapped)
    for batch in pipeline.evaluation_dataset(OracleToyEnde(was_copy=True), DATA, _hp()):
        assert np.array_equal(batch["inputs"], batch["targets"])


class WordsPacked(Text2TextProblem):
    vocab_type = VocabType.CHARACTER
    packed_length = 32
    dataset_splits = [{"split": "train", "shards": 1}, {"split": "dev", "shards": 1}]  # noqa: RUF012

    def generate_samples(self, data_dir, tmp_dir, dataset_split):
        for number in range(30):
            yield {"inputs": "a" * (number % 9 + 1), "targets": "b" * (number % 7 + 1)}


def test_packed_rows_carry_segments_and_positions(tmp_path):
    WordsPacked().generate_data(str(tmp_path), "")
    for problem in (WordsPacked(), WordsPacked(was_reversed=True)):
        for batch in pipeline.evaluation_dataset(problem, str(tmp_path), _hp(batch_size=64)):
            for side in ("inputs", "targets"):
                ids = batch[side].numpy()
                segments = batch[f"{side}_segmentation"].numpy()
                positions = batch[f"{side}_position"].numpy()
                assert ids.shape == segments.shape == positions.shape
                assert ((segments == 0) == (ids == 0)).all()
                # A segment's positions count from 0 up to its EOS.
                assert (positions[:, 0] == 0).all()
                ends = ids[:, :-1] == 1
                assert (positions[:, 1:][ends] == 0).all()
                assert (np.diff(segments)[ends & (ids[:, 1:] != 0)] == 1).all()


def test_packed_rows_longer_than_the_limit_are_refused(tmp_path):
    WordsPacked().generate_data(str(tmp_path), "")
    with pytest.raises(UserError, match="rows of up to 32 subtokens, and max_length 31"):
        pipeline.training_dataset(WordsPacked(), str(tmp_path), _hp(max_length=31))


def test_statistics_count_what_is_not_padding():
    batch = {"inputs": tf.constant([[5, 1, 0], [6, 7, 1]]), "targets": tf.constant([[1], [1]])}
    statistics = {k: float(v) for k, v in pipeline.batch_statistics(batch).items()}
    assert statistics["inputs_nonpadding_tokens"] == 5
    assert statistics["inputs_nonpadding_fraction"] == pytest.approx(5 / 6)
    assert statistics["targets_nonpadding_fraction"] == 1
    assert (statistics["inputs_batch"], statistics["inputs_length"]) == (2, 3)
