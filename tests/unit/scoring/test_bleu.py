"""The common interface over the measures."""

from __future__ import annotations

from pathlib import Path

import pytest

from keras_transformer.errors import UserError
from keras_transformer.scoring import bleu

GOLDEN = Path(__file__).parents[2] / "golden" / "moses"
BLEU_MEASURES = [measure for measure in bleu.MEASURES if measure != "chrf"]


@pytest.mark.parametrize(
    ("measure", "form", "score", "lengths"),
    [
        ("paper", "2017", 61.96, (5242, 5646)),
        ("paper", "today", 61.96, (5242, 5646)),
        ("moses", "2017", 61.50, (5096, 5474)),
    ],
)
def test_figures_of_the_perl_scripts(measure, form, score, lengths):
    (result,) = bleu.score_files(
        GOLDEN / "libreoffice.hyp.de", GOLDEN / "libreoffice.ref.de", [measure], moses_form=form
    )
    assert round(result.score, 2) == score
    assert (result.hypothesis_length, result.reference_length) == lengths
    assert f"tok:moses-{form}|punct:hyp" in result.signature


@pytest.mark.parametrize("measure", bleu.MEASURES)
def test_a_text_scores_100_against_itself(measure):
    text = ["Das Auto-Radio kostet 3,50 Euro (usw.).", "", "„Gut“, sagte sie und ging."]
    if measure in ("paper", "moses"):  # the replacement of ” and “ on one side would show
        text[2] = "Gut, sagte sie und ging."
    result = bleu.score(text, text, measure)
    assert result.score == pytest.approx(100)
    assert result.segments == 3


@pytest.mark.parametrize("measure", bleu.MEASURES)
def test_hypothesis_without_words_scores_zero(measure):
    result = bleu.score(["", ""], ["Ein Haus steht am See.", "Zwei"], measure)
    assert result.score == 0


@pytest.mark.parametrize("measure", BLEU_MEASURES)
def test_one_line(measure):
    result = bleu.score(["Ein altes Haus steht am See."], ["Ein Haus steht am See."], measure)
    assert 0 < result.score < 100
    assert result.hypothesis_length == 7
    assert result.reference_length == 6


def test_signatures_tell_the_measures_apart():
    text = ["Ein Haus steht am See."]
    signatures = {bleu.score(text, text, measure).signature for measure in bleu.MEASURES}
    assert len(signatures) == len(bleu.MEASURES)
    french = bleu.score(text, text, "moses", target_language="fr").signature
    assert "lang:fr" in french
    assert "version:" in bleu.score(text, text, "sacrebleu").signature


def test_target_language_chooses_the_tokenizers():
    chinese = ["这是 一个测试。"]
    assert "tok:zh" in bleu.score(chinese, chinese, "sacrebleu", target_language="zh").signature
    with pytest.raises(UserError, match="no rules for the language 'zh'"):
        bleu.score(chinese, chinese, "moses", target_language="zh")
    assert bleu.default_measures("de")[0] == "paper"
    assert bleu.default_measures("fr")[0] == "moses"


def test_what_cannot_be_scored_is_refused():
    with pytest.raises(UserError, match="translation has 1 lines, the reference 2"):
        bleu.score(["a"], ["a", "b"], "paper")
    with pytest.raises(UserError, match="nothing to score"):
        bleu.score([], [], "paper")
    with pytest.raises(UserError, match="'blue' is unknown: it must be one of paper"):
        bleu.score(["a"], ["a"], "blue")
