"""The matrix products of a model alone: what everything else is measured against.

Each product is [rows, inputs] x [inputs, outputs] with a matrix of its own, as in the model: a
small batch reads all the weights from memory, and so do these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import protocol
import tensorflow as tf
from one_device import keep_to


def prepare(job: dict[str, Any]) -> tuple[Callable[[], Any], dict[str, str]]:
    keep_to(job["threads"])
    dtype = tf.as_dtype(job["dtype"])
    works = {
        figure: (part["units"], [timed_products(each, dtype) for each in part["products"]])
        for figure, part in job["figures"].items()
    }

    def one_round() -> dict[str, tuple[float, float]]:
        return {
            figure: (units, sum(seconds() for seconds in products))
            for figure, (units, products) in works.items()
        }

    return one_round, {"tensorflow": tf.__version__}


def timed_products(each: dict[str, Any], dtype: tf.DType) -> Callable[[], float]:
    """CPU seconds of one kind of product, times how often it is done.

    Products as short as those of a single sentence are measured over several passes.
    """
    rows, inputs, outputs = each["rows"], each["inputs"], each["outputs"]
    x = tf.cast(tf.random.normal([rows, inputs]), dtype)
    dy = tf.cast(tf.random.normal([rows, outputs]), dtype)
    # Variables, so that nothing is computed while the graph is made.
    matrices = [
        tf.Variable(tf.cast(tf.random.normal([inputs, outputs]), dtype))
        for _ in range(each["matrices"])
    ]

    @tf.function(autograph=False)
    def products(x: tf.Tensor, dy: tf.Tensor) -> list[tf.Tensor]:
        results = [tf.matmul(x, matrix) for matrix in matrices]
        if each["gradients"]:
            results += [tf.matmul(dy, matrix, transpose_b=True) for matrix in matrices]
            results += [tf.matmul(x, dy, transpose_a=True) for _ in matrices[:1]]
        return results

    def passes() -> None:
        for _ in range(each["passes"]):
            products(x, dy)

    return lambda: each["times"] / each["passes"] * protocol.cpu_seconds(passes)


if __name__ == "__main__":
    protocol.serve(prepare)
