"""The figures of multi-bleu.perl."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keras_transformer.scoring.multi_bleu import multi_bleu

GOLDEN = Path(__file__).parents[2] / "golden" / "moses"
CASES = json.loads((GOLDEN / "multi-bleu-cases.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_printed_line(case):
    result = multi_bleu(case["hypothesis"], case["reference"])
    if case["exit"] == 255:  # the script divides by zero; here the score is 0
        assert (result.score, result.brevity_penalty, result.hypothesis_length) == (0.0, 0.0, 0)
    else:
        assert result.printed == case["stdout"]


@pytest.mark.parametrize(
    ("figure", "lowercase"),
    [("compounds split (the paper's measure)", False), ("compounds split, -lc", True)],
)
def test_counts_on_real_text(figure, lowercase):
    def lines(name: str) -> list[str]:
        return (GOLDEN / name).read_bytes().decode("utf-8").split("\n")[:-1]

    figures = json.loads((GOLDEN / "libreoffice.bleu.json").read_text(encoding="utf-8"))
    expected = figures["scores"]["all 300 lines"]["moses 59bad94fc (2017-05-29)"][figure]
    hypotheses, references = lines("libreoffice.hyp.atat.de"), lines("libreoffice.ref.atat.de")
    result = multi_bleu(hypotheses, references, lowercase)
    assert result.printed == expected["printed"]
    assert list(result.matches) == expected["matches"]
    assert list(result.totals) == expected["totals"]
    assert 100 * result.score == pytest.approx(expected["bleu"], abs=1e-6)
    assert result.brevity_penalty == pytest.approx(expected["brevity_penalty"], abs=1e-8)


def test_only_ascii_letters_are_lowered():
    assert multi_bleu(["Ä B"], ["ä b"], lowercase=True).matches[0] == 1
