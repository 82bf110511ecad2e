"""Files of trees: layouts, compression, line ends, and mistakes that stay with their tree."""

from __future__ import annotations

import gzip
import random

import pytest

from keras_transformer.errors import UserError
from keras_transformer.text.trees import Tree, split_words
from keras_transformer.text.trees_cleaning import clean_tree
from keras_transformer.text.trees_linearise import linearised_texts
from keras_transformer.text.trees_reading import TreeError, parse_tree, parse_trees, read_trees
from keras_transformer.text.trees_repair import tree_from_symbols

LDC = """

( (S
    (NP-SBJ (DT The) (NN cat) )
    (VP (VBZ sleeps) )
    (. .) ))
( (FRAG (NP (NN Silence) )
    (. .) ))
"""


def zipped(content: bytes) -> bytes:
    # Without a time, or parallel workers would name the tests differently.
    return gzip.compress(content, mtime=0)


def read(text: str) -> tuple[list[tuple[int, str]], list[str]]:
    errors: list[TreeError] = []
    trees = [
        (line, str(tree)) for line, tree in parse_trees(text.split("\n"), "f.mrg", errors.append)
    ]
    return trees, [str(error) for error in errors]


def test_ldc_layout():
    trees, errors = read(LDC)
    assert not errors
    assert trees == [
        (3, "( (S (NP-SBJ (DT The) (NN cat)) (VP (VBZ sleeps)) (. .)))"),
        (7, "( (FRAG (NP (NN Silence)) (. .)))"),
    ]


def test_several_lines_without_indentation():
    trees, errors = read("(TOP\n(S\n(NP (NN rain))\n(VP (VBZ falls))\n)\n)\n(TOP\n(NP (NN x)))")
    assert not errors
    assert [line for line, _ in trees] == [1, 7]


