from __future__ import annotations

import pytest

from keras_transformer.decoding.alpha_sweep import best_of, table, translate_for_alphas
from keras_transformer.decoding.options import DecodeOptions
from tests.unit.decoding.small_translator import small_translator
from tests.unit.decoding.test_translator import sentences


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"beam_size": 1},
        {"min_length": 12},
        {"ending_rule": "ctranslate2"},
        {"length_limit": "batch"},
    ],
    ids=lambda changes: next(iter(changes), "beam"),
)
def test_one_search_gives_what_a_decode_with_each_alpha_gives(changes):
    options = DecodeOptions(**{"beam_size": 3, "extra_length": 12, "batch_size": 4, **changes})
    lines, alphas = sentences(8), [0.0, 0.6, 2.0]
    found = translate_for_alphas(small_translator(), lines, alphas, options)
    for alpha in alphas:
        expected = small_translator().translate(lines, options, alpha=alpha)
        assert found[alpha] == [each.text for each in expected]


def test_the_best_is_starred():
    scores = {(1, 0.0): 3.0, (1, 0.6): 3.0, (4, 0.0): 4.25, (4, 0.6): 4.0}
    assert best_of(scores) == (4, 0.0)
    assert table(scores).splitlines() == [
        "beam \\ alpha        0      0.6",
        "1               3.00     3.00",
        "4               4.25*    4.00",
    ]
