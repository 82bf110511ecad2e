"""Text encoders inside a graph against those in Python."""

from __future__ import annotations

import sys

import pytest
import tensorflow as tf

from keras_transformer.export.graph_text import (
    WHITE_SPACE,
    TokenGraphEncoder,
    graph_encoder,
    one_line,
    strip,
)
from keras_transformer.text.byte_encoder import ByteTextEncoder
from keras_transformer.text.token_encoder import TokenTextEncoder
from tests.unit.decoding.small_translator import small_encoder

TOKENS = ["the", "house@@", "s", "Häuser", "<unk>", "日本"]
TEXTS = ["the house@@ s", "", "  the\u00a0 Häuser\u3000日本\t", "nowhere the"]


@pytest.mark.parametrize("reverse", [False, True])
def test_words_to_ids_and_back(reverse):
    encoder = TokenTextEncoder.from_list(TOKENS, replace_oov="<unk>", reverse=reverse)
    graph = TokenGraphEncoder(encoder)
    assert graph.encode(tf.constant(TEXTS)).to_list() == [encoder.encode(t) for t in TEXTS]
    ids = [[2, 4, 1, 3], [0, 7, 0, 5], [0, 0, 0, 0], [99, 3, 1, 1]]
    want = [[2, 4], [7, 5], [], [3]]
    found = [text.decode() for text in graph.decode(tf.constant(ids)).numpy()]
    assert found == [encoder.decode(row) for row in want]


def test_a_word_that_is_no_entry():
    graph = TokenGraphEncoder(TokenTextEncoder.from_list(TOKENS[:2]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in the vocabulary"):
        graph.encode(tf.constant(["the cat"]))


def test_decoding_keeps_the_shape():
    graph = TokenGraphEncoder(TokenTextEncoder.from_list(TOKENS))
    assert graph.decode(tf.zeros([2, 3, 5], tf.int32)).shape == [2, 3]


def test_which_encoders_have_a_twin():
    assert graph_encoder(small_encoder()) is not None
    assert graph_encoder(ByteTextEncoder()) is None


def test_white_space_is_what_python_takes_for_it():
    spaces = {code for code in range(sys.maxunicode + 1) if chr(code).isspace()}
    in_class = {int(code, 16) for code in WHITE_SPACE[4:-2].split("}\\x{")}
    assert in_class == spaces
    texts = [f"{chr(code)} a{chr(code)}b {chr(code)}" for code in sorted(spaces)] + ["\u3000", ""]
    assert [t.decode() for t in strip(tf.constant(texts)).numpy()] == [t.strip() for t in texts]


def test_line_ends_become_blanks():
    assert one_line(tf.constant(["a\nb\r\nc"])).numpy().tolist() == [b"a b  c"]
