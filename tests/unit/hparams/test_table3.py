"""Table 3's rows as sets."""

from __future__ import annotations

import pytest

import keras_transformer as kt
from keras_transformer import registry
from keras_transformer.hparams.table3 import ROWS


def test_every_row_is_a_set():
    rows = {name for name in registry.hparams_names() if name.startswith("table3_")}
    expected = [
        "base",
        "A1",
        "A2",
        "A3",
        "A4",
        "B1",
        "B2",
        "C1",
        "C2",
        "C3",
        "C4",
        "C5",
        "C6",
        "C7",
        "D1",
        "D2",
        "D3",
        "D4",
        "E",
        "big",
    ]
    assert rows == {f"table3_{row}" for row in expected}


@pytest.mark.parametrize("row", [row for row in ROWS if row not in ("base", "big")])
def test_a_row_changes_one_thing(row):
    differences = kt.hparams("base").differences(kt.hparams(f"table3_{row}"))
    assert len(differences) == 1
    assert kt.hparams(f"table3_{row}").source_of(differences[0][0]) == f"paper Table 3, {row}"


@pytest.mark.parametrize(
    ("row", "key_depth", "value_depth"),
    # d_k and d_v per head as printed; B leaves d_v at the base's 64.
    [
        ("base", 64, 64), ("A1", 512, 512), ("A2", 128, 128), ("A3", 32, 32), ("A4", 16, 16),
        ("B1", 16, 64), ("B2", 32, 64), ("C4", 32, 32), ("C5", 128, 128), ("big", 64, 64),
    ],
)  # fmt: skip
def test_head_widths_are_the_printed_ones(row, key_depth, value_depth):
    hp = kt.hparams(f"table3_{row}")
    assert hp.key_width // hp.num_heads == key_depth
    assert hp.value_width // hp.num_heads == value_depth


def test_the_end_rows_are_the_recipes():
    assert kt.hparams("table3_base") == kt.hparams("base")
    assert kt.hparams("table3_big") == kt.hparams("big")
    # Smoothing 0 is the row with perplexity 4.67; some summaries call it "no dropout".
    assert (ROWS["D3"].perplexity, ROWS["D3"].changes) == (4.67, {"label_smoothing": 0.0})
