"""Several devices see and do what one device would (`two_devices.py` runs them)."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.errors import UserError
from keras_transformer.training import distribution

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    done = subprocess.run(
        [
            sys.executable,
            Path(__file__).with_name("two_devices.py"),
            tmp_path_factory.mktemp("run"),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_two_devices_follow_one(report):
    assert report["replicas"] == 2
    np.testing.assert_allclose(report["two"], report["one"], rtol=1e-4)
    assert report["one"][-1] < 0.9 * report["one"][0]
    assert report["difference"] < 1e-4


@pytest.mark.slow
def test_two_devices_accumulate_as_one(report):
    one, two = report["accumulated"]
    np.testing.assert_allclose(two, one, rtol=1e-4)


@pytest.mark.slow
def test_evaluation_does_not_count_rows_of_padding(report):
    one, two = report["evaluation"]
    assert one.keys() == two.keys()
    for name, value in one.items():
        assert two[name] == pytest.approx(value, rel=1e-4, abs=1e-6), name


@pytest.mark.slow
def test_a_device_without_a_row_does_no_harm(report):
    assert report["one_pass"]["ending"] == "DATA"
    assert report["one_pass"]["steps"] == 5
    losses = report["one_pass"]["losses"]
    assert len(losses) == 4  # the first update is told on its own
    assert all(math.isfinite(loss) and loss > 0 for loss in losses)
    assert report["one_pass"]["restored"]


@pytest.mark.parametrize(
    ("rows", "replicas", "share"), [(5, 2, 3), (1, 2, 1), (4, 2, 2), (0, 3, 1)]
)
def test_rows_are_shared_out_in_blocks(rows, replicas, share):
    ids = tf.reshape(tf.range(1, rows * 2 + 1), [rows, 2])
    shares = [
        distribution.rows_of_replica({"inputs": ids}, replica, replicas)["inputs"].numpy()
        for replica in range(replicas)
    ]
    assert {each.shape for each in shares} == {(share, 2)}
    joined = np.concatenate(shares)
    np.testing.assert_array_equal(joined[:rows], ids)
    assert not joined[rows:].any()


def test_more_gpus_than_there_are():
    with pytest.raises(UserError, match="99 GPUs are asked for"):
        distribution.strategy(gpus=99)
