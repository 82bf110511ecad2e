"""Scores of the translations of every checkpoint."""

from __future__ import annotations

import pytest

from keras_transformer.errors import UserError
from keras_transformer.scoring.checkpoint_scores import score_checkpoints, translations


@pytest.fixture
def folder(tmp_path):
    for step, text in ((900, "a b c d x\n"), (1000, "a b c d e\n"), (90, "x x x x x\n")):
        (tmp_path / f"ende-{step}").write_text(text)
    (tmp_path / "ende-1100.partial").write_text("half")
    (tmp_path / "notes").write_text("no translation")
    return tmp_path


def test_they_are_found_by_their_step_and_in_its_order(folder):
    # As text, 1000 stands before 90.
    assert [step for step, _ in translations(str(folder))] == [90, 900, 1000]
    assert [step for step, _ in translations(str(folder), min_steps=900)] == [900, 1000]


def test_each_is_scored_against_the_one_reference(folder, tmp_path):
    reference = tmp_path / "reference"
    reference.write_text("a b c d e\n")
    rows = score_checkpoints(str(folder), str(reference), ["t2t_cased", "sacrebleu"])
    best = {step: scores[0].score for step, scores in rows}
    assert best[1000] == pytest.approx(100.0)
    assert best[90] < best[900] < best[1000]
    assert [score.measure for score in rows[0][1]] == ["t2t_cased", "sacrebleu"]


def test_nothing_to_score_is_said(tmp_path):
    with pytest.raises(UserError, match="there is no such folder"):
        translations(str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match="kt-translate-all makes them"):
        translations(str(tmp_path))
