"""Training steps and searches of small models: seconds and memory of each job of a list.

TensorFlow is loaded once; each job then runs in a copy of the process, which has computed nothing
yet, so that its highest memory is its own.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import protocol
import tensorflow as tf
from equal_lengths import equal_lengths
from one_device import keep_to

import keras_transformer as kt
from keras_transformer.decoding.search_graph import SearchGraph
from keras_transformer.training import distribution
from keras_transformer.training.train_step import TrainStep

FIRST_WORD = 2


def settings(job: dict[str, Any]) -> kt.HParams:
    names = ("hidden_size", "filter_size", "num_heads")
    overrides = [f"{name}={job[name]}" for name in names]
    return kt.hparams(
        "transformer_base", ",".join([*overrides, f"num_hidden_layers={job['layers']}"])
    )


def rows(job: dict[str, Any]) -> np.ndarray:
    shape = job["sentences"], job["length"]
    return np.random.RandomState(1).randint(FIRST_WORD, job["vocab_size"], shape).astype("int32")


def training(job: dict[str, Any]) -> Callable[[], Any]:
    hp, size = settings(job), job["vocab_size"]
    strategy = distribution.strategy()
    with strategy.scope():
        train_step = TrainStep(kt.Transformer.from_hparams(hp, size, size), hp, strategy)
    batch = {side: tf.constant(rows(job)) for side in ("inputs", "targets")}
    return lambda: float(train_step([batch], 1, 1e-4).loss)


def decoding(job: dict[str, Any]) -> Callable[[], Any]:
    size, length = job["vocab_size"], job["length"]
    graph = SearchGraph([kt.Transformer.from_hparams(settings(job), size, size)])
    options = equal_lengths(job["beam_size"], length)
    return lambda: graph.search(rows(job), [length] * job["sentences"], options)


def report(job: dict[str, Any]) -> dict[str, float]:
    keep_to(1)
    tf.constant(1.0) + 1.0
    before = protocol.peak_memory()
    work = {"training": training, "decoding": decoding}[job["work"]](job)
    work()
    seconds = min(protocol.cpu_seconds(work) for _ in range(job["repeats"]))
    divisor = job["length"] if job.get("per_step") else 1
    return {"seconds": seconds / divisor, "bytes": protocol.peak_memory() - before}


def in_a_copy(job: dict[str, Any]) -> str:
    """The report as JSON, made by a copy of this process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            os.write(writing, json.dumps(report(job)).encode("ascii"))
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as stream:
        text = stream.read()
    if os.waitpid(child, 0)[1]:
        raise SystemExit(f"failed: {job}")
    return text


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as stream:
        jobs = json.load(stream)
    for job in jobs:
        print(in_a_copy(job), flush=True)
