"""Numbers as text."""

from __future__ import annotations

import pytest

from keras_transformer.errors import UserError
from keras_transformer.text.number_encoder import NumberTextEncoder


def test_ids_are_the_numbers_plus_two() -> None:
    encoder = NumberTextEncoder()
    assert encoder.encode(" 0 17\t3 ") == [2, 19, 5]
    assert encoder.decode([2, 19, 5]) == "0 17 3"
    assert encoder.decode_list([0, 1, 2]) == ["<pad>", "<EOS>", "0"]
    assert encoder.decode([2, 1, 0], strip_extraneous=True) == "0"


def test_other_words_are_refused() -> None:
    with pytest.raises(UserError, match="'3 three' must consist of integers"):
        NumberTextEncoder().encode("3 three")
