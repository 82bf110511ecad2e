"""All that a resumed run needs to go on as if it had never stopped, in one checkpoint.

The weights, the optimizer's state, the step, the position in the data (buffers of the shuffles
included) and a small JSON object. The noise of dropout is a function of seed and step, so it needs
no state of its own.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import tensorflow as tf

from keras_transformer.errors import UserError
from keras_transformer.training import checkpoints
from keras_transformer.training.train_step import TrainStep

logger = logging.getLogger(__name__)


class TrainState:
    """What changes from step to step.

    Args:
        train_step: model and optimizer.
        dataset: batches; its iterator is made here.
        data_fingerprint: what the order of the data depends on (JSON-able). A stored position is
            only taken up if it was made with the same.
    """

    def __init__(
        self,
        train_step: TrainStep,
        dataset: tf.data.Dataset,
        data_fingerprint: Mapping[str, Any] | None = None,
    ):
        self.train_step = train_step
        self.step = 0
        self.info: dict[str, Any] = {}
        self._fingerprint = dict(data_fingerprint or {})
        self._dataset = dataset
        self._iterator = iter(dataset)
        self._first: Future[list[dict[str, tf.Tensor]]] | None = None

    def start(self) -> None:
        """Builds the graphs of the update while the first batches are read, shuffled and cut.

        Does nothing the second time.
        """
        if self._first is not None:
            return
        with ThreadPoolExecutor(1) as reader:
            self._first = reader.submit(self._read)
            self.train_step.trace(self._dataset.element_spec)

    def next_batches(self) -> list[dict[str, tf.Tensor]]:
        """The batches of one update.

        Raises:
            StopIteration: a finite data set has come to its end.
        """
        if self._first is not None:
            first, self._first = self._first, None
            return first.result()
        return self._read()

    def _read(self) -> list[dict[str, tf.Tensor]]:
        return [next(self._iterator) for _ in range(self.train_step.accumulate)]

    def save(self, run_dir: str | os.PathLike[str], keep: int | None = None) -> str:
        """Writes the checkpoint of the current step; see `checkpoints.save`."""
        tensors: dict[str, Any] = dict(self._variables())
        tensors[checkpoints.DATA_ITERATOR] = tf.raw_ops.SerializeIterator(
            resource_handle=self._iterator._iterator_resource
        )
        state = {**self.info, "data": self._fingerprint}
        return checkpoints.save(run_dir, self.step, tensors, state, keep=keep)

    def restore(self, run_dir: str | os.PathLike[str]) -> str | None:
        """Takes up the newest checkpoint that can be read; None if there is none.

        A damaged one is passed over with a warning.

        Raises:
            UserError: the newest is an average, does not fit the model, or all are damaged or
                gone.
        """
        damaged = None
        for prefix in checkpoints.candidates(run_dir):
            try:
                self._load(prefix)
                return prefix
            except checkpoints.DamagedCheckpointError as error:
                damaged = error
                logger.warning("%s; trying the one before it", error)
        if damaged is not None:
            raise UserError(f"every checkpoint in {run_dir} is damaged: {damaged}")
        if checkpoints.traces(run_dir):
            raise UserError(
                f"{run_dir} was trained before, but no checkpoint there is whole, and beginning at"
                " step 0 would hide that: restore one from a copy, or give another --output_dir"
            )
        return None

    def _load(self, prefix: str) -> None:
        reader = checkpoints.read(prefix)
        if reader.is_inference_only:
            what = "was taken over without the optimizer's state"
            if "averaged" in reader.train_state:
                what = f"is an average ({', '.join(reader.train_state['averaged'])})"
            raise UserError(
                f"{prefix} {what} and serves decoding only: training from it would do harm;"
                " continue from the run directory it was made of, or begin a new one with"
                " --init_from"
            )
        checkpoints.load_variables(self._variables(), reader)
        info = reader.train_state
        fingerprint = info.pop("data", {})
        self.step, self.info = reader.global_step, info
        if checkpoints.DATA_ITERATOR not in reader:
            logger.warning("%s holds no position in the data: it is read anew", prefix)
        elif fingerprint != self._fingerprint:
            changed = sorted(
                key
                for key in {*fingerprint, *self._fingerprint}
                if fingerprint.get(key) != self._fingerprint.get(key)
            )
            logger.warning("the data is read in a new order, since %s changed", ", ".join(changed))
        else:
            tf.raw_ops.DeserializeIterator(
                resource_handle=self._iterator._iterator_resource,
                serialized=reader.variant(checkpoints.DATA_ITERATOR),
            )

    def _variables(self) -> dict[str, Any]:
        return {**self.train_step.model.named_weights(), **self.train_step.state()}
