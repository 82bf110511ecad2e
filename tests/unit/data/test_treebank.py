"""Where trees are found, and how often each is used."""

from __future__ import annotations

import gzip
from itertools import islice
from pathlib import Path

import pytest

from keras_transformer.data.treebank import (
    ReadingReport,
    find_files,
    named_files,
    parse_sections,
    parse_weighted_files,
    read_clean_trees,
    weighted,
)
from keras_transformer.errors import UserError
from keras_transformer.text.trees_cleaning import TreeCleaning
from keras_transformer.text.trees_reading import parse_tree

TREE = "( (S (NP-SBJ (DT The) (NN cat) )\n    (VP (VBZ sleeps) ) ))\n"


def write_sections(folder: Path, sections: list[str], name: str = "wsj_{}01.mrg") -> None:
    for section in sections:
        (folder / section).mkdir(parents=True)
        (folder / section / name.format(section)).write_text(TREE)
        (folder / section / "readme.txt").write_text("not a tree")


ALL = [f"{number:02d}" for number in range(25)]


@pytest.mark.parametrize(
    "place", ["", "wsj", "WSJ", "parsed/mrg/wsj", "TREEBANK_3/PARSED/MRG/WSJ"]
)  # fmt: skip
def test_ldc_sections(tmp_path, place):
    write_sections(tmp_path / place, ALL)
    train = find_files(str(tmp_path), "train")
    assert [path.parent.name for path in train] == ALL[2:22]
    assert [path.name for path in find_files(str(tmp_path), "dev")] == ["wsj_2201.mrg"]
    assert [path.name for path in find_files(str(tmp_path), "test")] == ["wsj_2301.mrg"]
    assert len(find_files(str(tmp_path), "dev", "00-01,24")) == 3


def test_ldc_names_in_capitals(tmp_path):
    write_sections(tmp_path, ALL, "WSJ_{}01.MRG")
    assert len(find_files(str(tmp_path), "train")) == 20


def test_a_missing_section_is_named(tmp_path):
    write_sections(tmp_path / "wsj", ["02", "22", "23"])
    with pytest.raises(UserError, match=r"section 03, 04, .*, 21, which train needs"):
        find_files(str(tmp_path), "train")
    assert len(find_files(str(tmp_path), "train", "02")) == 1


@pytest.mark.parametrize(
    "split, name",
    [
        ("train", "wsjTrain.trees"),
        ("dev", "wsjEval.trees"),
        ("test", "wsjTest.trees.gz"),
        ("train", "train.trees.gz"),
        ("dev", "dev.trees"),
        ("test", "test.trees"),
    ],
)
def test_files_of_one_tree_a_line(tmp_path, split, name):
    assert find_files(str(tmp_path), split) == []
    (tmp_path / name).write_bytes(b"")
    assert find_files(str(tmp_path), split) == [tmp_path / name]


def test_the_prefix_of_t2t(tmp_path):
    (tmp_path / "ptb_train.trees").write_text(TREE)
    assert find_files(str(tmp_path / "ptb"), "train") == [tmp_path / "ptb_train.trees"]
    assert find_files(str(tmp_path / "ptb"), "dev") == []


def test_files_named_one_by_one(tmp_path):
    write_sections(tmp_path / "wsj", ["02", "03"])
    (tmp_path / "a.trees").write_text(TREE)
    names = f"{tmp_path / 'a.trees'}, {tmp_path / 'wsj'}"
    assert [path.name for path in named_files(names)] == ["a.trees", "wsj_0201.mrg", "wsj_0301.mrg"]
    with pytest.raises(UserError, match="there is no such file"):
        named_files("nowhere.trees")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no tree files"):
        named_files(str(tmp_path / "empty"))


@pytest.mark.parametrize("text", ["", "2-", "21-02", "25", "x", "1,,2"])
def test_sections_that_are_none(text):
    with pytest.raises(UserError, match="numbers from 00 to 24"):
        parse_sections(text)


def test_sections():
    assert parse_sections("02-04, 7,22") == ["02", "03", "04", "07", "22"]


def read(files, **options):
    report = ReadingReport()
    options.setdefault("skip_broken", True)
    trees = list(read_clean_trees(files, TreeCleaning(), report, **options))
    return [str(tree) for tree in trees], report


def test_reading_counts_what_is_left_out(tmp_path, caplog):
    first, second = tmp_path / "a.mrg", tmp_path / "b.trees.gz"
    first.write_text(TREE + "( (S (-NONE- *) ))\n" + "( (NP (NN ) ))\n" + TREE)
    second.write_bytes(gzip.compress(b"(TOP (NP (NN a) (NN b) (NN c) (NN d)))\n"))
    trees, report = read([first, second], max_words=3)
    assert trees == ["(TOP (S (NP (DT The) (NN cat)) (VP (VBZ sleeps))))"] * 2
    assert report == ReadingReport(kept=2, broken=1, empty=1, too_long=1, longest=3)
    assert f"{first}:4: the bracket (NN ) holds no word" in caplog.text


def test_a_broken_tree_of_an_evaluation_set_is_an_error(tmp_path):
    path = tmp_path / "dev.trees"
    path.write_text("(TOP (NN a))\n(TOP (NN b)\n(TOP (NN c))\n")
    with pytest.raises(UserError, match=r"dev\.trees:2: 1 of its brackets"):
        read([path], skip_broken=False)


@pytest.mark.parametrize(
    "weight, expected",
    [
        (1, "abcdef"),
        (3, "aaabbbcccdddeeefff"),
        (0.5, "bdf"),
        (1.5, "abbcddeff"),
        (1 / 3, "cf"),
        (0.7, "bcef"),
    ],
)
def test_weights(weight, expected):
    trees = (parse_tree(f"(X {letter})") for letter in "abcdef")
    assert "".join(tree.words()[0] for tree in weighted(trees, weight)) == expected


def test_weights_of_a_long_stream():
    def endless():
        while True:
            yield parse_tree("(X a)")

    used = sum(1 for _ in weighted(islice(endless(), 10_000), 0.1))
    assert used == 1_000


def test_weighted_file_names():
    assert parse_weighted_files("a.trees=0.5, b.gz,c=d.trees=2") == [
        ("a.trees", 0.5),
        ("b.gz", 1.0),
        ("c=d.trees", 2.0),
    ]
    for wrong in ("a=0", "a=-1", "a=x", "a=nan", "a=inf"):
        with pytest.raises(UserError, match="must be a positive number"):
            parse_weighted_files(wrong)
