"""What a problem does before the source encoder and after the target encoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from keras_transformer.data.problem import Problem
from keras_transformer.decoding.constraints import END_OF_SENTENCE
from keras_transformer.decoding.text_side import said_ids
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from tests.unit.decoding.small_translator import small_encoder, small_model, small_translator


class Marked(Problem):
    """Takes sentences in capital letters; marks its outputs and keeps account of the best ones."""

    decode_defaults: Mapping[str, Any] = {"beam_size": 3, "extra_length": 2}

    def __init__(self) -> None:
        super().__init__()
        self.counted: list[tuple[str, str]] = []
        self.lines = False

    def prepare_input(self, text: str) -> str:
        return " ".join(word.lower() for word in text.split(" ") if word)

    def finish_output(self, text: str, source_text: str) -> str:
        return f"<{source_text}>\n {text}"

    @property
    def output_has_lines(self) -> bool:
        return self.lines

    def count_output(self, text: str, source_text: str) -> None:
        self.counted.append((text, source_text))


@pytest.fixture(scope="module")
def translator() -> Translator:
    encoder = small_encoder()
    return Translator([[small_model()]], encoder, encoder, problem=Marked())


def test_sentences_are_prepared_and_outputs_finished(translator):
    plain = small_translator().translate(["a red door"], beam_size=3, extra_length=2, n_best=2)[0]
    translator.problem.counted.clear()
    (marked,) = translator.translate(["A RED  door"], n_best=2)  # the problem's own defaults
    assert [h.ids for h in marked.n_best] == [h.ids for h in plain.n_best]
    assert marked.n_best[1].text == f"<A RED  door>  {plain.n_best[1].text}"
    assert translator.problem.counted == [(plain.text, "A RED  door")]  # the best, once


def test_outputs_of_several_lines_stay_so(translator):
    translator.problem.lines = True
    try:
        (translation,) = translator.translate(["the sun"], beam_size=1)
        assert translation.text.startswith("<the sun>\n ")
    finally:
        translator.problem.lines = False


def test_a_word_that_the_encoder_would_not_see_has_an_output(translator):
    translator.problem.counted.clear()
    found = translator.translate(["\u00a0", "   ", "moon"], beam_size=1)
    assert [t.text for t in found[:2]] == ["<\u00a0>  ", ""]
    assert [source for _, source in translator.problem.counted] == ["\u00a0", "moon"]


def test_no_grammar_to_be_held_to(translator):
    with pytest.raises(UserError, match="of problem marked have no grammar"):
        translator.translate(["moon"], constrain=True)


def test_ids_before_the_end():
    assert said_ids([5, 0, 6, END_OF_SENTENCE, 7]) == [5, 0, 6]
    assert said_ids([5, 6, 0, 0]) == [5, 6]
    assert said_ids([0]) == []