@pytest.mark.parametrize(
    "name, content",
    [
        ("plain.trees", b"(TOP (NN a))\n(TOP (NN b))"),
        ("crlf.trees", b"(TOP (NN a))\r\n(TOP (NN b))\r\n"),
        ("mark.trees", b"\xef\xbb\xbf(TOP (NN a))\n\n(TOP (NN b))\n"),
        ("zipped.trees.gz", zipped(b"(TOP (NN a))\n(TOP (NN b))\n")),
        ("zipped_under_a_plain_name", zipped(b"(TOP (NN a))\r\n(TOP (NN b))\r\n")),
        ("notice.mrg", b"*x*x*x*\n*x* (c) *x*\n<S ID=1>\n(TOP (NN a))\n</S>\n(TOP (NN b))\n"),
    ],
)
def test_files(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    assert [str(tree) for _, tree in read_trees(path)] == ["(TOP (NN a))", "(TOP (NN b))"]


@pytest.mark.parametrize(
    "broken, message",
    [
        ("(TOP (S (NP (NN a)) (VP (VBZ b)))", "f.mrg:2: 1 of its brackets are not closed"),
        ("(TOP (S (NN a))))", "f.mrg:2: ')' stands outside every bracket"),
        ("a b c", "f.mrg:2: 'a' stands outside every bracket"),
        ("(TOP (NN ))", "f.mrg:2: the bracket (NN ) holds no word"),
        ("(TOP (NP (NN a) (HYPH ) (NN b)))", "f.mrg:2: the bracket (HYPH ) holds no word"),
        ("()", "f.mrg:2: the bracket ( ) holds no word"),
        ("(TOP)", "f.mrg:2: the bracket (TOP ) holds no word"),
    ],
)
@pytest.mark.parametrize("root", ["TOP", "", "S"])
def test_a_broken_tree_is_named_and_takes_no_other_with_it(broken, message, root):
    before, after = f"({root} (NP (NN one)))", f"({root} (NP (NN two)))"
    trees, errors = read("\n".join([before, broken, after, before]))
    assert trees == [(1, before), (3, after), (4, before)]
    assert len(errors) == 1 and errors[0].startswith(message)


def test_a_broken_tree_among_trees_of_several_lines():
    trees, errors = read(LDC.replace("(. .) ))\n( (FRAG", "(. .)\n( (FRAG") + LDC)
    assert [line for line, _ in trees] == [7, 11, 15]
    assert errors == ["f.mrg:3: 2 of its brackets are not closed: add the missing )"]


def test_without_a_place_for_errors_the_first_is_raised():
    with pytest.raises(UserError, match=r"^f\.mrg:1: "):
        list(parse_trees(["(TOP (NN ))"], "f.mrg"))


def test_an_unclosed_tree_at_the_end():
    trees, errors = read("(TOP (NN a))\n(TOP (NN b)")
    assert len(trees) == 1
    assert errors == ["f.mrg:2: 1 of its brackets are not closed: add the missing )"]


def test_a_mistake_in_a_tree_of_several_lines_names_its_own_line():
    _, errors = read("( (S\n    (NP (NN a) )\n    (VP (VBZ ) )))")
    assert errors == [
        "f.mrg:3: the bracket (VBZ ) holds no word: add it or delete it (the tree begins on line 1)"
    ]


def test_bare_words_are_leaves():
    assert str(parse_tree("(A (B (C c) d) e)")) == "(A (B (C c) (XX d)) (XX e))"
    assert str(parse_tree("(A (B c d))")) == "(A (B (XX c) (XX d)))"
    assert str(parse_tree("(TOP word)")) == "(TOP (XX word))"


def test_two_trees_on_one_line_and_words_glued_to_brackets():
    trees, errors = read("(TOP(NN a)(NN b)) (TOP (NN c))")
    assert not errors
    assert [tree for _, tree in trees] == ["(TOP (NN a) (NN b))", "(TOP (NN c))"]


def test_one_tree_is_wanted():
    with pytest.raises(UserError, match="2 trees, expected one"):
        parse_tree("(A (B c)) (A (B c))")


@pytest.mark.parametrize(
    "content, message",
    [
        (b"(TOP (NN a))\n(TOP (NN \xff))\n", ":2: not UTF-8 at byte 10"),
        (zipped(b"(TOP (NN a))\n" * 999)[:30], ": damaged gzip file"),
    ],
)
def test_damaged_files(tmp_path, content, message):
    path = tmp_path / "f.trees"
    path.write_bytes(content)
    with pytest.raises(UserError) as error:
        list(read_trees(path))
    assert f"f.trees{message}" in str(error.value)


def test_missing_file(tmp_path):
    with pytest.raises(UserError, match="no_such_file: cannot be read"):
        list(read_trees(tmp_path / "no_such_file"))


def test_a_tree_of_ten_thousand_levels():
    tree = Tree.leaf("NN", "deep")
    for _ in range(10_000):
        tree = Tree("NP", [tree])
    assert parse_tree(str(tree)) == tree


def test_ten_thousand_mutated_trees():
    """A tree that reads back, or a message with file and line; never anything else."""
    rng = random.Random(12)
    sources = [
        "(TOP (S (NP (DT The) (NN cat)) (VP (VBZ sleeps)) (. .)))",
        "( (S \n    (NP-SBJ (-NONE- *T*-1) )\n    (VP (VB go) ) ))",
        "((PRN (-LRB- -LRB-) (NN a\\/b) (-RRB- -RRB-)))",
    ]
    odd = [
        "(",
        ")",
        "((",
        "))",
        " ",
        "\n",
        "\t",
        "\r",
        "(TOP",
        "( (",
        "/",
        "x",
        "*x*",
        "<S>",
        "\u2028",
    ]
    for _ in range(10_000):
        text = rng.choice(sources) + "\n" + rng.choice(sources)
        for _ in range(rng.randint(1, 4)):
            place = rng.randint(0, len(text))
            cut = rng.choice([0, 0, 1, rng.randint(0, 9)])
            text = text[:place] + rng.choice(odd) * rng.randint(0, 2) + text[place + cut :]
        errors: list[TreeError] = []
        lines = text.split("\n")
        for line, tree in parse_trees(lines, "f.mrg", errors.append):
            assert 1 <= line <= len(lines)
            assert tree.words()
            assert parse_tree(str(tree)) == tree
            cleaned = clean_tree(tree)
            if cleaned is not None:
                words, symbols = linearised_texts(cleaned)
                back, _ = tree_from_symbols(split_words(symbols), split_words(words))
                assert back.words() == cleaned.words()
        assert all(1 <= e.line <= len(lines) and str(e).startswith("f.mrg:") for e in errors)
