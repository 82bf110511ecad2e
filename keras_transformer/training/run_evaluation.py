"""Evaluations of a run: when one is due, what it shows and logs, what was best, when to stop."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from keras_transformer.data import pipeline
from keras_transformer.decoding.translation_score import TranslationScore
from keras_transformer.errors import UserError
from keras_transformer.training import attention_images, best_checkpoint, train_log
from keras_transformer.training.evaluation import Evaluator
from keras_transformer.training.progress import Screen, evaluation_line
from keras_transformer.training.train_log import TrainLog

if TYPE_CHECKING:
    from keras_transformer.config import HParams
    from keras_transformer.data.problem import Problem
    from keras_transformer.model.transformer import Transformer
    from keras_transformer.training.train_options import TrainOptions

# Translations put into TensorBoard with each evaluation.
SHOWN_TRANSLATIONS = 5
# T2T does not evaluate in the first two minutes.
FIRST_EVALUATION_AFTER = 120.0


class RunEvaluation:
    """Evaluates the model of one run, again and again.

    Args:
        model: in training, or filled from a checkpoint each time.
        encoders: side → text encoder.
        problem, data_dir: what it is evaluated on.
        hparams: the settings the model was made with.
        options: those of the training that say how often, on what, and how it ends early.
        strategy: devices to evaluate on.
        screen: for a line of figures.
    """

    def __init__(
        self,
        model: Transformer,
        encoders: dict[str, Any],
        problem: Problem,
        data_dir: str,
        hparams: HParams,
        options: TrainOptions,
        strategy: tf.distribute.Strategy,
        screen: Screen,
    ):
        self._model = model
        self._encoders = encoders
        self._problem = problem
        self._data_dir = data_dir
        self._hparams = hparams
        self._options = options
        self._screen = screen
        self._evaluator = Evaluator(model, strategy, getattr(problem, "loss_multiplier", 1.0))
        self._translation_score: TranslationScore | None = None
        self._last_evaluation = time.monotonic()
        self._first_evaluation = True
        self._best_by = problem.best_figure
        self._best_score = -1.0

    def evaluate(self, step: int, log: TrainLog) -> dict[str, float]:
        """The figures of the weights as they are; logged, with pictures and translations."""
        options, split = self._options, self._options.eval_split
        dataset = pipeline.evaluation_dataset(
            self._problem,
            self._data_dir,
            self._hparams,
            split,
            self._evaluator.strategy.num_replicas_in_sync,
        )
        if options.eval_steps:
            dataset = dataset.take(options.eval_steps)
        batches = iter(dataset)
        shown = list(itertools.islice(batches, 1))
        figures = self._evaluator.evaluate(itertools.chain(shown, batches))
        for batch in shown:
            images = attention_images.attention_images(self._model, batch)
            log.attention(step, images, self.describe(attention_images.first_pair(batch))[0])
        if options.eval_decode:
            scorer = self._scorer()
            scores, translations = scorer()
            figures |= scores
            triples = list(zip(scorer.sources, translations, scorer.references, strict=True))
            log.translations(step, triples[:SHOWN_TRANSLATIONS])
        log.evaluation(step, split, figures)
        self._screen.note(evaluation_line(step, split, figures))
        return figures

    def after_checkpoint(self, prefix: str, is_last: bool, step: int, log: TrainLog) -> bool:
        """Evaluates if it is time; True if training is to stop.

        Raises:
            UserError: the figure to stop by is none of an evaluation's.
        """
        wait = self._options.eval_throttle_seconds
        if self._first_evaluation:
            wait = min(wait, FIRST_EVALUATION_AFTER)
        if time.monotonic() - self._last_evaluation < wait and not is_last:
            return False
        figures = self.evaluate(step, log)
        self._first_evaluation = False
        self._last_evaluation = time.monotonic()
        if self._options.eval_decode and figures[self._best_by] > self._best_score:
            self._best_score = figures[self._best_by]
            best_checkpoint.keep_apart(prefix)
        stopping = self._options.early_stopping
        if not stopping.patience:
            return False
        if stopping.metric not in figures:
            raise UserError(
                f"--eval_early_stopping_metric={stopping.metric} is not among the figures of an"
                f" evaluation: {', '.join(sorted(figures))}"
            )
        over = stopping.is_over(step, figures)
        if over:
            self._screen.note(
                f"{stopping.metric} was best at step {stopping.best_step} ({stopping.best:.4f}),"
                f" {step - stopping.best_step} steps ago"
            )
        return over

    def take_up(self, run_dir: Path, step: int) -> None:
        """Remembers what was best in the evaluations up to the step of a resume."""
        best_step = -1
        for record in train_log.events(run_dir, "eval"):
            if record["step"] > step or record.get("split") != self._options.eval_split:
                continue
            if record.get(self._best_by, -1.0) > self._best_score:
                self._best_score, best_step = record[self._best_by], record["step"]
            stopping = self._options.early_stopping
            if stopping.metric in record:
                stopping.is_over(record["step"], record)
        if self._options.eval_decode:
            best_checkpoint.catch_up(run_dir, best_step)

    def describe(self, batch: Any) -> list[str]:
        """Text of a batch, a line for each sentence: source, tab, target."""
        lines, sides = [], (np.asarray(batch["inputs"]), np.asarray(batch["targets"]))
        for source, target in zip(*sides, strict=True):
            texts = [
                self._encoders[side].decode([i for i in ids.tolist() if i > 1])
                for side, ids in (("inputs", source), ("targets", target))
            ]
            lines.append("\t".join(text.replace("\n", " ") for text in texts))
        return lines

    def _scorer(self) -> TranslationScore:
        if self._translation_score is None:
            self._translation_score = TranslationScore(
                self._model,
                self._encoders,
                self._problem,
                self._data_dir,
                self._options.tmp_dir,
                self._options.eval_split,
                self._hparams.max_length or self._hparams.batch_size,
                self._hparams.max_length if self._hparams.pos == "emb" else None,
                self._options.eval_decode_lines,
            )
        return self._translation_score
