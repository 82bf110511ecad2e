"""Tokens as Tensor2Tensor cuts them; the way back gives the text."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from keras_transformer.text.tokenizer import detokenize, tokenize
from keras_transformer.text.unicode_classes import alphanumeric_ranges

GOLDEN = Path(__file__).parents[2] / "golden" / "text_encoders"
CASES = json.loads((GOLDEN / "tokenizer.json").read_text())["cases"]


def test_every_recorded_text() -> None:
    assert [tokenize(case["text"]) for case in CASES] == [case["tokens"] for case in CASES]
    assert [detokenize(case["tokens"]) for case in CASES] == [case["text"] for case in CASES]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Dude - that's so cool.", ["Dude", " - ", "that", "'", "s", "so", "cool", "."]),
        (" a b ", [" ", "a", "b", " "]),
        ("a  b", ["a", "  ", "b"]),
        ("a\xa0b", ["a", "\xa0", "b"]),  # only U+0020 is implied
        ("a\n \nb", ["a", "\n \n", "b"]),
        ("\n", ["\n"]),
        (" \n", [" \n"]),
        ("1½2", ["1½2"]),
        ("cafe\u0301 x", ["cafe", "\u0301 ", "x"]),
        ("a \U0001f600", ["a", " \U0001f600"]),
        ("\U00020000 \U00020001", ["\U00020000", "\U00020001"]),  # letters beyond the BMP
        ("\U0001f600 漢 b", ["\U0001f600 ", "漢", "b"]),
    ],
)
def test_cuts(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens
    assert detokenize(tokens) == text


WORD_CODE_POINTS = {c for first, last in alphanumeric_ranges() for c in range(first, last + 1)}


def _is_word(character: str) -> bool:
    return ord(character) in WORD_CODE_POINTS


def _tokenize_slowly(text: str) -> list[str]:
    """The rule, character by character."""
    pieces: list[str] = []
    for character in text:
        if pieces and _is_word(character) == _is_word(pieces[-1][-1]):
            pieces[-1] += character
        else:
            pieces.append(character)
    last = len(pieces) - 1
    return [p for i, p in enumerate(pieces) if p != " " or i in (0, last)]


@pytest.mark.parametrize("last_code_point", [0x7F, 0x3FF, 0xFFFF, 0x10FFFF])
def test_random_texts(last_code_point: int) -> None:
    rng = random.Random(last_code_point)
    texts = [
        "".join(
            rng.choice((" ", " ", "a", chr(rng.randint(0, last_code_point))))
            for _ in range(rng.randint(0, 20))
        )
        for _ in range(200)
    ]
    assert [tokenize(text) for text in texts] == [_tokenize_slowly(text) for text in texts]
    assert [detokenize(tokenize(text)) for text in texts] == texts
