"""The tree itself: words, spans, equality, the written form."""

from __future__ import annotations

import pytest

from keras_transformer.text.trees import (
    Tree,
    escape_brackets,
    split_words,
    unescape_brackets,
)

CAT = Tree(
    "TOP",
    [
        Tree(
            "S",
            [
                Tree("NP", [Tree.leaf("DT", "The"), Tree.leaf("NN", "cat")]),
                Tree("VP", [Tree.leaf("VBZ", "sleeps")]),
                Tree.leaf(".", "."),
            ],
        )
    ],
)


def test_words_tags_and_written_form():
    assert CAT.words() == ["The", "cat", "sleeps", "."]
    assert CAT.tags() == ["DT", "NN", "VBZ", "."]
    assert str(CAT) == "(TOP (S (NP (DT The) (NN cat)) (VP (VBZ sleeps)) (. .)))"


def test_spans_are_phrases_outer_before_inner():
    assert CAT.spans() == [("TOP", 0, 4), ("S", 0, 4), ("NP", 0, 2), ("VP", 2, 3)]


@pytest.mark.parametrize(
    "plain, written",
    [
        ("(", "-LRB-"),
        ("t(est)", "t-LRB-est-RRB-"),
        ("[]{}", "[]{}"),
        ("-LSB-", "-LSB-"),
        ("-LRB", "-LRB"),  # not a whole escape
        ("a\\/b", "a\\/b"),  # the treebank's own escape of a slash is left alone
    ],
)
def test_brackets_in_words(plain, written):
    assert escape_brackets(plain) == written
    assert unescape_brackets(written) == plain
    assert str(Tree.leaf("NN", plain)) == f"(NN {written})"


def test_words_are_cut_at_ascii_blanks_only():
    assert split_words(" a\tb\r\n c ") == ["a", "b", "c"]
    assert split_words("5\u00a0000 a\u2028b") == ["5\u00a0000", "a\u2028b"]
    assert split_words(" ") == []


def test_equality_sees_labels_words_and_shape():
    assert Tree("A", [Tree.leaf("B", "c")]) == Tree("A", [Tree.leaf("B", "c")])
    assert Tree("A", [Tree.leaf("B", "c")]) != Tree("A", [Tree.leaf("B", "d")])
    assert Tree("A", [Tree.leaf("B", "c")]) != Tree("A", [Tree.leaf("C", "c")])
    assert Tree("A", [Tree.leaf("B", "c")]) != Tree("A", [Tree.leaf("B", "c")] * 2)


def test_a_tree_without_words_is_written_as_a_failed_parse():
    assert str(Tree("TOP")) == "(())"
