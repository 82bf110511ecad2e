"""What was logged is read back: from the lines, and from TensorBoard's files; whole or cut off."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator

from keras_transformer.training import train_log
from keras_transformer.training.train_log import TrainLog
from tests.unit.training.tensorboard_files import values

FIGURES = {
    "loss": 2.5,
    "gradient_norm": 0.75,
    "steps_per_second": 4.0,
    "target_tokens_per_second": 96.0,
}


def test_figures_of_training(tmp_path):
    log = TrainLog(tmp_path, "translate")
    for step in (10, 20):
        log.train(step, 0.125, {**FIGURES, "loss": 30.0 / step})
    log.close()
    assert values(tmp_path) == {
        (tag, step): value
        for step in (10, 20)
        for tag, value in {
            "loss": 30.0 / step,
            "gradient_norm": 0.75,
            "global_step/sec": 4.0,
            "target_tokens_per_second": 96.0,
            "learning_rate": 0.125,
        }.items()
    }
    records = list(train_log.events(tmp_path, "train"))
    assert [record["loss"] for record in records] == [3.0, 1.5]
    assert records[0]["steps_per_second"] == 4.0


def test_evaluation_with_translations_and_attention(tmp_path):
    log = TrainLog(tmp_path, "translate")
    image = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)
    log.attention(7, {"decoder/layer_0/cross_attention": image}, "a house\tein Haus")
    log.translations(7, [("a | b", "x\ny", "z")])
    log.evaluation(7, "dev", {"loss": 1.5, "accuracy": 0.5, "bleu_sacrebleu": 25.0})
    log.close()
    found = values(tmp_path / "eval")
    assert found["loss", 7] == 1.5
    assert found["metrics-translate/targets/accuracy", 7] == 0.5
    assert found["metrics-translate/targets/bleu_sacrebleu", 7] == 25.0
    width, height, png = found["attention/decoder/layer_0/cross_attention", 7]
    assert (int(width), int(height)) == (5, 4)
    np.testing.assert_array_equal(tf.io.decode_png(png), image)
    assert found["attention/sentences", 7].item().decode() == "a house\tein Haus"
    assert found["translations", 7].item().decode().splitlines()[-1] == "| a \\| b | x y | z |"


LINE = json.dumps({"event": "eval", "step": 2, "path": "läufe/é"}, ensure_ascii=False).encode()


def make_older(folder):
    """As if TensorBoard's files had been begun a while ago: they are read in the order of names."""
    for path in folder.glob("events.out.tfevents.*"):
        seconds = re.search(r"tfevents\.(\d+)", path.name).group(1)
        path.rename(path.with_name(path.name.replace(seconds, str(int(seconds) - 60))))


def steps_shown(folder, tag):
    """The steps of TensorBoard's curve."""
    reader = EventAccumulator(str(folder))
    reader.Reload()
    return [event.step for event in reader.Tensors(tag)]


@pytest.mark.parametrize(
    ("cut", "steps"),
    [
        (LINE[:1], [1, 3]),
        (LINE[:20], [1, 3]),
        (LINE[: LINE.index(b"\xa9")], [1, 3]),  # in the midst of a letter of two bytes
        (LINE, [1, 2, 3]),  # only the end of the line is missing
        (b"", [1, 3]),
    ],
)
def test_a_line_cut_off_costs_only_itself(tmp_path, cut, steps):
    path = tmp_path / train_log.LOG_FILE
    path.write_bytes(b'{"event": "eval", "step": 1}\n' + cut)
    log = TrainLog(tmp_path, "translate")
    log.event("eval", 3)
    log.close()
    TrainLog(tmp_path, "translate").close()
    assert [record["step"] for record in train_log.events(tmp_path, "eval")] == steps
    assert path.read_bytes().count(b"\n") == 2 + bool(cut)


def test_an_event_file_cut_off_hides_no_other(tmp_path):
    first = TrainLog(tmp_path, "translate")
    for step in (1, 2):
        first.train(step, 0.1, FIGURES)
    first.close()
    (path,) = tmp_path.glob("events.*")
    path.write_bytes(path.read_bytes()[:-5])  # the last record of step 2 is half there
    make_older(tmp_path)

    second = TrainLog(tmp_path, "translate")
    second.resume(1, "model.ckpt-1")
    for step in (2, 3):
        second.train(step, 0.1, FIGURES)
    second.close()
    for tag in ("loss", "learning_rate"):
        assert steps_shown(tmp_path, tag) == [1, 2, 3]


def test_updates_lost_by_a_kill_are_shown_once(tmp_path):
    log = TrainLog(tmp_path, "translate")
    for step in range(1, 8):
        log.train(step, 0.1, FIGURES)
    # Killed without another word; the last checkpoint is that of step 4.
    make_older(tmp_path)
    again = TrainLog(tmp_path, "translate")
    again.resume(4, "model.ckpt-4")
    for step in range(5, 10):
        again.train(step, 0.1, FIGURES)
    again.close()
    assert steps_shown(tmp_path, "loss") == list(range(1, 10))
    assert [record["step"] for record in train_log.events(tmp_path, "train")] == [
        *range(1, 8),
        *range(5, 10),
    ]
