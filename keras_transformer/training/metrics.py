"""Measures of teacher-forced predictions, as T2T defines them.

Each takes logits [B, T, V] (or their best ids) and labels [B, T] of one batch and gives values with
weights; a run's figure is the weighted mean over all batches. B sentences, T target positions, V
vocabulary entries; 0 = padding. If the lengths differ, the shorter is padded with zeros.

Teacher-forced means: every position saw the right words before it. `approx_bleu_score` is therefore
no BLEU of translations; it is usually about 1.5 times as high.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from keras_transformer.training import loss

Weighted = tuple[tf.Tensor, tf.Tensor]


def accuracy(logits: tf.Tensor, labels: tf.Tensor) -> Weighted:
    """1 where the likeliest subtoken is the label; [B, T], weight 1 where the label is not 0."""
    logits, labels = loss.same_length(logits, labels)
    predicted = tf.argmax(logits, axis=-1, output_type=labels.dtype)
    return tf.cast(tf.equal(predicted, labels), tf.float32), _real(labels)


def accuracy_top5(logits: tf.Tensor, labels: tf.Tensor) -> Weighted:
    """1 where the label is among the five likeliest; [B, T], weight 1 where the label is not 0."""
    logits, labels = loss.same_length(logits, labels)
    best = tf.math.top_k(logits, k=min(5, int(logits.shape[-1]))).indices
    hit = tf.reduce_any(tf.equal(best, labels[..., None]), axis=-1)
    return tf.cast(hit, tf.float32), _real(labels)


def accuracy_per_sequence(logits: tf.Tensor, labels: tf.Tensor) -> Weighted:
    """1 where a whole sentence is right; [B], weight 1 each.

    T2T counts the empty sentences that fill up a batch for several devices as right; here they have
    weight 0.
    """
    right, weights = accuracy(logits, labels)
    wrong = tf.reduce_sum((1.0 - right) * weights, axis=-1)
    return tf.cast(tf.equal(wrong, 0.0), tf.float32), tf.reduce_max(weights, axis=-1)


def neg_log_perplexity(logits: tf.Tensor, labels: tf.Tensor) -> Weighted:
    """−cross-entropy in nats, unsmoothed; [B, T], weight 1 where the label is not 0."""
    logits, labels = loss.same_length(logits, labels)
    return -loss.token_cross_entropy(logits, labels), _real(labels)


def _real(labels: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.not_equal(labels, 0), tf.float32)


def approx_bleu_score(predicted: np.ndarray, labels: np.ndarray) -> float:
    """T2T's `approx_bleu_score`: BLEU of one batch of teacher-forced ids, not of translations.

    Orders 1 to 4 over the ids of all sentences, padding and what stands after the end of the
    sentence included, as T2T has it.

    Args:
        predicted: [B, T] likeliest ids.
        labels: [B, T].

    Returns:
        0 to 1.
    """
    matches, possible = np.zeros(4), np.zeros(4)
    for hypothesis, reference in zip(predicted.tolist(), labels.tolist(), strict=True):
        for order in range(1, 5):
            found, wanted = _ngrams(hypothesis, order), _ngrams(reference, order)
            matches[order - 1] += sum(min(n, wanted.get(gram, 0)) for gram, n in found.items())
            possible[order - 1] += sum(found.values())
    precisions = np.zeros(4)
    smoothing = 1.0
    for order in range(4):
        if matches[order] > 0:
            precisions[order] = matches[order] / possible[order]
        elif possible[order] > 0:
            smoothing *= 2.0
            precisions[order] = 1.0 / (smoothing * possible[order])
    if not predicted.size or not labels.size or precisions.max() <= 0:
        return 0.0
    mean = np.exp(sum(np.log(p) / 4 for p in precisions if p > 0))
    brevity = np.exp(min(0.0, 1.0 - labels.size / predicted.size))
    return float(mean * brevity)


def rouge_2_fscore(predicted: np.ndarray, labels: np.ndarray) -> float:
    """T2T's ROUGE-2 F of one batch of ids: set overlap of bigrams, mean over sentences; 0 to 1."""
    scores = []
    for hypothesis, reference in zip(predicted.tolist(), labels.tolist(), strict=True):
        found, wanted = set(_ngrams(hypothesis, 2)), set(_ngrams(reference, 2))
        common = len(found & wanted)
        precision = common / len(found) if found else 0.0
        recall = common / len(wanted) if wanted else 0.0
        scores.append(2.0 * precision * recall / (precision + recall + 1e-8))
    return float(np.mean(scores)) if scores else 0.0


def rouge_l_fscore(predicted: np.ndarray, labels: np.ndarray) -> float:
    """T2T's ROUGE-L F of one batch of ids: longest common subsequence, mean over sentences."""
    scores = []
    for hypothesis, reference in zip(predicted.tolist(), labels.tolist(), strict=True):
        common = _longest_common_subsequence(hypothesis, reference)
        precision = common / len(hypothesis) if hypothesis else 0.0
        recall = common / len(reference) if reference else 0.0
        beta = precision / (recall + 1e-12)
        denominator = recall + beta**2 * precision
        scores.append((1 + beta**2) * recall * precision / (denominator + 1e-12))
    return float(np.mean(scores)) if scores else 0.0


def _ngrams(ids: Sequence[int], order: int) -> dict[tuple[int, ...], int]:
    counts: dict[tuple[int, ...], int] = {}
    for start in range(len(ids) - order + 1):
        gram = tuple(ids[start : start + order])
        counts[gram] = counts.get(gram, 0) + 1
    return counts


def _longest_common_subsequence(first: Sequence[int], second: Sequence[int]) -> int:
    row = [0] * (len(second) + 1)
    for item in first:
        diagonal = 0
        for place, other in enumerate(second, start=1):
            above = row[place]
            row[place] = diagonal + 1 if item == other else max(above, row[place - 1])
            diagonal = above
    return row[-1]
