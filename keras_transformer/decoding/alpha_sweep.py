"""The best outputs of many sentences under several length penalties, by one search each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.decoding import ensemble
from keras_transformer.decoding.beam_search import sweep_alpha
from keras_transformer.decoding.constraints import minimum_length
from keras_transformer.decoding.halving import in_halves
from keras_transformer.decoding.length_batches import Sentence, in_batches, pad
from keras_transformer.decoding.lengths import decode_lengths
from keras_transformer.decoding.options import DecodeOptions
from keras_transformer.decoding.translator import Translator, require_numbers, too_large


def translate_for_alphas(
    translator: Translator,
    sentences: Sequence[str],
    alphas: Sequence[float],
    options: DecodeOptions,
) -> dict[float, list[str]]:
    """Texts of all sentences for each alpha, equal to a decode with each.

    Greedy decoding has no length penalty, so with a beam of 1 all alphas share one decode.

    Args:
        translator: the first device's model is used.
        sentences: source text.
        alphas: exponents of the length penalty.
        options: everything else; its alpha is not read.

    Raises:
        UserError: a sentence that does not fit into memory, or a model that gives no numbers.
    """
    if options.beam_size == 1:
        texts = [each.text for each in translator.translate(list(sentences), options)]
        return {alpha: list(texts) for alpha in alphas}
    encoded = translator.encode(sentences, options)
    shown = {sentence.place for sentence in encoded}
    texts = [
        "" if place in shown else translator.answer(sentence, None).text
        for place, sentence in enumerate(sentences)
    ]
    texts_of = {alpha: list(texts) for alpha in alphas}
    graph = _graph(translator.models[0], options, [float(alpha) for alpha in alphas])

    def search(part: Sequence[tuple[Sentence, int]]) -> np.ndarray:
        inputs = pad([sentence.ids for sentence, _ in part])
        ids, scores = graph(tf.constant(inputs), tf.constant([limit for _, limit in part]))
        require_numbers([sentence for sentence, _ in part], scores.numpy())
        rows: np.ndarray = ids.numpy()
        return rows

    for batch in in_batches(
        encoded, options.batch_size, options.length_limit, translator.long_line
    ):
        limits = decode_lengths(
            [len(sentence.ids) for sentence in batch],
            options.extra_length,
            options.length_limit,
            translator.most_positions,
        )
        pairs = list(zip(batch, limits, strict=True))
        found = in_halves(pairs, search, lambda pair: too_large(pair[0]))
        for sentence, rows in zip(batch, found, strict=True):
            for alpha, row in zip(alphas, rows, strict=True):
                texts_of[alpha][sentence.place] = translator.text_of(row, sentence.text)
    return texts_of


def _graph(models: Sequence[Any], options: DecodeOptions, alphas: list[float]) -> Any:
    def run(inputs: Any, limits: Any) -> Any:
        cache = ensemble.start(models, inputs)
        step_fn = ensemble.step_function(models)
        return sweep_alpha(
            step_fn,
            cache,
            tf.shape(inputs)[0],
            options.beam_size,
            alphas,
            limits,
            minimum_length(tf.minimum(options.min_length, limits - 1)),
            options.ends_within,
        )

    signature = [
        tf.TensorSpec([None, None], tf.int32, "inputs"),
        tf.TensorSpec([None], tf.int32, "limits"),
    ]
    return tf.function(run, input_signature=signature, autograph=False)


def best_of(scores: dict[tuple[int, float], float]) -> tuple[int, float]:
    """The (beam size, alpha) of the highest score; of equal ones the first."""
    return max(scores, key=lambda key: scores[key])


def table(scores: dict[tuple[int, float], float]) -> str:
    """Beam sizes down, alphas across, the highest score marked with a star."""
    beams = sorted({beam for beam, _ in scores})
    alphas = sorted({alpha for _, alpha in scores})
    best = best_of(scores)
    lines = ["beam \\ alpha" + "".join(f"{alpha:>9g}" for alpha in alphas)]
    for beam in beams:
        cells = (
            f"{scores[beam, alpha]:8.2f}" + ("*" if (beam, alpha) == best else " ")
            for alpha in alphas
        )
        lines.append(f"{beam:<12d}" + "".join(cells).rstrip())
    return "\n".join(lines)
