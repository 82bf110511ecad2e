"""Checkpoints: written whole or not at all, read strictly, damage found."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.errors import UserError
from keras_transformer.training import checkpoints

GOLDEN = Path(__file__).parents[2] / "golden" / "averaging"


class TwoLayers:
    """Anything with `named_weights` will do."""

    def __init__(self, width: int = 3):
        self.variables = {
            "layer_0/kernel": tf.Variable(tf.zeros([2, width])),
            "layer_0/bias": tf.Variable(tf.zeros([width])),
        }

    def named_weights(self):
        return self.variables


def tensors(value: float, width: int = 3):
    return {
        "layer_0/kernel": tf.fill([2, width], value),
        "layer_0/bias": np.full([width], value, np.float32),
        "optimizer/m/layer_0/bias": np.zeros([width], np.float32),
    }


def test_round_trip(tmp_path):
    prefix = checkpoints.save(tmp_path, 7, tensors(1.5), {"seed": 3})
    assert prefix == str(tmp_path / "model.ckpt-7")
    reader = checkpoints.read(prefix)
    assert reader.global_step == 7
    assert reader.train_state == {"seed": 3}
    assert not reader.is_inference_only
    assert reader.names() == sorted([*tensors(0), "global_step", "train_state"])
    np.testing.assert_array_equal(reader.tensor("layer_0/bias"), [1.5] * 3)


def test_tensorflow_reads_it_by_name(tmp_path):
    checkpoints.save(tmp_path, 7, tensors(1.5))
    reader = tf.train.load_checkpoint(str(tmp_path))  # finds it through the file `checkpoint`
    assert reader.get_tensor("global_step") == 7
    np.testing.assert_array_equal(reader.get_tensor("layer_0/kernel"), np.full([2, 3], 1.5))


def test_nothing_temporary_is_left(tmp_path):
    checkpoints.save(tmp_path, 7, tensors(0.0))
    assert sorted(os.listdir(tmp_path)) == [
        "checkpoint",
        "model.ckpt-7.data-00000-of-00001",
        "model.ckpt-7.index",
    ]


def test_the_last_ones_are_kept(tmp_path):
    for step in (5, 10, 100, 20):
        checkpoints.save(tmp_path, step, tensors(0.0), keep=2)
    # 100 is newer than 20, the last one written (the run was taken back): it is left alone.
    assert checkpoints.all_steps(tmp_path) == [10, 20, 100]
    assert checkpoints.latest(tmp_path) == str(tmp_path / "model.ckpt-20")
    listed = (tmp_path / "checkpoint").read_text()
    assert "model.ckpt-10" in listed and "model.ckpt-5" not in listed


def test_the_same_step_again_replaces_it(tmp_path):
    checkpoints.save(tmp_path, 7, tensors(1.0))
    checkpoints.save(tmp_path, 7, tensors(2.0))
    np.testing.assert_array_equal(
        checkpoints.read(tmp_path / "model.ckpt-7").tensor("layer_0/bias"), [2.0] * 3
    )


def test_a_failed_write_leaves_the_old_state(tmp_path, monkeypatch):
    checkpoints.save(tmp_path, 1, tensors(1.0))

    def fail(*arguments):
        raise OSError("the disk is full")

    monkeypatch.setattr(checkpoints, "flush_to_disk", fail)
    with pytest.raises(OSError):
        checkpoints.save(tmp_path, 2, tensors(2.0))
    monkeypatch.undo()
    assert checkpoints.latest(tmp_path) == str(tmp_path / "model.ckpt-1")
    checkpoints.remove_temporary(tmp_path)
    assert not [name for name in os.listdir(tmp_path) if "tmp" in name]


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:10])


@pytest.mark.parametrize("file", ["index", "data-00000-of-00001"])
@pytest.mark.parametrize("damage", [truncate, Path.unlink])
def test_a_damaged_newest_one_is_passed_over(tmp_path, file, damage, caplog):
    checkpoints.save(tmp_path, 1, tensors(1.0))
    checkpoints.save(tmp_path, 2, tensors(2.0))
    damage(tmp_path / f"model.ckpt-2.{file}")
    assert checkpoints.latest(tmp_path) == str(tmp_path / "model.ckpt-1")
    assert re.search(r"model\.ckpt-2.*trying the one before", caplog.text)


@pytest.mark.parametrize("file", ["index", "data-00000-of-00001"])
@pytest.mark.parametrize("damage", [truncate, Path.unlink])
def test_a_lost_only_checkpoint_leaves_a_trace(tmp_path, file, damage):
    assert not checkpoints.traces(tmp_path)
    checkpoints.save(tmp_path, 1, tensors(1.0))
    damage(tmp_path / f"model.ckpt-1.{file}")
    assert checkpoints.latest(tmp_path) is None
    assert checkpoints.traces(tmp_path)
    (tmp_path / "checkpoint").unlink()
    assert checkpoints.traces(tmp_path) == (tmp_path / "model.ckpt-1.index").exists()


def test_changed_bytes_are_found_when_read(tmp_path):
    prefix = checkpoints.save(tmp_path, 1, tensors(1.0))
    data = tmp_path / "model.ckpt-1.data-00000-of-00001"
    data.write_bytes(b"\xff" * 4 + data.read_bytes()[4:])
    with pytest.raises(UserError, match=r"layer_0/.* is damaged"):
        checkpoints.load_weights(TwoLayers(), prefix)


def test_a_folder_without_checkpoints(tmp_path):
    assert checkpoints.latest(tmp_path) is None
    assert checkpoints.latest(tmp_path / "nowhere") is None
    with pytest.raises(UserError, match="there is no such checkpoint"):
        checkpoints.read(tmp_path / "model.ckpt-3")


def test_an_unfinished_newer_one_is_not_trusted(tmp_path):
    # Killed between renaming the files of step 2 and listing them.
    checkpoints.save(tmp_path, 1, tensors(1.0))
    before = (tmp_path / "checkpoint").read_text()
    checkpoints.save(tmp_path, 2, tensors(2.0))
    (tmp_path / "checkpoint").write_text(before)
    assert checkpoints.latest(tmp_path) == str(tmp_path / "model.ckpt-1")


def test_loading_fills_every_variable(tmp_path):
    model = TwoLayers()
    checkpoints.load_weights(model, checkpoints.save(tmp_path, 1, tensors(1.0)))
    for variable in model.variables.values():
        assert variable.numpy().min() == 1.0


def test_loading_names_what_does_not_fit(tmp_path):
    given = tensors(1.0, width=4)
    del given["layer_0/bias"]
    given["layer_1/kernel"] = np.zeros([2])
    prefix = checkpoints.save(tmp_path, 1, given)
    model = TwoLayers()
    with pytest.raises(UserError) as caught:
        checkpoints.load_weights(model, prefix)
    message = str(caught.value)
    assert "missing in the checkpoint (1):\n    layer_0/bias" in message
    assert "only in the checkpoint (1):\n    layer_1/kernel" in message
    assert "layer_0/kernel: [2, 4] in the checkpoint, [2, 3] in the model" in message
    assert model.variables["layer_0/kernel"].numpy().max() == 0.0  # nothing was loaded


def test_a_t2t_checkpoint_is_read_and_recognised():
    assert checkpoints.latest(GOLDEN / "input") == str(GOLDEN / "input" / "model.ckpt-300")
    reader = checkpoints.read(GOLDEN / "input" / "model.ckpt-200")
    assert reader.global_step == 200
    assert reader.train_state == {}
    with pytest.raises(UserError, match="kt-import-t2t"):
        checkpoints.load_weights(TwoLayers(), reader.prefix)


def test_position_in_the_data_is_kept(tmp_path):
    dataset = tf.data.Dataset.range(100).shuffle(10, seed=1).batch(3).prefetch(2)
    iterator = iter(dataset)
    next(iterator)
    state = tf.raw_ops.SerializeIterator(resource_handle=iterator._iterator_resource)
    prefix = checkpoints.save(tmp_path, 1, {checkpoints.DATA_ITERATOR: state})
    expected = [batch.numpy().tolist() for batch in iterator]

    again = iter(dataset)
    tf.raw_ops.DeserializeIterator(
        resource_handle=again._iterator_resource,
        serialized=checkpoints.read(prefix).variant(checkpoints.DATA_ITERATOR),
    )
    assert [batch.numpy().tolist() for batch in again] == expected
