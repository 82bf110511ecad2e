"""One layer that maps n positions of width d to as many: forward and backward, time or memory.

The job names the layer, the sizes [[n, d], …], and what is measured: `time`, positions in CPU
seconds; or `memory`, for which the bytes in use at the highest stand in the place of units, and 1
in that of seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import keras
import protocol
import tensorflow as tf
from one_device import keep_to

from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.linear import Linear
from keras_transformer.model import masks

LONG_ENOUGH = 0.1  # CPU seconds of one measurement
LONG_FIRST = 5.0  # CPU seconds of a first pass that say enough
DEVICE = "CPU:0"
STEPS = 3  # loops that run ahead make the highest differ from step to step


def prepare(job: dict[str, Any]) -> tuple[Callable[[], Any], dict[str, str]]:
    keep_to(job["threads"])
    steps = {
        f"{n} x {d}": (n, step_of(layer_of(job["layer"], d, job), n, d)) for n, d in job["sizes"]
    }
    passes: dict[str, int] = {}

    def time_of(figure: str, n: int, step: Callable[[], Any]) -> tuple[int, float]:
        if figure not in passes:
            first = protocol.cpu_seconds(step)  # traced too, so it took longer
            again = first if first > LONG_FIRST else protocol.cpu_seconds(step)
            passes[figure] = math.ceil(LONG_ENOUGH / max(again, 1e-6))
        count = passes[figure]
        return n * count, protocol.cpu_seconds(lambda: [step() for _ in range(count)])

    def one_round() -> dict[str, tuple[int, float]]:
        if job["what"] == "memory":
            return {figure: (growth(step), 1) for figure, (_, step) in steps.items()}
        return {figure: time_of(figure, n, step) for figure, (n, step) in steps.items()}

    return one_round, {"tensorflow": tf.__version__, "keras": keras.__version__}


def layer_of(name: str, d: int, job: dict[str, Any]) -> Callable[[tf.Tensor], tf.Tensor]:
    """The layer as a function of float32 [1, n, d]."""
    heads = max(1, d // job["head_width"])
    if name == "recurrent":
        return keras.layers.LSTM(d, return_sequences=True)
    if name == "convolutional":
        return keras.layers.Conv1D(d, job["kernel"], padding="same")
    if name == "self-attention":
        return MultiHeadAttention(heads, d, d)
    if name == "restricted":
        restricted = MultiHeadAttention(heads, d, d, neighbourhood=job["reach"])
        near = restricted.neighbourhood
        return lambda x: restricted(x, bias=masks.neighbourhood_bias(near, x))
    if name == "projections":
        parts = [Linear(d) for _ in range(4)]
        # One after the other: the same rows through four products, as in attention.
        return lambda x: parts[3](parts[0](x) + parts[1](x) + parts[2](x))
    raise ValueError(name)


def step_of(layer: Callable[[tf.Tensor], tf.Tensor], n: int, d: int) -> Callable[[], Any]:
    """Forward, and backward to the inputs and all weights."""
    x = tf.random.stateless_normal([1, n, d], [1, 2])
    layer(x[:, :2])  # makes the weights

    @tf.function(autograph=False)
    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(tf.square(layer(x)))
        gradients = tape.gradient(loss, [x, *tape.watched_variables()])
        # All are needed for it, so none is left out; and none leaves the function.
        return tf.add_n([tf.reduce_max(gradient) for gradient in gradients])

    return lambda: step(x)


def growth(step: Callable[[], Any]) -> int:
    """Bytes in use at the highest during some steps above those in use before.

    As TensorFlow's allocator counts them; 0 where it does not (builds without oneDNN).
    """
    step()
    try:
        tf.config.experimental.reset_memory_stats(DEVICE)
    except ValueError:
        return 0
    before = tf.config.experimental.get_memory_info(DEVICE)["current"]
    for _ in range(STEPS):
        step()
    return tf.config.experimental.get_memory_info(DEVICE)["peak"] - before


if __name__ == "__main__":
    protocol.serve(prepare)
