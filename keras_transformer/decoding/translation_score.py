"""Real BLEU of a model in training: beam search over a held-out split, against its references."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING, Any

import keras

from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from keras_transformer.scoring import bleu

if TYPE_CHECKING:
    from keras_transformer.data.problem import Problem

# sacreBLEU's for papers, T2T's for comparison with its curves.
MEASURES = ("sacrebleu", "t2t_uncased")


class TranslationScore:
    """Translates a split with the model as it is at that moment, and scores it.

    Args:
        model: the model in training.
        encoders: side → text encoder.
        problem: whose text is translated.
        data_dir, tmp_dir: where its text is.
        split: `dev` or `test`.
        max_length: subtokens the model was trained on; longer lines are decoded alone.
        learned_positions: rows of a learned position table, None if there is none.
        most_lines: translate only the first ones; 0: all.
        beam_size, alpha: of the search.
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
        beam_size: int = 4,
        alpha: float = 0.6,
    ):
        number = most_lines or None
        folder = os.fspath(data_dir)
        sources = problem.source_lines(split, folder, tmp_dir)
        references = problem.reference_lines(split, folder, tmp_dir)
        self.sources = list(itertools.islice(sources, number))
        self.references = list(itertools.islice(references, number))
        if not self.sources:
            raise UserError(f"there is no text of the {split} split to translate for --eval_bleu")
        self._beam_size, self._alpha = beam_size, alpha
        self._translator = Translator(
            [[model]],
            encoders["inputs"],
            encoders["targets"],
            problem=problem,
            long_line=max_length,
            most_positions=learned_positions,
        )

    def __call__(self) -> tuple[dict[str, float], list[str]]:
        """BLEU by measure, 0 to 100, under `bleu_<measure>`, and the translations."""
        found = self._translator.translate(
            self.sources, beam_size=self._beam_size, alpha=self._alpha
        )
        translations = [translation.text for translation in found]
        scores = {
            f"bleu_{measure}": bleu.score(translations, self.references, measure).score
            for measure in MEASURES
        }
        return scores, translations
