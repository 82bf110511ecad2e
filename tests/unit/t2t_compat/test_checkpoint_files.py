"""Finding and opening checkpoints, and what is said of broken ones."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from keras_transformer.errors import UserError
from keras_transformer.t2t_compat.checkpoint_files import CheckpointReader, find_checkpoint
from tests.unit.t2t_compat.bundles import BASE_V3, TRAINER_RUN, copy_run, read_bundle, write_bundle

DATA = "model.ckpt-220.data-00000-of-00001"


@pytest.fixture
def run(tmp_path):
    return copy_run(BASE_V3, tmp_path / "run")


def test_the_latest_is_the_one_the_list_file_names(run):
    for ending in ("index", "data-00000-of-00001"):
        shutil.copy(run / f"model.ckpt-220.{ending}", run / f"model.ckpt-90.{ending}")
    assert find_checkpoint(run).name == "model.ckpt-220"
    (run / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-90"\n')
    assert find_checkpoint(run).name == "model.ckpt-90"


@pytest.mark.parametrize(
    "named", ["/home/someone/t2t/model.ckpt-220", "C:\\\\runs\\\\model.ckpt-220", "gone.ckpt-5"]
)
def test_paths_of_another_machine_do_not_matter(run, named):
    (run / "checkpoint").write_text(f'model_checkpoint_path: "{named}"\n')
    assert find_checkpoint(run) == run / "model.ckpt-220"


def test_without_a_list_file_steps_are_compared_as_numbers(run):
    (run / "checkpoint").unlink()
    for ending in ("index", "data-00000-of-00001"):
        shutil.copy(run / f"model.ckpt-220.{ending}", run / f"model.ckpt-1000.{ending}")
    assert find_checkpoint(run).name == "model.ckpt-1000"


def test_prefix_and_index_file_are_taken(run):
    prefix = run / "model.ckpt-220"
    assert find_checkpoint(prefix) == prefix
    assert find_checkpoint(run / "model.ckpt-220.index") == prefix


def test_the_variables_of_a_saved_model(run, tmp_path):
    saved = tmp_path / "export" / "1530000000"
    (saved / "variables").mkdir(parents=True)
    (saved / "saved_model.pb").write_bytes(b"")
    for ending in ("index", "data-00000-of-00001"):
        shutil.copy(run / f"model.ckpt-220.{ending}", saved / "variables" / f"variables.{ending}")
    assert CheckpointReader(saved).step == 220


def test_several_data_files():
    assert CheckpointReader(TRAINER_RUN).step == 250


def test_values_come_as_stored(run):
    reader = CheckpointReader(run)
    for name, value in read_bundle(run / "model.ckpt-220").items():
        np.testing.assert_array_equal(reader.tensor(name), value)


def test_a_missing_checkpoint_names_those_that_are_there(run):
    with pytest.raises(UserError, match="model.ckpt-9.index is missing.*found there: model.ckpt-2"):
        find_checkpoint(run / "model.ckpt-9")


def test_a_folder_without_any(tmp_path):
    with pytest.raises(UserError, match="holds no checkpoint"):
        find_checkpoint(tmp_path)


def test_a_missing_data_file_is_named(tmp_path):
    run = copy_run(TRAINER_RUN, tmp_path / "run")
    (run / "model.ckpt-250.data-00000-of-00002").unlink()
    with pytest.raises(UserError, match="missing: model.ckpt-250.data-00000-of-00002"):
        find_checkpoint(run)
    (run / "model.ckpt-250.data-00001-of-00002").unlink()
    with pytest.raises(UserError, match="no .data file"):
        find_checkpoint(run)


def test_truncated_data(run):
    data = (run / DATA).read_bytes()
    (run / DATA).write_bytes(data[: len(data) // 2])
    with pytest.raises(UserError, match="cut short"):
        CheckpointReader(run)


@pytest.mark.parametrize("kept", [0, 100, -60])
def test_truncated_index(run, kept):
    index = run / "model.ckpt-220.index"
    index.write_bytes(index.read_bytes()[:kept])
    with pytest.raises(UserError, match="damaged or cut short"):
        CheckpointReader(run)


def test_a_changed_byte_is_found_when_its_variable_is_read(run):
    data = bytearray((run / DATA).read_bytes())
    data[len(data) // 2] ^= 1
    (run / DATA).write_bytes(data)
    reader = CheckpointReader(run)
    with pytest.raises(UserError, match="variable .* cannot be read, the file is damaged"):
        for name in reader:
            reader.tensor(name)


def test_the_step_is_in_the_name_if_no_variable_holds_it(tmp_path):
    prefix = write_bundle(tmp_path / "averaged.ckpt-77", {"x": np.zeros(3, np.float32)})
    assert CheckpointReader(prefix).step == 77
