"""Bracket scores against what EVALB printed, and where EVALB gives up."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from keras_transformer.errors import UserError
from keras_transformer.scoring.brackets import score_tree_files, score_trees
from keras_transformer.scoring.evalb_parameters import COLLINS, NEW, EvalbParameters, parameters
from keras_transformer.scoring.evalb_report import as_json, evalb_text, label_table, notes

GOLDEN = Path(__file__).parents[2] / "golden" / "evalb"
CASES = sorted(path.parent for path in GOLDEN.glob("*/expected.json"))
STOPPED = {"33-twelve-errors": 13, "34-blank-before-closing-errors": 2}

CAT = "(TOP (S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (. .)))"


def score_case(case: Path):
    expected = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    prm = parameters(str(GOLDEN / expected["parameters"]))
    return expected, score_tree_files(case / "gold.trees", case / "test.trees", prm)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_figures_are_those_of_evalb(case):
    expected, result = score_case(case)
    figures = as_json(result)
    printed = (case / "evalb.out").read_text(encoding="utf-8").replace("-nan", " nan")
    if case.name not in STOPPED:
        assert figures["sentences"] == expected["sentences"]
        assert figures["all"] == expected["all"]
        assert figures["len_le_40"] == expected["len_le_40"]
        assert figures["messages"] == expected["messages"]
        assert evalb_text(result) + "\n" == printed
        assert figures["evalb_stops_at"] is None
        return
    # EVALB stops here. Until then all is equal; we go on and say where it stopped.
    seen = len(expected["sentences"])
    assert figures["sentences"][:seen] == expected["sentences"]
    assert figures["messages"][: len(expected["messages"])] == expected["messages"]
    assert evalb_text(result).startswith(printed)
    assert figures["evalb_stops_at"] == STOPPED[case.name]
    assert f"stopped at line {STOPPED[case.name]}" in notes(result)[0]
    lines = (case / "gold.trees").read_text(encoding="utf-8").count("\n")
    assert len(figures["sentences"]) == figures["all"]["sentences"] == lines


def test_label_counts_add_up_to_the_summary():
    _, result = score_case(GOLDEN / "36-random-grammar")
    for column, total in (
        ("gold", result.all.gold_brackets),
        ("test", result.all.test_brackets),
        ("found", result.all.matched),
        ("right", result.all.matched),
    ):
        assert sum(getattr(counts, column) for counts in result.labels.values()) == total
    assert max(map(len, label_table(result).splitlines())) < 100


def test_equal_labels_are_found_for_the_one_and_right_for_the_other():
    gold = "(S (VP (VB look) (ADVP (RB up))))"
    result = score_trees([gold], [gold.replace("ADVP", "PRT")])
    assert (result.labels["ADVP"].gold, result.labels["ADVP"].found) == (1, 1)
    assert (result.labels["PRT"].test, result.labels["PRT"].right) == (1, 1)
    assert result.labels["ADVP"].recall == result.labels["PRT"].precision == 100.0


def test_without_skipping_bad_sentences_count_as_missing():
    # CAT has three brackets (S, NP, VP) and three words that count.
    gold = [CAT] * 4
    test = [CAT, "", CAT.replace("cat", "dog"), CAT[:-1]]
    kind = score_trees(gold, test)
    assert (kind.all.scored, kind.all.recall, kind.all.precision) == (1, 100.0, 100.0)

    strict = score_trees(gold, test, skipping=False)
    assert (strict.all.error, strict.all.skip, strict.all.scored) == (2, 1, 4)
    assert (strict.all.gold_brackets, strict.all.matched, strict.all.test_brackets) == (12, 3, 3)
    assert (strict.all.recall, strict.all.precision, strict.all.fmeasure) == (25.0, 100.0, 40.0)
    assert strict.all.complete_match == strict.all.no_crossing == 25.0
    assert strict.all.tagging_accuracy == 25.0
    assert strict.labels["NP"].gold == 4
    assert strict.short == strict.all


def test_without_skipping_missing_lines_count_as_missing():
    result = score_trees([CAT] * 3, [CAT], skipping=False)
    assert (result.all.sentences, result.all.scored) == (3, 3)
    assert result.all.recall == pytest.approx(100 / 3)
    assert result.messages == ["2 : Number of lines unmatch (too many lines in gold file)"]
    surplus = score_trees([CAT], [CAT] * 2, skipping=False)
    assert surplus.all.scored == 1
    assert surplus.messages == ["2 : Number of lines unmatch (too many lines in test file)"]


def test_a_closing_bracket_too_many_is_an_error_and_said():
    result = score_trees([CAT, CAT], [CAT + ")", CAT])
    assert (result.all.error, result.all.scored) == (1, 1)
    assert "line 1 of the test: a closing bracket too many" in result.beyond[0]
    assert result.messages == ["1 : Bracketing unbalance (too many close bracket)"]


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ("(S " + "(X x)" * 201 + ")", "201 words, EVALB holds 200"),
        ("(A " * 201 + "(X x)" + ")" * 201, "201 brackets, EVALB holds 200"),
        ("(S (X " + "x" * 5000 + "))", "5000 bytes in a word, EVALB holds 99"),
        ("(S (X " + "x" * 4990 + "))", "4990 bytes in a word, EVALB holds 99"),
        ("(S (" + "L" * 30 + " x))", "30 bytes in a label, EVALB holds 29"),
        ("(S (X x))" + " " * 4990, "4999 bytes in the line, EVALB holds 4998"),
    ],
)
def test_what_evalb_has_no_room_for_is_scored_and_said(tree, said):
    result = score_trees([tree], [tree])
    assert (result.all.scored, result.all.recall) == (1, 100.0)
    assert any(said in place for place in result.beyond)
    assert any("chance figures" in note for note in notes(result))


def test_what_evalb_just_has_room_for_is_not_said():
    for tree in (
        "(S " + "(X x)" * 200 + ")",
        "(A " * 200 + "(X x)" + ")" * 200,
        "(S (" + "L" * 29 + " " + "x" * 99 + "))",
        "(S (X x))" + " " * 4989,
    ):
        assert score_trees([tree], [tree]).beyond == []


def test_a_word_outside_a_bracket_ends_evalb_whatever_max_error_is():
    for max_error in (10, 10**9):
        prm = EvalbParameters(max_error=max_error)
        result = score_trees([CAT, CAT], ["(S stray (X x))", CAT], prm)
        assert result.stopped_at == 1
        assert result.all.sentences == 2


def test_messages_about_words_in_the_wrong_place():
    # With a bracket right after the word EVALB misses that there is more than one element.
    prm = EvalbParameters(max_error=0)
    assert score_trees([CAT], ["(S a(X x))"], prm).messages[:2] == ["1 : Reading sentence"] * 2
    assert score_trees([CAT], ["(S a (X x))"], prm).messages[:2] == [
        "1 : More than two elements in a bracket",
        "1 : Reading sentence",
    ]


def test_no_break_space_is_part_of_a_word():
    tree = "(S (X a\u00a0b) (Y c\u2028d))"
    result = score_trees([tree], [tree])
    assert (result.sentences[0].words, result.all.recall) == (2, 100.0)


def test_parameter_sets_equal_the_files():
    assert parameters(str(GOLDEN / "COLLINS.prm")) == COLLINS
    assert parameters(str(GOLDEN / "new.prm")) == NEW
    assert parameters("collins") == parameters("COLLINS.prm") == COLLINS
    assert parameters("new") == NEW
    with pytest.raises(UserError, match="no such parameter file"):
        parameters("older.prm")


def test_parameter_file_with_mistakes(tmp_path):
    file = tmp_path / "odd.prm"
    file.write_bytes(
        b"# note\r\nDELETE_LABEL  TOP \r\nX\n DELETE_LABEL Y\nEQ_LABEL A B\nEQ_WORD one\n"
        b"LABELED\t0\nFONT big\nMAX_ERROR 3\nDEBUG 2\nCUTOFF_LEN 7\n"
    )
    prm = parameters(str(file))
    assert (prm.deleted_labels, prm.labeled, prm.max_error) == (("TOP",), False, 3)
    assert prm.same_label("B", "A") and not prm.same_label("A", "C")
    assert prm.cutoff_length == 7
    assert [warning.split(": ")[0].rsplit(" ", 1)[1] for warning in prm.warnings] == ["4", "6", "8"]
    file.write_text("MAX_ERROR ten\n")
    with pytest.raises(UserError, match="line 1: MAX_ERROR is 'ten'"):
        parameters(str(file))


def test_parameters_are_read_as_in_c(tmp_path):
    file = tmp_path / "odd.prm"
    file.write_text(
        "MAX_ERROR 100 # many\nCUTOFF_LEN 7x\nLABELED  0\nDELETE_LABEL\nQUOTE_LABEL \n"
        "EQ_WORD a\u00a0b c\nDELETE_LABEL X Y\n",
        encoding="utf-8",
    )
    prm = parameters(str(file))
    assert (prm.max_error, prm.cutoff_length, prm.labeled) == (100, 7, False)
    # A key without a value deletes nothing; EVALB takes what happens to lie in its memory.
    assert prm.deleted_labels == ("X Y",) and not prm.quote_labels
    assert [warning.split(": ")[1].split()[0] for warning in prm.warnings] == [
        "DELETE_LABEL",
        "QUOTE_LABEL",
    ]
    assert prm.same_word("c", "a\u00a0b")
    file.write_text("CUTOFF_LEN x7\n")
    with pytest.raises(UserError, match="line 1: CUTOFF_LEN is 'x7'"):
        parameters(str(file))


def test_a_line_that_ends_at_a_label_is_said():
    # EVALB looks for the word behind the line's end, in what an earlier line has left there.
    for cut in ("(S (NP (DT the) (NN cat)) (VP", "(S (X x) (", "(S (X x) (NP \t"):
        result = score_trees([CAT], [cut])
        assert any("ends at a label" in place for place in result.beyond)
        assert result.all.error == 1
    assert score_trees([CAT], ["(S (X x) (NP (Y y)"]).beyond == []


def test_a_nul_ends_the_line():
    assert score_trees([CAT], [CAT + "\0)) rest"]).all.fmeasure == 100


def test_missing_and_broken_files_are_named(tmp_path):
    with pytest.raises(UserError, match="nothing.trees cannot be read: No such file"):
        score_tree_files(tmp_path / "nothing.trees", tmp_path / "nothing.trees")
    (tmp_path / "plain.gz").write_text(CAT)
    with pytest.raises(UserError, match=r"plain.gz cannot be read: Not a gzipped file"):
        score_tree_files(tmp_path / "plain.gz", tmp_path / "plain.gz")


def test_bytes_that_are_not_utf8_are_compared_as_they_are(tmp_path):
    (tmp_path / "gold").write_bytes(b"(S (X caf\xe9))\n(S (X caf\xe9))\n")
    (tmp_path / "test").write_bytes(b"(S (X caf\xe9))\n(S (X caf\xe8))\n")
    result = score_tree_files(tmp_path / "gold", tmp_path / "test")
    assert [score.status for score in result.sentences] == [0, 1]
    json.dumps(as_json(result)).encode("ascii")
    assert result.messages == ["2 : Words unmatch (caf\ufffd|caf\ufffd)"]


def mutated(tree: str, rng: random.Random) -> str:
    """The tree with one to four signs or pieces put in, taken out or copied."""
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(tree) + 1)
        until = min(len(tree), place + rng.choice([1, 1, 2, 9]))
        piece = rng.choice(
            ["(", ")", " ", "\t", "(X", "w", "-", "=", "\u00a0", "\x00", "()", "( )", "'"]
        )
        tree = rng.choice(
            [
                tree[:place] + piece + tree[place:],
                tree[:place] + tree[until:],
                tree[:place] + tree[place:until] + tree[place:],
                tree[:place],
            ]
        )
    return tree


def test_ten_thousand_mutated_trees_never_fail():
    rng = random.Random(20170612)
    trees = [
        line
        for name in ("36-random-grammar", "18-quotes-new-prm", "12-function-tags-and-traces")
        for line in (GOLDEN / name / "gold.trees").read_text(encoding="utf-8").splitlines()
        if len(line) < 300
    ]
    gold = [rng.choice(trees) for _ in range(10_000)]
    test = [mutated(line, rng) for line in gold]
    gold = [mutated(line, rng) if rng.random() < 0.2 else line for line in gold]
    for prm in (COLLINS, NEW):
        for skipping in (True, False):
            result = score_trees(gold, test, prm, skipping)
            assert len(result.sentences) == result.all.sentences == 10_000
            assert result.all.error + result.all.skip > 1000
            assert 50 < result.all.precision <= 100
            for score in result.sentences:
                assert score.matched <= min(score.gold_brackets, score.test_brackets)
                assert score.crossing <= score.test_brackets
            evalb_text(result)
            json.dumps(as_json(result))
            label_table(result)
