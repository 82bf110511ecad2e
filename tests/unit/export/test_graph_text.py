"""Text encoders inside a graph against those in Python."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.export.graph_text import (
    WHITE_SPACE,
    ByteGraphEncoder,
    TokenGraphEncoder,
    graph_encoder,
    one_line,
    strip,
)
from keras_transformer.text.byte_encoder import ByteTextEncoder
from keras_transformer.text.number_encoder import NumberTextEncoder
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
    assert graph_encoder(ByteTextEncoder()) is not None
    assert graph_encoder(NumberTextEncoder()) is not None
    assert graph_encoder(object()) is None  # a user's own


def test_bytes_to_ids_and_back():
    encoder, graph = ByteTextEncoder(), ByteGraphEncoder()
    assert graph.encode(tf.constant(TEXTS)).to_list() == [encoder.encode(t) for t in TEXTS]
    rows = [[*encoder.encode("Häuser 日本"), 1, 70], [0, *encoder.encode("a\tb"), 0, 999, 1]]
    longest = max(map(len, rows))
    ids = [row + [0] * (longest - len(row)) for row in rows]
    decoded = [text.decode() for text in graph.decode(tf.constant([ids])).numpy()[0]]
    assert decoded == ["Häuser 日本", "a\tb"]


def test_numbers_to_ids_and_back():
    encoder, graph = NumberTextEncoder(), graph_encoder(NumberTextEncoder())
    texts = ["0 7  12", "", " 3\u00a04 "]
    assert graph.encode(tf.constant(texts)).to_list() == [encoder.encode(t) for t in texts]
    found = graph.decode(tf.constant([[2, 9, 0, 14, 1], [1, 5, 5, 5, 5], [5, 6, 0, 0, 0]]))
    assert [text.decode() for text in found.numpy()] == ["0 7 12", "", "3 4"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="one"):
        graph.encode(tf.constant(["one"]))


def test_bytes_that_are_not_utf8_are_replaced_as_in_python():
    ids = np.random.default_rng(1).integers(2, 258, size=(200, 12))
    found = [text.decode() for text in ByteGraphEncoder().decode(tf.constant(ids)).numpy()]
    assert found == [ByteTextEncoder().decode(row) for row in ids]


def test_white_space_is_what_python_takes_for_it():
    spaces = {code for code in range(sys.maxunicode + 1) if chr(code).isspace()}
    in_class = {int(code, 16) for code in WHITE_SPACE[4:-2].split("}\\x{")}
    assert in_class == spaces
    texts = [f"{chr(code)} a{chr(code)}b {chr(code)}" for code in sorted(spaces)] + ["\u3000", ""]
    assert [t.decode() for t in strip(tf.constant(texts)).numpy()] == [t.strip() for t in texts]


def test_line_ends_become_blanks():
    assert one_line(tf.constant(["a\nb\r\nc"])).numpy().tolist() == [b"a b  c"]
