"""kt-translate-all: a file for each checkpoint, those that are there already left alone."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from keras_transformer.cli.translate_all import main

GOLDEN = Path(__file__).parents[1] / "golden"
RUN = GOLDEN / "t2t_trainer_run"
VOCABULARY = GOLDEN / "data_pipeline" / "data" / "vocab.oracle_toy_ende.256.subwords"


@pytest.fixture
def run(tmp_path):
    """A run with checkpoints of 100 and 250 steps, the same weights in both."""
    folder = tmp_path / "run"
    shutil.copytree(RUN, folder)
    for part in ("index", "data-00000-of-00002", "data-00001-of-00002"):
        shutil.copyfile(folder / f"model.ckpt-250.{part}", folder / f"model.ckpt-100.{part}")
    return folder


def test_each_checkpoint_once(run, tmp_path, capsys):
    source, outputs = tmp_path / "in", tmp_path / "outputs"
    source.write_text("".join((RUN / "decode_input.txt").read_text().splitlines(True)[:3]))
    flags = [
        f"--output_dir={run}",
        f"--vocab_file={VOCABULARY}",
        f"--source={source}",
        f"--translations_dir={outputs}",
        "--beam_size=1",
    ]
    assert main([*flags, "--min_steps=200"]) == 0
    assert os.listdir(outputs) == ["text2text-250"]
    first = (outputs / "text2text-250").stat().st_mtime_ns
    assert main(flags) == 0
    assert sorted(os.listdir(outputs)) == ["text2text-100", "text2text-250"]
    assert (outputs / "text2text-250").stat().st_mtime_ns == first
    assert "text2text-250 is there already" in capsys.readouterr().err
    expected = (outputs / "text2text-250").read_text()
    assert (outputs / "text2text-100").read_text() == expected
    assert expected.count("\n") == 3 and all(expected.splitlines())


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "--output_dir is not given"),
        ([f"--output_dir={RUN}"], "--source=None: give a text file"),
        ([f"--output_dir={RUN}", f"--source={VOCABULARY}"], "--translations_dir is not given"),
        (
            [f"--output_dir={RUN}", f"--source={VOCABULARY}", "--min_steps=999"],
            "no checkpoint of at least 999 steps",
        ),
    ],
)
def test_mistakes(tmp_path, capsys, flags, message):
    if "999" in message:
        flags = [*flags, f"--translations_dir={tmp_path}"]
    assert main(flags) == 2
    assert message in capsys.readouterr().err
