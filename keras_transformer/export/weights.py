"""Weights as an exported model stores them: float32, or smaller.

The arithmetic stays float32 (or what the model's settings say): smaller weights are widened once,
when the model is loaded. What shrinks is the file and the download.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_transformer.errors import UserError

WEIGHT_TYPES = ("float32", "float16", "bfloat16", "int8")
_LARGEST_INT8 = 127


class StoredWeights:
    """A model's weights as variables of their own, in the type they are to be stored in.

    `int8` stores matrices as whole numbers from -127 to 127 and one float32 factor for each
    output of a kernel or each row of a table; vectors (biases, normalisation) stay float32. The
    largest value keeps its place, so nothing is clipped, and a weight moves by at most half a
    factor.

    Args:
        model: with `named_weights()`.
        weight_type: one of `WEIGHT_TYPES`.

    Raises:
        UserError: an unknown type, or a weight too large for float16.
    """

    def __init__(self, model: Any, weight_type: str = "float32") -> None:
        if weight_type not in WEIGHT_TYPES:
            raise UserError(f"weights is {weight_type!r}: give one of {', '.join(WEIGHT_TYPES)}")
        self.own_variables: list[keras.Variable] = list(model.named_weights().values())
        self._names = {own.path: name for name, own in model.named_weights().items()}
        self.variables_by_name: dict[str, tf.Variable] = {}
        self.factors_by_name: dict[str, tf.Variable] = {}
        for name, weight in model.named_weights().items():
            value = weight.numpy()
            if weight_type != "int8":
                self._keep(name, tf.cast(value, weight_type), value)
            elif value.ndim < 2:
                self._keep(name, tf.constant(value), value)
            else:
                whole, factors = quantize(value, per_row=not name.endswith("kernel"))
                self.variables_by_name[name] = _variable(whole, name)
                self.factors_by_name[name] = _variable(factors, f"{name}/factors")

    def _keep(self, name: str, stored: tf.Tensor, value: np.ndarray) -> None:
        if np.isfinite(value).all() and not np.isfinite(tf.cast(stored, tf.float32)).all():
            raise UserError(
                f"{name} holds {np.abs(value).max():g}, too large for {stored.dtype.name}: export"
                " with --weights=bfloat16 or float32"
            )
        self.variables_by_name[name] = _variable(stored, name)

    @property
    def num_bytes(self) -> int:
        """Size of all weights as stored."""
        stored = [*self.variables_by_name.values(), *self.factors_by_name.values()]
        return sum(each.shape.num_elements() * each.dtype.size for each in stored)

    @property
    def float32_bytes(self) -> int:
        """Size of all weights in float32."""
        shapes = [each.shape for each in self.variables_by_name.values()]
        return sum(shape.num_elements() * tf.float32.size for shape in shapes)

    def widened_paths(self) -> list[str]:
        """Paths of the model's own variables that are stored in a smaller type than float32."""
        return [own.path for own in self.own_variables if self._of(own)[0].dtype != tf.float32]

    def value(self, own: keras.Variable) -> tf.Tensor:
        """What to compute with in place of one of the model's own variables, float32."""
        stored, factors = self._of(own)
        # `cast` leaves a variable of that type a variable, which is read wherever it is used.
        value = tf.cast(tf.convert_to_tensor(stored), tf.float32)
        return value if factors is None else value * factors

    def replacements(self) -> list[tuple[keras.Variable, tf.Tensor]]:
        """Each of the model's own variables with its `value`, for `keras.StatelessScope`."""
        return [(own, self.value(own)) for own in self.own_variables]

    def _of(self, own: keras.Variable) -> tuple[tf.Variable, tf.Variable | None]:
        name = self._names[own.path]
        return self.variables_by_name[name], self.factors_by_name.get(name)


def quantize(value: np.ndarray, per_row: bool) -> tuple[np.ndarray, np.ndarray]:
    """A matrix as int8 and the float32 factors that give it back.

    Args:
        value: float32 [rows, columns].
        per_row: one factor for each row (tables), else one for each column (kernels).

    Returns:
        int8 [rows, columns], and float32 [rows, 1] or [1, columns].
    """
    largest = np.abs(value).max(axis=1 if per_row else 0, keepdims=True)
    factors = (np.where(largest > 0, largest, 1.0) / _LARGEST_INT8).astype(np.float32)
    return np.rint(value / factors).astype(np.int8), factors


def _variable(value: Any, name: str) -> tf.Variable:
    return tf.Variable(value, trainable=False, name=name.replace("/", "_"))
