"""Scores of the translations that one text got from every checkpoint of a run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from keras_transformer.errors import UserError
from keras_transformer.scoring.bleu import Score, score_files
from keras_transformer.scoring.moses import Form

# `kt-translate-all` and t2t-translate-all name a translation <anything>-<step>.
_NAME = re.compile(r"-(\d+)$")


def translations(folder: str, min_steps: int = 0) -> list[tuple[int, Path]]:
    """(step, file) of the translations in a folder, by step.

    Raises:
        UserError: no such folder, or none in it.
    """
    if not Path(folder).is_dir():
        raise UserError(f"--translations_dir={folder}: there is no such folder")
    found = [
        (int(match[1]), path)
        for path in Path(folder).iterdir()
        if path.is_file() and (match := _NAME.search(path.name))
    ]
    found = sorted(pair for pair in found if pair[0] >= min_steps)
    if not found:
        raise UserError(
            f"--translations_dir={folder} holds no translation named <name>-<step>"
            f" of step {min_steps} or later; kt-translate-all makes them"
        )
    return found


def score_checkpoints(
    folder: str,
    reference: str,
    measures: Sequence[str],
    target_language: str = "de",
    moses_form: Form = "2017",
    min_steps: int = 0,
) -> list[tuple[int, list[Score]]]:
    """(step, a score for each measure) of every translation in a folder, by step.

    Raises:
        UserError: as `translations` and `scoring.bleu.score_files`.
    """
    return [
        (step, score_files(path, reference, measures, target_language, moses_form))
        for step, path in translations(folder, min_steps)
    ]
