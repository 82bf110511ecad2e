"""Symbols to trees: every rule by itself, then anything at all."""

from __future__ import annotations

import random

import pytest

from keras_transformer.text.trees import Tree
from keras_transformer.text.trees_labels import LabelInventory
from keras_transformer.text.trees_linearise import linearise
from keras_transformer.text.trees_reading import parse_tree
from keras_transformer.text.trees_repair import Repairs, tree_from_symbols

CASES = [
    # symbols, words, tree, what is counted
    ("S NP DT NN /NP VP VBZ /VP . /S", "The cat sleeps .",
     "(TOP (S (NP (DT The) (NN cat)) (VP (VBZ sleeps)) (. .)))", {}),
    ("NN", "rain", "(TOP (NN rain))", {}),
    # rule 1: more tags than words
    ("NP NN NN NN /NP", "a b", "(TOP (NP (NN a) (NN b)))", {"extra_tags": 1}),
    # rule 2: the closing symbol of an outer bracket; one without a bracket
    ("S NP NN VP VBZ /S", "a b", "(TOP (S (NP (NN a) (VP (VBZ b)))))", {"closed_early": 2}),
    ("NP NN /VP NN /NP", "a b", "(TOP (NP (NN a) (NN b)))", {"stray_closings": 1}),
    ("NN / NN", "a b", "(TOP (NN a) (NN b))", {"stray_closings": 1}),
    # rule 3: cut off
    ("S NP NN /NP VP VBZ", "a b", "(TOP (S (NP (NN a)) (VP (VBZ b))))", {"unclosed_brackets": 2}),
    # rule 4: nothing inside
    ("S NP /NP VP VP /VP /VP NN /S", "a", "(TOP (S (NN a)))", {"empty_brackets": 3}),
    # rule 5: fewer tags than words; into the sentence's bracket if there is one
    ("S NP NN /NP /S", "a b .", "(TOP (S (NP (NN a)) (NN b) (. .)))", {"missing_tags": 2}),
    ("NP NN /NP VP VB /VP", "a b c", "(TOP (NP (NN a)) (VP (VB b)) (NN c))", {"missing_tags": 1}),
    # rule 6: no tree
    ("", "a b .", "(TOP (NN a) (NN b) (. .))", {"flat_trees": 1}),
    ("S NP /NP /S", "a ?", "(TOP (NN a) (. ?))", {"flat_trees": 1, "empty_brackets": 2}),
    # rule 7: labels nobody has seen
    ("S YP NN /YP QQ /S", "a b", "(TOP (S (YP (NN a)) (QQ b)))", {"unknown_labels": 2}),
    ("S A(B NN /A(B C) /S", "a b", "(TOP (S (A-LRB-B (NN a)) (C-RRB- b)))", {"unknown_labels": 2}),
    # rule 8: punctuation is known by its words
    ("S NN NN /S", "a .", "(TOP (S (NN a) (. .)))", {"replaced_tags": 1}),
    ("S . . /S", "a .", "(TOP (S (NN a) (. .)))", {"replaced_tags": 1}),
    ("S -NONE- TOP /S", "a b", "(TOP (S (NN a) (NN b)))",
     {"replaced_tags": 2, "unknown_labels": 2}),
    # brackets among the words
    ("PRN -LRB- NN -RRB- /PRN", "( a(b] )",
     "(TOP (PRN (-LRB- -LRB-) (NN a-LRB-b]) (-RRB- -RRB-)))", {}),
    # nothing to parse
    ("S NN /S", "", "(())", {"extra_tags": 1, "empty_brackets": 1}),
    ("", "", "(())", {}),
]  # fmt: skip


@pytest.mark.parametrize("symbols, sentence, expected, counted", CASES)
def test_rules(symbols, sentence, expected, counted):
    tree, repairs = tree_from_symbols(symbols.split(), sentence.split())
    assert str(tree) == expected
    malformed = not counted.keys() <= {"unknown_labels", "replaced_tags"}
    assert repairs == Repairs(sentences=1, malformed_sentences=int(malformed), **counted)


def test_a_label_seen_as_phrase_and_as_tag_opens_a_bracket_if_it_is_closed():
    labels = LabelInventory.learn([parse_tree("(TOP (X (NN a) (X b)))")])
    tree, repairs = tree_from_symbols(["X", "X", "NN", "/X"], ["a"], labels)
    assert str(tree) == "(TOP (X (X (NN a))))"  # both could be meant by the one /X
    assert repairs.unclosed_brackets == 1
    tree, repairs = tree_from_symbols(["X", "NN", "/X", "X"], ["a", "b"], labels)
    assert str(tree) == "(TOP (X (NN a)) (X b))"
    assert repairs.malformed_sentences == 0


def test_words_already_escaped_are_not_escaped_twice():
    tree, _ = tree_from_symbols(["NP", "-LRB-", "/NP"], ["-LRB-"])
    assert tree.words() == ["("]
    assert str(tree) == "(TOP (NP (-LRB- -LRB-)))"


def test_adding_up():
    total = Repairs(sentences=1, extra_tags=2) + Repairs(sentences=1, malformed_sentences=1)
    assert total == Repairs(sentences=2, malformed_sentences=1, extra_tags=2)
    assert total.as_dict()["extra_tags"] == 2


def random_tree(rng: random.Random) -> Tree:
    node = Tree("TOP")
    for _ in range(rng.randint(1, 12)):
        leaf = Tree.leaf(*rng.choice([("NN", "a"), ("DT", "the"), (".", "."), ("-LRB-", "(")]))
        for _ in range(rng.randint(0, 3)):
            leaf = Tree(rng.choice(["NP", "VP", "S", "PP"]), [leaf])
        target = node
        while target.children and not target.children[-1].is_leaf and rng.random() < 0.6:
            target = target.children[-1]
        target.children.append(leaf)
    return node


def test_well_formed_symbols_need_no_repair():
    rng = random.Random(4)
    for _ in range(300):
        tree = random_tree(rng)
        back, repairs = tree_from_symbols(linearise(tree), tree.words())
        assert back == tree
        assert repairs == Repairs(sentences=1)


def test_ten_thousand_mutated_symbol_strings():
    """Whatever the symbols and the words: a tree over just these words, which reads back."""
    rng = random.Random(20)
    odd = [
        "/",
        "//",
        "(",
        ")",
        "/NP",
        "NP",
        "TOP",
        "/TOP",
        "-NONE-",
        "x(y",
        "/x(y",
        "日",
        ",",
        "''",
    ]
    characters = "a(b)[]{}-/\\_é\u2028\u00a0."
    for _ in range(10_000):
        tree = random_tree(rng)
        symbols, words = linearise(tree), tree.words()
        for _ in range(rng.randint(1, 5)):
            place = rng.randint(0, len(symbols))
            change = rng.randrange(5)
            if change == 0:
                symbols = symbols[:place]
            elif change == 1:
                symbols.insert(place, rng.choice(odd))
            elif change == 2:
                del symbols[place : place + 1]
            elif change == 3:
                symbols[place:place] = symbols[:place]
            else:
                rng.shuffle(symbols)
        if rng.random() < 0.3:
            words = ["".join(rng.choices(characters, k=3)) for _ in range(rng.randint(0, 5))]
        parse, repairs = tree_from_symbols(symbols, words)
        assert parse.words() == words
        assert repairs.sentences == 1
        if words:
            assert parse_tree(str(parse)) == parse
