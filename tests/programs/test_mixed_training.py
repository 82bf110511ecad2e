"""`kt-trainer --mix_source=…`: more text beside the problem's, its shares, and going on exactly."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from keras_transformer.cli.trainer import main
from keras_transformer.training import checkpoints

HPARAMS = (
    "tiny,num_hidden_layers=1,hidden_size=16,num_heads=2,filter_size=32,batch_size=60,"
    "batch_shuffle_size=8,learning_rate_warmup_steps=10"
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    for name, count in (("train", 40), ("dev", 4), ("back", 20)):
        pairs = [(f"{name[0]} {n} {n * n}", f"{n * n} {n}") for n in range(count)]
        for ending, side in (("src", 0), ("tgt", 1)):
            text = "".join(f"{pair[side]}\n" for pair in pairs)
            (folder / f"{name}.{ending}").write_text(text, "utf-8")
    return folder


def arguments(corpus: Path, output_dir: Path, *more: str) -> list[str]:
    return [
        *("--problem=text2text", "--vocab_size=80", f"--data_dir={corpus}/data"),
        *(f"--train_source={corpus}/train.src", f"--train_target={corpus}/train.tgt"),
        *(f"--dev_source={corpus}/dev.src", f"--dev_target={corpus}/dev.tgt"),
        *(f"--mix_source={corpus}/back.src", f"--mix_target={corpus}/back.tgt"),
        *("--deterministic", "--schedule=train", f"--hparams={HPARAMS}"),
        *(f"--output_dir={output_dir}", *more),
    ]


@pytest.fixture(scope="module")
def whole(corpus, tmp_path_factory):
    """Eight steps without a stop."""
    run_dir = tmp_path_factory.mktemp("runs") / "whole"
    assert main(arguments(corpus, run_dir, "--mix_weights=2x", "--train_steps=8")) == 0
    return run_dir


def test_the_run_says_what_it_was_trained_on(corpus, whole):
    (record,) = json.loads((whole / "run.json").read_text())["mixture"]
    assert record == {
        "source": str(corpus / "back.src"),
        "target": str(corpus / "back.tgt"),
        "weight": "2x",
    }
    lines = map(json.loads, (whole / "train_log.jsonl").read_text().splitlines())
    (event,) = (line for line in lines if line["event"] == "mixture")
    first, second = event["parts"]
    assert (first["name"], second["name"]) == ("text2text", "text2text_mix_back_src")
    # 20 sentences read twice for each time that 40 are read.
    assert first["sentence_share"] == pytest.approx(0.5)
    assert (second["records"], second["passes"]) == (20, 2)


def test_a_stop_changes_nothing(corpus, whole, tmp_path):
    """Stopped at step 3 and started again without the flags: equal weights, bit for bit."""
    run_dir = tmp_path / "stopped"
    assert main(arguments(corpus, run_dir, "--mix_weights=2x", "--train_steps=3")) == 0
    more = [f"--output_dir={run_dir}", "--train_steps=8", "--schedule=train", "--deterministic"]
    assert main(more) == 0
    expected, resumed = (checkpoints.read(checkpoints.latest(each)) for each in (whole, run_dir))
    for name in expected.names():
        if name != checkpoints.DATA_ITERATOR and name != "train_state":
            assert np.array_equal(expected.tensor(name), resumed.tensor(name)), name


def test_another_mixture_is_shown_with_both_values(corpus, whole, capsys):
    before = (whole / "run.json").read_bytes()
    status = main(arguments(corpus, whole, "--mix_weights=0.5", "--train_steps=9"))
    assert status == 2
    said = capsys.readouterr().err
    assert "back.src=2x in the run directory" in said
    assert "back.src=0.5 on the command line" in said
    assert (whole / "run.json").read_bytes() == before


def test_the_command_line_may_win(corpus, whole, caplog):
    more = ["--mix_weights=0.5", "--train_steps=9", "--on_conflict=command_line"]
    assert main(arguments(corpus, whole, *more)) == 0
    (record,) = json.loads((whole / "run.json").read_text())["mixture"]
    assert record["weight"] == "0.5"
    assert "mixture changed" in caplog.text


def test_weights_are_checked_before_anything_is_made(corpus, tmp_path, capsys):
    assert main(arguments(corpus, tmp_path / "run", "--mix_weights=-1")) == 2
    assert "'-1' is not a weight" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
