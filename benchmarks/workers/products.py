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

    def variable(*shape: int) -> tf.Variable:
        # A variable, so that nothing is computed while the graph is made.
        return tf.Variable(tf.cast(tf.random.normal(shape), dtype))

    x = variable(rows, inputs)
    matrices = [variable(inputs, outputs) for _ in range(each["matrices"])]
    # One for each matrix: the same product would be computed only once.
    gradients = [variable(rows, outputs) for _ in matrices if each["gradients"]]

    @tf.function(autograph=False)
    def products() -> list[tf.Tensor]:
        results = [tf.matmul(x, matrix) for matrix in matrices]
        for matrix, gradient in zip(matrices, gradients, strict=each["gradients"]):
            results.append(tf.matmul(gradient, matrix, transpose_b=True))
            results.append(tf.matmul(x, gradient, transpose_a=True))
        return results

    def passes() -> None:
        for _ in range(each["passes"]):
            products()

    return lambda: each["times"] / each["passes"] * protocol.cpu_seconds(passes)


if __name__ == "__main__":
    protocol.serve(prepare)
