"""The shapes that the buckets give, and padding to them."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer import registry
from keras_transformer.training.bucket_shapes import bucket_shapes, largest, pad_to_bucket

BASE = registry.hparams("base")  # batch_size 4096, max_length 256


def test_shapes_of_the_paper_s_batches():
    shapes = bucket_shapes(BASE)
    assert len(shapes) == 42
    assert shapes[:3] == [(420, 7), (420, 8), (315, 9)] and shapes[-2:] == [(15, 235), (15, 256)]
    assert bucket_shapes(BASE, replicas=2)[0] == (840, 7)
    assert bucket_shapes(BASE.override("use_fixed_batch_size=true,batch_size=6")) == [(6, 256)]


def test_the_largest_ones_are_as_large_as_any():
    shapes = bucket_shapes(BASE)
    chosen = largest(shapes)
    assert len(chosen) <= 2
    for size in (lambda rows, length: rows * length, lambda rows, length: rows * length**2):
        assert max(size(*shape) for shape in chosen) == max(size(*shape) for shape in shapes)


@pytest.mark.parametrize("side", ["inputs", "targets"])
def test_batches_get_as_many_shapes_as_there_are_buckets(side):
    lengths = [length for _, length in bucket_shapes(BASE)]
    seen = {}
    for longest in range(1, 257):
        batch = {
            name: np.ones([2, max(1, longest // 2)], np.int32) for name in ("inputs", "targets")
        }
        batch[side] = np.ones([2, longest], np.int32)
        padded = pad_to_bucket({name: tf.constant(ids) for name, ids in batch.items()}, lengths)
        assert padded["inputs"].shape == padded["targets"].shape
        for name, ids in batch.items():
            np.testing.assert_array_equal(padded[name][:, : ids.shape[1]], ids)
            assert not np.any(padded[name][:, ids.shape[1] :])
        seen.setdefault(padded[side].shape[1], []).append(longest)
    assert sorted(seen) == lengths
    # Each shape holds the lengths of one bucket, its own the longest of them.
    assert all(max(held) == length for length, held in seen.items())


def test_a_batch_longer_than_every_bucket_is_left_as_it_is():
    ids = tf.ones([1, 9], tf.int32)
    assert pad_to_bucket({"inputs": ids, "targets": ids}, [4, 8])["inputs"].shape == [1, 9]
