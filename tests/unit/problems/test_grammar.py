"""The made-up treebank: the same everywhere, varied, unambiguous, in Penn Treebank form."""

from __future__ import annotations

import hashlib
from itertools import islice, pairwise

import pytest

from keras_transformer.problems.grammar import made_up_trees
from keras_transformer.text.trees import Tree
from keras_transformer.text.trees_cleaning import clean_tree
from keras_transformer.text.trees_labels import PENN_TREEBANK_LABELS
from keras_transformer.text.trees_linearise import linearise
from keras_transformer.text.trees_reading import parse_tree
from keras_transformer.text.trees_repair import Repairs, tree_from_symbols


@pytest.fixture(scope="module")
def trees() -> list[Tree]:
    return list(islice(made_up_trees(seed=7), 4_000))


def test_a_seed_gives_the_same_trees_in_every_python():
    text = "\n".join(map(str, islice(made_up_trees(seed=1), 500)))
    assert hashlib.sha256(text.encode()).hexdigest() == SHA256_OF_SEED_1
    assert str(next(made_up_trees(seed=2))) != text.split("\n")[0]


def test_trees_are_varied(trees):
    assert len({tuple(tree.words()) for tree in trees}) > 0.95 * len(trees)
    assert 500 < len({word.lower() for tree in trees for word in tree.words()}) < 1_000
    lengths = sorted(len(tree.words()) for tree in trees)
    assert 8 < lengths[len(lengths) // 2] < 18 and lengths[-1] < 100


def test_no_sentence_has_two_trees():
    """Attachment follows from the words; else no model could be asked for it."""
    by_words: dict[tuple[str, ...], set[str]] = {}
    for tree in islice(made_up_trees(seed=3), 12_000):
        by_words.setdefault(tuple(tree.words()), set()).add(str(tree))
    assert all(len(found) == 1 for found in by_words.values())


@pytest.mark.parametrize(
    "phenomenon, parts",
    [
        ("coordinated nouns", "(CC and) (NP"),
        ("coordinated verb phrases", "(CC or) (VP"),
        ("coordinated sentences", "(, ,) (CC but) (S"),
        ("phrase at a noun", "(PP (IN of) (NP"),
        ("phrase at a verb", "(PP (IN during) (NP"),
        ("subject relative clause", "(SBAR (WHNP (WP who)) (S (VP"),
        ("object relative clause", "(SBAR (WHNP (WDT that)) (S (NP"),
        ("reduced clause", ") (VP (VBG watching) (NP"),
        ("complement clause", "(SBAR (IN that) (S (NP"),
        ("adverbial clause", "(SBAR (IN because) (S"),
        ("infinitive", "(S (VP (TO to) (VP (VB"),
        ("passive", "(PP (IN by) (NP"),
        ("question of yes or no", "(SQ (VBD Did) (NP"),
        ("question of who or what", "(SBARQ (WHNP (WP What)) (SQ"),
        ("question of why", "(SBARQ (WHADVP (WRB Why)) (SQ"),
        ("quotation", "(TOP (S (`` ``) (S"),
        ("inverted quotation", "(TOP (SINV (`` ``) (S"),
        ("parenthesis", "(PRN (-LRB- -LRB-) (NP"),
        ("apposition", "(, ,) (NP (DT the)"),
        ("possessive", "(POS 's)"),
        ("particle", "(PRT (RP up))"),
        ("number phrase", "(QP (RB about) (CD"),
        ("fragment", "(TOP (FRAG (NP"),
        ("interjection", "(INTJ (UH Well)) (, ,)"),
        ("semicolon", "(: ;)"),
        ("existential", "(NP (EX there))"),
    ],
)
def test_phenomena(trees, phenomenon, parts):
    assert any(parts in str(tree) for tree in trees), phenomenon


def test_trees_are_clean_and_survive_every_form(trees):
    for tree in trees[:1_000]:
        assert clean_tree(tree) == tree
        assert parse_tree(str(tree)) == tree
        back, repairs = tree_from_symbols(linearise(tree), tree.words())
        assert back == tree and repairs == Repairs(sentences=1)
        assert all(
            node.label
            in (PENN_TREEBANK_LABELS.tags if node.is_leaf else PENN_TREEBANK_LABELS.phrases)
            for node in tree.nodes()
            if node is not tree
        )


def test_sentences_begin_with_a_capital_letter_and_end_with_a_mark(trees):
    for tree in trees:
        words = [word for word in tree.words() if word.isalnum() or word[0].isalpha()]
        assert words[0][0].isupper() or words[0][0].isdigit()
        assert tree.tags()[-1] in (".", "''")


def test_indefinite_articles(trees):
    for tree in trees:
        words = [word.lower() for word in tree.words()]
        for article, word in pairwise(words):
            if article == "an":
                assert word[0] in "aeiou" or word in ("honest", "hour"), (article, word)
            if article == "a":
                assert word[0] not in "aeiou" and word not in ("honest", "hour"), (article, word)


SHA256_OF_SEED_1 = "e315fb1ecf80e0f5da6b855bb8e43733b088f82b680374facba509a45ccc1b72"
