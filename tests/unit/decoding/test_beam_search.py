from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.decoding.beam_search import (
    INFINITY,
    beam_search,
    length_penalty,
    sweep_alpha,
)
from keras_transformer.decoding.constraints import all_of, banned_ids, forced_prefix, minimum_length
from tests.unit.decoding.slow_search import slow_search
from tests.unit.decoding.table_model import FunctionModel, random_model, table_model

# Next-symbol probabilities by the last id, with what T2T 1.15.7 gives for two beams.
UNIFORM = dict.fromkeys(range(5), 0.2)
BY_LAST_ID = {
    0: {0: 0.1, 1: 0.3, 2: 0.3, 3: 0.2, 4: 0.1},
    1: UNIFORM,
    2: {0: 0.05, 1: 0.5, 2: 0.15, 3: 0.2, 4: 0.1},
    3: {0: 0.1, 1: 0.1, 2: 0.3, 3: 0.4, 4: 0.1},
    4: UNIFORM,
}


def by_last_id(sentence: int, prefix: tuple[int, ...]) -> np.ndarray:
    row = BY_LAST_ID[prefix[-1] if prefix else 0]
    return np.log([row[symbol] for symbol in range(5)])


def search(model: FunctionModel, sentences, in_graph: bool = False, **options):
    def run():
        return beam_search(model.step, model.start(sentences), len(sentences), **options)

    ids, scores = tf.function(run)() if in_graph else run()
    return ids.numpy(), scores.numpy()


def cut(row) -> tuple[int, ...]:
    """Up to and including the end of sentence, without padding."""
    said = [int(symbol) for symbol in row]
    return tuple(said[: said.index(1) + 1] if 1 in said else np.trim_zeros(said, "b"))


@pytest.mark.parametrize(
    ("length", "alpha", "penalty"),
    [
        (1, 0.6, 1),
        (5, 0.6, 1.358655),
        (10, 0.6, 1.732862),
        (20, 0.6, 2.354362),
        (50, 0.6, 3.778565),
        (100, 0.3, 2.359997),
        (7, 0.0, 1.0),
    ],
)
def test_length_penalty(length, alpha, penalty):
    assert float(length_penalty(length, alpha)) == pytest.approx(penalty, abs=1e-6)


@pytest.mark.parametrize("in_graph", [False, True])
@pytest.mark.parametrize(
    ("alpha", "second"), [(0.0, -1.897120), (0.6, -1.729524), (1.0, -1.626103)]
)
def test_small_table_of_t2t(alpha, second, in_graph):
    model = FunctionModel(5, by_last_id)
    ids, scores = search(
        model, [0], in_graph, beam_size=2, alpha=alpha, decode_length=6, top_beams=2
    )
    assert [cut(row) for row in ids[0]] == [(1,), (2, 1)]
    np.testing.assert_allclose(scores[0], [-1.203973, second], atol=1e-5)


@pytest.mark.parametrize("beam_size", [1, 2, 4, 7])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
@pytest.mark.parametrize("end", [-2.0, 1.0])
@pytest.mark.parametrize("as_ctranslate2", [False, True])
def test_equals_slow_search(beam_size, alpha, end, as_ctranslate2):
    model = random_model(vocab_size=19, seed=beam_size, end=end)
    sentences = list(range(6))
    ids, scores = search(
        model,
        sentences,
        beam_size=beam_size,
        alpha=alpha,
        decode_length=9,
        top_beams=beam_size,
        ends_within=beam_size if as_ctranslate2 else None,
    )
    for sentence in sentences:
        expected = slow_search(model, sentence, beam_size, alpha, 9, as_ctranslate2)
        assert [cut(row) for row in ids[sentence]][: len(expected)] == [cut(e[0]) for e in expected]
        np.testing.assert_allclose(
            scores[sentence][: len(expected)], [e[1] for e in expected], atol=1e-4
        )
        assert (scores[sentence][len(expected) :] == -INFINITY).all()


