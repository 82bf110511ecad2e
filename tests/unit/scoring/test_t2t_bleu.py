"""T2T's BLEU against figures that T2T 1.15.7 computed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keras_transformer.scoring.t2t_bleu import bleu_tokenize, compute_bleu, t2t_bleu

GOLDEN = Path(__file__).parents[2] / "golden" / "bleu"
FIGURES = json.loads((GOLDEN / "bleu.json").read_text(encoding="utf-8"))


def lines(name: str) -> list[str]:
    return (GOLDEN / name).read_bytes().decode().split("\n")[:-1]


def test_tokens_are_those_of_t2t():
    for case in json.loads((GOLDEN / "bleu_tokenize.json").read_text(encoding="utf-8")):
        assert bleu_tokenize(case["text"]) == case["tokens"], case["text"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        # The worked example of T2T's documentation of the measure: "2014." keeps its full stop.
        (
            "Hello, world! 3.5 costs 1,000.50$ (don't) A-B c_d end 2014.",
            "Hello , world ! 3.5 costs 1,000.50 $ ( don ' t ) A - B c _ d end 2014.",
        ),
        # In T2T's bracket expression a backslash escapes the bracket after it: it stays attached.
        (r"a\b [c\]", r"a\b [ c\ ]"),
        ("a\u2028b\x1cc\x85d", "a b c d"),
        # Punctuation since Unicode 12 only: not set apart under the Unicode of T2T's Python.
        ("a\u2e4fb", "a\u2e4fb"),
        ("a\u166db", "a \u166d b"),
    ],
)
def test_tokens_of_odd_text(text, tokens):
    assert " ".join(bleu_tokenize(text)) == tokens


@pytest.mark.parametrize("case", FIGURES["files"], ids=lambda case: case["name"])
def test_files(case):
    hypotheses, references = lines(case["hyp_file"]), lines(case["ref_file"])
    assert t2t_bleu(hypotheses, references).score == pytest.approx(case["uncased"], abs=1e-6)
    cased = t2t_bleu(hypotheses, references, case_sensitive=True)
    assert cased.score == pytest.approx(case["cased"], abs=1e-6)

    tokens = [bleu_tokenize(line) for line in references], [bleu_tokenize(h) for h in hypotheses]
    expected = case["compute_bleu_tokens"]
    assert compute_bleu(*tokens).score == pytest.approx(expected["order4"], abs=1e-6)
    assert compute_bleu(*tokens, max_order=2).score == pytest.approx(expected["order2"], abs=1e-6)
    assert compute_bleu(*tokens, use_bp=False).score == pytest.approx(expected["no_bp"], abs=1e-6)


def test_lists_of_ids():
    for case in FIGURES["ids"]:
        corpora = case["reference_ids"], case["translation_ids"]
        assert compute_bleu(*corpora).score == pytest.approx(case["bleu"], abs=1e-6)
        without = compute_bleu(*corpora, use_bp=False)
        assert without.score == pytest.approx(case["bleu_no_bp"], abs=1e-6)


def test_precisions_worked_by_hand():
    # hypothesis: the the cat sat; reference: the cat sat down
    # 1-grams: the (1 of 2), cat, sat -> 3/4; 2-grams: the cat, cat sat -> 2/3;
    # 3-grams: the cat sat -> 1/2; 4-grams: none of 1 -> 1 / (2 * 1)
    result = compute_bleu([["the", "cat", "sat", "down"]], [["the", "the", "cat", "sat"]])
    assert result.precisions == (3 / 4, 2 / 3, 1 / 2, 1 / 2)
    assert result.brevity_penalty == 1.0
    assert result.score == pytest.approx((3 / 4 * 2 / 3 * 1 / 4) ** 0.25)


def test_reference_without_tokens():
    assert compute_bleu([[]], [[]]).score == 0.0
    assert compute_bleu([[]], [["a"]]).score == pytest.approx(0.5**0.25)


def test_different_numbers_of_segments_are_refused():
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        compute_bleu([["a"], ["b"]], [["a"]])
