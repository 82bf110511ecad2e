"""Scores of one checkpoint: perplexity of the development set, BLEU or F1 of a decoded text."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import tensorflow as tf

from keras_transformer.data import pipeline
from keras_transformer.decoding.decode_file import checkpoint_identity, decode_file
from keras_transformer.decoding.loading import LoadedRun
from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.decoding.translator import Translator
from keras_transformer.reproduce.plan import RowPlan
from keras_transformer.scoring import bleu, brackets
from keras_transformer.training.evaluation import Evaluator

EOS_ID = 1


def perplexity(loaded: LoadedRun, data_dir: str) -> dict[str, float]:
    """Teacher-forced, unsmoothed, over the whole development split.

    Returns:
        perplexity: of a subword.
        perplexity_per_word: of a word between white space; the end of a sentence, which is a
            subword, is a word too.
        dev_subwords, dev_words, dev_sentences: what was counted.
    """
    run = loaded.run
    batches = pipeline.evaluation_dataset(run.problem, data_dir, run.hparams, "dev")
    evaluator = Evaluator(loaded.models[0][0], tf.distribute.get_strategy())
    counted = {"dev_sentences": 0.0, "dev_words": 0.0}
    encoder = loaded.encoders["targets"]

    def counting() -> Any:
        for batch in batches:
            for row in batch["targets"].numpy().tolist():
                text = encoder.decode([i for i in row if i > EOS_ID])
                counted["dev_sentences"] += row.count(EOS_ID)
                counted["dev_words"] += len(text.split()) + row.count(EOS_ID)
            yield batch

    figures = evaluator.evaluate(counting())
    subwords = figures["target_tokens"]
    nats = -figures["neg_log_perplexity"] * subwords
    return {
        "perplexity": figures["perplexity"],
        "perplexity_per_word": math.exp(min(nats / max(counted["dev_words"], 1.0), 700.0)),
        "dev_subwords": subwords,
        **counted,
    }


def decode(loaded: LoadedRun, plan: RowPlan, source: Path, translation: Path) -> None:
    """Decodes with the plan's settings; takes up what a killed run left."""
    options = DecodeOptions(
        beam_size=plan.beam_size, alpha=plan.alpha, extra_length=plan.extra_length
    )
    origin = {"checkpoints": checkpoint_identity(loaded.checkpoints)}
    decode_file(Translator.of_loaded(loaded), source, translation, options, origin=origin)


def bleu_scores(translation: Path, reference: Path, language: str) -> dict[str, Any]:
    """Measure → its figures: the paper's (split compounds only for German), T2T's, sacreBLEU."""
    scores = bleu.score_files(
        translation, reference, bleu.default_measures(language), target_language=language
    )
    return {score.measure: score.as_dict() for score in scores}


def bracket_scores(translation: Path, gold: Path) -> dict[str, Any]:
    """EVALB's figures under its COLLINS parameters, percent."""
    result = brackets.score_tree_files(gold, translation)
    everything = brackets.score_tree_files(gold, translation, skipping=False)
    return {
        "f1": result.all.fmeasure,
        "recall": result.all.recall,
        "precision": result.all.precision,
        "sentences": result.all.sentences,
        "left_out": result.all.error + result.all.skip,
        "f1_nothing_left_out": everything.all.fmeasure,
    }
