"""Faults people met with checkpoints and resuming, with the inputs that would show them here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from keras_transformer.cli import avg, trainer
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from keras_transformer.training import checkpoints, train_log

DATA = Path(__file__).parent / "data"
SMALL = "tiny,num_hidden_layers=1,hidden_size=16,num_heads=2,filter_size=32"


def train(folder: Path, data_dir: Path, steps: int, *more: str, settings: str = SMALL) -> int:
    return trainer.main(
        [
            "--problem=text2text",
            f"--train_source={DATA / 'resume_order.src'}",
            f"--train_target={DATA / 'resume_order.tgt'}",
            f"--dev_source={DATA / 'resume_order.src'}",
            f"--dev_target={DATA / 'resume_order.tgt'}",
            "--vocab_size=60",
            f"--hparams={settings}",
            f"--data_dir={data_dir}",
            f"--output_dir={folder}",
            f"--train_steps={steps}",
            "--schedule=train",
            "--deterministic",
            "--log_step_count_steps=1",
            *more,
        ]
    )


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


def tensors(folder: Path) -> dict[str, np.ndarray]:
    reader = checkpoints.read(checkpoints.latest(folder))
    skipped = (checkpoints.DATA_ITERATOR, checkpoints.TRAIN_STATE)
    return {name: reader.tensor(name) for name in reader.names() if name not in skipped}


@pytest.mark.slow
def test_three_and_three_steps_are_six(tmp_path, data_dir, capfd):
    runs = json.loads((DATA / "resume_steps.json").read_text())["runs"]
    # Dropout is on and sentences are shuffled: both must go on exactly where they were.
    settings = (
        SMALL + ",batch_size=40,layer_prepostprocess_dropout=0.3,learning_rate_warmup_steps=4"
    )
    for name, goals in runs.items():
        for goal in goals:
            assert train(tmp_path / name, data_dir, goal, settings=settings) == 0
    said = capfd.readouterr().err
    assert "resuming at step 3 of 6" in said
    assert "--train_steps=6 is a total, and this run is at step 6: nothing to do" in said
    straight = tensors(tmp_path / "straight")
    assert straight["global_step"] == 6
    assert any("optimizer/m/" in name for name in straight)
    for name in ("resumed", "again"):
        other = tensors(tmp_path / name)
        assert other.keys() == straight.keys()
        for key, value in straight.items():
            np.testing.assert_array_equal(other[key], value, err_msg=f"{name}: {key}")
    rates = {
        name: {
            record["step"]: record["learning_rate"]
            for record in train_log.events(tmp_path / name, "train")
        }
        for name in ("straight", "resumed")
    }
    assert rates["straight"][6] == rates["resumed"][6] > 0


@pytest.mark.slow
def test_a_restart_goes_on_in_the_data(tmp_path, data_dir):
    settings = SMALL + ",use_fixed_batch_size=true,batch_size=1,max_length=64"
    for goal in (2, 4, 6, 8):
        assert train(tmp_path / "run", data_dir, goal, settings=settings) == 0
    assert train(tmp_path / "straight", data_dir, 8, settings=settings) == 0
    ours, straight = tensors(tmp_path / "run"), tensors(tmp_path / "straight")
    for key, value in straight.items():
        np.testing.assert_array_equal(ours[key], value, err_msg=key)


def test_fewer_kept_than_are_to_be_averaged(tmp_path, capsys):
    case = json.loads((DATA / "too_few_kept.json").read_text())
    for step in range(1, 6):
        checkpoints.save(
            tmp_path / "run", step, {"a": np.zeros([1])}, keep=case["keep_checkpoint_max"]
        )
    status = avg.main([f"--model_dir={tmp_path / 'run'}", f"--last={case['average_last']}"])
    assert status == 2
    message = capsys.readouterr().err
    assert "3 checkpoints are to be averaged" in message and "holds 2" in message
    assert not (tmp_path / "run" / "avg").exists()


@pytest.mark.slow
def test_averaging_the_form_the_trainer_writes(tmp_path, data_dir):
    case = json.loads((DATA / "tf2_names.json").read_text())
    settings = "tiny," + case["hparams"]
    for step in case["steps"]:
        assert train(tmp_path / "run", data_dir, step, settings=settings) == 0
    assert avg.main([f"--model_dir={tmp_path / 'run'}", "--last=2"]) == 0
    averaged = tmp_path / "run" / "avg"
    translations = Translator.load(averaged).translate(["example 1"], beam_size=2)
    assert len(translations) == 1

    reader = checkpoints.read(averaged / "model.ckpt-2")
    lost = "decoder/layer_0/cross_attention/key/kernel"
    kept = {n: reader.tensor(n) for n in reader.names() if n not in (lost, "train_state")}
    checkpoints.save(averaged, 2, kept)
    with pytest.raises(UserError, match=lost):
        Translator.load(averaged)


@pytest.mark.slow
def test_training_never_goes_on_from_an_average(tmp_path, data_dir, capfd):
    assert train(tmp_path / "run", data_dir, 1) == 0
    assert avg.main([f"--model_dir={tmp_path / 'run'}", "--last=1"]) == 0
    assert train(tmp_path / "run" / "avg", data_dir, 3) == 2
    assert "is an average (model.ckpt-1) and serves decoding only" in capfd.readouterr().err
