"""A SavedModel on the disk: whole or not there."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.errors import UserError
from keras_transformer.export import saved_model
from keras_transformer.export.serving_model import ServingModel
from keras_transformer.export.target_dir import check_target, numbered_dir, written_whole
from tests.unit.decoding.small_translator import small_encoder, small_model

ENCODERS = {"inputs": small_encoder(), "targets": small_encoder()}


@pytest.mark.slow
def test_what_is_loaded_says_what_was_saved(tmp_path):
    model = ServingModel([small_model()], ENCODERS, DecodeOptions(extra_length=9), "int8")
    vocabulary = tmp_path / "vocab.small.subwords"
    small_encoder().save(vocabulary)
    folder = tmp_path / "model" / "1"
    files = {"inputs": vocabulary, "targets": vocabulary}
    saved_model.save(model, model.signatures(), folder, files, {"problem": "ä"})
    assert (folder / "saved_model.pb").is_file()
    assert not list(folder.glob("*.pbtxt"))
    assert [p.name for p in (folder / "assets").iterdir()] == [vocabulary.name]
    description = json.loads((folder / "assets.extra" / "export.json").read_text("utf-8"))
    assert description == {"problem": "ä"}
    assert [p.name for p in folder.parent.iterdir()] == ["1"]
    shapes = tf.train.list_variables(str(folder / "variables" / "variables"))
    numbers = sum(int(np.prod(shape)) for name, shape in shapes if "VARIABLE_VALUE" in name)
    parts = [*model.weights[0].variables_by_name.values()]
    parts += model.weights[0].factors_by_name.values()
    assert numbers == sum(each.shape.num_elements() for each in parts)  # each stored once

    loaded = tf.saved_model.load(str(folder))
    lines = ["the red house", "", "a garden"]
    found = loaded.signatures["serving_default"](inputs=tf.constant(lines))
    wanted = model.best(tf.constant(lines))
    np.testing.assert_array_equal(found["outputs"], wanted["outputs"])
    assert saved_model.translate(model.signatures(), lines) == [
        t.decode() for t in found["outputs"].numpy()
    ]


@pytest.mark.slow
@pytest.mark.parametrize("beam_size", [1, 2])
def test_a_broken_model_is_not_exported(tmp_path, beam_size):
    model = small_model(seed=3)
    weight = model.named_weights()["decoder/layer_0/feed_forward/output/kernel"]
    weight.assign(np.full(weight.shape, np.nan))
    serving = ServingModel([model], ENCODERS, DecodeOptions(beam_size=beam_size, extra_length=2))
    with pytest.raises(UserError, match="gives not-a-number"):
        saved_model.save(serving, serving.signatures(), tmp_path / "1", {}, {})
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "file").write_text("precious")
    with pytest.raises(UserError, match="is there already: a served model is never overwritten"):
        check_target(tmp_path)
    with pytest.raises(UserError, match="is there already"):
        check_target(tmp_path / "file")
    with pytest.raises(UserError, match="cannot be made"):
        check_target(tmp_path / "file" / "below" / "1")


def test_a_failed_write_leaves_nothing(tmp_path):
    target = tmp_path / "new" / "7"
    with pytest.raises(UserError, match="cannot be written: No space left"), written_whole(target):
        raise OSError(28, "No space left on device")
    assert list((tmp_path / "new").iterdir()) == []
    with written_whole(target) as folder:
        (folder / "half").write_text("x")
        assert not target.exists()
    assert [p.name for p in target.iterdir()] == ["half"]


def test_numbers_rise(tmp_path):
    first = numbered_dir(tmp_path)
    first.mkdir()
    assert int(numbered_dir(tmp_path).name) > int(first.name)