@pytest.mark.parametrize("top_beams", [1, 2, 3])
def test_fewer_outputs_are_the_first_of_all(top_beams):
    model = random_model(vocab_size=40, seed=3)
    options = {"beam_size": 4, "alpha": 0.6, "decode_length": 12}
    all_ids, all_scores = search(model, range(8), top_beams=4, **options)
    ids, scores = search(model, range(8), top_beams=top_beams, **options)
    np.testing.assert_array_equal(ids, all_ids[:, :top_beams, : ids.shape[2]])
    np.testing.assert_allclose(scores, all_scores[:, :top_beams], rtol=1e-6)


def test_alone_or_in_any_batch_in_any_order_with_own_limits():
    model = random_model(vocab_size=30, seed=5, end=-1.0)
    limits = [3, 14, 1, 9, 6, 14, 2]
    options = {"beam_size": 3, "alpha": 0.6, "top_beams": 3}
    alone = [
        search(model, [sentence], decode_length=limit, **options)
        for sentence, limit in enumerate(limits)
    ]
    for order in ([0, 1, 2, 3, 4, 5, 6], [6, 2, 0, 5, 1, 3, 4], [5, 1]):
        ids, scores = search(
            model, order, True, decode_length=tf.constant([limits[s] for s in order]), **options
        )
        for row, sentence in enumerate(order):
            own_ids, own_scores = alone[sentence]
            assert [cut(r) for r in ids[row]] == [cut(r) for r in own_ids[0]]
            np.testing.assert_allclose(scores[row], own_scores[0], rtol=1e-5)


def test_finished_sentences_leave_the_batch():
    # Sentence 0 ends at once, sentence 1 never does.
    model = table_model(8, [{(): {1: 0.999, 2: 0.001}}, {}], otherwise={5: 0.9, 6: 0.1})
    ids, _ = search(model, [0, 1], beam_size=2, alpha=0.6, decode_length=5, top_beams=1)
    assert cut(ids[0, 0]) == (1,)
    assert cut(ids[1, 0]) == (5, 5, 5, 5, 5)
    assert model.rows_asked == [(0, 1), (1,), (1,), (1,), (1,)]


def test_several_outputs_do_not_run_to_the_limit():
    # Both outputs wanted are settled at step 2; T2T's rule would run all 50 steps.
    table = {(): {2: 0.6, 3: 0.4}, (2,): {1: 0.99, 4: 0.01}, (3,): {1: 0.99, 4: 0.01}}
    model = table_model(8, [table], otherwise={1: 0.01, 5: 0.99})
    ids, _ = search(model, [0], beam_size=2, alpha=0.6, decode_length=50, top_beams=2)
    assert [cut(row) for row in ids[0]] == [(2, 1), (3, 1)]
    assert len(model.rows_asked) == 2


def test_unfinished_hypotheses_have_plain_log_probabilities():
    model = table_model(8, [{}], otherwise={5: 0.75, 6: 0.25})
    ids, scores = search(model, [0], beam_size=2, alpha=0.6, decode_length=2, top_beams=2)
    assert ids[0].tolist() == [[5, 5], [5, 6]]
    np.testing.assert_allclose(scores[0], np.log([0.75 * 0.75, 0.75 * 0.25]), rtol=1e-5)


def test_ties_go_to_the_earlier_beam_then_to_the_lower_id():
    model = FunctionModel(6, lambda sentence, prefix: np.zeros(6))
    ids, _ = search(model, [0], beam_size=3, alpha=0.0, decode_length=2, top_beams=3)
    # Step 1 offers 0 1 2 3 4 5 in this order: 1 ends; 0, 2, 3 live. Step 2 offers the six
    # continuations of 0 alone: (0 1) ends, and no other does.
    assert ids[0].tolist() == [[1, 0], [0, 1], [0, 0]]


def test_empty_places_when_the_vocabulary_is_smaller_than_the_beam():
    model = table_model(3, [{}], otherwise={1: 0.5, 2: 0.5})
    ids, scores = search(model, [0], beam_size=4, alpha=0.0, decode_length=1, top_beams=4)
    assert cut(ids[0, 0]) == (1,)
    assert (ids[0, 1:] == 0).all() and (scores[0, 1:] == -INFINITY).all()


