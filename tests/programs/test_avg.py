"""`kt-avg` as a user calls it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from keras_transformer.cli.avg import main
from keras_transformer.training import checkpoints

INPUT = Path(__file__).parents[1] / "golden" / "averaging" / "input"


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    for step in (10, 20, 30):
        checkpoints.save(folder, step, {"layer/kernel": np.full([2], step, np.float32)})
    (folder / "hparams.json").write_text("{}")
    return folder


def kernel(prefix):
    return float(checkpoints.read(prefix).tensor("layer/kernel")[0])


def test_last(run, capsys):
    assert main([f"--model_dir={run}", "--last=2"]) == 0
    assert capsys.readouterr().out == f"{run}/avg/model.ckpt-30\n"
    assert kernel(run / "avg" / "model.ckpt-30") == 25
    assert (run / "avg" / "hparams.json").is_file()


def test_running(run, tmp_path):
    assert main([f"--model_dir={run}", "--n=2", f"--output_dir={tmp_path / 'out'}"]) == 0
    assert checkpoints.all_steps(tmp_path / "out") == [20, 30]
    assert kernel(tmp_path / "out" / "model.ckpt-20") == 15


def test_named(run, tmp_path):
    names = f"{run}/model.ckpt-30,{run}/model.ckpt-10.index"
    assert main([f"--checkpoints={names}", f"--output_dir={tmp_path / 'out'}"]) == 0
    assert kernel(tmp_path / "out" / "model.ckpt-30") == 20


def test_checkpoints_of_t2t(tmp_path):
    assert main([f"--model_dir={INPUT}", "--last=3", f"--output_dir={tmp_path}"]) == 0
    assert checkpoints.read(tmp_path / "model.ckpt-300").is_inference_only


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "one of --last, --n and --checkpoints"),
        (["--last=2", "--n=2"], "not with --last and --n"),
        (["--last=2"], "--model_dir is not given"),
        (["--last=2", "--model_dir=/nowhere"], "there is no such folder"),
        (["--checkpoints=/nowhere/model.ckpt-1"], "--output_dir is not given"),
        (["--checkpoints=/nowhere/model.ckpt-1", "--output_dir=/tmp/x"], "no such checkpoint"),
        (["--checkpoints=/nowhere/model", "--output_dir=/tmp/x"], "must end in -<step>"),
    ],
)
def test_mistakes(arguments, message, capsys):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert not Path("/tmp/x").exists()
