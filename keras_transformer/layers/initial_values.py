"""What weights are before training: T2T's initial values, or zeros if a file is to fill them.

Drawing the random numbers of a model takes longer than reading a checkpoint of it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import keras

_current = threading.local()


@contextlib.contextmanager
def weights_to_be_loaded() -> Iterator[None]:
    """Models made inside have zeros for weights: all of them must be loaded afterwards."""
    outer = getattr(_current, "skipped", False)
    _current.skipped = True
    try:
        yield
    finally:
        _current.skipped = outer


def scaled_uniform(gain: float = 1.0) -> keras.initializers.Initializer:
    """T2T's default initializer, `uniform_unit_scaling` with fan_avg.

    Uniform in ±sqrt(3 · gain / ((fan_in + fan_out) / 2)); 512 × 512 gives ±0.0765466.
    """
    return _unless_loaded(
        keras.initializers.VarianceScaling(scale=gain, mode="fan_avg", distribution="uniform")
    )


def normal(deviation: float) -> keras.initializers.Initializer:
    """Normal with mean 0, not truncated."""
    return _unless_loaded(keras.initializers.RandomNormal(stddev=deviation))


def _unless_loaded(initializer: keras.initializers.Initializer) -> keras.initializers.Initializer:
    skipped = getattr(_current, "skipped", False)
    return keras.initializers.Zeros() if skipped else initializer
