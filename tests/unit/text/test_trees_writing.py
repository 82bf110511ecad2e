"""The four forms of a parse."""

from __future__ import annotations

import json

import pytest

from keras_transformer.errors import UserError
from keras_transformer.text.trees import Tree
from keras_transformer.text.trees_reading import parse_tree
from keras_transformer.text.trees_repair import Repairs
from keras_transformer.text.trees_writing import format_parse, pretty

TREE = parse_tree("(TOP (S (NP (DT The) (NN cat)) (VP (VBZ sleeps)) (-RRB- -RRB-)))")


def test_tree_and_symbols():
    assert format_parse(TREE, "tree") == str(TREE)
    assert format_parse(TREE, "symbols") == "S NP DT NN /NP VP VBZ /VP -RRB- /S"


def test_json():
    parse = json.loads(format_parse(TREE, "json", Repairs(sentences=1, extra_tags=2)))
    assert parse["words"] == ["The", "cat", "sleeps", ")"]
    assert parse["tags"] == ["DT", "NN", "VBZ", "-RRB-"]
    assert parse["constituents"] == [
        {"label": "S", "start": 0, "end": 4},
        {"label": "NP", "start": 0, "end": 2},
        {"label": "VP", "start": 2, "end": 3},
    ]
    assert parse["tree"] == str(TREE)
    assert parse["repairs"]["extra_tags"] == 2
    assert "repairs" not in json.loads(format_parse(TREE, "json"))


def test_pretty():
    assert format_parse(TREE, "pretty") == str(TREE)  # it fits into a line
    assert pretty(TREE, width=30).split("\n") == [
        "(TOP",
        "  (S",
        "    (NP (DT The) (NN cat))",
        "    (VP (VBZ sleeps))",
        "    (-RRB- -RRB-)))",
    ]
    assert parse_tree(pretty(TREE, width=30)) == TREE


def test_pretty_of_a_deep_tree_reads_back():
    tree = Tree.leaf("NN", "deep")
    for _ in range(2_000):
        tree = Tree("NP", [tree])
    tree = Tree("TOP", [tree])
    assert parse_tree(pretty(tree)) == tree


def test_an_unknown_form():
    with pytest.raises(UserError, match=r"'xml'.*tree, symbols, pretty, json"):
        format_parse(TREE, "xml")


def test_a_sentence_without_words():
    for parse_format, expected in [("tree", "(())"), ("symbols", ""), ("pretty", "(())")]:
        assert format_parse(Tree("TOP"), parse_format) == expected
