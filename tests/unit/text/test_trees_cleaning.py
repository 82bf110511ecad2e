"""What is taken off treebank trees, and what is not."""

from __future__ import annotations

import pytest

from keras_transformer.text.trees_cleaning import TreeCleaning, clean_tree
from keras_transformer.text.trees_reading import parse_tree


@pytest.mark.parametrize(
    "raw, cleaned",
    [
        # function tags, indices and gapping marks of phrases; tags of words stay whole
        ("( (S (NP-SBJ-1 (NN a)) (NP=2 (NN b))))", "(TOP (S (NP (NN a)) (NP (NN b))))"),
        ("(TOP (S-TPC=1 (VBP-X a)))", "(TOP (S (VBP-X a)))"),
        ("(TOP (PRN (-LRB- -LRB-) (NN a) (-RRB- -RRB-)))",) * 2,
        # traces, and what they leave empty, at any depth
        ("(TOP (S (NP (NN a)) (VP (VBZ b) (SBAR (-NONE- 0) (S (-NONE- *T*-1))))))",
         "(TOP (S (NP (NN a)) (VP (VBZ b))))"),
        # the ways to write a root
        ("((S (NN a)))", "(TOP (S (NN a)))"),
        ("(ROOT (S (NN a)))", "(TOP (S (NN a)))"),
        ("(S1 (S (NN a)))", "(TOP (S (NN a)))"),
        ("(S (NN a))", "(TOP (S (NN a)))"),
        ("(NN a)", "(TOP (NN a))"),
        ("( (TOP (S (NN a))))", "(TOP (S (NN a)))"),
        # an unlabelled root with several brackets stays one root
        ("( (INTJ (UH Yes)) (S (VB Go)))", "(TOP (INTJ (UH Yes)) (S (VB Go)))"),
        # a bracket without a label inside says nothing
        ("(TOP (S ((NP (NN a)) (VP (VBZ b)))))", "(TOP (S (NP (NN a)) (VP (VBZ b))))"),
    ],
)  # fmt: skip
def test_defaults(raw, cleaned):
    assert clean_tree(parse_tree(raw)) == parse_tree(cleaned)


def test_nothing_left():
    assert clean_tree(parse_tree("( (S (NP (-NONE- *))))")) is None


def test_flags():
    tree = parse_tree("( (S (NP-SBJ (-NONE- *)) (VP-X (VB go))))")
    keep = TreeCleaning(remove_function_tags=False, remove_empty_elements=False, root="keep")
    assert clean_tree(tree, keep) == tree
    bare = clean_tree(tree, TreeCleaning(root="remove"))
    assert str(bare) == "(S (VP (VB go)))"
    other = clean_tree(tree, TreeCleaning(root_label="ROOT"))
    assert str(other) == "(ROOT (S (VP (VB go))))"
    several = parse_tree("( (A (B c)) (D (E f)))")
    assert clean_tree(several, TreeCleaning(root="remove")) == several


def test_the_tree_itself_is_not_changed():
    tree = parse_tree("( (S (NP-SBJ (-NONE- *)) (VP (VB go))))")
    before = str(tree)
    clean_tree(tree)
    assert str(tree) == before
