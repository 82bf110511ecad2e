"""Sentences to ids and ids to output lines: the part of a translator that knows text."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from keras_transformer.decoding.constraints import END_OF_SENTENCE
from keras_transformer.decoding.length_batches import Sentence
from keras_transformer.decoding.translation import EMPTY, Hypothesis

if TYPE_CHECKING:
    from keras_transformer.data.problem import Problem

logger = logging.getLogger(__name__)

PADDING = 0
# Warnings about single lines; a file of nothing but long lines gets a count instead.
MOST_LINE_WARNINGS = 20


class TextSide:
    """Two text encoders, and what the problem does before the one and after the other.

    Args:
        source_encoder, target_encoder: text to ids and back.
        problem: see `Translator`.
        long_line: a source of more subtokens is warned of. 0: none is long.
        most_positions: longer sources are cut to so many subtokens; None: never.
    """

    def __init__(
        self,
        source_encoder: Any,
        target_encoder: Any,
        problem: Problem | None,
        long_line: int,
        most_positions: int | None,
    ) -> None:
        self._source_encoder = source_encoder
        self._target_encoder = target_encoder
        self._problem = problem
        self._long_line = long_line
        self._most_positions = most_positions

    def prepared(self, source: str) -> str:
        """What the source encoder reads of a sentence."""
        return source if self._problem is None else self._problem.prepare_input(source)

    def encode(
        self,
        window: Sequence[tuple[str, str]],
        max_input_size: int,
        first_number: int,
        warned: LineWarnings,
    ) -> list[Sentence]:
        """The sentences that have words, cut where they must be.

        Args:
            window: (sentence, how its output must begin).
            max_input_size: longer sources are cut to so many subtokens; below 1: never.
            first_number: number of the first sentence, from 0.
            warned: gets what is to be said of single lines.
        """
        cut = max_input_size if max_input_size > 0 else None
        if self._most_positions is not None:
            cut = min(cut or self._most_positions, self._most_positions)
        encoded = []
        for place, (source, prefix) in enumerate(window):
            text = self.prepared(source).strip()
            if not text:
                continue
            ids = [*self._source_encoder.encode(text), END_OF_SENTENCE]
            number = first_number + place
            if cut is not None and len(ids) > cut:
                warned.say(
                    f"line {number + 1} has {len(ids)} subtokens, more than the {cut} allowed:"
                    " it is cut"
                )
                ids = [*ids[: cut - 1], END_OF_SENTENCE]
            if self._long_line and len(ids) > self._long_line:
                warned.say(
                    f"line {number + 1} has {len(ids)} subtokens, more than the {self._long_line}"
                    " the model was trained on: it is decoded alone, and its output may be poor"
                    " (split it, or cut it with max_input_size)"
                )
            begin = tuple(self._target_encoder.encode(prefix)) if prefix.strip() else ()
            encoded.append(Sentence(place, number, source, tuple(ids), begin))
        return encoded

    def unseen(self, source: str) -> Hypothesis:
        """The output of a sentence that is not shown to the model."""
        return replace(EMPTY, text=self.text([], source)) if self.prepared(source) else EMPTY

    def text(self, ids: Sequence[int], source: str) -> str:
        """The output for ids without end of sentence; one line, unless the problem's have more."""
        text = self._decoded(ids)
        if self._problem is not None:
            text = self._problem.finish_output(text, source)
            if self._problem.output_has_lines:
                return text
        # One sentence is one line, whatever the model says.
        return text.replace("\n", " ").replace("\r", " ")

    def count(self, best: Hypothesis, source: str) -> None:
        """Tells the problem of the best output of a sentence."""
        if self._problem is not None and self.prepared(source):
            self._problem.count_output(self._decoded(best.ids), source)

    def _decoded(self, ids: Sequence[int]) -> str:
        # Rows that a vocab_divisor adds to the table mean nothing; padding is not text either.
        known = [i for i in ids if i != PADDING and i < self._target_encoder.vocab_size]
        text: str = self._target_encoder.decode(known)
        return text


def said_ids(row: Sequence[int]) -> list[int]:
    """The ids of an output: what stands before its end of sentence, or before its padding."""
    ids = [int(symbol) for symbol in row]
    if END_OF_SENTENCE in ids:
        return ids[: ids.index(END_OF_SENTENCE)]
    while ids and ids[-1] == PADDING:
        ids.pop()
    return ids


class LineWarnings:
    """Warnings about single lines: the first ones in full, then a count."""

    def __init__(self) -> None:
        self.count = 0

    def say(self, message: str) -> None:
        self.count += 1
        if self.count <= MOST_LINE_WARNINGS:
            logger.warning(message)

    def close(self) -> None:
        if self.count > MOST_LINE_WARNINGS:
            logger.warning("and %d more long lines", self.count - MOST_LINE_WARNINGS)
