"""Whatever the model prefers, what it may say is a tree over the sentence's words."""

from __future__ import annotations

import functools
from itertools import islice

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.decoding.beam_search import beam_search, greedy, sample
from keras_transformer.errors import UserError
from keras_transformer.problems.grammar import made_up_trees
from keras_transformer.text.byte_encoder import ByteTextEncoder
from keras_transformer.text.graph_brackets import BracketGrammar
from keras_transformer.text.subword_encoder import SubwordTextEncoder
from keras_transformer.text.symbol_automaton import SymbolAutomaton
from keras_transformer.text.trees import Tree
from keras_transformer.text.trees_labels import LabelInventory
from keras_transformer.text.trees_linearise import linearised_texts
from keras_transformer.text.trees_repair import Repairs, tree_from_symbols

WORDS = [1, 2, 5, 12]


@functools.cache
def trees() -> list[Tree]:
    return list(islice(made_up_trees(5), 300))


@functools.cache
def labels() -> LabelInventory:
    return LabelInventory.learn(trees())


@functools.cache
def encoder(size: int) -> SubwordTextEncoder:
    return SubwordTextEncoder.learn([linearised_texts(tree)[1] for tree in trees()], size)


@functools.cache
def grammar(size: int) -> BracketGrammar:
    return BracketGrammar(encoder(size), labels(), lambda sentence: len(sentence.split()))


def wild_step(size: int, seed: int, favourite: str = "", batch: int = len(WORDS)):
    """Logits by chance; with a favourite symbol that is said wherever it may be."""
    vocab_size = encoder(size).vocab_size + 3  # as vocab_divisor adds rows
    liked = np.zeros(vocab_size, np.float32)
    liked[encoder(size).encode(favourite)] = 40

    def step_fn(ids, step, cache):
        seeds = tf.stack([seed, step])
        shape = tf.stack([tf.shape(ids)[0], ids.shape[1], vocab_size])
        logits = 5 * tf.random.stateless_normal(shape, seeds) + liked
        said = tf.concat([cache["self"], tf.cast(ids, tf.float32)[:, :, tf.newaxis]], axis=2)
        return tf.ensure_shape(logits, [None, ids.shape[1], vocab_size]), {**cache, "self": said}

    cache = {"memory": tf.zeros([batch, 1]), "self": tf.zeros([batch, 1, 0])}
    return step_fn, cache


def assert_trees(size: int, ids: tf.Tensor) -> None:
    for words, hypotheses in zip(WORDS, ids.numpy().tolist(), strict=True):
        for row in hypotheses:
            if not any(row):
                continue  # fewer hypotheses than beams
            assert 1 in row, "the output has no end"
            text = encoder(size).decode(row[: row.index(1)])
            _, repairs = tree_from_symbols(text.split(), ["a"] * words, labels())
            assert repairs.as_dict() == {
                **Repairs(sentences=1).as_dict(),
                "replaced_tags": repairs.replaced_tags,
            }, text


@pytest.mark.parametrize(
    ("size", "favourite"),
    [(60, ""), (60, "NP"), (300, ""), (300, "NP"), (300, "/NP"), (300, "NN"), (300, ". ''")],
)
def test_an_untrained_model_says_trees(size, favourite):
    limits = [9, 14, 30, 50]
    follower = grammar(size).follower(WORDS, limits)
    step_fn, cache = wild_step(size, 1, favourite)
    ids, scores = beam_search(step_fn, cache, 4, 3, 0.3, limits, 2, follower=follower)
    assert (scores.numpy()[:, 0] > -1e6).all()
    assert_trees(size, ids)


def test_greedy_and_sampling():
    limits = [20, 20, 30, 60]
    follower = grammar(300).follower(WORDS, limits)
    step_fn, cache = wild_step(300, 2)
    assert_trees(300, greedy(step_fn, cache, 4, limits, follower=follower)[0])
    seeds = tf.constant([[7, row] for row in range(4)])
    ids, _ = sample(step_fn, cache, 4, limits, seeds, 3, follower=follower)
    assert_trees(300, ids)
    assert len({tuple(row) for row in ids.numpy()[3].tolist()}) == 3


def test_scores_stay_those_of_the_model():
    follower = grammar(300).follower([5], [40])
    step_fn, cache = wild_step(300, 3, batch=1)
    ids, scores = greedy(step_fn, cache, 1, 40, follower=follower)
    row = ids.numpy()[0, 0].tolist()
    total, own = 0.0, cache
    for step, symbol in enumerate(row[: row.index(1) + 1]):
        logits, own = step_fn(tf.zeros([1, 1], tf.int32), step, own)
        total += float(tf.nn.log_softmax(logits)[0, 0, symbol])
    assert scores.numpy()[0, 0] == pytest.approx(total, rel=1e-4)


@pytest.mark.parametrize("size", [60, 300])
def test_every_right_tree_may_be_said(size):
    chosen = trees()[:60]
    rows = [[*encoder(size).encode(linearised_texts(tree)[1]), 1] for tree in chosen]
    longest = max(map(len, rows))
    ids = np.array([row + [0] * (longest - len(row)) for row in rows])
    sizes = [len(tree.words()) for tree in chosen]
    follower = grammar(size).follower(sizes, [longest + 100] * len(rows))
    memory, places = follower.start(len(rows), 1), tf.range(len(rows))
    said = np.zeros([len(rows), 1], np.int32)
    for step in range(longest):
        memory = follower.advance(memory, tf.constant(said), places)
        allowed = follower.allowed(memory, places, step, encoder(size).vocab_size).numpy()[:, 0]
        for number, symbol in enumerate(ids[:, step]):
            assert symbol == 0 or allowed[number, symbol], rows[number][: step + 1]
        said = ids[:, step : step + 1].astype(np.int32)


def test_a_limit_without_room_for_any_tree_is_not_kept():
    follower = grammar(300).follower([5], [3])
    memory = follower.start(1, 1)
    assert follower.allowed(memory, tf.constant([0]), 0, encoder(300).vocab_size).numpy().any()


def test_labels_that_are_both_phrases_and_tags_have_one_kind():
    both = LabelInventory()
    both.phrases.update({"NP": 5, "X": 1, "UH": 3})
    both.tags.update({"NN": 5, "X": 2, "UH": 1})
    learnt = SubwordTextEncoder.learn(["NP NN X UH /NP /UH /X"] * 9, 40)
    assert SymbolAutomaton(learnt, both).phrases == ["NP", "UH"]


def test_encoders_that_cannot_be_followed():
    with pytest.raises(UserError, match="only with a vocabulary of subwords"):
        SymbolAutomaton(ByteTextEncoder(), labels())
