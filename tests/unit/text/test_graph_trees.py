"""Trees made inside a graph are those of `trees_repair`, whatever the symbols."""

from __future__ import annotations

import random

import pytest
import tensorflow as tf

from keras_transformer.text.graph_trees import GraphTrees, words_in_graph
from keras_transformer.text.trees import split_words
from keras_transformer.text.trees_labels import PENN_TREEBANK_LABELS, LabelInventory
from keras_transformer.text.trees_linearise import source_text
from keras_transformer.text.trees_reading import parse_tree
from keras_transformer.text.trees_repair import tree_from_symbols

# Symbols, sentence, and the rule of trees_repair that the row is there for.
CASES = [
    ("S NP DT NN /NP VP VBD /VP . /S", "The cat sat .", "well-formed"),
    ("S NP DT NN NN NN /NP /S", "The cat", "1: more tags than words"),
    ("S NP DT /S NN", "a b", "2: closes the inner bracket too"),
    ("S NP DT /NP /VP NN /S", "a b", "2: nothing of that name is open"),
    ("S NP DT VP VBD", "a b", "3: open at the end"),
    ("S NP /NP VP ADJP /ADJP NN /VP /S", "a", "4: no word inside"),
    ("S NP DT /NP /S", "a dog barks !", "5: words left over, in the sentence's bracket"),
    ("NP DT /NP VP VB /VP", "a b c .", "5: two phrases under the root"),
    ("DT", "a b", "5: a leaf under the root"),
    ("", "a b .", "6: no tag"),
    ("S NP VP /VP", "a b .", "6: brackets only"),
    ("S FOO DT /FOO BAR /S", "a b", "7: unknown labels"),
    ("S . NN -NONE- TOP /S", "a . b c", "8: tags that EVALB takes out"),
    ("S -LRB- NN -RRB- /S", "( a )", "brackets as words"),
    ("S X(Y NN /X(Y /S", "-LRB- x(y", "brackets in labels and words"),
    ("/ / S", "a", "a slash alone"),
    ("/S /NP", "a b", "closings only"),
    ("NN", "  a \t b\u00a0c  ", "blanks"),
    ("S NN /S", "", "no word"),
]


def expected(symbols: str, sentence: str, labels: LabelInventory) -> str:
    words = split_words(source_text(split_words(sentence)))
    return str(tree_from_symbols(split_words(symbols), words, labels)[0])


def in_graph(symbols: list[str], sentences: list[str], labels: LabelInventory) -> list[str]:
    texts = [tf.TensorSpec([None], tf.string)] * 2
    finish = tf.function(GraphTrees(labels).finish, texts, autograph=False)
    trees = finish(tf.constant(symbols, tf.string), tf.constant(sentences, tf.string))
    return [tree.decode() for tree in trees.numpy()]


def test_every_rule_of_repair():
    symbols, sentences, why = zip(*CASES, strict=True)
    found = in_graph(list(symbols), list(sentences), PENN_TREEBANK_LABELS)
    for tree, symbol, sentence, reason in zip(found, symbols, sentences, why, strict=True):
        assert tree == expected(symbol, sentence, PENN_TREEBANK_LABELS), reason


@pytest.mark.parametrize("labels", [PENN_TREEBANK_LABELS, LabelInventory()], ids=["penn", "none"])
def test_random_symbols(labels):
    draw = random.Random(7)
    alphabet = ["S", "NP", "VP", "/S", "/NP", "/VP", "NN", ".", "DT", "FOO", "/FOO", "-NONE-"]
    words = ["a", "b", ".", "(", "--", "?"]
    symbols = [" ".join(draw.choices(alphabet, k=draw.randrange(14))) for _ in range(150)]
    sentences = [" ".join(draw.choices(words, k=draw.randrange(1, 6))) for _ in range(150)]
    found = in_graph(symbols, sentences, labels)
    for tree, symbol, sentence in zip(found, symbols, sentences, strict=True):
        assert tree == expected(symbol, sentence, labels), (symbol, sentence)


def test_the_trees_are_over_the_words_and_can_be_read():
    tree = parse_tree(in_graph(["S NP VP ."], ["one two (three)"], PENN_TREEBANK_LABELS)[0])
    assert tree.words() == ["one", "two", "(three)"]


def test_an_empty_batch():
    assert in_graph([], [], PENN_TREEBANK_LABELS) == []


def test_words_as_the_model_reads_them():
    found = words_in_graph(tf.constant([" a  (b)\tc ", ""])).numpy()
    assert [text.decode() for text in found] == ["a -LRB-b-RRB- c", ""]
