"""Known pitfalls of scoring."""

from __future__ import annotations

from pathlib import Path

import pytest

from keras_transformer.scoring import bleu
from keras_transformer.scoring.brackets import score_trees
from keras_transformer.scoring.evalb_report import evalb_text

DATA = Path(__file__).parent / "data"
MEASURES = ["paper", "moses", "t2t_cased", "t2t_uncased", "sacrebleu"]


@pytest.mark.parametrize("measure", MEASURES)
def test_empty_hypothesis_lines_count_with_length_zero(measure):
    (result,) = bleu.score_files(DATA / "bleu_empty.hyp", DATA / "bleu_empty.ref", [measure])
    assert result.segments == 3
    assert round(result.score, 2) == 60.65


@pytest.mark.parametrize("measure", MEASURES)
def test_all_empty_hypothesis_scores_zero(measure):
    (result,) = bleu.score_files(DATA / "bleu_all_empty.hyp", DATA / "bleu_empty.ref", [measure])
    assert result.score == 0


@pytest.mark.parametrize("measure", MEASURES)
def test_line_separators_other_than_lf_split_no_record(measure):
    for side in ("src", "tgt"):
        file = DATA / f"unicode_separators.{side}"
        (result,) = bleu.score_files(file, file, [measure])
        assert result.segments == 4
        assert result.score == pytest.approx(100)


@pytest.mark.parametrize("measure", MEASURES)
def test_windows_line_ends_change_nothing(tmp_path, measure):
    text = "Im Jahr 2014.\nEin Haus steht am See, sagte er.\n"
    (tmp_path / "lf").write_bytes(text.encode())
    (tmp_path / "crlf").write_bytes(text.replace("\n", "\r\n").encode())
    scores = bleu.score_files(tmp_path / "crlf", tmp_path / "lf", [measure])
    assert scores[0].score == pytest.approx(100)


def test_nothing_to_count_is_no_division_by_zero():
    """Trees of one word have no bracket: 0 of 0, complete, and no weight beside a normal one."""
    trees = (DATA / "f1_empty.mrg").read_text().splitlines()
    alone = score_trees(trees, trees)
    assert [(s.gold_brackets, s.test_brackets, s.recall) for s in alone.sentences] == [
        (0, 0, 0)
    ] * 2
    assert (alone.all.scored, alone.all.complete_match, alone.all.fmeasure) == (2, 100.0, None)
    assert "Bracketing FMeasure       =    nan" in evalb_text(alone)

    gold = [*trees, "(TOP (S (NP (NN Rain)) (VP (VBZ falls))))"]
    test = [*trees, "(TOP (S (NP (NN Rain)) (NP (VBZ falls))))"]
    together = score_trees(gold, test)
    assert together.all.fmeasure == pytest.approx(200 / 3)


@pytest.mark.parametrize("measure", MEASURES)
def test_an_empty_reference_line_is_legal(tmp_path, measure):
    text = "Nobody knows why the train was late again.\n\nYesterday we paid for two tickets!\n"
    files = {
        "reference": text,
        "equal": text,
        "more": text.replace("\n\n", "\nwords for nothing\n"),
        "nothing": "\n\n\n",
    }
    for name, lines in files.items():
        (tmp_path / name).write_text(lines)

    def score(hypothesis, reference):
        (result,) = bleu.score_files(tmp_path / hypothesis, tmp_path / reference, [measure])
        assert result.segments == 3
        return result.score

    assert score("equal", "reference") == pytest.approx(100)
    assert 50 < score("more", "reference") < 100
    assert score("nothing", "nothing") == 0
    # T2T puts a little in the place of no match at all.
    assert 0 <= score("equal", "nothing") < 2
