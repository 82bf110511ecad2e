"""Buckets and batch sizes against Tensor2Tensor's."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from keras_transformer.config import HParams
from keras_transformer.data import batching
from keras_transformer.errors import UserError

GOLDEN = Path(__file__).parents[2] / "golden" / "data_pipeline"


def test_every_scheme_is_tensor2tensors():
    cases = json.loads((GOLDEN / "batching_schemes.json").read_text())
    assert len(cases) > 600
    for case in cases:
        scheme = dataclasses.asdict(batching.batching_scheme(**case["args"]))
        scheme = {k: list(v) if isinstance(v, tuple) else v for k, v in scheme.items()}
        assert scheme == case["scheme"], case["args"]


def test_training_has_a_length_limit_and_evaluation_none():
    hp = HParams().replace(max_length=256, batch_size=4096)
    assert batching.scheme_from_hparams(hp, True).max_length == 256
    assert batching.scheme_from_hparams(hp, False).max_length == batching.NO_LIMIT
    dropping = hp.replace(eval_drop_long_sequences=True)
    assert batching.scheme_from_hparams(dropping, False).max_length == 256


def test_no_max_length_means_batch_size():
    hp = HParams().replace(max_length=0, batch_size=300)
    assert batching.scheme_from_hparams(hp, True).max_length == 300


def test_replicas_multiply_every_batch_size():
    hp = HParams()
    one = batching.scheme_from_hparams(hp, True).batch_sizes
    assert batching.scheme_from_hparams(hp, True, 8).batch_sizes == tuple(8 * n for n in one)


def test_fixed_batch_size_is_one_bucket_of_sentences():
    hp = HParams().replace(use_fixed_batch_size=True, batch_size=16, max_length=0)
    scheme = batching.scheme_from_hparams(hp, False, num_replicas=2)
    assert (scheme.boundaries, scheme.batch_sizes) == ((), (32,))


def test_a_step_that_does_not_grow_is_refused():
    with pytest.raises(UserError, match=r"length_bucket_step is 1.0"):
        batching.bucket_boundaries(256, 8, 1.0)