def test_limit_of_zero_gives_nothing():
    model = table_model(4, [{}, {}], otherwise={2: 1.0})
    ids, _ = search(model, [0, 1], beam_size=2, alpha=0.6, decode_length=[0, 3], top_beams=1)
    assert ids[:, 0].tolist() == [[0, 0, 0], [2, 2, 2]]


def test_minimum_length():
    model = table_model(8, [{}, {}], otherwise={1: 0.9, 5: 0.1})
    ids, scores = search(
        model, [0, 1], beam_size=2, alpha=0.0, decode_length=9, constrain=minimum_length([3, 1])
    )
    assert [cut(row) for row in ids[:, 0]] == [(5, 5, 5, 1), (5, 1)]
    # A score is the model's own probability, also of what was forced.
    np.testing.assert_allclose(scores[:, 0], np.log([0.1**3 * 0.9, 0.1 * 0.9]), rtol=1e-4)


def test_forced_prefix_of_some_sentences():
    model = random_model(vocab_size=12, seed=1, end=1.0)
    prefix = tf.constant([[7, 8], [9, 0], [0, 0]])
    options = {"beam_size": 3, "alpha": 0.6, "decode_length": 8, "top_beams": 3}
    ids, scores = search(model, [0, 1, 2], True, constrain=forced_prefix(prefix), **options)
    assert (ids[0, :, :2] == [7, 8]).all() and (ids[1, :, 0] == 9).all()
    free_ids, free_scores = search(model, [2], **options)
    assert [cut(row) for row in ids[2]] == [cut(row) for row in free_ids[0]]
    np.testing.assert_allclose(scores[2], free_scores[0], rtol=1e-5)


def test_banned_ids_are_never_said():
    model = random_model(vocab_size=12, seed=2, end=1.0)
    free, _ = search(model, range(4), beam_size=3, alpha=0.6, decode_length=8, top_beams=3)
    assert np.isin(free, [4, 5]).any()
    both = all_of([banned_ids([4, 5]), minimum_length(2)])
    ids, _ = search(
        model, range(4), beam_size=3, alpha=0.6, decode_length=8, top_beams=3, constrain=both
    )
    assert not np.isin(ids, [4, 5]).any()
    assert min(len(cut(row)) for sentence in ids for row in sentence) >= 3


@pytest.mark.parametrize(("beam_size", "top_beams"), [(0, 1), (2, 3), (2, 0)])
def test_impossible_numbers_are_refused(beam_size, top_beams):
    model = table_model(4, [{}], otherwise={2: 1.0})
    with pytest.raises(ValueError, match=f"beam_size is {beam_size}, top_beams is {top_beams}"):
        search(model, [0], beam_size=beam_size, alpha=0, decode_length=3, top_beams=top_beams)


@pytest.mark.parametrize("in_graph", [False, True])
def test_one_search_for_several_alphas(in_graph):
    model = random_model(vocab_size=25, seed=8, end=0.5)
    alphas, limits = [0.0, 0.6, 1.0, 2.5], [9, 4, 12, 7, 12]

    def run():
        return sweep_alpha(model.step, model.start(range(5)), 5, 3, alphas, limits)

    ids, scores = (each.numpy() for each in (tf.function(run)() if in_graph else run()))
    assert ids.shape[:2] == scores.shape == (5, 4)
    for number, alpha in enumerate(alphas):
        own_ids, own_scores = search(
            model, range(5), beam_size=3, alpha=alpha, decode_length=limits
        )
        assert [cut(row) for row in ids[:, number]] == [cut(row) for row in own_ids[:, 0]]
        np.testing.assert_allclose(scores[:, number], own_scores[:, 0], rtol=1e-5)
    assert any(len({cut(row) for row in sentence}) > 1 for sentence in ids)  # alpha matters
