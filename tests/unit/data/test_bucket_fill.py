"""How full the length buckets are."""

from __future__ import annotations

import pytest

from keras_transformer.data.batching import BatchingScheme
from keras_transformer.data.bucket_fill import fill_buckets, shard_lengths
from keras_transformer.data.example_format import encode_example
from keras_transformer.data.tfrecord import frame_records

# Below 4: two sentences a batch; below 8: one; the rest up to 10: one.
SCHEME = BatchingScheme((4, 8), (2, 1, 1), min_length=2, max_length=10, shuffle_queue_size=1)


def test_each_side_is_padded_to_its_longest_sentence():
    buckets, dropped = fill_buckets([(3, 2), (2, 2)], SCHEME)
    # Source 3 + 2 in two rows of 3, target 2 + 2 in two rows of 2.
    assert (buckets[0].sentences, buckets[0].batches) == (2, 1)
    assert (buckets[0].tokens, buckets[0].positions) == (9, 10)
    assert buckets[0].padding_share == pytest.approx(0.1)
    assert dropped == 0


def test_boundaries_are_exclusive_and_limits_inclusive():
    lengths = [(1, 1), (2, 1), (4, 3), (3, 7), (8, 1), (10, 10), (11, 1)]
    buckets, dropped = fill_buckets(lengths, SCHEME)
    assert [bucket.sentences for bucket in buckets] == [1, 2, 2]
    assert [bucket.below for bucket in buckets] == [4, 8, None]
    assert dropped == 2


def test_a_rest_is_a_batch_and_an_empty_bucket_has_no_padding():
    buckets, _ = fill_buckets([(3, 3)] * 5, SCHEME)
    assert (buckets[0].batches, buckets[0].padding_share) == (3, 0.0)
    assert (buckets[1].batches, buckets[1].padding_share) == (0, 0.0)


def test_lengths_are_read_from_shards(tmp_path):
    records = [encode_example({"inputs": [5] * n + [1], "targets": [6, 1]}) for n in (1, 2, 3)]
    path = tmp_path / "shard"
    path.write_bytes(b"".join(frame_records(records)))
    assert list(shard_lengths([str(path)])) == [(2, 2), (3, 2), (4, 2)]
    assert list(shard_lengths([str(path)], limit=2)) == [(2, 2), (3, 2)]
