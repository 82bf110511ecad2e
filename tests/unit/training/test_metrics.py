"""Teacher-forced measures against T2T's recorded values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.training import metrics

GOLDEN = np.load(Path(__file__).parents[2] / "golden" / "metrics" / "tensor_metrics.npz")
SITUATIONS = ["same_length", "predictions_longer", "labels_longer"]


def recorded(situation):
    return tf.constant(GOLDEN[f"{situation}.logits"]), tf.constant(GOLDEN[f"{situation}.labels"])


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize(
    "name", ["accuracy", "accuracy_top5", "accuracy_per_sequence", "neg_log_perplexity"]
)
def test_weighted_means(situation, name):
    values, weights = getattr(metrics, name)(*recorded(situation))
    mean = tf.reduce_sum(values * weights) / tf.reduce_sum(weights)
    assert float(mean) == pytest.approx(float(GOLDEN[f"{situation}.{name}.mean"]), abs=1e-5)


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("approx_bleu_score", "approx_bleu_score"),
        ("rouge_2_fscore", "rouge_2_fscore"),
        ("rouge_l_fscore", "rouge_L_fscore"),
    ],
)
def test_scores_of_ids(situation, name, key):
    logits, labels = recorded(situation)
    value = getattr(metrics, name)(np.argmax(logits, -1), labels.numpy())
    assert value == pytest.approx(float(GOLDEN[f"{situation}.{key}"]), abs=1e-5)


def test_an_empty_sentence_weighs_nothing():
    labels = tf.constant([[2, 1], [0, 0]])
    logits = tf.one_hot([[2, 3], [4, 4]], 5)
    values, weights = metrics.accuracy_per_sequence(logits, labels)
    assert values.numpy()[0] == 0.0
    assert weights.numpy().tolist() == [1.0, 0.0]


def test_no_match_at_all_is_smoothed_as_t2t_does():
    # 2 ids against 2: orders 1, 2 have 2 and 1 n-grams and no match: 1/(2·2) and 1/(4·1), orders
    # 3, 4 do not exist: exp((ln 0.25 + ln 0.25) / 4) = 0.5.
    value = metrics.approx_bleu_score(np.array([[3, 4]]), np.array([[5, 6]]))
    assert value == pytest.approx(0.5)


def test_nothing_predicted():
    assert metrics.approx_bleu_score(np.zeros((1, 0), int), np.array([[5, 6]])) == 0.0
    assert metrics.rouge_l_fscore(np.zeros((1, 0), int), np.array([[5, 6]])) == 0.0
