"""Averages against T2T's two tools, and what an average must not be made of."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from keras_transformer.errors import UserError
from keras_transformer.training import averaging, checkpoints

GOLDEN = Path(__file__).parents[2] / "golden" / "averaging"
VALUES = json.loads((GOLDEN / "values.json").read_text())


def assert_equals(prefix: str, recorded: dict, leave_out: tuple[str, ...] = ()) -> None:
    reader = checkpoints.read(prefix)
    largest = max(np.abs(v["value"]).max() for v in VALUES["input/model.ckpt-300"].values())
    for name, expected in recorded.items():
        if not name.startswith(leave_out or "\0"):
            np.testing.assert_allclose(
                reader.tensor(name), expected["value"], atol=1e-6 * largest, err_msg=name
            )
    assert set(reader.names()) == set(recorded) | {"train_state"}


@pytest.mark.parametrize("number", [2, 3])
def test_running_form_as_t2t_avg_all(tmp_path, number):
    written = averaging.running(GOLDEN / "input", number, tmp_path)
    assert checkpoints.all_steps(tmp_path) == checkpoints.all_steps(GOLDEN / f"avg_all_n{number}")
    for prefix in written:
        step = checkpoints.step_of(prefix)
        assert_equals(prefix, VALUES[f"avg_all_n{number}/model.ckpt-{step}"])
        assert checkpoints.read(prefix).global_step == step


@pytest.mark.parametrize(("number", "name"), [(3, ""), (2, "_last2")])
def test_last_ones_as_avg_checkpoints(tmp_path, number, name):
    prefix = averaging.average(averaging.last(GOLDEN / "input", number), tmp_path)
    # T2T's tool forgets the step and averages a counter; here the step is kept.
    assert prefix.endswith("model.ckpt-300")
    recorded = VALUES[f"avg_checkpoints{name}/averaged.ckpt-0"]
    assert_equals(prefix, recorded, leave_out=("global_step", "train_stats"))


def test_time_of_training_is_kept(tmp_path):
    prefix = averaging.average(averaging.last(GOLDEN / "input", 2), tmp_path)
    original = (GOLDEN / "input" / "model.ckpt-300.index").stat().st_mtime
    assert Path(prefix + ".index").stat().st_mtime == pytest.approx(original)


def save(folder, step, value, **more):
    tensors = {"layer/kernel": np.full([2], value, np.float32)}
    tensors |= {"optimizer/m/layer/kernel": np.ones([2], np.float32), **more}
    return checkpoints.save(folder, step, tensors)


def test_ours_becomes_inference_only_and_loses_its_slots(tmp_path):
    run = tmp_path / "run"
    for step, value in ((5, 1.0), (10, 4.0)):
        save(run, step, value)
    (run / "hparams.json").write_text("{}")
    (run / "train_log.jsonl").write_text("")
    prefix = averaging.average(averaging.last(run, 2), tmp_path / "avg")
    reader = checkpoints.read(prefix)
    assert reader.names() == ["global_step", "layer/kernel", "train_state"]
    np.testing.assert_array_equal(reader.tensor("layer/kernel"), [2.5, 2.5])
    assert reader.is_inference_only
    assert reader.train_state["averaged"] == ["model.ckpt-5", "model.ckpt-10"]
    assert (tmp_path / "avg" / "hparams.json").exists()
    assert not (tmp_path / "avg" / "train_log.jsonl").exists()


def test_sums_do_not_lose_small_differences(tmp_path):
    for step in range(1, 5):
        save(tmp_path / "run", step, 1e8 + step)
    prefix = averaging.average(averaging.last(tmp_path / "run", 4), tmp_path / "avg")
    assert checkpoints.read(prefix).tensor("layer/kernel")[0] == np.float32(1e8 + 2.5)


def test_too_few(tmp_path):
    save(tmp_path, 1, 1.0)
    with pytest.raises(UserError, match=r"3 checkpoints are to be averaged, but .* holds 1"):
        averaging.last(tmp_path, 3)


def test_not_the_same_model(tmp_path):
    first = save(tmp_path / "a", 1, 1.0)
    second = save(tmp_path / "b", 2, 1.0, more=np.zeros([1], np.float32))
    with pytest.raises(UserError, match="not of the same model: more"):
        averaging.average([first, second], tmp_path / "avg")
    assert not (tmp_path / "avg").exists()


def test_the_same_one_twice(tmp_path):
    prefix = save(tmp_path, 1, 1.0)
    with pytest.raises(UserError, match="named twice"):
        averaging.mean([prefix, prefix])


def test_never_into_the_run_itself(tmp_path):
    run = tmp_path / "run"
    shutil.copytree(GOLDEN / "input", run)
    with pytest.raises(UserError, match="the run directory itself"):
        averaging.average(averaging.last(run, 2), run)
    assert checkpoints.read(run / "model.ckpt-300").global_step == 300
    assert not checkpoints.read(run / "model.ckpt-300").is_inference_only
