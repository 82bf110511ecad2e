"""What workers compare before they are connected; tests/programs/test_multi_worker.py connects."""

from __future__ import annotations

import dataclasses
import json

import pytest

from keras_transformer.errors import UserError
from keras_transformer.training import workers
from keras_transformer.training.cluster import Cluster

CHIEF = Cluster(("worker 0", "worker 1"), ("a:1", "b:2"), 0)
OTHER = dataclasses.replace(CHIEF, number=1)
SETTINGS = {"seed": 1, "the training data": {"train-00000-of-00001": 17}, "tpu": None}


def test_all_see_one_folder(tmp_path):
    mark = workers.share_settings(CHIEF, tmp_path, SETTINGS)
    assert workers.share_settings(OTHER, tmp_path, SETTINGS) == mark < 2**40
    # Another start has another mark, so that a folder left from before is not taken for it.
    assert workers.share_settings(CHIEF, tmp_path, SETTINGS) != mark


def test_another_folder(tmp_path):
    with pytest.raises(UserError, match=r"worker 1: .*on a disk that all workers share"):
        workers.share_settings(OTHER, tmp_path, SETTINGS)


def test_other_flags_and_other_data(tmp_path):
    workers.share_settings(CHIEF, tmp_path, SETTINGS)
    mine = {"seed": 2, "the training data": {"train-00000-of-00001": 18}, "tpu": None}
    with pytest.raises(UserError) as error:
        workers.share_settings(OTHER, tmp_path, mine)
    assert str(error.value).splitlines() == [
        "worker 1 was started otherwise than the chief:",
        "  seed: 1 for the chief, 2 here",
        "  the training data: {'train-00000-of-00001': 17} for the chief,"
        " {'train-00000-of-00001': 18} here",
        "give all workers the same command line and the same data",
    ]


def test_an_unreadable_file(tmp_path):
    (tmp_path / workers.CLUSTER_FILE).write_text(json.dumps("cut off")[:4])
    with pytest.raises(UserError, match="cannot be read here"):
        workers.share_settings(OTHER, tmp_path, SETTINGS)


def test_alone_everything_is_agreed():
    alone = workers.Alone()
    assert alone.any(True) and not alone.any(False)
    alone.require_same("the step", 3)
    with pytest.raises(ZeroDivisionError), alone.together():
        raise ZeroDivisionError
