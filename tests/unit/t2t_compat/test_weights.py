"""Joining shards, cutting fused kernels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from keras_transformer.errors import UserError
from keras_transformer.t2t_compat.weights import Source, shard_rows

SHARDS = Path(__file__).parents[2] / "pitfalls" / "data" / "embedding_shards.json"


def test_shards_are_joined_by_number_not_by_name():
    case = json.loads(SHARDS.read_text())
    assert shard_rows(case["vocab"], case["shards"]) == case["rows"]
    ends = np.cumsum(case["rows"])
    tensors = {
        case["name"] % number: np.repeat(np.arange(end - rows, end), case["hidden"]).reshape(
            rows, -1
        )
        for number, (end, rows) in enumerate(zip(ends, case["rows"], strict=True))
    }
    source = Source(tuple(case["name"] % number for number in range(case["shards"])))
    table = source.read(tensors.__getitem__)
    np.testing.assert_array_equal(table[:, 0], np.arange(case["vocab"]))


def test_columns_of_a_fused_kernel_lose_their_unit_axes():
    fused = np.arange(2 * 6.0).reshape(1, 1, 2, 6)
    value = Source(("qkv",), (4, 6)).read({"qkv": fused}.__getitem__)
    np.testing.assert_array_equal(value, [[4, 5], [10, 11]])


def test_slots_lie_under_training():
    assert Source(("a", "b")).slot_names("Adam_1") == ("training/a/Adam_1", "training/b/Adam_1")


def test_no_shards_at_all():
    with pytest.raises(UserError, match="symbol_modality_num_shards is 0"):
        shard_rows(10, 0)
