"""Full training steps of this project: forward, backward, Adam, on a given batch of ids.

The job may ask for `accumulate` such batches in an update, for the CPU cut into `logical_cpus`
devices, and for `jit`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import protocol
import tensorflow as tf
from one_device import keep_to

import keras_transformer as kt
from keras_transformer.training import distribution
from keras_transformer.training.train_step import TrainStep

LEARNING_RATE = 1e-4


def prepare(job: dict[str, Any]) -> tuple[Callable[[], Any], dict[str, str]]:
    keep_to(job["threads"])
    hp = kt.hparams(job["hparams"], job["overrides"])
    strategy = distribution.strategy(job.get("logical_cpus", 0))
    accumulate = job.get("accumulate", 1)
    with strategy.scope():
        model = kt.Transformer.from_hparams(hp, job["vocab_size"], job["vocab_size"])
        train_step = TrainStep(
            model, hp, strategy, accumulate=accumulate, jit=job.get("jit", False)
        )
    batch = {side: tf.constant(job[side], tf.int32) for side in ("inputs", "targets")}
    tokens = accumulate * int(np.count_nonzero(job["targets"]))
    steps = iter(range(1, 1 << 30))

    def step() -> None:
        result = train_step([batch] * accumulate, next(steps), LEARNING_RATE)
        if not bool(result.finite):
            raise SystemExit("the loss is not finite")

    def one_round() -> dict[str, tuple[int, float]]:
        return {"target tokens": (tokens, protocol.cpu_seconds(step))}

    return one_round, {"tensorflow": tf.__version__}


if __name__ == "__main__":
    protocol.serve(prepare)
