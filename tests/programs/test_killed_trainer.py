"""A trainer killed again and again ends with the weights of one that never was, bit for bit."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator

from keras_transformer.training import checkpoints, train_log

ROOT = Path(__file__).parents[2]
GOAL = 120
WORDS = ["ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht"]
# Dropout and the shuffled order of batches must go on where they were, too.
SETTINGS = (
    "tiny,num_hidden_layers=1,hidden_size=16,num_heads=2,filter_size=32,batch_size=40,"
    "batch_shuffle_size=8,learning_rate_warmup_steps=10,layer_prepostprocess_dropout=0.2"
)
KILLS = {"start": 2, "anywhere": 6, "checkpoint": 7, "summary": 5}


@contextlib.contextmanager
def trainers():
    """A function that runs one trainer to its end, and gives its status."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.programs.mortal_trainers"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "-1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def run(arguments, moment=None):
        process.stdin.write(json.dumps({"arguments": arguments, "moment": moment}) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    with process:
        yield run
        process.stdin.close()


def moments(run_dir, seed):
    """Twenty moments; those at the start first, the others in any order."""
    generator = random.Random(seed)
    chosen = []
    for kind, number in KILLS.items():
        for _ in range(number):
            if kind == "start":
                moment = {"kind": kind, "number": generator.randint(1, 10), "delay": 0.0}
            elif kind == "checkpoint":
                # A checkpoint is about ten operations: one of the first three dies.
                moment = {"kind": kind, "number": generator.randint(1, 30), "delay": 0.0}
            elif kind == "summary":
                # Opening the log comes first, TensorBoard's file within a few milliseconds.
                delay = generator.choice([0.0, generator.uniform(0.0, 0.005)])
                moment = {"kind": kind, "number": generator.randint(1, 8), "delay": delay}
            else:
                # In an update, in reading data, in TensorFlow's own writing of a checkpoint.
                delay = generator.uniform(0.0, 0.1)
                moment = {"kind": "summary", "number": generator.randint(1, 8), "delay": delay}
            chosen.append((kind, {"run_dir": str(run_dir), **moment}))
    generator.shuffle(chosen)
    return sorted(chosen, key=lambda each: each[0] != "start")


@pytest.mark.slow
def test_twenty_kills_change_no_bit(tmp_path):
    for side, lines in (
        ("src", [f"{n} {n + 1} {n + 2}" for n in range(8)]),
        ("tgt", [" ".join(WORDS[(n + k) % 8] for k in range(2)) for n in range(8)]),
    ):
        (tmp_path / f"text.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = [
        f"--{split}_{side}={tmp_path / 'text'}.{ending}"
        for split in ("train", "dev")
        for side, ending in (("source", "src"), ("target", "tgt"))
    ]

    def arguments(name, *more):
        flags = ["--problem=text2text", "--vocab_size=60", f"--hparams={SETTINGS}", *files]
        flags += [f"--data_dir={tmp_path / 'data'}", f"--output_dir={tmp_path / name}"]
        flags += [f"--train_steps={GOAL}", "--schedule=train", "--deterministic"]
        return [*flags, "--log_step_count_steps=1", *more]

    killed = tmp_path / "killed"
    often = arguments("killed", "--local_eval_frequency=1", "--keep_checkpoint_max=3")
    half_written, checkpoints_in_writing = 0, re.compile(r"\.(model\.ckpt-|checkpoint)")
    with trainers() as run:
        assert run(arguments("straight", f"--local_eval_frequency={GOAL}")) == 0
        for kind, moment in moments(killed, seed=20):
            assert run(often, moment) == -signal.SIGKILL, (kind, moment)
            half_written += any(map(checkpoints_in_writing.match, os.listdir(killed)))
        assert run(often) == 0

    # The kills did strike in the midst of it: files under temporary names were left, …
    assert half_written >= 3
    assert not [name for name in os.listdir(killed) if ".tmp" in name]
    # … and updates were lost and made again.
    lost, newest = 0, 0
    for record in train_log.events(killed, "train", "resume"):
        lost += record["event"] == "resume" and record["step"] < newest
        newest = max(newest, record["step"])
    assert lost and newest == GOAL
    assert len(list(train_log.events(killed, "resume"))) == sum(KILLS.values()) - KILLS["start"]

    straight, other = (
        checkpoints.read(tmp_path / name / f"model.ckpt-{GOAL}") for name in ("straight", "killed")
    )
    assert other.names() == straight.names()
    for name in straight.names():
        if name not in (checkpoints.DATA_ITERATOR, checkpoints.TRAIN_STATE):
            np.testing.assert_array_equal(other.tensor(name), straight.tensor(name), err_msg=name)

    # TensorBoard reads the files of all the trainers, and shows no update twice.
    board = EventAccumulator(str(killed), size_guidance={"tensors": 0})
    board.Reload()
    shown = [event.step for event in board.Tensors("loss")]
    assert shown == sorted(set(shown)) and shown[-1] == GOAL
