"""The frozen table is that of Python 3.7 and does not move with the interpreter."""

from __future__ import annotations

import itertools
import json
import unicodedata
from pathlib import Path

from keras_transformer.text.unicode_classes import (
    UNICODE_VERSION,
    alphanumeric_ranges,
    other_ranges,
)

GOLDEN = Path(__file__).parents[2] / "golden" / "text_encoders"


def test_table_is_that_of_python_3_7() -> None:
    table = json.loads((GOLDEN / "alphanumeric.unicode-11.0.0.json").read_text())
    assert table["unicode"] == UNICODE_VERSION
    assert alphanumeric_ranges() == tuple(map(tuple, table["ranges"]))


def test_the_two_classes_share_out_all_code_points() -> None:
    everything = sorted(alphanumeric_ranges() + other_ranges())
    assert everything[0][0] == 0
    assert everything[-1][1] == 0x10FFFF
    assert all(a[1] + 1 == b[0] for a, b in itertools.pairwise(everything))


def test_newer_letters_are_not_in_the_table() -> None:
    newer = 0x1E900 - 1  # unassigned to this day
    assert unicodedata.category(chr(newer)) == "Cn"
    georgian_of_11, miao_of_12 = 0x10D0, 0x16F45
    inside = [
        any(first <= code_point <= last for first, last in alphanumeric_ranges())
        for code_point in (georgian_of_11, miao_of_12, newer)
    ]
    assert inside == [True, False, False]
