"""Real scores of a model in training: beam search over a held-out split, scored by its problem."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Any

import keras

from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError

if TYPE_CHECKING:
    from keras_transformer.data.problem import Problem


class TranslationScore:
    """Translates (or parses …) a split with the model as it is at that moment, and scores it.

    What is searched how and compared with what is the problem's: `Problem.scoring_lines`,
    `scoring_search`, `score_outputs`.

    Args:
        model: the model in training.
        encoders: side → text encoder.
        problem: whose text is translated.
        data_dir, tmp_dir: where its text is.
        split: `dev` or `test`.
        max_length: subtokens the model was trained on; longer lines are decoded alone.
        learned_positions: rows of a learned position table, None if there is none.
        most_lines: translate only the first ones; 0: all.

    Raises:
        UserError: the split has no text.
    """

    def __init__(
        self,
        model: keras.Model,
        encoders: dict[str, Any],
        problem: Problem,
        data_dir: str | os.PathLike[str],
        tmp_dir: str,
        split: str,
        max_length: int,
        learned_positions: int | None = None,
        most_lines: int = 0,
    ):
        lines = problem.scoring_lines(split, os.fspath(data_dir), tmp_dir)
        pairs = list(itertools.islice(lines, most_lines or None))
        if not pairs:
            raise UserError(f"there is no text of the {split} split to decode for --eval_decode")
        self.sources = [source for source, _ in pairs]
        self.references = [reference for _, reference in pairs]
        self._problem = problem
        self._translator = Translator(
            [[model]],
            encoders["inputs"],
            encoders["targets"],
            problem=problem,
            long_line=max_length,
            most_positions=learned_positions,
        )

    def __call__(self) -> tuple[dict[str, float], list[str]]:
        """The figures of `Problem.score_outputs`, and the outputs."""
        found = self._translator.translate(self.sources, **self._problem.scoring_search)
        outputs = [translation.text for translation in found]
        return self._problem.score_outputs(outputs, self.references), outputs
