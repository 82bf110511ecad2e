"""Symbols of a decoded parse → a bracketed tree over the words, as TensorFlow operations.

The same trees as `trees_repair.tree_from_symbols`, whose rules it keeps, written as `str(tree)`.
Only the matching of closing symbols goes symbol by symbol; everything else works on the whole
batch at once.

Letters: N sentences, T symbols, W words of the longest, all padded with "".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_transformer.text.trees import (
    BRACKET_ESCAPES,
    EMPTY_ELEMENT_TAG,
    ROOT_LABELS,
    escape_brackets,
)
from keras_transformer.text.trees_labels import PUNCTUATION_TAGS, LabelInventory
from keras_transformer.text.trees_linearise import CLOSING

_SEPARATOR = "\x00"  # between a word and a tag; in neither of them


def words_in_graph(texts: Any) -> Any:
    """string [N] → the words, brackets written -LRB- and so on, one blank between: [N]."""
    return tf.strings.reduce_join(tf.strings.split(_escaped(texts)), axis=-1, separator=" ")


class GraphTrees:
    """`tree_from_symbols` and `str` inside a graph.

    Args:
        labels: which labels are phrases and which tags.
        root_label: the bracket around everything.
    """

    def __init__(self, labels: LabelInventory, root_label: str = "TOP") -> None:
        self._phrases = sorted(labels.phrases)
        self._tags = sorted(labels.tags)
        self._root = "(" + escape_brackets(root_label)
        self._default_tag = escape_brackets(labels.tag_for("any word that is no punctuation"))
        marks = labels.punctuation
        self._marks = [escape_brackets(word) for word in marks]
        self._tag_of_mark = [escape_brackets(labels.tag_for(word)) for word in marks]
        self._allowed = [
            f"{escape_brackets(word)}{_SEPARATOR}{tag}" for word in marks for tag in marks[word]
        ]
        never = {tag for tag in (*ROOT_LABELS, EMPTY_ELEMENT_TAG) if tag not in labels.tags}
        self._never = sorted(never)
        self._punctuation_tags = sorted(PUNCTUATION_TAGS)

    def finish(self, texts: tf.Tensor, source_texts: tf.Tensor) -> tf.Tensor:
        """Trees over the words of the sources.

        Args:
            texts: string [N], symbols as decoded.
            source_texts: string [N], the sentences.

        Returns:
            string [N].
        """
        with tf.device("CPU:0"):
            words = _padded(words_in_graph(source_texts))
            symbols = _padded(texts)
            num_words = tf.reduce_sum(tf.cast(words != "", tf.int32), axis=1)
            is_tag, opens, closes = self._kinds(symbols)
            tag_number = tf.cumsum(tf.cast(is_tag, tf.int32), axis=1, exclusive=True)
            takes = is_tag & (tag_number < num_words[:, tf.newaxis])
            one_more = tf.pad(words, [[0, 0], [0, 1]], constant_values="")
            number = tf.minimum(tag_number, tf.shape(words)[1])
            word = tf.gather(one_more, number, batch_dims=1)
            tag = tf.where(self._believes(symbols, word), _escaped(symbols), self._tag_for(word))
            kept, ends, open_at_end, is_top = _match_brackets(
                opens, closes, takes, _escaped(symbols)
            )
            leaf = tf.strings.join([" (", tag, " ", word, ")"])
            bracket = tf.strings.join([" (", _escaped(symbols)])
            parts = tf.where(takes, leaf, tf.where(opens & kept, bracket, ""))
            parts = tf.strings.join([parts, _closing_brackets(ends)])
            body = tf.strings.reduce_join(parts, axis=1)
            body = tf.strings.join([body, _closing_brackets(open_at_end)])
            return self._with_words_left(body, words, takes, kept & is_top, is_top & takes)

    def _with_words_left(
        self, body: Any, words: Any, takes: Any, top_phrases: Any, top_leaves: Any
    ) -> Any:
        """The whole tree: words without a tag go into the only phrase, or under the root."""
        used = tf.reduce_sum(tf.cast(takes, tf.int32), axis=1)
        left = (tf.range(tf.shape(words)[1]) >= used[:, tf.newaxis]) & (words != "")
        leaves = tf.strings.join([" (", self._tag_for(words), " ", words, ")"])
        missing = tf.strings.reduce_join(tf.where(left, leaves, ""), axis=1)

        def count(places: Any) -> Any:
            return tf.reduce_sum(tf.cast(places, tf.int32), axis=1)

        into_phrase = (count(top_phrases) == 1) & (count(top_leaves) == 0)
        inner = tf.strings.regex_replace(body, r"\)$", "")
        body = tf.where(
            into_phrase, tf.strings.join([inner, missing, ")"]), tf.strings.join([body, missing])
        )
        return tf.where(
            tf.reduce_all(words == "", axis=1), "(())", tf.strings.join([self._root, body, ")"])
        )

    def _kinds(self, symbols: Any) -> tuple[Any, Any, Any]:
        """bool [N, T] each: it is a tag, opens a bracket, closes brackets."""
        real = symbols != ""
        is_phrase, is_tag = _is_one_of(symbols, self._phrases), _is_one_of(symbols, self._tags)
        closes = real & _starts_with_closing(symbols) & ~is_tag
        certain = tf.not_equal(is_phrase, is_tag)
        opens = tf.where(certain, is_phrase, _closed_later(symbols))
        return real & ~closes & ~opens, real & ~closes & opens, closes

    def _believes(self, tags: Any, words: Any) -> Any:
        pair = tf.strings.join([words, _SEPARATOR, tags])
        is_mark = _is_one_of(words, self._marks)
        fits = tf.where(
            is_mark, _is_one_of(pair, self._allowed), ~_is_one_of(tags, self._punctuation_tags)
        )
        return fits & ~_is_one_of(tags, self._never)

    def _tag_for(self, words: Any) -> Any:
        tags = tf.fill(tf.shape(words), self._default_tag)
        for mark, tag in zip(self._marks, self._tag_of_mark, strict=True):
            tags = tf.where(words == mark, tag, tags)
        return tags


def _match_brackets(opens: Any, closes: Any, takes: Any, labels: Any) -> tuple[Any, Any, Any, Any]:
    """Which bracket each closing symbol ends.

    Args:
        opens, closes, takes: bool [N, T]: symbols that open a bracket, close some, take a word.
        labels: string [N, T], as written; a closing symbol's with its slash.

    Returns:
        kept bool [N, T], opened brackets that hold a word; ends int32 [N, T], how many kept
        brackets end at a symbol; open_at_end int32 [N], how many have no end; is_top bool [N, T],
        symbols that stand under the root.
    """
    wanted = tf.strings.regex_replace(labels, f"^{CLOSING}", "")
    length = tf.shape(labels)[1]
    nothing = tf.zeros_like(opens)

    def step(t: Any, is_open: Any, kept: Any, ends: Any, is_top: Any) -> Any:
        here = tf.range(length) == t
        is_top |= here & ~tf.reduce_any(is_open, axis=1, keepdims=True)
        kept |= is_open & takes[:, t : t + 1]
        fits = is_open & (labels == wanted[:, t : t + 1]) & closes[:, t : t + 1]
        innermost = tf.reduce_max(tf.where(fits, tf.range(length), -1), axis=1, keepdims=True)
        ended = is_open & (innermost >= 0) & (tf.range(length) >= innermost)
        count = tf.reduce_sum(tf.cast(ended & kept, tf.int32), axis=1, keepdims=True)
        ends += tf.where(here, count, 0)
        return t + 1, (is_open & ~ended) | (here & opens), kept, ends, is_top

    _, is_open, kept, ends, is_top = tf.while_loop(
        lambda t, *_: t < length,
        step,
        (tf.constant(0), nothing, nothing, tf.zeros(tf.shape(labels), tf.int32), nothing),
    )
    open_at_end = tf.reduce_sum(tf.cast(is_open & kept, tf.int32), axis=1)
    return kept, ends, open_at_end, is_top


def _padded(texts: Any) -> Any:
    return tf.strings.split(texts).to_tensor("")


def _escaped(strings: Any) -> Any:
    for bracket, escape in BRACKET_ESCAPES.items():
        strings = tf.strings.regex_replace(strings, f"\\{bracket}", escape)
    return strings


def _starts_with_closing(strings: Any) -> Any:
    return tf.strings.regex_full_match(strings, f"{CLOSING}(?s:.*)")


def _is_one_of(strings: Any, entries: Sequence[str]) -> Any:
    if not entries:
        return tf.zeros(tf.shape(strings), tf.bool)
    return tf.reduce_any(strings[..., tf.newaxis] == tf.constant(list(entries)), axis=-1)


def _closed_later(symbols: Any) -> Any:
    """bool [N, T]: the symbol with a slash before it comes later."""
    length = tf.shape(symbols)[1]
    closing = tf.strings.join([CLOSING, symbols])

    def step(t: Any, found: Any) -> Any:
        later = tf.range(length) < t
        return t + 1, found | ((closing == symbols[:, t : t + 1]) & later)

    start = (tf.constant(0), tf.zeros(tf.shape(symbols), tf.bool))
    return tf.while_loop(lambda t, _: t < length, step, start)[1]


def _closing_brackets(counts: Any) -> Any:
    """As many `)` as each number says."""
    most = tf.reduce_max(tf.concat([tf.reshape(counts, [-1]), [0]], axis=0))
    brackets = tf.where(tf.range(most) < counts[..., tf.newaxis], ")", "")
    return tf.strings.reduce_join(brackets, axis=-1)
