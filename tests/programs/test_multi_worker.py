"""Two processes on one machine train one model: as one device would, and what if one dies."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import time
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import pytest

from keras_transformer.training import checkpoints
from tests.programs.forked_trainer import (
    dies_as_it_connects,
    fork_trainer,
    waits_briefly_for_connections,
)

pytestmark = pytest.mark.slow

# A fixed number of sentences for each device, so that one device can have the very same batches.
SETTINGS = (
    "tiny,num_hidden_layers=1,hidden_size=16,num_heads=2,filter_size=32,max_length=32,"
    "use_fixed_batch_size=true,batch_size={sentences},batch_shuffle_size=4,"
    "learning_rate_schedule=constant,learning_rate_constant=0.002,clip_grad_norm=0.5,"
    "weight_decay=0.001,layer_prepostprocess_dropout=0,attention_dropout=0,relu_dropout=0"
)
SENTENCES = 3
STEPS = 200
SAVE_EVERY = 20
# However busy the machine is.
PATIENCE = 300.0
WORKER_LOST = 3


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    words = ["ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"]
    words += ["elf", "zwölf"]
    source = [f"{n} {n + 1} {n + 2}" for n in range(12)]
    target = [" ".join(words[(n + more) % 12] for more in range(3)) for n in range(12)]
    for name in ("train", "dev"):
        (folder / f"{name}.src").write_text("\n".join(source) + "\n")
        (folder / f"{name}.tgt").write_text("\n".join(target) + "\n")
    return folder


def command(corpus: Path, run_dir: Path, sentences: int, *more: str) -> list[str]:
    return [
        *("--problem=text2text", "--vocab_size=80", f"--data_dir={corpus}/data"),
        *(f"--train_source={corpus}/train.src", f"--train_target={corpus}/train.tgt"),
        *(f"--dev_source={corpus}/dev.src", f"--dev_target={corpus}/dev.tgt"),
        *(f"--output_dir={run_dir}", f"--hparams={SETTINGS.format(sentences=sentences)}"),
        *(f"--local_eval_frequency={SAVE_EVERY}", "--log_step_count_steps=1", "--deterministic"),
        *more,
    ]


class Pair:
    """Two workers, or the first of them, with their output."""

    def __init__(
        self,
        folder: Path,
        *arguments: list[str],
        prepare: Sequence[Callable[[], object] | None] = (None, None),
    ):
        addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
        folder.mkdir(exist_ok=True)
        self.outputs = [folder / f"worker-{number}" for number in range(len(arguments))]
        self.processes = []
        for number, each in enumerate(arguments):
            task = {"type": "worker", "index": number}
            config = json.dumps({"cluster": {"worker": addresses}, "task": task})
            self.processes.append(
                start(each, self.outputs[number], prepare[number], TF_CONFIG=config)
            )

    def wait(self) -> list[int | None]:
        try:
            return [wait(process, PATIENCE) for process in self.processes]
        finally:
            self.kill()

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
            process.join()

    def said(self, number: int) -> str:
        return self.outputs[number].read_text()


def free_ports(number: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def start(
    arguments: list[str],
    output: Path,
    prepare: Callable[[], object] | None = None,
    **environment: str,
) -> BaseProcess:
    output.touch()
    return fork_trainer(arguments, output, prepare, CUDA_VISIBLE_DEVICES="-1", **environment)


def wait(process: BaseProcess, seconds: float) -> int | None:
    """The status of the process, None if it has not ended within so many seconds."""
    process.join(seconds)
    return process.exitcode


def records(run_dir: Path, event: str) -> list[dict]:
    lines = (run_dir / "train_log.jsonl").read_text().splitlines()
    return [record for record in map(json.loads, lines) if record["event"] == event]


def losses(run_dir: Path) -> list[float]:
    return [record["loss"] for record in records(run_dir, "train")[:19]]  # of steps 2 to 20


def weights(run_dir: Path, step: int) -> dict[str, np.ndarray]:
    reader = checkpoints.read(checkpoints.path_of(run_dir, step))
    return {name: reader.tensor(name) for name in reader.names() if name[:8] in PARTS}


PARTS = ("encoder/", "decoder/", "optimize")


@pytest.fixture(scope="module")
def two_workers(corpus, tmp_path_factory):
    """A run that nothing disturbs; it also makes the data, for which the other worker waits."""
    folder = tmp_path_factory.mktemp("pair")
    line = command(corpus, folder / "run", SENTENCES, f"--train_steps={STEPS}")
    pair = Pair(folder, line, line)
    assert pair.wait() == [0, 0], pair.said(0) + pair.said(1)
    return folder / "run", pair


def test_two_workers_follow_one_device(two_workers, corpus, tmp_path):
    run_dir, _ = two_workers
    output = tmp_path / "one.txt"
    line = command(corpus, tmp_path / "one", 2 * SENTENCES, f"--train_steps={SAVE_EVERY}")
    assert wait(start(line, output), PATIENCE) == 0, output.read_text()

    one, two = losses(tmp_path / "one"), losses(run_dir)
    assert len(one) == 19 and one[-1] < 0.9 * one[0]
    np.testing.assert_allclose(two, one, rtol=1e-5)
    assert [record["replicas"] for record in records(run_dir, "start")] == [2]


def test_only_the_chief_writes_and_evaluates(two_workers):
    run_dir, pair = two_workers
    assert [record["step"] for record in records(run_dir, "train")] == [*range(2, STEPS + 1)]
    assert [record["step"] for record in records(run_dir, "eval")] == [STEPS]
    assert records(run_dir, "eval")[0]["perplexity"] < 20
    assert len(list(run_dir.glob("events.out.tfevents.*"))) == 1
    assert f"step {STEPS}: all steps were made" in pair.said(0)
    assert f"worker 1: step {STEPS}: all steps were made" in pair.said(1)
    assert "loss" not in pair.said(1)
    assert "waiting for worker 0 (127.0.0.1:" in pair.said(1)


def test_a_chief_that_dies_ends_the_other_and_all_go_on_from_the_checkpoint(
    two_workers, corpus, tmp_path
):
    undisturbed, _ = two_workers
    run_dir = tmp_path / "run"
    line = command(corpus, run_dir, SENTENCES, f"--train_steps={STEPS}", "--schedule=train")

    pair = Pair(tmp_path / "killed", line, line)
    wait_for_a_checkpoint(run_dir, pair)
    pair.processes[0].kill()
    died = time.monotonic()
    assert pair.wait()[1] == WORKER_LOST, pair.said(1)
    assert time.monotonic() - died < 60
    message = pair.said(1).splitlines()[-1]
    assert "worker 0 (127.0.0.1:" in message and "has ended or was lost" in message
    assert_only_our_message(pair.said(1))

    step = checkpoints.step_of(checkpoints.latest(run_dir))
    pair = Pair(tmp_path / "terminated", line, line)
    wait_for_a_checkpoint(run_dir, pair, after=step)
    pair.processes[1].terminate()
    assert pair.wait() == [143, 143], pair.said(0) + pair.said(1)
    assert [record["step"] for record in records(run_dir, "resume")] == [step]
    end = records(run_dir, "end")[-1]
    assert end["reason"] == "interrupted" and end["step"] < STEPS
    assert checkpoints.step_of(checkpoints.latest(run_dir)) == end["step"]

    # To the next step of which the undisturbed run keeps a checkpoint.
    goal = end["step"] // SAVE_EVERY * SAVE_EVERY + SAVE_EVERY
    line = command(corpus, run_dir, SENTENCES, f"--train_steps={goal}", "--schedule=train")
    pair = Pair(tmp_path / "finished", line, line)
    assert pair.wait() == [0, 0], pair.said(0) + pair.said(1)
    expected = weights(undisturbed, goal)
    assert expected
    for name, value in weights(run_dir, goal).items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)


def test_a_frozen_worker_ends_the_other(corpus, tmp_path):
    run_dir = tmp_path / "run"
    line = command(corpus, run_dir, SENTENCES, "--train_steps=100000", "--schedule=train")
    pair = Pair(tmp_path / "frozen", line, line)
    wait_for_a_checkpoint(run_dir, pair)
    os.kill(pair.processes[1].pid, signal.SIGSTOP)
    stopped = time.monotonic()
    try:
        assert wait(pair.processes[0], 60) == WORKER_LOST, pair.said(0)
    finally:
        pair.kill()
    assert time.monotonic() - stopped < 60
    assert "worker 1 (127.0.0.1:" in pair.said(0)
    assert_only_our_message(pair.said(0))


@pytest.mark.parametrize("dying", [0, 1])
def test_a_worker_that_dies_while_tensorflow_connects(corpus, tmp_path, dying):
    line = command(corpus, tmp_path / "run", SENTENCES, "--train_steps=5")
    prepare = [waits_briefly_for_connections, waits_briefly_for_connections]
    prepare[dying] = dies_as_it_connects
    pair = Pair(tmp_path / "connecting", line, line, prepare=prepare)
    statuses = pair.wait()
    other = 1 - dying
    assert statuses[dying] == 77 and statuses[other] == WORKER_LOST, pair.said(other)
    assert f"worker {other}: worker {dying} (127.0.0.1:" in pair.said(other)
    assert_only_our_message(pair.said(other))


def assert_only_our_message(said: str) -> None:
    assert said.count("start all workers again") == 1
    # Neither a stack nor the log of TensorFlow's C++.
    assert "Traceback" not in said and not re.search(r"^[EWF]\d{4} ", said, re.MULTILINE), said


def wait_for_a_checkpoint(run_dir: Path, pair: Pair, after: int = 0) -> None:
    until = time.monotonic() + PATIENCE
    while max(checkpoints.all_steps(run_dir), default=0) <= after:
        assert time.monotonic() < until, pair.said(0)
        assert [process.exitcode for process in pair.processes] == [None, None], pair.said(0)
        time.sleep(0.05)


def test_a_worker_that_never_comes_up(corpus, tmp_path):
    line = command(corpus, tmp_path / "run", SENTENCES, "--train_steps=5", "--worker_timeout=4")
    pair = Pair(tmp_path / "half", line)
    assert pair.wait() == [WORKER_LOST], pair.said(0)
    assert "worker 1 (127.0.0.1:" in pair.said(0)
    assert "has not come up within 4 seconds" in pair.said(0)


def test_each_worker_saves_its_rows_of_a_batch_that_went_wrong(corpus, tmp_path):
    run_dir = tmp_path / "run"
    line = command(corpus, run_dir, SENTENCES, "--train_steps=20", "--schedule=train")
    line = [
        each.replace("learning_rate_constant=0.002", "learning_rate_constant=1e38") for each in line
    ]
    pair = Pair(tmp_path / "diverged", line, line)
    assert pair.wait() == [1, 1], pair.said(0) + pair.said(1)
    (step,) = {record["step"] for record in records(run_dir, "nan")}
    texts = [
        (run_dir / f"nan_batch-{step}-worker-{number}.txt").read_text().splitlines()
        for number in range(2)
    ]
    assert [len(each) for each in texts] == [SENTENCES, SENTENCES]
    pairs = (corpus / "train.src").read_text().splitlines()
    for source in [row.split("\t")[0] for text in texts for row in text]:
        assert source in pairs
    assert texts[0] != texts[1]
    assert "and the files of the other workers beside it" in pair.said(0)
