"""Text in, text out: a trained model with its text encoders.

    translator = Translator.load("runs/ende")
    translator.translate(["A house."])[0].text            # a list gives a list
    for translation in translator.translate(open_lines):  # an iterator gives an iterator

Sentences are decoded in batches of like length and come back in the order they were given. A
sentence's output does not depend on its neighbours (under the default length limit). Methods may
be called from several threads.
"""

from __future__ import annotations

import logging
import math
import os
import queue
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from keras_transformer.decoding import ensemble
from keras_transformer.decoding.constraints import END_OF_SENTENCE
from keras_transformer.decoding.halving import in_halves
from keras_transformer.decoding.length_batches import Sentence, in_batches, pad, windows
from keras_transformer.decoding.lengths import decode_lengths
from keras_transformer.decoding.loading import LoadedRun, load_models
from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.decoding.search_graph import SearchGraph
from keras_transformer.decoding.text_side import LineWarnings, TextSide, said_ids
from keras_transformer.decoding.translation import Hypothesis, Translation
from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from keras_transformer.data.problem import Problem

logger = logging.getLogger(__name__)

# The search gives -1e7 to places it found no output for.
NO_OUTPUT = -1e6
NOT_A_NUMBER = (
    "the model gives not-a-number for line {}: its checkpoint is broken, or training had diverged;"
    " take an earlier checkpoint"
)
# Batches that a window of a stream holds: enough to sort by length, few enough to see progress.
BATCHES_OF_A_WINDOW = 16


