"""The linear form, against what Tensor2Tensor printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keras_transformer.text.subword_encoder import SubwordTextEncoder
from keras_transformer.text.trees import Tree
from keras_transformer.text.trees_linearise import linearise, linearised_texts
from keras_transformer.text.trees_reading import TreeError, parse_tree, read_trees

GOLDEN = Path(__file__).parents[2] / "golden" / "parsing"
LINEARISED = json.loads((GOLDEN / "linearised.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", LINEARISED["trees"], ids=lambda case: case["tree"].strip())
def test_words_and_symbols(case):
    words, symbols = linearised_texts(parse_tree(case["tree"]))
    if "error" in case:  # T2T fails on brackets that stand alone; we read them
        assert (words, symbols) == ("spaced out", "S NP NN /NP VP VBZ /VP /S")
    else:
        assert (words, symbols) == (case["words"], case["tags"])


@pytest.mark.parametrize("case", LINEARISED["malformed"], ids=lambda case: case["tree"] or "empty")
def test_broken_trees_are_refused_where_t2t_fails_or_guesses(case):
    with pytest.raises(TreeError, match=r"^f:1: "):
        parse_tree(case["tree"], "f")


def trees_of_golden_file():
    return [tree for _, tree in read_trees(GOLDEN / "trees.txt")]


def test_token_ids():
    """Ids of whole words and whole symbols, looked up in T2T's token vocabularies."""
    expected = json.loads((GOLDEN / "token_generator.json").read_text(encoding="utf-8"))

    def ids(file_name: str, text: str) -> list[int]:
        entries = (GOLDEN / file_name).read_text(encoding="utf-8").split("\n")
        return [entries.index(token) for token in text.split(" ")]

    for tree, ids_of_tree in zip(trees_of_golden_file(), expected["no_eos"], strict=True):
        words, symbols = linearised_texts(tree)
        assert ids("vocab.words.txt", words) == ids_of_tree["inputs"]
        assert ids("vocab.tags.txt", symbols) == ids_of_tree["targets"]


def test_subword_ids():
    encoder = SubwordTextEncoder.load(GOLDEN / "vocab.subwords")
    expected = json.loads((GOLDEN / "subword_encoded.json").read_text(encoding="utf-8"))
    for tree, ids_of_tree in zip(trees_of_golden_file(), expected, strict=True):
        words, symbols = linearised_texts(tree)
        assert [*encoder.encode(words), 1] == ids_of_tree["inputs"]
        assert [*encoder.encode(symbols), 1] == ids_of_tree["targets"]
        assert encoder.decode(ids_of_tree["targets"][:-1]) == symbols


def test_a_lone_leaf_and_a_deep_tree():
    assert linearise(Tree.leaf("UH", "yes")) == ["UH"]
    tree = Tree.leaf("NN", "deep")
    for _ in range(10_000):
        tree = Tree("NP", [tree])
    assert linearise(tree) == ["NP"] * 9_999 + ["NN"] + ["/NP"] * 9_999
