"""The inventory of labels: learned, stored, asked."""

from __future__ import annotations

from collections import Counter

import pytest

from keras_transformer.errors import UserError
from keras_transformer.text.trees_labels import PENN_TREEBANK_LABELS, LabelInventory
from keras_transformer.text.trees_reading import parse_tree

TREES = [
    parse_tree("(TOP (S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (. .)))"),
    parse_tree("(TOP (NP (NN rain) (: -) (NN cat) (HYPH -) (: -) (. .)))"),
]


def test_learning():
    labels = LabelInventory.learn(TREES)
    assert labels.phrases == Counter({"NP": 2, "S": 1, "VP": 1})  # no TOP
    assert labels.tags["NN"] == 3 and labels.tags["."] == 2
    assert labels.punctuation == {".": Counter({".": 2}), "-": Counter({":": 2, "HYPH": 1})}


def test_tags_of_words_without_one():
    labels = LabelInventory.learn(TREES)
    assert labels.tag_for("dog") == "NN"
    assert labels.tag_for(".") == "."
    assert labels.tag_for("-") == ":"
    assert LabelInventory().tag_for("dog") == "XX"


@pytest.mark.parametrize(
    "tag, word, believed",
    [
        ("VBZ", "dog", True),  # any tag but those of punctuation
        (".", "dog", False),
        (".", ".", True),
        ("NN", ".", False),
        ("HYPH", "-", True),  # seen
        ("-NONE-", "dog", False),  # EVALB would take the word for a trace
        ("TOP", "dog", False),
    ],
)
def test_what_is_believed(tag, word, believed):
    assert LabelInventory.learn(TREES).believes(tag, word) is believed


def test_saving_and_loading(tmp_path):
    path = tmp_path / "labels.json"
    labels = LabelInventory.learn(TREES)
    labels.save(path)
    assert LabelInventory.load(path) == labels
    assert [entry.name for entry in tmp_path.iterdir()] == ["labels.json"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"phrases": 1, "tags": 2}'])
def test_a_damaged_file(tmp_path, content):
    path = tmp_path / "labels.json"
    path.write_text(content)
    with pytest.raises(UserError, match=r"labels\.json: not a label inventory"):
        LabelInventory.load(path)
    with pytest.raises(UserError, match="cannot be read"):
        LabelInventory.load(tmp_path / "missing.json")


def test_penn_treebank_labels():
    assert "NP" in PENN_TREEBANK_LABELS.phrases and "NP" not in PENN_TREEBANK_LABELS.tags
    assert PENN_TREEBANK_LABELS.tag_for("whatever") == "NN"
    assert PENN_TREEBANK_LABELS.tag_for("?") == "."
    assert PENN_TREEBANK_LABELS.believes("``", '"') and PENN_TREEBANK_LABELS.believes("POS", "'")
