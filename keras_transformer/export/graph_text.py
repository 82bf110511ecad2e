"""Text encoders as TensorFlow operations, for the signatures that take and give text."""

from __future__ import annotations

from typing import Any, Protocol

import tensorflow as tf

from keras_transformer.text.byte_encoder import ByteTextEncoder
from keras_transformer.text.graph_encoder import SubwordGraphEncoder
from keras_transformer.text.number_encoder import NumberTextEncoder
from keras_transformer.text.reserved_tokens import EOS_ID, NUM_RESERVED_IDS, PAD_ID
from keras_transformer.text.subword_encoder import SubwordTextEncoder
from keras_transformer.text.token_encoder import TokenTextEncoder


class GraphEncoder(Protocol):
    """Text to ids and back inside a graph."""

    def encode(self, strings: tf.Tensor) -> tf.RaggedTensor:
        """string [B] → int32 [B, (L)], without an end of sentence."""

    def decode(self, ids: tf.Tensor) -> tf.Tensor:
        """int32 [..., L] → string [...], up to the end of sentence and without padding."""


def graph_encoder(encoder: Any) -> GraphEncoder | None:
    """The encoder's twin in a graph; None for a kind that has none."""
    if isinstance(encoder, SubwordTextEncoder):
        return SubwordGraphEncoder(encoder)
    if isinstance(encoder, TokenTextEncoder):
        return TokenGraphEncoder(encoder)
    if isinstance(encoder, ByteTextEncoder):
        return ByteGraphEncoder()
    if isinstance(encoder, NumberTextEncoder):
        return NumberGraphEncoder()
    return None


class TokenGraphEncoder(tf.Module):
    """`TokenTextEncoder` inside a graph: one id for each word between white space.

    A word that is no entry fails the whole call if the encoder has no replacement for it.

    Args:
        encoder: the Python encoder to take the entries from.
    """

    def __init__(self, encoder: TokenTextEncoder) -> None:
        super().__init__(name="token_graph_encoder")
        tokens = list(encoder.tokens)
        last = {token: i for i, token in enumerate(tokens)}
        with tf.device("CPU:0"):
            self._tokens = tf.constant(tokens, tf.string)
            self._id_of = tf.lookup.StaticHashTable(
                tf.lookup.KeyValueTensorInitializer(
                    tf.constant(list(last), tf.string), tf.constant(list(last.values()), tf.int32)
                ),
                default_value=-1 if encoder.replacement_id is None else encoder.replacement_id,
            )
        self._size = len(tokens)
        self._reverse = encoder.reverse

    def encode(self, strings: tf.Tensor) -> tf.RaggedTensor:
        with tf.device("CPU:0"):
            words = tf.strings.split(tf.strings.regex_replace(strings, WHITE_SPACE, " "))
            ids = self._id_of.lookup(words.values)
            missing = tf.boolean_mask(words.values, ids < 0)
            tf.debugging.Assert(
                tf.size(missing) == 0, ["these words are not in the vocabulary:", missing]
            )
            found = words.with_values(ids)
            return tf.reverse(found, [1]) if self._reverse else found

    def decode(self, ids: tf.Tensor) -> tf.Tensor:
        with tf.device("CPU:0"):
            known = _said(ids, self._size)
            words = known.with_values(tf.gather(self._tokens, known.values))
            if self._reverse:
                words = tf.reverse(words, [1])
            text = tf.strings.reduce_join(words, axis=-1, separator=" ")
            return tf.reshape(text, tf.shape(ids)[:-1])


class NumberGraphEncoder(tf.Module):
    """`NumberTextEncoder` inside a graph; a word that is no number fails the whole call."""

    def encode(self, strings: tf.Tensor) -> tf.RaggedTensor:
        with tf.device("CPU:0"):
            words = tf.strings.split(tf.strings.regex_replace(strings, WHITE_SPACE, " "))
            numbers = tf.strings.to_number(words.values, tf.int32)
            return words.with_values(numbers + NUM_RESERVED_IDS)

    def decode(self, ids: tf.Tensor) -> tf.Tensor:
        with tf.device("CPU:0"):
            known = _said(ids)
            words = known.with_values(tf.strings.as_string(known.values - NUM_RESERVED_IDS))
            text = tf.strings.reduce_join(words, axis=-1, separator=" ")
            return tf.reshape(text, tf.shape(ids)[:-1])


def _said(ids: tf.Tensor, vocab_size: int | None = None) -> tf.RaggedTensor:
    """int32 [..., L] → [rows, (L)]: without padding, up to the end of sentence."""
    shape = tf.shape(ids)
    flat = tf.reshape(ids, [tf.reduce_prod(shape[:-1]), shape[-1]])
    ended = tf.cumsum(tf.cast(flat == EOS_ID, tf.int32), axis=1) > 0
    wanted = (flat >= 0) & ~ended & (flat != PAD_ID)
    if vocab_size is not None:
        wanted &= flat < vocab_size
    return tf.ragged.boolean_mask(flat, wanted)


class ByteGraphEncoder(tf.Module):
    """`ByteTextEncoder` inside a graph: one id for each byte."""

    def __init__(self) -> None:
        super().__init__(name="byte_graph_encoder")
        with tf.device("CPU:0"):
            self._bytes = tf.constant([bytes([value]) for value in range(256)], tf.string)

    def encode(self, strings: tf.Tensor) -> tf.RaggedTensor:
        with tf.device("CPU:0"):
            single = tf.strings.bytes_split(strings)
            values = tf.io.decode_raw(single.values, tf.uint8)[:, 0]
            return single.with_values(tf.cast(values, tf.int32) + NUM_RESERVED_IDS)

    def decode(self, ids: tf.Tensor) -> tf.Tensor:
        with tf.device("CPU:0"):
            ended = tf.cumsum(tf.cast(ids == EOS_ID, tf.int32), axis=-1) > 0
            byte = ids - NUM_RESERVED_IDS
            said = ~ended & (byte >= 0) & (byte < 256)
            single = tf.where(said, tf.gather(self._bytes, tf.clip_by_value(byte, 0, 255)), "")
            joined = tf.strings.reduce_join(single, axis=-1)
            # U+FFFD for what is no UTF-8, as `bytes.decode` puts it.
            return tf.strings.unicode_transcode(joined, "UTF-8", "UTF-8", errors="replace")


_LAST_SPACE = 0x3000  # the ideographic one


def _white_space() -> str:
    """RE2's class of what `str.strip` and `str.split` take for white space."""
    spaces = [code for code in range(_LAST_SPACE + 1) if chr(code).isspace()]
    return "[" + "".join(f"\\x{{{code:x}}}" for code in spaces) + "]"


WHITE_SPACE = _white_space()


def strip(strings: tf.Tensor) -> tf.Tensor:
    """`str.strip` of every string, Unicode's white space included."""
    return tf.strings.regex_replace(strings, f"^{WHITE_SPACE}+|{WHITE_SPACE}+$", "")


def one_line(strings: tf.Tensor) -> tf.Tensor:
    """Line ends become blanks: one sentence is one line, whatever the model says."""
    return tf.strings.regex_replace(strings, "[\n\r]", " ")
