"""The progress line: its numbers, and how it is written to a pipe and to a terminal."""

from __future__ import annotations

import io
import json

import pytest
import tensorflow as tf

from keras_transformer.training import progress, train_log
from keras_transformer.training.early_stopping import EarlyStopping
from keras_transformer.training.train_log import TrainLog


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_speed_counts_tokens_and_leaves_pauses_out(clock):
    meter = progress.Meter()
    assert meter.report() == {}
    # Token means: (2.0 · 10 + 5.0 · 30) / 40 = 4.25.
    meter.add(2.0, 20, 10, 1.0)
    meter.add(5.0, 40, 30, 3.0)
    clock[0] += 6
    meter.leave_out(4)
    figures = meter.report()
    assert figures["loss"] == 4.25
    assert figures["source_tokens_per_second"] == 30
    assert figures["target_tokens_per_second"] == 20
    assert figures["target_tokens_per_update"] == 20
    assert figures["steps_per_second"] == 1
    assert figures["gradient_norm"] == 3.0
    assert meter.so_far() == {}


def test_line(clock):
    meter = progress.Meter()
    meter.add(4.5, 1000, 900, 1.0)
    clock[0] += 2
    text = progress.line(60, 100, 1.25e-3, meter.so_far())
    assert text == (
        "step 60/100  loss 4.5000  lr 1.250e-03  500 source + 450 target tokens/s"
        "  0.50 steps/s  1m20s left"
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0s"), (59.4, "59s"), (60, "1m00s"), (7500, "2h05m"), (446400, "5d04h")],
)
def test_spans(seconds, words):
    assert progress.in_words(seconds) == words


def test_a_pipe_gets_whole_lines():
    stream = io.StringIO()
    screen = progress.Screen(stream)
    screen.progress("step 1")
    screen.progress("step 2")
    screen.note("saved")
    screen.close()
    assert stream.getvalue() == "step 1\nstep 2\nsaved\n"


def test_a_terminal_s_line_is_rewritten():
    stream = Terminal()
    screen = progress.Screen(stream)
    screen.progress("step 1")
    screen.progress("step 2")
    screen.note("saved")
    assert stream.getvalue() == "\r\033[Kstep 1\r\033[Kstep 2\nsaved\n"


def test_log_lines_are_read_back_and_a_cut_one_left_out(tmp_path):
    log = TrainLog(tmp_path, "copy")
    log.event("start", 0, parameters=3)
    log.evaluation(5, "dev", {"loss": 1.5, "accuracy": 0.5})
    log.close()
    with open(tmp_path / train_log.LOG_FILE, "a") as stream:
        stream.write('{"event": "eval", "st')
    found = list(train_log.events(tmp_path, "eval"))
    assert [(e["step"], e["split"], e["loss"]) for e in found] == [(5, "dev", 1.5)]
    assert json.loads((tmp_path / train_log.LOG_FILE).read_text().splitlines()[0])["time"] > 0


def test_events_bear_t2t_s_names(tmp_path):
    log = TrainLog(tmp_path, "translate_ende_wmt32k")
    log.evaluation(5, "dev", {"loss": 1.5, "accuracy": 0.5})
    log.train(5, 0.1, {"loss": 2.0, "steps_per_second": 3.0})
    log.close()
    tags = {
        (path.parent.name == "eval", value.tag)
        for path in tmp_path.glob("**/events.*")
        for event in tf.compat.v1.train.summary_iterator(str(path))
        for value in event.summary.value
    }
    assert tags == {
        (True, "loss"),
        (True, "metrics-translate_ende_wmt32k/targets/accuracy"),
        (False, "loss"),
        (False, "learning_rate"),
        (False, "global_step/sec"),
    }


def test_early_stopping():
    stopping = EarlyStopping(metric="loss", patience=20, delta=0.1)
    values = [(10, 3.0), (20, 2.0), (30, 1.95), (40, 1.95)]
    assert [stopping.is_over(step, {"loss": value}) for step, value in values] == [
        *(False, False, False),
        True,  # 1.95 is no improvement by 0.1 over 2.0 of step 20
    ]


def test_early_stopping_on_what_should_rise():
    stopping = EarlyStopping("bleu_sacrebleu", patience=10, delta=0.0, minimize=False)
    assert not stopping.is_over(10, {"bleu_sacrebleu": 20.0})
    assert not stopping.is_over(20, {"bleu_sacrebleu": 21.0})
    assert stopping.is_over(30, {"bleu_sacrebleu": 20.5})


def test_early_stopping_is_off_by_default():
    assert not EarlyStopping().is_over(10**9, {})
