"""Padding and the end of a sentence are never text, wherever a model says them."""

from __future__ import annotations

import numpy as np
import pytest

from keras_transformer.decoding.search_graph import SearchGraph
from tests.unit.decoding.small_translator import small_encoder, small_translator


@pytest.fixture
def said(monkeypatch):
    """Makes the search give these ids, which no trained model can be brought to say."""

    def give(ids):
        monkeypatch.setattr(
            SearchGraph, "search", lambda *_: (np.array([[ids]]), np.array([[-1.0]]))
        )
        return small_translator().translate(["a red door"], beam_size=2)[0]

    return give


def test_the_first_end_of_sentence_ends_the_text_and_padding_is_dropped(said):
    """tensorflow/tensor2tensor#3, #1263: pads were printed as words."""
    first, second = (small_encoder().encode(text) for text in ("the sun", "the moon"))
    for ids in (
        [*first, 1, *second, 1],
        [*first, 1, 0, 0],
        [0, *first, 0, 0],
        [first[0], 0, *first[1:], 1],
    ):
        assert said(ids).text == "the sun"
        assert small_translator().text_of(ids, "a red door") == "the sun"
    assert said([1, *second]).text == said([0, 0, 0]).text == ""
