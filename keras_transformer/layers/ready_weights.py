"""Weights cast and laid out once for a loop that uses them at every step.

A step of decoding works on a few rows, so reading the weights is most of its time, and casting
them to bfloat16 or turning the logits' table round would take longer than the products. What a loop
needs is therefore made outside of it, and layers inside `ready_weights` take it from there.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import keras
import tensorflow as tf

FROZEN_WEIGHTS = "TF_ONEDNN_ASSUME_FROZEN_WEIGHTS"  # TensorFlow's name

# By thread, since several graphs may be built at the same time.
_current = threading.local()


@contextlib.contextmanager
def ready_weights(weights: Mapping[str, tf.Tensor]) -> Iterator[None]:
    """Layers called inside find their weights in `weights`: path of a variable → tensor."""
    outer = getattr(_current, "weights", None)
    _current.weights = weights
    try:
        yield
    finally:
        _current.weights = outer


def ready(path: str) -> tf.Tensor | None:
    """What `ready_weights` holds under that path, if anything."""
    weights: Mapping[str, tf.Tensor] = getattr(_current, "weights", None) or {}
    return weights.get(path)


def read(variable: keras.Variable, dtype: Any) -> tf.Tensor:
    """A weight in `dtype`, from `ready_weights` if it is there."""
    tensor = ready(variable.path)
    return tf.cast(variable if tensor is None else tensor, dtype)


def weights_are_frozen() -> bool:
    """Whether TensorFlow was told that no weight of this process ever changes.

    Its oneDNN build then keeps a packed copy of the weights of each product with a bias (and of no
    other), which takes a third of the time off a product with few rows. Only a program that does
    nothing but decode may say so, see `cli.frozen_weights`.
    """
    return os.environ.get(FROZEN_WEIGHTS) == "1"
