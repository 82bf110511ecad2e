"""A trained model as functions of a SavedModel: text or ids in, text or ids and scores out.

| signature | in | out |
| --- | --- | --- |
| `serving_default` | `inputs` string [B] | `outputs` string [B], `scores` float32 [B] |
| `beams` | `inputs` string [B] | `outputs` string [B, K], `scores` float32 [B, K] |
| `tokens` | `inputs` int32 [B, S] | `outputs` int32 [B, L], `scores` float32 [B] |
| `examples` | `input` string [B] | `outputs` int32 [B, L], `scores` float32 [B] |

B sentences, S source positions, K beams, L target positions; every size but K is open. Ids of a
row end with the end of sentence (1) and are padded with 0, on both sides. `examples` takes
serialized `tf.Example` protos with the int64 feature `inputs`, as T2T's servables do.

A sentence of nothing but white space, or a row of nothing but padding, has an empty output with
score 0. Places of `beams` for which the search found nothing are empty with score -1e7. Scores
mean what `decoding.translation.Hypothesis.score` says.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from keras_transformer.decoding import ensemble
from keras_transformer.decoding.beam_search import INFINITY, beam_search, greedy
from keras_transformer.decoding.constraints import minimum_length
from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.errors import UserError
from keras_transformer.export.graph_text import GraphEncoder, graph_encoder, one_line, strip
from keras_transformer.export.served_weights import ServedWeights
from keras_transformer.export.weights import StoredWeights
from keras_transformer.text.reserved_tokens import EOS_ID, PAD_ID

TextSteps = tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]
IDENTITY: TextSteps = (lambda texts: texts, lambda texts, source_texts: texts)


class _Text(NamedTuple):
    """What turns text into ids and back."""

    source: GraphEncoder
    target: GraphEncoder
    prepare: Callable[[Any], Any]
    finish: Callable[[Any, Any], Any]


class ServingModel:
    """Everything an exported model does, on plain TensorFlow operations.

    Args:
        models: one model, or several whose probabilities are averaged.
        encoders: side → text encoder.
        options: of the search; sampling is not offered.
        weight_type: see `weights`.
        text_steps: what the problem does with the text before and after, see
            `Problem.text_steps_in_graph`; None leaves the signatures for text out.
        most_positions: rows of a learned position table; None if the model has no such limit.

    Raises:
        UserError: options that cannot be exported.
    """

    def __init__(
        self,
        models: Sequence[Any],
        encoders: Mapping[str, Any],
        options: DecodeOptions,
        weight_type: str = "float32",
        text_steps: TextSteps | None = IDENTITY,
        most_positions: int | None = None,
    ) -> None:
        if options.sample:
            raise UserError("samples cannot be exported: a served model gives what a search finds")
        self._models = tuple(models)
        self._options = options
        self._most_positions = most_positions
        self.weights = [StoredWeights(model, weight_type) for model in models]
        self._served = [
            ServedWeights(model, stored) for model, stored in zip(models, self.weights, strict=True)
        ]
        source = graph_encoder(encoders["inputs"])
        same = encoders["targets"] is encoders["inputs"]
        target = source if same else graph_encoder(encoders["targets"])
        self._text: _Text | None = None
        if source is not None and target is not None and text_steps is not None:
            self._text = _Text(source, target, *text_steps)
        # One graph for each number of outputs, shared by the signatures.
        self._search_graphs = {
            outputs: tf.function(
                lambda inputs, limits, outputs=outputs: self._search(inputs, limits, outputs),
                input_signature=[
                    tf.TensorSpec([None, None], tf.int32, "inputs"),
                    tf.TensorSpec([None], tf.int32, "limits"),
                ],
                autograph=False,
            )
            for outputs in {1, options.beam_size}
        }

    @property
    def takes_text(self) -> bool:
        """Whether there are signatures for text; there are none for a kind of text encoder that
        has no twin in a graph, nor for a problem whose own steps have none."""
        return self._text is not None

    def resources(self) -> tf.Module:
        """What the functions need besides themselves, as TensorFlow saves it."""
        module = tf.Module(name="serving_model")
        module.weights = [each.variables_by_name for each in self.weights]
        module.factors = [each.factors_by_name for each in self.weights]
        module.made_when_loaded = [each.resources() for each in self._served]
        if self._text is not None:
            module.source_text, module.target_text = self._text.source, self._text.target
        return module

    @contextlib.contextmanager
    def as_stored(self) -> Iterator[None]:
        """Inside, the model has no more than its files are to hold, and does not work."""
        with contextlib.ExitStack() as stack:
            for served in self._served:
                stack.enter_context(served.emptied())
            yield

    def signatures(self) -> dict[str, Any]:
        """Name → concrete function; the text's first, or `tokens` as the default without them."""
        strings = [tf.TensorSpec([None], tf.string, "inputs")]
        ids = [tf.TensorSpec([None, None], tf.int32, "inputs")]
        examples = [tf.TensorSpec([None], tf.string, "input")]
        wanted = {"tokens": (self.tokens, ids), "examples": (self.examples, examples)}
        if self.takes_text:
            texts = {"serving_default": (self.best, strings), "beams": (self.beams, strings)}
            wanted = {**texts, **wanted}
        else:
            wanted["serving_default"] = wanted["tokens"]
        return {
            name: tf.function(function, spec, autograph=False).get_concrete_function()
            for name, (function, spec) in wanted.items()
        }

    # ---- the signatures -----------------------------------------------------------------------

    def best(self, inputs: Any) -> dict[str, Any]:
        """The best output of each text."""
        texts, scores = self._translate(inputs, 1)
        return {"outputs": texts[:, 0], "scores": scores[:, 0]}

    def beams(self, inputs: Any) -> dict[str, Any]:
        """All outputs the search kept of each text, best first."""
        texts, scores = self._translate(inputs, self._options.beam_size)
        return {"outputs": texts, "scores": scores}

    def tokens(self, inputs: Any) -> dict[str, Any]:
        """The best output of each row of ids; the end of sentence belongs to the row."""
        inputs = tf.ensure_shape(inputs, [None, None])
        places = tf.range(1, tf.shape(inputs)[1] + 1)
        # The maximum of no positions at all is the least int32.
        lengths = tf.maximum(tf.reduce_max(tf.where(inputs != PAD_ID, places, 0), axis=1), 0)
        ids, scores = self._search_graphs[1](inputs, self._limits(lengths))
        return {"outputs": ids[:, 0], "scores": scores[:, 0]}

    def examples(self, input: Any) -> dict[str, Any]:
        """The best output of each serialized `tf.Example`; its feature `inputs` holds the ids."""
        features = {"inputs": tf.io.VarLenFeature(tf.int64)}
        parsed = tf.io.parse_example(tf.ensure_shape(input, [None]), features)["inputs"]
        return self.tokens(tf.cast(tf.sparse.to_dense(parsed), tf.int32))

    # ---- the way of a sentence ----------------------------------------------------------------

    def _translate(self, texts: Any, outputs: int) -> tuple[Any, Any]:
        """string [B] → string [B, N], float32 [B, N]."""
        if self._text is None:
            raise ValueError("this model takes ids only")
        text = self._text
        sources = strip(tf.ensure_shape(texts, [None]))
        blank = sources == ""
        encoded = text.source.encode(text.prepare(sources))
        cut = self._cut()
        if cut is not None:
            encoded = encoded[:, : cut - 1]
        ends = tf.fill([tf.shape(sources)[0], 1], EOS_ID)
        encoded = tf.concat([encoded, tf.RaggedTensor.from_tensor(ends)], axis=1)
        lengths = tf.cast(encoded.row_lengths(), tf.int32)
        limits = self._limits(tf.where(blank, 0, lengths))
        ids, scores = self._search_graphs[outputs](encoded.to_tensor(PAD_ID), limits)
        # A search without a step leaves the scores 0; only the best place is a sentence's answer.
        first = tf.range(outputs) == 0
        scores = tf.where(blank[:, tf.newaxis] & ~first, -INFINITY, scores)
        said = tf.reshape(text.target.decode(ids), [-1])
        finished = text.finish(said, tf.repeat(sources, outputs))
        decoded = tf.reshape(one_line(finished), [-1, outputs])
        # Without a hypothesis there is no text; not-a-number compares false and is kept.
        nothing = blank[:, tf.newaxis] | (scores <= -INFINITY / 2)
        return tf.where(nothing, "", decoded), scores

    def _cut(self) -> int | None:
        """The most subtokens of a source, its end of sentence included."""
        limits = [self._most_positions, self._options.max_input_size]
        return min((limit for limit in limits if limit is not None and limit > 0), default=None)

    def _limits(self, lengths: Any) -> Any:
        """The most subtokens of each output, see `decoding.lengths`; 0 for an empty source."""
        longest = lengths
        if self._options.length_limit == "batch":
            longest = tf.fill(tf.shape(lengths), tf.reduce_max(tf.concat([lengths, [0]], axis=0)))
        limits = longest + self._options.extra_length
        if self._most_positions is not None:
            limits = tf.minimum(limits, self._most_positions)
        return tf.where(lengths > 0, limits, 0)

    def _search(self, inputs: Any, limits: Any, outputs: int) -> tuple[Any, Any]:
        """int32 [B, N, L] and float32 [B, N]."""
        options, models = self._options, self._models
        replacements, step_weights = zip(
            *(served.in_graph() for served in self._served), strict=True
        )
        with keras.StatelessScope(state_mapping=list(chain(*replacements))):
            cache = ensemble.start(models, inputs)
            step, batch = ensemble.step_function(models, step_weights), tf.shape(inputs)[0]
            constraint = None
            if options.min_length:
                constraint = minimum_length(tf.minimum(options.min_length, limits - 1))
            if options.beam_size == 1:
                return greedy(step, cache, batch, limits, constraint)
            return beam_search(
                step,
                cache,
                batch,
                options.beam_size,
                options.alpha,
                limits,
                outputs,
                constraint,
                ends_within=options.ends_within,
            )
