from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.decoding.constraints import minimum_length
from keras_transformer.decoding.sampling import greedy, sample
from tests.unit.decoding.table_model import random_model, table_model


def seeds(sentences, seed=11):
    return tf.constant([[seed, sentence] for sentence in sentences], tf.int32)


def test_greedy_takes_the_likeliest_and_sums_to_the_end():
    # The likeliest first step leads to the less likely whole: greedy does not look back.
    table = {(): {2: 0.6, 3: 0.4}, (2,): {1: 0.5, 4: 0.3, 5: 0.2}, (3,): {1: 1.0}}
    model = table_model(8, [table], otherwise={7: 1.0})
    ids, scores = greedy(model.step, model.start([0]), 1, 6)
    assert ids.numpy().tolist() == [[[2, 1]]]
    assert scores.numpy()[0, 0] == pytest.approx(np.log(0.6 * 0.5), rel=1e-5)


def test_greedy_ties_go_to_the_lower_id():
    model = table_model(6, [{}], otherwise={3: 0.5, 4: 0.5})
    ids, _ = greedy(model.step, model.start([0]), 1, 2)
    assert ids.numpy().tolist() == [[[3, 3]]]


def test_greedy_alone_or_in_a_batch_with_own_limits():
    model = random_model(20, seed=4, end=0.5)
    limits = [3, 12, 1, 7, 12]

    @tf.function
    def together(limits):
        return greedy(model.step, model.start(range(5)), 5, limits)

    ids, scores = together(tf.constant(limits))
    for sentence, limit in enumerate(limits):
        own_ids, own_scores = greedy(model.step, model.start([sentence]), 1, limit)
        said = np.trim_zeros(ids.numpy()[sentence, 0], "b")
        assert said.tolist() == np.trim_zeros(own_ids.numpy()[0, 0], "b").tolist()
        assert scores.numpy()[sentence, 0] == pytest.approx(own_scores.numpy()[0, 0], rel=1e-5)


def test_greedy_rows_leave():
    model = table_model(8, [{(): {1: 1.0}}, {}], otherwise={5: 1.0})
    greedy(model.step, model.start([0, 1]), 2, 4)
    assert model.rows_asked == [(0, 1), (1,), (1,), (1,)]


def test_minimum_length():
    model = table_model(8, [{}], otherwise={1: 0.9, 5: 0.1})
    ids, scores = greedy(model.step, model.start([0]), 1, 9, minimum_length(2))
    assert ids.numpy().tolist() == [[[5, 5, 1]]]
    assert scores.numpy()[0, 0] == pytest.approx(np.log(0.1 * 0.1 * 0.9), rel=1e-4)


def test_samples_follow_the_distribution():
    model = table_model(8, [{}], otherwise={2: 0.7, 3: 0.2, 4: 0.1})
    ids, scores = sample(model.step, model.start([0]), 1, 1, seeds([0]), samples=4000)
    drawn = ids.numpy()[0, :, 0]
    shares = [np.mean(drawn == symbol) for symbol in (2, 3, 4)]
    np.testing.assert_allclose(shares, [0.7, 0.2, 0.1], atol=0.03)
    np.testing.assert_allclose(np.exp(scores.numpy()[0][drawn == 3]), 0.2, rtol=1e-4)


def test_temperature_and_top_k():
    model = table_model(8, [{}], otherwise={2: 0.6, 3: 0.3, 4: 0.1})
    options = {"samples": 4000}
    ids, _ = sample(model.step, model.start([0]), 1, 1, seeds([0]), keep_top_k=2, **options)
    drawn = ids.numpy().ravel()
    assert set(drawn) == {2, 3}
    assert np.mean(drawn == 2) == pytest.approx(2 / 3, abs=0.03)
    ids, scores = sample(model.step, model.start([0]), 1, 1, seeds([0]), temperature=0.5, **options)
    drawn = ids.numpy().ravel()
    # Squared and normalised: 0.36, 0.09, 0.01 of 0.46. The score stays the model's own.
    assert np.mean(drawn == 2) == pytest.approx(0.36 / 0.46, abs=0.03)
    np.testing.assert_allclose(np.exp(scores.numpy().ravel()[drawn == 2]), 0.6, rtol=1e-4)


def test_same_seed_same_samples_whatever_the_batch():
    model = random_model(20, seed=9)

    def draw(sentences, seed):
        ids, _ = sample(
            model.step, model.start(sentences), len(sentences), 6, seeds(sentences, seed), samples=3
        )
        return [np.pad(row, [(0, 0), (0, 6 - row.shape[1])]).tolist() for row in ids.numpy()]

    assert draw([2], 5)[0] == draw([0, 1, 2], 5)[2] == draw([2, 1, 0], 5)[0]
    assert draw([2], 5) != draw([2], 6)
    # A sentence's numbers at one step are not its neighbour's at another.
    constant = random_model(20, seed=9)
    constant.logits_of = lambda sentence, prefix: np.zeros(20)
    model = constant
    first, second = draw([4, 5], 5)
    assert first[0][1:] != second[0][:-1]
