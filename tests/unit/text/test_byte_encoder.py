"""Ids of bytes as Tensor2Tensor has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keras_transformer.text.byte_encoder import ByteTextEncoder

GOLDEN = json.loads(
    (Path(__file__).parents[2] / "golden" / "text_encoders" / "byte_text_encoder.json").read_text()
)


def test_every_recorded_text() -> None:
    encoder = ByteTextEncoder()
    assert encoder.vocab_size == GOLDEN["vocab_size"]
    for case in GOLDEN["cases"]:
        assert encoder.encode(case["text"]) == case["ids"]
        assert encoder.decode(case["ids"]) == case["decoded"]
        assert encoder.decode_list(case["ids"]) == case["decode_list"]


def test_every_recorded_sequence_of_ids() -> None:
    encoder = ByteTextEncoder()
    for case in GOLDEN["decode_only"]:
        assert encoder.decode(case["ids"]) == case["decoded"]
        stripped = encoder.decode(case["ids"], strip_extraneous=True)
        assert stripped == case["decoded_strip_extraneous"]


@pytest.mark.parametrize("byte_id", [-1, 258])
def test_ids_outside_the_vocabulary_are_refused(byte_id: int) -> None:
    with pytest.raises(ValueError, match=f"{byte_id} is no id"):
        ByteTextEncoder().decode([byte_id])
