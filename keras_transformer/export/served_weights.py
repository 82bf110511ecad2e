"""A stored model's weights as its search uses them: made when it is loaded, never stored.

The search wants the table of the logits turned round, the kernels of self-attention joined, small
types widened and everything in the type it computes in. To make all that in every call takes time
that a short sentence feels, and to store it as well makes the file a third larger. So a SavedModel
has variables for it that are empty in the file: whatever loads the model restores all variables and
then runs the initialisers, and one of these fills them from the others. Lookup tables get their
entries so, and TensorFlow's loaders for Python, for sessions and for TensorFlow Serving all do it.

Variables, and not resources of a kind of their own, because a loaded model's variables live as long
as any of its functions. (To store the made forms alone was another way. Then ids would have to be
looked up in the turned table, and smaller types still be widened in every call.)
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import keras
import tensorflow as tf

from keras_transformer.export.weights import StoredWeights


class _DoneWhenLoaded(tf.saved_model.experimental.TrackableResource):
    """Work that every loader of a SavedModel does once it has restored the variables.

    Args:
        work: on variables of the same SavedModel.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__()
        self._work = work
        self._name = f"done_when_loaded_{uuid.uuid4().hex}"

    def _create_resource(self) -> tf.Tensor:
        # There must be one. Nothing is ever in it.
        return tf.raw_ops.VarHandleOp(dtype=tf.bool, shape=[], shared_name=self._name)

    def _initialize(self) -> None:
        self._work()


class ServedWeights:
    """What a search computes with in place of a model's own variables.

    Args:
        model: with `named_weights` and `step_weights`.
        stored: its weights as they are stored.
    """

    def __init__(self, model: Any, stored: StoredWeights) -> None:
        self._model = model
        self._stored = stored
        values, step_weights = self._values()
        self._step_paths = list(step_weights)
        # Of a matrix that steps have in a form of their own nothing else uses another form.
        made = {path: values[path] for path in stored.widened_paths()} | {
            path: value for path, value in step_weights.items() if value is not values.get(path)
        }
        self._shapes = {path: value.shape for path, value in made.items()}
        self._made = {
            path: tf.Variable(
                tf.zeros([0], value.dtype), shape=tf.TensorShape(None), trainable=False
            )
            for path, value in made.items()
        }
        self._filling = _DoneWhenLoaded(self._fill)
        self._fill()

    def resources(self) -> list[Any]:
        """What a SavedModel must have beside the stored variables."""
        return [*self._made.values(), self._filling]

    @contextlib.contextmanager
    def emptied(self) -> Iterator[None]:
        """Inside, what is made of stored weights is not there, so that it is not saved."""
        for variable in self._made.values():
            variable.assign(tf.zeros([0], variable.dtype))
        try:
            yield
        finally:
            self._fill()

    def in_graph(self) -> tuple[list[tuple[keras.Variable, tf.Tensor]], dict[str, tf.Tensor]]:
        """What to compute with, for the function that holds a search.

        Returns:
            The model's own variables, each with the value in its place, for
            `keras.StatelessScope`; and the weights of a step, for `step_function`.
        """
        made = {
            path: tf.ensure_shape(variable, self._shapes[path])
            for path, variable in self._made.items()
        }
        replacements = []
        for own in self._stored.own_variables:
            ready = made.get(own.path)
            # A step's form of it may be in a smaller type.
            fits = ready is not None and ready.dtype == tf.float32
            replacements.append((own, ready if fits else self._stored.value(own)))
        values = {own.path: value for own, value in replacements}
        return replacements, {
            path: made[path] if path in made else values[path] for path in self._step_paths
        }

    def _values(self) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
        """The model's variables and the weights of a step: path → value, made anew."""
        replacements = self._stored.replacements()
        with keras.StatelessScope(state_mapping=replacements):
            step_weights = self._model.step_weights()
        return {own.path: value for own, value in replacements}, step_weights

    def _fill(self) -> None:
        values, step_weights = self._values()
        for path, variable in self._made.items():
            variable.assign(step_weights[path] if path in step_weights else values[path])