class Translator:
    """A model, or an ensemble of models, with its text encoders.

    Args:
        models: the models of each device; an ensemble has several on each.
        source_encoder, target_encoder: text to ids and back.
        problem: prepares sentences and finishes outputs (`Problem.prepare_input`,
            `Problem.finish_output`); None leaves both as they are.
        long_line: a source of more subtokens is decoded alone, with a warning. 0: none is long.
        most_positions: rows of a learned position table, the most subtokens of a source or an
            output; None if the model has no such limit.
        devices: one for each of `models`; None leaves the place to TensorFlow.
        keeps_weights: the models do not change any more, see `SearchGraph`.
    """

    def __init__(
        self,
        models: Sequence[Sequence[Any]],
        source_encoder: Any,
        target_encoder: Any,
        problem: Problem | None = None,
        long_line: int = 256,
        most_positions: int | None = None,
        devices: Sequence[str | None] = (None,),
        keeps_weights: bool = False,
    ) -> None:
        self.models = [list(replica) for replica in models]
        self.source_encoder = source_encoder
        self.target_encoder = target_encoder
        self.problem = problem
        self.long_line = long_line
        self.most_positions = most_positions
        self._graphs = [
            SearchGraph(replica, device, keeps_weights=keeps_weights)
            for replica, device in zip(self.models, devices, strict=True)
        ]
        self._text_side = TextSide(
            source_encoder, target_encoder, problem, long_line, most_positions
        )
        self._making_grammar = threading.Lock()
        self._idle: queue.SimpleQueue[SearchGraph] = queue.SimpleQueue()
        for graph in self._graphs:
            self._idle.put(graph)

    @classmethod
    def load(
        cls,
        run_dir: str | os.PathLike[str],
        checkpoint_path: str | Sequence[str] | None = None,
        data_dir: str | None = None,
        vocab_file: str | None = None,
        source_vocab_file: str | None = None,
        target_vocab_file: str | None = None,
        usr_dir: str | None = None,
        **t2t_options: Any,
    ) -> Translator:
        """The translator of a run directory, ours or Tensor2Tensor's.

        Args:
            run_dir: what kt-trainer (or t2t-trainer) wrote.
            checkpoint_path: one checkpoint; several (a list, or commas between) make an ensemble
                that averages their probabilities. None: the latest of the run directory.
            data_dir, vocab_file, source_vocab_file, target_vocab_file: where the vocabularies
                lie, if not where the run says.
            usr_dir: the user's package, if the run's problem is defined there.
            **t2t_options: what a Tensor2Tensor run directory does not say itself.

        Raises:
            UserError: a part is missing, damaged, or does not fit the others.
        """
        parts = load_models(
            run_dir,
            checkpoint_path,
            usr_dir=usr_dir,
            vocabularies={
                "data_dir": data_dir,
                "vocab_file": vocab_file,
                "source_vocab_file": source_vocab_file,
                "target_vocab_file": target_vocab_file,
            },
            t2t_options=t2t_options,
        )
        return cls.of_loaded(parts)

    @classmethod
    def of_loaded(cls, parts: LoadedRun) -> Translator:
        """The translator of what `loading.load_models` gave."""
        hp = parts.run.hparams
        return cls(
            parts.models,
            parts.encoders["inputs"],
            parts.encoders["targets"],
            problem=parts.run.problem,
            long_line=hp.max_length or hp.batch_size,
            most_positions=hp.max_length if hp.pos == "emb" else None,
            devices=parts.devices,
            keeps_weights=True,
        )

    @overload
    def translate(
        self,
        sentences: list[str] | tuple[str, ...],
        options: DecodeOptions | None = None,
        *,
        prefixes: Iterable[str] | None = None,
        attention: bool = False,
        first_number: int = 0,
        **changes: Any,
    ) -> list[Translation]: ...

    @overload
    def translate(
        self,
        sentences: Iterable[str],
        options: DecodeOptions | None = None,
        *,
        prefixes: Iterable[str] | None = None,
        attention: bool = False,
        first_number: int = 0,
        **changes: Any,
    ) -> Iterator[Translation]: ...

    def translate(
        self,
        sentences: Iterable[str],
        options: DecodeOptions | None = None,
        *,
        prefixes: Iterable[str] | None = None,
        attention: bool = False,
        first_number: int = 0,
        **changes: Any,
    ) -> list[Translation] | Iterator[Translation]:
        """Translates sentences; a list or tuple gives a list, any other iterable an iterator.

        A sentence of nothing but white space is not shown to the model. Its output is empty, unless
        the problem sees a word in it (the trees of a parsing problem hold every word).

        Args:
            sentences: text, one sentence each.
            options: see `DecodeOptions`; None for the problem's defaults.
            prefixes: how each output must begin, "" for freely; as many as sentences.
            attention: whether the attention weights of each best output are wanted: float32
                [H, S, S], [H, T, T] and [H, T, S] under `encoder/layer_0/self_attention`,
                `decoder/layer_0/self_attention`, `decoder/layer_0/cross_attention` …, S and T
                counting the end of sentence. For one model, not for an ensemble.
            first_number: number of the first sentence, from 0; warnings name lines by it, samples
                are seeded by it.
            **changes: options by name: `beam_size=4, alpha=0.6, n_best=4, …`.

        Raises:
            UserError: an option that is refused, a batch of one sentence that does not fit into
                memory, or a model that gives no numbers.
            TypeError: `sentences` is one string.
        """
        if isinstance(sentences, str):
            raise TypeError("translate takes a list of sentences, not one string")
        options = (options or self.default_options).replace(**changes)
        self.prepare_grammar(options)
        if attention and len(self.models[0]) > 1:
            raise UserError("attention weights are those of one model: give one checkpoint_path")
        stream = self._stream(sentences, options, prefixes, attention, first_number)
        return list(stream) if isinstance(sentences, (list, tuple)) else stream

    @property
    def default_options(self) -> DecodeOptions:
        """The options of a decode that gives none."""
        return DecodeOptions(**(self.problem.decode_defaults if self.problem else {}))

    def prepare_grammar(self, options: DecodeOptions) -> None:
        """Gives the graphs the problem's grammar, if outputs are to be held to it."""
        with self._making_grammar:
            if not options.constrain or self._graphs[0].grammar is not None:
                return
            grammar = self.problem and self.problem.output_grammar(self.target_encoder)
            if not grammar:
                name = self.problem.full_name if self.problem else "none"
                raise UserError(
                    f"the outputs of problem {name} have no grammar to be held to: leave out"
                    " constrain (--constrain_brackets)"
                )
            for graph in self._graphs:
                graph.grammar = grammar

    def _stream(
        self,
        sentences: Iterable[str],
        options: DecodeOptions,
        prefixes: Iterable[str] | None,
        attention: bool,
        first_number: int,
    ) -> Iterator[Translation]:
        size = None if options.length_limit == "batch" else BATCHES_OF_A_WINDOW * options.batch_size
        pairs: Iterable[tuple[str, str]]
        if prefixes is None:
            pairs = ((sentence, "") for sentence in sentences)
        else:
            pairs = zip(sentences, prefixes, strict=True)
        warned = LineWarnings()
        for window in windows(pairs, size):
            encoded = self._text_side.encode(window, options.max_input_size, first_number, warned)
            first_number += len(window)
            found: dict[int, tuple[Hypothesis, ...]] = {}
            batches = in_batches(encoded, options.batch_size, options.length_limit, self.long_line)
            for batch, outputs in self.decode_batches(batches, options):
                for sentence, hypotheses in zip(batch, outputs, strict=True):
                    found[sentence.place] = hypotheses
            shown = encoded if attention else []
            weights = {s.place: self._attention(s, found[s.place][0]) for s in shown}
            for place, (source, _) in enumerate(window):
                yield self.answer(source, found.get(place), weights.get(place))
        warned.close()

    def answer(
        self,
        source: str,
        hypotheses: tuple[Hypothesis, ...] | None,
        attention: dict[str, np.ndarray] | None = None,
    ) -> Translation:
        """What comes back for a sentence; without hypotheses: for one the model was not shown."""
        hypotheses = hypotheses or (self._text_side.unseen(source),)
        self._text_side.count(hypotheses[0], source)
        return Translation(source, hypotheses, attention)

    def encode(self, sentences: Iterable[str], options: DecodeOptions) -> list[Sentence]:
        """Those of the sentences that have words, as ids, cut where `options` say so."""
        warned = LineWarnings()
        window = [(sentence, "") for sentence in sentences]
        encoded = self._text_side.encode(window, options.max_input_size, 0, warned)
        warned.close()
        return encoded

    def text_of(self, row: Any, source: str) -> str:
        """The line for ids as the search gives them, end of sentence and padding included."""
        return self._text_side.text(said_ids(row), source)

    def decode_batches(
        self, batches: Sequence[list[Sentence]], options: DecodeOptions
    ) -> Iterator[tuple[list[Sentence], list[tuple[Hypothesis, ...]]]]:
        """Batches with their outputs; on several devices at the same time."""

        def decode(batch: list[Sentence]) -> list[tuple[Hypothesis, ...]]:
            limits = decode_lengths(
                [len(sentence.ids) for sentence in batch],
                options.extra_length,
                options.length_limit,
                self.most_positions,
            )
            graph = self._idle.get()
            try:
                return self._decode(graph, batch, limits, options)
            finally:
                self._idle.put(graph)

        if len(self._graphs) == 1:
            for batch in batches:
                yield batch, decode(batch)
            return
        pool = ThreadPoolExecutor(len(self._graphs))
        try:
            yield from zip(batches, pool.map(decode, batches), strict=True)
        finally:  # an error or an interruption does not wait for the batches to come
            pool.shutdown(cancel_futures=True)

    def _decode(
        self,
        graph: SearchGraph,
        batch: list[Sentence],
        limits: list[int],
        options: DecodeOptions,
    ) -> list[tuple[Hypothesis, ...]]:
        """The outputs of a batch; one that does not fit into memory is halved and tried again."""

        def search(part: Sequence[tuple[Sentence, int]]) -> list[tuple[Hypothesis, ...]]:
            sentences, own_limits = zip(*part, strict=True)
            return self._search(graph, sentences, own_limits, options)

        pairs = list(zip(batch, limits, strict=True))
        return in_halves(pairs, search, lambda pair: too_large(pair[0]))

    def _search(
        self,
        graph: SearchGraph,
        batch: Sequence[Sentence],
        limits: Sequence[int],
        options: DecodeOptions,
    ) -> list[tuple[Hypothesis, ...]]:
        prefix = pad([s.prefix for s in batch]) if any(s.prefix for s in batch) else None
        ids, scores = graph.search(
            pad([sentence.ids for sentence in batch]),
            limits,
            options,
            prefix,
            [sentence.number for sentence in batch],
            [graph.grammar.size_of(s.text) for s in batch] if graph.grammar else None,
        )
        require_numbers(batch, scores)
        return [
            self._hypotheses(sentence, own_ids, own_scores, options)
            for sentence, own_ids, own_scores in zip(batch, ids, scores, strict=True)
        ]

    def _hypotheses(
        self, sentence: Sentence, ids: np.ndarray, scores: np.ndarray, options: DecodeOptions
    ) -> tuple[Hypothesis, ...]:
        penalised = not options.sample and options.beam_size > 1
        found = []
        for row, score in zip(ids.tolist(), scores.tolist(), strict=True):
            if score <= NO_OUTPUT:
                continue
            finished = END_OF_SENTENCE in row
            said = said_ids(row)
            length = len(said) + finished
            ended = finished or options.ends_within is not None
            penalty = ((5 + length) / 6) ** options.alpha if penalised and ended else 1.0
            found.append(
                Hypothesis(
                    text=self._text_side.text(said, sentence.text),
                    score=score,
                    log_probability=score * penalty,
                    length=length,
                    ids=tuple(said),
                    finished=finished,
                )
            )
        return tuple(found)

    def _attention(self, sentence: Sentence, output: Hypothesis) -> dict[str, np.ndarray]:
        """Attention weights of the model while it is made to say `output`."""
        targets = [*output.ids, *([END_OF_SENTENCE] if output.finished else [])]
        if not targets:
            return {}
        features = {"inputs": pad([sentence.ids]), "targets": pad([targets])}
        _, weights = self.models[0][0](features, training=False, return_attention=True)
        return {name: weight.numpy()[0] for name, weight in weights.items()}

    def losses(self, pairs: Iterable[tuple[str, str]], batch_size: int = 32) -> Iterator[float]:
        """The model's loss on given outputs, one number for each (source, target).

        The mean cross-entropy per target subtoken, natural logarithm, end of sentence included,
        no label smoothing: what T2T's `--score_file` prints. Ensembles score with the mean of
        their probabilities.
        """
        first = 0
        for window in windows(pairs, batch_size):
            found = in_halves(
                list(enumerate(window, start=first + 1)),
                lambda part: ensemble.losses(self.models[0], *self._as_ids(part)),
                lambda numbered: (
                    f"line {numbered[0]} does not fit into memory even alone: take it out"
                ),
            )
            for place, loss in enumerate(found):
                if math.isnan(loss):
                    raise UserError(NOT_A_NUMBER.format(first + place + 1))
            first += len(window)
            yield from found

    def _as_ids(self, numbered: Sequence[tuple[int, tuple[str, str]]]) -> list[np.ndarray]:
        """Inputs and targets of numbered pairs; int32 [B, S] and [B, T]."""
        rows: tuple[list[list[int]], list[list[int]]] = ([], [])
        for number, (source, target) in numbered:
            texts = self._text_side.prepared(source), target
            encoders = self.source_encoder, self.target_encoder
            for side, text, encoder in zip(rows, texts, encoders, strict=True):
                side.append([*encoder.encode(text.strip()), END_OF_SENTENCE])
                if self.most_positions is not None and len(side[-1]) > self.most_positions:
                    raise UserError(
                        f"line {number} has {len(side[-1])} subtokens on one side, and the model"
                        f" has learned positions for {self.most_positions}: it cannot be scored"
                    )
        return [pad(side) for side in rows]


def too_large(sentence: Sentence) -> str:
    """What to say of a sentence that does not even fit alone."""
    return (
        f"line {sentence.number + 1} does not fit into memory even alone, with"
        f" {len(sentence.ids)} subtokens: cut it with max_input_size, or lower"
        " beam_size or extra_length"
    )


def require_numbers(batch: Sequence[Sentence], scores: np.ndarray) -> None:
    """Looks for a model that is broken, in the scores [B, N] of a batch.

    Raises:
        UserError: a sentence has not-a-number, or nothing: a search among such finds nothing.
    """
    broken = np.isnan(scores).any(axis=1) | (scores <= NO_OUTPUT).all(axis=1)
    if broken.any():
        raise UserError(NOT_A_NUMBER.format(batch[int(np.argmax(broken))].number + 1))
