"""The search as a TensorFlow graph: ids in, ids and scores out.

One graph for each kind of search, of any batch and any length: `None` stands for both in its
signature, so it is traced once. Numbers that may change from call to call (alpha, limits,
temperature, …) are inputs of the graph.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.decoding import ensemble
from keras_transformer.decoding.beam_search import beam_search, greedy, sample
from keras_transformer.decoding.constraints import (
    OutputGrammar,
    all_of,
    forced_prefix,
    minimum_length,
)
from keras_transformer.decoding.options import DecodeOptions


class _Kind(NamedTuple):
    """What a graph is made for."""

    method: str  # "beam", "greedy", "sample"
    hypotheses: int
    outputs: int
    top_k: int
    has_minimum: bool
    has_prefix: bool
    has_grammar: bool
    ends_within: int | None


class SearchGraph:
    """Searches for one model, or for an ensemble, on one device.

    Calls from several threads are allowed.

    Args:
        models: with `start_decoding` and `step_function`, see ARCHITECTURE.md.
        device: where to run; None leaves it to TensorFlow.
        grammar: what outputs must look like where `options.constrain` asks for it.
        keeps_weights: the models do not change any more, so what a search makes of their weights
            is kept for the next one: a twentieth of the time of a short sentence, and the memory
            of a second set of the decoder's weights.
    """

    def __init__(
        self,
        models: Sequence[Any],
        device: str | None = None,
        grammar: OutputGrammar | None = None,
        keeps_weights: bool = False,
    ) -> None:
        self.models = list(models)
        self.device = device
        self.grammar = grammar
        self._keeps_weights = keeps_weights
        self._weights: list[Any] | None = None
        self._graphs: dict[_Kind, Any] = {}
        self._lock = threading.Lock()

    def search(
        self,
        inputs: np.ndarray,
        limits: Sequence[int],
        options: DecodeOptions,
        prefix: np.ndarray | None = None,
        sentence_numbers: Sequence[int] | None = None,
        sizes: Sequence[int] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The outputs of a batch.

        Args:
            inputs: int32 [B, S], end of sentence included, padded with 0.
            limits: the most subtokens of each output, B numbers.
            options: the kind of search and its numbers; lengths and batches are not read here.
            prefix: int32 [B, P], 0 behind the end of each: how each output begins.
            sentence_numbers: B numbers that, with `options.seed`, seed each sentence's samples.
            sizes: B numbers, the grammar's size of each sentence; needed by `options.constrain`.

        Returns:
            ids int32 [B, N, L] and scores float32 [B, N], see `beam_search`.
        """
        batch = len(inputs)
        kind = _kind_of(options, prefix is not None)
        numbers = range(batch) if sentence_numbers is None else sentence_numbers
        with tf.device(self.device) if self.device else nullcontext():
            ids, scores = self._graph(kind)(
                tf.constant(inputs, tf.int32),
                tf.constant(list(limits), tf.int32),
                tf.constant(options.alpha, tf.float32),
                tf.constant(options.temperature, tf.float32),
                tf.constant(options.min_length, tf.int32),
                tf.constant(np.zeros((batch, 0)) if prefix is None else prefix, tf.int32),
                tf.constant([[options.seed, number] for number in numbers], tf.int32),
                tf.constant([0] * batch if sizes is None else list(sizes), tf.int32),
            )
        return ids.numpy(), scores.numpy()

    def _graph(self, kind: _Kind) -> Any:
        with self._lock:
            if kind not in self._graphs:
                self._graphs[kind] = self._trace(kind)
            return self._graphs[kind]

    def _trace(self, kind: _Kind) -> Any:
        if self._keeps_weights and self._weights is None:
            self._weights = [model.step_weights() for model in self.models]

        def run(
            inputs: Any,
            limits: Any,
            alpha: Any,
            temperature: Any,
            min_length: Any,
            prefix: Any,
            seeds: Any,
            sizes: Any,
        ) -> Any:
            cache = ensemble.start(self.models, inputs)
            step_fn = ensemble.step_function(self.models, self._weights)
            batch = tf.shape(inputs)[0]
            bans = []
            if kind.has_minimum:
                # An output that may not be so long must be allowed to end.
                bans.append(minimum_length(tf.minimum(min_length, limits - 1)))
            if kind.has_prefix:
                bans.append(forced_prefix(prefix))
            follower = None
            if kind.has_grammar:
                assert self.grammar is not None
                follower = self.grammar.follower(sizes, limits)
            if kind.method == "beam":
                return beam_search(
                    step_fn,
                    cache,
                    batch,
                    kind.hypotheses,
                    alpha,
                    limits,
                    kind.outputs,
                    all_of(bans),
                    follower,
                    kind.ends_within,
                )
            if kind.method == "greedy":
                return greedy(step_fn, cache, batch, limits, all_of(bans), follower)
            return sample(
                step_fn,
                cache,
                batch,
                limits,
                seeds,
                kind.hypotheses,
                temperature,
                kind.top_k,
                all_of(bans),
                follower,
            )

        signature = [
            tf.TensorSpec([None, None], tf.int32, "inputs"),
            tf.TensorSpec([None], tf.int32, "limits"),
            tf.TensorSpec([], tf.float32, "alpha"),
            tf.TensorSpec([], tf.float32, "temperature"),
            tf.TensorSpec([], tf.int32, "min_length"),
            tf.TensorSpec([None, None], tf.int32, "prefix"),
            tf.TensorSpec([None, 2], tf.int32, "seeds"),
            tf.TensorSpec([None], tf.int32, "sizes"),
        ]
        return tf.function(run, input_signature=signature, autograph=False).get_concrete_function()


def _kind_of(options: DecodeOptions, has_prefix: bool) -> _Kind:
    if options.sample:
        method, hypotheses = "sample", options.n_best
    elif options.beam_size == 1:
        method, hypotheses = "greedy", 1
    else:
        method, hypotheses = "beam", options.beam_size
    return _Kind(
        method,
        hypotheses,
        options.n_best,
        options.top_k if options.sample else 0,
        options.min_length > 0,
        has_prefix,
        options.constrain,
        options.ends_within if method == "beam" else None,
    )
