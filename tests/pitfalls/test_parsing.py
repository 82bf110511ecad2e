"""Mistakes that other parsers' users met, with the inputs that showed them."""

from __future__ import annotations

from pathlib import Path

import pytest

from keras_transformer.text.trees import split_words
from keras_transformer.text.trees_cleaning import clean_tree
from keras_transformer.text.trees_linearise import linearised_texts
from keras_transformer.text.trees_reading import parse_tree, read_trees
from keras_transformer.text.trees_repair import tree_from_symbols

DATA = Path(__file__).parent / "data"


def test_the_same_tree_with_top_without_a_label_and_without_a_wrapper():
    """A root that was stripped blindly took the real S with it, or ended the program."""
    texts = [linearised_texts(clean_tree(tree)) for _, tree in read_trees(DATA / "tree_root.mrg")]
    assert texts[:4] == [("The cat sleeps .", "S NP DT NN /NP VP VBZ /VP . /S")] * 4
    assert texts[4] == ("Yes . Go !", "INTJ UH . /INTJ S VP VB /VP . /S")


@pytest.mark.parametrize("line", (DATA / "tree_parens.txt").read_text().splitlines())
def test_brackets_as_words_and_inside_words(line):
    """Written as they are, they opened and closed constituents."""
    words = split_words(line)
    tree, _ = tree_from_symbols(["NP", *["NN"] * len(words), "/NP"], words)
    assert parse_tree(str(tree)).words() == words


def test_bracket_words_in_a_treebank():
    [(_, tree)] = read_trees(DATA / "tree_parens.mrg")
    assert tree.words() == ["Ontario", "(", "Canada", ")", "is", "big", "."]
    assert str(tree) + "\n" == (DATA / "tree_parens.mrg").read_text()


def test_words_beside_brackets_and_tags_without_a_word():
    """A reader took the next bracket for the missing word and shifted the rest of the file."""
    errors = []
    trees = list(read_trees(DATA / "tree_leaves.mrg", errors.append))
    assert [line for line, _ in trees] == [1, 3]
    assert trees[0][1].words() == ["c", "d", "e"]
    assert str(trees[1][1]) == "(TOP (NP (DT the) (NN end)))"
    assert len(errors) == 1 and errors[0].line == 2 and "tree_leaves.mrg:2:" in str(errors[0])
