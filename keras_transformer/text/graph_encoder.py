"""The subword encoder as TensorFlow operations, for models that take text and give text.

The same ids and the same text as `SubwordTextEncoder`, from TensorFlow's own operations alone: a
SavedModel with it needs no extra library and no file. All sentences of a batch lie in one flat
vector of code points; each step works on the whole vector, so the number of operations goes with
the longest entry of the vocabulary and not with the text.

Letters: B sentences, N code points of all of them, L ids of a sentence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.text.escaping import NOT_A_CODE_POINT
from keras_transformer.text.reserved_tokens import EOS_ID, PAD_ID
from keras_transformer.text.subword_encoder import SubwordTextEncoder
from keras_transformer.text.unicode_classes import alphanumeric_ranges

_BACKSLASH = ord("\\")
_UNDERSCORE = ord("_")
_LETTER_U = ord("u")
_SEMICOLON = ord(";")
_SPACE = ord(" ")
_NEWLINE = ord("\n")
_ZERO = ord("0")
_NINE = ord("9")
_LAST_CODE_POINT = 0x10FFFF
# A code point has at most seven decimal digits.
_POWERS_OF_TEN = [10**exponent for exponent in range(8)]


class _Characters(NamedTuple):
    """Characters of all tokens of a batch, one after the other.

    Attributes:
      code_point: int32 [N].
      row: int64 [N] the sentence of each.
      starts_token: bool [N] whether a token starts there.
    """

    code_point: tf.Tensor
    row: tf.Tensor
    starts_token: tf.Tensor


class SubwordGraphEncoder(tf.Module):
    """Text to subword ids and back inside a graph.

    Equal to `encoder` for every text that is UTF-8. Bytes that are not read as U+FFFD, and so
    does half of a surrogate pair that a decoded escape may name. Runs on the CPU, where
    TensorFlow keeps strings.

    Args:
      encoder: the Python encoder to take the vocabulary from.
    """

    def __init__(self, encoder: SubwordTextEncoder, name: str | None = None) -> None:
        super().__init__(name=name or "subword_graph_encoder")
        alphabet = sorted(encoder.alphabet)
        edges, entry_ids = _trie(encoder, alphabet)
        entries = [[ord(character) for character in entry] for entry in encoder.subtokens]
        splits = np.cumsum([0, *map(len, entries)])
        boundaries = [edge for first, last in alphanumeric_ranges() for edge in (first, last + 1)]
        has_every_character = all(c in encoder.id_of_subtoken for c in alphabet)
        with tf.device("CPU:0"):
            self._class_boundaries = tf.constant(boundaries, tf.int32)
            # The last element of these two sorted tables is larger than all that is looked up, so
            # that the place found is always one of the table.
            self._alphabet = tf.constant([*map(ord, alphabet), np.iinfo(np.int32).max], tf.int32)
            self._edges = tf.constant([*edges, np.iinfo(np.int64).max], tf.int64)
            self._entry_ids = tf.constant(entry_ids, tf.int32)
            self._entry_splits = tf.constant(splits, tf.int64)
            self._entry_characters = tf.constant(
                [code_point for entry in entries for code_point in entry], tf.int32
            )
            self._powers_of_ten = tf.constant(_POWERS_OF_TEN, tf.int64)
        self._vocab_size = encoder.vocab_size
        self._has_every_character = has_every_character

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
    def encode(self, strings: tf.Tensor) -> tf.RaggedTensor:
        """Ids of texts, without an end of sentence.

        Args:
          strings: string [B], UTF-8.

        Returns:
          int32 [B, (L)] ragged.

        Raises:
          tf.errors.InvalidArgumentError: if a text needs a character that occurs inside entries
            but is no entry of its own, which hand-made vocabularies may have.
        """
        with tf.device("CPU:0"):
            decoded = tf.strings.unicode_decode(strings, "UTF-8")
            tokens = self._cut_into_tokens(decoded.values, decoded.value_rowids())
            escaped = self._escape(tokens)
            longest, ids = self._longest_matches(escaped)
            starts = _greedy_starts(longest)
            ids = tf.gather(ids, starts)
            if not self._has_every_character:
                self._assert_encodable(escaped, starts, ids)
            return tf.RaggedTensor.from_value_rowids(
                ids,
                tf.gather(escaped.row, starts),
                nrows=tf.size(strings, out_type=tf.int64),
                validate=False,
            )

    @tf.function(reduce_retracing=True, autograph=False)
    def decode(self, ids: tf.Tensor, cut_at_eos: bool = True) -> tf.Tensor:
        """Texts of sequences of ids.

        Args:
          ids: int32 [..., L].
          cut_at_eos: take a sequence up to its first end of sentence (id 1) and leave out
            padding (id 0); otherwise these read as `<EOS>` and `<pad>`, as in
            `SubwordTextEncoder.decode`. Ids outside 0 .. V-1 give nothing.

        Returns:
          string [...], UTF-8.
        """
        with tf.device("CPU:0"):
            shape = tf.shape(ids)
            rows = tf.reduce_prod(shape[:-1])
            flat = tf.reshape(ids, [rows, shape[-1]])
            wanted = (flat >= 0) & (flat < self._vocab_size)
            if cut_at_eos:
                ended = tf.cumsum(tf.cast(flat == EOS_ID, tf.int32), axis=1) > 0
                wanted &= ~ended & (flat != PAD_ID)
            characters = self._unescape(
                *self._concatenate(tf.boolean_mask(flat, wanted), tf.where(wanted)[:, 0])
            )
            code_points, row = self._join_tokens(characters)
            text = tf.RaggedTensor.from_value_rowids(
                code_points, row, nrows=tf.cast(rows, tf.int64), validate=False
            )
            return tf.reshape(tf.strings.unicode_encode(text, "UTF-8"), shape[:-1])

    def _is_alphanumeric(self, code_points: tf.Tensor) -> tf.Tensor:
        return tf.searchsorted(self._class_boundaries, code_points, side="right") % 2 == 1

    def _cut_into_tokens(self, code_points: tf.Tensor, row: tf.Tensor) -> _Characters:
        """The tokenizer: cuts at class changes and leaves out lone spaces within a sentence."""
        word = self._is_alphanumeric(code_points)
        starts_row = _differs_from_previous(row)
        starts_piece = starts_row | _differs_from_previous(word)
        ends_row = tf.roll(starts_row, -1, 0)
        ends_piece = tf.roll(starts_piece, -1, 0)
        alone = (code_points == _SPACE) & starts_piece & ends_piece
        kept = ~(alone & ~starts_row & ~ends_row)
        return _Characters(
            tf.boolean_mask(code_points, kept),
            tf.boolean_mask(row, kept),
            tf.boolean_mask(starts_piece, kept),
        )

    def _escape(self, tokens: _Characters) -> _Characters:
        """Escapes all tokens and ends each with an underscore; see `escaping`."""
        code_point = tokens.code_point
        ends_token = tf.cast(tf.roll(tokens.starts_token, -1, 0), tf.int64)
        place = tf.searchsorted(self._alphabet, code_point)
        known = (tf.gather(self._alphabet, place) == code_point) & (code_point != _NEWLINE)
        doubled = (code_point == _BACKSLASH) | (code_point == _UNDERSCORE)
        wide = tf.cast(code_point, tf.int64)
        digits = tf.searchsorted(self._powers_of_ten[1:], wide, side="right", out_type=tf.int64) + 1
        body = tf.where(known, 1 + tf.cast(doubled, tf.int64), digits + 2)

        owner, offset = _expand(body + ends_token)
        code_point = tf.gather(code_point, owner)
        digits = tf.gather(digits, owner)
        power = tf.gather(self._powers_of_ten, tf.clip_by_value(digits - offset, 0, 7))
        digit = _ZERO + tf.cast(tf.gather(wide, owner) // power % 10, tf.int32)
        number = tf.where(offset == digits + 1, _SEMICOLON, digit)
        pair = tf.where(code_point == _BACKSLASH, _BACKSLASH, _LETTER_U)
        second = tf.where(tf.gather(doubled, owner), pair, number)
        itself = tf.gather(known & ~doubled, owner)
        escaped = tf.where(itself, code_point, tf.where(offset == 0, _BACKSLASH, second))
        escaped = tf.where(offset == tf.gather(body, owner), _UNDERSCORE, escaped)
        return _Characters(
            escaped,
            tf.gather(tokens.row, owner),
            tf.gather(tokens.starts_token, owner) & (offset == 0),
        )

    def _longest_matches(self, escaped: _Characters) -> tuple[tf.Tensor, tf.Tensor]:
        """[N] length of the longest entry that starts at each character, and [N] its id.

        Walks the trie of the entries from all characters at once, one character a round; the
        walks that leave the trie or reach the end of their token drop out.
        """
        character = tf.searchsorted(self._alphabet, escaped.code_point, out_type=tf.int64)
        size = tf.size(character, out_type=tf.int64)
        ends = tf.where(tf.roll(escaped.starts_token, -1, 0))[:, 0] + 1
        token = tf.cumsum(tf.cast(escaped.starts_token, tf.int64)) - 1
        end = tf.gather(ends, token)
        num_characters = tf.size(self._alphabet, out_type=tf.int64)

        def step(depth, position, node, longest, ids):
            key = node * num_characters + tf.gather(character, position + depth)
            place = tf.searchsorted(self._edges, key, out_type=tf.int64)
            inside = tf.gather(self._edges, place) == key
            position = tf.boolean_mask(position, inside)
            node = tf.boolean_mask(place, inside) + 1
            depth += 1
            entry = tf.gather(self._entry_ids, node)
            is_entry = entry >= 0
            where = tf.boolean_mask(position, is_entry)[:, tf.newaxis]
            ids = tf.tensor_scatter_nd_update(ids, where, tf.boolean_mask(entry, is_entry))
            longest = tf.tensor_scatter_nd_update(longest, where, tf.fill([tf.size(where)], depth))
            unfinished = position + depth < tf.gather(end, position)
            position = tf.boolean_mask(position, unfinished)
            node = tf.boolean_mask(node, unfinished)
            return depth, position, node, longest, ids

        position = tf.range(size)
        *_, longest, ids = tf.while_loop(
            lambda depth, position, *_: tf.size(position) > 0,
            step,
            (
                tf.constant(0, tf.int64),
                position,
                tf.zeros_like(position),
                tf.zeros_like(position),
                tf.fill([size], -1),
            ),
            shape_invariants=(
                tf.TensorShape([]),
                *[tf.TensorShape([None])] * 4,
            ),
        )
        return longest, ids

    def _assert_encodable(self, escaped: _Characters, starts: tf.Tensor, ids: tf.Tensor) -> None:
        missing = tf.gather(escaped.code_point, tf.boolean_mask(starts, ids < 0))
        tf.debugging.Assert(
            tf.size(missing) == 0,
            [
                "the vocabulary cannot encode these characters (shown as code points), which occur "
                "inside its entries but are no entries of their own:",
                missing,
            ],
            name="encodable",
        )

    def _concatenate(self, ids: tf.Tensor, row: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """[N] code points of the entries of all ids, and [N] the sentence of each."""
        first = tf.gather(self._entry_splits, ids)
        owner, offset = _expand(tf.gather(self._entry_splits, ids + 1) - first)
        code_points = tf.gather(self._entry_characters, tf.gather(first, owner) + offset)
        return code_points, tf.gather(row, owner)

    def _unescape(self, code_point: tf.Tensor, row: tf.Tensor) -> _Characters:
        """Cuts at underscores and undoes the escapes in one pass from left to right.

        In a run of backslashes each one at an even place (from 0) opens an escape: with another
        backslash after it the pair is a backslash; the last of an odd run goes with what follows,
        `u` or digits and a semicolon, or stands for itself. What those are made of cannot open
        another escape, so all escapes of the text can be found at once.
        """
        size = tf.size(code_point, out_type=tf.int64)
        position = tf.range(size)
        ends_token = code_point == _UNDERSCORE
        starts_token = _differs_from_previous(row) | tf.roll(ends_token, 1, 0)
        next_in_token = ~tf.roll(starts_token, -1, 0)

        backslash = code_point == _BACKSLASH
        opens = backslash & (_place_in_run(backslash, starts_token) % 2 == 0)
        closes_pair = backslash & ~opens
        before_u = opens & next_in_token & (tf.roll(code_point, -1, 0) == _LETTER_U)

        digit = (code_point >= _ZERO) & (code_point <= _NINE)
        starts_run = _starts_run(digit, starts_token)
        run = tf.cumsum(tf.cast(starts_run, tf.int64)) - 1
        run_start = tf.where(starts_run)[:, 0]
        num_runs = tf.size(run_start, out_type=tf.int64)
        run_of_digit = tf.boolean_mask(run, digit)
        run_length = tf.math.bincount(
            tf.cast(run_of_digit, tf.int32),
            minlength=tf.cast(num_runs, tf.int32),
            dtype=tf.int64,
        )
        run_end = run_start + run_length
        exponent = tf.gather(run_end - 1, run_of_digit) - tf.boolean_mask(position, digit)
        power = tf.gather(self._powers_of_ten, tf.minimum(exponent, 7))
        digit_value = tf.cast(tf.boolean_mask(code_point, digit) - _ZERO, tf.int64)
        number = tf.math.unsorted_segment_sum(digit_value * power, run_of_digit, num_runs)
        before = tf.maximum(run_start - 1, 0)
        after = tf.minimum(run_end, size - 1)
        is_number = (
            (run_start > 0)
            & tf.gather(opens & next_in_token, before)
            & (run_end < size)
            & tf.gather((code_point == _SEMICOLON) & ~starts_token, after)
        )
        number = tf.boolean_mask(number, is_number)
        number = tf.where(number <= _LAST_CODE_POINT, number, ord(NOT_A_CODE_POINT))
        opener = tf.boolean_mask(run_start - 1, is_number)[:, tf.newaxis]
        semicolon = tf.boolean_mask(run_end, is_number)[:, tf.newaxis]
        in_number = digit & tf.gather(
            tf.concat([is_number, [False]], 0), tf.where(digit, run, num_runs)
        )
        in_number = tf.tensor_scatter_nd_update(
            in_number, semicolon, tf.ones([tf.size(semicolon)], tf.bool)
        )

        token = tf.cumsum(tf.cast(starts_token, tf.int64))
        code_point = tf.where(before_u, _UNDERSCORE, code_point)
        code_point = tf.tensor_scatter_nd_update(code_point, opener, tf.cast(number, tf.int32))
        kept = ~(ends_token | closes_pair | tf.roll(before_u, 1, 0) | in_number)
        return _Characters(
            tf.boolean_mask(code_point, kept),
            tf.boolean_mask(row, kept),
            _differs_from_previous(tf.boolean_mask(token, kept)),
        )

    def _join_tokens(self, tokens: _Characters) -> tuple[tf.Tensor, tf.Tensor]:
        """Puts one space between neighbours that both start with an alphanumeric character."""
        start = tf.where(tokens.starts_token)[:, 0]
        word = self._is_alphanumeric(tf.gather(tokens.code_point, start))
        follows = ~_differs_from_previous(tf.gather(tokens.row, start))
        space = start[:, tf.newaxis][word & tf.roll(word, 1, 0) & follows]
        length = tf.tensor_scatter_nd_update(
            tf.ones_like(tokens.row), space, tf.fill([tf.shape(space)[0]], tf.constant(2, tf.int64))
        )
        owner, offset = _expand(length)
        is_space = (tf.gather(length, owner) == 2) & (offset == 0)
        code_points = tf.where(is_space, _SPACE, tf.gather(tokens.code_point, owner))
        return code_points, tf.gather(tokens.row, owner)


def _trie(encoder: SubwordTextEncoder, alphabet: list[str]) -> tuple[list[int], list[int]]:
    """All prefixes of the entries as two tables.

    Prefixes are numbered by length and then by code points, from 0, the empty one.

    Returns:
      For each prefix but the empty one, in rising order: number of the prefix before it times the
      number of characters (one more than the alphabet has) plus the place of its last character.
      For each prefix: its id if it is an entry, else -1.
    """
    id_of = encoder.id_of_subtoken
    prefixes = {entry[:end] for entry in id_of for end in range(1, len(entry) + 1)}
    ordered = ["", *sorted(prefixes, key=lambda prefix: (len(prefix), prefix))]
    number = {prefix: i for i, prefix in enumerate(ordered)}
    place = {character: i for i, character in enumerate(alphabet)}
    num_characters = len(alphabet) + 1
    edges = [number[prefix[:-1]] * num_characters + place[prefix[-1]] for prefix in ordered[1:]]
    return edges, [id_of.get(prefix, -1) for prefix in ordered]


def _greedy_starts(longest: tf.Tensor) -> tf.Tensor:
    """Positions where a subtoken starts, if each is followed by the next.

    Instead of going from one to the next, doubles the reach in each round: what is reached in
    fewer than n jumps, and jumps of n from there.
    """
    size = tf.size(longest, out_type=tf.int64)
    jump = tf.concat([tf.range(size) + tf.maximum(longest, 1), [size]], 0)
    reached = tf.range(size + 1) == 0

    def double(jump, reached):
        further = tf.boolean_mask(jump, reached)[:, tf.newaxis]
        reached = tf.tensor_scatter_nd_update(
            reached, further, tf.ones([tf.shape(further)[0]], tf.bool)
        )
        return tf.gather(jump, jump), reached

    _, reached = tf.while_loop(lambda jump, reached: jump[0] < size, double, (jump, reached))
    return tf.where(reached[:-1])[:, 0]


def _expand(lengths: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Index of the element, and place within it, for elements that take up these lengths."""
    ends = tf.cumsum(lengths)
    position = tf.range(tf.reduce_sum(lengths))
    owner = tf.searchsorted(ends, position, side="right", out_type=tf.int64)
    return owner, position - tf.gather(ends - lengths, owner)


def _differs_from_previous(values: tf.Tensor) -> tf.Tensor:
    """bool [N]: whether an element differs from the one before it; true for the first."""
    return (tf.range(tf.size(values)) == 0) | (values != tf.roll(values, 1, 0))


def _starts_run(member: tf.Tensor, starts_token: tf.Tensor) -> tf.Tensor:
    return member & (starts_token | ~tf.roll(member, 1, 0))


def _place_in_run(member: tf.Tensor, starts_token: tf.Tensor) -> tf.Tensor:
    """int64 [N]: for members, how many members of the same token stand directly before."""
    starts = _starts_run(member, starts_token)
    run = tf.maximum(tf.cumsum(tf.cast(starts, tf.int64)) - 1, 0)
    first = tf.concat([tf.where(starts)[:, 0], [0]], 0)
    return tf.range(tf.size(member, out_type=tf.int64)) - tf.gather(first, run)
