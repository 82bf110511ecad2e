"""The best checkpoint apart from the last ones, whatever moment a kill came at."""

from __future__ import annotations

import numpy as np
import pytest

from keras_transformer.training import best_checkpoint, checkpoints


@pytest.fixture
def run(tmp_path):
    for step in (10, 20):
        checkpoints.save(tmp_path, step, {"kernel": np.full([2], step, np.float32)})
    (tmp_path / "run.json").write_text("{}")
    (tmp_path / "train_log.jsonl").write_text("{}\n")
    return tmp_path


def kept(run):
    prefix = checkpoints.latest(run / "best")
    assert checkpoints.read(prefix).tensor("kernel")[0] == checkpoints.step_of(prefix)
    return checkpoints.all_steps(run / "best")


def test_a_better_one_takes_the_place_of_the_best(run):
    for step in (10, 20):
        best_checkpoint.keep_apart(run / f"model.ckpt-{step}")
        assert kept(run) == [step]
    assert sorted(path.name for path in (run / "best").iterdir()) == [
        "checkpoint",
        "model.ckpt-20.data-00000-of-00001",
        "model.ckpt-20.index",
        "run.json",
    ]
    assert checkpoints.all_steps(run) == [10, 20]


@pytest.mark.parametrize("moment", range(6))
def test_a_kill_leaves_one_whole(run, moment, monkeypatch):
    best_checkpoint.keep_apart(run / "model.ckpt-10")
    steps = [0]

    def failing(original):
        def call(*arguments, **named):
            if steps[0] == moment:
                raise KeyboardInterrupt
            steps[0] += 1
            return original(*arguments, **named)

        return call

    with monkeypatch.context() as patch:
        # The copies of three files, two renames, and the list's.
        patch.setattr(best_checkpoint.shutil, "copyfile", failing(best_checkpoint.shutil.copyfile))
        patch.setattr(best_checkpoint.os, "replace", failing(best_checkpoint.os.replace))
        with pytest.raises(KeyboardInterrupt):
            best_checkpoint.keep_apart(run / "model.ckpt-20")
    assert kept(run)[0] == 10
    assert checkpoints.latest(run / "best").endswith("-10")
    best_checkpoint.keep_apart(run / "model.ckpt-20")
    assert kept(run) == [20]
    assert not list((run / "best").glob(".model.ckpt-*"))


def test_what_a_kill_prevented_is_made_up_for(run):
    best_checkpoint.catch_up(run, 10)
    assert kept(run) == [10]
    best_checkpoint.catch_up(run, 15)  # its checkpoint was deleted since
    assert kept(run) == [10]
    best_checkpoint.catch_up(run, 20)
    assert kept(run) == [20]
